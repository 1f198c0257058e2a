package mockbackend

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"iter"
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
	heads   []uint64 // latest entry of the stubs with a hash modulo the length
	// early are entries that left before their answer ended, by number: an
	// observer hears of the end of each request.
	early   map[uint64]Entry
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
		e, observed := j.early[seq]
		e.Body, e.BodyBytes = bytes.Clone(q.body), q.bodyBytes
		if q.bodyErr != nil {
			e.BodyError = q.bodyErr.Error()
		}
		e.Stub, e.Route, e.Near, e.Sent = d.stub, d.route, d.near, q.sent
		if observed {
			j.early[seq] = e
		}
		j.mu.Unlock()
		if observed {
			j.observe(e)
		}
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
		e, observed := j.early[seq]
		delete(j.early, seq)
		j.mu.Unlock()
		if observed {
			e.Sent, e.Done, e.Duration = sent, true, time.Since(e.Time)
			j.observe(e)
		}
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

// leave notes that an entry leaves the journal.
func (j *Journal) leave(seq uint64) {
	if s := j.at(seq); j.observe != nil && !s.done {
		if j.early == nil {
			j.early = map[uint64]Entry{}
		}
		j.early[seq] = j.entry(s, seq)
	}
}

func (j *Journal) dropOldest() {
	j.leave(j.first)
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
	seqs := slices.Sorted(j.selected(f))
	list := make([]Entry, len(seqs))
	for i, seq := range seqs {
		list[i] = j.entry(j.at(seq), seq)
	}
	return list
}

// selected gives the numbers of the selected entries, in any order.
func (j *Journal) selected(f Filter) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		if f.After >= j.next {
			return
		}
		first := max(j.first, f.After+1)
		if f.Stub != "" && len(j.heads) > 0 {
			for seq := *j.head(hashID(f.Stub)); seq >= first; seq = j.at(seq).previous {
				if f.selects(j.at(seq)) && !yield(seq) {
					return
				}
			}
			return
		}
		for seq := first; seq < j.next; seq++ {
			if f.selects(j.at(seq)) && !yield(seq) {
				return
			}
		}
	}
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
	for seq := j.first; seq < j.next; seq++ {
		j.leave(seq)
	}
	j.slots, j.heads = nil, nil
	j.first, j.bytes, j.dropped = j.next, 0, 0
}

// has tells whether n entries are selected, at least.
func (j *Journal) has(n int, f Filter) bool {
	for range j.selected(f) {
		if n--; n <= 0 {
			return true
		}
	}
	return n <= 0
}

// Wait returns the selected entries once there are at least n of them. When
// the context ends first, its error comes with those there are.
func (j *Journal) Wait(ctx context.Context, f Filter, n int) ([]Entry, error) {
	for {
		j.mu.Lock()
		if j.has(n, f) {
			list := j.entries(f)
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
			j.mu.Lock()
			defer j.mu.Unlock()
			list, gone := j.entries(f), ""
			if j.dropped > 0 {
				gone = fmt.Sprintf(" (%d of all have made room for later ones: the journal holds %d requests and %d bytes)", j.dropped, j.maxSlots, j.maxBytes)
			}
			return list, fmt.Errorf("waiting for %d requests, have %d%s: %w", n, len(list), gone, context.Cause(ctx))
		}
	}
}
