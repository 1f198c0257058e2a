package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/judge"
	"example.com/touchstone/suite/target"
)

// shownPerRequirement is how many failures of one requirement are shown in
// full; the others are named, with the command that shows them.
const shownPerRequirement = 3

// Console writes the report of a run: failures first, each with what it takes
// to repeat it, then warnings, what did not apply, the requirements and the
// verdict. Command is how the run was started, without a selection.
type Console struct {
	Corpus  *fixtures.Corpus
	Command string
	// All shows every failure in full.
	All bool
}

// Write writes the report.
func (c Console) Write(w io.Writer, cert schemas.Certificate) {
	c.failures(w, cert, schemas.Fail, "FAILED")
	c.failures(w, cert, schemas.Warn, "WARNED")
	notApplicable(w, cert)
	observations(w, cert)
	c.requirements(w, cert)
	Verdict(w, cert)
}

func (c Console) failures(w io.Writer, cert schemas.Certificate, status schemas.Status, title string) {
	byRequirement := map[string][]schemas.CaseResult{}
	var order []string
	total := 0
	for _, r := range cert.Cases {
		if r.Status != status {
			continue
		}
		total++
		id := firstRequirement(r)
		if byRequirement[id] == nil {
			order = append(order, id)
		}
		byRequirement[id] = append(byRequirement[id], r)
	}
	if total == 0 {
		return
	}
	if status == schemas.Fail {
		c.fixFirst(w, byRequirement, total)
	}
	fmt.Fprintf(w, "%s: %d of %s, under %s\n\n", title, total, Count(len(cert.Cases), "case"), Count(len(order), "requirement"))
	slices.SortFunc(order, func(a, b string) int { return cmp.Compare(c.rank(a), c.rank(b)) })
	for _, id := range order {
		if r, ok := c.Corpus.Requirement(id); ok {
			fmt.Fprintf(w, "%s (%s) %s\n\n", id, r.Level, r.Rule)
		}
		for i, result := range byRequirement[id] {
			if i == shownPerRequirement && !c.All {
				fmt.Fprintf(w, "  and %d more: %s --requirement %s --verbose\n\n", len(byRequirement[id])-i, c.Command, id)
				break
			}
			k, _ := c.Corpus.Case(result.ID)
			fmt.Fprintln(w, indent(Failure(k, result, c.Command+" --case "+result.ID)))
			fmt.Fprintln(w)
		}
	}
}

// manyFailures is how many failures make a cause that most of them share worth
// a line of its own.
const manyFailures = 10

// fixFirst begins the report with the one thing that is wrong, where most
// failures come from it: a server that gets every answer's form wrong is not
// told so by its thousandth case.
func (c Console) fixFirst(w io.Writer, byRequirement map[string][]schemas.CaseResult, total int) {
	for id, results := range byRequirement {
		r, ok := c.Corpus.Requirement(id)
		if !ok || total < manyFailures || 2*len(results) <= total {
			continue
		}
		problem := ""
		for _, run := range results[0].Runs {
			if len(run.Findings) > 0 && problem == "" {
				problem, _, _ = strings.Cut(run.Findings[0].Problem, "\n")
			}
		}
		fmt.Fprintf(w, "FIX FIRST: %s, which %d of %d failures come from. %s Seen: %s\n\n", id, len(results), total, r.Rule, oneLine(problem))
	}
}

// rank is a requirement's place in the catalogue.
func (c Console) rank(id string) int { return slices.Index(c.Corpus.RequirementIDs(), id) }

func firstRequirement(r schemas.CaseResult) string {
	for _, run := range r.Runs {
		for _, f := range run.Findings {
			return f.Requirement
		}
	}
	return ""
}

func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }

func notApplicable(w io.Writer, cert schemas.Certificate) {
	reasons := map[string]int{}
	var order []string
	for _, r := range cert.Cases {
		if r.Status != schemas.NotApplicable {
			continue
		}
		if reasons[r.Reason] == 0 {
			order = append(order, r.Reason)
		}
		reasons[r.Reason]++
	}
	if len(order) == 0 {
		return
	}
	fmt.Fprintln(w, "NOT APPLICABLE")
	for _, reason := range order {
		fmt.Fprintf(w, "  %s: %s\n", Count(reasons[reason], "case"), reason)
	}
	fmt.Fprintln(w)
}

