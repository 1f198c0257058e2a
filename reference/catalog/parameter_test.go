package catalog_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/reference/catalog"
	"example.com/touchstone/reference/compose"
)

// TestParameters composes a call of an operation with one parameter, so that
// what is shown is what goes over the wire.
func TestParameters(t *testing.T) {
	const list = "{type: array, items: {type: integer}}"
	const object = "{type: object, properties: {b: {type: string}, a: {type: array, items: {type: integer}}}}"
	for _, test := range []struct{ name, parameter, arguments, want string }{
		{"path", "in: path, schema: {type: integer}", `{"p":7}`, "/a/7/c"},
		{"path, list", "in: path, schema: " + list, `{"p":[7,8]}`, "/a/7,8/c"},
		{"path, label", "in: path, style: label, schema: {type: string}", `{"p":"x y"}`, "/a/.x%20y/c"},
		{"path, label, list", "in: path, style: label, explode: false, schema: " + list, `{"p":[7,8]}`, "/a/.7,8/c"},
		{"path, matrix", "in: path, style: matrix, schema: {type: string}", `{"p":"x"}`, "/a/;p=x/c"},
		{"path, matrix, list", "in: path, style: matrix, explode: false, schema: " + list, `{"p":[7,8]}`, "/a/;p=7,8/c"},
		{"query", "in: query, schema: {type: boolean}", `{"p":true}`, "/a?p=true"},
		{"query, list", "in: query, schema: " + list, `{"p":[7,8]}`, "/a?p=7&p=8"},
		{"query, list, not exploded", "in: query, explode: false, schema: " + list, `{"p":[7,8]}`, "/a?p=7,8"},
		{"query, pipes", "in: query, style: pipeDelimited, explode: false, schema: " + list, `{"p":[7,8]}`, "/a?p=7|8"},
		{"query, spaces", "in: query, style: spaceDelimited, explode: false, schema: " + list, `{"p":[7,8]}`, "/a?p=7%208"},
		{"query, pipes, one value", "in: query, style: pipeDelimited, schema: {type: integer}", `{"p":7}`, "/a?p=7"},
		{"query, deep object", "in: query, style: deepObject, explode: true, schema: " + object, `{"p":{"a":[7,8],"b":"x"}}`, "/a?p[b]=x&p[a]=7&p[a]=8"},
		{"query, object as parameters", "in: query, schema: " + object, `{"b":"x","a":[7,8]}`, "/a?b=x&a=7&a=8"},
		{"query, content", "in: query, content: {application/json: {schema: {type: object}}}", `{"p":"{\"a\":1}"}`, "/a?p=%7B%22a%22%3A1%7D"},
		{"query, any type", "in: query, schema: {}", `{"p":1.50}`, "/a?p=1.5"},
		{"query, no schema", "in: query", `{"p":"x"}`, "/a?p=x"},
		{"query, several types", "in: query, schema: {anyOf: [{type: string}, {type: integer}]}", `{"p":7}`, "/a?p=7"},
		{"query, integer or number", "in: query, schema: {anyOf: [{type: number}, {type: integer}]}", `{"p":7.5}`, "/a?p=7.5"},
		{"query, null or string", "in: query, schema: {anyOf: [{type: string}, {enum: [null]}]}", `{"p":"x"}`, "/a?p=x"},
		{"query, type by allOf", "in: query, schema: {allOf: [{description: d}, {type: integer}]}", `{"p":7}`, "/a?p=7"},
		{"query, type by enum", "in: query, schema: {enum: [x, y]}", `{"p":"x"}`, "/a?p=x"},
		{"query, type by items", "in: query, schema: {items: {type: string}}", `{"p":["x","y"]}`, "/a?p=x&p=y"},
		{"query, items by allOf", "in: query, schema: {allOf: [{type: array, items: {type: string}}]}", `{"p":["x"]}`, "/a?p=x"},
		{"header", "in: header, schema: {type: string}", `{"p":"x"}`, "/a p: x"},
		{"header, list", "in: header, schema: " + list, `{"p":[7,8]}`, "/a p: 7,8"},
		{"cookie", "in: cookie, schema: {type: string}", `{"p":"x"}`, "/a cookie: p=x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path, required := "/a", ""
			if test.want[:3] == "/a/" {
				path, required = "/a/{p}/c", "required: true, "
			}
			op := only(t, document(fmt.Sprintf("  %s: {get: {operationId: op, parameters: [{name: p, %s%s}], responses: {}}}", path, required, test.parameter)), catalog.Options{})
			if op.Template == nil {
				t.Fatalf("not invocable: %q", op.Diagnostics)
			}
			r, err := compose.Compose(op.Template, compose.Call{Arguments: []byte(test.arguments)})
			if err != nil {
				t.Fatal(err)
			}
			got := r.PathAndQuery
			for _, h := range r.Headers {
				got += " " + h.Name + ": " + h.Value
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestParametersThatCannotBeWritten(t *testing.T) {
	for _, test := range []struct{ name, parameter, says string }{
		{"path object", "in: path, schema: {type: object, properties: {a: {type: string}}}", "an object cannot be written there in its style"},
		{"path, exploded label", "in: path, style: label, explode: true, schema: {type: array, items: {type: string}}", "an exploded array cannot be written in the style label"},
		{"path, style of a query", "in: path, style: form, schema: {type: string}", "the style form is not for paths"},
		{"query, object in one value", "in: query, explode: false, schema: {type: object, properties: {a: {type: string}}}", "an object cannot be written there in its style"},
		{"query, map", "in: query, schema: {type: object, additionalProperties: {type: string}}", "an object without declared properties cannot be written"},
		{"query, object in object", "in: query, style: deepObject, schema: {type: object, properties: {a: {type: object, properties: {b: {}}}}}", "an object in an object cannot be written"},
		{"query, list of lists", "in: query, schema: {type: array, items: {type: array, items: {}}}", "an array of arrays or objects cannot be written"},
		{"query, deep list", "in: query, style: deepObject, schema: {type: array, items: {type: string}}", "the style deepObject is for objects"},
		{"query, nothing", "in: query, schema: {enum: [null]}", "its schema allows no value"},
		{"header object", "in: header, schema: {type: object, properties: {a: {type: string}}}", "an object cannot be written there in its style"},
		{"cookie object", "in: cookie, schema: {type: object, properties: {a: {type: string}}}", "an object cannot be written there in its style"},
	} {
		path, in := "/a", test.parameter[4:6]
		where := map[string]string{"pa": "path", "qu": "query", "he": "header", "co": "cookie"}[in]
		if where == "path" {
			path = "/a/{p}"
		}
		text := fmt.Sprintf("%s parameter %q: %s", where, "p", test.says)
		get := func(required string) *catalog.Operation {
			return only(t, document(fmt.Sprintf("  %s: {get: {operationId: op, parameters: [{name: p, %s%s}], responses: {}}}", path, required, test.parameter)), catalog.Options{})
		}
		if needed := get("required: true, "); needed.Template != nil || !cmp.Equal(needed.Diagnostics, []string{"not invocable: " + text}) {
			t.Errorf("%s, needed: %q", test.name, needed.Diagnostics)
		}
		if where == "path" {
			continue
		}
		spare := get("")
		if spare.Template == nil || !cmp.Equal(spare.Diagnostics, []string{"left out: " + text}) {
			t.Errorf("%s, not needed: %q", test.name, spare.Diagnostics)
		}
		wantSchema(t, spare, `{"type":"object","properties":{},"additionalProperties":false}`)
	}
}

func TestParametersOfPathAndOperation(t *testing.T) {
	op := only(t, document(`
  /a/{id}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: string}}
      - {$ref: '#/components/parameters/Page'}
      - {name: Authorization, in: header, required: true, schema: {type: string}}
    get:
      operationId: op
      parameters:
        - {name: accept, in: header, schema: {type: string}}
        - {name: q, in: query, required: true, description: Words., schema: {type: string, description: Any words.}}
        - {name: id, in: path, required: true, description: Which one., schema: {type: integer}}
        - {name: page, in: header, schema: {type: string, nullable: true, minLength: 1}}
        - {name: header_page, in: query, schema: {type: string}}
      responses: {}
`, `  parameters:
    Page: {name: page, in: query, schema: {type: integer, minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false, example: 3}}`), catalog.Options{})
	wantSchema(t, op, `{"type":"object","properties":{"id":{"description":"Which one.","type":"integer"},"page":{"type":"integer","exclusiveMinimum":0,"maximum":9},"q":{"type":"string","description":"Words."},"header_page":{"type":"string","minLength":1},"query_header_page":{"type":"string"}},"required":["id","q"],"additionalProperties":false}`)
	wantTemplate(t, op, `{"method":"GET","route":"/a/{id}","parameters":[{"name":"id","type":"integer","in":"path"},{"name":"page","type":"integer","in":"query"},{"name":"q","type":"string","in":"query"},{"name":"page","type":"string","in":"header","as":"header_page"},{"name":"header_page","type":"string","in":"query","as":"query_header_page"}]}`)
}

// TestObjectsAsParameters has objects whose members are parameters on the wire.
func TestObjectsAsParameters(t *testing.T) {
	op := only(t, document(`
  /a:
    get:
      operationId: op
      parameters:
        - {name: needed, in: query, required: true, description: A range., schema: {type: object, required: [from], properties: {from: {type: string, description: Its start.}, to: {type: string}}}}
        - {name: spare, in: query, schema: {type: object, required: [page], properties: {page: {type: integer}}}}
      responses: {}
`), catalog.Options{})
	wantSchema(t, op, `{"type":"object","properties":{"from":{"type":"string","description":"Its start."},"to":{"description":"A range.","type":"string"},"page":{"type":"integer"}},"required":["from"],"additionalProperties":false}`)
}

func TestOperationsThatCannotBeInvoked(t *testing.T) {
	operations := read(t, document(`
  /a/{id}:
    get: {operationId: undeclared, responses: {}}
  /b?action=x:
    get: {operationId: query, responses: {}}
  /c:
    get:
      operationId: host
      parameters: [{name: Host, in: header, schema: {type: string}}]
      responses: {}
`), catalog.Options{})
	want := map[string]string{
		"undeclared": `not invocable: route "/a/{id}" needs a path parameter "id"`,
		"query":      `not invocable: route "/b?action=x" is not an encoded path`,
		"host":       `not invocable: header parameter "Host": the header is made from the rest of the request`,
	}
	for _, op := range operations {
		if op.Template != nil || !cmp.Equal(op.Diagnostics, []string{want[op.Name]}) {
			t.Errorf("%s: %q, want %q", op.Name, op.Diagnostics, want[op.Name])
		}
	}
}
