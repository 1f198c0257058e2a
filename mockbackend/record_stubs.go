package mockbackend

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"example.com/touchstone/schemas"
)

// maxMatchedBody is how much of a body a mock compares by default.
const maxMatchedBody = 1 << 20

// A recording is the answers to one kind of request, in their order.
type recording struct {
	match     schemas.StubMatch
	responses []schemas.StubResponse
}

// match makes the request a stub's. A condition that would hold a secret asks
// only that there is a value, or is left out.
func (r *Recorder) match(q *http.Request, body []byte) (schemas.StubMatch, error) {
	m := schemas.StubMatch{Method: q.Method, Path: r.path(q.URL.EscapedPath())}
	if !strings.HasPrefix(m.Path, "/") {
		return m, fmt.Errorf("a stub cannot match the target %q", q.RequestURI)
	}
	for _, own := range []string{adminPrefix, scopePrefix} {
		if strings.HasPrefix(canonicalPath(q.URL.EscapedPath()), own) {
			return m, fmt.Errorf("what is below %s is the mock backend's own, so that no stub answers there", own)
		}
	}
	// As the mock itself reads a query, or the stub would not match.
	query := (&request{Request: q}).queryValues()
	oauth := slices.ContainsFunc(oauthNames, query.Has)
	byName := open
	for name, values := range query {
		for _, value := range values {
			if isMember(name, nameMembers) {
				byName = max(byName, r.secrets.secrecy(value))
			}
		}
	}
	for name, values := range query {
		if m.Query == nil {
			m.Query = map[string]schemas.StubText{}
		}
		m.Query[name] = schemas.StubText{Equals: values}
		if !r.opts.KeepSecrets && slices.ContainsFunc(values, func(v string) bool {
			return r.secrets.pairSecrecy(name, v, oauth).hides(v) || isMember(name, valueMembers) && byName.hides(v) || r.secrets.text(v) != v
		}) {
			absent := false
			m.Query[name] = schemas.StubText{Absent: &absent}
		}
	}
	m.Body = r.bodyMatch(q.Header.Get("Content-Type"), body)
	return m, nil
}

// conditionalHeaders make an answer another one (RFC 9110, sections 13.1 and 14.2).
var conditionalHeaders = []string{"If-Match", "If-Modified-Since", "If-None-Match", "If-Range", "If-Unmodified-Since", "Range"}

// conditional adds what a request asked for when the answer is to that alone: a
// plain request gets another one.
func (r *Recorder) conditional(m *schemas.StubMatch, header http.Header, status int) {
	switch status {
	case http.StatusPartialContent, http.StatusNotModified, http.StatusPreconditionFailed, http.StatusRequestedRangeNotSatisfiable:
	default:
		return
	}
	for _, name := range conditionalHeaders {
		values := header[name]
		if len(values) == 0 {
			continue
		}
		if m.Headers == nil {
			m.Headers = map[string]schemas.StubText{}
		}
		m.Headers[name] = schemas.StubText{Equals: values}
		if !r.opts.KeepSecrets && slices.ContainsFunc(values, func(v string) bool {
			return r.secrets.isName(name) || r.secrets.text(v) != v
		}) {
			absent := false
			m.Headers[name] = schemas.StubText{Absent: &absent}
		}
	}
}

// priority puts a stub before those that ask for less. One without conditions on
// the query takes any, so that those count most.
func priority(m schemas.StubMatch) int {
	p := 3 * len(m.Query)
	if m.Body != nil {
		p++
	}
	if len(m.Headers) > 0 {
		p++
	}
	return p
}

// path makes a pattern of a segment that holds a secret. Braces of the path
// itself are none: they are escaped.
func (r *Recorder) path(escaped string) string {
	if r.opts.KeepSecrets {
		return escaped
	}
	segments := strings.Split(escaped, "/")
	for i, segment := range segments {
		plain, err := url.PathUnescape(segment)
		if r.secrets.text(segment) != segment || err == nil && r.secrets.text(plain) != plain {
			segments[i] = fmt.Sprintf("{redacted%d}", i)
		}
	}
	return strings.Join(segments, "/")
}

func (r *Recorder) bodyMatch(contentType string, body []byte) *schemas.StubBodyMatch {
	mediaType, _, _ := mime.ParseMediaType(contentType)
	switch {
	case len(body) == 0 || len(body) > maxMatchedBody || strings.HasPrefix(mediaType, "multipart/"):
		// The mock compares no more than it keeps; boundaries are random.
		return nil
	case survivesYAML(body):
		if r.opts.KeepSecrets {
			return &schemas.StubBodyMatch{Equals: body}
		}
		kept, ok := r.secrets.without(body)
		if !ok {
			return nil
		}
		if sameJSON(mustDecode(body), mustDecode(kept)) {
			return &schemas.StubBodyMatch{Equals: body}
		}
		return &schemas.StubBodyMatch{Subset: kept}
	case utf8.Valid(body):
		text := string(body)
		if !r.opts.KeepSecrets && r.secrets.document(text) != text {
			return nil
		}
		return &schemas.StubBodyMatch{Text: &schemas.StubText{Equals: []string{text}}}
	}
	return nil
}

