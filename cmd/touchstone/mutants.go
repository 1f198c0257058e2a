package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/reference/mutant"
	"example.com/touchstone/reference/serve"
	"example.com/touchstone/suite/gate"
	"example.com/touchstone/suite/target"
	"example.com/touchstone/suite/target/builtin"
	"example.com/touchstone/suite/verdict"
)

func mutantsCommand() *cobra.Command {
	var ids []string
	var verbose bool
	cmd := &cobra.Command{
		Use:   "mutants",
		Short: "Show that the suite can fail: the matrix of requirements, cases and mutants",
		Long: `Mutants runs the cases against implementations whose verdict is known: the
reference, which passes; the reference with one thing broken, which must fail
exactly the requirements that it breaks; its correct variants, which must
certify; and targets that map nothing, which must be refused. It prints which
requirements the mutants break and how many cases catch them. The exit code is 1
where one of them does not come out as it must.`,
		Example: `  touchstone mutants
  touchstone mutants --verbose
  touchstone mutants --mutant leak-root-home-lost`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return mutants(cmd.Context(), ids, verbose) },
	}
	cmd.Flags().StringSliceVar(&ids, "mutant", nil, "run only these, and show what catches them")
	cmd.Flags().BoolVar(&verbose, "verbose", false, "list the mutants of each requirement, with the cases that catch them")
	return cmd
}

// bench is a list of specimens with what runs them.
type bench struct {
	specimens []gate.Specimen
	run       func(context.Context, *fixtures.Corpus, []gate.Specimen, func(gate.Outcome)) ([]gate.Outcome, error)
}

func mutants(ctx context.Context, ids []string, verbose bool) error {
	corpus, err := fixtures.Builtin()
	if err != nil {
		return err
	}
	benches := []bench{{mappingSpecimens(), gate.Run}, {agentSpecimens(), gate.RunAgents}}
	if err := choose(benches, ids); err != nil {
		return err
	}
	total := 0
	for _, b := range benches {
		total += len(b.specimens)
	}
	progress := newProgress(os.Stderr)
	var outcomes []gate.Outcome
	done, red := 0, 0
	for _, b := range benches {
		some, err := b.run(ctx, corpus, b.specimens, func(o gate.Outcome) {
			done++
			if !o.Green() {
				red++
			}
			progress.line(done, total, fmt.Sprintf("specimens, %d not as they must be  %s", red, o.Specimen.ID))
		})
		if err != nil {
			progress.done()
			return exitError(verdict.Interrupted)
		}
		outcomes = append(outcomes, some...)
	}
	progress.done()
	var overMCP []string // these need a server each
	for _, m := range mutant.MCP() {
		overMCP = append(overMCP, m.Breaks...)
	}
	report := gate.NewReport(corpus, outcomes, overMCP)
	green := report.Green()
	if len(ids) > 0 {
		green = len(report.Red) == 0
		for _, o := range outcomes {
			fmt.Fprint(stdout, o.Detail())
		}
	} else if err := report.Write(stdout, verbose); err != nil {
		return err
	}
	if !green {
		return exitError(verdict.NotCertified)
	}
	return nil
}

// choose keeps the specimens with these ids, all where there are none.
func choose(benches []bench, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	var known []string
	for i, b := range benches {
		for _, s := range b.specimens {
			known = append(known, s.ID)
		}
		benches[i].specimens = slices.DeleteFunc(b.specimens, func(s gate.Specimen) bool { return !slices.Contains(ids, s.ID) })
	}
	for _, id := range ids {
		if slices.Contains(known, id) {
			continue
		}
		if near := fixtures.Nearest(id, known); len(near) > 0 {
			return fmt.Errorf("unknown mutant %q; the nearest are %s", id, strings.Join(near, ", "))
		}
		return fmt.Errorf("unknown mutant %q; `%s mutants --verbose` lists all %d", id, self(), len(known))
	}
	return nil
}

// mappingSpecimens are the specimens about answers and calls.
func mappingSpecimens() []gate.Specimen {
	reference := mutant.Mutant{ID: "reference", Doc: "It is the reference.", OverTheWire: true, New: func() serve.Reference { return serve.Reference{} }}
	var out []gate.Specimen
	for _, m := range slices.Concat([]mutant.Mutant{reference}, mutant.All(), mutant.Equivalents()) {
		out = append(out, gate.Specimen{
			ID: m.ID, Doc: m.Doc, Breaks: m.Breaks, OverTheWire: m.OverTheWire, Calls: m.Calls,
			Open: func() target.Target { return gate.Direct(serve.New(m.New())) },
		})
	}
	for _, n := range mutant.Nulls() {
		out = append(out, gate.Specimen{ID: n.ID, Doc: n.Doc, Null: true, Open: func() target.Target { return gate.Direct(n) }})
	}
	return out
}

// agentSpecimens are the specimens about agents.
func agentSpecimens() []gate.Specimen {
	var out []gate.Specimen
	for _, m := range slices.Concat(mutant.Agents(), mutant.AgentEquivalents()) {
		out = append(out, gate.Specimen{ID: m.ID, Doc: m.Doc, Breaks: m.Breaks, Open: func() target.Target {
			opened := builtin.New(serve.New(m.New()))
			if len(m.Breaks) > 0 {
				return gate.PlainAnswers(opened)
			}
			return opened
		}})
	}
	return out
}
