package mcp

import (
	"bytes"
	"sync"

	"example.com/touchstone/suite/target"
)

// head keeps the beginning of the first line that is no JSON, for the report,
// and of the line that is coming.
type head struct {
	mu     sync.Mutex
	line   []byte // without the blanks before it
	length int
	first  []byte // that is no JSON
}

func (h *head) add(b []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(b) > 0 {
		part, rest, complete := bytes.Cut(b, []byte{'\n'})
		h.length += len(part)
		if len(h.line) == 0 {
			part = bytes.TrimLeft(part, " \t\r")
		}
		h.line = append(h.line, part[:min(target.ExcerptBytes-len(h.line), len(part))]...)
		if complete {
			if h.first == nil && isForeign(h.line) {
				h.first = append(bytes.Clone(h.line), '\n')
			}
			h.line, h.length = h.line[:0], 0
		}
		b = rest
	}
}

// isForeign says whether a line does not begin as a JSON-RPC message does. Many
// logs have a bracket before the time or the level.
func isForeign(line []byte) bool {
	if bytes.HasPrefix(line, []byte{'['}) {
		line = bytes.TrimLeft(line[1:], " \t\r")
	}
	return len(line) > 0 && line[0] != '{'
}

// foreign gives the beginning of a line that is no JSON; nil where there is none.
func (h *head) foreign() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.first == nil && isForeign(h.line) {
		return bytes.Clone(h.line)
	}
	return h.first
}

// unfinished gives the beginning of the line that is coming.
func (h *head) unfinished() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	return bytes.Clone(h.line)
}

func (h *head) tooLong() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.length > maxMessage
}
