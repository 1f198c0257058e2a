package mockbackend

import (
	"bytes"
	"slices"
	"strings"

	"example.com/touchstone/schemas"
)

// A headOrder is the order of header fields, by name, in the heads of one
// answer: the interim ones and the final one. net/http sorts them; the
// connection puts them back (see [tapConn.Write]). A nil list leaves a head as
// it is.
type headOrder [][]string

// maxHeldHead bounds the head that is held back until it is complete.
const maxHeldHead = 1 << 20

// orderOf gives the order of listed fields where it is not the one in which
// net/http would send them.
func orderOf(listed schemas.StubHeaders) []string {
	names := make([]string, len(listed))
	for i, h := range listed {
		names[i] = h.Name
	}
	if slices.IsSorted(names) {
		return nil
	}
	return names
}

// headOrder gives the order of the reply's heads; nil where net/http keeps it.
// listed are the fields of the final one without those that came by themselves.
func (r *reply) headOrder(listed schemas.StubHeaders) headOrder {
	order := make(headOrder, 0, len(r.interim)+1)
	for _, interim := range r.interim {
		order = append(order, orderOf(interim.Headers))
	}
	order = append(order, orderOf(listed))
	if !slices.ContainsFunc(order, func(names []string) bool { return names != nil }) {
		return nil
	}
	return order
}

// Write implements [net.Conn]. Heads of an answer whose order counts are held
// back until they are complete.
func (c *tapConn) Write(p []byte) (int, error) {
	if len(c.order) == 0 {
		return c.Conn.Write(p)
	}
	c.held = append(c.held, p...)
	var out []byte
	rest := c.held
	for len(c.order) > 0 {
		end := bytes.Index(rest, []byte("\r\n\r\n"))
		if end < 0 {
			break
		}
		out = appendOrdered(out, rest[:end+2], c.order[0])
		out, rest, c.order = append(out, "\r\n"...), rest[end+4:], c.order[1:]
	}
	if len(rest) > maxHeldHead {
		c.order = nil
	}
	if len(c.order) == 0 {
		out, rest = append(out, rest...), nil
	}
	c.held = append(c.held[:0], rest...)
	if len(c.order) == 0 {
		c.held = nil
	}
	if len(out) > 0 {
		if _, err := c.Conn.Write(out); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// appendOrdered appends a head, its status line and field lines, with the fields
// that names lists first and in that order.
func appendOrdered(dst, head []byte, names []string) []byte {
	lines := slices.Collect(bytes.Lines(head))
	dst, lines = append(dst, lines[0]...), lines[1:]
	for _, name := range names {
		i := slices.IndexFunc(lines, func(line []byte) bool {
			field, _, _ := bytes.Cut(line, []byte(":"))
			return strings.EqualFold(string(field), name)
		})
		if i >= 0 {
			dst, lines = append(dst, lines[i]...), slices.Delete(lines, i, i+1)
		}
	}
	return append(dst, bytes.Join(lines, nil)...)
}
