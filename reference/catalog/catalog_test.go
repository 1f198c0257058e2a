package catalog_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/reference/catalog"
	"example.com/touchstone/reference/compose"
	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/schemas"
)

func TestNew(t *testing.T) {
	c, err := catalog.New([]catalog.Operation{{Name: "b"}, {Name: "a", Template: &compose.Template{Method: "GET", Route: "/a"}}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b", "a"}, names(c.Operations())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if op, ok := c.Lookup("a"); !ok || op.Name != "a" || op.Template == nil {
		t.Errorf("got %+v, %v", op, ok)
	}
	for _, name := range []string{"", "A", "a ", "c"} {
		if op, ok := c.Lookup(name); ok {
			t.Errorf("%q is %+v", name, op)
		}
	}

	_, err = catalog.New([]catalog.Operation{
		{Name: "a", Template: &compose.Template{Method: "GET", Route: "a"}}, {Name: " ", Method: "GET", Path: "/x"}, {Name: "a"},
	})
	want := "making the catalog: operation \"a\": route \"a\" is not an encoded path\noperation GET /x has no name\ntwo operations are called \"a\""
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestVersion has the digest of `1:a0:2:A.62:{...}`, made with sha256sum.
func TestVersion(t *testing.T) {
	version := func(op catalog.Operation) string {
		c, err := catalog.New([]catalog.Operation{op})
		if err != nil {
			t.Fatal(err)
		}
		return c.Operations()[0].Version
	}
	base := catalog.Operation{Name: "a", Description: "A."}
	if got := version(base); got != "bf47e37f7f5b679b" {
		t.Errorf("got %s", got)
	}
	unseen := base
	unseen.Template = &compose.Template{Method: "GET", Route: "/a"}
	unseen.Diagnostics = []string{"x"}
	unseen.Method, unseen.Path = "GET", "/a"
	if version(unseen) != version(base) {
		t.Error("the version changed with what no agent sees")
	}
	for _, edit := range []func(*catalog.Operation){
		func(op *catalog.Operation) { op.Name = "b" },
		func(op *catalog.Operation) { op.Summary = "A." },
		func(op *catalog.Operation) { op.Summary, op.Description = "A.", "" },
		func(op *catalog.Operation) { op.Description = "B." },
		func(op *catalog.Operation) { op.InputSchema = json.RawMessage(`{}`) },
	} {
		changed := base
		edit(&changed)
		if version(changed) == version(base) {
			t.Errorf("%+v has the version of %+v", changed, base)
		}
	}
}

// TestFields maps what a backend says of the fields of a curated operation.
func TestFields(t *testing.T) {
	op := only(t, document(`
  /a/{tenant}:
    post:
      operationId: op
      parameters:
        - {name: tenant, in: path, required: true, schema: {type: string}}
        - {name: q, in: query, schema: {type: string}}
      requestBody:
        content: {application/json: {schema: {type: object, properties: {Quantity: {type: integer}, owner: {type: string}}}}}
      responses: {}
`), catalog.Options{Curations: []catalog.Curation{
		{Operation: "op", Argument: "tenant", Fill: &compose.Fill{Kind: compose.FillDeferred, Source: "t"}},
		{Operation: "op", Argument: "q", As: "keyword"},
		{Operation: "op", Argument: "owner", Fill: &compose.Fill{Kind: compose.FillConstant, Value: json.RawMessage(`"a"`)}},
	}})
	mapped := envelope.NewMapper().Map(envelope.Response{
		Status: 422, Header: http.Header{}, Body: []byte(`{"errors":{"quantity":"a","q":"b","Tenant":"c","owner":"d","other":"e"}}`),
	}, op.Fields)
	want := []schemas.FieldError{{Name: "Quantity", Message: "a"}, {Name: "keyword", Message: "b"}, {Message: "c"}, {Message: "d"}, {Name: "other", Message: "e"}}
	if diff := cmp.Diff(want, mapped.(*schemas.BackendError).Fields); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWordRanker(t *testing.T) {
	c, err := catalog.New([]catalog.Operation{
		{Name: "list_orders", Path: "/orders", Summary: "List orders", Arguments: []compose.Argument{{Name: "maxResults"}}},
		{Name: "getOrder", Path: "/orders/{id}", Summary: "Get an order"},
		{Name: "get_session", Path: "/session", Description: "Tells who the cookie belongs to."},
		{Name: "export", Path: "/orders/export", Summary: "Everything in one document"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		query string
		want  []string
	}{
		{"", []string{"list_orders", "getOrder", "get_session", "export"}},
		{" ?! ", []string{"list_orders", "getOrder", "get_session", "export"}},
		{"order", []string{"list_orders", "getOrder", "export"}},
		{"Orders", []string{"list_orders", "getOrder", "export"}},
		{"get an order", []string{"getOrder", "list_orders", "get_session", "export"}},
		{"GETORDER", []string{"getOrder"}},
		{"get_session", []string{"get_session", "getOrder"}},
		{"cookies", []string{"get_session"}},
		{"results", []string{"list_orders"}},
		{"exp", []string{"export"}},
		{"ex", nil},
		{"invoice", nil},
		{"sess order", []string{"list_orders", "getOrder", "get_session", "export"}},
	} {
		got, err := catalog.WordRanker{}.Rank(t.Context(), test.query, c)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) == 0 {
			got = nil
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.query, diff)
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (catalog.WordRanker{}).Rank(ctx, "order", c); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestCheck(t *testing.T) {
	c, err := catalog.New([]catalog.Operation{{Name: "a"}, {Name: "b"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, good := range [][]string{nil, {}, {"b"}, {"b", "a"}} {
		if err := c.Check(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range [][]string{{"c"}, {""}, {"A"}, {"a", "c"}, {"a", "b", "a"}} {
		if c.Check(bad) == nil {
			t.Errorf("%q makes sense", bad)
		}
	}
}
