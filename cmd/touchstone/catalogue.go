package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/report"
)

func listCommand() *cobra.Command {
	var cases, asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the requirements, or the cases",
		Example: `  touchstone list
  touchstone list --cases
  touchstone list --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			corpus, err := fixtures.Builtin()
			if err != nil {
				return err
			}
			if asJSON {
				return listJSON(corpus, cases)
			}
			table := tabwriter.NewWriter(stdout, 0, 8, 2, ' ', 0)
			if cases {
				for _, k := range corpus.Cases {
					fmt.Fprintf(table, "%s\t%s\t%s\n", k.ID, k.Requirements[0], k.Description)
				}
				return table.Flush()
			}
			for _, r := range corpus.Requirements {
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", r.ID, r.Level, r.Profile, report.Count(len(corpus.Serving(r.ID)), "case"), firstSentence(r.Rule))
			}
			return table.Flush()
		},
	}
	cmd.Flags().BoolVar(&cases, "cases", false, "list the cases instead of the requirements")
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

func listJSON(corpus *fixtures.Corpus, cases bool) error {
	enc := json.NewEncoder(stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if !cases {
		return enc.Encode(corpus.Requirements)
	}
	list := make([]schemas.Case, len(corpus.Cases))
	for i, k := range corpus.Cases {
		list[i] = k.Case
	}
	return enc.Encode(list)
}

func firstSentence(text string) string {
	for i := range text {
		if text[i] == '.' && (i+1 == len(text) || text[i+1] == ' ') {
			return text[:i+1]
		}
	}
	return text
}

func explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain ID",
		Short: "Explain a requirement or a case",
		Long:  "Explain shows a requirement's rule, level and cases with an example, or a case's input and expected answer.",
		Example: `  touchstone explain CODE-10
  touchstone explain status/404/empty`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			corpus, err := fixtures.Builtin()
			if err != nil {
				return err
			}
			id := args[0]
			if k, ok := corpus.Case(id); ok {
				explainCase(corpus, k)
				return nil
			}
			if r, ok := corpus.Requirement(id); ok {
				explainRequirement(corpus, r)
				return nil
			}
			near := fixtures.Nearest(id, append(corpus.RequirementIDs(), corpus.CaseIDs()...))
			if len(near) == 0 {
				return fmt.Errorf("unknown requirement or case %q: `%s list` and `%[2]s list --cases` show all", id, self())
			}
			return fmt.Errorf("unknown requirement or case %q; the nearest are %s", id, strings.Join(near, ", "))
		},
	}
}

// shownCases is how many cases explain names.
const shownCases = 12

func explainRequirement(corpus *fixtures.Corpus, r schemas.Requirement) {
	fmt.Fprintf(stdout, "%s  %s, profile %s\n\n%s\n", r.ID, r.Level, r.Profile, r.Rule)
	if r.Why != "" {
		fmt.Fprintf(stdout, "\nWhy: %s\n", r.Why)
	}
	fmt.Fprintf(stdout, "\nFrom: %s\n", r.Source)
	cases := corpus.Serving(r.ID)
	fmt.Fprintf(stdout, "\n%s:\n", report.Count(len(cases), "case"))
	for i, k := range cases {
		if i == shownCases {
			fmt.Fprintf(stdout, "  and %d more: %s certify --requirement %s runs them\n", len(cases)-i, self(), r.ID)
			break
		}
		fmt.Fprintf(stdout, "  %s\n", k.ID)
	}
	if len(cases) > 0 {
		fmt.Fprint(stdout, "\nFor example ")
		explainCase(corpus, exampleOf(cases, r.ID))
	}
}

// exampleOf picks a case that is about the requirement, where there is one.
func exampleOf(cases []fixtures.Case, id string) fixtures.Case {
	for _, k := range cases {
		if len(k.Requirements) > 0 && k.Requirements[0] == id {
			return k
		}
	}
	return cases[0]
}

func explainCase(corpus *fixtures.Corpus, k fixtures.Case) {
	fmt.Fprintf(stdout, "%s (%s)\n\n%s\n", k.ID, k.File, k.Description)
	for _, id := range k.Requirements {
		if r, ok := corpus.Requirement(id); ok {
			fmt.Fprintf(stdout, "  %s (%s) %s\n", id, r.Level, firstSentence(r.Rule))
		}
	}
	if k.Kind == schemas.KindAgent {
		tellAgentCase(stdout, k)
	} else {
		fmt.Fprintf(stdout, "\ninput\n%s\n", indented(k.Input))
	}
	if k.Expected != nil {
		fmt.Fprintf(stdout, "expected\n%s\n", indented(k.Expected))
	}
	for i, raw := range k.ExpectedAnyOf {
		fmt.Fprintf(stdout, "expected (%d of %d that would do)\n%s\n", i+1, len(k.ExpectedAnyOf), indented(raw))
	}
	for _, a := range k.Assert {
		fmt.Fprintf(stdout, "asserted: %s %s %s\n", a.Member, a.Is, a.Value)
	}
	if k.Observe {
		fmt.Fprintln(stdout, "observed: what becomes of it is reported, not judged")
	}
	for _, id := range k.Controls {
		fmt.Fprintf(stdout, "control: %s\n", id)
	}
	fmt.Fprintf(stdout, "\nrun it: %s certify --case %s\n", self(), k.ID)
}

func indented(raw json.RawMessage) string {
	var out bytes.Buffer
	if json.Indent(&out, raw, "  ", "  ") != nil {
		return "  " + string(raw)
	}
	return "  " + out.String()
}

func checkFixturesCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "check-fixtures DIR",
		Short:   "Validate a directory of fixtures by schema and by lint",
		Example: "  touchstone check-fixtures ./my-cases",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			corpus, err := corpusOf(args[0])
			if err != nil {
				return err
			}
			if own := corpus.OwnUncovered(); len(own) > 0 {
				return fmt.Errorf("%s: requirements without a case: %v", args[0], own)
			}
			fmt.Fprintf(stdout, "%s: %s, all valid\n", args[0], report.Count(len(corpus.Cases), "case"))
			return nil
		},
	}
}