func observations(w io.Writer, cert schemas.Certificate) {
	var lines []string
	for _, r := range cert.Cases {
		for _, run := range r.Runs {
			if run.Observation != "" && run.Via != "invoke" || run.Observation != "" && len(r.Runs) == 1 {
				lines = append(lines, fmt.Sprintf("  %s\t%s", r.ID, run.Observation))
			}
		}
	}
	if len(lines) == 0 {
		return
	}
	fmt.Fprintln(w, "OBSERVED (never counted)")
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, line := range lines {
		fmt.Fprintln(table, line)
	}
	_ = table.Flush()
	fmt.Fprintln(w)
}

func (c Console) requirements(w io.Writer, cert schemas.Certificate) {
	if len(cert.Requirements) == 0 {
		return
	}
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "REQUIREMENT\tLEVEL\tSTATUS\tCASES\tFINDINGS\tWAYS")
	ways := waysByRequirement(c.Corpus, cert)
	for _, r := range cert.Requirements {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\t%s\n", r.ID, r.Level, r.Status, r.CasesRun, r.Findings, ways[r.ID])
	}
	_ = table.Flush()
	fmt.Fprintln(w)
}

// waysByRequirement says through which ways each requirement was exercised.
func waysByRequirement(corpus *fixtures.Corpus, cert schemas.Certificate) map[string]string {
	used := map[string]map[string]bool{}
	for _, r := range cert.Cases {
		k, _ := corpus.Case(r.ID)
		for _, run := range r.Runs {
			for _, id := range judge.Serves(k) {
				if used[id] == nil {
					used[id] = map[string]bool{}
				}
				used[id][run.Via] = true
			}
		}
	}
	out := map[string]string{}
	for id, ways := range used {
		out[id] = strings.Join(slices.Sorted(maps.Keys(ways)), ", ")
	}
	return out
}

// Verdict writes the last lines of a report: counts and the verdict.
func Verdict(w io.Writer, cert schemas.Certificate) {
	counts := map[schemas.Status]int{}
	ways := map[string]int{}
	for _, r := range cert.Cases {
		counts[r.Status]++
		for _, run := range r.Runs {
			ways[run.Via]++
		}
	}
	strict := ""
	if cert.Settings.Strict && counts[schemas.Warn] > 0 {
		strict = " (which --strict counts as failed)"
	}
	fmt.Fprintf(w, "%s: %d passed, %d failed, %d warned%s, %d observed, %d not applicable, %d not run\n",
		Count(len(cert.Cases), "case"), counts[schemas.Pass], counts[schemas.Fail], counts[schemas.Warn], strict, counts[schemas.Informed], counts[schemas.NotApplicable], counts[schemas.NotRun])
	var runs []string
	for _, way := range []string{"map", "refuse", "invoke", "compose", "calls", "agent", "agent-streaming"} {
		if ways[way] > 0 {
			runs = append(runs, fmt.Sprintf("%d through %s", ways[way], way))
		}
	}
	if len(runs) > 0 {
		fmt.Fprintf(w, "runs: %s, in %.1f s\n", strings.Join(runs, ", "), cert.DurationMs/1000)
	}
	name := cert.Target.Spec
	if cert.Target.Name != "" {
		name = fmt.Sprintf("%s %s (%s)", oneLine(cert.Target.Name), oneLine(cert.Target.Version), cert.Target.Spec)
	}
	partial := ""
	if cert.Verdict.Partial {
		partial = " (partial)"
	}
	fmt.Fprintf(w, "%s%s: %s: %s\n", strings.ToUpper(cert.Verdict.Status), partial, name, target.Printable(cert.Verdict.Reason))
}

// oneLine makes a text of the target's part of a line of ours.
func oneLine(text string) string {
	return strings.ReplaceAll(target.Printable(short(text, maxInput)), "\n", `\n`)
}

// Count writes a number of things, the thing in the singular where it is one.
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
