package judge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.com/touchstone/schemas"
)

func claimsMembers(s *subject) bool { return len(s.expected) > 0 }

// judgeMembers compares the answer with the expected one, member by member.
// Where several answers would do, the nearest is the one to compare with.
func judgeMembers(s *subject) (int, []schemas.Finding) {
	if s.broken != nil || s.wrongBranch() || s.Call != nil && !s.Call.Document && s.isDocument() {
		return 1, nil // judgeShape has said so
	}
	var best []schemas.Finding
	for i, raw := range s.expected {
		want, err := members(raw)
		if err != nil {
			continue // the corpus is linted: an expected answer is an envelope
		}
		findings := s.compare(want)
		if i == 0 || len(findings) < len(best) {
			best = findings
		}
	}
	return len(s.expected), best
}

func (s *subject) compare(want []member) []schemas.Finding {
	var names []string
	for _, m := range append(slices.Clone(want), s.members...) {
		if !slices.Contains(names, m.name) && !s.taken(m.name) {
			names = append(names, m.name)
		}
	}
	mismatched := map[string]bool{}
	var findings []schemas.Finding
	for _, name := range names {
		expected, wanted := find(want, name)
		actual, got := find(s.members, name)
		var problem string
		switch {
		case !wanted:
			problem = name + " is there, and should not be"
		case !got:
			problem = name + " is missing"
		case !equal(expected, actual, false):
			problem = name + " differs"
		default:
			continue
		}
		mismatched[name] = true
		findings = append(findings, finding(s.under(name), name, problem, expected, actual))
	}
	return s.followCauses(findings, want, mismatched)
}

// followCauses places what only follows from another mismatch under that one's
// requirement.
func (s *subject) followCauses(findings []schemas.Finding, want []member, mismatched map[string]bool) []schemas.Finding {
	for i, f := range findings {
		if cause := s.cause(f.Member, want, mismatched); cause != "" {
			findings[i].Requirement, findings[i].Follows = s.under(cause), cause
		}
	}
	return findings
}

// cause gives the member whose mismatch another one only follows from, or "".
// An answer with another status reports another response; a body that was not
// recognised has no fields, and so another code and another message; a standard
// message is the code's, and quotes the reference and the seconds.
func (s *subject) cause(name string, want []member, mismatched map[string]bool) string {
	if mismatched["status"] && name != "status" {
		return "status"
	}
	_, wanted := find(want, "fields")
	_, got := find(s.members, "fields")
	if wanted != got && mismatched["fields"] && (name == "error" || name == "message") {
		return "fields"
	}
	if name != "message" {
		return ""
	}
	if mismatched["error"] {
		return "error"
	}
	for _, quoted := range []string{"reference", "retryAfterSeconds"} {
		if mismatched[quoted] && (quotes(want, quoted) || quotes(s.members, quoted)) {
			return quoted
		}
	}
	return ""
}

// quotes says whether the message of an answer quotes another member of it.
func quotes(ms []member, name string) bool {
	value, ok := find(ms, name)
	raw, _ := find(ms, "message")
	var message, text string
	if !ok || json.Unmarshal(raw, &message) != nil {
		return false
	}
	if json.Unmarshal(value, &text) != nil {
		text = string(value) // a number
	}
	return text != "" && strings.Contains(message, text)
}

// reportsStatus is true for cases about a backend's answer that claim only part
// of the envelope: the status is claimed all the same (SHAPE-02).
func reportsStatus(s *subject) bool {
	return s.Call == nil && s.Case.Kind == schemas.KindErrorMapping && len(s.expected) == 0 && s.backendStatus() > 0
}

// backendStatus is the status of the backend's answer in a mapping case, 0 in
// one about a refusal.
func (s *subject) backendStatus() int {
	in, err := s.Case.Facts()
	if err != nil {
		return 0 // the corpus is linted
	}
	return in.Status
}

func judgeStatus(s *subject) (int, []schemas.Finding) {
	if s.broken != nil || s.wrongBranch() || s.taken("status") {
		return 1, nil // judgeShape has said so
	}
	want := json.RawMessage(strconv.Itoa(s.backendStatus()))
	got, _ := find(s.members, "status") // it is there, or the branch is wrong
	if equal(want, got, false) {
		return 1, nil
	}
	return 1, []schemas.Finding{finding(s.under("status"), "status", "status differs", want, got)}
}

