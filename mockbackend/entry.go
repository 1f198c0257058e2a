package mockbackend

import (
	"bytes"
	"strings"
	"time"

	"example.com/touchstone/schemas"
)

// Phases of an exchange: how far it got.
const (
	PhaseReceiving    = "receiving"     // the body of the request is still coming
	PhaseBeforeStatus = "before-status" // nothing of the answer is out
	PhaseHead         = "head"          // within status line and headers
	PhaseHeadSent     = "head-sent"     // headers complete, no body yet
	PhaseBody         = "body"          // within the body
	PhaseComplete     = "complete"
)

// An Entry is one received request and what became of it.
type Entry struct {
	// Seq counts the requests of a scope from 1.
	Seq uint64 `json:"seq"`
	// Scope is the key of the scope; empty for the default one.
	Scope string    `json:"scope,omitempty"`
	Time  time.Time `json:"time"`
	// Method, Target and Proto are the request line; Target is as sent.
	Method string `json:"method"`
	Target string `json:"target"`
	Proto  string `json:"proto"`
	// Path is Target without query and without the prefix that names a scope,
	// its segments percent-decoded.
	Path string `json:"path"`
	// Header is in wire order, with names as the client spelled them. Where
	// there was no head in that form (HTTP/2, a transport without a socket) it
	// is in the order of the names.
	Header schemas.StubHeaders `json:"header"`
	// Body is the start of the body; BodyBytes is its true length.
	Body      []byte `json:"body,omitempty"`
	BodyBytes int64  `json:"bodyBytes"`
	// BodyError is why the body ended before its end, when it did.
	BodyError string `json:"bodyError,omitempty"`
	// Stub is the id of the stub that answered, Route the ready-made route.
	// With neither the request missed.
	Stub  string `json:"stub,omitempty"`
	Route string `json:"route,omitempty"`
	// Near are stubs that nearly matched, when none did.
	Near []NearStub `json:"near,omitempty"`
	// Done is false while the request or the answer is on its way.
	Done bool `json:"done"`
	// Duration is the time from the head of the request to the end of the
	// answer.
	Duration time.Duration `json:"durationNs"`
	// Sent grows while an answer is on its way.
	Sent Sent `json:"sent"`
}

// Missed tells whether nothing but the 404 answered.
func (e Entry) Missed() bool {
	return e.Stub == "" && e.Route == "" && e.Sent.Phase != PhaseReceiving
}

// A NearStub is a stub that did not match, and why.
type NearStub struct {
	Stub   string `json:"stub"`
	Reason string `json:"reason"`
}

// Sent is what really went out.
type Sent struct {
	// Status is the final status, 0 when it was never sent.
	Status int `json:"status"`
	// BodyBytes counts the body without its framing.
	BodyBytes int64  `json:"bodyBytes"`
	Phase     string `json:"phase"`
	// Fault is the kind of the fault injected.
	Fault string `json:"fault,omitempty"`
	// ClientEnded tells that the client left before the answer's end. One that
	// ended its own sending, and might still read, counts as one that left, as
	// for net/http.
	ClientEnded bool `json:"clientEnded,omitempty"`
	// Error is what kept the answer from being sent in whole.
	Error string `json:"error,omitempty"`
}

// A Filter selects journal entries; its zero value selects all. Members left
// at their zero value are no condition.
type Filter struct {
	Stub   string
	Method string
	// Path is compared with the entry's decoded path; a trailing * stands
	// for any rest.
	Path string
	// Status is the status sent.
	Status int
	// After leaves out entries up to and with this Seq.
	After uint64
	// Done leaves out requests whose answer is still on its way.
	Done bool
	// InFlight leaves out the others.
	InFlight bool
	// ClientEnded leaves out answers that the client let end.
	ClientEnded bool
	// Missed leaves out what a stub or a route answered.
	Missed bool
}

func (f Filter) selects(s *slot) bool {
	return (f.Stub == "" || f.Stub == s.stub) &&
		(f.Method == "" || s.hasMethod(f.Method)) &&
		(f.Path == "" || f.selectsPath(s.blob[:s.path])) &&
		(f.Status == 0 || f.Status == s.sent.Status) &&
		(!f.Done || s.done) &&
		(!f.InFlight || !s.done) &&
		(!f.ClientEnded || s.sent.ClientEnded) &&
		(!f.Missed || Entry{Stub: s.stub, Route: s.route, Sent: s.sent}.Missed())
}

func (f Filter) selectsPath(path []byte) bool {
	if prefix, ok := strings.CutSuffix(f.Path, "*"); ok {
		return bytes.HasPrefix(path, []byte(prefix))
	}
	return f.Path == string(path)
}
