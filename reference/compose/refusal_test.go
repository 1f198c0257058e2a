package compose_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"example.com/touchstone/reference/compose"
)

// params is a template with the parameters and a route of "/p" and their path parameters.
func params(list string) string {
	return `{"method":"GET","route":"/p","parameters":[` + list + `]}`
}

func TestUnknownArgument(t *testing.T) {
	curated := `{"method":"POST","route":"/b/{fleet}","parameters":[
		{"name":"fleet","in":"path","type":"string","fill":{"kind":"constant","value":"north"}},
		{"name":"pg","in":"query","type":"integer","as":"page"}],
		"body":{"properties":["hull","owner","q"],"additionalProperties":%t,
			"curation":[{"name":"owner","as":"proprietor","fill":{"kind":"deferred","source":"whoami"}},{"name":"q","as":"hint"}]}}`
	closed := strings.Replace(curated, "%t", "false", 1)
	open := strings.Replace(curated, "%t", "true", 1)
	unknown := func(names, field string) compose.Refusal {
		return compose.Refusal{
			Code:    "unknown_argument",
			Field:   field,
			Message: "Unknown argument(s): " + names + ". Allowed: page, hull, hint.",
		}
	}
	for _, template := range []string{closed, open} {
		for _, name := range []string{
			"fleet",      // hidden parameter
			"owner",      // wire name of a hidden field
			"proprietor", // the name a hidden field would have
			"pg", "q",    // wire names of renamed arguments
		} {
			checkRefused(t, template, call(`{"hull":1,"`+name+`":null}`), unknown(name, name))
		}
	}
	checkRefused(t, closed, call(`{"zz":1,"hull":1,"Hull":2,"fleet":3}`), unknown("zz, Hull, fleet", ""))
	// Names come first: what else is wrong would tell a hidden name from an unknown one.
	checkRefused(t, closed, call(`{"page":"x","fleet":[]}`), unknown("fleet", "fleet"))
	checkRefused(t, params(``), call(`{"a":1}`),
		compose.Refusal{Code: "unknown_argument", Field: "a", Message: "Unknown argument(s): a. Allowed: none."})
	group := params(`{"name":"g","in":"query","type":"object","members":[{"name":"x"},{"name":"y"}]}`)
	checkRefused(t, group, call(`{"g":{"x":1,"z":1,"X":1}}`), compose.Refusal{
		Code: "unknown_argument", Message: "Unknown argument(s): g.z, g.X. Allowed: g.x, g.y."})

	c := call(`{"hint":"h","page":2,"extra":1,"hull":0}`)
	c.Deferred = map[string]json.RawMessage{"whoami": json.RawMessage(`"ann"`)}
	checkComposed(t, open, c,
		`{"method":"POST","pathAndQuery":"/b/north?pg=2","bodyJson":{"hull":0,"owner":"ann","q":"h","extra":1}}`)
}

// Two arguments that swap their names are both open, each under its new name.
func TestSwappedNames(t *testing.T) {
	template := `{"method":"POST","route":"/b","body":{"properties":["a","b"],
		"curation":[{"name":"a","as":"b"},{"name":"b","as":"a"}]}}`
	checkComposed(t, template, call(`{"a":1,"b":2}`), `{"method":"POST","pathAndQuery":"/b","bodyJson":{"a":2,"b":1}}`)
}

