package schemas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// A DuplicateError is a member that stands twice in one object of a JSON
// document. RFC 8259, section 4, leaves open which of them counts.
type DuplicateError struct {
	// Pointer is the place of the member as a JSON Pointer (RFC 6901).
	Pointer string
	// Name is the name of the member.
	Name string
	// Line is where it stands the second time, First where it stands first, both
	// counted from 1.
	Line, First int
}

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("%q stands here a second time, first on line %d", e.Name, e.First)
}

// CheckUnique gives a [*DuplicateError] for the first member of a JSON document
// whose name its object has already, or nil. A document that is not JSON may
// pass.
func CheckUnique(doc []byte) error {
	s := memberScanner{doc: doc}
	if err := s.value(); err != nil {
		return err
	}
	return nil
}

// A memberScanner walks a document that is known to be JSON: a decoder makes a
// value of each token, which is several times slower.
type memberScanner struct {
	doc []byte
	at  int
}

// next gives the byte that the next token begins with, 0 at the end.
func (s *memberScanner) next() byte {
	for ; s.at < len(s.doc); s.at++ {
		switch c := s.doc[s.at]; c {
		case ' ', '\t', '\r', '\n', ',', ':':
		default:
			return c
		}
	}
	return 0
}

func (s *memberScanner) value() *DuplicateError {
	switch s.next() {
	case '{':
		return s.object()
	case '[':
		s.at++
		for i := 0; s.next() != ']' && s.at < len(s.doc); i++ {
			if err := s.value(); err != nil {
				err.Pointer = "/" + strconv.Itoa(i) + err.Pointer
				return err
			}
		}
		s.at++
	case '"':
		s.text()
	default:
		for s.at++; s.at < len(s.doc) && bytes.IndexByte([]byte(",]} \t\r\n"), s.doc[s.at]) < 0; s.at++ {
		}
	}
	return nil
}

func (s *memberScanner) object() *DuplicateError {
	members := map[string]int{} // offsets
	for s.at++; s.next() == '"'; {
		start := s.at
		name := s.text()
		if first, twice := members[name]; twice {
			return &DuplicateError{Pointer: "/" + tokenEscaper.Replace(name), Name: name, Line: s.line(start), First: s.line(first)}
		}
		members[name] = start
		if err := s.value(); err != nil {
			err.Pointer = "/" + tokenEscaper.Replace(name) + err.Pointer
			return err
		}
	}
	s.at++
	return nil
}

// text reads a string.
func (s *memberScanner) text() string {
	start, escaped := s.at, false
	for s.at++; s.at < len(s.doc) && s.doc[s.at] != '"'; s.at++ {
		if s.doc[s.at] == '\\' {
			escaped = true
			s.at++
		}
	}
	s.at = min(s.at+1, len(s.doc))
	if escaped {
		var text string
		if json.Unmarshal(s.doc[start:s.at], &text) == nil {
			return text
		}
	}
	return string(s.doc[start+1 : max(start+1, s.at-1)])
}

func (s *memberScanner) line(at int) int { return 1 + bytes.Count(s.doc[:at], []byte("\n")) }
