package mockbackend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"example.com/touchstone/schemas"
)

const (
	// ScopeHeader names the scope that a request belongs to.
	ScopeHeader = "X-Touchstone-Scope"
	// scopePrefix is the other way to name it: /__scope/{key}/rest-of-the-path.
	scopePrefix = "/__scope/"
	// maxScopeKey bounds a key, in bytes.
	maxScopeKey = 200
	// maxScopes bounds the scopes that requests make come into being.
	maxScopes = 1000
)

// A Scope is a part of the server that the others do not see: it has stubs,
// scenario states, counters, orders and a journal of its own, so that tests can
// share one server side by side. A request belongs to the scope that its path
// (/__scope/{key}/...) or its header [ScopeHeader] names, the path first, else
// to the default scope. A Scope is safe for concurrent use.
type Scope struct {
	server    *Server
	key       string
	index     *index
	scenarios scenarios
	journal   *Journal
	orders    *orders
	model     model
	files     loaded

	ctx  context.Context // ends when the scope is dropped or the server closes
	drop context.CancelCauseFunc
}

var errScopeDropped = errors.New("the scope was dropped")

func newScope(s *Server, key string) *Scope {
	c := &Scope{
		server:  s,
		key:     key,
		index:   newIndex(),
		journal: newJournal(key, s.opts),
		orders:  newOrders(),
	}
	c.ctx, c.drop = context.WithCancelCause(s.ctx)
	return c
}

// Key is the key of the scope; empty for the default one.
func (c *Scope) Key() string { return c.key }

// URL is the base URL of the scope, without a trailing slash: a client that
// has it needs no header. It is empty for a server that does not listen.
func (c *Scope) URL() string {
	if c.key == "" || c.server.url == "" {
		return c.server.url
	}
	return c.server.url + scopePrefix + url.PathEscape(c.key)
}

// Add puts a stub in and gives its id, which is unique in the scope. What the
// stub asks for and cannot be done is an [*InvalidStubError]. Of two stubs that
// match alike, the later one answers. The stub is copied: what the caller does
// with it afterwards changes nothing here.
func (c *Scope) Add(in schemas.Stub) (string, error) {
	made, err := c.compile(in.Clone())
	if err != nil {
		return "", err
	}
	if err := c.index.add(made); err != nil {
		return "", err
	}
	return made.ID, nil
}

func (c *Scope) compile(in schemas.Stub) (*stub, error) {
	return c.compileWith(in, c.server.readFile)
}

func (c *Scope) compileWith(in schemas.Stub, files fileReader) (*stub, error) {
	made, err := compileStub(in, files)
	if err != nil {
		return nil, err
	}
	if c.server.socketless.Load() {
		if err := checkSocketless(made); err != nil {
			return nil, err
		}
	}
	// A server that does not listen by itself may be behind one that has HTTP/2.
	if c.server.http != nil && !c.server.opts.TLS {
		if err := made.eachReply((*reply).checkPlain); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// Remove takes a stub out and tells whether it was there. Its journal entries
// stay.
func (c *Scope) Remove(id string) bool { return c.index.remove(id) }

// Stub gives a copy of the stub with the id.
func (c *Scope) Stub(id string) (schemas.Stub, bool) {
	if found := c.index.get(id); found != nil {
		return found.Stub.Clone(), true
	}
	return schemas.Stub{}, false
}

// Stubs gives copies of the stubs, oldest first.
func (c *Scope) Stubs() []schemas.Stub {
	all := c.index.all()
	list := make([]schemas.Stub, len(all))
	for i, s := range all {
		list[i] = s.Stub.Clone()
	}
	return list
}

// RemoveAll takes all stubs out.
func (c *Scope) RemoveAll() { c.index.clear() }

// Reset brings the scope back to its start: no stubs but those of its files, no
// scenario states, an empty journal, the first orders.
func (c *Scope) Reset() {
	c.resetStubs()
	c.scenarios.reset()
	c.journal.Clear()
	c.orders.reset()
	c.model.set(nil, nil)
}

// Journal is the record of the scope's requests.
func (c *Scope) Journal() *Journal { return c.journal }

// Wait is [Journal.Wait] on the scope's journal, which ends too when the scope
// is dropped. It may be called after the server has closed.
func (c *Scope) Wait(ctx context.Context, f Filter, n int) ([]Entry, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.ctx, func() {
		if cause := context.Cause(c.ctx); errors.Is(cause, errScopeDropped) {
			cancel(cause)
		}
	})()
	return c.journal.Wait(ctx, f, n)
}

// ended tells that the scope was dropped or the server closes, so that an answer
// that breaks off does so at our end. The server is asked first: contexts that
// come from its own end in any order.
func (c *Scope) ended() bool { return c.server.ctx.Err() != nil || c.ctx.Err() != nil }

// scopes are the scopes of a server besides the default one.
type scopes struct {
	mu    sync.RWMutex
	byKey map[string]*Scope
}

// Scope gives the scope with the key, which comes into being with its first
// use. The empty key is the default scope.
func (s *Server) Scope(key string) *Scope {
	c, _ := s.scope(key, 0)
	return c
}

// scope makes a scope unless there are limit of them already; 0 is no limit.
func (s *Server) scope(key string, limit int) (*Scope, error) {
	if key == "" {
		return s.root, nil
	}
	s.scopes.mu.RLock()
	c := s.scopes.byKey[key]
	s.scopes.mu.RUnlock()
	if c != nil {
		return c, nil
	}
	s.scopes.mu.Lock()
	defer s.scopes.mu.Unlock()
	if c := s.scopes.byKey[key]; c != nil {
		return c, nil
	}
	if limit > 0 && len(s.scopes.byKey) >= limit {
		return nil, fmt.Errorf("there are %d scopes already; drop those that are done with", limit)
	}
	if s.scopes.byKey == nil {
		s.scopes.byKey = map[string]*Scope{}
	}
	c = newScope(s, key)
	s.scopes.byKey[key] = c
	return c, nil
}

// Scopes gives the scopes besides the default one, by key.
func (s *Server) Scopes() []*Scope {
	s.scopes.mu.RLock()
	defer s.scopes.mu.RUnlock()
	list := make([]*Scope, 0, len(s.scopes.byKey))
	for _, c := range s.scopes.byKey {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *Scope) int { return cmp.Compare(a.key, b.key) })
	return list
}

