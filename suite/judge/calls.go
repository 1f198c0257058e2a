package judge

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"slices"
	"strings"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/mockbackend"
	"example.com/touchstone/schemas"
)

// judgeRequests counts what the backend received during a call (SDK-20: a
// refusal comes before dispatch; GUARD-07: one answer to one request).
func judgeRequests(s *subject) (int, []schemas.Finding) {
	want := *s.Call.Requests
	if s.Requests == want {
		return 1, nil
	}
	var seen []string
	for _, e := range s.Received {
		seen = append(seen, e.Method+" "+e.Target)
	}
	return 1, []schemas.Finding{finding(s.underOr("requests", "SDK-20", want == 0), "requests",
		fmt.Sprintf("the backend received %d requests, not %d: %s", s.Requests, want, strings.Join(seen, ", ")), number(want), number(s.Requests))}
}

// underOr is under, with a fallback where the case names no id for the member.
func (s *subject) underOr(name, fallback string, use bool) string {
	if s.Case.Judge[name] == "" && use {
		return fallback
	}
	return s.under(name)
}

func number(n int) json.RawMessage { return json.RawMessage(fmt.Sprint(n)) }

// judgeEarliest holds an answer that must not come before its time (GUARD-06).
func judgeEarliest(s *subject) (int, []schemas.Finding) {
	if took := s.Elapsed.Milliseconds(); took < s.Call.MinMs {
		return 1, []schemas.Finding{finding(s.under("time"), "time",
			fmt.Sprintf("the answer came after %d ms, before the deadline of %d ms", took, s.Call.MinMs), number(int(s.Call.MinMs)), number(int(took)))}
	}
	return 1, nil
}

// judgeCancelled wants the abandoned request to have ended (GUARD-09).
func judgeCancelled(s *subject) (int, []schemas.Finding) {
	if !s.Cancelled {
		return 1, []schemas.Finding{finding(s.under("received"), "received", "the backend did not see the abandoned request end", nil, nil)}
	}
	return 1, nil
}

// follow places what only follows from an answer of the wrong kind, a refusal
// that was not made or a call that was refused, under that one's requirement. A
// backend that received a request although the call was refused is a finding of
// its own; so is a flag.
func (s *subject) follow(findings []schemas.Finding) {
	if s.Call == nil {
		return
	}
	_, failed := find(s.members, "error")
	_, reports := find(s.members, "status")
	refusal := failed && !reports
	at := slices.IndexFunc(findings, func(f schemas.Finding) bool { return f.Member == "error" || f.Member == "status" })
	if at < 0 {
		// The message of a refusal names its fields.
		if fields := slices.IndexFunc(findings, func(f schemas.Finding) bool { return f.Member == "fields" }); fields >= 0 {
			for i := range findings {
				if findings[i].Member == "message" {
					findings[i].Requirement, findings[i].Follows = findings[fields].Requirement, "fields"
				}
			}
		}
		return
	}
	if id := s.Case.Judge["refusal"]; id != "" && refusal && findings[at].Member == "error" {
		findings[at].Requirement = id // refused, but under another code
	}
	for i, f := range findings {
		if f.Member == "isError" || f.Member == "requests" && refusal && findings[at].Member == "error" {
			continue
		}
		findings[i].Requirement = findings[at].Requirement
		if i != at {
			findings[i].Follows = findings[at].Member
		}
	}
}

// judgeFlag holds the carrier's error flag against the envelope (CARRIER-02 to
// CARRIER-04).
func judgeFlag(s *subject) (int, []schemas.Finding) {
	flag, absent := s.Answer.IsError, s.Answer.IsError == nil
	set := !absent && *flag
	_, failed := find(s.members, "error")
	switch {
	case s.broken != nil:
	case failed && !set:
		return 1, []schemas.Finding{finding("CARRIER-02", "isError", "the error flag is not set on an error", nil, nil)}
	case !failed && set:
		return 1, []schemas.Finding{finding("CARRIER-03", "isError", "the error flag is set on a success", nil, nil)}
	case !failed && !absent:
		return 1, []schemas.Finding{finding("CARRIER-04", "isError", "the error flag is false on a success, and should be absent", nil, nil)}
	}
	return 1, nil
}

// judgeReceived compares the one request the backend received with the one
// that the call must compose.
func judgeReceived(s *subject) (int, []schemas.Finding) {
	complain := func(problem string, expected, actual any) []schemas.Finding {
		e, _ := json.Marshal(expected) // strings, lists and JSON texts
		a, _ := json.Marshal(actual)
		return []schemas.Finding{finding(s.under("received"), "received", problem, e, a)}
	}
	if len(s.Received) == 0 {
		return 1, complain("the backend received no request", nil, nil)
	}
	want, got := s.Call.Received, s.Received[0]
	var findings []schemas.Finding
	if want.Method != "" && want.Method != got.Method {
		findings = append(findings, complain("the method differs", want.Method, got.Method)...)
	}
	if want.Target != "" && want.Target != got.Target {
		findings = append(findings, complain("path and query differ", want.Target, got.Target)...)
	}
	for name, value := range want.Headers {
		values := headerValues(got, name)
		switch {
		case value == nil && len(values) > 0:
			findings = append(findings, complain("the header "+name+" was sent, and should not be", nil, values)...)
		case value != nil && !slices.Equal(values, []string{*value}):
			findings = append(findings, complain("the header "+name+" differs", *value, values)...)
		}
	}
	if want.JSON != nil && !equal(want.JSON, got.Body, false) {
		findings = append(findings, complain("the JSON body differs", want.JSON, string(got.Body))...)
	}
	if want.Text != nil && *want.Text != string(got.Body) {
		findings = append(findings, complain("the body differs", *want.Text, string(got.Body))...)
	}
	if want.Parts != nil {
		parts, err := partsOf(got)
		if err != nil {
			findings = append(findings, complain("the body is no multipart/form-data: "+err.Error(), nil, string(got.Body))...)
		} else if problem := differentParts(want.Parts, parts); problem != "" {
			findings = append(findings, complain(problem, want.Parts, parts)...)
		}
	}
	return 1, findings
}

