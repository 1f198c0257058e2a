package mockbackend

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"example.com/touchstone/schemas"
)

// A wire is a connection taken over from net/http, on which anything can be
// written. Its context ends when the client leaves or the server closes.
type wire struct {
	conn    net.Conn
	ctx     context.Context
	cancel  context.CancelFunc
	server  context.Context // ends when the server closes
	watched chan struct{}   // closed when the watcher has ended
	broken  bool            // a write failed
	unhook  func() bool
	sent    Sent
}

// takeOver hijacks the connection of a request. ctx is the request's, server
// ends when the server closes. The caller closes the wire.
func takeOver(ctx, server context.Context, w http.ResponseWriter) (*wire, error) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, fmt.Errorf("taking over the connection: %w", err)
	}
	// Another http.Server may have set a deadline. An error means that the
	// connection is closed, which the first read or write will find too.
	_ = conn.SetDeadline(time.Time{})
	if tapped, ok := conn.(*tapConn); ok {
		tapped.tap.stop()
	}
	x := &wire{conn: conn, server: server, watched: make(chan struct{})}
	x.ctx, x.cancel = context.WithCancel(ctx)
	// A deadline in the past ends a write to a client that does not read.
	x.unhook = context.AfterFunc(x.ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	go func() {
		defer close(x.watched)
		scratch := make([]byte, 1024)
		for {
			// What a client sends while it is being answered is dropped: unread,
			// it would turn the close into a reset.
			if _, err := buffered.Read(scratch); err != nil {
				break
			}
		}
		x.cancel()
	}()
	return x, nil
}

// write sends bytes that are no body: status line, headers, framing.
func (x *wire) write(p []byte) error {
	if _, err := x.conn.Write(p); err != nil {
		x.broken = true
		return fmt.Errorf("writing the answer: %w", err)
	}
	return nil
}

// writeBody sends bytes of the body.
func (x *wire) writeBody(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	x.sent.Phase = PhaseBody
	n, err := x.conn.Write(p)
	x.sent.BodyBytes += int64(n)
	if err != nil {
		x.broken = true
		return fmt.Errorf("writing the body: %w", err)
	}
	return nil
}

// writeHead sends the interim answers and the final head. framing, when not
// nil, stands in for the framing headers listed and automatic.
func (x *wire) writeHead(r *reply, framing schemas.StubHeaders) error {
	x.sent.Phase = PhaseHead
	if err := x.write(r.wireHead(framing)); err != nil {
		return err
	}
	x.sent.Status = r.status
	x.sent.Phase = PhaseHeadSent
	return nil
}

// pause waits; it fails when the client leaves or the server closes.
func (x *wire) pause(d time.Duration) error { return sleep(x.ctx, d) }

// stall waits for the client to leave, or for d if that is positive.
func (x *wire) stall(d time.Duration) error {
	if d > 0 {
		return x.pause(d)
	}
	<-x.ctx.Done()
	return context.Cause(x.ctx)
}

// close ends the connection in order and waits for the watcher.
func (x *wire) close() {
	// Whoever has got the whole answer may leave.
	x.sent.ClientEnded = (x.broken || x.ctx.Err() != nil) && x.server.Err() == nil && x.sent.Phase != PhaseComplete
	x.unhook()
	_ = x.conn.Close()
	<-x.watched
	x.cancel()
}

// reset makes the coming close send a TCP RST in place of a FIN.
func (x *wire) reset() error {
	conn := x.conn
	if tapped, ok := conn.(*tapConn); ok {
		conn = tapped.Conn
	}
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return fmt.Errorf("resetting a %T: not a TCP connection", conn)
	}
	return tcp.SetLinger(0)
}

// sendRaw writes a reply as it is, polite or not, and ends the connection.
func (x *wire) sendRaw(r *reply, method string) error {
	if err := x.writeHead(r, nil); err != nil {
		return err
	}
	if method != http.MethodHead {
		if isChunked(r.headers) {
			if err := x.writeChunked(r.body); err != nil {
				return err
			}
		} else if err := x.writeBody(r.body); err != nil {
			return err
		}
	}
	x.sent.Phase = PhaseComplete
	return nil
}

func (x *wire) writeChunked(body []byte) error {
	if err := x.writeChunk(body); err != nil {
		return err
	}
	return x.write([]byte("0\r\n\r\n"))
}

func (x *wire) writeChunk(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	if err := x.write(fmt.Appendf(nil, "%x\r\n", len(data))); err != nil {
		return err
	}
	if err := x.writeBody(data); err != nil {
		return err
	}
	return x.write([]byte("\r\n"))
}

func isChunked(headers schemas.StubHeaders) bool {
	for _, h := range headers {
		if strings.EqualFold(h.Name, "Transfer-Encoding") && strings.Contains(strings.ToLower(h.Value), "chunked") {
			return true
		}
	}
	return false
}

// wireHead is the head as bytes: interim answers, status line, headers as
// listed, then the automatic ones that are neither listed nor left out.
func (r *reply) wireHead(framing schemas.StubHeaders) []byte {
	var b []byte
	for _, interim := range r.interim {
		b = appendHead(b, interim.Status, interim.Headers)
		b = append(b, "\r\n"...)
	}
	headers := r.headers
	if framing != nil {
		headers = nil
		for _, h := range r.headers {
			if !strings.EqualFold(h.Name, "Content-Length") && !strings.EqualFold(h.Name, "Transfer-Encoding") {
				headers = append(headers, h)
			}
		}
		headers = append(headers, framing...)
	}
	b = appendHead(b, r.status, headers)
	auto := func(name, value string) {
		if !r.omits(name) && !hasHeader(headers, name) {
			b = append(b, name+": "+value+"\r\n"...)
		}
	}
	auto("Date", time.Now().UTC().Format(http.TimeFormat))
	if framing == nil && !hasHeader(headers, "Transfer-Encoding") && (!bodyForbidden(r.status) || len(r.body) > 0) {
		auto("Content-Length", strconv.Itoa(len(r.body)))
	}
	auto("Connection", "close")
	return append(b, "\r\n"...)
}

func appendHead(b []byte, status int, headers schemas.StubHeaders) []byte {
	b = fmt.Appendf(b, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	for _, h := range headers {
		b = append(b, h.Name+": "+h.Value+"\r\n"...)
	}
	return b
}

// sleep waits for d or until the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
