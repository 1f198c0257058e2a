package invoke_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"example.com/touchstone/mockbackend"
	"example.com/touchstone/reference/catalog"
	"example.com/touchstone/reference/compose"
	"example.com/touchstone/reference/invoke"
	"example.com/touchstone/schemas"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

func startMock(t testing.TB) *mockbackend.Server {
	t.Helper()
	mock, err := mockbackend.Start(mockbackend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := mock.Close(); err != nil {
			t.Errorf("closing the mock backend: %v", err)
		}
	})
	return mock
}

// respond programs the mock backend.
func respond(t testing.TB, mock *mockbackend.Server, method, path, response string) {
	t.Helper()
	stub, err := mockbackend.DecodeStub(fmt.Appendf(nil, `{"match":{"method":%q,"path":%q},"respond":%s}`, method, path, response))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mock.Add(stub); err != nil {
		t.Fatal(err)
	}
}

// sample is the catalog of the mock backend's own API, as a host curates it.
func sample(t testing.TB, fileRefs bool) *catalog.Catalog {
	t.Helper()
	operations, err := catalog.FromOpenAPI(mockbackend.OpenAPI(), catalog.Options{FileRefs: fileRefs, Curations: []catalog.Curation{{
		Operation: "tenant_report", Argument: "tenantId", Fill: &compose.Fill{Kind: compose.FillDeferred, Source: "tenant"},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	operations = append(operations, catalog.Operation{Name: "legacy_report"}, catalog.Operation{Name: "tagged", Template: &compose.Template{
		Method: "GET", Route: "/tagged", Parameters: []compose.Parameter{
			{Field: compose.Field{Name: "raw"}, In: compose.InCookie, Style: compose.StyleCookie},
			{Field: compose.Field{Name: "n", Type: compose.TypeInteger}, In: compose.InQuery},
		},
	}})
	c, err := catalog.New(operations)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newLayer makes a layer over a backend; edit changes what it is made of.
func newLayer(t testing.TB, backend string, edit func(*invoke.Config)) *invoke.Layer {
	t.Helper()
	config := invoke.Config{BackendURL: backend, Limits: invoke.DefaultLimits()}
	config.Limits.Timeout = patience
	if edit != nil {
		edit(&config)
	}
	if config.Catalog == nil {
		config.Catalog = sample(t, config.Host.Files != nil)
	}
	l := invoke.New(config)
	t.Cleanup(l.Close)
	return l
}

// call invokes an operation.
func call(ctx context.Context, l *invoke.Layer, name, arguments string) invoke.Answer {
	return l.InvokeTool(ctx, fmt.Appendf(nil, `{"name":%q,"arguments":%s}`, name, arguments))
}

// wantText compares an answer with its text, and checks the flag that goes with it.
func wantText(t testing.TB, a invoke.Answer, want string) {
	t.Helper()
	if diff := cmp.Diff(want, string(a.Text)); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	checkShape(t, a)
}

// wantRefusal compares an answer with a refusal.
func wantRefusal(t testing.TB, a invoke.Answer, code schemas.SDKCode, message string) {
	t.Helper()
	want := &schemas.SDKError{Error: code, Message: message}
	if diff := cmp.Diff(schemas.Envelope(want), a.Envelope); diff != "" {
		t.Errorf("refusal (-want +got):\n%s", diff)
	}
	checkShape(t, a)
}

// checkShape validates an answer against the schema of its kind.
func checkShape(t testing.TB, a invoke.Answer) {
	t.Helper()
	var schema schemas.Ref
	failed := true
	switch a.Envelope.(type) {
	case *schemas.Success:
		schema, failed = schemas.SuccessSchema, false
	case *schemas.BackendError:
		schema = schemas.BackendErrorSchema
	case *schemas.SDKError:
		schema = schemas.SDKErrorSchema
	default:
		if failed = false; !json.Valid(a.Text) {
			t.Errorf("%s is not JSON", a.Text)
		}
	}
	if schema != "" {
		if err := schemas.Check(schema, a.Text); err != nil {
			t.Errorf("%s: %v", a.Text, err)
		}
	}
	if a.IsError() != failed {
		t.Errorf("%s: IsError is %v", a.Text, a.IsError())
	}
}

// received are the requests that the mock backend has seen, each "METHOD target".
func received(mock *mockbackend.Server) []string {
	var list []string
	for _, e := range mock.Journal().Entries(mockbackend.Filter{}) {
		list = append(list, e.Method+" "+e.Target)
	}
	return list
}
