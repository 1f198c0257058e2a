package exec

import (
	"io"
	"sync"

	"example.com/touchstone/suite/target"
)

// tail keeps the end of a log. The zero value is ready for use.
type tail struct {
	mu      sync.Mutex
	kept    []byte
	dropped int64
}

var _ io.Writer = (*tail)(nil)

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	// Cut seldom, so that a chatty child costs one copy per kilobyte and not per line.
	if extra := len(t.kept) - target.ExcerptBytes; extra > target.ExcerptBytes {
		t.kept = append(t.kept[:0], t.kept[extra:]...)
		t.dropped += int64(extra)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return target.Tail(t.kept, t.dropped)
}
