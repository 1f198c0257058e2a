package mockbackend

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// json replaces the secrets in a valid JSON document and tells whether there were
// any. What is no secret keeps its text, but for white space.
func (s redactor) json(doc []byte) ([]byte, bool) {
	names := &jsonReader{doc: doc, secrets: s}
	names.walk(nobody, false)
	r := &jsonReader{doc: doc, secrets: s, named: names.named}
	r.out.Grow(len(doc))
	r.redact(open)
	return r.out.Bytes(), r.changed
}

// A jsonReader goes through a document that is known to be JSON. It makes no
// values of the tokens, as a decoder does, which takes most of the time.
type jsonReader struct {
	secrets redactor
	doc     []byte
	at      int
	// named says for each object and list, in the order in which they open, what
	// a value is whose name stands beside it.
	named   []secrecy
	out     bytes.Buffer
	changed bool
}

// next gives the byte that the next token begins with.
func (r *jsonReader) next() byte {
	for {
		switch c := r.doc[r.at]; c {
		case ' ', '\t', '\r', '\n', ',', ':':
			r.at++
		default:
			return c
		}
	}
}

// token passes a token that is no bracket.
func (r *jsonReader) token() []byte {
	start := r.at
	if r.doc[start] == '"' {
		for r.at++; r.doc[r.at] != '"'; r.at++ {
			if r.doc[r.at] == '\\' {
				r.at++
			}
		}
		r.at++
		return r.doc[start:r.at]
	}
	for r.at < len(r.doc) && strings.IndexByte(",]} \t\r\n", r.doc[r.at]) < 0 {
		r.at++
	}
	return r.doc[start:r.at]
}

// plainText gives the text of a string.
func plainText(token []byte) string {
	if bytes.IndexByte(token, '\\') < 0 {
		return string(token[1 : len(token)-1])
	}
	var text string
	if err := json.Unmarshal(token, &text); err != nil {
		panic("mockbackend: " + err.Error())
	}
	return text
}

// Members that name what another one of their object is, and that other one:
// {"name": "DB_PASSWORD", "value": "hunter2"}. A list of pairs does the same,
// [["DB_PASSWORD", "hunter2"]].
var (
	nameMembers  = []string{"name", "key", "property", "id"}
	valueMembers = []string{"value", "content"}
)

func isMember(name string, of []string) bool {
	return slices.ContainsFunc(of, func(s string) bool { return strings.EqualFold(s, name) })
}

// nobody is the container that a value names nothing in.
const nobody = -1

// walk fills named by the next value, which is the name of something in the
// container at in.
func (r *jsonReader) walk(in int, inList bool) {
	switch r.next() {
	case '{':
		at := len(r.named)
		r.named = append(r.named, open)
		for r.at++; r.next() != '}'; {
			in := nobody
			if isMember(plainText(r.token()), nameMembers) {
				in = at
			}
			r.next()
			r.walk(in, false)
		}
		r.at++
	case '[':
		at := len(r.named)
		r.named = append(r.named, open)
		n, first := 0, open
		for r.at++; r.next() != ']'; n++ {
			if n > 0 || !inList || r.next() != '"' {
				r.walk(nobody, true)
				continue
			}
			first = r.secrets.secrecy(plainText(r.token()))
		}
		if n == 2 {
			r.named[at] = first
		}
		r.at++
	case '"':
		if token := r.token(); in >= 0 {
			r.named[in] = max(r.named[in], r.secrets.secrecy(plainText(token)))
		}
	default:
		r.token()
	}
}

// redact copies the next value; of a secret one only the form.
func (r *jsonReader) redact(kind secrecy) {
	switch r.next() {
	case '{':
		byName := r.enter()
		for first := true; r.next() != '}'; first = false {
			if !first {
				r.out.WriteByte(',')
			}
			token := r.token()
			name := plainText(token)
			own := r.secrets.secrecy(name)
			if byName > own && isMember(name, valueMembers) {
				own = byName
			}
			r.out.Write(token)
			r.out.WriteByte(':')
			r.redact(within(kind, own))
		}
		r.leave()
	case '[':
		byName := r.enter()
		for i := 0; r.next() != ']'; i++ {
			inner := kind
			if i > 0 {
				r.out.WriteByte(',')
				inner = within(kind, byName)
			}
			r.redact(inner)
		}
		r.leave()
	case '"':
		token := r.token()
		value := plainText(token)
		text := Redacted
		if !kind.hides(value) {
			text = r.secrets.text(value)
		}
		if text == value {
			r.out.Write(token)
			return
		}
		r.changed = true
		appendJSON(&r.out, text)
	default:
		token := r.token()
		if c := token[0]; kind == secret && (c == '-' || c >= '0' && c <= '9') {
			r.changed, token = true, []byte("0")
		}
		r.out.Write(token)
	}
}

// within is the secrecy of a value that is named itself in one that is secret.
func within(outer, own secrecy) secrecy {
	if outer == open || own == secret {
		return own
	}
	return outer
}

func (r *jsonReader) enter() secrecy {
	r.out.WriteByte(r.doc[r.at])
	r.at++
	kind := r.named[0]
	r.named = r.named[1:]
	return kind
}

func (r *jsonReader) leave() {
	r.out.WriteByte(r.doc[r.at])
	r.at++
}

// appendJSON writes a value without the escapes that are for HTML.
func appendJSON(out *bytes.Buffer, v any) {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("mockbackend: writing to memory: " + err.Error())
	}
	out.Truncate(out.Len() - 1) // the newline
}
