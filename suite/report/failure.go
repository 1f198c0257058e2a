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
	"example.com/touchstone/suite/target"
)

// What is printed of a failure; the rest is counted.
const (
	// maxInput is for an input, which the case's file has in full, and for a line
	// of an answer.
	maxInput = 600
	// maxProblem leaves room for an excerpt of a message.
	maxProblem   = 2 * target.ExcerptBytes
	maxFindings  = 20
	maxDiffLines = 100
)

// Failure tells what is wrong with one case: for each way it was run the
// findings, the input, and the expected and the actual answer as a diff.
// Repeat is the command that runs just this case, or "". What is not printable
// is escaped: the target must not drive the reader's terminal.
func Failure(k fixtures.Case, result schemas.CaseResult, repeat string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %s\n", k.ID, k.Description)
	for _, run := range sameAnswers(result.Runs) {
		if len(run.Findings) == 0 {
			continue
		}
		fmt.Fprintf(&out, "  via %s\n", run.Via)
		for i, f := range run.Findings {
			if i == maxFindings {
				fmt.Fprintf(&out, "    and %s\n", Count(len(run.Findings)-i, "more finding"))
				break
			}
			fmt.Fprintf(&out, "    %s  %s%s\n", f.Requirement, short(f.Problem, maxProblem), becauseOf(f))
		}
		fmt.Fprintf(&out, "    input     %s\n", short(compact(k.Input), maxInput))
		writeDiff(&out, k, run)
	}
	text := target.Printable(out.String())
	if repeat != "" {
		text += fmt.Sprintf("  repeat    %s\n", repeat)
	}
	return strings.TrimRight(text, "\n")
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
		fmt.Fprintf(out, "    actual    %s\n", short(run.Answer, maxInput))
		return
	}
	answer, total := target.Uncut(run.Answer)
	if len(answer) < total {
		fmt.Fprintf(out, "    actual    %d bytes; the diff is against the first %d\n", total, len(answer))
	}
	diff := udiff.Unified("expected", "actual", pretty(expected), pretty([]byte(answer)))
	if diff == "" {
		fmt.Fprintf(out, "    actual    %s\n", short(run.Answer, maxInput))
		return
	}
	shown, more := 0, 0
	for line := range strings.Lines(diff) {
		switch {
		case strings.HasPrefix(line, "@@"):
		case shown == maxDiffLines:
			more++
		default:
			shown++
			fmt.Fprintf(out, "    %s\n", short(strings.TrimRight(line, "\n"), maxInput))
		}
	}
	if more > 0 {
		fmt.Fprintf(out, "    and %s of the diff\n", Count(more, "more line"))
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

// short gives the start of a text, and says how long the whole is. The text may
// have been cut before.
func short(text string, most int) string {
	start, total := target.Uncut(text)
	if len(start) <= most {
		return text
	}
	start, _ = target.Uncut(target.Cut(start, most))
	return fmt.Sprintf("%s… (%d bytes in all)", start, total)
}
