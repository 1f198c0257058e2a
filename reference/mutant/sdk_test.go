package mutant

import "testing"

// TestSDKMutants: each mutant of the SDK-side half fails exactly what it
// breaks, in cases of calls and of composition, and some case catches it.
func TestSDKMutants(t *testing.T) {
	t.Parallel() // it mostly waits
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
