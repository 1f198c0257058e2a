package catalog_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/reference/catalog"
)

const fileSchema = `"properties":{"text":{"type":"string","description":"Content as text."},"base64":{"type":"string","description":"Content in padded base64."},"name":{"type":"string","description":"Name of the file."},"mediaType":{"type":"string","description":"Media type of the content."}},"oneOf":[{"required":["text"]},{"required":["base64"]}],"additionalProperties":false}`

func TestBodies(t *testing.T) {
	for _, test := range []struct{ name, body, schema, template string }{
		{"fields", `content: {application/json: {schema: {type: object, required: [b, ro], properties: {b: {type: string, description: Bee., example: x, x-note: y}, ro: {type: string, readOnly: true}, a: {type: number}}}}}`,
			`{"type":"object","properties":{"b":{"type":"string","description":"Bee."},"a":{"type":"number"}},"required":["b"],"additionalProperties":false}`,
			`"body":{"properties":["b","a"]},"contentType":"application/json"}`},
		{"fields of allOf", `content: {application/json: {schema: {allOf: [{$ref: '#/components/schemas/Base'}, {type: object, required: [id], properties: {extra: {type: string}, note: {type: integer}}}]}}}`,
			`{"type":"object","properties":{"id":{"type":"integer"},"note":{"type":"integer"},"extra":{"type":"string"}},"required":["id"],"additionalProperties":false}`,
			`"body":{"properties":["id","note","extra"]},"contentType":"application/json"}`},
		{"fields and others", `content: {application/json: {schema: {type: object, properties: {a: {}}, additionalProperties: {type: integer}}}}`,
			`{"type":"object","properties":{"a":{}},"additionalProperties":{"type":"integer"}}`,
			`"body":{"properties":["a"],"additionalProperties":true},"contentType":"application/json"}`},
		{"fields and anything", `content: {application/json: {schema: {type: object, properties: {a: {}}, additionalProperties: true}}}`,
			`{"type":"object","properties":{"a":{}},"additionalProperties":true}`,
			`"body":{"properties":["a"],"additionalProperties":true},"contentType":"application/json"}`},
		{"map", `required: true, content: {application/json: {schema: {type: object, additionalProperties: {type: integer}}}}`,
			`{"type":"object","properties":{"body":{"type":"object","additionalProperties":{"type":"integer"}}},"required":["body"],"additionalProperties":false}`,
			`"bodyRoot":"body","contentType":"application/json"}`},
		{"list", `description: Orders., content: {application/json: {schema: {type: array, items: {$ref: '#/components/schemas/Base'}}}}`,
			`{"type":"object","properties":{"body":{"description":"Orders.","type":"array","items":{"$ref":"#/$defs/Base"}}},"additionalProperties":false,"$defs":{"Base":{"type":"object","properties":{"id":{"type":"integer"},"note":{"type":["string","null"]}}}}}`,
			`"bodyRoot":"body","contentType":"application/json"}`},
		{"list of objects", `content: {application/json: {schema: {type: array, items: {type: object, required: [id, a], properties: {id: {type: integer, readOnly: true}, a: {type: string}}}}}}`,
			`{"type":"object","properties":{"body":{"type":"array","items":{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}}}},"additionalProperties":false}`,
			`"bodyRoot":"body","contentType":"application/json"}`},
		{"alternatives", `content: {application/json: {schema: {oneOf: [{$ref: '#/components/schemas/Base'}, {type: object, properties: {a: {}}}]}}}`,
			`{"type":"object","properties":{"body":{"oneOf":[{"$ref":"#/$defs/Base"},{"type":"object","properties":{"a":{}}}]}},"additionalProperties":false,"$defs":{"Base":{"type":"object","properties":{"id":{"type":"integer"},"note":{"type":["string","null"]}}}}}`,
			`"bodyRoot":"body","contentType":"application/json"}`},
		{"recursion", `content: {application/json: {schema: {$ref: '#/components/schemas/Tree'}}}`,
			`{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/Tree"}}},"additionalProperties":false,"$defs":{"Tree":{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/Tree"}}}}}}`,
			`"body":{"properties":["name","children"]},"contentType":"application/json"}`},
		{"no schema", `content: {application/json: {}}`,
			`{"type":"object","properties":{"body":{}},"additionalProperties":false}`,
			`"bodyRoot":"body","contentType":"application/json"}`},
		{"JSON before others", `content: {text/plain: {}, application/merge-patch+json: {schema: {type: array}}, application/json: {schema: {type: integer}}}`,
			`{"type":"object","properties":{"body":{"type":"integer"}},"additionalProperties":false}`,
			`"bodyRoot":"body","contentType":"application/json"}`},
		{"JSON of a kind", `content: {text/plain: {}, application/merge-patch+json: {schema: {type: array}}}`,
			`{"type":"object","properties":{"body":{"type":"array"}},"additionalProperties":false}`,
			`"bodyRoot":"body","contentType":"application/merge-patch+json"}`},
		{"JSON of any kind", `content: {application/*+json: {schema: {type: integer}}}`,
			`{"type":"object","properties":{"body":{"type":"integer"}},"additionalProperties":false}`,
			`"bodyRoot":"body","contentType":"application/json"}`},
		{"form", `content: {application/x-www-form-urlencoded: {schema: {type: object, required: [b], properties: {b: {type: string, nullable: true}, o: {type: object, properties: {m: {type: integer}}}}}}}`,
			`{"type":"object","properties":{"b":{"type":"string"},"o":{"type":"object","properties":{"m":{"type":"integer"}}}},"required":["b"],"additionalProperties":false}`,
			`"body":{"properties":["b","o"]},"contentType":"application/x-www-form-urlencoded","form":{"fields":[{"name":"b","type":"string"},{"name":"o","type":"object","members":[{"name":"m","type":"integer"}]}]}}`},
		{"multipart", `content: {multipart/form-data: {schema: {type: object, properties: {caption: {type: string}, file: {type: string, format: binary, description: The file.}, more: {type: array, items: {type: string, format: binary}}, pic: {type: string, format: binary}, any: {type: string, format: binary}, text: {type: string, format: byte}}}, encoding: {pic: {contentType: image/png}, any: {contentType: 'image/png, image/gif'}}}}`,
			`{"type":"object","properties":{"caption":{"type":"string"},"file":{"type":"object","description":"The file.",` + fileSchema + `,"more":{"type":"array","items":{"type":"object",` + fileSchema + `},"pic":{"type":"object",` + fileSchema + `,"any":{"type":"object",` + fileSchema + `,"text":{"type":"string","format":"byte"}},"additionalProperties":false}`,
			`"body":{"properties":["caption","file","more","pic","any","text"]},"contentType":"multipart/form-data","form":{"fields":[{"name":"caption","type":"string"},{"name":"file","type":"file"},{"name":"more","type":"file","array":true},{"name":"pic","type":"file","mediaType":"image/png"},{"name":"any","type":"file"},{"name":"text","type":"string"}]}}`},
		{"text", `required: true, content: {text/csv: {schema: {type: string, maxLength: 5}}}`,
			`{"type":"object","properties":{"body":{"type":"string","maxLength":5}},"required":["body"],"additionalProperties":false}`,
			`"bodyRoot":"body","contentType":"text/csv"}`},
		{"text of any kind", `content: {text/*: {schema: {type: object}}}`,
			`{"type":"object","properties":{"body":{"type":"string"}},"additionalProperties":false}`,
			`"bodyRoot":"body","contentType":"text/plain; charset=utf-8"}`},
		{"bytes", `description: The archive., content: {application/zip: {schema: {type: string, format: binary}}}`,
			`{"type":"object","properties":{"body":{"type":"object","description":"The archive.",` + fileSchema + `},"additionalProperties":false}`,
			`"bodyRoot":"body","contentType":"application/zip"}`},
		{"anything", `content: {'*/*': {}}`,
			`{"type":"object","properties":{"body":{"type":"object",` + fileSchema + `},"additionalProperties":false}`,
			`"bodyRoot":"body","contentType":"application/octet-stream"}`},
		{"none", `content: {}`, `{"type":"object","properties":{},"additionalProperties":false}`, ``},
	} {
		t.Run(test.name, func(t *testing.T) {
			op := only(t, document(fmt.Sprintf("  /a: {post: {operationId: op, requestBody: {%s}, responses: {}}}", test.body), `  schemas:
    Base: {type: object, properties: {id: {type: integer}, note: {type: string, nullable: true}}}
    Tree: {type: object, properties: {name: {type: string}, children: {type: array, items: {$ref: '#/components/schemas/Tree'}}}}`), catalog.Options{})
			wantSchema(t, op, test.schema)
			template := `{"method":"POST","route":"/a"}`
			if test.template != "" {
				template = `{"method":"POST","route":"/a",` + test.template
			}
			wantTemplate(t, op, template)
			if len(op.Diagnostics) > 0 {
				t.Errorf("diagnostics %q", op.Diagnostics)
			}
		})
	}
}

