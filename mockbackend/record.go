package mockbackend

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"example.com/touchstone/schemas"
)

// Bounds of a recording.
const (
	maxRecordedBody  = 16 << 20
	maxRecordedBytes = 512 << 20 // in all
	exchangeBytes    = 2 << 10   // of an exchange, besides its heads and bodies
)

// RecorderOptions set up a [Recorder].
type RecorderOptions struct {
	// KeepSecrets leaves secrets in the stubs.
	KeepSecrets bool
	// Secrets are names of headers, members and parameters that hold secrets,
	// besides those that are known; upper and lower case are the same, and
	// separators do not count.
	Secrets []string
	// Transport reaches the backend; [http.DefaultTransport] by default.
	Transport http.RoundTripper
	// Done is told of every exchange that has ended, once it is recorded, of one
	// after another. It must not call [Recorder.Stubs], which waits for it.
	Done func(Recorded)
}

// Recorded is one exchange that went through a [Recorder].
type Recorded struct {
	Method, Target string
	Status         int
	BodyBytes      int64
	Duration       time.Duration
	// Skipped says why the exchange is not in the recording; nil when it is.
	Skipped error
}

// A Recorder is a proxy to a backend that makes stubs of the answers. It is an
// [http.Handler], safe for concurrent use.
type Recorder struct {
	opts    RecorderOptions
	backend *url.URL
	secrets redactor
	proxy   *httputil.ReverseProxy
	queue   *recordQueue

	mu    sync.Mutex
	seen  []*recording
	byKey map[string]*recording
	room  int64 // in bytes, for what is still to come
}

// NewRecorder gives a recorder in front of the backend at an absolute URL with
// the scheme http or https.
func NewRecorder(backend string, opts RecorderOptions) (*Recorder, error) {
	target, err := url.Parse(backend)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the backend to record: %w", err)
	case target.Scheme != "http" && target.Scheme != "https" || target.Host == "":
		return nil, fmt.Errorf("the backend to record, %q, is not an http or https URL; give one like http://127.0.0.1:3000", backend)
	case target.RawQuery != "" || target.Fragment != "":
		return nil, fmt.Errorf("the backend to record, %q, has a query or a fragment; give the URL that paths are put behind", backend)
	}
	r := &Recorder{opts: opts, backend: target, secrets: newRedactor(opts.Secrets), byKey: map[string]*recording{}, room: maxRecordedBytes}
	r.queue = newRecordQueue(r.finish)
	r.proxy = &httputil.ReverseProxy{
		Transport:      opts.Transport,
		FlushInterval:  -1,                         // what the backend streams is streamed on
		ErrorLog:       log.New(io.Discard, "", 0), // Done tells
		Rewrite:        r.rewrite,
		ModifyResponse: r.tap,
		ErrorHandler: func(w http.ResponseWriter, q *http.Request, err error) {
			flight(q).skip(fmt.Errorf("the backend did not answer: %w", err))
			writeReply(w, problem(http.StatusBadGateway, "The backend that is being recorded did not answer: "+err.Error(), nil))
		},
	}
	return r, nil
}

// inFlight is an exchange on its way.
type inFlight struct {
	start   time.Time
	took    time.Duration
	size    int64 // in the queue
	request *http.Request
	body    []byte // nil when it is too large to match by
	answer  *http.Response
	reply   *capture

	mu  sync.Mutex
	why error // it will not be recorded
}

func (f *inFlight) skip(why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.why == nil {
		f.why = why
	}
}

func (f *inFlight) skipped() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.why
}

// readBody reads a request's body before it is passed on, as a backend may answer
// without reading it. It gives the body again; of one that is too large, the rest
// follows from the client.
func (f *inFlight) readBody(body io.ReadCloser) io.ReadCloser {
	start, err := io.ReadAll(io.LimitReader(body, maxRecordedBody+1))
	if err != nil {
		f.skip(fmt.Errorf("the request broke off: %w", err))
	}
	if len(start) <= maxRecordedBody {
		f.body = start
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(start), body), body}
}

type flightKey struct{}

func flight(q *http.Request) *inFlight { return q.Context().Value(flightKey{}).(*inFlight) }

// ServeHTTP passes a request on. The answer is recorded after the client has it.
func (r *Recorder) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	f := &inFlight{start: time.Now(), request: q}
	// A copy for the way on: the recording wants the request as it came.
	out := q.WithContext(context.WithValue(q.Context(), flightKey{}, f))
	if q.Body != nil && q.Body != http.NoBody {
		out.Body = f.readBody(q.Body)
	}
	// Where the backend sent no Content-Type, net/http would guess one.
	w.Header()["Content-Type"] = nil
	// Deferred, as a broken answer leaves by panic.
	defer func() {
		f.took = time.Since(f.start)
		r.queue.add(f)
	}()
	r.proxy.ServeHTTP(w, out)
}

func (r *Recorder) rewrite(p *httputil.ProxyRequest) {
	p.SetURL(r.backend)
	// What Go does not read as parameters is left out there.
	p.Out.URL.RawQuery = p.In.URL.RawQuery
	if !r.opts.KeepSecrets {
		// Secrets are found in plain text alone.
		p.Out.Header.Set("Accept-Encoding", "identity")
	}
}

