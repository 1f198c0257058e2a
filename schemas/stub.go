package schemas

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// StubSchema is the schema of one [Stub].
const StubSchema Ref = "stub.schema.json"

// A Stub tells the mock backend which requests it answers and with what.
// Exactly one of Respond and Sequence is given.
type Stub struct {
	// ID names the stub in the journal and the admin API; one is made up
	// when it is empty.
	ID string `json:"id,omitempty"`
	// Priority decides between stubs that match the same request: the higher
	// one answers.
	Priority int `json:"priority,omitempty"`
	// Times is how many requests the stub answers before it stops matching;
	// 0 means any number.
	Times    int           `json:"times,omitempty"`
	Scenario *StubScenario `json:"scenario,omitempty"`
	Match    StubMatch     `json:"match"`
	Respond  *StubResponse `json:"respond,omitempty"`
	Sequence *StubSequence `json:"sequence,omitempty"`
}

// A StubScenario ties a stub to a named state machine. Every scenario begins
// in the state "started".
type StubScenario struct {
	Name string `json:"name"`
	// State is the state the scenario must be in for the stub to match;
	// empty means any.
	State string `json:"state,omitempty"`
	// Next is the state the scenario is in once the stub has answered; empty
	// leaves it alone.
	Next string `json:"next,omitempty"`
}

// A StubMatch is the set of conditions a request must meet, all of them. The
// zero value matches every request.
type StubMatch struct {
	// Method is compared with case (RFC 9110, section 9.1).
	Method string `json:"method,omitempty"`
	// Path is compared segment by segment after percent-decoding. A segment
	// {name} stands for any one segment, a last segment {name...} for any
	// number of them; braces of the path itself are written %7B and %7D. What is
	// below /__mock/ and /__scope/ reaches no stub.
	Path    string              `json:"path,omitempty"`
	Query   map[string]StubText `json:"query,omitempty"`
	Headers map[string]StubText `json:"headers,omitempty"`
	// Cookies are compared as they come; a value in quotes also without them.
	Cookies map[string]StubText `json:"cookies,omitempty"`
	// ContentType is the media type of the request, compared without case
	// and without parameters.
	ContentType string         `json:"contentType,omitempty"`
	Body        *StubBodyMatch `json:"body,omitempty"`
}

// A StubText is a condition on the values of one query parameter, header or
// cookie, or on a body as text. Its JSON form is a string or a list of strings
// (Equals), or an object with exactly one of the other members.
type StubText struct {
	// Equals are all the values, in order.
	Equals []string
	// Contains must occur in at least one value.
	Contains string
	// Matches is an RE2 expression that at least one value matches.
	Matches string
	// Absent true wants no value at all, false wants any value.
	Absent *bool
}

// A StubBodyMatch is a set of conditions on the request body.
type StubBodyMatch struct {
	// Equals is the whole body, compared as JSON.
	Equals json.RawMessage `json:"equals,omitempty"`
	// Subset must be contained in the body: members that it does not name
	// are free; arrays match element by element.
	Subset json.RawMessage `json:"subset,omitempty"`
	// JSONPath maps RFC 9535 queries to the value that at least one of the
	// selected nodes equals.
	JSONPath map[string]json.RawMessage `json:"jsonPath,omitempty"`
	// Text is a condition on the body as text, which is "" without a body. Of a
	// body that is longer than what is kept, only Contains can be met.
	Text *StubText `json:"text,omitempty"`
}

// A StubResponse is one answer. At most one of JSON, Text, Bytes and File is
// given; none is an empty body.
type StubResponse struct {
	// Status is the final status, 200 to 999; 0 means 200. The interim ones,
	// 1xx, are no final status in HTTP (RFC 9110, section 15.2): they go into
	// Interim.
	Status  int         `json:"status,omitempty"`
	Headers StubHeaders `json:"headers,omitempty"`
	// Omit names headers that are otherwise added: Content-Type,
	// Content-Length, Date, Connection.
	Omit []string `json:"omit,omitempty"`
	// Raw writes the answer byte for byte as listed, and closes the connection
	// after it.
	Raw bool `json:"raw,omitempty"`
	// Template fills in what the text/template actions in the body and the
	// header values say of the request; in a JSON body, those in its strings.
	Template bool            `json:"template,omitempty"`
	JSON     json.RawMessage `json:"json,omitempty"`
	Text     *string         `json:"text,omitempty"`
	// Bytes is a body that need not be text; base64 in JSON.
	Bytes []byte `json:"base64,omitempty"`
	// File is a body read from the server's file directory.
	File string `json:"file,omitempty"`
	// Interim are the 1xx answers sent before the final one.
	Interim []StubInterim `json:"interim,omitempty"`
	Delay   *StubDelay    `json:"delay,omitempty"`
	Fault   *StubFault    `json:"fault,omitempty"`
}

// A StubInterim is an interim answer (RFC 9110, section 15.2).
type StubInterim struct {
	Status  int         `json:"status"`
	Headers StubHeaders `json:"headers,omitempty"`
}

// A StubDelay is the time between the request and the first byte of the answer.
// At most one of Ms, Uniform and LogNormal is given.
type StubDelay struct {
	// Ms is a fixed delay in milliseconds.
	Ms        int            `json:"ms,omitempty"`
	Uniform   *StubUniform   `json:"uniform,omitempty"`
	LogNormal *StubLogNormal `json:"lognormal,omitempty"`
	// Seed makes the delays drawn the same in each run; nil is another one
	// each time.
	Seed *uint64 `json:"seed,omitempty"`
}

