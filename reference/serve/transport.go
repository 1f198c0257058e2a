package serve

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// maxMessage bounds the bytes of one message.
const maxMessage = 64 << 20

// maxCalls bounds the calls of one stream that are in flight at once.
const maxCalls = 256

// ServeLines answers messages from r, one a line, with lines on w. Calls run
// side by side, and each answer is one Write. It returns when r ends and all
// answers are written; nil means that r ended well. When ctx ends, the calls in
// flight are cut short and ServeLines returns at the next line.
func (h *Handler) ServeLines(ctx context.Context, r io.Reader, w io.Writer) error {
	var (
		calls   sync.WaitGroup
		slots   = make(chan struct{}, maxCalls)
		writing sync.Mutex
		failed  error // of a Write; later answers have nowhere to go
	)
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxMessage)
	for lines.Scan() && ctx.Err() == nil {
		line := bytes.Clone(bytes.TrimSpace(lines.Bytes()))
		if len(line) == 0 {
			continue
		}
		slots <- struct{}{}
		calls.Go(func() {
			defer func() { <-slots }()
			answer := append(h.Handle(ctx, line), '\n')
			writing.Lock()
			defer writing.Unlock()
			if failed == nil {
				_, failed = w.Write(answer)
			}
		})
	}
	calls.Wait()
	switch {
	case lines.Err() != nil:
		return fmt.Errorf("reading messages of up to %d bytes a line: %w", maxMessage, lines.Err())
	case failed != nil:
		return fmt.Errorf("writing an answer: %w", failed)
	}
	return ctx.Err()
}

// ServeHTTP answers the message in the body of a POST.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "send a JSON-RPC 2.0 message with POST", http.StatusMethodNotAllowed)
		return
	}
	message, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	if err != nil {
		status := http.StatusBadRequest
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(w, "reading the message: "+err.Error(), status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// A client that is gone needs no answer, and no one else is told of one.
	_, _ = w.Write(h.Handle(r.Context(), message))
}
