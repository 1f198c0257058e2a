package mockbackend

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// A stream is the [sender] of HTTP/2: what goes out, does so through net/http.
type stream struct {
	*request
	w   http.ResponseWriter
	ctx context.Context // ends when the client leaves or the server closes
}

func (x *stream) writeHead(r *reply, end bodyEnd) error {
	r.fill(x.w)
	if end == framedByChunks { // of which HTTP/2 needs none
		x.w.Header().Del("Content-Length")
	}
	x.w.WriteHeader(r.status)
	x.sent.Status = r.status
	x.reach(PhaseHeadSent)
	return x.flush()
}

func (x *stream) writeBody(p []byte) error {
	if len(p) == 0 || x.Method == http.MethodHead {
		return nil
	}
	x.sent.Phase = PhaseBody
	n, err := x.w.Write(p)
	x.wrote(n)
	if err != nil {
		return fmt.Errorf("writing the body: %w", err)
	}
	return x.flush()
}

func (x *stream) flush() error {
	if err := http.NewResponseController(x.w).Flush(); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return nil
}

func (x *stream) writeEnd() error {
	x.sent.Phase = PhaseComplete
	return nil
}

func (x *stream) pause(d time.Duration) error { return sleep(x.ctx, d) }

func (x *stream) stall(d time.Duration) error { return stall(x.ctx, d) }

// end notes how the answer ended.
func (x *stream) end(err error) {
	x.sent.ClientEnded = x.ctx.Err() != nil && !x.scope.ended() && x.sent.Phase != PhaseComplete
	if err != nil {
		x.sent.Error = fmt.Sprintf("fault %s: %v", x.sent.Fault, err)
	}
}

const (
	frameGoAway   = 7 // RFC 9113, section 6.8
	internalError = 2 // RFC 9113, section 7
)

// goAway ends the connection with a GOAWAY frame. It says that the request may
// have been worked on (the last stream is as high as can be), so that a client
// may not just repeat it.
func (x *stream) goAway() error {
	conn, ok := x.Context().Value(connKey{}).(*tls.Conn)
	if !ok {
		return errors.New("writing GOAWAY: the connection is not one of this server's own")
	}
	const reason = "injected by the mock backend"
	frame := []byte{0, 0, byte(8 + len(reason)), frameGoAway, 0, 0, 0, 0, 0}
	frame = binary.BigEndian.AppendUint32(frame, 1<<31-1)
	frame = binary.BigEndian.AppendUint32(frame, internalError)
	// net/http flushes whole frames, so this one falls between two of them.
	if _, err := conn.Write(append(frame, reason...)); err != nil {
		return fmt.Errorf("writing GOAWAY: %w", err)
	}
	return conn.Close()
}
