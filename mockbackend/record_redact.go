package mockbackend

import (
	"bytes"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strings"

	"go.yaml.in/yaml/v3"

	"example.com/touchstone/schemas"
)

// Redacted stands where a recording left a secret out.
const Redacted = "REDACTED"

// A redactor finds secrets by name and by form. Its zero value knows the names
// that every recording knows. It is not safe for concurrent use.
type redactor struct {
	given []string // further names
	names []string // and as words without separators
	// judged are names that came before: a document has few, again and again.
	judged map[string]secrecy
}

func newRedactor(names []string) redactor {
	s := redactor{given: names, judged: map[string]secrecy{}}
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
		pair, attributes, more := strings.Cut(h.Value, ";")
		name, _, named := strings.Cut(pair, "=")
		h.Value = Redacted
		if named {
			h.Value = name + "=" + Redacted
		}
		if more {
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
	if mediaType, _, _ := strings.Cut(contentType, ";"); strings.Contains(mediaType, "yaml") && breaksYAML(body, redacted) {
		return nil, errors.New("the body is YAML, and would be none with its secrets replaced; record it with them")
	}
	return redacted, nil
}

// maxChecked is how much YAML is read again: it takes a while.
const maxChecked = 1 << 20

func breaksYAML(body, redacted []byte) bool {
	if len(body) > maxChecked || bytes.Equal(body, redacted) {
		return false
	}
	var before, after yaml.Node
	return yaml.Unmarshal(body, &before) == nil && yaml.Unmarshal(redacted, &after) != nil
}

// isWide tells a text in UTF-16 or UTF-32, by its charset or its byte order mark.
func isWide(charset string, body []byte) bool {
	charset = strings.ToLower(charset)
	return strings.HasPrefix(charset, "utf-16") || strings.HasPrefix(charset, "utf-32") || strings.HasPrefix(charset, "ucs-") ||
		bytes.HasPrefix(body, []byte{0xff, 0xfe}) || bytes.HasPrefix(body, []byte{0xfe, 0xff})
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
			if pair, ok := v[i].([]any); ok && len(pair) == 2 {
				if name, ok := pair[0].(string); ok && s.isName(name) {
					return nil, false
				}
			}
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
