package mockbackend

import (
	"context"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/net/http/httpguts"

	"example.com/touchstone/schemas"
)

// A reply is an answer made ready to send.
type reply struct {
	status int
	body   []byte
	// polite are the headers as net/http takes them, a list because that is
	// faster than a map. Nobody may change it: stubs share it.
	polite []politeField
	order  headOrder // of the polite headers, where net/http would change it
	delay  *delay
	fault  *schemas.StubFault
	// play, where set, sends the answer: the model's, which come in pieces.
	play func(ctx context.Context, w http.ResponseWriter, q *request)
	// impolite is the JSON Pointer and the reason why net/http would not send
	// the reply as it is; nil when it does.
	impolite *InvalidStubError
	template *replyTemplate // makes the reply that is sent; nil: this one is
	interim  []schemas.StubInterim
	headers  schemas.StubHeaders
	omit     []string
	raw      bool
	// toHead tells that net/http does send the reply in answer to HEAD: all that it
	// would change is the length, and to HEAD comes no body that could differ.
	toHead   bool
	refusals int // how many reasons there are, of which impolite is the first
}

type politeField struct {
	name   string
	values []string
}

// fileReader reads a file body.
type fileReader func(name string) ([]byte, error)

// compile checks one response. at is its JSON Pointer, names are the segments
// that the path of its stub names.
func (r *reply) compile(in schemas.StubResponse, at string, names []string, files fileReader) error {
	*r = reply{status: in.Status, headers: slices.Clone(in.Headers), omit: in.Omit, raw: in.Raw, interim: in.Interim, fault: in.Fault}
	if r.status == 0 {
		r.status = http.StatusOK
	}
	if r.status < 200 || r.status > 999 {
		return invalid(at+"/status", "is %d; a final status has 200 to 999, 1xx go into interim", r.status)
	}
	contentType, err := r.compileBody(in, at, files)
	if err != nil {
		return err
	}
	if contentType != "" && !r.omits("Content-Type") && !hasHeader(r.headers, "Content-Type") {
		r.headers = append(r.headers, schemas.StubHeader{Name: "Content-Type", Value: contentType})
	}
	for i, name := range in.Omit {
		if !slices.Contains(automaticHeaders, name) {
			return invalid(fmt.Sprintf("%s/omit/%d", at, i), "%q is not added by itself; give one of %s", name, strings.Join(automaticHeaders, ", "))
		}
	}
	for i, interim := range in.Interim {
		if interim.Status < 100 || interim.Status > 199 || interim.Status == http.StatusSwitchingProtocols {
			return invalid(fmt.Sprintf("%s/interim/%d/status", at, i), "is %d; give 100 to 199, but not 101, which ends HTTP", interim.Status)
		}
	}
	if in.Delay != nil {
		if r.delay, err = compileDelay(*in.Delay, at+"/delay"); err != nil {
			return err
		}
	}
	if in.Fault != nil {
		if err := checkFault(*in.Fault, at+"/fault"); err != nil {
			return err
		}
		if in.Fault.Kind == "redirect-loop" && in.Status != 0 && !slices.Contains(redirects, in.Status) {
			return invalid(at+"/status", "is %d; the fault redirect-loop answers with one of %v", in.Status, redirects)
		}
		if err := r.shows(); err != nil && !in.Template {
			return invalid(at+"/fault", "%w", err)
		}
	}
	if in.Template {
		if err := r.compileTemplate(in, names, at); err != nil {
			return err
		}
	}
	r.prepare(at)
	if r.impolite == nil {
		r.polite = shared(r.polite)
		r.order = r.headOrder(in.Headers)
	}
	return nil
}

var automaticHeaders = []string{"Content-Type", "Content-Length", "Date", "Connection"}

