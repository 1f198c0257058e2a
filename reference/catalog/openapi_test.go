package catalog_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/reference/catalog"
	"example.com/touchstone/reference/compose"
)

// document makes an OpenAPI document of the paths, and of components if there are any.
func document(paths string, components ...string) []byte {
	text := "openapi: 3.0.3\ninfo: {title: test, version: '1'}\npaths:\n" + paths
	if len(components) > 0 {
		text += "\ncomponents:\n" + components[0]
	}
	return []byte(text)
}

// read reads the operations of a document, each as it is in a catalog.
func read(t testing.TB, doc []byte, options catalog.Options) []*catalog.Operation {
	t.Helper()
	operations, err := catalog.FromOpenAPI(doc, options)
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalog.New(operations)
	if err != nil {
		t.Fatal(err)
	}
	return c.Operations()
}

// only reads the one operation of a document.
func only(t testing.TB, doc []byte, options catalog.Options) *catalog.Operation {
	t.Helper()
	operations := read(t, doc, options)
	if len(operations) != 1 {
		t.Fatalf("the document has %d operations", len(operations))
	}
	return operations[0]
}

func wantTemplate(t *testing.T, op *catalog.Operation, want string) {
	t.Helper()
	if op.Template == nil {
		t.Fatalf("%s is not invocable: %q", op.Name, op.Diagnostics)
	}
	got, err := json.Marshal(op.Template)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("template of %s (-want +got):\n%s", op.Name, diff)
	}
}

func wantSchema(t *testing.T, op *catalog.Operation, want string) {
	t.Helper()
	if diff := cmp.Diff(want, string(op.InputSchema)); diff != "" {
		t.Errorf("schema of %s (-want +got):\n%s", op.Name, diff)
	}
}

func names(operations []*catalog.Operation) []string {
	var list []string
	for _, op := range operations {
		list = append(list, op.Name)
	}
	return list
}

