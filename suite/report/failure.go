// Package report makes the reports of a run from its certificate: text for a
// console, JUnit for a CI server, JSON for everything else.
package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/schemas"
)

// maxInput is how much of an input or an answer is printed; the rest is
// counted, and the case's file has it.
const maxInput = 600

// Failure tells what is wrong with one case: for each way it was run the
// findings, the input, and the expected and the actual answer as a diff.
// Repeat is the command that runs just this case, or "".
func Failure(k fixtures.Case, result schemas.CaseResult, repeat string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %s\n", k.ID, k.Description)
	for _, run := range sameAnswers(result.Runs) {
		if len(run.Findings) == 0 {
			continue
		}
		fmt.Fprintf(&out, "  via %s\n", run.Via)
		for _, f := range run.Findings {
			fmt.Fprintf(&out, "    %s  %s%s\n", f.Requirement, f.Problem, becauseOf(f))
		}
		fmt.Fprintf(&out, "    input     %s\n", short(compact(k.Input)))
		writeDiff(&out, k, run)
	}
	if repeat != "" {
		fmt.Fprintf(&out, "  repeat    %s\n", repeat)
	}
	return strings.TrimRight(out.String(), "\n")
}

func becauseOf(f schemas.Finding) string {
	if f.Control == "" {
		return ""
	}
	return fmt.Sprintf(" (its control, %s, fails the same way)", f.Control)
}

// sameAnswers joins runs that found the same, so that it is told once.
func sameAnswers(runs []schemas.RunResult) []schemas.RunResult {
	var out []schemas.RunResult
next:
	for _, run := range runs {
		for i, other := range out {
			if run.Answer == other.Answer && describe(run.Findings) == describe(other.Findings) {
				out[i].Via += " and " + run.Via
				continue next
			}
		}
		out = append(out, run)
	}
	return out
}

func describe(findings []schemas.Finding) string {
	var out strings.Builder
	for _, f := range findings {
		fmt.Fprintf(&out, "%s %s %s\n", f.Requirement, f.Member, f.Problem)
	}
	return out.String()
}

func writeDiff(out *strings.Builder, k fixtures.Case, run schemas.RunResult) {
	expected := k.Expected
	if expected == nil && len(k.ExpectedAnyOf) > 0 {
		expected = k.ExpectedAnyOf[0]
		fmt.Fprintf(out, "    expected  one of %d answers; the diff is against the first\n", len(k.ExpectedAnyOf))
	}
	if run.Answer == "" {
		return
	}
	if expected == nil {
		for _, a := range k.Assert {
			fmt.Fprintf(out, "    expected  %s\n", strings.TrimSpace(fmt.Sprintf("%s %s %s", a.Member, a.Is, a.Value)))
		}
		fmt.Fprintf(out, "    actual    %s\n", short(run.Answer))
		return
	}
	diff := udiff.Unified("expected", "actual", pretty(expected), pretty([]byte(run.Answer)))
	if diff == "" {
		fmt.Fprintf(out, "    actual    %s\n", short(run.Answer))
		return
	}
	for line := range strings.Lines(diff) {
		if strings.HasPrefix(line, "@@") {
			continue
		}
		fmt.Fprintf(out, "    %s\n", short(strings.TrimRight(line, "\n")))
	}
}

// pretty gives JSON with one member a line, members in the answer's order; what
// is no JSON stays as it is.
func pretty(raw []byte) string {
	var out bytes.Buffer
	if json.Indent(&out, raw, "", "  ") != nil {
		return string(raw) + "\n"
	}
	return out.String() + "\n"
}

func compact(raw []byte) string {
	var out bytes.Buffer
	if json.Compact(&out, raw) != nil {
		return string(raw)
	}
	return out.String()
}

func short(text string) string {
	if len(text) <= maxInput {
		return text
	}
	return strings.ToValidUTF8(text[:maxInput], "") + fmt.Sprintf("… (%d bytes in all)", len(text))
}