func headerValues(e mockbackend.Entry, name string) []string {
	var values []string
	for _, h := range e.Header {
		if strings.EqualFold(h.Name, name) {
			values = append(values, h.Value)
		}
	}
	return values
}

func partsOf(e mockbackend.Entry) ([]schemas.ReceivedPart, error) {
	contentType := headerValues(e, "Content-Type")
	if len(contentType) != 1 {
		return nil, fmt.Errorf("%d Content-Type headers", len(contentType))
	}
	_, params, err := mime.ParseMediaType(contentType[0])
	if err != nil {
		return nil, err
	}
	reader := multipart.NewReader(bytes.NewReader(e.Body), params["boundary"])
	var out []schemas.ReceivedPart
	for {
		part, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return nil, err
		}
		text, encoded := string(data), base64.StdEncoding.EncodeToString(data)
		out = append(out, schemas.ReceivedPart{
			Name: part.FormName(), Filename: part.FileName(), ContentType: part.Header.Get("Content-Type"), Text: &text, Base64: &encoded,
		})
	}
}

// differentParts compares the parts as far as they are named.
func differentParts(want, got []schemas.ReceivedPart) string {
	if len(want) != len(got) {
		return fmt.Sprintf("the body has %d parts, not %d", len(got), len(want))
	}
	for i, w := range want {
		g := got[i]
		switch {
		case w.Name != g.Name:
			return fmt.Sprintf("part %d is named %q, not %q", i, g.Name, w.Name)
		case w.Filename != "" && w.Filename != g.Filename:
			return fmt.Sprintf("the filename of part %q is %q, not %q", w.Name, g.Filename, w.Filename)
		case w.ContentType != "" && w.ContentType != g.ContentType:
			return fmt.Sprintf("the content type of part %q is %q, not %q", w.Name, g.ContentType, w.ContentType)
		case w.Text != nil && *w.Text != *g.Text, w.Base64 != nil && *w.Base64 != *g.Base64:
			return fmt.Sprintf("the content of part %q differs", w.Name)
		}
	}
	return ""
}

// Different is the finding for two answers that should be the same.
func Different(k fixtures.Case, first, other string) schemas.Finding {
	return finding(requirement(k, "same"), "same", "the answers to the two calls can be told apart", quoted([]byte(first)), quoted([]byte(other)))
}

// Composed judges a composition: the request that would be sent, or the code of
// the refusal.
func Composed(k fixtures.Case, result schemas.ComposeResult) ([]schemas.Finding, error) {
	want, err := members(k.Expected)
	if err != nil {
		return nil, fmt.Errorf("case %s: its expected answer: %w", k.ID, err)
	}
	if code, refused := find(want, "error"); refused {
		got, ok := Member(result.Refusal, "error")
		if !ok {
			return []schemas.Finding{finding(requirement(k, "refusal"), "refusal", "composed, and should be refused", code, result.Request)}, nil
		}
		if !equal(code, got, false) {
			return []schemas.Finding{finding(requirement(k, "refusal"), "refusal", "refused with another code", code, got)}, nil
		}
		return nil, nil
	}
	if result.Request == nil {
		return []schemas.Finding{finding(requirement(k, "request"), "request", "refused, and should be composed", k.Expected, result.Refusal)}, nil
	}
	got, err := members(result.Request)
	if err != nil {
		return []schemas.Finding{finding(requirement(k, "request"), "request", "the request is "+err.Error(), k.Expected, result.Request)}, nil
	}
	var findings []schemas.Finding
	for _, m := range got {
		// The template gives the method; expected answers leave it out.
		if _, wanted := find(want, m.name); !wanted && m.name != "method" {
			findings = append(findings, finding(requirement(k, "request"), "request", m.name+" is there, and should not be", nil, m.value))
		}
	}
	for _, m := range want {
		value, ok := find(got, m.name)
		switch {
		case !ok:
			findings = append(findings, finding(requirement(k, "request"), "request", m.name+" is missing", m.value, nil))
		case m.name == "headers" && equal(lowerNames(m.value), lowerNames(value), false):
		case !equal(m.value, value, false):
			findings = append(findings, finding(requirement(k, "request"), "request", m.name+" differs", m.value, value))
		}
	}
	return findings, nil
}

// lowerNames gives an object with its member names in lower case: header names
// have no case (RFC 9110, section 5.1).
func lowerNames(raw json.RawMessage) json.RawMessage {
	ms, err := members(raw)
	if err != nil {
		return raw
	}
	out := map[string]json.RawMessage{}
	for _, m := range ms {
		out[strings.ToLower(m.name)] = m.value
	}
	lowered, err := json.Marshal(out)
	if err != nil {
		return raw
	}
	return lowered
}