// judgeAssertions checks claims about single members.
func judgeAssertions(s *subject) (int, []schemas.Finding) {
	if s.broken != nil || s.wrongBranch() || s.Call != nil && !s.Call.Document && s.isDocument() {
		return len(s.Case.Assert), nil // judgeShape has said so
	}
	mismatched := map[string]bool{}
	if reportsStatus(s) {
		_, other := judgeStatus(s)
		mismatched["status"] = len(other) > 0
	}
	var findings []schemas.Finding
	for _, a := range s.Case.Assert {
		actual, got := reach(s.members, a.Member)
		top, _, _ := strings.Cut(a.Member, ".")
		if s.taken(top) || top == "status" && mismatched[top] {
			continue // it has been said
		}
		if problem := claim(a, actual, got); problem != "" {
			mismatched[top] = true
			findings = append(findings, finding(s.under(top), top, problem, a.Value, actual))
		}
	}
	return len(s.Case.Assert), s.followCauses(findings, s.members, mismatched)
}

// reach finds a member by its name, or a member of a member by a dotted path.
func reach(ms []member, path string) (json.RawMessage, bool) {
	name, rest, deeper := strings.Cut(path, ".")
	value, ok := find(ms, name)
	if !deeper || !ok {
		return value, ok
	}
	inner, err := members(value)
	if err != nil {
		return nil, false
	}
	return reach(inner, rest)
}

// Member gives a member of an answer, by name or dotted path.
func Member(answer []byte, path string) (json.RawMessage, bool) {
	ms, err := members(answer)
	if err != nil {
		return nil, false
	}
	return reach(ms, path)
}

// claim says what of the answer speaks against an assertion, or "".
func claim(a schemas.Assertion, actual json.RawMessage, got bool) string {
	switch a.Is {
	case "absent":
		if got {
			return a.Member + " is there, and should not be"
		}
		return ""
	case "present":
		if !got {
			return a.Member + " is missing"
		}
		return ""
	case "lacks":
		var part, text string
		_ = json.Unmarshal(a.Value, &part)
		_ = json.Unmarshal(actual, &text)
		if got && part != "" && (strings.Contains(text, part) || strings.Contains(string(actual), part)) {
			return fmt.Sprintf("%s contains %q", a.Member, part)
		}
		return ""
	}
	if !got {
		return a.Member + " is missing"
	}
	var text, part string
	switch a.Is {
	case "equal", "identical":
		if !equal(a.Value, actual, a.Is == "identical") {
			return a.Member + " differs"
		}
	case "oneOf":
		var allowed []json.RawMessage
		_ = json.Unmarshal(a.Value, &allowed)
		if !slices.ContainsFunc(allowed, func(v json.RawMessage) bool { return equal(v, actual, false) }) {
			return a.Member + " is none of those allowed"
		}
	case "above":
		var bound, number float64
		_ = json.Unmarshal(a.Value, &bound)
		if json.Unmarshal(actual, &number) != nil || number <= bound {
			return fmt.Sprintf("%s is not above %s", a.Member, a.Value)
		}
	case "prefix", "contains":
		if json.Unmarshal(actual, &text) != nil || json.Unmarshal(a.Value, &part) != nil {
			return a.Member + " is not a string"
		}
		if a.Is == "prefix" && !strings.HasPrefix(text, part) {
			return fmt.Sprintf("%s does not begin with %q", a.Member, part)
		}
		if a.Is == "contains" && !strings.Contains(text, part) {
			return fmt.Sprintf("%s does not contain %q", a.Member, part)
		}
	}
	return ""
}

// judgeTime checks the time the answer took (LEAK-10).
func judgeTime(s *subject) (int, []schemas.Finding) {
	if took := s.Elapsed.Milliseconds(); took > s.Case.MaxMs {
		return 1, []schemas.Finding{finding(s.under("time"), "time",
			fmt.Sprintf("the answer took %d ms; %d ms are allowed", took, s.Case.MaxMs),
			json.RawMessage(fmt.Sprint(s.Case.MaxMs)), json.RawMessage(fmt.Sprint(took)))}
	}
	return 1, nil
}
