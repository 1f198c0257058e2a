package compose_test

import (
	"testing"

	"example.com/touchstone/reference/compose"
)

const (
	jsonFields = `{"method":"POST","route":"/b","body":{"properties":["hull","sail"]}}`
	openFields = `{"method":"POST","route":"/b/{id}","parameters":[{"name":"id","in":"path","type":"integer"}],
		"body":{"properties":["hull"],"additionalProperties":true}}`
	jsonRoot = `{"method":"PUT","route":"/b","bodyRoot":"doc","contentType":"application/vnd.boat+json; v=1"}`
	textRoot = `{"method":"POST","route":"/b","bodyRoot":"note","contentType":"text/markdown"}`
	fileRoot = `{"method":"POST","route":"/b","bodyRoot":"photo","contentType":"image/png"}`

	urlencoded = `{"method":"POST","route":"/b","contentType":"application/x-www-form-urlencoded",
		"body":{"properties":["n","tags","dim"],"curation":[{"name":"n","as":"count"}]},
		"form":{"fields":[{"name":"n","type":"integer"},{"name":"tags","type":"string","array":true},
			{"name":"dim","type":"object","members":[{"name":"w","type":"number"},{"name":"l","type":"number","array":true}]}]}}`
	urlencodedRoot = `{"method":"POST","route":"/b","contentType":"application/x-www-form-urlencoded","bodyRoot":"doc",
		"form":{"notation":"dot","fields":[{"name":"n","type":"integer"},
			{"name":"dim","type":"object","members":[{"name":"w","type":"number"}]}]}}`
	multipartForm = `{"method":"POST","route":"/b","contentType":"multipart/form-data",
		"body":{"properties":["a b","dim","plan","photos"]},
		"form":{"fields":[{"name":"a b","type":"string"},
			{"name":"dim","type":"object","members":[{"name":"w é","type":"number"}]},
			{"name":"plan","type":"file","mediaType":"text/csv"},{"name":"photos","type":"file","array":true}]}}`
)

