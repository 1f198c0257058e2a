package mockbackend

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// An index finds the stubs for a request without looking at all of them:
// literal paths in a map, patterns in a tree of segments.
type index struct {
	mu      sync.RWMutex
	byID    map[string]*stub
	literal map[string]*stub // the first of a canonical path; the others follow it, linked both ways
	root    node
	added   uint64
}

// A node of the pattern tree stands for the segments on the way to it.
type node struct {
	children map[string]*node
	any      *node
	here     []*stub // patterns that end here
	below    []*stub // patterns that go on with {name...}
}

func newIndex() *index {
	return &index{byID: map[string]*stub{}, literal: map[string]*stub{}}
}

// add puts a stub in; one without an id gets one.
func (x *index) add(s *stub) error { return x.replace(nil, s) }

// replace takes stubs out, or those that have their ids by now, and puts others
// in, at once for whoever asks; with an error it changes nothing.
func (x *index) replace(out []*stub, in ...*stub) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	leaving := make(map[*stub]bool, len(out))
	for _, s := range out {
		if now := x.byID[s.ID]; now != nil {
			leaving[now] = true
		}
	}
	taken := make(map[string]bool, len(in))
	for i, s := range in {
		if taken[s.ID] {
			return invalid("/id", "%w", &takenError{index: i, id: s.ID, beside: true})
		}
		if other := x.byID[s.ID]; other != nil && !leaving[other] {
			return invalid("/id", "%w", &takenError{index: i, id: s.ID})
		}
		taken[s.ID] = s.ID != ""
	}
	for s := range leaving {
		x.take(s)
	}
	for _, s := range in {
		if s.ID == "" {
			for n := x.added + 1; s.ID == "" || x.byID[s.ID] != nil || taken[s.ID]; n++ {
				s.ID = fmt.Sprintf("stub-%d", n)
			}
		}
		x.enter(s)
	}
	x.file(in)
	return nil
}

// reset leaves nothing but stubs that have stood side by side before, at once
// for whoever asks.
func (x *index) reset(stubs []*stub) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.empty()
	for _, s := range stubs {
		x.enter(s)
	}
	x.file(stubs)
}

// A takenError is that the id of a stub, the one at an index, is in use.
type takenError struct {
	index  int
	id     string
	beside bool // by a stub that is added with it
}

func (e *takenError) Error() string {
	if e.beside {
		return fmt.Sprintf("%q is the id of another stub here too", e.id)
	}
	return fmt.Sprintf("%q is in use; remove that stub first", e.id)
}

// enter makes a stub whose id is free the youngest. It is to be filed then.
func (x *index) enter(s *stub) {
	x.added++
	s.order = x.added
	x.byID[s.ID], s.idHash = s, hashID(s.ID)
}

// file puts stubs where requests find them: those asked last go in first, so
// that of many on one path each has its place at the front.
func (x *index) file(stubs []*stub) {
	if len(stubs) > 1 {
		stubs = slices.SortedFunc(slices.Values(stubs), func(a, b *stub) int { return precedence(b, a) })
	}
	for _, s := range stubs {
		x.put(s)
	}
}

func (x *index) put(s *stub) {
	if s.pattern == nil {
		s.prev, s.next = s.place(x.literal[s.path])
		x.link(s, s, s)
		return
	}
	at := &x.root
	for _, segment := range s.pattern {
		switch segment.kind {
		case tailSegment:
			at.below = insert(at.below, s)
			return
		case anySegment:
			if at.any == nil {
				at.any = &node{}
			}
			at = at.any
		default:
			if at.children == nil {
				at.children = map[string]*node{}
			}
			if at.children[segment.text] == nil {
				at.children[segment.text] = &node{}
			}
			at = at.children[segment.text]
		}
	}
	at.here = insert(at.here, s)
}

