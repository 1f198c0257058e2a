package mutant

import (
	"slices"
	"strings"
	"testing"

	"example.com/touchstone/schemas"
)

// TestSDKMutants: each mutant of the SDK-side half fails exactly what it
// breaks, in cases of calls and of composition, and some case catches it.
func TestSDKMutants(t *testing.T) {
	outcomes := pass(t, sample(t, specimens(sdkMutants())))
	for _, o := range outcomes {
		for _, id := range o.Specimen.Breaks {
			if len(o.Killers[id]) == 0 {
				t.Errorf("%s: no case catches it under %s", o.Specimen.ID, id)
			}
		}
	}
	t.Logf("%d mutants", len(outcomes))
}

// TestEverySDKMustHasAMutant holds the catalogue's other sections to the same.
func TestEverySDKMustHasAMutant(t *testing.T) {
	broken := map[string]bool{}
	for _, m := range sdkMutants() {
		for _, id := range m.Breaks {
			broken[id] = true
		}
	}
	for _, r := range corpus(t).Requirements {
		section, _, _ := strings.Cut(r.ID, "-")
		// What only an MCP server can show has mutants of its own.
		if slices.Contains([]string{"SDK", "GUARD"}, section) && r.Level == schemas.Must && !broken[r.ID] {
			t.Errorf("no mutant breaks %s", r.ID)
		}
	}
}
