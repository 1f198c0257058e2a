package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/mockbackend"
	"example.com/touchstone/reference/serve"
	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/engine"
	"example.com/touchstone/suite/target"
	"example.com/touchstone/suite/target/open"
)

// thinned is set under the race detector, where every case over every driver
// takes too long.
var thinned = false

// TestOneVerdict: what a case finds does not depend on the driver. The reference
// and three mutants are asked over all five; wherever a case applies over two
// of them, in the same way of running it, they find the same. The mutants are
// asked every third case of mapping.
func TestOneVerdict(t *testing.T) {
	for id, finds := range map[string]bool{
		"": false, "code-403-lost": true, "leak-root-home-lost": true, "unknown-argument-dropped": true,
	} {
		t.Run("reference "+id, func(t *testing.T) {
			t.Parallel()
			first := resultsOver(t, "builtin", id)
			if found := first.findings > 0; found != finds {
				t.Errorf("%d findings over builtin", first.findings)
			}
			for _, driver := range []string{"exec", "http", "mcp+exec", "mcp+http"} {
				other := resultsOver(t, driver, id)
				common := 0
				for key, found := range other.byRun {
					expected, applies := first.byRun[key]
					if !applies {
						continue
					}
					common++
					if diff := cmp.Diff(expected, found); diff != "" {
						t.Errorf("%s (-builtin +%s):\n%s", key, driver, diff)
					}
				}
				if common < 300 || first.findings > 0 && other.findings == 0 {
					t.Errorf("over %s %d runs are comparable, and %d findings were made", driver, common, other.findings)
				}
				t.Logf("%s: %d comparable runs, %d findings", driver, common, other.findings)
			}
		})
	}
}

// results are the findings of each run of a case, by case and way.
type results struct {
	byRun    map[string][]string
	findings int
}

// resultsOver runs the cases that can be asked of an MCP server over a driver.
func resultsOver(t *testing.T, driver, id string) results {
	t.Helper()
	backend, err := mockbackend.Start(mockbackend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Close()
	judged := openOver(t, driver, id, backend.URL())
	defer func() {
		if err := judged.Close(); err != nil {
			t.Errorf("closing %s: %v", driver, err)
		}
	}()
	corpus, err := fixtures.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(t.Context(), corpus, judged, backend, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	every := 1
	switch {
	case thinned:
		every = 9
	case id != "":
		every = 3
	}
	out := results{byRun: map[string][]string{}}
	for i, k := range corpus.Cases {
		mapping := k.Kind == schemas.KindErrorMapping
		if !mapping && k.Kind != schemas.KindCalls || mapping && (k.MaxMs > 0 || i%every != 0) {
			continue // agents and compositions never go over MCP, and large texts take their time
		}
		if k.Kind == schemas.KindCalls && needsLimits(k) {
			continue
		}
		result, err := e.Run(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		for _, run := range result.Runs {
			found := []string{}
			for _, f := range run.Findings {
				found = append(found, f.Requirement+" "+f.Member)
				out.findings++
			}
			slices.Sort(found)
			out.byRun[k.ID+" via "+run.Via] = found
		}
	}
	return out
}

// needsLimits says whether a case of calls changes settings: it waits, and it
// never goes over MCP.
func needsLimits(k fixtures.Case) bool {
	var in schemas.CallsInput
	return json.Unmarshal(k.Input, &in) != nil || len(in.Settings) > 0
}

func openOver(t *testing.T, driver, id, backendURL string) target.Target {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	settings := schemas.ConfigureParams{BackendURL: backendURL, OpenAPIURL: backendURL + "/openapi.json"}
	options := open.Options{Settings: settings}
	spec := driver
	switch driver {
	case "builtin":
		handler := serve.New(referenceOf(id))
		t.Cleanup(handler.Close)
		options.Builtin = handler
	case "http":
		handler := serve.New(referenceOf(id))
		listener := httptest.NewServer(handler)
		t.Cleanup(func() { listener.Close(); handler.Close() })
		spec = listener.URL
	case "mcp+http":
		server, err := newServer(id, backendURL)
		if err != nil {
			t.Fatal(err)
		}
		listener := httptest.NewServer(server.HTTPHandler())
		t.Cleanup(func() { listener.Close(); server.Close() })
		spec = "mcp+" + listener.URL
	default:
		how := map[string]string{"exec": "lines", "mcp+exec": "mcp"}[driver]
		options.Env = append(target.Environ(settings), fmt.Sprintf("%s=%s:%s", serveAs, how, id))
		spec = driver + ":" + strconv.Quote(self)
	}
	judged, err := open.Open(context.WithoutCancel(t.Context()), spec, options)
	if err != nil {
		t.Fatal(err)
	}
	return judged
}