func TestPathRefusals(t *testing.T) {
	template := `{"method":"GET","route":"/p/{n}/{s}","parameters":[
		{"name":"n","in":"path","type":"integer"},{"name":"s","in":"path","type":"string","as":"slug"}]}`
	tests := []struct{ arguments, code, field, message string }{
		{`{}`, "missing_path_parameter", "n", "Argument 'n' is required and must not be empty."},
		{`{"slug":"a"}`, "missing_path_parameter", "n", "Argument 'n' is required and must not be empty."},
		{`{"n":1}`, "missing_path_parameter", "slug", "Argument 'slug' is required and must not be empty."},
		{`{"n":1,"slug":""}`, "missing_path_parameter", "slug", "Argument 'slug' is required and must not be empty."},
		{`{"n":"1","slug":"a"}`, "invalid_path_type", "n", "Argument 'n' must be of type integer."},
		{`{"n":1.5,"slug":"a"}`, "invalid_path_type", "n", "Argument 'n' must be of type integer."},
		{`{"n":9007199254740992,"slug":"a"}`, "invalid_path_type", "n", "Argument 'n' must be of type integer."},
		{`{"n":null,"slug":"a"}`, "invalid_path_type", "n", "Argument 'n' must be of type integer."},
		{`{"n":[1],"slug":"a"}`, "invalid_path_type", "n", "Argument 'n' must be of type integer."},
		{`{"n":{},"slug":"a"}`, "invalid_path_type", "n", "Argument 'n' must be of type integer."},
		{`{"n":true,"slug":"a"}`, "invalid_path_type", "n", "Argument 'n' must be of type integer."},
		{`{"n":1,"slug":7}`, "invalid_path_type", "slug", "Argument 'slug' must be of type string."},
		{`{"n":1,"slug":"."}`, "invalid_path_type", "slug", "Argument 'slug' must not be '.' or '..'."},
		{`{"n":1,"slug":".."}`, "invalid_path_type", "slug", "Argument 'slug' must not be '.' or '..'."},
	}
	for _, tt := range tests {
		checkRefused(t, template, call(tt.arguments),
			compose.Refusal{Code: tt.code, Field: tt.field, Message: tt.message})
	}
	for arguments, path := range map[string]string{
		`{"n":1.0,"slug":"a.b"}`:               "/p/1/a.b",
		`{"n":9007199254740991,"slug":"..."}`:  "/p/9007199254740991/...",
		`{"n":-1,"slug":" "}`:                  "/p/-1/%20",
		`{"n":0,"slug":"null"}`:                "/p/0/null",
		`{"n":2e0,"slug":"a/../b%2e"}`:         "/p/2/a%2F..%2Fb%252e",
		`{"n":1,"slug":"\r\n\u0000"}`:          "/p/1/%0D%0A%00",
		`{"n":1,"slug":"\ud83d\ude00\u00e9~"}`: "/p/1/%F0%9F%98%80%C3%A9~",
	} {
		checkComposed(t, template, call(arguments), `{"method":"GET","pathAndQuery":"`+path+`"}`)
	}
	list := `{"method":"GET","route":"/p/{l}","parameters":[{"name":"l","in":"path","type":"integer","array":true}]}`
	checkRefused(t, list, call(`{"l":1}`), compose.Refusal{
		Code: "invalid_path_type", Field: "l", Message: "Argument 'l' must be of type array of integer."})
	checkRefused(t, list, call(`{"l":[]}`), compose.Refusal{
		Code: "missing_path_parameter", Field: "l", Message: "Argument 'l' is required and must not be empty."})
}

func TestNullNotAllowed(t *testing.T) {
	template := params(`{"name":"q","in":"query","type":"string"},{"name":"a","in":"query","array":true},
		{"name":"o","in":"query","type":"object","members":[{"name":"m","type":"string"}]},
		{"name":"x-h","in":"header","type":"string"},{"name":"c","in":"cookie","type":"string","style":"cookie"}`)
	for arguments, field := range map[string]string{
		`{"q":null}`:       "q",
		`{"a":null}`:       "a",
		`{"a":["x",null]}`: "a",
		`{"o":null}`:       "o",
		`{"o":{"m":null}}`: "o.m",
		`{"x-h":null}`:     "x-h",
		`{"c":null}`:       "c",
	} {
		checkRefused(t, template, call(arguments), compose.Refusal{
			Code: "null_not_allowed", Field: field, Message: "Argument '" + field + "' must not be null. Leave it out instead."})
	}
	checkComposed(t, template, call(`{"q":"null","a":["null"],"o":{},"x-h":"","c":""}`),
		`{"method":"GET","pathAndQuery":"/p?q=null\u0026a=null","headers":{"x-h":"","cookie":"c="}}`)
}

