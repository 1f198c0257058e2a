package mockbackend

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every operation that is served is described, and the reverse.
func TestAdminRoutesAreDescribed(t *testing.T) {
	var doc struct {
		Paths      map[string]map[string]json.RawMessage
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct{ Enum []string }
			}
		}
	}
	if err := json.Unmarshal(adminOpenAPI, &doc); err != nil {
		t.Fatal(err)
	}
	var served, described []string
	for path, methods := range adminRoutes {
		for method := range methods {
			served = append(served, method+" "+adminPrefix+path)
		}
	}
	for path, operations := range doc.Paths {
		for method := range operations {
			if method != "parameters" {
				described = append(described, strings.ToUpper(method)+" "+path)
			}
		}
	}
	slices.Sort(served)
	slices.Sort(described)
	if diff := cmp.Diff(served, described); diff != "" {
		t.Errorf("operations (-served +described):\n%s", diff)
	}

	var filters []string
	for name := range filterParameters {
		filters = append(filters, "#/components/parameters/"+name)
	}
	for _, path := range []string{"/__mock/journal", "/__mock/wait"} {
		var op struct {
			Parameters []struct {
				Ref string `json:"$ref"`
			}
		}
		if err := json.Unmarshal(doc.Paths[path]["get"], &op); err != nil {
			t.Fatal(err)
		}
		var refs []string
		for _, p := range op.Parameters {
			if p.Ref != "" {
				refs = append(refs, p.Ref)
			}
		}
		slices.Sort(refs)
		slices.Sort(filters)
		if diff := cmp.Diff(filters, refs); diff != "" {
			t.Errorf("%s: filters (-served +described):\n%s", path, diff)
		}
	}

	var types []string
	for _, p := range []problemType{
		problemMalformed, problemInvalid, problemTaken, problemTooLarge, problemParameter, problemTimeout, problemNoStub,
		problemNoEntry, problemScope, problemNoScope, problemRoute, problemMethod, problemToken, problemForeign, problemModel,
	} {
		types = append(types, problemBase+p.name)
	}
	if diff := cmp.Diff(types, doc.Components.Schemas["Problem"].Properties["type"].Enum); diff != "" {
		t.Errorf("problem types (-served +described):\n%s", diff)
	}
}