// link makes what stands before and after a stub of a literal path lead to the
// one after it and the one before it: itself, or its neighbors when it goes.
func (x *index) link(s, after, before *stub) {
	switch {
	case s.prev != nil:
		s.prev.next = after
	case after != nil:
		x.literal[s.path] = after
	default:
		delete(x.literal, s.path)
	}
	if s.next != nil {
		s.next.prev = before
	}
}

// place finds where a stub belongs in a list: the stubs before and after it, or
// nil.
func (s *stub) place(list *stub) (before, after *stub) {
	for after = list; after != nil && precedence(after, s) < 0; after = after.next {
		before = after
	}
	return before, after
}

// insert keeps a list in the order in which its stubs are asked.
func insert(list []*stub, s *stub) []*stub {
	i, _ := slices.BinarySearchFunc(list, s, precedence)
	return slices.Insert(list, i, s)
}

// precedence orders stubs: the higher priority, then the more exact path, then
// the younger.
func precedence(a, b *stub) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.rank, b.rank), cmp.Compare(b.order, a.order))
}

// remove takes a stub out and says whether it was there.
func (x *index) remove(id string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.byID[id]
	if s == nil {
		return false
	}
	x.take(s)
	return true
}

// take is remove under the lock; a stub that is out already stays out.
func (x *index) take(s *stub) {
	if x.byID[s.ID] != s {
		return
	}
	delete(x.byID, s.ID)
	if s.pattern != nil {
		x.root.remove(s, s.pattern)
		return
	}
	x.link(s, s.next, s.prev)
	s.prev, s.next = nil, nil
}

// without undoes insert.
func without(list []*stub, s *stub) []*stub {
	i, found := slices.BinarySearchFunc(list, s, precedence)
	if !found {
		return list
	}
	return slices.Delete(list, i, i+1)
}

// remove takes the stub out below n and drops the nodes left empty.
func (n *node) remove(s *stub, pattern []segment) {
	if len(pattern) == 0 {
		n.here = without(n.here, s)
		return
	}
	switch first := pattern[0]; first.kind {
	case tailSegment:
		n.below = without(n.below, s)
	case anySegment:
		if n.any.remove(s, pattern[1:]); n.any.empty() {
			n.any = nil
		}
	default:
		child := n.children[first.text]
		if child.remove(s, pattern[1:]); child.empty() {
			delete(n.children, first.text)
		}
	}
}

func (n *node) empty() bool {
	return len(n.children) == 0 && n.any == nil && len(n.here) == 0 && len(n.below) == 0
}

func (x *index) clear() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.empty()
}

func (x *index) empty() {
	clear(x.byID)
	clear(x.literal)
	x.root = node{}
}

func (x *index) get(id string) *stub {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.byID[id]
}

// all gives the stubs, oldest first.
func (x *index) all() []*stub {
	x.mu.RLock()
	defer x.mu.RUnlock()
	list := make([]*stub, 0, len(x.byID))
	for _, s := range x.byID {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *stub) int { return cmp.Compare(a.order, b.order) })
	return list
}

// candidates appends to buf the stubs whose path fits, in the order in which
// they are asked.
func (x *index) candidates(path string, buf []*stub) []*stub {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for s := x.literal[path]; s != nil; s = s.next {
		buf = append(buf, s)
	}
	exact := len(buf)
	if !x.root.empty() {
		buf = x.root.collect(strings.TrimPrefix(path, "/"), false, buf)
	}
	if len(buf) > exact {
		slices.SortFunc(buf, precedence)
	}
	return buf
}

// collect walks the tree along a path without its leading slash.
func (n *node) collect(rest string, done bool, buf []*stub) []*stub {
	buf = append(buf, n.below...)
	if done {
		return append(buf, n.here...)
	}
	first, tail, more := strings.Cut(rest, "/")
	if child := n.children[first]; child != nil {
		buf = child.collect(tail, !more, buf)
	}
	if n.any != nil && first != "" {
		buf = n.any.collect(tail, !more, buf)
	}
	return buf
}
