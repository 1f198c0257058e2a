package mutant

import (
	"slices"
	"strings"
	"testing"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/reference/serve"
	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/gate"
	"example.com/touchstone/suite/target"
	"example.com/touchstone/suite/target/builtin"
)

func agentSpecimens(mutants []Mutant) []gate.Specimen {
	var out []gate.Specimen
	for _, m := range mutants {
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

// TestAgentGate: each mutant fails exactly the requirements that it breaks, the
// reference and its correct variants none; and every MUST is broken by one.
func TestAgentGate(t *testing.T) {
	corpus, err := fixtures.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	reference := mutant("agent-reference", "It is the reference.", func() serve.Reference { return serve.Reference{} })
	all := slices.Concat([]Mutant{reference}, AgentEquivalents(), Agents())
	outcomes, err := gate.RunAgents(t.Context(), corpus, agentSpecimens(all), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range outcomes {
		if !o.Exact() {
			t.Error(o)
		}
	}
	for _, r := range corpus.Requirements {
		broken := slices.ContainsFunc(Agents(), func(m Mutant) bool { return slices.Contains(m.Breaks, r.ID) })
		if strings.HasPrefix(r.ID, "AGENT-") && r.Level == schemas.Must && !broken {
			t.Errorf("no mutant breaks %s", r.ID)
		}
	}
	t.Logf("%d specimens", len(outcomes))
}
