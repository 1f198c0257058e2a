package report

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"

	"github.com/onsi/ginkgo/v2/reporters"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/schemas"
)

// builtin is the corpus that reports look cases up in.
func builtin(t *testing.T) *fixtures.Corpus {
	t.Helper()
	corpus, err := fixtures.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	return corpus
}

// junit gives the report of a run, read back.
func junit(t *testing.T, cert schemas.Certificate) reporters.JUnitTestSuites {
	t.Helper()
	data, err := JUnit(builtin(t), cert, "touchstone certify")
	if err != nil {
		t.Fatal(err)
	}
	var out reporters.JUnitTestSuites
	if err := xml.Unmarshal(data, &out); err != nil {
		t.Fatalf("the report is no XML: %v\n%s", err, data)
	}
	return out
}

// TestJUnitIsNotGreen: where the exit code is not 0, the report has a failure or
// an error, and where it is 0 it has none.
func TestJUnitIsNotGreen(t *testing.T) {
	one := func(status schemas.Status) []schemas.CaseResult {
		return []schemas.CaseResult{{ID: "status/404/empty", Status: status, Runs: []schemas.RunResult{
			{Via: "map", Findings: []schemas.Finding{{Requirement: "CARRIER-04", Problem: "the flag is false"}}},
		}}}
	}
	for _, tt := range []struct {
		name             string
		cases            []schemas.CaseResult
		strict           bool
		code             int
		failures, errors int
		text             string
	}{
		{"a warning", one(schemas.Warn), false, 0, 0, 0, `status="warn"`},
		{"a warning with --strict", one(schemas.Warn), true, 1, 1, 0, `<failure message="CARRIER-04: the flag is false"`},
		{"a failure", one(schemas.Fail), false, 1, 1, 0, `<failure message="CARRIER-04: the flag is false"`},
		{"a profile that no case ran of", []schemas.CaseResult{{ID: "status/404/empty", Status: schemas.Pass}}, false, 1, 0, 1, "no case of it ran"},
		{"a target that broke", one(schemas.Fail), false, 3, 1, 1, "no case of it ran"},
	} {
		cert := schemas.Certificate{
			Settings: schemas.RunSettings{Strict: tt.strict}, Cases: tt.cases,
			Verdict: schemas.Verdict{Status: "not certified", ExitCode: tt.code, Reason: "claimed, but no case of it ran: agent-outcome"},
		}
		got := junit(t, cert)
		data, _ := JUnit(builtin(t), cert, "touchstone certify")
		if got.Failures != tt.failures || got.Errors != tt.errors || got.Tests != len(got.TestSuites[0].TestCases) || !bytes.Contains(data, []byte(tt.text)) {
			t.Errorf("%s: %d failures and %d errors, want %d and %d, and %q in\n%s", tt.name, got.Failures, got.Errors, tt.failures, tt.errors, tt.text, data)
		}
	}
}

// TestStrictWarnings: the summary says what makes a run without failed cases fail.
func TestStrictWarnings(t *testing.T) {
	for strict, want := range map[bool]string{
		false: "1 case: 0 passed, 0 failed, 1 warned, 0 observed",
		true:  "1 case: 0 passed, 0 failed, 1 warned (which --strict counts as failed), 0 observed",
	} {
		var out strings.Builder
		Verdict(&out, schemas.Certificate{Settings: schemas.RunSettings{Strict: strict}, Cases: []schemas.CaseResult{{Status: schemas.Warn}}})
		if !strings.HasPrefix(out.String(), want) {
			t.Errorf("strict %v: %s", strict, out.String())
		}
	}
}