func (r *reply) compileBody(in schemas.StubResponse, at string, files fileReader) (contentType string, err error) {
	given := 0
	if in.JSON != nil {
		given++
		if _, err := decodeJSON(in.JSON); err != nil {
			return "", invalid(at+"/json", "is not JSON (%w); a broken document goes into text", err)
		}
		r.body, contentType = in.JSON, "application/json"
	}
	if in.Text != nil {
		given++
		r.body, contentType = []byte(*in.Text), "text/plain; charset=utf-8"
	}
	if in.Bytes != nil {
		given++
		r.body, contentType = in.Bytes, ""
	}
	if in.File != "" {
		given++
		if r.body, err = files(in.File); err != nil {
			return "", invalid(at+"/file", "%w", err)
		}
		contentType = mime.TypeByExtension(filepath.Ext(in.File))
	}
	if kind := r.faultKind(); given == 0 && kind.least != nil && !kind.withHead {
		r.body, contentType = faultBody(r.fault.Kind), "application/json"
	}
	if given > 1 {
		return "", invalid(at, "has %d bodies; give one of json, text, base64 and file", given)
	}
	return contentType, nil
}

// newReply is the short way to a polite reply of our own routes.
func newReply(status int, contentType string, body []byte, headers ...schemas.StubHeader) *reply {
	if contentType != "" {
		headers = append(headers, schemas.StubHeader{Name: "Content-Type", Value: contentType})
	}
	r := &reply{status: status, headers: headers, body: body}
	r.prepare("")
	return r
}

func (r *reply) omits(name string) bool { return slices.Contains(r.omit, name) }

func hasHeader(headers schemas.StubHeaders, name string) bool {
	return slices.ContainsFunc(headers, func(h schemas.StubHeader) bool { return strings.EqualFold(h.Name, name) })
}

// bodyForbidden tells the final statuses after which no body may come (RFC
// 9110, section 6.4.1).
func bodyForbidden(status int) bool {
	return status == http.StatusNoContent || status == http.StatusNotModified
}

// politeTo tells whether net/http sends the reply as it is to a method.
func (r *reply) politeTo(method string) bool {
	return r.impolite == nil || r.toHead && method == http.MethodHead
}

// prepare decides whether net/http can send the reply as it is.
func (r *reply) prepare(at string) {
	r.refusals, r.toHead = 0, false
	switch {
	case r.raw:
		r.refuse(at+"/raw", "asks for exact bytes")
	case r.status == http.StatusResetContent && len(r.body) > 0, bodyForbidden(r.status) && len(r.body) > 0:
		r.refuse(at+"/status", "%d has a body", r.status)
	case r.omits("Content-Length") && !bodyForbidden(r.status):
		r.refuse(at+"/omit", "leaves Content-Length out")
	}
	polite := make(http.Header, len(r.headers)+2)
	r.checkHeaders(r.headers, at+"/headers", polite)
	oddLength := r.refusals == 1 && r.hasOddLength(polite["Content-Length"])
	for i, interim := range r.interim {
		r.checkHeaders(interim.Headers, fmt.Sprintf("%s/interim/%d/headers", at, i), http.Header{})
	}
	r.toHead = oddLength && r.refusals == 1
	// A nil value keeps net/http from adding the header, or guessing it.
	for _, name := range []string{"Content-Type", "Date"} {
		wanted := name == "Date" && !r.omits(name) && !hasHeader(r.headers, name)
		if _, listed := polite[name]; !listed && !wanted {
			polite[name] = nil
		}
	}
	if !bodyForbidden(r.status) && !r.toHead {
		polite["Content-Length"] = []string{strconv.Itoa(len(r.body))}
	}
	r.polite = make([]politeField, 0, len(polite))
	for _, name := range slices.Sorted(maps.Keys(polite)) {
		r.polite = append(r.polite, politeField{name, polite[name]})
	}
}

// hasOddLength tells a Content-Length that is left out, or listed once as a number
// that is not the body's.
func (r *reply) hasOddLength(listed []string) bool {
	if bodyForbidden(r.status) {
		return false // net/http sends none after these, to HEAD neither
	}
	if r.omits("Content-Length") {
		return len(listed) == 0
	}
	if len(listed) != 1 {
		return false
	}
	n, err := strconv.ParseInt(listed[0], 10, 64)
	return err == nil && n != int64(len(r.body)) && strconv.FormatInt(n, 10) == listed[0] && n >= 0
}