// DropScope forgets a scope with all that is in it, ends what it is answering
// and waiting for, and tells whether it was there. The default scope cannot be
// dropped.
func (s *Server) DropScope(key string) bool {
	s.scopes.mu.Lock()
	c := s.scopes.byKey[key]
	delete(s.scopes.byKey, key)
	s.scopes.mu.Unlock()
	if c == nil {
		return false
	}
	c.drop(errScopeDropped)
	return true
}

// place finds the scope of a request and takes the prefix that named it off its
// path.
func (s *Server) place(q *request) error {
	q.scope = s.root
	var key string
	if rest, ok := strings.CutPrefix(q.path, scopePrefix); ok {
		segment, _, _ := strings.Cut(rest, "/")
		if q.path = rest[len(segment):]; q.path == "" {
			q.path = "/"
		}
		if key = plainSegment(segment); key == "" {
			return fmt.Errorf("the path names no scope; give %s{key}/...", scopePrefix)
		}
		q.base = scopePrefix + url.PathEscape(key)
	} else if named := q.Header[ScopeHeader]; len(named) > 0 {
		key = named[0]
	}
	if len(key) > maxScopeKey && !s.hasScope(key) {
		return fmt.Errorf("the scope key has %d bytes; at most %d", len(key), maxScopeKey)
	}
	var err error
	q.scope, err = s.scope(key, maxScopes)
	return err
}

// hasScope tells whether there is a scope, of which a program may have made one
// with a key that is too long for a client.
func (s *Server) hasScope(key string) bool {
	s.scopes.mu.RLock()
	defer s.scopes.mu.RUnlock()
	return s.scopes.byKey[key] != nil
}

type scopeKey struct{}

// scopeFrom gives the scope of a request to the handlers of the tool itself,
// whose path no longer names it.
func scopeFrom(r *http.Request) *Scope {
	return r.Context().Value(scopeKey{}).(*Scope)
}

// forAdmin is the request as the handlers of the tool itself see it: with the
// scope in the context and no prefix in the path.
func forAdmin(q *request) *http.Request {
	r := q.WithContext(context.WithValue(q.Context(), scopeKey{}, q.scope))
	if q.base != "" {
		u := *r.URL
		// As it came: an escaped slash divides nothing.
		parts := strings.SplitN(u.EscapedPath(), "/", 4)
		if u.RawPath = "/"; len(parts) == 4 { // "", "__scope", its key, the rest
			u.RawPath += parts[3]
		}
		if path, err := url.PathUnescape(u.RawPath); err == nil {
			u.Path = path
		}
		r.URL = &u
	}
	return r
}
