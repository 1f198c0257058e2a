// Package envelope turns what a backend answered into the envelope that an
// agent gets: a success, or an error that says what to do next and gives
// nothing away.
//
// A [Mapper] is a set of policies, all of them values, with [Mapper.Map] as the
// one path through them. [Mapper.Refuse] builds the third envelope, for calls
// that the layer answers by itself. [Encode] writes any of the three.
package envelope

import (
	"net/http"
	"slices"

	"example.com/touchstone/reference/leak"
	"example.com/touchstone/schemas"
)

// Response is an HTTP response of a backend, read to its end. The mapper takes
// status codes from 100 to 599 (RFC 9110, section 15).
type Response struct {
	Status int
	// Header has canonical names, as [http.Header.Set] writes them.
	Header http.Header
	Body   []byte
}

// Mapper maps responses by the policies it holds. [NewMapper] gives the
// conforming set; a Mapper must not be changed while it is in use.
type Mapper struct {
	// Hosts are the host's own recognisers. They see every error before any rule does.
	Hosts []Recognizer
	// Recognizers read the body of an error; the first that takes it decides
	// alone (FORWARD-13).
	Recognizers []BodyRecognizer
	// MessageKeys are the members that may hold a message, in order (FORWARD-04).
	MessageKeys []string
	// Unread tells the statuses whose body gives no message (FORWARD-08, FORWARD-09).
	Unread func(status int) bool
	// Screen admits every forwarded string, and normalises it (LEAK-08, FORWARD-07).
	Screen Screen

	// Codes are the codes of single statuses; the two others are for the rest.
	Codes       map[int]schemas.BackendCode
	OtherClient schemas.BackendCode
	OtherServer schemas.BackendCode
	// Validating are the statuses that field errors turn into validation_failed (CODE-10).
	Validating []int
	// Retryable are the statuses worth another try (RETRY-01).
	Retryable []int
	// Messages are used where nothing is forwarded (MESSAGE-01).
	Messages map[schemas.BackendCode]StandardMessage

	// Fields says how reported fields are named.
	Fields FieldPolicy
	// WithheldField replaces the message of a field that is withheld (FIELD-07).
	WithheldField string

	// RetryAfter reads a Retry-After header (HEADER-02).
	RetryAfter func(status int, value string) (seconds int64, ok bool)
	// Referenced tells the statuses that have a reference (HEADER-04), taken
	// from the first of ReferenceHeaders, by canonical name, or from a traceId
	// that TraceID accepts.
	Referenced       func(status int) bool
	ReferenceHeaders []string
	TraceID          func(value string) bool
	// Location gives the location to forward, or "" (SUCCESS-07, HEADER-07).
	Location func(status int, value string) string

	// HTML recognises bodies that are never forwarded (FORWARD-10).
	HTML HTML
	// ParsesAsJSON tells the media types of JSON; "" is a response without one
	// (SUCCESS-02).
	ParsesAsJSON func(mediaType string) bool

	// Refusals has the texts of the layer's own errors.
	Refusals RefusalPolicy
}

// NewMapper gives the conforming mapper. Each call gives one of its own.
func NewMapper() *Mapper { return NewMapperWith(leak.Default()) }

