package mutant

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/reference/serve"
	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/gate"
	"example.com/touchstone/suite/target"
	"example.com/touchstone/suite/target/builtin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sampled is set where the race detector makes the whole gate take too long.
var sampled = false

const sampleOf = 25

func specimenOf(m Mutant) gate.Specimen {
	return gate.Specimen{
		ID: m.ID, Doc: m.Doc, Breaks: m.Breaks, OverTheWire: m.OverTheWire, Calls: m.Calls,
		Open: func() target.Target { return gate.Direct(serve.New(m.New())) },
	}
}

func specimens(mutants []Mutant) []gate.Specimen {
	var out []gate.Specimen
	for _, m := range mutants {
		out = append(out, specimenOf(m))
	}
	return out
}

// sample takes every so many of a list, where all would take too long.
func sample(t *testing.T, all []gate.Specimen) []gate.Specimen {
	if !sampled {
		return all
	}
	var some []gate.Specimen
	for i := 0; i < len(all); i += sampleOf {
		some = append(some, all[i])
	}
	t.Logf("under the race detector: %d of %d specimens, the whole gate runs without it", len(some), len(all))
	return some
}

func corpus(t *testing.T) *fixtures.Corpus {
	t.Helper()
	c, err := fixtures.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// pass runs specimens and reports those that do not come out as they must.
func pass(t *testing.T, specimens []gate.Specimen) []gate.Outcome {
	t.Helper()
	outcomes, err := gate.Run(t.Context(), corpus(t), specimens, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range outcomes {
		if !o.Green() {
			t.Error(o)
		}
	}
	return outcomes
}

// TestReference: the reference fails nothing, through every way it claims.
func TestReference(t *testing.T) {
	pass(t, []gate.Specimen{specimenOf(Mutant{ID: "reference", OverTheWire: true, New: func() serve.Reference { return serve.Reference{} }})})
}

// TestMutants: each mutant of the mapping fails exactly what it breaks.
func TestMutants(t *testing.T) {
	mutants := slices.DeleteFunc(All(), func(m Mutant) bool { return m.Calls })
	outcomes := pass(t, sample(t, specimens(mutants)))
	for _, o := range outcomes {
		for _, id := range o.Specimen.Breaks {
			if len(o.Killers[id]) == 0 {
				t.Errorf("%s: no case catches it under %s", o.Specimen.ID, id)
			}
		}
	}
	t.Logf("%d mutants", len(outcomes))
}

// TestEveryRequirementHasAMutant: whatever a case is about, something is broken
// that the case should catch.
func TestEveryRequirementHasAMutant(t *testing.T) {
	broken := map[string]bool{}
	for _, m := range slices.Concat(All(), Agents(), MCP()) {
		for _, id := range m.Breaks {
			broken[id] = true
		}
	}
	for _, r := range corpus(t).Requirements {
		if r.Level != schemas.Info && !broken[r.ID] {
			t.Errorf("no mutant breaks %s (%s)", r.ID, r.Level)
		}
	}
}

// TestEquivalents: a correct implementation that differs where the rules leave
// room certifies.
func TestEquivalents(t *testing.T) {
	all := Equivalents()
	if len(all) < 15 {
		t.Errorf("%d equivalents, want 15 or more", len(all))
	}
	pass(t, sample(t, specimens(all)))
}

// TestSpacedMessages: white space in the messages of the protocol says nothing.
func TestSpacedMessages(t *testing.T) {
	handler := serve.New(serve.Reference{})
	spaced := func(ctx context.Context, message []byte) []byte {
		var out bytes.Buffer
		if err := json.Indent(&out, handler.Handle(ctx, message), " ", "\t"); err != nil {
			t.Error(err)
		}
		return append([]byte(" \t"), append(out.Bytes(), " \r"...)...)
	}
	pass(t, []gate.Specimen{{ID: "spaced", Open: func() target.Target { return builtin.New(builtin.HandlerFunc(spaced)) }}})
}

// TestEquivalentsOverTheWire: that holds for calls over HTTP too.
func TestEquivalentsOverTheWire(t *testing.T) {
	var some []gate.Specimen
	for i, m := range Equivalents() {
		if i%16 == 0 {
			m.OverTheWire = true
			some = append(some, specimenOf(m))
		}
	}
	pass(t, sample(t, some))
}

func TestMutantsAreDescribed(t *testing.T) {
	kebab := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	known := corpus(t).RequirementIDs()
	seen := map[string]bool{"reference": true}
	check := func(id, doc string) {
		if !kebab.MatchString(id) || seen[id] {
			t.Errorf("mutant %q: an id is in kebab case and stands once", id)
		}
		seen[id] = true
		if doc == "" || !strings.HasSuffix(doc, ".") || strings.Contains(doc, "\n") {
			t.Errorf("mutant %s: its doc is no sentence: %q", id, doc)
		}
	}
	for _, m := range append(All(), Equivalents()...) {
		check(m.ID, m.Doc)
		for _, id := range m.Breaks {
			if !slices.Contains(known, id) {
				t.Errorf("mutant %s breaks %s, which is no requirement", m.ID, id)
			}
		}
	}
	for _, m := range All() {
		if len(m.Breaks) == 0 {
			t.Errorf("mutant %s breaks nothing", m.ID)
		}
	}
	for _, n := range Nulls() {
		check(n.ID, n.Doc)
	}
}

// TestMessagesChangeNothing: a mutant asked by messages fails on the same cases
// as one that is called.
func TestMessagesChangeNothing(t *testing.T) {
	ids := []string{"shape-null-fields-backend-error", "success-json-as-text", "leak-root-home-lost", "field-once", "reference-x-request-id-lost", "shape-backend-code-on-sdk-error"}
	var pairs []gate.Specimen
	for _, m := range All() {
		if !slices.Contains(ids, m.ID) {
			continue
		}
		called, asked := specimenOf(m), specimenOf(m)
		asked.ID += " by messages"
		asked.Open = func() target.Target { return builtin.New(serve.New(m.New())) }
		pairs = append(pairs, called, asked)
	}
	if len(pairs) != 2*len(ids) {
		t.Fatalf("%d of the mutants %v exist", len(pairs)/2, ids)
	}
	if sampled {
		pairs = pairs[:2]
	}
	outcomes := pass(t, pairs)
	for i := 0; i < len(outcomes); i += 2 {
		if diff := cmp.Diff(outcomes[i].Killers, outcomes[i+1].Killers); diff != "" {
			t.Errorf("%s (-called +asked by messages):\n%s", outcomes[i].Specimen.ID, diff)
		}
	}
}

// TestGateNotices: a mutant under a false name is not green.
func TestGateNotices(t *testing.T) {
	lost := specimenOf(All()[slices.IndexFunc(All(), func(m Mutant) bool { return m.ID == "code-403-lost" })])
	reference := func() target.Target { return gate.Direct(serve.New(serve.Reference{})) }
	for _, wrong := range []struct {
		name string
		edit func(s *gate.Specimen)
	}{
		{"breaks more than it says", func(s *gate.Specimen) { s.Breaks = nil }},
		{"breaks less than it says", func(s *gate.Specimen) { s.Breaks = append(s.Breaks, "LEAK-01") }},
		{"breaks something else", func(s *gate.Specimen) { s.Breaks = []string{"CODE-04"} }},
		{"survives", func(s *gate.Specimen) { s.Open = reference }},
		{"a null target that certifies", func(s *gate.Specimen) { s.Null, s.Open = true, reference }},
	} {
		s := lost
		s.Breaks = slices.Clone(lost.Breaks)
		wrong.edit(&s)
		outcomes, err := gate.Run(t.Context(), corpus(t), []gate.Specimen{s}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if outcomes[0].Green() {
			t.Errorf("%s: the gate is green:\n%v", wrong.name, outcomes[0])
		}
		if text := fmt.Sprint(outcomes[0]); !strings.Contains(text, lost.ID) {
			t.Errorf("%s: the outcome does not name the mutant:\n%s", wrong.name, text)
		}
	}
}
