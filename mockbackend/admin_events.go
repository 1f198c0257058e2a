package mockbackend

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// eventPause bounds how often a stream tells of changes; more only costs time.
const eventPause = 200 * time.Millisecond

// streamEvents tells of changes of the journal, as server-sent events: first the
// state, then again after each change.
func streamEvents(s *Server, w http.ResponseWriter, r *http.Request) {
	scope := scopeFrom(r)
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(scope.ctx, cancel)()
	defer context.AfterFunc(s.draining, cancel)()
	for {
		changed := scope.journal.whenChanged()
		if _, err := fmt.Fprintf(w, "event: journal\ndata: {\"last\":%d,\"dropped\":%d}\n\n", scope.journal.Last(), scope.journal.Dropped()); err != nil {
			return
		}
		if err := http.NewResponseController(w).Flush(); err != nil {
			return
		}
		if err := sleep(ctx, eventPause); err != nil {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// whenChanged gives a channel that is closed at the next change.
func (j *Journal) whenChanged() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.changed == nil {
		j.changed = make(chan struct{})
	}
	return j.changed
}