// NewMapperWith is NewMapper with a filter of the caller's, which stands before
// everything that the mapper forwards.
func NewMapperWith(filter leak.Filter) *Mapper {
	return &Mapper{
		Recognizers: []BodyRecognizer{
			{"field dictionary", (*Mapper).fieldDictionary},
			{"problem details", (*Mapper).problemDetails},
			{"nest", (*Mapper).nest},
			{"message envelope", (*Mapper).messageEnvelope},
			{"plain text", (*Mapper).plainText},
		},
		MessageKeys: []string{"message", "detail", "error_description", "error", "title", "reason"},
		Unread:      func(status int) bool { return status == 401 || status >= 500 },
		Screen:      ScreenWith(filter),

		Codes: map[int]schemas.BackendCode{
			401: schemas.Unauthenticated,
			403: schemas.Forbidden,
			404: schemas.NotFound,
			410: schemas.NotFound,
			409: schemas.Conflict,
			412: schemas.Conflict,
			428: schemas.Conflict,
			429: schemas.RateLimited,
			408: schemas.BackendUnavailable,
			502: schemas.BackendUnavailable,
			503: schemas.BackendUnavailable,
			504: schemas.BackendUnavailable,
		},
		OtherClient: schemas.BadRequest,
		OtherServer: schemas.BackendFailed,
		Validating:  []int{400, 422},
		Retryable:   []int{408, 429, 502, 503, 504},
		Messages:    standardMessages(),

		Fields:        defaultFieldPolicy(),
		WithheldField: "The value was rejected; details were withheld.",

		RetryAfter:       retryAfter,
		Referenced:       func(status int) bool { return status >= 500 },
		ReferenceHeaders: []string{"X-Correlation-Id", "X-Request-Id", "Request-Id", "X-Trace-Id"},
		TraceID:          isTraceID,
		Location:         locationRule(filter),

		HTML: HTML{
			MediaTypes: []string{"text/html"},
			Starts:     []string{"<!doctype", "<html"},
			Prelude:    skipPrelude,
		},
		ParsesAsJSON: parsesAsJSON,

		Refusals: defaultRefusals(),
	}
}

// Map gives the envelope of a response: a [*schemas.Success] for a status below
// 400 (SUCCESS-01), else a [*schemas.BackendError].
func (m *Mapper) Map(resp Response, fields FieldContext) schemas.Envelope {
	if resp.Status < 400 {
		return m.success(resp)
	}
	e := &schemas.BackendError{
		Error:     m.code(resp.Status),
		Status:    resp.Status,
		Retryable: slices.Contains(m.Retryable, resp.Status),
	}
	seen := m.recognize(resp)
	e.Fields = m.fieldErrors(seen, fields)
	if len(e.Fields) > 0 && slices.Contains(m.Validating, resp.Status) {
		e.Error = schemas.ValidationFailed
	}
	if seconds, ok := m.RetryAfter(resp.Status, header(resp, "Retry-After")); ok {
		e.RetryAfterSeconds = new(seconds)
	}
	if m.Referenced(resp.Status) {
		e.Reference = m.reference(resp)
	}
	var ok bool
	if e.Message, ok = m.Screen(seen.Carrier, seen.Message); !ok {
		e.Message = m.Messages[e.Error].render(e)
	}
	return e
}

func (m *Mapper) code(status int) schemas.BackendCode {
	if code, ok := m.Codes[status]; ok {
		return code
	}
	if status < 500 {
		return m.OtherClient
	}
	return m.OtherServer
}

// recognize finds out what an error response says.
func (m *Mapper) recognize(resp Response) Recognition {
	for _, host := range m.Hosts {
		if seen, ok := host.Recognize(resp); ok {
			seen.Carrier, seen.GuessNames = FromHost, false
			return seen
		}
	}
	if m.Unread(resp.Status) {
		return Recognition{}
	}
	doc := m.read(resp)
	for _, r := range m.Recognizers {
		if seen, ok := r.Recognize(m, doc); ok {
			return seen
		}
	}
	return Recognition{}
}

// success maps a status below 400.
func (m *Mapper) success(resp Response) *schemas.Success {
	e := &schemas.Success{
		Status:   resp.Status,
		Location: m.Location(resp.Status, header(resp, "Location")),
	}
	switch doc := m.read(resp); doc.Kind {
	case JSON:
		if doc.Text != "null" { // no body says the same
			e.Body = []byte(doc.Text)
		}
	case Text:
		e.Body = quote(doc.Text)
		e.ContentType = header(resp, "Content-Type")
	}
	return e
}
