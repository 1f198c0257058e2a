package agent

import (
	"context"
	"errors"
	"sync"
	"time"
)

// session is a conversation that may go on with a later call.
type session struct {
	active   bool
	messages []Message
}

// session gives a persistent session, or a new one for the empty id. The caller
// has the lock of the object.
func (o *Object) session(id string) *session {
	if id == "" {
		return &session{}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.persistent(id)
}

// persistent gives a persistent session, which comes into being with its first
// use. The caller has the mutex.
func (o *Object) persistent(id string) *session {
	if o.sessions == nil {
		o.sessions = map[string]*session{}
	}
	s := o.sessions[id]
	if s == nil {
		s = &session{}
		o.sessions[id] = s
	}
	return s
}

// enter makes a persistent session active, until leave. It reports false at once
// where the session is active already (AGENT-09): no waiting helps a caller who
// would talk into another's conversation.
func enter(o *Object, id string) (leave func(), ok bool) {
	if id == "" {
		return func() {}, true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.persistent(id)
	if s.active {
		return nil, false
	}
	s.active = true
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		s.active = false
	}, true
}

// keep stores a conversation that has come to its outcome. A call that broke
// leaves no trace in its session.
func keep(s *session, messages []Message) { s.messages = answered(messages) }

// answered gives the messages without a last one whose calls have no results:
// models refuse to go on from there.
func answered(messages []Message) []Message {
	for i := len(messages) - 1; i >= 0; i-- {
		switch n := len(messages[i].ToolCalls); {
		case messages[i].Role == RoleTool:
		case n > 0 && len(messages)-1-i < n:
			return messages[:i]
		default:
			return messages
		}
	}
	return messages
}

var (
	errBusy    = errors.New("the object is busy")
	errTimeout = errors.New("the time of the invocation is up")
)

// lock is a mutex that one can give up waiting for. The zero value is unlocked.
type lock struct {
	once sync.Once
	slot chan struct{} // full while it is locked
}

// acquire waits for the lock, up to limit. The error is errBusy or the context's.
func (l *lock) acquire(ctx context.Context, limit time.Duration) error {
	l.once.Do(func() { l.slot = make(chan struct{}, 1) })
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case l.slot <- struct{}{}:
		return nil
	case <-timer.C:
		return errBusy
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *lock) release() { <-l.slot }
