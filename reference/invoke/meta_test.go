package invoke_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/touchstone/reference/catalog"
	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/reference/invoke"
	"example.com/touchstone/schemas"
)

func TestMetaToolArguments(t *testing.T) {
	l := newLayer(t, "http://127.0.0.1:1", nil)
	ctx := t.Context()
	search := func(raw string) invoke.Answer { return l.SearchTools(ctx, json.RawMessage(raw)) }
	load := func(raw string) invoke.Answer { return l.LoadTool(ctx, json.RawMessage(raw)) }
	call := func(raw string) invoke.Answer { return l.InvokeTool(ctx, json.RawMessage(raw)) }
	for _, test := range []struct {
		tool      func(string) invoke.Answer
		arguments string
		message   string
	}{
		{search, ``, "Argument 'query' of search_tools is missing: a string."},
		{search, `null`, "Argument 'query' of search_tools is missing: a string."},
		{search, `{}`, "Argument 'query' of search_tools is missing: a string."},
		{search, `{"query":null}`, "Argument 'query' of search_tools is missing: a string."},
		{search, `{"query":7}`, "Argument 'query' of search_tools must be a string."},
		{search, `{"q":"x"}`, "Unknown argument(s): q. Allowed: query, limit."},
		{search, `{"query":"x","limit":"3"}`, "Argument 'limit' of search_tools must be an integer of at least 1."},
		{search, `{"query":"x","limit":0}`, "Argument 'limit' of search_tools must be an integer of at least 1."},
		{search, `{"query":"x","limit":1.5}`, "Argument 'limit' of search_tools must be an integer of at least 1."},
		{load, `{}`, "Argument 'name' of load_tool is missing: a string."},
		{load, `{"tool":"get_order"}`, "Unknown argument(s): tool. Allowed: name."},
		{load, `{"name":["get_order"]}`, "Argument 'name' of load_tool must be a string."},
		{load, `"get_order"`, "The arguments of load_tool must be an object with: name."},
		{load, `[]`, "The arguments of load_tool must be an object with: name."},
		{load, `{`, "The arguments of load_tool must be an object with: name."},
		{call, `{}`, "Argument 'name' of invoke_tool is missing: a string."},
		{call, `{"name":"get_order"}`, "Argument 'arguments' of invoke_tool is missing: an object."},
		{call, `{"name":"get_order","args":{}}`, "Unknown argument(s): args. Allowed: name, arguments, version."},
		{call, `{"name":7,"arguments":{}}`, "Argument 'name' of invoke_tool must be a string."},
		{call, `{"name":"get_order","arguments":{},"version":7}`, "Argument 'version' of invoke_tool must be a string."},
	} {
		wantRefusal(t, test.tool(test.arguments), "unknown_argument", test.message)
	}
}

func TestLoad(t *testing.T) {
	l := newLayer(t, "http://127.0.0.1:1", nil)
	op, _ := l.Catalog.Lookup("delete_order")
	wantText(t, l.LoadTool(t.Context(), json.RawMessage(`{"name":"delete_order"}`)),
		`{"name":"delete_order","description":"Deletes an order for good.","inputSchema":{"type":"object","properties":{"id":{"description":"Number of the order.","type":"integer","format":"int64"}},"required":["id"],"additionalProperties":false},"version":"`+op.Version+`"}`)
	wantRefusal(t, l.LoadTool(t.Context(), json.RawMessage(`{"name":"nope"}`)), "unknown_tool", "No operation named 'nope'. Use search_tools to find the exact name.")
	if a := l.LoadTool(t.Context(), json.RawMessage(`{"name":"tenant_report"}`)); strings.Contains(string(a.Text), "tenantId") {
		t.Errorf("the hidden argument shows: %s", a.Text)
	}
}

func TestSearch(t *testing.T) {
	l := newLayer(t, "http://127.0.0.1:1", nil)
	wantText(t, l.SearchTools(t.Context(), json.RawMessage(`{"query":"delete an order","limit":1}`)), `{"tools":[{"name":"delete_order","description":"Delete an order"}]}`)
	wantText(t, l.SearchTools(t.Context(), json.RawMessage(`{"query":"invoices"}`)), `{"tools":[]}`)
	var found struct{ Tools []struct{ Name string } }
	for query, want := range map[string]int{`{"query":""}`: 10, `{"query":"","limit":3}`: 3, `{"query":"","limit":1e9}`: len(l.Catalog.Operations())} {
		if err := json.Unmarshal(l.SearchTools(t.Context(), json.RawMessage(query)).Text, &found); err != nil {
			t.Fatal(err)
		}
		if len(found.Tools) != want {
			t.Errorf("%s gives %d operations, want %d", query, len(found.Tools), want)
		}
	}
}