// mustDecode decodes what was found to be JSON before.
func mustDecode(doc []byte) any {
	v, err := decodeJSON(doc)
	if err != nil {
		panic("mockbackend: " + err.Error())
	}
	return v
}

// survivesYAML tells whether a body is a JSON object or list that reads back as
// the same value: not with a member twice or half of a surrogate pair.
func survivesYAML(body []byte) bool {
	text := bytes.TrimSpace(body)
	if len(text) == 0 || text[0] != '{' && text[0] != '[' || isDeep(text) || !utf8.Valid(text) || !json.Valid(text) {
		return false
	}
	if schemas.CheckUnique(text) != nil {
		return false
	}
	// No string has half of a pair without an escape.
	return !bytes.Contains(text, []byte(`\u`)) || bytes.Contains(text, []byte("\ufffd")) || !halvesPairs(text)
}

// isDeep tells a document that, as a part of a file, could be nested too deep to be
// read. Brackets in its strings count: as a text the body is no worse.
func isDeep(doc []byte) bool {
	const most = maxYAMLDepth - 100
	depth := 0
	for _, c := range doc {
		switch c {
		case '{', '[':
			if depth++; depth > most {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

// halvesPairs tells whether a string of a document without U+FFFD decodes to one
// with it, as half of a surrogate pair does.
func halvesPairs(doc []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	for {
		token, err := dec.Token()
		if err != nil {
			return false
		}
		if text, ok := token.(string); ok && strings.Contains(text, "\ufffd") {
			return true
		}
	}
}

// loads tells why a stub would be refused when it is read, and every other one of
// its file with it.
func loads(match schemas.StubMatch, response schemas.StubResponse) error {
	// Of what can be large, only the form: looking for mistakes takes time.
	body := "x"
	if match.Body != nil {
		match.Body = &schemas.StubBodyMatch{Text: &schemas.StubText{Equals: []string{body}}}
	}
	response.Headers = slices.Clone(response.Headers)
	for i, h := range response.Headers {
		response.Headers[i].Value = h.Value[:min(len(h.Value), 1<<10)]
	}
	switch {
	case response.JSON != nil:
		response.JSON = json.RawMessage("0")
	case response.Text != nil:
		response.Text = &body
	case response.Bytes != nil:
		response.Bytes = []byte(body)
	}
	var doc bytes.Buffer
	appendJSON(&doc, schemas.Stub{ID: "x", Match: match, Respond: &response})
	stub, err := DecodeStub(doc.Bytes())
	if err == nil {
		_, err = compileStub(stub, nil)
	}
	if err != nil {
		return fmt.Errorf("its stub could not be loaded: %w", err)
	}
	return nil
}

var errRecordingFull = errors.New("the recording is full; start another one")

// add notes a response to a request.
func (r *Recorder) add(match schemas.StubMatch, response schemas.StubResponse, size int64) error {
	var key bytes.Buffer
	appendJSON(&key, match)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.room -= size; r.room < 0 {
		return errRecordingFull
	}
	seen := r.byKey[key.String()]
	if seen == nil {
		seen = &recording{match: match}
		r.byKey[key.String()] = seen
		r.seen = append(r.seen, seen)
	}
	seen.responses = append(seen.responses, response)
	return nil
}

// Stubs gives a stub for each kind of request that was answered, in the order
// of the first answers. Different answers to requests that are the same make a
// sequence. It waits for the exchanges that have ended before.
func (r *Recorder) Stubs() []schemas.Stub {
	r.queue.wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]schemas.Stub, 0, len(r.seen))
	ids := map[string]int{}
	for _, seen := range r.seen {
		s := schemas.Stub{ID: seen.id(), Match: seen.match, Priority: priority(seen.match)}
		if ids[s.ID]++; ids[s.ID] > 1 {
			s.ID = fmt.Sprintf("%s.%d", s.ID, ids[s.ID])
		}
		if responses := seen.distinct(); len(responses) == 1 {
			s.Respond = &responses[0]
		} else {
			s.Sequence = &schemas.StubSequence{Responses: responses}
		}
		list = append(list, s)
	}
	return list
}

// distinct leaves out the repetitions at the end, which a sequence does by
// itself.
func (seen *recording) distinct() []schemas.StubResponse {
	end := len(seen.responses)
	for end > 1 && reflect.DeepEqual(seen.responses[end-2], seen.responses[end-1]) {
		end--
	}
	return slices.Clone(seen.responses[:end])
}

// id names a recording by its request, so that a journal reads well.
func (seen *recording) id() string {
	plain := func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '-'
	}
	id := strings.Trim(strings.Map(plain, seen.match.Method+seen.match.Path), "-")
	return id[:min(len(id), 100)]
}
