package gate

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/schemas"
)

// Report is the matrix of requirements, cases and mutants.
type Report struct {
	Rows []Row
	// Unproven are MUST requirements that no mutant breaks, though others of
	// their section have some.
	Unproven []string
	// Elsewhere are those whose mutants are run by other means, named by the caller.
	Elsewhere []string
	// Untried are the sections that no mutant is about.
	Untried []string
	// Red are the outcomes that are not as they must be.
	Red []Outcome

	outcomes []Outcome
}

// Row is one requirement in the matrix.
type Row struct {
	ID    string
	Level schemas.Level
	// Cases is how many cases serve the requirement.
	Cases int
	// Mutants are the outcomes of the mutants that break it.
	Mutants []Outcome
}

// NewReport makes the matrix of a run of all specimens. Elsewhere are
// requirements that have mutants which are not among them.
func NewReport(corpus *fixtures.Corpus, outcomes []Outcome, elsewhere []string) Report {
	report := Report{outcomes: outcomes}
	mutants := map[string][]Outcome{}
	tried := map[string]bool{}
	for _, o := range outcomes {
		if !o.Green() {
			report.Red = append(report.Red, o)
		}
		for _, id := range o.Specimen.Breaks {
			mutants[id] = append(mutants[id], o)
			tried[section(id)] = true
		}
	}
	for _, r := range corpus.Requirements {
		row := Row{ID: r.ID, Level: r.Level, Cases: len(corpus.Serving(r.ID)), Mutants: mutants[r.ID]}
		report.Rows = append(report.Rows, row)
		switch {
		case !tried[section(r.ID)]:
			if !slices.Contains(report.Untried, section(r.ID)) {
				report.Untried = append(report.Untried, section(r.ID))
			}
		case len(row.Mutants) == 0 && slices.Contains(elsewhere, r.ID):
			report.Elsewhere = append(report.Elsewhere, r.ID)
		case r.Level == schemas.Must && len(row.Mutants) == 0:
			report.Unproven = append(report.Unproven, r.ID)
		}
	}
	return report
}

// section is the part of a requirement's id before its number.
func section(id string) string {
	name, _, _ := strings.Cut(id, "-")
	return name
}

// Green says whether every specimen came out as it must and every MUST of a
// section that has mutants is among what they break.
func (r Report) Green() bool { return len(r.Red) == 0 && len(r.Unproven) == 0 }

// fewest gives the mutant of a row that the fewest cases catch, and how many.
func (r Row) fewest() (id string, cases int) {
	for _, o := range r.Mutants {
		if n := len(o.Killers[r.ID]); id == "" || n < cases {
			id, cases = o.Specimen.ID, n
		}
	}
	return id, cases
}

func (r Row) exact() int {
	n := 0
	for _, o := range r.Mutants {
		if o.Exact() {
			n++
		}
	}
	return n
}

// Write prints the matrix, and what is wrong. Verbose adds the mutants of each
// requirement, with the cases that catch them.
func (r Report) Write(out io.Writer, verbose bool) error {
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprint(table, "REQUIREMENT\tLEVEL\tCASES\tMUTANTS\tEXACT\tCAUGHT BY THE FEWEST CASES\n")
	for _, row := range r.Rows {
		if slices.Contains(r.Untried, section(row.ID)) {
			continue
		}
		fewest := ""
		if id, cases := row.fewest(); id != "" {
			fewest = fmt.Sprintf("%s: %d", id, cases)
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%s\n", row.ID, row.Level, row.Cases, len(row.Mutants), row.exact(), fewest)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if verbose {
		r.writeKillers(out)
	}
	for _, o := range r.Red {
		fmt.Fprintf(out, "\nnot as it must be: %s\n", o)
	}
	if len(r.Unproven) > 0 {
		fmt.Fprintf(out, "\nno mutant breaks %s\n", strings.Join(r.Unproven, ", "))
	}
	if len(r.Elsewhere) > 0 {
		fmt.Fprintf(out, "\nthe mutants of %s are run by `go test ./reference/mutant` alone\n", strings.Join(r.Elsewhere, ", "))
	}
	if len(r.Untried) > 0 {
		fmt.Fprintf(out, "\nsections without mutants: %s\n", strings.Join(r.Untried, ", "))
	}
	_, err := fmt.Fprintf(out, "\n%s\n", r.Summary())
	return err
}

func (r Report) writeKillers(out io.Writer) {
	for _, row := range r.Rows {
		if len(row.Mutants) > 0 {
			fmt.Fprintf(out, "\n%s\n", row.ID)
		}
		for _, o := range row.Mutants {
			fmt.Fprintf(out, "  %s: %s\n    caught by %s\n", o.Specimen.ID, o.Specimen.Doc, several(o.Killers[row.ID], 5))
		}
	}
}

// Summary counts the specimens in a line.
func (r Report) Summary() string {
	var mutants, conforming, nulls int
	for _, o := range r.outcomes {
		switch {
		case o.Specimen.Null:
			nulls++
		case len(o.Specimen.Breaks) > 0:
			mutants++
		default:
			conforming++
		}
	}
	state := "the gate is green"
	if !r.Green() {
		state = fmt.Sprintf("the gate is RED: %d specimens, %d requirements", len(r.Red), len(r.Unproven))
	}
	return fmt.Sprintf("%d mutants, %d conforming variants, %d null targets: %s", mutants, conforming, nulls, state)
}
