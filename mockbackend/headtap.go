package mockbackend

import (
	"bytes"
	"crypto/tls"
	"net"
	"slices"
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
	tls *tls.ConnectionState // nil without TLS; net/http sees no *tls.Conn
	// order is that of the coming heads of an answer, and held what has been
	// written of them.
	order headOrder
	held  []byte
	asked bool // see [connSet.asked]
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
	part  []byte // an unfinished head or line
	left  int64  // bytes of body or chunk still to come
	heads []byte // complete heads not yet taken, one after the other
	sizes []int  // of the heads
}

// next appends the oldest head not yet taken to dst.
func (t *headTap) next(dst []byte) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.sizes) == 0 {
		return dst
	}
	n := t.sizes[0]
	dst = append(dst, t.heads[:n]...)
	// Of a client that does not pipeline there is one head at a time.
	t.heads = slices.Delete(t.heads, 0, n)
	t.sizes = slices.Delete(t.sizes, 0, 1)
	return dst
}

// stop ends the tapping, for a connection that has been taken over.
func (t *headTap) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state, t.part, t.heads, t.sizes = tapOff, nil, nil, nil
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
	if len(t.part) == 0 {
		// Empty lines before a request are ignored (RFC 9112, section 2.2).
		if p = bytes.TrimLeft(p, "\r\n"); len(p) == 0 {
			return nil
		}
		if end := headEnd(p); end >= 0 {
			t.take(p[:end])
			return p[end:]
		}
	}
	// The end may straddle two reads, so look back a little.
	from := max(0, len(t.part)-3)
	t.part = append(t.part, p...)
	end := headEnd(t.part[from:])
	if end < 0 {
		if len(t.part) > maxTappedHead {
			t.state, t.part = tapOff, nil
		}
		return nil
	}
	head := t.part[:from+end]
	rest := p[len(p)-(len(t.part)-len(head)):]
	t.take(head)
	t.part = t.part[:0]
	return rest
}

func (t *headTap) take(head []byte) {
	t.heads = append(t.heads, head...)
	t.sizes = append(t.sizes, len(head))
	t.state, t.left = framing(head)
}

func (t *headTap) feedLine(p []byte) []byte {
	end := bytes.IndexByte(p, '\n')
	if end < 0 {
		if t.part = append(t.part, p...); len(t.part) > maxTappedHead {
			t.state, t.part = tapOff, nil
		}
		return nil
	}
	line := strings.TrimSpace(string(append(t.part, p[:end]...)))
	t.part = t.part[:0]
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
	for i := bytes.IndexByte(head, '\n') + 1; i > 0 && i < len(head); {
		line := head[i:]
		end := bytes.IndexByte(line, '\n') + 1
		i += end
		switch line[0] | ' ' { // few fields begin like those that matter
		case 't':
			if hasField(line, "transfer-encoding:") {
				return tapChunkSize, 0
			}
		case 'c':
			if hasField(line, "content-length:") {
				value := strings.Trim(string(line[len("content-length:"):end]), " \t\r\n")
				n, err := strconv.ParseInt(value, 10, 64)
				if err != nil {
					return tapOff, 0
				}
				if n > 0 {
					state, length = tapBody, n
				}
			}
		}
	}
	return state, length
}

// hasField compares the start of a line with a lower-case name and its colon.
func hasField(line []byte, name string) bool {
	if len(line) < len(name) {
		return false
	}
	for i := range len(name) {
		c := line[i]
		if 'A' <= c && c <= 'Z' {
			c |= ' '
		}
		if c != name[i] {
			return false
		}
	}
	return true
}

// parseFields gives header field lines in order, names as spelled. A line that
// begins with blanks goes on with the one before it (RFC 9112, section 5.2).
func parseFields(lines []byte) schemas.StubHeaders {
	fields := make(schemas.StubHeaders, 0, bytes.Count(lines, []byte("\n")))
	for line := range strings.Lines(string(lines)) {
		line = strings.TrimRight(line, "\r\n")
		if folded := strings.Trim(line, " \t"); folded != "" && folded[0] != line[0] && len(fields) > 0 {
			last := &fields[len(fields)-1].Value
			*last = strings.TrimLeft(*last+" "+folded, " ")
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if ok {
			fields = append(fields, schemas.StubHeader{Name: name, Value: strings.Trim(value, " \t")})
		}
	}
	return fields
}