func TestInvalidType(t *testing.T) {
	template := params(`{"name":"a","in":"query","type":"integer","array":true},{"name":"u","in":"query"},
		{"name":"o","in":"query","type":"object","members":[{"name":"m","type":"boolean","array":true}]},
		{"name":"x-h","in":"header","type":"integer","array":true},{"name":"c","in":"cookie","type":"boolean"}`)
	tests := []struct{ arguments, field, message string }{
		{`{"a":1}`, "a", "Argument 'a' must be an array, not a number."},
		{`{"a":"[1]"}`, "a", "Argument 'a' must be an array, not a string."},
		{`{"a":{"0":1}}`, "a", "Argument 'a' must be an array, not an object."},
		{`{"a":["1"]}`, "a", "Argument 'a' must be of type integer, not a string."},
		{`{"a":[[1]]}`, "a", "Argument 'a' must be of type integer, not an array."},
		{`{"u":[1]}`, "u", "Argument 'u' must be a single value, not an array."},
		{`{"o":[]}`, "o", "Argument 'o' must be an object, not an array."},
		{`{"o":"{}"}`, "o", "Argument 'o' must be an object, not a string."},
		{`{"o":{"m":true}}`, "o.m", "Argument 'o.m' must be an array, not a boolean."},
		{`{"o":{"m":["true"]}}`, "o.m", "Argument 'o.m' must be of type boolean, not a string."},
		{`{"x-h":1}`, "x-h", "Argument 'x-h' must be an array, not a number."},
		{`{"c":"true"}`, "c", "Argument 'c' must be of type boolean, not a string."},
	}
	for _, tt := range tests {
		checkRefused(t, template, call(tt.arguments),
			compose.Refusal{Code: "invalid_type", Field: tt.field, Message: tt.message})
	}
	checkComposed(t, template, call(`{"a":[],"u":1.0,"o":{"m":[]},"x-h":[1.0],"c":false}`),
		`{"method":"GET","pathAndQuery":"/p?u=1","headers":{"x-h":"1","cookie":"c=false"}}`)
}

func TestHeaderInjection(t *testing.T) {
	template := params(`{"name":"x-h","in":"header","type":"string"},{"name":"x-l","in":"header","type":"string","array":true}`)
	for _, bad := range []string{`a\r\nX: 1`, `a\n`, `\ra`, `a\u0000b`, `\u0001`, `\u007f`, `\u001b[0m`} {
		for field, arguments := range map[string]string{
			"x-h": `{"x-h":"` + bad + `"}`,
			"x-l": `{"x-l":["fine","` + bad + `"]}`,
		} {
			checkRefused(t, template, call(arguments), compose.Refusal{
				Code: "header_injection", Field: field,
				Message: "Argument '" + field + "' must not contain a line break or another control character."})
		}
	}
	checkComposed(t, template, call(`{"x-h":"a\tb: c; d=\"e\"","x-l":["%0d%0a","\\r\\n"]}`),
		`{"method":"GET","pathAndQuery":"/p","headers":{"x-h":"a\tb: c; d=\"e\"","x-l":"%0d%0a,\\r\\n"}}`)
}

func TestCookies(t *testing.T) {
	template := params(`{"name":"v","in":"cookie","type":"string","style":"cookie"},
		{"name":"l","in":"cookie","type":"string","style":"cookie","array":true},{"name":"enc","in":"cookie","type":"string","as":"encoded"}`)
	for _, bad := range []string{` `, `a b`, `\"a\"`, `a,b`, `a;b`, `a\\b`, `a\tb`, `\r\n`, `\u0000`, `\u007f`, `é`} {
		for field, arguments := range map[string]string{
			"v": `{"v":"` + bad + `"}`,
			"l": `{"l":["fine","` + bad + `"]}`,
		} {
			checkRefused(t, template, call(arguments), compose.Refusal{
				Code: "invalid_cookie_value", Field: field,
				Message: "Argument '" + field + "' cannot be sent in a cookie: it has a character that is not printable " +
					"ASCII, or a space, a quote, a comma, a semicolon or a backslash."})
		}
	}
	checkComposed(t, template, call(`{"v":"!#$%&'()*+-./:<=>?@[]^_{|}~","l":["a","b"],"encoded":"\"é, ;\\"}`),
		`{"method":"GET","pathAndQuery":"/p","headers":{"cookie":`+
			`"v=!#$%\u0026'()*+-./:\u003c=\u003e?@[]^_{|}~; l=a,b; enc=%22%C3%A9%2C%20%3B%5C"}}`)
}

func TestCookieCarrierCollision(t *testing.T) {
	template := params(`{"name":"sid","in":"cookie","type":"string"},{"name":"lang","in":"cookie","type":"string","as":"language"}`)
	with := func(carrier, arguments string) compose.Call {
		c := call(arguments)
		c.CarrierCookies = carrier
		return c
	}
	for _, carrier := range []string{"lang=en", "a=1; lang=en", "a=1;lang=;b=2", " lang =en", "lang"} {
		checkRefused(t, template, with(carrier, `{"language":"tr"}`), compose.Refusal{
			Code: "cookie_carrier_collision", Field: "language",
			Message: "Argument 'language' is sent as a cookie that the caller's identity already uses. Leave it out."})
	}
	tests := []struct{ carrier, arguments, cookie string }{
		{"lang=en", `{}`, "lang=en"},
		{"lang=en", `{"sid":"1"}`, "lang=en; sid=1"},
		{"Lang=en; language=x; xlang=1", `{"language":"tr"}`, "Lang=en; language=x; xlang=1; lang=tr"},
		{"a=lang=1;", `{"language":"tr"}`, "a=lang=1; lang=tr"},
		{"a=1; b=2", `{"language":"tr","sid":"s"}`, "a=1; b=2; sid=s; lang=tr"},
	}
	for _, tt := range tests {
		checkComposed(t, template, with(tt.carrier, tt.arguments),
			`{"method":"GET","pathAndQuery":"/p","headers":{"cookie":"`+tt.cookie+`"}}`)
	}
}

