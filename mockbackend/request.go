package mockbackend

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"example.com/touchstone/schemas"
)

// A request is one received request, with its body read.
type request struct {
	*http.Request
	target string // as sent
	path   string // canonical, see canonicalPath
	body   []byte
	// bodyBytes is the true length of the body, of which body is the start.
	bodyBytes int64

	query     url.Values
	json      any
	jsonErr   error
	jsonKnown bool
}

var errBodyCut = errors.New("it is longer than what the journal keeps")

// readRequest reads the body of r to its end and keeps the first limit bytes.
// A body that breaks off is no error: what came is what is recorded.
func readRequest(r *http.Request, limit int64) *request {
	q := &request{Request: r, target: r.RequestURI}
	if q.target == "" { // a client's request, from the socketless transport
		q.target = r.URL.RequestURI()
	}
	path := r.URL.EscapedPath()
	if strings.HasPrefix(q.target, "/") {
		path, _, _ = strings.Cut(q.target, "?")
	}
	q.path = canonicalPath(path)
	if r.Body != nil && r.Body != http.NoBody {
		var kept bytes.Buffer
		n, _ := io.Copy(&kept, io.LimitReader(r.Body, limit))
		rest, _ := io.Copy(io.Discard, r.Body)
		q.body, q.bodyBytes = kept.Bytes(), n+rest
	}
	return q
}

// canonicalPath gives the path with every segment percent-decoded, apart from
// the two characters that would make it ambiguous.
func canonicalPath(path string) string {
	if !strings.Contains(path, "%") {
		return path
	}
	segments := strings.Split(path, "/")
	for i, s := range segments {
		if decoded, err := url.PathUnescape(s); err == nil {
			segments[i] = canonicalEscaper.Replace(decoded)
		}
	}
	return strings.Join(segments, "/")
}

var canonicalEscaper = strings.NewReplacer("%", "%25", "/", "%2F")

func (q *request) queryValues() url.Values {
	if q.query == nil {
		q.query = q.URL.Query()
	}
	return q.query
}

func (q *request) bodyJSON() (any, error) {
	if !q.jsonKnown {
		q.jsonKnown = true
		if q.bodyBytes > int64(len(q.body)) {
			q.jsonErr = errBodyCut
		} else {
			q.json, q.jsonErr = decodeJSON(q.body)
		}
	}
	return q.json, q.jsonErr
}

// decodeJSON decodes one JSON document, with numbers kept as written.
func decodeJSON(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("more than one JSON value")
	}
	return v, nil
}

// sortedHeaders is the second best to the order on the wire.
func sortedHeaders(h http.Header) schemas.StubHeaders {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	var list schemas.StubHeaders
	for _, name := range names {
		for _, value := range h[name] {
			list = append(list, schemas.StubHeader{Name: name, Value: value})
		}
	}
	return list
}
