package schemas

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Kinds of a fixture file.
const (
	KindErrorMapping    = "error-mapping"
	KindArgumentMapping = "argument-mapping"
	KindCalls           = "calls"
	KindCases           = "cases"
	KindFamily          = "family"
	KindTable           = "table"
	KindRequirements    = "requirements"
)

// Case is one test of the corpus: an input, and what is claimed of the answer.
type Case struct {
	Kind         string            `json:"kind,omitempty"`
	ID           string            `json:"id,omitempty"`
	Description  string            `json:"description"`
	Requirements []string          `json:"requirements,omitempty"`
	Needs        []string          `json:"needs,omitempty"`
	Via          []string          `json:"via,omitempty"`
	Judge        map[string]string `json:"judge,omitempty"`
	Controls     []string          `json:"controls,omitempty"`
	// Input is an [Input] for error-mapping cases, [ComposeParams] for
	// argument-mapping and [CallsInput] for calls.
	Input         json.RawMessage   `json:"input"`
	Expected      json.RawMessage   `json:"expected,omitempty"`
	ExpectedAnyOf []json.RawMessage `json:"expectedAnyOf,omitempty"`
	Assert        []Assertion       `json:"assert,omitempty"`
	Observe       bool              `json:"observe,omitempty"`
	// MaxMs is the time allowed for the answer, in milliseconds; 0 means no limit of its own.
	MaxMs int64 `json:"maxMs,omitempty"`
}

// Assertion claims something about one member of the answer. Is is one of
// "equal", "identical" (key order and number value too), "absent", "present",
// "prefix", "contains", "lacks", "oneOf" (a list) and "above" (a number).
type Assertion struct {
	Member string          `json:"member"`
	Is     string          `json:"is"`
	Value  json.RawMessage `json:"value,omitempty"`
}