const (
	deferredMissing = "A value that the host supplies for this operation is not available. Retrying will not help."
	deferredInvalid = "A value that the host supplies for this operation cannot be used. Retrying will not help."
	misconfigured   = "The operation is set up incorrectly and was not called. Details were withheld."
)

// Every way in which a hidden value can be wrong gives one text (SDK-11).
func TestDeferred(t *testing.T) {
	fill := `"fill":{"kind":"deferred","source":"vault"}`
	path := `{"method":"GET","route":"/p/{s}","parameters":[{"name":"s","in":"path","type":"string",` + fill + `}]}`
	query := params(`{"name":"q","in":"query","type":"integer",` + fill + `}`)
	group := params(`{"name":"q","in":"query","type":"object","members":[{"name":"m","type":"integer"}],` + fill + `}`)
	header := params(`{"name":"x-h","in":"header","type":"string","array":true,` + fill + `}`)
	cookie := params(`{"name":"sid","in":"cookie","type":"string","style":"cookie",` + fill + `}`)
	field := `{"method":"POST","route":"/b","body":{"properties":["f"],"curation":[{"name":"f",` + fill + `}]}}`
	root := `{"method":"POST","route":"/b","bodyRoot":"doc","rootFill":{"kind":"deferred","source":"vault"}%s}`
	jsonDoc := strings.Replace(root, "%s", "", 1)
	text := strings.Replace(root, "%s", `,"contentType":"text/plain"`, 1)
	form := strings.Replace(root, "%s",
		`,"contentType":"application/x-www-form-urlencoded","form":{"fields":[{"name":"n","type":"integer"}]}`, 1)
	file := strings.Replace(root, "%s", `,"contentType":"application/octet-stream"`, 1)
	formField := `{"method":"POST","route":"/b","contentType":"multipart/form-data",
		"body":{"properties":["f"],"curation":[{"name":"f",` + fill + `}]},"form":{"fields":[{"name":"f","type":"file"}]}}`

	deferred := func(value string) compose.Call {
		c := call(`{}`)
		c.CarrierCookies = "sid=s1"
		if value != "" {
			c.Deferred = map[string]json.RawMessage{"vault": json.RawMessage(value)}
		}
		return c
	}
	for _, missing := range []string{"", "null"} {
		checkRefused(t, path, deferred(missing), compose.Refusal{Code: "deferred_value_missing", Message: deferredMissing})
		for _, template := range []string{query, group, header, cookie} {
			checkComposed(t, template, deferred(missing), `{"method":"GET","pathAndQuery":"/p","headers":{"cookie":"sid=s1"}}`)
		}
		for _, template := range []string{text, form, file} {
			checkComposed(t, template, deferred(missing), `{"method":"POST","pathAndQuery":"/b","headers":{"cookie":"sid=s1"}}`)
		}
	}
	checkComposed(t, field, deferred(""), `{"method":"POST","pathAndQuery":"/b","headers":{"cookie":"sid=s1"},"bodyJson":{}}`)
	checkComposed(t, field, deferred("null"),
		`{"method":"POST","pathAndQuery":"/b","headers":{"cookie":"sid=s1"},"bodyJson":{"f":null}}`)
	checkComposed(t, query, deferred("4.0"), `{"method":"GET","pathAndQuery":"/p?q=4","headers":{"cookie":"sid=s1"}}`)

	invalid := []struct{ template, value string }{
		{path, `7`}, {path, `""`}, {path, `".."`}, {path, `[]`}, {path, `not JSON`}, {path, `` + `{`},
		{query, `"7"`}, {query, `1.5`}, {query, `9007199254740992`},
		{group, `[]`}, {group, `{"other":1}`}, {group, `{"m":null}`}, {group, `{"m":"1"}`},
		{header, `["a\r\nb"]`}, {header, `"a"`}, {header, `[null]`},
		{cookie, `"a b"`}, {cookie, `"collides"`},
		{field, `{`}, {jsonDoc, `]`}, {text, `5`}, {form, `"x"`}, {form, `{"o":1}`}, {form, `{"n":"x"}`},
		{file, `"x"`}, {file, `{"base64":"a"}`}, {file, `{"text":"a","base64":""}`}, {formField, `{"ref":"r"}`},
	}
	for _, tt := range invalid {
		checkRefused(t, tt.template, deferred(tt.value), compose.Refusal{Code: "deferred_value_invalid", Message: deferredInvalid})
	}
	tooLarge := deferred(`{"base64":"AAAA"}`)
	tooLarge.MaxInlineFileBytes = 2
	checkRefused(t, file, tooLarge, compose.Refusal{Code: "deferred_value_invalid", Message: deferredInvalid})
}

