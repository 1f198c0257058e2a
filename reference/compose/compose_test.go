package compose_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"example.com/touchstone/reference/compose"
	"github.com/google/go-cmp/cmp"
)

// parseTemplate reads a template that must be valid.
func parseTemplate(t testing.TB, text string) *compose.Template {
	t.Helper()
	var template compose.Template
	if err := json.Unmarshal([]byte(text), &template); err != nil {
		t.Fatalf("template: %v", err)
	}
	if err := template.Validate(); err != nil {
		t.Fatalf("template: %v", err)
	}
	return &template
}

// call makes a call with the default limits.
func call(arguments string) compose.Call {
	return compose.Call{
		Arguments:          json.RawMessage(arguments),
		MaxInlineFileBytes: compose.DefaultMaxInlineFileBytes,
	}
}

// checkComposed compares the composed request, as JSON, with want.
func checkComposed(t *testing.T, template string, c compose.Call, want string) {
	t.Helper()
	r, err := compose.Compose(parseTemplate(t, template), c)
	if err != nil {
		t.Fatalf("Compose(%s) = %v, want a request", c.Arguments, err)
	}
	got, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("Compose(%s) (-want +got):\n%s", c.Arguments, diff)
	}
}

// checkRefused compares the refusal with want.
func checkRefused(t *testing.T, template string, c compose.Call, want compose.Refusal) {
	t.Helper()
	r, err := compose.Compose(parseTemplate(t, template), c)
	var got *compose.Refusal
	if !errors.As(err, &got) {
		t.Fatalf("Compose(%s) = %+v, %v, want refusal %s", c.Arguments, r, err, want.Code)
	}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("Compose(%s) (-want +got):\n%s", c.Arguments, diff)
	}
}