// sharedHeaders are headers that many stubs have: of ten thousand stubs those of
// one are in no cache of the processor, those of all are.
var sharedHeaders struct {
	sync.Mutex
	lists map[string][]politeField
}

const (
	maxShared      = 1000
	maxSharedBytes = 300
)

// shared gives a list that is equal to fields, which net/http could send.
func shared(fields []politeField) []politeField {
	var key []byte
	for _, f := range fields {
		key = append(append(key, f.name...), '\n')
		for _, value := range f.values { // a valid one has no line ends
			key = append(append(append(key, ':'), value...), '\n')
		}
	}
	if len(key) > maxSharedBytes {
		return fields
	}
	sharedHeaders.Lock()
	defer sharedHeaders.Unlock()
	if list, ok := sharedHeaders.lists[string(key)]; ok {
		return list
	}
	if sharedHeaders.lists == nil {
		sharedHeaders.lists = map[string][]politeField{}
	}
	if len(sharedHeaders.lists) < maxShared {
		sharedHeaders.lists[string(key)] = fields
	}
	return fields
}

// refuse notes the first thing that net/http would not send.
func (r *reply) refuse(pointer, format string, args ...any) {
	r.refusals++
	if r.impolite == nil {
		r.impolite = &InvalidStubError{Pointer: pointer, Err: fmt.Errorf(format, args...)}
	}
}

// checkHeaders fills dst and notes what in the list net/http would drop, change
// or act upon.
func (r *reply) checkHeaders(list schemas.StubHeaders, at string, dst http.Header) {
	spelling := map[string]string{}
	for i, h := range list {
		pointer := at + "/" + strconv.Itoa(i)
		canonical := http.CanonicalHeaderKey(h.Name)
		switch {
		case !httpguts.ValidHeaderFieldName(h.Name):
			r.refuse(pointer, "%q is not a field name", h.Name)
		case !httpguts.ValidHeaderFieldValue(h.Value) || h.Value != strings.Trim(h.Value, " \t"):
			r.refuse(pointer, "%s has a value that RFC 9110 does not allow", h.Name)
		case spelling[canonical] != "" && spelling[canonical] != h.Name:
			r.refuse(pointer, "%s is spelled in two ways", h.Name)
		}
		spelling[canonical] = h.Name
		switch canonical {
		case "Content-Length":
			if h.Value != strconv.Itoa(len(r.body)) || len(dst["Content-Length"]) > 0 || bodyForbidden(r.status) {
				r.refuse(pointer, "Content-Length is not the one of the body, or comes twice")
			}
			dst["Content-Length"] = append(dst["Content-Length"], h.Value)
			continue
		case "Transfer-Encoding", "Connection", "Keep-Alive", "Upgrade", "Trailer":
			r.refuse(pointer, "%s is the connection's own", h.Name)
		}
		dst[h.Name] = append(dst[h.Name], h.Value)
	}
}

// fill sends the interim answers over net/http and sets the headers of the
// final one.
func (r *reply) fill(w http.ResponseWriter) {
	header := w.Header()
	for _, interim := range r.interim {
		for _, h := range interim.Headers {
			header[h.Name] = append(header[h.Name], h.Value)
		}
		w.WriteHeader(interim.Status)
		clear(header)
	}
	for _, f := range r.polite {
		header[f.name] = f.values
	}
}

// send answers over net/http and says how many bytes of body it wrote.
func (r *reply) send(w http.ResponseWriter, headOnly bool) (int64, error) {
	r.fill(w)
	w.WriteHeader(r.status)
	if len(r.body) == 0 || headOnly {
		return 0, nil
	}
	n, err := w.Write(r.body)
	return int64(n), err
}