// A constant that cannot be sent is the host's mistake, which Validate finds;
// a call that meets one all the same is not told what it is.
func TestUnusableConstant(t *testing.T) {
	for _, template := range []string{
		`{"method":"GET","route":"/p/{s}","parameters":[{"name":"s","in":"path","type":"integer","fill":{"kind":"constant","value":"x"}}]}`,
		`{"method":"GET","route":"/p/{s}","parameters":[{"name":"s","in":"path","fill":{"kind":"constant","value":null}}]}`,
		`{"method":"GET","route":"/p","parameters":[{"name":"s","in":"header","fill":{"kind":"constant","value":"\n"}}]}`,
		`{"method":"GET","route":"/p","parameters":[{"name":"s","in":"query","fill":{"kind":"constant"}}]}`,
		`{"method":"GET","route":"/p","bodyRoot":"b","contentType":"text/plain","rootFill":{"kind":"constant","value":1}}`,
		`{"method":"GET","route":"/p/{s}"}`,
		`{"method":"GET","route":"/p","body":{"properties":[]},"contentType":"image/png"}`,
		`{"method":"GET","route":"/p","body":{"properties":[]},"contentType":"multipart/form-data"}`,
		`{"method":"GET","route":"/p","parameters":[{"name":"s","in":"body","fill":{"kind":"constant","value":1}}]}`,
	} {
		var broken compose.Template
		if err := json.Unmarshal([]byte(template), &broken); err != nil {
			t.Fatal(err)
		}
		if err := broken.Validate(); err == nil {
			t.Errorf("Validate(%s) passed", template)
		}
		_, err := compose.Compose(&broken, call(`{}`))
		var got *compose.Refusal
		if !errors.As(err, &got) || got.Code != "internal_error" || got.Message != misconfigured || got.Field != "" {
			t.Errorf("Compose(%s) = %v, want internal_error", template, err)
		}
	}
	colliding := call(`{}`)
	colliding.CarrierCookies = "tide=1"
	checkRefused(t, params(`{"name":"tide","in":"cookie","fill":{"kind":"constant","value":"low"}}`), colliding, compose.Refusal{
		Code:    "cookie_carrier_collision",
		Message: "This operation sends a cookie that the caller's identity already uses. No argument changes that."})
}

func TestFillsAreWritten(t *testing.T) {
	constant := func(value string) string { return `"fill":{"kind":"constant","value":` + value + `}` }
	checkComposed(t, `{"method":"POST","route":"/f/{p}","parameters":[
		{"name":"p","in":"path","type":"string",`+constant(`"a/b"`)+`},
		{"name":"x","in":"query","type":"integer"},
		{"name":"h","in":"query","type":"boolean",`+constant(`true`)+`},
		{"name":"o","in":"query","type":"object","members":[{"name":"m","type":"number"}],`+constant(`{"m":1.50}`)+`},
		{"name":"y","in":"query","type":"integer"},
		{"name":"X-T","in":"header",`+constant(`"t"`)+`},{"name":"c","in":"cookie",`+constant(`"d"`)+`}],
		"body":{"properties":["u","v"],"curation":[{"name":"u",`+constant(`{"k": [1]}`)+`}]}}`,
		call(`{"v":2,"y":1,"x":0}`),
		`{"method":"POST","pathAndQuery":"/f/a%2Fb?x=0\u0026h=true\u0026o[m]=1.5\u0026y=1",`+
			`"headers":{"X-T":"t","cookie":"c=d"},"bodyJson":{"u":{"k":[1]},"v":2}}`)
	checkComposed(t, `{"method":"POST","route":"/b","bodyRoot":"d","contentType":"text/plain",
		"rootFill":{"kind":"constant","value":"hi"}}`, call(``),
		`{"method":"POST","pathAndQuery":"/b","contentType":"text/plain","bodyText":"hi"}`)
}
