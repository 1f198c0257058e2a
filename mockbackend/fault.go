package mockbackend

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/touchstone/schemas"
)

// A faultKind is one way for an answer to go wrong. Exactly one of run and
// rewrite is set.
type faultKind struct {
	about string
	// params are the members of a fault that the kind takes.
	params []string
	// run misbehaves on the wire.
	run func(x *wire, r *reply, f schemas.StubFault, method string) error
	// rewrite gives another reply, which goes out in order; such a fault
	// needs no socket.
	rewrite func(r *reply, q *request) *reply
}

var faultKinds = map[string]faultKind{
	"stall-before-headers": {
		about:  "Reads the request and says nothing.",
		params: []string{"durationMs"},
		run: func(x *wire, _ *reply, f schemas.StubFault, _ string) error {
			return x.stall(milliseconds(f.DurationMs))
		},
	},
	"stall-in-body": {
		about:  "Sends the headers and the first afterBytes of the body (default half), then nothing more.",
		params: []string{"afterBytes", "durationMs"},
		run: func(x *wire, r *reply, f schemas.StubFault, _ string) error {
			if err := x.sendPart(r, f.AfterBytes); err != nil {
				return err
			}
			return x.stall(milliseconds(f.DurationMs))
		},
	},
	"drip": {
		about:  "Sends the body in pieces of bytes (default 1), with intervalMs (default 100) between them.",
		params: []string{"bytes", "intervalMs"},
		run:    runDrip,
	},
	"close-before-headers": {
		about: "Closes the connection in order, without an answer.",
		run:   func(*wire, *reply, schemas.StubFault, string) error { return nil },
	},
	"reset": {
		about:  "Resets the connection (TCP RST) after afterBytes of the answer, status line included (default 0).",
		params: []string{"afterBytes"},
		run: func(x *wire, r *reply, f schemas.StubFault, _ string) error {
			if err := x.reset(); err != nil {
				return err
			}
			if f.AfterBytes == nil || *f.AfterBytes == 0 {
				return nil
			}
			head := r.wireHead(nil)
			n := min(*f.AfterBytes, int64(len(head)))
			x.sent.Phase = PhaseHead
			if err := x.write(head[:n]); err != nil || n < int64(len(head)) {
				return err
			}
			x.sent.Status, x.sent.Phase = r.status, PhaseHeadSent
			return x.writeBody(r.body[:min(*f.AfterBytes-n, int64(len(r.body)))])
		},
	},
	"truncated-body": {
		about:  "Announces the whole body with Content-Length, sends its first afterBytes (default half) and closes.",
		params: []string{"afterBytes"},
		run: func(x *wire, r *reply, f schemas.StubFault, _ string) error {
			return x.sendPart(r, f.AfterBytes)
		},
	},
	"malformed-chunk": {
		about: "Sends one good chunk, then a chunk whose size is not a number.",
		run: func(x *wire, r *reply, _ schemas.StubFault, _ string) error {
			if err := x.writeHead(r, chunkedFraming); err != nil {
				return err
			}
			if err := x.writeChunk(r.body[:(len(r.body)+1)/2]); err != nil {
				return err
			}
			return x.write([]byte("zz\r\nnot a chunk\r\n"))
		},
	},
	"garbage": {
		about:  "Answers with bytes (default 512) that are not HTTP.",
		params: []string{"bytes"},
		run: func(x *wire, _ *reply, f schemas.StubFault, _ string) error {
			size := int(min(orDefault(f.Bytes, 512), maxPiece))
			pattern := []byte("\x00\xff\x16\x03garbage\x7f\x80\r\n")
			return x.write(bytes.Repeat(pattern, size/len(pattern)+1)[:size])
		},
	},
	"endless-body": {
		about:  "Sends chunks of bytes (default 65536), one every intervalMs (default 0), until the client leaves.",
		params: []string{"bytes", "intervalMs"},
		run:    runEndless,
	},
	"redirect-loop": {
		about:   "Redirects to itself, without end; the query parameter hop counts.",
		rewrite: redirectToSelf,
	},
	"wrong-content-type": {
		about:   "Labels the body as what it is not: JSON as text/html, anything else as application/json.",
		rewrite: mislabel,
	},
}