func TestRankers(t *testing.T) {
	hung := make(chan struct{})
	t.Cleanup(func() { close(hung) })
	ranker := func(names []string, err error) catalog.RankerFunc {
		return func(context.Context, string, *catalog.Catalog) ([]string, error) { return names, err }
	}
	const own = `{"tools":[{"name":"delete_order","description":"Delete an order"}]}`
	for _, test := range []struct {
		name   string
		ranker catalog.Ranker
		want   string // "" for a failure
	}{
		{"answers", ranker([]string{"get_session", "export_orders"}, nil), `{"tools":[{"name":"get_session","description":"Get the session"}]}`},
		{"finds nothing", ranker(nil, nil), `{"tools":[]}`},
		{"fails", ranker([]string{"get_session"}, errors.New("away")), ""},
		{"names the unknown", ranker([]string{"get_session", "get_sessions"}, nil), ""},
		{"repeats itself", ranker([]string{"get_session", "get_session"}, nil), ""},
		{"panics", catalog.RankerFunc(func(context.Context, string, *catalog.Catalog) ([]string, error) { panic("away") }), ""},
		{"hangs", catalog.RankerFunc(func(ctx context.Context, _ string, _ *catalog.Catalog) ([]string, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}), ""},
		{"hangs for good", catalog.RankerFunc(func(context.Context, string, *catalog.Catalog) ([]string, error) {
			<-hung
			return []string{"get_session"}, nil
		}), ""},
	} {
		for _, onFailure := range []invoke.RankerFailure{invoke.FallBack, invoke.RefuseSearch} {
			l := invoke.New(invoke.Config{
				Catalog: sample(t, false), BackendURL: "http://127.0.0.1:1", Limits: invoke.DefaultLimits(),
				Host: invoke.Host{Ranker: test.ranker, OnRankerFailure: onFailure},
			})
			l.Limits.RankerTimeout = 20 * time.Millisecond
			a := l.SearchTools(t.Context(), json.RawMessage(`{"query":"delete","limit":1}`))
			t.Log(test.name, onFailure)
			switch {
			case test.want != "":
				wantText(t, a, test.want)
			case onFailure == invoke.FallBack:
				wantText(t, a, own)
			default:
				wantText(t, a, `{"error":"search_ranker_unavailable","message":"Search is unavailable: the ranker did not answer this query. Call search_tools again later.","retryable":true}`)
			}
		}
	}
}

// TestPanics has a layer whose own parts fail.
func TestPanics(t *testing.T) {
	mock := startMock(t)
	const withheld = "The call failed inside the tool layer. Details were withheld."
	for _, test := range []struct {
		name    string
		edit    func(*invoke.Policy)
		message string
	}{
		{"map", func(p *invoke.Policy) {
			p.Map = func(*envelope.Mapper, envelope.Response, envelope.FieldContext) schemas.Envelope {
				panic("lost the table")
			}
		}, "lost the table"},
		{"map, leaking", func(p *invoke.Policy) {
			p.Map = func(*envelope.Mapper, envelope.Response, envelope.FieldContext) schemas.Envelope {
				panic(errors.New("cannot open /etc/layer/table"))
			}
		}, withheld},
		{"measure", func(p *invoke.Policy) { p.Measure = func([]byte) int64 { panic("lost the ruler") } }, "lost the ruler"},
		{"step", func(p *invoke.Policy) {
			p.Steps[0].Run = func(context.Context, *invoke.Layer, *invoke.Call) error { return errors.New("lost the index") }
		}, "lost the index"},
		{"no response", func(p *invoke.Policy) { p.Steps = p.Steps[:1] }, "runtime error: invalid memory address or nil pointer dereference"},
		{"body that is not JSON", func(p *invoke.Policy) {
			p.Map = func(*envelope.Mapper, envelope.Response, envelope.FieldContext) schemas.Envelope {
				return &schemas.Success{Status: 200, Body: json.RawMessage("{")}
			}
		}, "encoding an envelope: json: error calling MarshalJSON for type json.RawMessage: unexpected end of JSON input"},
	} {
		policy := invoke.DefaultPolicy()
		test.edit(policy)
		l := newLayer(t, mock.URL(), func(c *invoke.Config) { c.Policy = policy })
		t.Log(test.name)
		wantRefusal(t, call(t.Context(), l, "get_order", `{"id":1}`), "internal_error", test.message)
	}
}
