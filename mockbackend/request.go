package mockbackend

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/touchstone/schemas"
)

// A request is one received request and how far the answer to it has got.
type request struct {
	*http.Request
	scope  *Scope
	start  time.Time
	seq    uint64   // in the journal
	taken  net.Conn // the connection, when it was taken over
	sent   Sent
	base   string // prefix of the path that named the scope, escaped for URLs
	target string // as sent
	path   string // without that prefix, canonical, see canonicalPath
	head   []byte // as it came, or as if it had
	body   []byte
	// bodyBytes is the true length of the body, of which body is the start.
	bodyBytes int64
	bodyErr   error // why the body broke off

	query     url.Values
	json      any
	integers  any // json for templates
	jsonErr   error
	jsonKnown bool
	steps     int // of a template's ranges
}

var errBodyCut = errors.New("it is longer than what the journal keeps")

var requests = sync.Pool{New: func() any { return &request{} }}

// maxPooled bounds the buffers that are kept from one request to the next.
const maxPooled = 64 << 10

// newRequest takes in the head of a request, whose scope is still to be found.
// The caller releases the request when nothing uses it any more.
func newRequest(r *http.Request) *request {
	q := requests.Get().(*request)
	q.Request, q.target, q.start = r, r.RequestURI, time.Now()
	if q.target == "" { // a client's request, from the socketless transport
		q.target = r.URL.RequestURI()
	}
	path := q.target
	if strings.HasPrefix(path, "/") {
		path, _, _ = strings.Cut(path, "?")
	} else {
		path = r.URL.EscapedPath()
	}
	if q.path = canonicalPath(path); q.path == "" {
		q.path = "/"
	}
	return q
}

// release gives the memory of a request back.
func (q *request) release() {
	head, body := q.head[:0], q.body[:0]
	if cap(head)+cap(body) > maxPooled {
		head, body = nil, nil
	}
	*q = request{head: head, body: body}
	requests.Put(q)
}

// rebuildHead makes up the head of a request that did not come as HTTP/1 over a
// connection of ours.
func (q *request) rebuildHead() {
	q.head = fmt.Appendf(q.head[:0], "%s %s %s\r\n", q.Method, q.target, q.Proto)
	fields := sortedHeaders(q.Header)
	if q.Host != "" {
		fields = slices.Insert(fields, 0, schemas.StubHeader{Name: "Host", Value: q.Host})
	}
	for _, h := range fields {
		q.head = append(q.head, h.Name+": "+h.Value+"\r\n"...)
	}
}

// reach notes in the journal how far the answer has got.
func (q *request) reach(phase string) {
	q.sent.Phase = phase
	q.scope.journal.progress(q.seq, q.sent)
}

// wrote notes that n more bytes of the body are out.
func (q *request) wrote(n int) {
	q.sent.BodyBytes += int64(n)
	q.scope.journal.progress(q.seq, q.sent)
}

func (q *request) hasBody() bool { return q.Body != nil && q.Body != http.NoBody }

// readBody reads the body to its end and keeps the first limit bytes. A body
// that breaks off is no error: what came is what is recorded.
func (q *request) readBody(limit int64) {
	kept := bytes.NewBuffer(q.body[:0])
	q.bodyBytes, q.bodyErr = io.Copy(kept, io.LimitReader(q.Body, limit))
	q.body = kept.Bytes()
	if q.bodyErr == nil {
		var rest int64
		rest, q.bodyErr = io.Copy(io.Discard, q.Body)
		q.bodyBytes += rest
	}
}

// clientLeft tells whether the body broke off with the client, and not by what is
// wrong in it.
func (q *request) clientLeft() bool {
	_, network := errors.AsType[net.Error](q.bodyErr)
	return q.bodyErr != nil && (network || errors.Is(q.bodyErr, io.ErrUnexpectedEOF) || q.Context().Err() != nil)
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

var (
	canonicalEscaper   = strings.NewReplacer("%", "%25", "/", "%2F")
	canonicalUnescaper = strings.NewReplacer("%25", "%", "%2F", "/")
)

// plainSegment gives the text of a segment of a canonical path.
func plainSegment(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	return canonicalUnescaper.Replace(s)
}

// origin is the base URL that the client called, without a trailing slash.
func (q *request) origin() string {
	scheme := "http://"
	if q.TLS != nil {
		scheme = "https://"
	}
	return scheme + q.Host + q.base
}

func (q *request) queryValues() url.Values {
	if q.query == nil {
		q.query = parseQuery(q.URL.RawQuery)
	}
	return q.query
}

// parseQuery reads a query as a form (WHATWG URL, application/x-www-form-urlencoded).
// Unlike [url.ParseQuery] it leaves nothing out: a semicolon is a character like
// any other, and what cannot be decoded stays as it came.
func parseQuery(raw string) url.Values {
	values := url.Values{}
	decode := func(s string) string {
		if plain, err := url.QueryUnescape(s); err == nil {
			return plain
		}
		return s
	}
	for pair := range strings.SplitSeq(raw, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name = decode(name)
		values[name] = append(values[name], decode(value))
	}
	return values
}

// cookieValues gives the values of a cookie as they came, also those that are
// none by RFC 6265, section 4.1.1, as JSON is.
func (q *request) cookieValues(name string) []string {
	var values []string
	for _, field := range q.Header["Cookie"] {
		for pair := range strings.SplitSeq(field, ";") {
			have, value, _ := strings.Cut(pair, "=")
			if strings.Trim(have, " \t") == name {
				values = append(values, strings.Trim(value, " \t"))
			}
		}
	}
	return values
}

// unquoted gives the text of a value that may stand in quotes, which are no part
// of it for one server and are for another (RFC 6265, sections 4.1.1 and 5.2).
func unquoted(value string) string {
	if len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"' {
		return value[1 : len(value)-1]
	}
	return value
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
	var list schemas.StubHeaders
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			list = append(list, schemas.StubHeader{Name: name, Value: value})
		}
	}
	return list
}