// FaultKinds gives the known fault kinds, each with what it does in a sentence.
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

var chunkedFraming = schemas.StubHeaders{{Name: "Transfer-Encoding", Value: "chunked"}}

// checkFault refuses unknown kinds, and parameters that the kind does not take.
func checkFault(f schemas.StubFault, at string) error {
	kind, ok := faultKinds[f.Kind]
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
		}
	}
	if f.Bytes > maxPiece {
		return invalid(at+"/bytes", "is %d; at most %d", f.Bytes, maxPiece)
	}
	return nil
}

// sendPart announces the whole body and sends the first n bytes of it, half of
// it by default.
func (x *wire) sendPart(r *reply, n *int64) error {
	if err := x.writeHead(r, contentLength(len(r.body))); err != nil {
		return err
	}
	part := len(r.body) / 2
	if n != nil {
		part = int(min(*n, int64(len(r.body))))
	}
	return x.writeBody(r.body[:part])
}

func contentLength(n int) schemas.StubHeaders {
	return schemas.StubHeaders{{Name: "Content-Length", Value: strconv.Itoa(n)}}
}

func runDrip(x *wire, r *reply, f schemas.StubFault, method string) error {
	if err := x.writeHead(r, contentLength(len(r.body))); err != nil || method == http.MethodHead {
		return err
	}
	interval := milliseconds(int(orDefault(int64(f.IntervalMs), 100)))
	for piece := range slices.Chunk(r.body, int(orDefault(f.Bytes, 1))) {
		if x.sent.BodyBytes > 0 {
			if err := x.pause(interval); err != nil {
				return err
			}
		}
		if err := x.writeBody(piece); err != nil {
			return err
		}
	}
	x.sent.Phase = PhaseComplete
	return nil
}

func runEndless(x *wire, r *reply, f schemas.StubFault, _ string) error {
	if err := x.writeHead(r, chunkedFraming); err != nil {
		return err
	}
	size := int(orDefault(f.Bytes, 64<<10))
	filler := r.body
	if len(filler) == 0 {
		filler = []byte("no end in sight ")
	}
	piece := bytes.Repeat(filler, size/len(filler)+1)[:size]
	for {
		if err := x.writeChunk(piece); err != nil {
			return err
		}
		if f.IntervalMs > 0 {
			if err := x.pause(milliseconds(f.IntervalMs)); err != nil {
				return err
			}
		}
	}
}

func redirectToSelf(_ *reply, q *request) *reply {
	query := q.URL.Query()
	hop, _ := strconv.Atoi(query.Get("hop"))
	query.Set("hop", strconv.Itoa(hop+1))
	location := q.URL.EscapedPath() + "?" + query.Encode()
	return newReply(http.StatusFound, "", nil, schemas.StubHeader{Name: "Location", Value: location})
}

func mislabel(r *reply, _ *request) *reply {
	label := "application/json"
	if _, err := decodeJSON(r.body); err == nil {
		label = "text/html; charset=utf-8"
	}
	headers := slices.DeleteFunc(slices.Clone(r.headers), func(h schemas.StubHeader) bool { return strings.EqualFold(h.Name, "Content-Type") })
	return newReply(r.status, label, r.body, headers...)
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

// inject runs the reply's fault on the wire.
func (x *wire) inject(r *reply, method string) error {
	x.sent.Fault, x.sent.Phase = r.fault.Kind, PhaseBeforeStatus
	if err := faultKinds[r.fault.Kind].run(x, r, *r.fault, method); err != nil {
		return fmt.Errorf("fault %s: %w", r.fault.Kind, err)
	}
	return nil
}
