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
// written. It is the [sender] of HTTP/1.
type wire struct {
	*request
	conn    net.Conn
	ctx     context.Context // ends when the client leaves or the server closes
	cancel  context.CancelFunc
	watched chan struct{} // closed when the watcher has ended
	chunked bool          // the body goes out in chunks
	broken  bool          // a write failed
	resets  *net.TCPConn  // to be closed by a reset
	unhook  func() bool
}

// takeOver hijacks the connection of a request. ctx ends with the client's
// interest or with ours. The caller closes the wire.
func takeOver(ctx context.Context, q *request, w http.ResponseWriter) (*wire, error) {
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
	x := &wire{request: q, conn: conn, watched: make(chan struct{})}
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

func (x *wire) writeBody(p []byte) error {
	if len(p) == 0 || x.Method == http.MethodHead {
		return nil
	}
	if x.chunked {
		if err := x.write(fmt.Appendf(nil, "%x\r\n", len(p))); err != nil {
			return err
		}
	}
	x.sent.Phase = PhaseBody
	n, err := x.conn.Write(p)
	x.wrote(n)
	if err != nil {
		x.broken = true
		return fmt.Errorf("writing the body: %w", err)
	}
	if x.chunked {
		return x.write([]byte("\r\n"))
	}
	return nil
}

func (x *wire) writeHead(r *reply, end bodyEnd) error {
	if end == framedByChunks {
		return x.writeHeadAs(r, schemas.StubHeaders{{Name: "Transfer-Encoding", Value: "chunked"}})
	}
	return x.writeHeadAs(r, contentLength(len(r.body)))
}

// writeHeadAs sends the head. fields, when not nil, stand in for the framing
// headers listed and automatic.
func (x *wire) writeHeadAs(r *reply, fields schemas.StubHeaders) error {
	x.reach(PhaseHead)
	if err := x.write(r.wireHead(fields)); err != nil {
		return err
	}
	if fields == nil {
		fields = r.headers
	}
	x.chunked = isChunked(fields)
	x.sent.Status = r.status
	x.reach(PhaseHeadSent)
	return nil
}

func (x *wire) writeEnd() error {
	if x.chunked && x.Method != http.MethodHead {
		if err := x.write([]byte("0\r\n\r\n")); err != nil {
			return err
		}
	}
	x.sent.Phase = PhaseComplete
	return nil
}

// sendAnnounced sends the reply whole under other framing headers, as true or
// false as they are.
func (x *wire) sendAnnounced(r *reply, fields schemas.StubHeaders) error {
	if err := x.writeHeadAs(r, fields); err != nil {
		return err
	}
	if err := x.writeBody(r.body); err != nil {
		return err
	}
	return x.writeEnd()
}

// sendRaw writes a reply as it is, polite or not, and ends the connection.
func (x *wire) sendRaw(r *reply) error { return x.sendAnnounced(r, nil) }

func (x *wire) pause(d time.Duration) error { return sleep(x.ctx, d) }

func (x *wire) stall(d time.Duration) error { return stall(x.ctx, d) }

// stall waits for the context to end, or for d if that is positive.
func stall(ctx context.Context, d time.Duration) error {
	if d > 0 {
		return sleep(ctx, d)
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// close ends the connection in order and waits for the watcher.
func (x *wire) close() {
	// Whoever has got the whole answer may leave.
	x.sent.ClientEnded = (x.broken || x.ctx.Err() != nil) && !x.scope.ended() && x.sent.Phase != PhaseComplete
	x.unhook()
	if x.resets != nil {
		_ = x.resets.Close() // before TLS can say goodbye
	}
	_ = x.conn.Close()
	<-x.watched
	x.cancel()
}

// resetPause is what the client gets to take in what came before a reset.
const resetPause = 20 * time.Millisecond

// reset makes the coming close send a TCP RST in place of a FIN.
func (x *wire) reset() error {
	tcp, ok := bare(x.conn).(*net.TCPConn)
	if !ok {
		return fmt.Errorf("resetting a %T: not a TCP connection", bare(x.conn))
	}
	x.resets = tcp
	return tcp.SetLinger(0)
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
