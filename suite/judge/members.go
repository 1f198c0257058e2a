package judge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"example.com/touchstone/schemas"
)

func claimsMembers(s *subject) bool { return len(s.expected) > 0 }

// judgeMembers compares the answer with the expected one, member by member.
// Where several answers would do, the nearest is the one to compare with.
func judgeMembers(s *subject) (int, []schemas.Finding) {
	if s.broken != nil || s.wrongBranch() {
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
	for i, f := range findings {
		findings[i].Requirement = s.cause(f, want, mismatched)
	}
	return findings
}

// cause places a mismatch that only follows from another one under that one's
// requirement. A body that was not recognised has no fields, and so another
// code and another message; a standard message quotes the reference and the
// seconds.
func (s *subject) cause(f schemas.Finding, want []member, mismatched map[string]bool) string {
	_, wanted := find(want, "fields")
	_, got := find(s.members, "fields")
	if wanted != got && mismatched["fields"] && (f.Member == "error" || f.Member == "message") {
		return s.under("fields")
	}
	if f.Member == "message" {
		for _, quotedIn := range []string{"reference", "retryAfterSeconds"} {
			if mismatched[quotedIn] {
				return s.under(quotedIn)
			}
		}
	}
	return f.Requirement
}

// judgeAssertions checks claims about single members.
func judgeAssertions(s *subject) (int, []schemas.Finding) {
	if s.broken != nil || s.wrongBranch() {
		return len(s.Case.Assert), nil // judgeShape has said so
	}
	var findings []schemas.Finding
	for _, a := range s.Case.Assert {
		actual, got := find(s.members, a.Member)
		if s.taken(a.Member) {
			continue
		}
		if problem := claim(a, actual, got); problem != "" {
			findings = append(findings, finding(s.under(a.Member), a.Member, problem, a.Value, actual))
		}
	}
	return len(s.Case.Assert), findings
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

// judgeJournal holds the answer against what the backend saw: an answer with a
// status reports a backend that was asked (SHAPE-02).
func judgeJournal(s *subject) (int, []schemas.Finding) {
	status, reports := find(s.members, "status")
	if s.Requests == 0 && reports {
		return 1, []schemas.Finding{finding("SHAPE-02", "status", "the answer reports a status, but the backend got no request", nil, status)}
	}
	return 1, nil
}
