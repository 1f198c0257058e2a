package judge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.com/touchstone/schemas"
)

// branch is one of the three envelopes.
type branch int

const (
	success branch = iota
	backendError
	sdkError
)

func (b branch) String() string { return [...]string{"Success", "BackendError", "SdkError"}[b] }

func (b branch) schema() schemas.Ref {
	return [...]schemas.Ref{schemas.SuccessSchema, schemas.BackendErrorSchema, schemas.SDKErrorSchema}[b]
}

// branchOf reads the discriminator first, so that a schema violation is about
// the shape that was meant: `status` says whose answer it is, and `error`, or a
// status of 400 and above, makes it an error.
func branchOf(ms []member) branch {
	_, hasError := find(ms, "error")
	raw, hasStatus := find(ms, "status")
	var status float64
	failed := json.Unmarshal(raw, &status) == nil && status >= 400
	switch {
	case !hasStatus:
		return sdkError
	case hasError || failed:
		return backendError
	}
	return success
}

// expectedBranch is the shape the case expects; ok is false where it says none.
func (s *subject) expectedBranch() (b branch, ok bool) {
	if len(s.expected) > 0 {
		ms, err := members(s.expected[0])
		return branchOf(ms), err == nil
	}
	if s.Call != nil {
		return 0, false
	}
	in, err := s.Case.Facts()
	switch {
	case err != nil:
		return 0, false
	case in.SDKError != "":
		return sdkError, true
	case in.Status < 400:
		return success, true
	}
	return backendError, true
}

// wrongBranch says that the answer is another shape than expected. Judging its
// members one by one would only repeat that.
func (s *subject) wrongBranch() bool {
	want, ok := s.expectedBranch()
	return ok && s.broken == nil && want != s.branch
}

// judgeShape checks the shape against its schema (SHAPE-01 to SHAPE-07).
func judgeShape(s *subject) (int, []schemas.Finding) {
	if s.broken != nil {
		return 1, []schemas.Finding{finding("SHAPE-01", "", "the answer is "+s.broken.Error(), nil, quoted(s.Answer.Envelope))}
	}
	if s.Call != nil && s.isDocument() {
		return 1, []schemas.Finding{finding(s.under("error"), "error", "the answer is a document, and should be a refusal", nil, json.RawMessage(s.Answer.Envelope))}
	}
	if want, _ := s.expectedBranch(); s.wrongBranch() {
		requirement, name := s.branchRequirement(want)
		return 1, []schemas.Finding{finding(requirement, name,
			fmt.Sprintf("the answer is a %s, not a %s", s.branch, want), nil, json.RawMessage(s.Answer.Envelope))}
	}
	var findings []schemas.Finding
	for _, v := range s.violations {
		problem := v.Rule
		if v.Pointer != "" {
			problem = v.Pointer + ": " + v.Rule
		}
		actual, err := json.Marshal(v.Value)
		if err != nil {
			actual = nil
		}
		findings = append(findings, finding(s.shapeRequirement(v), topMember(v), problem, nil, actual))
	}
	return 1, append(findings, s.blankMessages()...)
}

// branchRequirement places an answer of the wrong shape, and names the member
// that makes it one.
// isDocument says that the answer is none of the envelopes, as what a
// meta-tool answers when it does not refuse.
func (s *subject) isDocument() bool {
	_, failed := find(s.members, "error")
	_, reports := find(s.members, "status")
	return !failed && !reports
}

func (s *subject) branchRequirement(want branch) (requirement, name string) {
	switch {
	case s.Call != nil && want == success:
		return s.underOr("status", Subject(s.Case), true), "status"
	case s.Call != nil:
		return s.under("error"), "error"
	case want == sdkError || s.branch == sdkError:
		return "SHAPE-02", "status"
	case want == success:
		return "SUCCESS-01", "status"
	}
	return s.under("error"), "error"
}