// Input is the input of an error-mapping case: a backend's answer, or, where
// SDKError is set, the facts of a refusal.
type Input struct {
	Status      int               `json:"status,omitempty"`
	ContentType *string           `json:"contentType,omitempty"`
	Headers     Headers           `json:"headers,omitempty"`
	Body        json.RawMessage   `json:"body,omitempty"`
	BodyBase64  string            `json:"bodyBase64,omitempty"`
	BodyRepeat  *Repeat           `json:"bodyRepeat,omitempty"`
	Interim     []int             `json:"interim,omitempty"`
	KnownFields []string          `json:"knownFields,omitempty"`
	Aliases     map[string]string `json:"fieldAliases,omitempty"`
	Hidden      []string          `json:"hiddenFields,omitempty"`
	Host        *HostRecognised   `json:"hostRecognises,omitempty"`

	SDKError  SDKCode         `json:"sdkError,omitempty"`
	Message   string          `json:"message,omitempty"`
	Tool      string          `json:"tool,omitempty"`
	Field     string          `json:"field,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	LimitMs   *int64          `json:"limitMs,omitempty"`
	Bytes     *int64          `json:"bytes,omitempty"`
	Limit     *int64          `json:"limit,omitempty"`
	Payload   json.RawMessage `json:"payload,omitempty"`
	Narrowing []FieldError    `json:"narrowing,omitempty"`
}

// CallsInput is the input of a case of calls: what the target is asked, against
// which backend.
type CallsInput struct {
	// Settings are members of [ConfigureParams] that differ from the run's.
	Settings map[string]json.RawMessage `json:"settings,omitempty"`
	Backend  []json.RawMessage          `json:"backend,omitempty"`
	Calls    []json.RawMessage          `json:"calls"`
	// Repeat multiplies stubs and calls; 0 means once.
	Repeat   int         `json:"repeat,omitempty"`
	Together bool        `json:"together,omitempty"`
	Same     [][2]string `json:"same,omitempty"`
}

// Call is one call of a target in a case, and what is claimed of it.
type Call struct {
	Invoke        *InvokeParams     `json:"invoke,omitempty"`
	Search        *SearchParams     `json:"search,omitempty"`
	Load          *LoadParams       `json:"load,omitempty"`
	Tool          *ToolCall         `json:"tool,omitempty"`
	Document      bool              `json:"document,omitempty"`
	Expected      json.RawMessage   `json:"expected,omitempty"`
	ExpectedAnyOf []json.RawMessage `json:"expectedAnyOf,omitempty"`
	Assert        []Assertion       `json:"assert,omitempty"`
	Requests      *int              `json:"requests,omitempty"`
	Received      *Received         `json:"received,omitempty"`
	Cancelled     bool              `json:"cancelled,omitempty"`
	// MinMs and MaxMs are the window of the answer in milliseconds; 0 is no bound.
	MinMs    int64             `json:"minMs,omitempty"`
	MaxMs    int64             `json:"maxMs,omitempty"`
	Remember map[string]string `json:"remember,omitempty"`
}

// Received is what the backend must have got, as far as it is named.
type Received struct {
	Method string `json:"method,omitempty"`
	// Target is path and query as sent.
	Target string `json:"target,omitempty"`
	// Headers are values by name; nil means that the header must not be there.
	Headers map[string]*string `json:"headers,omitempty"`
	JSON    json.RawMessage    `json:"json,omitempty"`
	Text    *string            `json:"text,omitempty"`
	Parts   []ReceivedPart     `json:"parts,omitempty"`
}

// ReceivedPart is a part of a multipart/form-data body (RFC 7578).
type ReceivedPart struct {
	Name        string  `json:"name"`
	Filename    string  `json:"filename,omitempty"`
	ContentType string  `json:"contentType,omitempty"`
	Text        *string `json:"text,omitempty"`
	Base64      *string `json:"base64,omitempty"`
}

// Repeat describes a large body by its parts: Prefix, then Unit until Bytes
// bytes of it are written, then Suffix.
type Repeat struct {
	Prefix string `json:"prefix,omitempty"`
	Unit   string `json:"unit"`
	Bytes  int    `json:"bytes"`
	Suffix string `json:"suffix,omitempty"`
}

// Headers are [name, value] pairs in order. As JSON they are an object whose
// values are strings or arrays of strings.
type Headers [][2]string

// UnmarshalJSON reads the object form, keeping its order.
func (h *Headers) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return fmt.Errorf("headers must be an object of strings or arrays of strings")
	}
	*h = nil
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return fmt.Errorf("reading a header name: %w", err)
		}
		name := key.(string) // an object's keys are strings, or Token has failed
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return fmt.Errorf("reading header %q: %w", name, err)
		}
		values := make([]string, 1)
		if err := json.Unmarshal(raw, &values[0]); err != nil {
			if err := json.Unmarshal(raw, &values); err != nil {
				return fmt.Errorf("header %q must be a string or an array of strings", name)
			}
		}
		for _, v := range values {
			*h = append(*h, [2]string{name, v})
		}
	}
	return nil
}

// MarshalJSON writes the object form; values of a repeated name are gathered
// where the name first stands.
func (h Headers) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	written := make(map[string]bool, len(h))
	for _, pair := range h {
		if written[pair[0]] {
			continue
		}
		written[pair[0]] = true
		var values []string
		for _, other := range h {
			if other[0] == pair[0] {
				values = append(values, other[1])
			}
		}
		var value any = values
		if len(values) == 1 {
			value = values[0]
		}
		name, _ := json.Marshal(pair[0])
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("writing header %q: %w", pair[0], err)
		}
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		out.Write(name)
		out.WriteByte(':')
		out.Write(text)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// CaseList is a file of cases that share defaults.
type CaseList struct {
	Kind     string                     `json:"kind"`
	About    string                     `json:"about"`
	Defaults map[string]json.RawMessage `json:"defaults,omitempty"`
	Cases    []json.RawMessage          `json:"cases"`
}

// FamilyFile is a file of families: cases written once and expanded over tables.
type FamilyFile struct {
	Kind     string   `json:"kind"`
	About    string   `json:"about"`
	Families []Family `json:"families"`
}

// Family makes one case for each combination of rows of the tables in Over.
type Family struct {
	Over []string        `json:"over"`
	Case json.RawMessage `json:"case"`
}

// Table is a named list of rows for families to run over.
type Table struct {
	Kind  string                       `json:"kind"`
	About string                       `json:"about"`
	Name  string                       `json:"name"`
	Rows  []map[string]json.RawMessage `json:"rows"`
}
