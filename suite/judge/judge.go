// Package judge decides what is wrong with one answer. Judges are pure
// functions of the case and of what was exchanged; all of them run, and each
// finding is placed under the one requirement it shows broken.
package judge

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/mockbackend"
	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/target"
)

// Exchange is the record of one run of a case: what a judge may look at.
type Exchange struct {
	// Case is the case with its canary filled in.
	Case   fixtures.Case
	Canary string
	// Via is the way it was run: "map", "refuse", "invoke" or "calls".
	Via     string
	Answer  target.Answer
	Elapsed time.Duration
	// Requests is how many requests the mock backend received for this run.
	// It counts only over the wire.
	Requests int

	// Call is the call, in a case of calls, with what is claimed of it.
	Call *schemas.Call
	// Received is what the mock backend received during the call; nil where
	// several calls were in flight.
	Received []mockbackend.Entry
	// Cancelled says that the backend saw a request end from the client's side.
	Cancelled bool
}

// A judge looks at one aspect of an exchange and gives how many things it
// checked and what it found. It is called where it applies, and having checked
// nothing there is an error of the suite.
type judge struct {
	name    string
	applies func(*subject) bool
	judge   func(*subject) (checked int, findings []schemas.Finding)
}

var judges = []judge{
	{"shape", isEnvelope, judgeShape},
	{"text", isEnvelope, judgeText},
	{"members", claimsMembers, judgeMembers},
	{"status", reportsStatus, judgeStatus},
	{"assertions", func(s *subject) bool { return len(s.Case.Assert) > 0 }, judgeAssertions},
	{"canary", func(s *subject) bool { return s.Case.Judge["canary"] != "" }, judgeCanary},
	{"time", func(s *subject) bool { return s.Case.MaxMs > 0 }, judgeTime},
	{"requests", func(s *subject) bool { return s.Call != nil && s.Call.Requests != nil }, judgeRequests},
	{"received", func(s *subject) bool { return s.Call != nil && s.Call.Received != nil }, judgeReceived},
	{"earliest", func(s *subject) bool { return s.Call != nil && s.Call.MinMs > 0 }, judgeEarliest},
	{"carrier", func(s *subject) bool { return slices.Contains(s.Case.Needs, schemas.FeatureErrorFlag) }, judgeFlag},
	{"cancelled", func(s *subject) bool { return s.Call != nil && s.Call.Cancelled }, judgeCancelled},
}

// isEnvelope is false for the documents of meta-tools: what search_tools finds.
func isEnvelope(s *subject) bool { return s.Call == nil || !s.Call.Document }

// subject is an exchange with what the judges have in common read off it once.
type subject struct {
	*Exchange
	members []member
	// broken says why the answer is no JSON object; the other judges then
	// have nothing to read members from.
	broken error
	branch branch
	// expected are the answers that would do, one or several.
	expected   []json.RawMessage
	violations []schemas.Violation
	// blanks are the members with a blank message that the schema lets through.
	blanks []string
}

// All runs every judge that applies. The error is a defect of the suite.
func All(x *Exchange) ([]schemas.Finding, error) {
	s, err := newSubject(x)
	if err != nil {
		return nil, err
	}
	if f, broken := carried(s); broken {
		return []schemas.Finding{f}, nil
	}
	if s.invented() {
		return []schemas.Finding{inventedFinding(s)}, nil
	}
	var all []schemas.Finding
	for _, j := range judges {
		if !j.applies(s) {
			continue
		}
		checked, findings := j.judge(s)
		if checked == 0 {
			return nil, fmt.Errorf("case %s via %s: the judge of %s had nothing to check", x.Case.ID, x.Via, j.name)
		}
		all = append(all, findings...)
	}
	s.followCanary(all)
	s.follow(all)
	return all, nil
}

// invented says that the answer reports a status no backend gave (SHAPE-02).
// What else is wrong with such an answer says nothing about a rule.
func (s *subject) invented() bool {
	_, reports := find(s.members, "status")
	return s.Via == schemas.FeatureInvoke && s.Requests == 0 && reports
}