// TestFilesOf31 has binary content as OpenAPI 3.1 describes it.
func TestFilesOf31(t *testing.T) {
	op := only(t, []byte(`
openapi: 3.1.0
info: {title: t, version: '1'}
paths:
  /a:
    post:
      operationId: op
      requestBody:
        content:
          multipart/form-data:
            schema:
              type: object
              properties:
                pic: {type: string, contentMediaType: image/png}
                raw: {contentMediaType: application/octet-stream}
                encoded: {type: string, contentMediaType: image/png, contentEncoding: base64}
                json: {type: string, contentMediaType: application/json}
                free: {}
                typed: {}
            encoding: {typed: {contentType: image/gif}}
      responses: {}
`), catalog.Options{})
	wantTemplate(t, op, `{"method":"POST","route":"/a","body":{"properties":["pic","raw","encoded","json","free","typed"]},"contentType":"multipart/form-data","form":{"fields":[{"name":"pic","type":"file","mediaType":"image/png"},{"name":"raw","type":"file","mediaType":"application/octet-stream"},{"name":"encoded","type":"string"},{"name":"json","type":"string"},{"name":"free"},{"name":"typed","type":"file","mediaType":"image/gif"}]}}`)
}

func TestFileRefs(t *testing.T) {
	doc := document("  /a: {post: {operationId: op, requestBody: {content: {application/zip: {}}}, responses: {}}}")
	without, with := only(t, doc, catalog.Options{}), only(t, doc, catalog.Options{FileRefs: true})
	wantTemplate(t, with, `{"method":"POST","route":"/a","bodyRoot":"body","contentType":"application/zip","fileSources":["text","base64","ref"]}`)
	wantSchema(t, with, `{"type":"object","properties":{"body":{"type":"object","properties":{"text":{"type":"string","description":"Content as text."},"base64":{"type":"string","description":"Content in padded base64."},"ref":{"type":"string","description":"Name of a file that the host knows."},"name":{"type":"string","description":"Name of the file."},"mediaType":{"type":"string","description":"Media type of the content."}},"oneOf":[{"required":["text"]},{"required":["base64"]},{"required":["ref"]}],"additionalProperties":false}},"additionalProperties":false}`)
	if without.Version == with.Version {
		t.Error("an agent that may send refs is told of the same version as one that may not")
	}
}

