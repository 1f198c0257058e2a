package mockbackend

import (
	"bytes"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"slices"
	"strings"

	"example.com/touchstone/schemas"
)

// Redacted stands where a recording left a secret out.
const Redacted = "REDACTED"

// A redactor finds secrets by name and by form. Its zero value knows the names
// that every recording knows.
type redactor struct {
	given []string // further names
	names []string // and as words without separators
}

func newRedactor(names []string) redactor {
	s := redactor{given: names}
	for _, name := range names {
		s.names = append(s.names, strings.Join(nameWords(name), ""))
	}
	return s
}

// header replaces the secrets in one header field. Of a cookie the name and the
// attributes stay, which a client reads.
func (s redactor) header(h schemas.StubHeader) schemas.StubHeader {
	switch {
	case http.CanonicalHeaderKey(h.Name) == "Set-Cookie":
		name, rest, _ := strings.Cut(h.Value, "=")
		_, attributes, _ := strings.Cut(rest, ";")
		h.Value = name + "=" + Redacted
		if attributes != "" {
			h.Value += ";" + attributes
		}
	case s.isName(h.Name):
		if s.secrecy(h.Name).hides(h.Value) {
			h.Value = Redacted
		}
	default:
		h.Value = s.text(h.Value)
	}
	return h
}

// body replaces the secrets in a body that is no JSON, whatever its charset. Of
// bytes that are no text a part cannot be replaced.
func (s redactor) body(contentType string, body []byte) ([]byte, error) {
	if _, params, _ := mime.ParseMediaType(contentType); isWide(params["charset"], body) {
		return nil, errors.New("the body has characters of two or four bytes, in which secrets cannot be found; record it with its secrets, or as UTF-8")
	}
	redacted := []byte(s.document(string(body)))
	if bytes.IndexByte(body, 0) >= 0 && !bytes.Equal(redacted, body) {
		return nil, errors.New("the body is binary and seems to hold a secret, which cannot be replaced; record it with its secrets")
	}
	return redacted, nil
}

// isWide tells a text in UTF-16 or UTF-32, by its charset or its byte order mark.
func isWide(charset string, body []byte) bool {
	charset = strings.ToLower(charset)
	return strings.HasPrefix(charset, "utf-16") || strings.HasPrefix(charset, "utf-32") || strings.HasPrefix(charset, "ucs-") ||
		bytes.HasPrefix(body, []byte{0xff, 0xfe}) || bytes.HasPrefix(body, []byte{0xfe, 0xff})
}

// json replaces the secrets in a JSON document and tells whether there were any.
// Members keep their order, numbers their text.
func (s redactor) json(doc []byte) ([]byte, bool, error) {
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	named, err := s.namedValues(doc)
	if err != nil {
		return nil, false, err
	}
	w := &jsonWriter{secrets: s, named: named}
	if err := w.redact(dec, open); err != nil {
		return nil, false, err
	}
	return w.out.Bytes(), w.changed, nil
}

type jsonWriter struct {
	secrets redactor
	named   []secrecy // of the objects to come, as [redactor.namedValues] gives them
	out     bytes.Buffer
	changed bool
}

// redact copies the next value; of a secret one only the form.
func (w *jsonWriter) redact(dec *json.Decoder, kind secrecy) error {
	token, err := dec.Token()
	if err != nil {
		return err
	}
	switch token := token.(type) {
	case json.Delim:
		w.out.WriteString(token.String())
		byName := open
		if token == '{' {
			byName, w.named = w.named[0], w.named[1:]
		}
		for first := true; dec.More(); first = false {
			if !first {
				w.out.WriteByte(',')
			}
			inner := kind
			if token == '{' {
				name, err := dec.Token()
				if err != nil {
					return err
				}
				own := w.secrets.secrecy(name.(string))
				if isMember(name.(string), valueMembers) {
					own = max(own, byName)
				}
				if kind == open || own == secret {
					inner = own
				}
				w.write(name)
				w.out.WriteByte(':')
			}
			if err := w.redact(dec, inner); err != nil {
				return err
			}
		}
		end, err := dec.Token()
		if err != nil {
			return err
		}
		w.out.WriteString(end.(json.Delim).String())
	case string:
		text := w.secrets.text(token)
		if kind.hides(token) {
			text = Redacted
		}
		w.changed = w.changed || text != token
		w.write(text)
	case json.Number:
		if kind == secret {
			w.changed, token = true, "0"
		}
		w.write(token)
	default: // true, false, null hide nothing
		w.write(token)
	}
	return nil
}

// Members that name what another one of their object is, and that other one:
// {"name": "DB_PASSWORD", "value": "hunter2"}.
var (
	nameMembers  = []string{"name", "key", "property", "id"}
	valueMembers = []string{"value", "content"}
)

func isMember(name string, of []string) bool {
	return slices.ContainsFunc(of, func(s string) bool { return strings.EqualFold(s, name) })
}

// namedValues gives for each object of a document, in the order in which they
// open, what a value is whose name stands beside it.
func (s redactor) namedValues(doc []byte) ([]secrecy, error) {
	var list []secrecy
	dec := json.NewDecoder(bytes.NewReader(doc))
	var walk func(in int) error // the object that the value is the name of something in; -1
	walk = func(in int) error {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case string:
			if in >= 0 {
				list[in] = max(list[in], s.secrecy(token))
			}
		case json.Delim:
			at := len(list)
			if token == '{' {
				list = append(list, open)
			}
			for dec.More() {
				in := -1
				if token == '{' {
					name, err := dec.Token()
					if err != nil {
						return err
					}
					if isMember(name.(string), nameMembers) {
						in = at
					}
				}
				if err := walk(in); err != nil {
					return err
				}
			}
			_, err = dec.Token()
		}
		return err
	}
	return list, walk(-1)
}

func (w *jsonWriter) write(v any) { appendJSON(&w.out, v) }

// appendJSON writes a value without the escapes that are for HTML.
func appendJSON(out *bytes.Buffer, v any) {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("mockbackend: writing to memory: " + err.Error())
	}
	out.Truncate(out.Len() - 1) // the newline
}

// without gives a document without the members that are, or hold, secrets. What
// is left of a list that holds some is nothing, as its elements are compared one
// by one.
func (s redactor) without(doc []byte) (kept json.RawMessage, ok bool) {
	v, err := decodeJSON(doc)
	if err != nil {
		return nil, false
	}
	if v, ok = s.drop(v); !ok {
		return nil, false
	}
	var out bytes.Buffer
	appendJSON(&out, v)
	return out.Bytes(), true
}

func (s redactor) drop(v any) (any, bool) {
	switch v := v.(type) {
	case string:
		return v, s.text(v) == v
	case []any:
		for i := range v {
			item, ok := s.drop(v[i])
			if !ok {
				return nil, false
			}
			v[i] = item
		}
		return v, true
	case map[string]any:
		_, oauth := v["grant_type"] // a request for a token, as JSON
		byName := open
		for name, value := range v {
			if text, is := value.(string); is && isMember(name, nameMembers) {
				byName = max(byName, s.secrecy(text))
			}
		}
		for name := range v {
			inner, ok := s.drop(v[name])
			kind := s.secrecy(name)
			if isMember(name, valueMembers) {
				kind = max(kind, byName)
			}
			if _, number := v[name].(json.Number); number && kind == counted {
				kind = open
			}
			if !ok || kind != open || oauth && name == "code" {
				delete(v, name)
				continue
			}
			v[name] = inner
		}
		return v, true
	}
	return v, true
}