func TestBody(t *testing.T) {
	const request = `{"method":"POST","pathAndQuery":"/b"`
	tests := []struct{ name, template, arguments, want string }{
		{"fields in declaration order, values as sent", jsonFields,
			`{"sail":{"z":1,"a":[12345678901234567890,1.50]},"hull":null}`,
			request + `,"bodyJson":{"hull":null,"sail":{"z":1,"a":[12345678901234567890,1.50]}}}`},
		{"no field sent is the empty object", jsonFields, `{}`, request + `,"bodyJson":{}}`},
		{"additional fields behind, in their order", openFields, `{"z":1,"id":4,"y":{"id":2},"hull":"h"}`,
			`{"method":"POST","pathAndQuery":"/b/4","bodyJson":{"hull":"h","z":1,"y":{"id":2}}}`},
		{"names are escaped", openFields, `{"id":4,"a\"b\n":1}`,
			`{"method":"POST","pathAndQuery":"/b/4","bodyJson":{"a\"b\n":1}}`},
		{"root absent", jsonRoot, `{}`, `{"method":"PUT","pathAndQuery":"/b"}`},
		{"root null", jsonRoot, `{"doc":null}`,
			`{"method":"PUT","pathAndQuery":"/b","contentType":"application/vnd.boat+json; v=1","bodyJson":null}`},
		{"root scalar", jsonRoot, `{"doc": "x" }`,
			`{"method":"PUT","pathAndQuery":"/b","contentType":"application/vnd.boat+json; v=1","bodyJson":"x"}`},
		{"text", textRoot, `{"note":"# a\r\nb"}`, request + `,"contentType":"text/markdown","bodyText":"# a\r\nb"}`},
		{"empty text", textRoot, `{"note":""}`, request + `,"contentType":"text/markdown","bodyText":""}`},
		{"text absent", textRoot, `{}`, request + `}`},
		{"file", fileRoot, `{"photo":{"base64":"AP8=","name":"a.png"}}`,
			request + `,"contentType":"image/png","bodyFile":{"base64":"AP8=","byteLength":2,"filename":"a.png","mediaType":"image/png"}}`},
		{"file absent", fileRoot, `{}`, request + `}`},
		{"form", urlencoded, `{"dim":{"l":[1,2.0],"w":1e1},"tags":["a b","c&d"],"count":3}`,
			request + `,"contentType":"application/x-www-form-urlencoded",` +
				`"bodyForm":"n=3\u0026tags=a%20b\u0026tags=c%26d\u0026dim[w]=10\u0026dim[l]=1\u0026dim[l]=2"}`},
		{"form without a field", urlencoded, `{"tags":[]}`,
			request + `,"contentType":"application/x-www-form-urlencoded","bodyForm":""}`},
		{"form root", urlencodedRoot, `{"doc":{"dim":{"w":1},"n":2}}`,
			request + `,"contentType":"application/x-www-form-urlencoded","bodyForm":"n=2\u0026dim.w=1"}`},
		{"form root absent", urlencodedRoot, `{}`, request + `}`},
		{"parts", multipartForm,
			`{"photos":[{"base64":"AA=="},{"text":"","name":"b"}],"plan":{"text":"x,y"},"dim":{"w é":1.0},"a b":"v w"}`,
			request + `,"contentType":"multipart/form-data","bodyParts":[{"name":"a b","value":"v w"},{"name":"dim[w é]","value":"1"},` +
				`{"name":"plan","file":{"filename":"plan","mediaType":"text/csv","text":"x,y"}},` +
				`{"name":"photos","file":{"base64":"AA==","byteLength":1,"filename":"photos","mediaType":"application/octet-stream"}},` +
				`{"name":"photos","file":{"filename":"b","mediaType":"text/plain; charset=utf-8","text":""}}]}`},
		{"no parts", multipartForm, `{"photos":[]}`, request + `,"contentType":"multipart/form-data","bodyParts":[]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			checkComposed(t, tt.template, call(tt.arguments), tt.want)
		})
	}
}

func TestBodyRefusals(t *testing.T) {
	tests := []struct {
		name, template, arguments string
		want                      compose.Refusal
	}{
		{"undeclared field", jsonFields, `{"hul":1}`,
			compose.Refusal{Code: "unknown_argument", Field: "hul", Message: "Unknown argument(s): hul. Allowed: hull, sail."}},
		{"additional fields in a form", urlencoded, `{"extra":1}`,
			compose.Refusal{Code: "unknown_argument", Field: "extra", Message: "Unknown argument(s): extra. Allowed: count, tags, dim."}},
		{"the members of a root are not arguments", urlencodedRoot, `{"n":1}`,
			compose.Refusal{Code: "unknown_argument", Field: "n", Message: "Unknown argument(s): n. Allowed: doc."}},
		{"undeclared member of a form root", urlencodedRoot, `{"doc":{"m":1}}`,
			compose.Refusal{Code: "unknown_argument", Field: "doc.m", Message: "Unknown argument(s): doc.m. Allowed: doc.n, doc.dim."}},
		{"undeclared member of a member", urlencodedRoot, `{"doc":{"dim":{"h":1}}}`,
			compose.Refusal{Code: "unknown_argument", Field: "doc.dim.h", Message: "Unknown argument(s): doc.dim.h. Allowed: doc.dim.w."}},
		{"null field of a form", urlencoded, `{"count":null}`,
			compose.Refusal{Code: "null_not_allowed", Field: "count", Message: "Argument 'count' must not be null. Leave it out instead."}},
		{"null array of a form", urlencoded, `{"tags":null}`,
			compose.Refusal{Code: "null_not_allowed", Field: "tags", Message: "Argument 'tags' must not be null. Leave it out instead."}},
		{"null form root", urlencodedRoot, `{"doc":null}`,
			compose.Refusal{Code: "null_not_allowed", Field: "doc", Message: "Argument 'doc' must not be null. Leave it out instead."}},
		{"null text", textRoot, `{"note":null}`,
			compose.Refusal{Code: "null_not_allowed", Field: "note", Message: "Argument 'note' must not be null. Leave it out instead."}},
		{"null file", fileRoot, `{"photo":null}`,
			compose.Refusal{Code: "null_not_allowed", Field: "photo", Message: "Argument 'photo' must not be null. Leave it out instead."}},
		{"null files", multipartForm, `{"photos":null}`,
			compose.Refusal{Code: "null_not_allowed", Field: "photos", Message: "Argument 'photos' must not be null. Leave it out instead."}},
		{"text of a number", textRoot, `{"note":1}`,
			compose.Refusal{Code: "invalid_type", Field: "note", Message: "Argument 'note' must be of type string, not a number."}},
		{"wrong type of a field", urlencoded, `{"count":"3"}`,
			compose.Refusal{Code: "invalid_type", Field: "count", Message: "Argument 'count' must be of type integer, not a string."}},
		{"wrong type of a member", urlencoded, `{"dim":{"l":["1"]}}`,
			compose.Refusal{Code: "invalid_type", Field: "dim.l", Message: "Argument 'dim.l' must be of type number, not a string."}},
		{"no array", urlencoded, `{"tags":"a"}`,
			compose.Refusal{Code: "invalid_type", Field: "tags", Message: "Argument 'tags' must be an array, not a string."}},
		{"no object", urlencoded, `{"dim":[1]}`,
			compose.Refusal{Code: "invalid_type", Field: "dim", Message: "Argument 'dim' must be an object, not an array."}},
		{"no root object", urlencodedRoot, `{"doc":true}`,
			compose.Refusal{Code: "invalid_type", Field: "doc", Message: "Argument 'doc' must be an object, not a boolean."}},
		{"no array of files", multipartForm, `{"photos":{"text":"a"}}`,
			compose.Refusal{Code: "invalid_type", Field: "photos", Message: "Argument 'photos' must be an array, not an object."}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			checkRefused(t, tt.template, call(tt.arguments), tt.want)
		})
	}
}
