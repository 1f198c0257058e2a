package report

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/target"
)

// hostile clears a screen, sets a title, and turns the direction of the text.
const hostile = "\x1b[2J\x1b]0;pwned\x07\u009b\u202e\xff"

// answers is the certificate of a run with one failed case.
func answers(answer string, findings ...schemas.Finding) schemas.Certificate {
	return schemas.Certificate{
		Target:  schemas.TargetInfo{Spec: "exec:x", Name: "name" + hostile + "\nCERTIFIED", Version: "1" + hostile},
		Verdict: schemas.Verdict{Status: "target broke", ExitCode: 3, Reason: "reason" + hostile},
		Cases: []schemas.CaseResult{
			{ID: "status/404/empty", Status: schemas.Fail, Runs: []schemas.RunResult{{Via: "map", Answer: answer, Findings: findings}}},
			{ID: "status/500/empty", Status: schemas.NotRun, Reason: "reason" + hostile},
		},
	}
}

func console(t *testing.T, cert schemas.Certificate) string {
	t.Helper()
	var out strings.Builder
	Console{Corpus: builtin(t), Command: "touchstone certify"}.Write(&out, cert)
	return out.String()
}

// TestNothingDrivesTheTerminal: what the target says is escaped wherever it is
// quoted, and so says more in JUnit too, where XML has no place for it.
func TestNothingDrivesTheTerminal(t *testing.T) {
	for name, answer := range map[string]string{
		"no JSON": hostile + "x", "JSON": `{"error":"` + hostile + `"}`, "the end of a line": "{}\r\n",
	} {
		cert := answers(answer, schemas.Finding{Requirement: "SHAPE-01", Problem: "problem" + hostile})
		data, err := JUnit(builtin(t), cert, "touchstone certify")
		if err != nil {
			t.Fatal(err)
		}
		for form, text := range map[string]string{"console": console(t, cert), "JUnit": string(data)} {
			for _, r := range text {
				if r != '\n' && r != '\t' && (!unicode.IsPrint(r) || r == unicode.ReplacementChar) {
					t.Errorf("%s: %s holds %q:\n%s", name, form, r, text)
					break
				}
			}
			for _, part := range []string{`problem\x1b[2J\x1b]0;pwned\x07\u009b\u202e\xff`, `reason\x1b[2J`} {
				if !strings.Contains(text, part) {
					t.Errorf("%s: %s lacks %s:\n%s", name, form, part, text)
				}
			}
			if strings.Contains(text, "\nCERTIFIED") {
				t.Errorf("%s: %s has a verdict that is not ours:\n%s", name, form, text)
			}
		}
		junit(t, cert) // it is XML
	}
}

// TestNothingFloods: a failure is shown in part, and says how much more there is.
func TestNothingFloods(t *testing.T) {
	var lines strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&lines, "line %d\n", i)
	}
	problem := schemas.Finding{Requirement: "SHAPE-01", Problem: "a problem"}
	var problems []schemas.Finding
	for range 1000 {
		problems = append(problems, problem)
	}
	long := schemas.Finding{Requirement: "SHAPE-01", Problem: target.Cut(strings.Repeat("x", 100_000), 50_000)}
	for _, tt := range []struct {
		name   string
		cert   schemas.Certificate
		says   []string
		silent string
	}{
		{"lines", answers(lines.String(), problem), []string{"+line 50\n", "more lines of the diff"}, "actual    "},
		{"lines that were cut", answers(target.Cut(lines.String(), 65536), problem), []string{"    actual    98890 bytes; the diff is against the first 65536\n", "more lines of the diff"}, "[cut"},
		{"a line that was cut", answers(target.Cut(strings.Repeat("x", 100_000), 65536), problem), []string{"xxx… (65537 bytes in all)\n", "    actual    100000 bytes; the diff is against the first 65536\n"}, "[cut"},
		{"findings", answers("{}", problems...), []string{"    and 980 more findings\n"}, "more line"},
		{"a problem", answers("{}", long), []string{"xxx… (100000 bytes in all)\n"}, "[cut"},
	} {
		text := console(t, tt.cert)
		for _, part := range tt.says {
			if !strings.Contains(text, part) {
				t.Errorf("%s: the report lacks %q", tt.name, part)
			}
		}
		if n := strings.Count(text, "\n"); n > 150 || len(text) > 20_000 || strings.Contains(text, tt.silent) {
			t.Errorf("%s: %d lines and %d bytes, and %q: %v", tt.name, n, len(text), tt.silent, strings.Contains(text, tt.silent))
		}
		if t.Failed() {
			t.Logf("%.3000s", text)
		}
	}
}
