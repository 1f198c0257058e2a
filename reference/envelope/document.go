package envelope

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"example.com/touchstone/reference/leak"
)

// Kind is what a body is taken for.
type Kind int

// The kinds of a body. Empty is one of nothing but white space.
const (
	Empty Kind = iota
	Page       // HTML
	JSON
	Text
)

// Document is the body of a response, read once for all recognisers.
type Document struct {
	Status int
	// MediaType is in lower case and without parameters; "" if there is none.
	MediaType string
	Kind      Kind
	// Text is the body in valid UTF-8, without a byte-order mark; for JSON,
	// without the white space around the value too.
	Text string
	// Value is the parsed body where Kind is JSON.
	Value gjson.Result
}

// member gives a member of a JSON object. Of anything else it gives a value
// that does not exist.
func (d *Document) member(name string) gjson.Result {
	if !d.Value.IsObject() {
		return gjson.Result{}
	}
	return d.Value.Get(name)
}

// read finds out what the body of a response is. HTML comes first, so that a
// page served as JSON is still a page (FORWARD-06).
func (m *Mapper) read(resp Response) *Document {
	contentType, _, _ := strings.Cut(header(resp, "Content-Type"), ";")
	doc := &Document{
		Status:    resp.Status,
		MediaType: strings.ToLower(strings.TrimSpace(contentType)),
		Text:      decode(resp.Body),
	}
	switch {
	case leak.Blank(doc.Text):
	case m.HTML.is(doc.MediaType, doc.Text):
		doc.Kind = Page
	case m.ParsesAsJSON(doc.MediaType) && validJSON(doc.Text):
		doc.Kind = JSON
		doc.Text = strings.Trim(doc.Text, " \t\r\n")
		doc.Value = gjson.Parse(doc.Text)
	default:
		doc.Kind = Text
	}
	return doc
}

// decode gives a body as text, as the Encoding Standard's "UTF-8 decode" does:
// a byte-order mark is no part of it, and what is not UTF-8 becomes U+FFFD.
func decode(body []byte) string {
	text := string(bytes.TrimPrefix(body, []byte("\uFEFF")))
	if utf8.ValidString(text) {
		return text
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// parsesAsJSON is SUCCESS-02 and FORWARD-06.
func parsesAsJSON(mediaType string) bool {
	switch mediaType {
	case "", "application/json", "text/json":
		return true
	}
	return strings.HasSuffix(mediaType, "+json")
}

// maxNesting bounds the depth of JSON that is parsed. The parser recurses, and
// a stack overflow is the one fault that Go cannot recover from.
const maxNesting = 1000

func validJSON(s string) bool {
	// Few documents have that many brackets at all; only those need a look at the depth.
	if strings.Count(s, "[")+strings.Count(s, "{") > maxNesting && nesting(s) > maxNesting {
		return false
	}
	return gjson.Valid(s)
}

// nesting gives the greatest depth of arrays and objects.
func nesting(s string) int {
	depth, deepest := 0, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			for i++; i < len(s) && s[i] != '"'; i++ {
				if s[i] == '\\' {
					i++
				}
			}
		case '[', '{':
			depth++
			deepest = max(deepest, depth)
		case ']', '}':
			depth--
		}
	}
	return deepest
}

// HTML says which bodies are pages (SUCCESS-06, FORWARD-10).
type HTML struct {
	MediaTypes []string
	// Starts are what a page begins with, in lower case; any case matches.
	Starts []string
	// Prelude removes what may stand before that (FORWARD-14).
	Prelude func(body string) string
}

func (h *HTML) is(mediaType, body string) bool {
	if slices.Contains(h.MediaTypes, mediaType) {
		return true
	}
	body = h.Prelude(strings.TrimSpace(body))
	return slices.ContainsFunc(h.Starts, func(start string) bool {
		return len(body) >= len(start) && strings.EqualFold(body[:len(start)], start)
	})
}

// skipPrelude removes white space, byte-order marks, comments and XML
// declarations from the front.
func skipPrelude(body string) string {
	for {
		body = strings.TrimLeft(body, " \t\r\n\f\uFEFF")
		var end string
		switch {
		case strings.HasPrefix(body, "<!--"):
			end = "-->"
		case strings.HasPrefix(body, "<?"):
			end = "?>"
		default:
			return body
		}
		// From the third character: "<!-->" is a whole comment.
		_, rest, closed := strings.Cut(body[len("<!"):], end)
		if !closed {
			return body
		}
		body = rest
	}
}