// A StubUniform is a delay between two bounds, each as likely, in milliseconds.
type StubUniform struct {
	MinMs int `json:"minMs"`
	MaxMs int `json:"maxMs"`
}

// A StubLogNormal is a delay as networks have it: most near the median, a few
// far above. Sigma is the standard deviation of its logarithm.
type StubLogNormal struct {
	MedianMs float64 `json:"medianMs"`
	Sigma    float64 `json:"sigma"`
}

// A StubFault is something that goes wrong on the wire. Which parameters a
// kind takes is the mock backend's to say; it refuses the others.
type StubFault struct {
	Kind string `json:"kind"`
	// AfterBytes is how much is sent before the fault; nil is the kind's default.
	AfterBytes *int64 `json:"afterBytes,omitempty"`
	// Bytes is the size of one piece, or of the whole, of what the fault sends.
	Bytes int64 `json:"bytes,omitempty"`
	// IntervalMs is the pause between pieces, in milliseconds.
	IntervalMs int `json:"intervalMs,omitempty"`
	// DurationMs ends a stall by closing the connection; 0 stalls until the
	// client leaves.
	DurationMs int `json:"durationMs,omitempty"`
}

// A StubSequence answers one request after another.
type StubSequence struct {
	Responses []StubResponse `json:"responses"`
	// Then says what follows the last one: "repeat-last" (the default),
	// "cycle" or "not-found".
	Then string `json:"then,omitempty"`
}

// StubHeaders are header fields in wire order. Their JSON form is a list of
// [name, value] pairs; an object is read too.
type StubHeaders []StubHeader

// A StubHeader is one header field line. A value that is not UTF-8 has the JSON
// form [name, value in base64, "base64"].
type StubHeader struct{ Name, Value string }

// MarshalJSON writes the field as a [name, value] pair.
func (h StubHeader) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(h.Value) {
		return json.Marshal([]string{h.Name, h.Value})
	}
	return json.Marshal([]string{h.Name, base64.StdEncoding.EncodeToString([]byte(h.Value)), "base64"})
}

// UnmarshalJSON reads a [name, value] pair.
func (h *StubHeader) UnmarshalJSON(data []byte) error {
	var parts []string
	if err := json.Unmarshal(data, &parts); err != nil {
		return fmt.Errorf("reading a header: %w", err)
	}
	switch {
	case len(parts) == 2:
		h.Name, h.Value = parts[0], parts[1]
	case len(parts) == 3 && parts[2] == "base64":
		value, err := base64.StdEncoding.DecodeString(parts[1])
		if err != nil {
			return fmt.Errorf("reading header %s: %w", parts[0], err)
		}
		h.Name, h.Value = parts[0], string(value)
	default:
		return fmt.Errorf("reading a header: want [name, value] or [name, value, \"base64\"], got %s", data)
	}
	return nil
}

// UnmarshalJSON reads a list of pairs, or an object whose values are strings or
// lists of strings; the order of the text is kept in both.
func (hs *StubHeaders) UnmarshalJSON(data []byte) error {
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		var list []StubHeader
		if err := json.Unmarshal(data, &list); err != nil {
			return err
		}
		*hs = list
		return nil
	}
	*hs = StubHeaders{}
	dec := json.NewDecoder(bytes.NewReader(data))
	if _, err := dec.Token(); err != nil {
		return fmt.Errorf("reading headers: %w", err)
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return fmt.Errorf("reading headers: %w", err)
		}
		var values stringOrList
		if err := dec.Decode(&values); err != nil {
			return fmt.Errorf("reading header %v: %w", name, err)
		}
		for _, value := range values {
			*hs = append(*hs, StubHeader{Name: name.(string), Value: value})
		}
	}
	return nil
}

type stringOrList []string

func (l *stringOrList) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte("[")) {
		return json.Unmarshal(data, (*[]string)(l))
	}
	var one string
	if err := json.Unmarshal(data, &one); err != nil {
		return err
	}
	*l = stringOrList{one}
	return nil
}

// stubTextObject is the object form of a StubText.
type stubTextObject struct {
	Contains string `json:"contains,omitempty"`
	Matches  string `json:"matches,omitempty"`
	Absent   *bool  `json:"absent,omitempty"`
}

// MarshalJSON writes the shortest form that says the same.
func (t StubText) MarshalJSON() ([]byte, error) {
	switch len(t.Equals) {
	case 0:
		return json.Marshal(stubTextObject{t.Contains, t.Matches, t.Absent})
	case 1:
		return json.Marshal(t.Equals[0])
	}
	return json.Marshal(t.Equals)
}

// UnmarshalJSON reads a string, a list of strings or an object.
func (t *StubText) UnmarshalJSON(data []byte) error {
	if !bytes.HasPrefix(data, []byte("{")) {
		*t = StubText{}
		return (*stringOrList)(&t.Equals).UnmarshalJSON(data)
	}
	var object stubTextObject
	if err := json.Unmarshal(data, &object); err != nil {
		return err
	}
	*t = StubText{Contains: object.Contains, Matches: object.Matches, Absent: object.Absent}
	return nil
}
