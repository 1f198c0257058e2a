package mockbackend

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Journal keeps the latest requests of a scope. It is safe for concurrent
// use.
//
// It is a ring of slots without structure: what a request was is taken apart
// when somebody asks. So a request costs little time, and the garbage collector
// finds little to look at.
type Journal struct {
	scope    string
	maxSlots int
	maxBytes int64
	observe  func(Entry)

	mu      sync.Mutex
	slots   []slot // the entry with number seq is at seq modulo its length
	first   uint64 // number of the oldest entry kept
	next    uint64 // number of the coming entry
	bytes   int64  // of all blobs
	dropped uint64
	heads   []uint64      // latest entry of the stubs with a hash modulo the length
	changed chan struct{} // closed at a change, when somebody waits
}

// A slot is one entry of the ring.
type slot struct {
	// blob is the decoded path, the head as it came, and the start of the body.
	blob      []byte
	path      int // length of the path
	head      int // length of the head
	bodyBytes int64
	bodyError string
	start     time.Time
	duration  time.Duration
	done      bool
	stub      string
	previous  uint64 // entry before this one of a stub with the same head
	route     string
	near      []NearStub
	sent      Sent
}

func newJournal(scope string, opts Options) *Journal {
	return &Journal{scope: scope, maxSlots: opts.JournalEntries, maxBytes: opts.JournalBytes, observe: opts.Observe, first: 1, next: 1}
}

func (j *Journal) at(seq uint64) *slot { return &j.slots[seq%uint64(len(j.slots))] }

// keepBlob is the size up to which a slot keeps its memory for the next entry.
const keepBlob = 512

// begin takes in a request that has arrived, and gives its number. Without a
// decision its body is still to come.
func (j *Journal) begin(q *request, d *decision) uint64 {
	j.mu.Lock()
	size := len(q.path) + len(q.head) + len(q.body)
	j.makeRoom(size)
	seq := j.next
	j.next++
	s := j.at(seq)
	blob := s.blob[:0]
	if cap(blob) < size {
		blob = make([]byte, 0, size)
	}
	blob = append(append(blob, q.path...), q.head...)
	*s = slot{blob: blob, path: len(q.path), head: len(q.head), start: q.start, sent: Sent{Phase: PhaseReceiving}}
	j.bytes += int64(len(blob))
	if d != nil {
		j.take(seq, q, d)
	}
	tell := j.announce(seq)
	j.mu.Unlock()
	tell()
	return seq
}

// decided notes the body of a request and what answers it.
func (j *Journal) decided(seq uint64, q *request, d *decision) {
	j.mu.Lock()
	if seq < j.first {
		j.mu.Unlock()
		return
	}
	j.take(seq, q, d)
	for j.bytes > j.maxBytes && j.first < seq {
		j.dropOldest()
	}
	tell := j.announce(seq)
	j.mu.Unlock()
	tell()
}

func (j *Journal) take(seq uint64, q *request, d *decision) {
	s := j.at(seq)
	if size := len(s.blob) + len(q.body); cap(s.blob) < size {
		s.blob = append(make([]byte, 0, size), s.blob...)
	}
	s.blob = append(s.blob, q.body...)
	j.bytes += int64(len(q.body))
	s.bodyBytes = q.bodyBytes
	if q.bodyErr != nil {
		s.bodyError = q.bodyErr.Error()
	}
	s.stub, s.route, s.near = d.stub, d.route, d.near
	s.sent = q.sent
	j.chain(seq, d.hash)
}

var idSeed = maphash.MakeSeed()

func hashID(stub string) uint64 { return maphash.String(idSeed, stub) }

// head is the place of the latest entry of the stubs with a hash.
func (j *Journal) head(hash uint64) *uint64 { return &j.heads[hash%uint64(len(j.heads))] }

// chain puts an entry among those of its stub, the latest one first. It is not
// always the latest itself: those that came after it may have been decided
// before.
func (j *Journal) chain(seq, hash uint64) {
	s := j.at(seq)
	if s.stub == "" {
		return
	}
	place := j.head(hash)
	for *place > seq {
		place = &j.at(*place).previous
	}
	s.previous, *place = *place, seq
}

// progress notes how far an answer has got.
func (j *Journal) progress(seq uint64, sent Sent) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if seq >= j.first {
		j.at(seq).sent = sent
		j.wake()
	}
}