func TestParameters(t *testing.T) {
	query := func(rest string) string {
		return `{"method":"GET","route":"/boats","parameters":[{"name":"k","in":"query",` + rest + `}]}`
	}
	tests := []struct {
		name, template, arguments, want string
	}{
		{"nothing sent", query(`"type":"string"`), `{}`, `{"method":"GET","pathAndQuery":"/boats"}`},
		{"empty string", query(`"type":"string"`), `{"k":""}`, `{"method":"GET","pathAndQuery":"/boats?k="}`},
		{"strict encoding", query(`"type":"string"`), `{"k":"-._~ !'()*/:@+é"}`,
			`{"method":"GET","pathAndQuery":"/boats?k=-._~%20%21%27%28%29%2A%2F%3A%40%2B%C3%A9"}`},
		{"array repeats the key", query(`"type":"integer","array":true`), `{"k":[2,1]}`,
			`{"method":"GET","pathAndQuery":"/boats?k=2\u0026k=1"}`},
		{"empty array", query(`"type":"integer","array":true`), `{"k":[]}`, `{"method":"GET","pathAndQuery":"/boats"}`},
		{"array on a comma", query(`"type":"string","array":true,"explode":false`), `{"k":["x,y","z"]}`,
			`{"method":"GET","pathAndQuery":"/boats?k=x%2Cy,z"}`},
		{"name of a folded array is encoded",
			`{"method":"GET","route":"/boats","parameters":[{"name":"k[]","in":"query","array":true,"explode":false}]}`,
			`{"k[]":["x"]}`, `{"method":"GET","pathAndQuery":"/boats?k%5B%5D=x"}`},
		{"empty folded array", query(`"array":true,"explode":false`), `{"k":[]}`, `{"method":"GET","pathAndQuery":"/boats"}`},
		{"array on a pipe", query(`"type":"string","array":true,"style":"pipeDelimited"`), `{"k":["x|y","z"]}`,
			`{"method":"GET","pathAndQuery":"/boats?k=x%7Cy|z"}`},
		{"array on a space", query(`"type":"string","array":true,"style":"spaceDelimited"`), `{"k":["x y","z"]}`,
			`{"method":"GET","pathAndQuery":"/boats?k=x%20y%20z"}`},
		{"pipes exploded", query(`"type":"string","array":true,"style":"pipeDelimited","explode":true`), `{"k":["x","z"]}`,
			`{"method":"GET","pathAndQuery":"/boats?k=x\u0026k=z"}`},
		{"untyped scalars", query(`"array":true`), `{"k":["x",true,1.0]}`,
			`{"method":"GET","pathAndQuery":"/boats?k=x\u0026k=true\u0026k=1"}`},
		{"object in brackets, in declaration order",
			query(`"type":"object","members":[{"name":"mast","type":"string"},{"name":"a b","type":"integer","array":true}]`),
			`{"k":{"a b":[1,2],"mast":"[t]"}}`,
			`{"method":"GET","pathAndQuery":"/boats?k[mast]=%5Bt%5D\u0026k[a%20b]=1\u0026k[a%20b]=2"}`},
		{"object with dots",
			query(`"type":"object","style":"deepObject","notation":"dot","members":[{"name":"mast","type":"string"}]`),
			`{"k":{"mast":"t.u"}}`, `{"method":"GET","pathAndQuery":"/boats?k.mast=t.u"}`},
		{"object without members sent", query(`"type":"object","members":[{"name":"mast","type":"string"}]`), `{"k":{}}`,
			`{"method":"GET","pathAndQuery":"/boats"}`},
		{"declaration order, not argument order",
			`{"method":"GET","route":"/p/{b}/{a}","parameters":[
				{"name":"y","in":"query","type":"string"},{"name":"a","in":"path","type":"string"},
				{"name":"x","in":"query","type":"string","as":"ex"},{"name":"b","in":"path","type":"string"}]}`,
			`{"ex":"1","a":"2","b":"3","y":"4"}`, `{"method":"GET","pathAndQuery":"/p/3/2?y=4\u0026x=1"}`},
		{"a path value stays in its segment",
			`{"method":"GET","route":"/p/{a}/end","parameters":[{"name":"a","in":"path","type":"string"}]}`,
			`{"a":"../{a}?q#f"}`, `{"method":"GET","pathAndQuery":"/p/..%2F%7Ba%7D%3Fq%23f/end"}`},
		{"path array", `{"method":"GET","route":"/p/{a}","parameters":[{"name":"a","in":"path","type":"integer","array":true}]}`,
			`{"a":[1,2]}`, `{"method":"GET","pathAndQuery":"/p/1,2"}`},
		{"headers keep their order and their text",
			`{"method":"GET","route":"/p","parameters":[
				{"name":"X-Hull","in":"header","type":"string","array":true},{"name":"X-Age","in":"header","type":"number"}]}`,
			`{"X-Age":0.50,"X-Hull":["a b","ü"]}`,
			`{"method":"GET","pathAndQuery":"/p","headers":{"X-Hull":"a b,ü","X-Age":"0.5"}}`},
		{"empty header array", `{"method":"GET","route":"/p","parameters":[{"name":"X-Hull","in":"header","array":true}]}`,
			`{"X-Hull":[]}`, `{"method":"GET","pathAndQuery":"/p"}`},
		{"cookies in one header",
			`{"method":"GET","route":"/p","parameters":[
				{"name":"pier","in":"cookie","type":"string"},{"name":"raw","in":"cookie","type":"string","style":"cookie","array":true},
				{"name":"gone","in":"cookie","array":true}]}`,
			`{"raw":["a%","b="],"pier":"4 b;c","gone":[]}`,
			`{"method":"GET","pathAndQuery":"/p","headers":{"cookie":"pier=4%20b%3Bc; raw=a%,b="}}`},
		{"the last of two equal keys", query(`"type":"string"`), `{"k":null,"k":"v"}`,
			`{"method":"GET","pathAndQuery":"/boats?k=v"}`},
		{"bytes that are not UTF-8", query(`"type":"string"`), "{\"k\":\"a\xffb\"}",
			`{"method":"GET","pathAndQuery":"/boats?k=a%EF%BF%BDb"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			checkComposed(t, tt.template, call(tt.arguments), tt.want)
		})
	}
}

func TestScalars(t *testing.T) {
	template := `{"method":"GET","route":"/p","parameters":[
		{"name":"i","in":"query","type":"integer"},{"name":"n","in":"query","type":"number"},
		{"name":"b","in":"query","type":"boolean"},{"name":"s","in":"query","type":"string"}]}`
	accepted := []struct{ arguments, query string }{
		{`{"i":1.0}`, "i=1"},
		{`{"i":-0}`, "i=0"},
		{`{"i":0e999999999999999999999}`, "i=0"},
		{`{"i":1e3}`, "i=1000"},
		{`{"i":12.5e1}`, "i=125"},
		{`{"i":1200E-2}`, "i=12"},
		{`{"i":9007199254740991}`, "i=9007199254740991"},
		{`{"i":-9007199254740991.00}`, "i=-9007199254740991"},
		{`{"n":1.50}`, "n=1.5"},
		{`{"n":100}`, "n=100"},
		{`{"n":-0.0}`, "n=0"},
		{`{"n":1e-7}`, "n=0.0000001"},
		{`{"n":1E+21}`, "n=1000000000000000000000"},
		{`{"n":12345678901234567890.1234567890}`, "n=12345678901234567890.123456789"},
		{`{"n":9007199254740993}`, "n=9007199254740993"},
		{`{"b":false}`, "b=false"},
		{`{"s":"null"}`, "s=null"},
		{`{"s":"\ud83d\ude00"}`, "s=%F0%9F%98%80"},
	}
	for _, tt := range accepted {
		checkComposed(t, template, call(tt.arguments), `{"method":"GET","pathAndQuery":"/p?`+tt.query+`"}`)
	}
	const tooLarge = "Argument 'i' must be of type integer: without a fraction, and at most 9007199254740991 in magnitude."
	refused := []struct{ arguments, field, message string }{
		{`{"i":1.5}`, "i", tooLarge},
		{`{"i":1e-1}`, "i", tooLarge},
		{`{"i":9007199254740992}`, "i", tooLarge},
		{`{"i":-9007199254740992}`, "i", tooLarge},
		{`{"i":9007199254740991.5}`, "i", tooLarge},
		{`{"i":1e16}`, "i", tooLarge},
		{`{"i":1e999999999999999999999}`, "i", tooLarge},
		{`{"i":1e-999999999999999999999}`, "i", tooLarge},
		{`{"i":1e9223372036854775806}`, "i", tooLarge},
		{`{"i":0.1e-9223372036854775807}`, "i", tooLarge},
		{`{"i":"1"}`, "i", "Argument 'i' must be of type integer, not a string."},
		{`{"i":true}`, "i", "Argument 'i' must be of type integer, not a boolean."},
		{`{"i":[1]}`, "i", "Argument 'i' must be of type integer, not an array."},
		{`{"n":"1.5"}`, "n", "Argument 'n' must be of type number, not a string."},
		{`{"n":{}}`, "n", "Argument 'n' must be of type number, not an object."},
		{`{"n":1e999}`, "n", "Argument 'n' is outside the range of numbers."},
		{`{"n":1e-999}`, "n", "Argument 'n' is outside the range of numbers."},
		{`{"b":"true"}`, "b", "Argument 'b' must be of type boolean, not a string."},
		{`{"b":0}`, "b", "Argument 'b' must be of type boolean, not a number."},
		{`{"s":5}`, "s", "Argument 's' must be of type string, not a number."},
		{`{"s":false}`, "s", "Argument 's' must be of type string, not a boolean."},
	}
	for _, tt := range refused {
		checkRefused(t, template, call(tt.arguments),
			compose.Refusal{Code: "invalid_type", Field: tt.field, Message: tt.message})
	}
}

func TestArgumentsCarrier(t *testing.T) {
	template := `{"method":"GET","route":"/p","parameters":[{"name":"q","in":"query","type":"string"}]}`
	for _, same := range []string{``, `null`, ` null `, `{}`, ` {} `, `"{}"`, `" {\n} "`} {
		checkComposed(t, template, call(same), `{"method":"GET","pathAndQuery":"/p"}`)
	}
	checkComposed(t, template, call(`"{\"q\":\"a\\u0062\"}"`), `{"method":"GET","pathAndQuery":"/p?q=ab"}`)

	// Nesting is bounded, so that no argument overflows the stack.
	deep := `{"q":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`
	refused := []struct{ arguments, message string }{
		{`[]`, "The arguments must be a JSON object, not an array."},
		{`[{"q":"a"}]`, "The arguments must be a JSON object, not an array."},
		{`7`, "The arguments must be a JSON object, not a number."},
		{`true`, "The arguments must be a JSON object, not a boolean."},
		{`false`, "The arguments must be a JSON object, not a boolean."},
		{`""`, "The arguments must be a JSON object, not a string."},
		{`"q"`, "The arguments must be a JSON object, not a string."},
		{`"null"`, "The arguments must be a JSON object, not a string."},
		{`"[]"`, "The arguments must be a JSON object, not a string."},
		{`"\"{}\""`, "The arguments must be a JSON object, not a string."},
		{`"{} {}"`, "The arguments must be a JSON object, not a string."},
		{`{`, "The arguments must be a JSON object; what arrived is not valid JSON."},
		{` `, "The arguments must be a JSON object; what arrived is not valid JSON."},
		{`{"q":NaN}`, "The arguments must be a JSON object; what arrived is not valid JSON."},
		{deep, "The arguments must be a JSON object; what arrived is not valid JSON."},
	}
	for _, tt := range refused {
		checkRefused(t, template, call(tt.arguments), compose.Refusal{Code: "invalid_type", Message: tt.message})
	}
}