func TestOrderAndNames(t *testing.T) {
	operations := read(t, document(`
  /zebras/{id}:
    put: {operationId: replaceZebra, responses: {}}
    get: {responses: {}}
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
  /apes:
    get: {operationId: list, responses: {}}
  /bees:
    get: {operationId: list, responses: {}}
  /:
    get: {responses: {}}
`), catalog.Options{})
	want := []string{"replaceZebra", "get_zebras_id", "list", "list_2", "get"}
	if diff := cmp.Diff(want, names(operations)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOrderOfOneLine has no lines to tell the order by.
func TestOrderOfOneLine(t *testing.T) {
	op := only(t, []byte(`{"openapi":"3.1.0","info":{"title":"t","version":"1"},"paths":{"/a":{"post":{"operationId":"op","requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/A"}}}},"responses":{}}}},"components":{"schemas":{"B":{"type":"integer"},"A":{"type":"object","properties":{"z":{"$ref":"#/components/schemas/B"},"m":{"type":"object","properties":{"y":{},"x":{}}},"a":{"type":"string"}},"required":["a"]}}}}`), catalog.Options{})
	wantSchema(t, op, `{"type":"object","properties":{"z":{"type":"integer"},"m":{"type":"object","properties":{"y":{},"x":{}}},"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`)
	wantTemplate(t, op, `{"method":"POST","route":"/a","body":{"properties":["z","m","a"]},"contentType":"application/json"}`)
}

func TestTexts(t *testing.T) {
	operations := read(t, document(`
  /a:
    get: {operationId: both, summary: Short., description: "Long.\nAnd longer.", responses: {}}
    put: {operationId: description, description: "Long.\nAnd longer.", responses: {}}
    post: {operationId: summary, summary: Short., responses: {}}
`), catalog.Options{})
	type texts struct{ Summary, Description string }
	want := []texts{{"Short.", "Long.\nAnd longer."}, {"Long.", "Long.\nAnd longer."}, {"Short.", "Short."}}
	var got []texts
	for _, op := range operations {
		got = append(got, texts{op.Summary, op.Description})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCurations(t *testing.T) {
	doc := document(`
  /tenants/{tenant}/things:
    post:
      operationId: add
      parameters:
        - {name: tenant, in: path, required: true, schema: {type: string}}
        - {name: q, in: query, description: Words., schema: {type: string}}
      requestBody:
        content:
          application/json:
            schema:
              type: object
              properties: {owner: {type: string}, n: {type: integer}}
      responses: {}
`)
	op := only(t, doc, catalog.Options{Curations: []catalog.Curation{
		{Operation: "add", Argument: "tenant", In: "path", Fill: &compose.Fill{Kind: compose.FillDeferred, Source: "theTenant"}},
		{Operation: "add", Argument: "q", As: "keywords"},
		{Operation: "add", Argument: "owner", In: catalog.InBody, Fill: &compose.Fill{Kind: compose.FillConstant, Value: json.RawMessage(`"alice"`)}},
		{Operation: "add", Argument: "n", As: "count"},
		{Operation: "absent", Argument: "n", As: "count"},
	}})
	wantSchema(t, op, `{"type":"object","properties":{"keywords":{"description":"Words.","type":"string"},"count":{"type":"integer"}},"additionalProperties":false}`)
	wantTemplate(t, op, `{"method":"POST","route":"/tenants/{tenant}/things","parameters":[{"name":"tenant","type":"string","in":"path","fill":{"kind":"deferred","source":"theTenant"}},{"name":"q","type":"string","in":"query","as":"keywords"}],"body":{"properties":["owner","n"],"curation":[{"name":"owner","fill":{"kind":"constant","value":"alice"}},{"name":"n","as":"count"}]},"contentType":"application/json"}`)
	if diff := cmp.Diff([]string{"theTenant"}, op.Sources); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]compose.Argument{{Name: "keywords", Description: "Words."}, {Name: "count"}}, op.Arguments); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}

	root := only(t, document(`
  /a:
    post:
      operationId: send
      requestBody: {content: {text/plain: {}}}
      responses: {}
`), catalog.Options{Curations: []catalog.Curation{{Operation: "send", Argument: "body", As: "letter"}}})
	wantTemplate(t, root, `{"method":"POST","route":"/a","bodyRoot":"letter","contentType":"text/plain"}`)
}

func TestCurationsThatDoNotFit(t *testing.T) {
	doc := document(`
  /a:
    get:
      operationId: find
      parameters:
        - {name: p, in: query, schema: {type: string}}
        - {name: q, in: query, schema: {type: string}}
      responses: {}
`)
	for _, test := range []struct {
		curation catalog.Curation
		says     string
	}{
		{catalog.Curation{Operation: "find", Argument: "r", As: "s"}, `curating find: it has no argument "r"`},
		{catalog.Curation{Operation: "find", Argument: "q", In: "header", As: "s"}, `curating find: it has no argument "q"`},
		{catalog.Curation{Operation: "find", Argument: "q", As: "p"}, `curating find: it has two arguments "p"`},
	} {
		if _, err := catalog.FromOpenAPI(doc, catalog.Options{Curations: []catalog.Curation{test.curation}}); err == nil || err.Error() != test.says {
			t.Errorf("%+v: got %v, want %s", test.curation, err, test.says)
		}
	}
}

func TestDocumentsThatCannotBeRead(t *testing.T) {
	for _, test := range []struct{ doc, says string }{
		{"", "version"},
		{"{", "reading the OpenAPI document"},
		{`{"swagger":"2.0","paths":{}}`, `its version is ""`},
		{string(document("  /a: {$ref: 'http://127.0.0.1:1/a.yaml'}")), "disallowed external reference"},
		{string(document("  /a: {get: {parameters: [{$ref: '/etc/passwd#/a'}], responses: {}}}")), "disallowed external reference"},
		{string(document("  /a: {get: {parameters: [{$ref: '#/components/parameters/A'}], responses: {}}}")), "reading the OpenAPI document"},
	} {
		if _, err := catalog.FromOpenAPI([]byte(test.doc), catalog.Options{}); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: got %v, want an error with %q", test.doc, err, test.says)
		}
	}
}

// TestWithoutPaths is a document that OpenAPI 3.1 allows.
func TestWithoutPaths(t *testing.T) {
	if got := read(t, []byte(`{"openapi":"3.1.0","info":{"title":"t","version":"1"},"components":{}}`), catalog.Options{}); len(got) != 0 {
		t.Errorf("got %q", names(got))
	}
}

func FuzzFromOpenAPI(f *testing.F) {
	f.Add(document("  /a/{b}: {get: {parameters: [{name: b, in: path, required: true, style: matrix, schema: {type: array, items: {}}}], responses: {}}}"))
	f.Add(document("  /a: {post: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/A'}}}}, responses: {}}}",
		"  schemas: {A: {allOf: [{$ref: '#/components/schemas/A'}], properties: {a: {$ref: '#/components/schemas/A'}}}}"))
	f.Add(document("  /a: {post: {requestBody: {content: {multipart/form-data: {schema: {type: object, properties: {f: {format: binary}}}}}}, responses: {}}}"))
	f.Fuzz(func(t *testing.T, doc []byte) {
		operations, err := catalog.FromOpenAPI(doc, catalog.Options{FileRefs: true})
		if err != nil {
			return
		}
		c, err := catalog.New(operations)
		if err != nil {
			t.Fatal(err)
		}
		for _, op := range c.Operations() {
			if !json.Valid(op.InputSchema) {
				t.Errorf("%s has the schema %s", op.Name, op.InputSchema)
			}
			if op.Template == nil && len(op.Diagnostics) == 0 {
				t.Errorf("%s is not invocable, and nothing says why", op.Name)
			}
		}
	})
}
