package compose_test

import (
	"encoding/json"
	"strings"
	"testing"

	"example.com/touchstone/reference/compose"
)

func TestValidate(t *testing.T) {
	query := func(rest string) string { return params(`{"name":"k","in":"query"` + rest + `}`) }
	header := func(name string) string { return params(`{"name":"` + name + `","in":"header"}`) }
	body := func(rest string) string { return `{"method":"POST","route":"/b",` + rest + `}` }
	form := func(media, field string) string {
		return body(`"contentType":"` + media + `","body":{"properties":["f"]},"form":{"fields":[` + field + `]}`)
	}
	const urlencodedType = "application/x-www-form-urlencoded"
	tests := []struct{ template, problem string }{
		{`{"method":"","route":"/"}`, `method "" is not a token`},
		{`{"method":"GET /","route":"/"}`, `method "GET /" is not a token`},
		{`{"method":"GET","route":"p"}`, `route "p" is not an encoded path`},
		{`{"method":"GET","route":"/a b"}`, `route "/a b" is not an encoded path`},
		{`{"method":"GET","route":"/a?b=1"}`, `route "/a?b=1" is not an encoded path`},
		{`{"method":"GET","route":"/a\"b"}`, `is not an encoded path`},
		{`{"method":"GET","route":"/a}b"}`, `route "/a}b" is not an encoded path`},
		{`{"method":"GET","route":"/é"}`, `route "/é" is not an encoded path`},
		{`{"method":"GET","route":"/a%2"}`, `route "/a%2" is not an encoded path`},
		{`{"method":"GET","route":"{id}"}`, `route "{id}" is not an encoded path`},
		{`{"method":"GET","route":"/{id"}`, `route "/{id" has a { without }`},
		{`{"method":"GET","route":"/{id}"}`, `route "/{id}" needs a path parameter "id"`},
		{params(`{"name":"id","in":"path"}`), `parameter "id" is not in route "/p"`},
		{params(`{"name":"id","in":"body"}`), `body parameter "id": in is not path, query, header or cookie`},
		{query(`,"type":"int"`), `unknown type "int"`},
		{query(`,"type":"file"`), `files are not supported there`},
		{query(`,"style":"matrix"`), `style "matrix" is not supported there`},
		{query(`,"style":"deepObject"`), `style "deepObject" is not supported there`},
		{query(`,"type":"object","style":"form"`), `style "form" is not supported there`},
		{query(`,"type":"object","array":true`), `objects are not supported there`},
		{query(`,"type":"object","notation":"slash"`), `unknown notation "slash"`},
		{query(`,"type":"object","members":[{"name":"m","type":"object"}]`), `member "m": objects are not supported there`},
		{query(`,"type":"object","members":[{"name":"m"},{"name":"m"}]`), `member "m" has no name of its own`},
		{query(`,"type":"object","members":[{}]`), `member "" has no name of its own`},
		{params(`{"name":"c","in":"cookie","type":"object"}`), `objects are not supported there`},
		{params(`{"in":"query"}`), `an argument has no name`},
		{params(`{"name":"a","in":"query"},{"name":"b","in":"query","as":"a"}`), `two arguments are called "a"`},
		{params(`{"name":"a","in":"query"},{"name":"a","in":"query","as":"b"}`), `query parameter "a" is declared twice`},
		{params(`{"name":"X-A","in":"header"},{"name":"x-a","in":"header"}`), `header parameter "x-a" is declared twice`},
		{header(`x a`), `the name is not a token`},
		{header(`x:a`), `the name is not a token`},
		{header(`Cookie`), `the header is made from the rest of the request`},
		{header(`content-type`), `the header is made from the rest of the request`},
		{params(`{"name":"a;b","in":"cookie"}`), `the name is not a token`},
		{query(`,"fill":{"kind":"later"}`), `the fill of "k" has the unknown kind "later"`},
		{query(`,"fill":{"kind":"deferred"}`), `the deferred fill of "k" has no source`},
		{query(`,"fill":{"kind":"constant"}`), `the constant of "k" is not JSON`},
		{query(`,"type":"integer","fill":{"kind":"constant","value":"1"}`), `its constant cannot be sent: invalid_type: `},
		{body(`"bodyRoot":"b","body":{"properties":[]}`), `body and bodyRoot exclude each other`},
		{body(`"rootFill":{"kind":"constant","value":1}`), `rootFill needs bodyRoot`},
		{body(`"contentType":"text/plain"`), `contentType "text/plain" needs body or bodyRoot`},
		{body(`"contentType":"text/plain","body":{"properties":[]}`), `contentType "text/plain" needs bodyRoot`},
		{body(`"contentType":"text","bodyRoot":"b"`), `contentType "text" cannot be sent`},
		{body(`"contentType":"image/*","bodyRoot":"b"`), `contentType "image/*" cannot be sent`},
		{body(`"contentType":"multipart/mixed","bodyRoot":"b"`), `contentType "multipart/mixed" cannot be sent`},
		{body(`"contentType":"multipart/form-data","bodyRoot":"b"`), `contentType "multipart/form-data" and form do not go together`},
		{body(`"bodyRoot":"b","form":{"fields":[]}`), `contentType "" and form do not go together`},
		{body(`"bodyRoot":"b","contentType":"text/plain","rootFill":{"kind":"constant","value":1}`),
			`a constant of the body cannot be sent as "text/plain"`},
		{body(`"body":{"properties":["a"],"curation":[{"name":"b","as":"c"}]}`), `curation of "b" does not belong to a property of its own`},
		{body(`"body":{"properties":["a"],"curation":[{"name":"a"},{"name":"a"}]}`), `curation of "a" does not belong to a property of its own`},
		{form(urlencodedType, `{"name":"g"}`), `form fields ["g"] and body properties ["f"] differ`},
		{form(urlencodedType, `{"name":"f"},{"name":"f"}`), `form field "f" has no name of its own`},
		{form(urlencodedType, `{"name":"f","type":"file"}`), `form field "f": files are not supported there`},
		{form(urlencodedType, `{"name":"f","type":"object","members":[{"name":"m","type":"file"}]}`), `member "m": files are not supported there`},
		{body(`"contentType":"` + urlencodedType + `","body":{"properties":[],"additionalProperties":true},"form":{"fields":[]}`),
			`additionalProperties needs a JSON body`},
		{body(`"contentType":"` + urlencodedType + `","bodyRoot":"b","form":{"fields":[],"notation":"x"}`), `form: unknown notation "x"`},
		{`{"method":"GET","route":"/p","fileSources":["url"]}`, `fileSources: "url" is not text, base64 or ref`},
	}
	for _, tt := range tests {
		var template compose.Template
		if err := json.Unmarshal([]byte(tt.template), &template); err != nil {
			t.Fatalf("%s: %v", tt.template, err)
		}
		if err := template.Validate(); err == nil || !strings.Contains(err.Error(), tt.problem) {
			t.Errorf("Validate(%s) = %v, want %q", tt.template, err, tt.problem)
		}
	}
	parseTemplate(t, `{"method":"GET","route":"/v1;x=1/a%20b/$batch(k='{k é}',l={l})","parameters":[
		{"name":"k é","in":"path"},{"name":"l","in":"path","as":"k"}]}`)
	// All problems are reported at once.
	broken := compose.Template{Method: "G T", Route: "x", FileSources: []string{"url"}}
	if err := broken.Validate(); err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("Validate = %v, want three problems", err)
	}
}
