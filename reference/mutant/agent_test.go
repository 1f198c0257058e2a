package mutant

import (
	"context"
	"encoding/json"
	"fmt"
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
// reference and its correct variants none.
func TestAgentGate(t *testing.T) {
	t.Parallel() // it mostly waits
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
	t.Logf("%d specimens", len(outcomes))
}

// TestAgentNulls: targets without any agent fail every MUST that they do not
// happen to fulfil. What passes is listed, with the reason.
func TestAgentNulls(t *testing.T) {
	corpus, err := fixtures.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	nulls := []struct {
		id, outcome string
		passes      []string
	}{
		{"agent-null-empty", `{}`, nil},
		{"agent-null-result", `{"outcome":"result","value":null}`, nil},
		{"agent-null-error", `{"outcome":"error","message":"","cause":"produce_error"}`, nil},
		{"agent-null-exception", `{"outcome":"exception","message":"","kind":"internal"}`, nil},
		// Each case of AGENT-11 wants this answer, and nothing of the model.
		{"agent-null-configuration", `{"outcome":"exception","message":"","kind":"invalid_configuration"}`, []string{"AGENT-11"}},
	}
	var specimens []gate.Specimen
	for _, n := range nulls {
		specimens = append(specimens, gate.Specimen{ID: n.id, Open: func() target.Target { return builtin.New(nullAgent(n.outcome)) }})
	}
	outcomes, err := gate.RunAgents(t.Context(), corpus, specimens, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range outcomes {
		if o.Err != nil {
			t.Errorf("%s: %v", o.Specimen.ID, o.Err)
		}
		for _, r := range corpus.Requirements {
			if !strings.HasPrefix(r.ID, "AGENT-") || r.Level != schemas.Must || slices.Contains(nulls[i].passes, r.ID) {
				continue
			}
			failed := slices.ContainsFunc(corpus.Cases, func(k fixtures.Case) bool {
				return k.Requirements[0] == r.ID && !slices.Contains(o.Passed, k.ID)
			})
			if !failed {
				t.Errorf("%s passes every case of %s", o.Specimen.ID, r.ID)
			}
		}
		if len(o.Passed) > 20 {
			t.Errorf("%s passes %d cases: %v", o.Specimen.ID, len(o.Passed), o.Passed)
		}
	}
}

// nullAgent answers every run with the same outcome.
func nullAgent(outcome string) builtin.HandlerFunc {
	return func(_ context.Context, message []byte) []byte {
		var request schemas.Request
		_ = json.Unmarshal(message, &request) // the suite sends requests
		result := outcome
		switch request.Method {
		case "describe":
			result = `{"protocol":1,"name":"null agent","version":"1","features":["agent","sub-agents","persistent-sessions","invocation-hooks","prompt-hooks"]}`
		case "configure":
			result = `{}`
		}
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":%s}`, request.ID, result)
	}
}
