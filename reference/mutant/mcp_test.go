package mutant

import (
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/mockbackend"
	"example.com/touchstone/reference/invoke"
	"example.com/touchstone/reference/serve"
	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/engine"
	"example.com/touchstone/suite/target/mcp"
)

// TestMCPMutants: each mutant of the carrier fails exactly what it breaks, over
// the cases that apply to an MCP server; the reference fails none.
func TestMCPMutants(t *testing.T) {
	all := append(MCP(), Mutant{ID: "mcp-reference", New: func() serve.Reference { return serve.Reference{} }})
	for i, m := range all {
		if sampled && i%4 != 0 {
			continue
		}
		t.Run(m.ID, func(t *testing.T) {
			t.Parallel()
			failed := failedOverMCP(t, m)
			if diff := cmp.Diff(slices.Sorted(slices.Values(m.Breaks)), failed); diff != "" {
				t.Errorf("%s (-breaks +failed):\n%s", m.Doc, diff)
			}
		})
	}
}

// failedOverMCP certifies a reference as an MCP server over HTTP, and gives the
// requirements with findings.
func failedOverMCP(t *testing.T, m Mutant) []string {
	t.Helper()
	backend, err := mockbackend.Start(mockbackend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Close()
	server, err := serve.NewMCP(m.New(), serve.MCPOptions{
		Document: mockbackend.OpenAPI(), BackendURL: backend.URL(), Limits: invoke.DefaultLimits(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	listener := httptest.NewServer(server.HTTPHandler())
	defer listener.Close()
	judged, err := mcp.Dial(t.Context(), listener.URL, mcp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer judged.Close()
	e, err := engine.New(t.Context(), corpus(t), judged, backend, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var failed []string
	ran, every := 0, 5 // a carrier does not tell one mapping from another
	switch {
	case sampled:
		every = sampleOf
	case len(m.Breaks) == 0:
		every = 1
	}
	for i, k := range corpus(t).Cases {
		if k.Kind == schemas.KindErrorMapping && i%every != 0 {
			continue
		}
		result, err := e.Run(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		ran += len(result.Runs)
		for _, run := range result.Runs {
			for _, f := range run.Findings {
				if !slices.Contains(failed, f.Requirement) {
					failed = append(failed, f.Requirement)
				}
				if !slices.Contains(m.Breaks, f.Requirement) {
					t.Errorf("%s under %s: %s", k.ID, f.Requirement, f.Problem)
				}
			}
		}
	}
	if ran < 100 {
		t.Errorf("%d runs: the cases do not apply", ran)
	}
	slices.Sort(failed)
	return failed
}
