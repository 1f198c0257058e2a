package mockbackend

import (
	"bytes"
	"net"
	"strconv"
	"strings"
	"sync"

	"example.com/touchstone/schemas"
)

// tapConn is a connection that keeps the head of every request as it came:
// net/http hands on a map, in which the order and the spelling of the header
// fields are lost.
type tapConn struct {
	net.Conn
	tap headTap
	// release tells the server that nothing uses the connection any more.
	release func()
}

func (c *tapConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.tap.feed(p[:n])
	return n, err
}

type tapState int

const (
	tapHead tapState = iota
	tapBody
	tapChunkSize
	tapChunkData
	tapTrailer
	tapOff // the stream is no longer understood
)

// maxTappedHead is above net/http's own limit on a head.
const maxTappedHead = 2 << 20

// headTap splits what arrives on one connection into request heads and the
// bytes between them (RFC 9112, section 6).
type headTap struct {
	mu    sync.Mutex
	state tapState
	buf   []byte // an unfinished head or line
	left  int64  // bytes of body or chunk still to come
	heads [][]byte
}

// next gives the oldest head not yet taken, or nil.
func (t *headTap) next() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.heads) == 0 {
		return nil
	}
	head := t.heads[0]
	t.heads = t.heads[1:]
	return head
}

// stop ends the tapping, for a connection that has been taken over.
func (t *headTap) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state, t.buf, t.heads = tapOff, nil, nil
}

func (t *headTap) feed(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(p) > 0 && t.state != tapOff {
		switch t.state {
		case tapHead:
			p = t.feedHead(p)
		case tapBody, tapChunkData:
			n := min(int64(len(p)), t.left)
			p, t.left = p[n:], t.left-n
			if t.left == 0 {
				if t.state == tapBody {
					t.state = tapHead
				} else {
					t.state = tapChunkSize
				}
			}
		case tapChunkSize, tapTrailer:
			p = t.feedLine(p)
		}
	}
}

func (t *headTap) feedHead(p []byte) []byte {
	if len(t.buf) == 0 {
		// Empty lines before a request are ignored (RFC 9112, section 2.2).
		if p = bytes.TrimLeft(p, "\r\n"); len(p) == 0 {
			return nil
		}
	}
	// The end may straddle two reads, so look back a little.
	from := max(0, len(t.buf)-3)
	t.buf = append(t.buf, p...)
	end := headEnd(t.buf[from:])
	if end < 0 {
		if len(t.buf) > maxTappedHead {
			t.state, t.buf = tapOff, nil
		}
		return nil
	}
	head := bytes.Clone(t.buf[:from+end])
	rest := p[len(p)-(len(t.buf)-len(head)):]
	t.buf = t.buf[:0]
	t.heads = append(t.heads, head)
	t.state, t.left = framing(head)
	return rest
}

func (t *headTap) feedLine(p []byte) []byte {
	end := bytes.IndexByte(p, '\n')
	if end < 0 {
		t.buf = append(t.buf, p...)
		return nil
	}
	line := strings.TrimSpace(string(append(t.buf, p[:end]...)))
	t.buf = t.buf[:0]
	switch {
	case t.state == tapTrailer && line == "":
		t.state = tapHead
	case t.state == tapChunkSize && line != "": // empty: the line end after a chunk's data
		digits, _, _ := strings.Cut(line, ";")
		size, err := strconv.ParseInt(strings.TrimSpace(digits), 16, 63)
		switch {
		case err != nil:
			t.state = tapOff
		case size == 0:
			t.state = tapTrailer
		default:
			t.state, t.left = tapChunkData, size
		}
	}
	return p[end+1:]
}

// headEnd is the length of b up to and with the first empty line, or -1.
func headEnd(b []byte) int {
	end := -1
	if i := bytes.Index(b, []byte("\n\r\n")); i >= 0 {
		end = i + 3
	}
	if i := bytes.Index(b, []byte("\n\n")); i >= 0 && (end < 0 || i+2 < end) {
		end = i + 2
	}
	return end
}

// framing says what follows a head.
func framing(head []byte) (tapState, int64) {
	state, length := tapHead, int64(0)
	for _, h := range parseHead(head) {
		switch {
		case strings.EqualFold(h.Name, "Transfer-Encoding"):
			return tapChunkSize, 0
		case strings.EqualFold(h.Name, "Content-Length"):
			n, err := strconv.ParseInt(h.Value, 10, 64)
			if err != nil {
				return tapOff, 0
			}
			if n > 0 {
				state, length = tapBody, n
			}
		case strings.EqualFold(h.Name, "Upgrade"):
			return tapOff, 0
		}
	}
	return state, length
}

// parseHead gives the header fields of a head in order, names as spelled.
func parseHead(head []byte) schemas.StubHeaders {
	_, rest, _ := strings.Cut(string(head), "\n")
	fields := make(schemas.StubHeaders, 0, strings.Count(rest, "\n"))
	for line := range strings.Lines(rest) {
		name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		if ok {
			fields = append(fields, schemas.StubHeader{Name: name, Value: strings.Trim(value, " \t")})
		}
	}
	return fields
}