func TestNamesInParameterAndBody(t *testing.T) {
	op := only(t, document(`
  /a/{id}:
    put:
      operationId: op
      parameters:
        - {name: id, in: path, required: true, schema: {type: integer}}
        - {name: body_id, in: query, schema: {type: string}}
      requestBody:
        content:
          application/json:
            schema: {type: object, properties: {id: {type: string}, note: {type: string}}}
      responses: {}
`), catalog.Options{})
	wantSchema(t, op, `{"type":"object","properties":{"id":{"type":"integer"},"body_id":{"type":"string"},"body_id_2":{"type":"string"},"note":{"type":"string"}},"required":["id"],"additionalProperties":false}`)
	wantTemplate(t, op, `{"method":"PUT","route":"/a/{id}","parameters":[{"name":"id","type":"integer","in":"path"},{"name":"body_id","type":"string","in":"query"}],"body":{"properties":["id","note"],"curation":[{"name":"id","as":"body_id_2"}]},"contentType":"application/json"}`)

	root := only(t, document(`
  /a/{body}:
    put:
      operationId: op
      parameters: [{name: body, in: path, required: true, schema: {type: integer}}]
      requestBody: {content: {application/json: {schema: {type: array}}}}
      responses: {}
`), catalog.Options{})
	wantTemplate(t, root, `{"method":"PUT","route":"/a/{body}","parameters":[{"name":"body","type":"integer","in":"path"}],"bodyRoot":"body_body","contentType":"application/json"}`)
}

func TestBodiesThatCannotBeWritten(t *testing.T) {
	for _, test := range []struct{ body, says string }{
		{`content: {multipart/form-data: {schema: {type: array}}}`, `body as multipart/form-data: its schema is not an object with declared properties`},
		{`content: {application/x-www-form-urlencoded: {}}`, `body as application/x-www-form-urlencoded: its schema is not an object with declared properties`},
		{`content: {multipart/form-data: {schema: {type: object, required: [a], properties: {a: {type: array, items: {type: object}}, b: {type: string}}}}}`, `form field "a": an array of arrays or objects cannot be written`},
	} {
		get := func(required string) *catalog.Operation {
			return only(t, document(fmt.Sprintf("  /a: {post: {operationId: op, requestBody: {%s%s}, responses: {}}}", required, test.body)), catalog.Options{})
		}
		if op := get("required: true, "); op.Template != nil || !cmp.Equal(op.Diagnostics, []string{"not invocable: " + test.says}) {
			t.Errorf("%s, needed: %q", test.body, op.Diagnostics)
		}
		if op := get(""); op.Template == nil || !cmp.Equal(op.Diagnostics, []string{"left out: " + test.says}) {
			t.Errorf("%s, not needed: %q", test.body, op.Diagnostics)
		}
	}
}