func inventedFinding(s *subject) schemas.Finding {
	status, _ := find(s.members, "status")
	return finding("SHAPE-02", "status", "the answer reports a status, but the backend got no request", nil, status)
}

func newSubject(x *Exchange) (*subject, error) {
	s := &subject{Exchange: x}
	if x.Case.Expected != nil {
		s.expected = append(s.expected, x.Case.Expected)
	}
	s.expected = append(s.expected, x.Case.ExpectedAnyOf...)
	if s.members, s.broken = members(x.Answer.Envelope); s.broken != nil {
		return s, nil
	}
	s.branch = branchOf(s.members)
	s.blanks = blanksOf(s.members)
	var err error
	s.violations, err = schemas.Validate(s.branch.schema(), x.Answer.Envelope)
	var long *schemas.LongNumberError
	switch {
	case errors.As(err, &long):
		s.broken = fmt.Errorf("no envelope: %w", err)
	case err != nil:
		return nil, fmt.Errorf("case %s: %w", x.Case.ID, err)
	}
	return s, nil
}

// under gives the requirement that a member of the answer is judged under.
func (s *subject) under(name string) string { return requirement(s.Case, name) }

// requirement places a member: where the case says, else where the rules do
// for members that follow from the status, else under the case's subject.
func requirement(k fixtures.Case, name string) string {
	if id := k.Judge[name]; id != "" {
		return id
	}
	if id := derived(k, name); id != "" {
		return id
	}
	if len(k.Requirements) == 0 {
		return "SHAPE-01"
	}
	return k.Requirements[0]
}

// codeRequirements are the ids of the rows of the status table.
var codeRequirements = map[schemas.BackendCode]string{
	schemas.ValidationFailed: "CODE-01", schemas.Unauthenticated: "CODE-02", schemas.Forbidden: "CODE-03",
	schemas.NotFound: "CODE-04", schemas.Conflict: "CODE-05", schemas.RateLimited: "CODE-06",
	schemas.BackendUnavailable: "CODE-07", schemas.BackendFailed: "CODE-08", schemas.BadRequest: "CODE-09",
}

func derived(k fixtures.Case, name string) string {
	if k.Kind == schemas.KindAgent {
		return ""
	}
	raw := k.Expected
	if raw == nil && len(k.ExpectedAnyOf) > 0 {
		raw = k.ExpectedAnyOf[0]
	}
	if raw == nil && name == "status" && k.Kind != schemas.KindCalls {
		return "SHAPE-02"
	}
	var want schemas.BackendError
	if raw == nil || json.Unmarshal(raw, &want) != nil {
		return ""
	}
	switch {
	case want.Status == 0 && want.Error != "" && name == "retryable":
		return "SDK-21"
	case want.Status == 0:
		return ""
	case name == "status" && want.Status < 400:
		return "SUCCESS-01"
	case name == "status":
		return "SHAPE-02"
	case want.Status < 400:
		return ""
	case name == "retryable":
		return "RETRY-01"
	case name != "error":
		return ""
	// Whether a 400 or 422 is one code or the other, and whether field errors
	// may change a code, is a rule of its own.
	case want.Error == schemas.BadRequest && (want.Status == 400 || want.Status == 422):
		return "CODE-10"
	case want.Error != schemas.ValidationFailed && want.Fields != nil:
		return "CODE-10"
	}
	return codeRequirements[want.Error]
}

// Serves gives every requirement that a run of the case can break: those it
// names, and those its expected answer is judged under besides.
func Serves(k fixtures.Case) []string {
	ids := append([]string(nil), k.Requirements...)
	for _, name := range []string{"error", "retryable", "status"} {
		id := derived(k, name)
		known := id == ""
		for _, other := range ids {
			known = known || other == id
		}
		if !known {
			ids = append(ids, id)
		}
	}
	return ids
}

// finding makes one, with the values as JSON.
func finding(requirement, member, problem string, expected, actual json.RawMessage) schemas.Finding {
	return schemas.Finding{Requirement: requirement, Member: member, Problem: problem, Expected: expected, Actual: actual}
}
