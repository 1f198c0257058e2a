package mockbackend

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/touchstone/schemas"
)

// A faultKind is one way for an answer to go wrong. Exactly one of run, raw,
// http2 and rewrite is set.
type faultKind struct {
	about string
	// params are the members of a fault that the kind takes.
	params []string
	// maxBytes bounds the parameter bytes; 0 is maxPiece.
	maxBytes int64
	// inBody says that all of the fault lies in the body: an answer to HEAD, and
	// one with a status that has no body, does not show it.
	inBody bool
	// least is the size of a body from which on the fault shows; nil is none.
	least func(f schemas.StubFault) int64
	// withHead says that least counts the head too, down from the status line.
	withHead bool
	// run misbehaves as a client of any version of HTTP can see.
	run func(x sender, r *reply, f schemas.StubFault) error
	// raw misbehaves on an HTTP/1 connection.
	raw func(x *wire, r *reply, f schemas.StubFault) error
	// http2 misbehaves on an HTTP/2 connection.
	http2 func(x *stream, r *reply, f schemas.StubFault) error
	// rewrite gives another reply, which goes out in order; such a fault
	// needs no socket.
	rewrite func(r *reply, q *request, f schemas.StubFault) *reply
}

// A sender sends an answer piece by piece. Its methods fail when the client has
// left or the server closes.
type sender interface {
	// writeHead sends the interim answers and the final head.
	writeHead(*reply, bodyEnd) error
	// writeBody sends a piece of the body, as a chunk where there are chunks;
	// nothing when the request is a HEAD.
	writeBody([]byte) error
	// writeEnd sends what tells the client that the body is complete.
	writeEnd() error
	// pause waits.
	pause(time.Duration) error
	// stall waits for the client to leave, or for d if that is positive.
	stall(d time.Duration) error
}

// bodyEnd is how a client learns where the body ends.
type bodyEnd int

const (
	framedByLength bodyEnd = iota
	framedByChunks
)

// FaultKinds gives the known fault kinds, each with what it does in a sentence.
// Those of [ListenerKinds] are not among them.
func FaultKinds() map[string]string {
	kinds := make(map[string]string, len(faultKinds))
	for kind, k := range faultKinds {
		kinds[kind] = k.about
	}
	return kinds
}

func faultNames() string { return strings.Join(slices.Sorted(maps.Keys(faultKinds)), ", ") }

// maxPiece bounds what one write of a fault may hold in memory.
const maxPiece = 16 << 20

// checkFault refuses unknown kinds, and parameters that the kind does not take.
func checkFault(f schemas.StubFault, at string) error {
	kind, ok := faultKinds[f.Kind]
	if _, ofListener := listenerKinds[f.Kind]; ofListener {
		return invalid(at+"/kind", "%q happens before a request, so no stub can do it; call what FaultyURL gives, or follow the redirect of /fault/%[1]s", f.Kind)
	}
	if !ok {
		return invalid(at+"/kind", "%q is not known; known are %s", f.Kind, faultNames())
	}
	for _, p := range []struct {
		name  string
		given bool
		value int64
	}{
		{"afterBytes", f.AfterBytes != nil, deref(f.AfterBytes)},
		{"bytes", f.Bytes != 0, f.Bytes},
		{"intervalMs", f.IntervalMs != 0, int64(f.IntervalMs)},
		{"durationMs", f.DurationMs != 0, int64(f.DurationMs)},
	} {
		switch {
		case p.given && !slices.Contains(kind.params, p.name):
			return invalid(at+"/"+p.name, "is not a parameter of %s, which takes %s", f.Kind, strings.Join(append([]string{"kind"}, kind.params...), ", "))
		case p.value < 0:
			return invalid(at+"/"+p.name, "is negative")
		case strings.HasSuffix(p.name, "Ms") && p.value > maxDelay.Milliseconds():
			return invalid(at+"/"+p.name, "is %d; at most %d", p.value, maxDelay.Milliseconds())
		}
	}
	if limit := orDefault(kind.maxBytes, maxPiece); f.Bytes > limit {
		return invalid(at+"/bytes", "is %d; at most %d", f.Bytes, limit)
	}
	return nil
}

// atLeast is the size of a body that all faults of a kind show in.
func atLeast(n int64) func(schemas.StubFault) int64 {
	return func(schemas.StubFault) int64 { return n }
}

// afterPart is the size of a body of which something is left after the first
// afterBytes.
func afterPart(f schemas.StubFault) int64 { return deref(f.AfterBytes) + 1 }

// shows says why the reply's fault would not show in the reply as it is; nil
// when it does.
func (r *reply) shows() error {
	kind := r.faultKind()
	if kind.least != nil {
		size, of := len(r.body), "a body"
		if kind.withHead {
			size, of = size+len(r.wireHead(nil)), "an answer"
		}
		if least := kind.least(*r.fault); int64(size) < least {
			return fmt.Errorf("the fault %s needs %s of at least %d bytes to show, and this one has %d", r.fault.Kind, of, least, size)
		}
	}
	if kind.inBody && bodyForbidden(r.status) {
		return fmt.Errorf("the fault %s lies in the body, which a %d does not have (RFC 9110, section 6.4.1)", r.fault.Kind, r.status)
	}
	return nil
}

// faultBody is the body of a stub whose fault needs one, and that has none of
// its own; the ready-made routes have it too.
func faultBody(kind string) []byte {
	return mustJSON(ordered{{"fault", kind}, {"about", faultKinds[kind].about}})
}

// faultKind is the kind of the reply's fault; the zero kind without one.
func (r *reply) faultKind() faultKind {
	if r.fault == nil {
		return faultKind{}
	}
	return faultKinds[r.fault.Kind]
}

// checkPlain refuses what a listener without TLS cannot do.
func (r *reply) checkPlain(at string) error {
	if r.faultKind().http2 != nil {
		return invalid(at+"/fault/kind", "%s needs HTTP/2, which this server speaks with TLS only; start it with TLS", r.fault.Kind)
	}
	return nil
}

// part is the first n bytes of the body, half of it when n is nil.
func (r *reply) part(n *int64) []byte {
	if n == nil {
		return r.body[:len(r.body)/2]
	}
	return r.body[:min(*n, int64(len(r.body)))]
}

func contentLength(n int) schemas.StubHeaders {
	return schemas.StubHeaders{{Name: "Content-Length", Value: strconv.Itoa(n)}}
}

func milliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func orDefault(n, otherwise int64) int64 {
	if n == 0 {
		return otherwise
	}
	return n
}

func deref(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// inject runs the reply's fault on an HTTP/1 connection.
func (x *wire) inject(r *reply) error {
	x.sent.Fault = r.fault.Kind
	kind := r.faultKind()
	var err error
	if kind.run != nil {
		err = kind.run(x, r, *r.fault)
	} else {
		err = kind.raw(x, r, *r.fault)
	}
	if err != nil {
		return fmt.Errorf("fault %s: %w", r.fault.Kind, err)
	}
	return nil
}

// inject runs the reply's fault on an HTTP/2 stream. A stream that has not come
// to its end is reset.
func (x *stream) inject(r *reply) {
	x.sent.Fault = r.fault.Kind
	kind := r.faultKind()
	var err error
	if kind.run != nil {
		err = kind.run(x, r, *r.fault)
	} else {
		err = kind.http2(x, r, *r.fault)
	}
	x.end(err)
	if x.sent.Phase != PhaseComplete {
		panic(http.ErrAbortHandler)
	}
}
