package mockbackend

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"example.com/touchstone/schemas"
)

// Redacted stands where a recording left a secret out.
const Redacted = "REDACTED"

// Names of headers, members and parameters that hold secrets, in lower case and
// without separators.
var (
	secretExactly  = []string{"sid", "pwd", "jwt", "otp", "auth", "session", "setcookie"}
	secretSuffixes = []string{"token", "pwd", "jwt", "cookie", "sessionid", "signature"}
	secretParts    = []string{"password", "passwd", "passphrase", "secret", "apikey", "accesskey", "accountkey", "privatekey", "credential", "connectionstring", "authorization"}
	// Marks of a place in a list, which replaying needs.
	notSecret = []string{"pagetoken", "nextpagetoken", "prevpagetoken", "nexttoken", "continuationtoken"}
)

var separators = strings.NewReplacer("_", "", "-", "", ".", "", " ", "", "[", "", "]", "")

// plainName is a name as the lists have it.
func plainName(name string) string { return separators.Replace(strings.ToLower(name)) }

// A redactor finds secrets by name and by form. Its zero value knows the lists
// above.
type redactor struct {
	names []string       // further names, plain
	form  *regexp.Regexp // of their values in a text; nil without any
}

func newRedactor(names []string) redactor {
	if len(names) == 0 {
		return redactor{}
	}
	var s redactor
	quoted := make([]string, len(names))
	for i, name := range names {
		s.names = append(s.names, plainName(name))
		quoted[i] = regexp.QuoteMeta(name)
	}
	s.form = regexp.MustCompile(`(?i)\b(` + strings.Join(quoted, "|") + secretValue)
	return s
}

func (s redactor) isName(name string) bool {
	name = plainName(name)
	if slices.Contains(s.names, name) {
		return true
	}
	if slices.Contains(notSecret, name) {
		return false
	}
	return slices.Contains(secretExactly, name) ||
		slices.ContainsFunc(secretSuffixes, func(s string) bool { return strings.HasSuffix(name, s) }) ||
		slices.ContainsFunc(secretParts, func(s string) bool { return strings.Contains(name, s) })
}

// secretValue is what follows the name of a secret in a text.
const secretValue = `)(["']?\s*[:=]\s*["']?)[^\s"'&;,<>]+`

// secretTexts are the secrets that a text shows by their form: credentials,
// connection strings, and user information in URLs. They take too much rather
// than too little.
var secretTexts = []struct {
	form *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)`), Redacted},
	{regexp.MustCompile(`(?i)\b(bearer)\s+[a-z0-9._~+/-]{8,}=*`), "$1 " + Redacted},
	{regexp.MustCompile(`\beyJ[\w-]+\.[\w-]+\.[\w-]*`), Redacted},
	// Keys that say by a prefix whose they are.
	{regexp.MustCompile(`\b(?:(?:AKIA|ASIA)[A-Z0-9]{16}|gh[pousr]_\w{20,}|github_pat_\w{20,}|xox[abeprs]-[\w-]{8,}|[sr]k[-_][\w-]{16,}|AIza[\w-]{30,})`), Redacted},
	{regexp.MustCompile(`(?i)\b((?:mongodb(?:\+srv)?|postgres(?:ql)?|mysql|rediss?|amqps?|mssql|sqlserver)://)[^\s"'<>]+`), "${1}" + Redacted},
	{regexp.MustCompile(`(?i)\b([a-z][a-z0-9+.-]*://)[^\s/?#@"'<>]+@`), "${1}" + Redacted + "@"},
	{regexp.MustCompile(`(?i)\b(server|data source|host|initial catalog|database|user id|uid|accountname)(\s*=\s*)[^;"'\n]+;`), "${1}${2}" + Redacted + ";"},
	{regexp.MustCompile(`(?i)\b([\w-]*(?:password|passwd|passphrase|pwd|secret|api[_-]?key|access[_-]?key|account[_-]?key|private[_-]?key|(?:access|refresh|id|auth|csrf|session)[_-]?token|session[_-]?id)` + secretValue), "${1}${2}" + Redacted},
	{regexp.MustCompile(`([?&]sig=)[^&\s"'<>]+`), "${1}" + Redacted}, // of a signed URL
	{regexp.MustCompile(`(?i)(<(?:\w+:)?\w*(?:password|passwd|secret|token|apikey)\w*(?:\s[^>]*)?>)[^<]+`), "${1}" + Redacted},
}

// basicAuth is checked further, as Basic is a word of prose too.
var basicAuth = regexp.MustCompile(`(?i)\b(basic\s+)([a-z0-9+/]{4,}={0,2})`)

// text replaces what looks like a secret in a text.
func (s redactor) text(text string) string {
	if s.form != nil {
		text = s.form.ReplaceAllString(text, "${1}${2}"+Redacted)
	}
	for _, secret := range secretTexts {
		text = secret.form.ReplaceAllString(text, secret.by)
	}
	return basicAuth.ReplaceAllStringFunc(text, func(found string) string {
		parts := basicAuth.FindStringSubmatch(found)
		if plain, err := base64.StdEncoding.DecodeString(parts[2]); err != nil || !bytes.Contains(plain, []byte(":")) {
			return found
		}
		return parts[1] + Redacted
	})
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
		h.Value = Redacted
	default:
		h.Value = s.text(h.Value)
	}
	return h
}

// json replaces the secrets in a JSON document and tells whether there were any.
// Members keep their order, numbers their text.
func (s redactor) json(doc []byte) ([]byte, bool, error) {
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	w := &jsonWriter{secrets: s}
	if err := w.redact(dec, false); err != nil {
		return nil, false, err
	}
	return w.out.Bytes(), w.changed, nil
}

type jsonWriter struct {
	secrets redactor
	out     bytes.Buffer
	changed bool
}

// redact copies the next value; of a secret one only the form.
func (w *jsonWriter) redact(dec *json.Decoder, secret bool) error {
	token, err := dec.Token()
	if err != nil {
		return err
	}
	switch token := token.(type) {
	case json.Delim:
		w.out.WriteString(token.String())
		for first := true; dec.More(); first = false {
			if !first {
				w.out.WriteByte(',')
			}
			inner := secret
			if token == '{' {
				name, err := dec.Token()
				if err != nil {
					return err
				}
				inner = secret || w.secrets.isName(name.(string))
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
		if secret && token != "" {
			text = Redacted
		}
		w.changed = w.changed || text != token
		w.write(text)
	case json.Number:
		if secret {
			w.changed, token = true, "0"
		}
		w.write(token)
	default: // true, false, null hide nothing
		w.write(token)
	}
	return nil
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
		for name := range v {
			inner, ok := s.drop(v[name])
			if !ok || s.isName(name) {
				delete(v, name)
				continue
			}
			v[name] = inner
		}
		return v, true
	}
	return v, true
}
