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
	literal map[string]stubList // by canonical path
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
	return &index{byID: map[string]*stub{}, literal: map[string]stubList{}}
}

// add puts a stub in; one without an id gets one.
func (x *index) add(s *stub) error { return x.replace(nil, s) }

// replace takes stubs out and puts others in, at once for whoever asks; with an
// error it changes nothing.
func (x *index) replace(out []*stub, in ...*stub) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	leaving := make(map[*stub]bool, len(out))
	for _, s := range out {
		leaving[s] = true
	}
	taken := make(map[string]bool, len(in))
	for i, s := range in {
		if other := x.byID[s.ID]; taken[s.ID] || other != nil && !leaving[other] {
			return invalid("/id", "%w", &takenError{i, s.ID})
		}
		taken[s.ID] = s.ID != ""
	}
	for s := range leaving {
		x.take(s)
	}
	for _, s := range in {
		x.added++
		s.order = x.added
		if s.ID == "" {
			for n := x.added; s.ID == "" || x.byID[s.ID] != nil || taken[s.ID]; n++ {
				s.ID = fmt.Sprintf("stub-%d", n)
			}
		}
		x.put(s)
	}
	return nil
}

// A takenError is that the id of a stub, the one at an index, is in use.
type takenError struct {
	index int
	id    string
}

func (e *takenError) Error() string {
	return fmt.Sprintf("%q is in use; remove that stub first", e.id)
}

// put files a stub whose id is free.
func (x *index) put(s *stub) {
	x.byID[s.ID] = s
	if s.pattern == nil {
		list := x.literal[s.path]
		list.insert(s)
		x.literal[s.path] = list
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

// A stubList is the stubs of a literal path, in the order in which they are
// asked. There is nearly always one, which needs no list of its own.
type stubList struct {
	first *stub
	rest  []*stub
}

func (l *stubList) insert(s *stub) {
	switch {
	case l.first == nil:
		l.first = s
	case precedence(s, l.first) < 0:
		l.rest = slices.Insert(l.rest, 0, l.first)
		l.first = s
	default:
		l.rest = insert(l.rest, s)
	}
}

func (l *stubList) remove(s *stub) {
	if l.first != s {
		l.rest = without(l.rest, s)
		return
	}
	l.first = nil
	if len(l.rest) > 0 {
		l.first, l.rest = l.rest[0], l.rest[1:]
	}
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
	list := x.literal[s.path]
	if list.remove(s); list.first == nil {
		delete(x.literal, s.path)
		return
	}
	x.literal[s.path] = list
}

func without(list []*stub, s *stub) []*stub {
	return slices.DeleteFunc(list, func(other *stub) bool { return other == s })
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
	if list := x.literal[path]; list.first != nil {
		buf = append(append(buf, list.first), list.rest...)
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