// shapeRequirement places a violation of the schema.
func (s *subject) shapeRequirement(v schemas.Violation) string {
	required := [...]string{"SHAPE-03", "SHAPE-04", "SHAPE-05"}[s.branch]
	last := v.Pointer[strings.LastIndexByte(v.Pointer, '/')+1:]
	switch {
	case v.Keyword == "additional_property_not_allowed" && v.Property == "isError":
		return "SHAPE-03"
	case v.Keyword == "additional_property_not_allowed", v.Value == nil, v.Keyword == "array_min_items":
		return "SHAPE-01"
	case v.Keyword == "required":
		return required
	case v.Pointer == "/error":
		return "SHAPE-06"
	case last == "message" && v.Keyword == "pattern":
		return "SHAPE-07"
	case last == "name" && v.Keyword == "string_gte":
		return "FIELD-09"
	}
	return required
}

// topMember is the member of the answer that a violation is about.
func topMember(v schemas.Violation) string {
	if v.Pointer == "" {
		return v.Property
	}
	name, _, _ := strings.Cut(v.Pointer[1:], "/")
	return name
}

// taken says whether the schema has refused a member, so that comparing it
// would report the same thing twice.
func (s *subject) taken(name string) bool {
	for _, v := range s.violations {
		if topMember(v) == name {
			return true
		}
	}
	return slices.Contains(s.blanks, name)
}

// blankMessages finds messages of white space that the schema's ASCII pattern
// lets through (SHAPE-07).
func (s *subject) blankMessages() []schemas.Finding {
	var findings []schemas.Finding
	for _, name := range s.blanks {
		value, _ := find(s.members, name)
		findings = append(findings, finding("SHAPE-07", name, "a message is blank in "+name, nil, value))
	}
	return findings
}

// blanksOf gives the members, of message and fields, that hold a message of
// nothing but white space beyond ASCII.
func blanksOf(ms []member) []string {
	blank := func(text string) bool {
		return text != "" && strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' }) == "" &&
			strings.Trim(text, " \t\r\n\f\v") != ""
	}
	var out []string
	var message string
	raw, _ := find(ms, "message")
	if json.Unmarshal(raw, &message) == nil && blank(message) {
		out = append(out, "message")
	}
	var fields []schemas.FieldError
	raw, _ = find(ms, "fields")
	if json.Unmarshal(raw, &fields) == nil && slices.ContainsFunc(fields, func(f schemas.FieldError) bool { return blank(f.Message) }) {
		out = append(out, "fields")
	}
	return out
}

// judgeText checks what a JSON parser does not show: the encoding, and how
// integers are written (SHAPE-08). gojsonschema takes 200.0 and 2e2 for integers.
func judgeText(s *subject) (int, []schemas.Finding) {
	var findings []schemas.Finding
	if !utf8.Valid(s.Answer.Raw) || !utf8.Valid(s.Answer.Envelope) {
		findings = append(findings, finding("SHAPE-08", "", "the answer is not valid UTF-8", nil, quoted(s.Answer.Raw)))
	}
	integers := []member{}
	for _, name := range []string{"status", "retryAfterSeconds"} {
		if value, ok := find(s.members, name); ok {
			integers = append(integers, member{name, value})
		}
	}
	if payload, ok := find(s.members, "payload"); ok {
		integers = append(integers, payloadIntegers(payload)...)
	}
	for _, m := range integers {
		if isNumber(m.value) && bytes.ContainsAny(m.value, ".eE") {
			findings = append(findings, finding("SHAPE-08", m.name, fmt.Sprintf("the integer %s is written as %s", m.name, m.value), nil, m.value))
		}
	}
	return 1, findings
}

func payloadIntegers(payload json.RawMessage) []member {
	var out []member
	ms, _ := members(payload) // what is no object has no integers
	for _, m := range ms {
		if m.name == "shape" {
			shape, _ := members(m.value)
			for _, n := range shape {
				out = append(out, member{"payload.shape." + n.name, n.value})
			}
			continue
		}
		out = append(out, member{"payload." + m.name, m.value})
	}
	return out
}

// quoted gives bytes that need not be JSON as a JSON string, cut to a readable length.
func quoted(raw []byte) json.RawMessage {
	const limit = 2000
	text := string(raw)
	if len(text) > limit {
		text = text[:limit] + fmt.Sprintf("… (%d bytes in all)", len(raw))
	}
	out, _ := json.Marshal(text) // a string always encodes
	return out
}
