package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/mockbackend"
	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/target"
)

// server is a fake that is asked over MCP.
type server struct {
	*fake
	operations []string
	called     []string
}

func (s *server) Describe(ctx context.Context) (schemas.DescribeResult, error) {
	d, err := s.fake.Describe(ctx)
	d.Operations = s.operations
	return d, err
}

func (s *server) CallTool(_ context.Context, call schemas.ToolCall) (target.Answer, error) {
	s.called = append(s.called, fmt.Sprintf("%s %s", call.Name, call.Arguments))
	return answered(`{"error":"unknown_argument","message":"name is missing","retryable":false}`)
}

// relaying calls the backend for get_order, as it should be.
func relaying(ctx context.Context, backend string, params schemas.InvokeParams) (target.Answer, error) {
	var order struct{ ID int64 }
	if err := json.Unmarshal(params.Arguments, &order); err != nil {
		return target.Answer{}, err
	}
	status, body, err := ask(ctx, fmt.Sprintf("%s/orders/%d", backend, order.ID))
	if err != nil {
		return target.Answer{}, err
	}
	return answered(fmt.Sprintf(`{"status":%d,"body":%s}`, status, body))
}

func overMCP(t *testing.T, s *server) (*Engine, error) {
	t.Helper()
	corpus, err := fixtures.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	backend, err := mockbackend.Start(mockbackend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = backend.Close() })
	return New(t.Context(), corpus, s, backend, Options{})
}

// TestPreflight: a server whose calls do not reach the backend is told so, and
// what to check.
func TestPreflight(t *testing.T) {
	features := []string{schemas.FeatureMetaTools, schemas.FeatureMCP}
	for name, tc := range map[string]struct {
		server *server
		want   []string
	}{
		"it works": {&server{fake: &fake{features: features, invoked: relaying}}, nil},
		"another backend": {
			&server{fake: &fake{features: features, invoked: func(context.Context, string, schemas.InvokeParams) (target.Answer, error) {
				return answered(`{"error":"internal_error","message":"no backend","retryable":false}`)
			}}},
			[]string{"does not reach the mock backend", "received no request", "TOUCHSTONE_BACKEND_URL", "--mock-addr", "no backend"},
		},
		"another path": {
			&server{fake: &fake{features: features, invoked: func(ctx context.Context, backend string, _ schemas.InvokeParams) (target.Answer, error) {
				_, _, err := ask(ctx, backend+"/v1/orders")
				return target.Answer{Envelope: []byte(`{"status":404}`)}, err
			}}},
			[]string{"received GET /v1/orders instead"},
		},
		"no get_order": {
			&server{fake: &fake{features: features, invoked: relaying}, operations: []string{"create_order"}},
			[]string{"has no operation get_order", "--operation get_order="},
		},
	} {
		_, err := overMCP(t, tc.server)
		var broken *BrokenError
		if tc.want == nil && err != nil || tc.want != nil && !errors.As(err, &broken) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, text := range tc.want {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v\ndoes not say %q", name, err, text)
			}
		}
	}
}

// TestNotOverMCP: a case that cannot be asked over MCP, or of an operation that
// the server does not have, is not applicable and says why.
func TestNotOverMCP(t *testing.T) {
	e, err := overMCP(t, &server{
		fake:       &fake{features: []string{schemas.FeatureMetaTools, schemas.FeatureMCP}, invoked: relaying},
		operations: []string{"get_order"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		"carrier/arguments/null":                "the target has no operation list_orders",
		"carrier/flag/refusal":                  `cannot be expressed over MCP: needs "error-flag"`,
		"benign/at-end/field":                   "the target has no operation create_order",
		"benign/at-end/message":                 "",
		"sdk/refuse/retryable/unknown-argument": `cannot be expressed over MCP: it is asked through "refuse" only`,
		"carrier/arguments/text-object":         "",
		"carrier/meta-arguments/load-no-name":   "",
	} {
		k, ok := e.corpus.Case(id)
		if !ok {
			t.Fatalf("there is no case %s", id)
		}
		if _, reason := e.Applicable(k); reason != want {
			t.Errorf("%s: %q, want %q", id, reason, want)
		}
	}
}

// TestMetaArguments: the arguments of a meta-tool are sent as the case has them.
func TestMetaArguments(t *testing.T) {
	s := &server{fake: &fake{features: []string{schemas.FeatureMetaTools, schemas.FeatureMCP}, invoked: relaying}}
	e, err := overMCP(t, s)
	if err != nil {
		t.Fatal(err)
	}
	k, _ := e.corpus.Case("carrier/meta-arguments/invoke-name-misnamed")
	result, err := e.Run(t.Context(), k)
	if err != nil || result.Status != schemas.Pass {
		t.Errorf("%+v (%v)", result, err)
	}
	if diff := cmp.Diff([]string{`invoke_tool {"tool": "get_order", "arguments": {"id": 1}}`}, s.called); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOwnLimits: a case whose limits are those the run has needs no way to set them.
func TestOwnLimits(t *testing.T) {
	const guarded = `{"kind":"cases","about":"x","cases":[{"kind":"calls","id":"guarded","requirements":["GUARD-01"],"description":"x",
		"input":{"settings":{"maxResponseBytes":2000},"calls":[{"invoke":{"name":"get_order","arguments":{}},"assert":[{"member":"status","is":"present"}]}]}}]}`
	for limit, applies := range map[int64]bool{2000: true, 2001: false, 0: false} {
		e, corpus := newEngine(t, &fake{invoked: relaying}, Options{MaxResponseBytes: limit}, guarded)
		k, _ := corpus.Case("guarded")
		if ways, reason := e.Applicable(k); (len(ways) > 0) != applies {
			t.Errorf("with a limit of %d: %v %q", limit, ways, reason)
		}
	}
}

// TestSampleOperations: the list is that of the document.
func TestSampleOperations(t *testing.T) {
	document, err := openapi3.NewLoader().LoadFromData(mockbackend.OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, item := range document.Paths.Map() {
		for _, op := range item.Operations() {
			want = append(want, op.OperationID)
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(schemas.SampleOperations()))); diff != "" {
		t.Errorf("(-document +list):\n%s", diff)
	}
}
