package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/schemas"
)

// TestFixFirst: where most failures have one cause, the report begins with it.
func TestFixFirst(t *testing.T) {
	corpus, err := fixtures.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	failed := func(id string, n int) []schemas.CaseResult {
		var out []schemas.CaseResult
		for i := range n {
			out = append(out, schemas.CaseResult{ID: fmt.Sprintf("%s/%d", strings.ToLower(id), i), Status: schemas.Fail, Runs: []schemas.RunResult{
				{Via: "map"}, {Via: "invoke", Findings: []schemas.Finding{{Requirement: id, Problem: "two blocks\nand more"}}},
			}})
		}
		return out
	}
	for _, tc := range []struct {
		name  string
		cases []schemas.CaseResult
		first string
	}{
		{"one cause", append(failed("CARRIER-01", 20), failed("SDK-01", 3)...),
			"FIX FIRST: CARRIER-01, which 20 of 23 failures come from. One text content block holds the envelope as JSON, on success and on failure alike. Seen: two blocks\n"},
		{"two causes", append(failed("CARRIER-01", 20), failed("SDK-01", 20)...), "FAILED: 40 of 40 cases, under 2 requirements\n"},
		{"few failures", failed("CARRIER-01", 3), "FAILED: 3 of 3 cases, under 1 requirement\n"},
	} {
		var out bytes.Buffer
		Console{Corpus: corpus, Command: "touchstone certify"}.Write(&out, schemas.Certificate{Cases: tc.cases})
		if !strings.HasPrefix(out.String(), tc.first) {
			line, _, _ := strings.Cut(out.String(), "\n")
			t.Errorf("%s: the first line is %q", tc.name, line)
		}
	}
}