// tap keeps a copy of the answer while it passes.
func (r *Recorder) tap(answer *http.Response) error {
	f := flight(answer.Request)
	if location := answer.Header.Get("Location"); location != "" {
		answer.Header.Set("Location", r.here(location))
	}
	f.answer = answer
	if answer.StatusCode == http.StatusSwitchingProtocols {
		f.skip(errors.New("the connection was upgraded"))
		return nil
	}
	f.reply = &capture{from: answer.Body, limit: maxRecordedBody}
	answer.Body = f.reply
	return nil
}

// here makes a location at the backend one at the recorder, which the client
// would leave else.
func (r *Recorder) here(location string) string {
	own := func(prefix, text string) (string, bool) {
		rest, ok := strings.CutPrefix(text, prefix)
		return "/" + strings.TrimPrefix(rest, "/"), ok && (rest == "" || rest[0] == '/' || rest[0] == '?')
	}
	path, ok := own(r.backend.Scheme+"://"+r.backend.Host, location)
	switch {
	case ok:
	case strings.HasPrefix(location, "/") && !strings.HasPrefix(location, "//"):
		path = location
	default:
		return location
	}
	if below, ok := own(strings.TrimSuffix(r.backend.Path, "/"), path); ok {
		return below
	}
	return path
}

// finish records what came out of the queue.
func (r *Recorder) finish(f *inFlight) {
	done := Recorded{Method: f.request.Method, Target: f.request.RequestURI, Duration: f.took}
	if f.answer != nil {
		done.Status = f.answer.StatusCode
	}
	if f.reply != nil {
		done.BodyBytes = f.reply.size()
	}
	if done.Skipped = f.skipped(); done.Skipped == nil {
		done.Skipped = r.record(f)
	}
	if r.opts.Done != nil {
		r.opts.Done(done)
	}
}

// record puts an exchange into the recording. No handler is there any more in which
// net/http would end a panic.
func (r *Recorder) record(f *inFlight) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("recording it failed: %v", p)
		}
	}()
	if f.reply == nil {
		return errors.New("there was no answer")
	}
	body, err := f.reply.content()
	if err != nil {
		return fmt.Errorf("the answer is not whole: %w", err)
	}
	response, err := r.response(f, body)
	if err != nil {
		return err
	}
	match, err := r.match(f.request, f.body)
	if err != nil {
		return err
	}
	r.conditional(&match, f.request.Header, response.Status)
	if err := loads(match, response); err != nil {
		return err
	}
	size := exchangeBytes + len(f.request.RequestURI) + len(body) + len(f.body)
	for _, h := range response.Headers {
		size += len(h.Name) + len(h.Value)
	}
	return r.add(match, response, int64(size))
}

// response makes the answer a stub's.
func (r *Recorder) response(f *inFlight, body []byte) (schemas.StubResponse, error) {
	header := f.answer.Header.Clone()
	body, err := r.decode(header, body)
	if err != nil {
		return schemas.StubResponse{}, err
	}
	response := schemas.StubResponse{Status: f.answer.StatusCode, Headers: schemas.StubHeaders{}}
	for _, h := range sortedHeaders(header) {
		if h.Name == "Date" || h.Name == "Content-Length" && f.request.Method != http.MethodHead {
			continue // the mock's own
		}
		if h.Name == "Content-Length" && bodyForbidden(response.Status) {
			continue // could be sent raw alone, over HTTP/1.1
		}
		if !r.opts.KeepSecrets {
			h = r.secrets.header(h)
		}
		response.Headers = append(response.Headers, h)
	}
	if len(body) == 0 {
		if f.request.Method == http.MethodHead && header.Get("Content-Length") == "" && !bodyForbidden(response.Status) {
			response.Omit = []string{"Content-Length"}
		}
		return response, nil
	}
	if !r.opts.KeepSecrets {
		if body, err = r.redactBody(header.Get("Content-Type"), body); err != nil {
			return response, err
		}
	}
	switch {
	case survivesYAML(body):
		response.JSON = body
	case utf8.Valid(body):
		text := string(body)
		response.Text = &text
	default:
		response.Bytes = body
	}
	if header.Get("Content-Type") == "" && response.Bytes == nil {
		response.Omit = []string{"Content-Type"}
	}
	return response, nil
}

// redactBody replaces the secrets in a body. A JSON one without any stays to the
// byte.
func (r *Recorder) redactBody(contentType string, body []byte) ([]byte, error) {
	if !json.Valid(body) {
		return r.secrets.body(contentType, body)
	}
	if redacted, changed := r.secrets.json(body); changed {
		return redacted, nil
	}
	return body, nil
}

// decode takes a content coding off, so that secrets can be found.
func (r *Recorder) decode(header http.Header, body []byte) ([]byte, error) {
	coding := strings.ToLower(header.Get("Content-Encoding"))
	if coding == "" || coding == "identity" || len(body) == 0 || r.opts.KeepSecrets {
		return body, nil
	}
	var plain io.Reader
	var err error
	switch coding {
	case "gzip", "x-gzip":
		plain, err = gzip.NewReader(bytes.NewReader(body))
	case "deflate":
		plain, err = zlib.NewReader(bytes.NewReader(body))
	default:
		return nil, fmt.Errorf("the body is coded as %s, in which secrets cannot be found", coding)
	}
	if err == nil {
		body, err = io.ReadAll(io.LimitReader(plain, maxRecordedBody+1))
	}
	if err == nil && len(body) > maxRecordedBody {
		err = errTooLarge
	}
	if err != nil {
		return nil, fmt.Errorf("decoding %s: %w", coding, err)
	}
	header.Del("Content-Encoding")
	return body, nil
}

var errTooLarge = fmt.Errorf("it is larger than %d bytes", maxRecordedBody)
