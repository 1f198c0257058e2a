package mockbackend

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"example.com/touchstone/schemas"
)

// Phases of an answer: how far it got.
const (
	PhaseBeforeStatus = "before-status"
	PhaseHead         = "head"      // within status line and headers
	PhaseHeadSent     = "head-sent" // headers complete, no body yet
	PhaseBody         = "body"      // within the body
	PhaseComplete     = "complete"
)

// An Entry is one received request and what became of it.
type Entry struct {
	// Seq counts requests from 1.
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time"`
	// Method, Target and Proto are the request line; Target is as sent.
	Method string `json:"method"`
	Target string `json:"target"`
	Proto  string `json:"proto"`
	// Path is Target without query, its segments percent-decoded.
	Path string `json:"path"`
	// Header is in wire order, with names as the client spelled them.
	Header schemas.StubHeaders `json:"header"`
	// Body is the start of the body; BodyBytes is its true length.
	Body      []byte `json:"body,omitempty"`
	BodyBytes int64  `json:"bodyBytes"`
	// Stub is the id of the stub that answered, Route the ready-made route.
	// With neither the request missed.
	Stub  string `json:"stub,omitempty"`
	Route string `json:"route,omitempty"`
	// Near are stubs that nearly matched, when none did.
	Near []NearStub `json:"near,omitempty"`
	// Done is false while the answer is on its way.
	Done bool `json:"done"`
	// Duration is the time from request to the end of the answer.
	Duration time.Duration `json:"durationNs"`
	Sent     Sent          `json:"sent"`
}

// Missed tells whether nothing but the 404 answered.
func (e Entry) Missed() bool { return e.Stub == "" && e.Route == "" }

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
	// ClientEnded tells that the client left before the answer's end.
	ClientEnded bool `json:"clientEnded,omitempty"`
	// Error is what kept the answer from being sent in whole.
	Error string `json:"error,omitempty"`
}

// A Filter selects journal entries; its zero value selects all. Text members
// left empty are no condition.
type Filter struct {
	Stub   string
	Method string
	// Path is compared with the entry's decoded path; a trailing * stands
	// for any rest.
	Path string
	// After leaves out entries up to and with this Seq.
	After uint64
	// Done leaves out requests whose answer is still on its way.
	Done bool
	// ClientEnded leaves out answers that the client let end.
	ClientEnded bool
	// Missed leaves out what a stub or a route answered.
	Missed bool
}

func (f Filter) selects(e *Entry) bool {
	return (f.Stub == "" || f.Stub == e.Stub) &&
		(f.Method == "" || f.Method == e.Method) &&
		f.selectsPath(e.Path) &&
		e.Seq > f.After &&
		(!f.Done || e.Done) &&
		(!f.ClientEnded || e.Sent.ClientEnded) &&
		(!f.Missed || e.Missed())
}

func (f Filter) selectsPath(path string) bool {
	if prefix, ok := strings.CutSuffix(f.Path, "*"); ok {
		return strings.HasPrefix(path, prefix)
	}
	return f.Path == "" || f.Path == path
}

// A Journal keeps the latest requests. It is safe for concurrent use.
type Journal struct {
	mu       sync.Mutex
	ring     []*record
	first    int // index of the oldest
	count    int
	bytes    int64 // of bodies kept
	maxBytes int64
	seq      uint64
	dropped  uint64
	byStub   map[string][]*record
	changed  chan struct{} // closed at a change, when somebody waits
}

// record is an entry and the head it was parsed from, which is read only when
// somebody asks.
type record struct {
	Entry
	head []byte
}

func newJournal(entries int, bodyBytes int64) *Journal {
	return &Journal{ring: make([]*record, entries), maxBytes: bodyBytes, byStub: map[string][]*record{}}
}

// begin takes in a request whose answer starts now.
func (j *Journal) begin(r *record) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seq++
	r.Seq = j.seq
	for j.count == len(j.ring) || (j.count > 0 && j.bytes+int64(len(r.Body)) > j.maxBytes) {
		j.dropOldest()
	}
	j.ring[(j.first+j.count)%len(j.ring)] = r
	j.count++
	j.bytes += int64(len(r.Body))
	if r.Stub != "" {
		j.byStub[r.Stub] = append(j.byStub[r.Stub], r)
	}
	j.announce()
}

func (j *Journal) dropOldest() {
	oldest := j.ring[j.first]
	j.ring[j.first] = nil
	j.first = (j.first + 1) % len(j.ring)
	j.count--
	j.bytes -= int64(len(oldest.Body))
	j.dropped++
	if oldest.Stub == "" {
		return
	}
	// The oldest of all is the oldest of its stub.
	if rest := j.byStub[oldest.Stub][1:]; len(rest) > 0 {
		j.byStub[oldest.Stub] = rest
	} else {
		delete(j.byStub, oldest.Stub)
	}
}

// finish notes what became of a request.
func (j *Journal) finish(r *record, sent Sent) {
	j.mu.Lock()
	defer j.mu.Unlock()
	r.Sent, r.Done, r.Duration = sent, true, time.Since(r.Time)
	j.announce()
}

func (j *Journal) announce() {
	if j.changed != nil {
		close(j.changed)
		j.changed = nil
	}
}

// Entries gives the selected entries, oldest first. With a stub id in the
// filter it looks at that stub's entries alone.
func (j *Journal) Entries(f Filter) []Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.entries(f)
}

func (j *Journal) entries(f Filter) []Entry {
	var list []Entry
	take := func(r *record) {
		if f.selects(&r.Entry) {
			if r.head != nil {
				r.Header, r.head = parseHead(r.head), nil
			}
			list = append(list, r.Entry)
		}
	}
	if f.Stub != "" {
		for _, r := range j.byStub[f.Stub] {
			take(r)
		}
		return list
	}
	for i := range j.count {
		take(j.ring[(j.first+i)%len(j.ring)])
	}
	return list
}

// Last is the Seq of the latest request, 0 before the first.
func (j *Journal) Last() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.seq
}

// Dropped is how many entries had to make room for later ones.
func (j *Journal) Dropped() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.dropped
}

// Clear forgets all entries; the numbering goes on.
func (j *Journal) Clear() {
	j.mu.Lock()
	defer j.mu.Unlock()
	clear(j.ring)
	clear(j.byStub)
	j.first, j.count, j.bytes, j.dropped = 0, 0, 0, 0
}

// Wait returns the selected entries once there are at least n of them. When
// the context ends first, its error comes with those there are.
func (j *Journal) Wait(ctx context.Context, f Filter, n int) ([]Entry, error) {
	for {
		j.mu.Lock()
		list := j.entries(f)
		if len(list) >= n {
			j.mu.Unlock()
			return list, nil
		}
		if j.changed == nil {
			j.changed = make(chan struct{})
		}
		changed := j.changed
		j.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return list, fmt.Errorf("waiting for %d requests, have %d: %w", n, len(list), context.Cause(ctx))
		}
	}
}