// finish notes what became of a request.
func (j *Journal) finish(seq uint64, sent Sent) {
	j.mu.Lock()
	if seq < j.first {
		j.mu.Unlock()
		return
	}
	s := j.at(seq)
	s.sent, s.done, s.duration = sent, true, time.Since(s.start)
	tell := j.announce(seq)
	j.mu.Unlock()
	tell()
}

// makeRoom makes place for one more entry of n bytes.
func (j *Journal) makeRoom(n int) {
	for j.first < j.next && j.bytes+int64(n) > j.maxBytes {
		j.dropOldest()
	}
	count := int(j.next - j.first)
	switch {
	case count < len(j.slots):
	case count == j.maxSlots:
		j.dropOldest()
	default:
		grown := make([]slot, min(max(2*count, 64), j.maxSlots))
		for seq := j.first; seq < j.next; seq++ {
			grown[seq%uint64(len(grown))] = *j.at(seq)
		}
		j.slots, j.heads = grown, make([]uint64, len(grown))
		for seq := j.first; seq < j.next; seq++ {
			j.chain(seq, hashID(j.at(seq).stub))
		}
	}
}

func (j *Journal) dropOldest() {
	s := j.at(j.first)
	j.bytes -= int64(len(s.blob))
	if cap(s.blob) > keepBlob {
		s.blob = nil
	}
	j.first++
	j.dropped++
}

// wake tells those who wait that an entry has changed.
func (j *Journal) wake() {
	if j.changed != nil {
		close(j.changed)
		j.changed = nil
	}
}

// announce is wake; what it returns tells the observer, who may use the
// journal, and is called without the lock.
func (j *Journal) announce(seq uint64) (tell func()) {
	j.wake()
	if j.observe == nil {
		return func() {}
	}
	e := j.entry(j.at(seq), seq)
	return func() { j.observe(e) }
}

// entry takes a slot apart.
func (j *Journal) entry(s *slot, seq uint64) Entry {
	line, fields, _ := bytes.Cut(s.blob[s.path:s.path+s.head], []byte("\n"))
	method, rest, _ := strings.Cut(strings.TrimRight(string(line), "\r"), " ")
	target, proto, _ := strings.Cut(rest, " ")
	return Entry{
		Seq: seq, Scope: j.scope, Time: s.start,
		Method: method, Target: target, Proto: proto,
		Path: string(s.blob[:s.path]), Header: parseFields(fields),
		Body: append([]byte(nil), s.blob[s.path+s.head:]...), BodyBytes: s.bodyBytes, BodyError: s.bodyError,
		Stub: s.stub, Route: s.route, Near: s.near,
		Done: s.done, Duration: s.duration, Sent: s.sent,
	}
}

func (s *slot) hasMethod(method string) bool {
	rest, ok := bytes.CutPrefix(s.blob[s.path:], []byte(method))
	return ok && bytes.HasPrefix(rest, []byte(" "))
}

// Entries gives the selected entries, oldest first. With a stub id in the
// filter it looks at that stub's entries alone.
func (j *Journal) Entries(f Filter) []Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.entries(f)
}

// Entry gives the entry with a number, while it is kept.
func (j *Journal) Entry(seq uint64) (e Entry, kept bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if seq < j.first || seq >= j.next {
		return Entry{}, false
	}
	return j.entry(j.at(seq), seq), true
}

func (j *Journal) entries(f Filter) []Entry {
	var list []Entry
	first := max(j.first, f.After+1)
	if f.Stub != "" && len(j.heads) > 0 {
		for seq := *j.head(hashID(f.Stub)); seq >= first; seq = j.at(seq).previous {
			if s := j.at(seq); f.selects(s) {
				list = append(list, j.entry(s, seq))
			}
		}
		slices.Reverse(list)
		return list
	}
	for seq := first; seq < j.next; seq++ {
		if s := j.at(seq); f.selects(s) {
			list = append(list, j.entry(s, seq))
		}
	}
	return list
}

// Last is the Seq of the latest request, 0 before the first.
func (j *Journal) Last() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.next - 1
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
	j.slots, j.heads = nil, nil
	j.first, j.bytes, j.dropped = j.next, 0, 0
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
