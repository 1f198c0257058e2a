package schemas_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.com/touchstone/schemas"
)

func TestHeaders(t *testing.T) {
	for _, tc := range []struct {
		name, doc string
		want      schemas.Headers
		written   string
	}{
		{"none", `{}`, nil, `{}`},
		{"in order", `{"B":"1","A":"2"}`, schemas.Headers{{"B", "1"}, {"A", "2"}}, `{"B":"1","A":"2"}`},
		{"repeated", `{"A":["1","2"],"B":""}`, schemas.Headers{{"A", "1"}, {"A", "2"}, {"B", ""}}, `{"A":["1","2"],"B":""}`},
		{"a list of one", `{"A":["1"]}`, schemas.Headers{{"A", "1"}}, `{"A":"1"}`},
		{"case is kept", `{"x-a":"1","X-A":"2"}`, schemas.Headers{{"x-a", "1"}, {"X-A", "2"}}, `{"x-a":"1","X-A":"2"}`},
		{"a member that stands twice", `{"A":"1","B":"2","A":"3"}`, schemas.Headers{{"A", "1"}, {"B", "2"}, {"A", "3"}}, `{"A":["1","3"],"B":"2"}`},
		{"escapes", `{"A\"":"\u00fc\n"}`, schemas.Headers{{`A"`, "ü\n"}}, `{"A\"":"ü\n"}`},
	} {
		var got schemas.Headers
		if err := json.Unmarshal([]byte(tc.doc), &got); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
		if written := string(encode(t, got)); written != tc.written {
			t.Errorf("%s is written as %s, want %s", tc.name, written, tc.written)
		}
	}
	for doc, want := range map[string]string{
		`[["A","1"]]`:    "must be an object",
		`"A: 1"`:         "must be an object",
		`null`:           "must be an object",
		`{"A":1}`:        `header "A" must be a string or an array of strings`,
		`{"A":{}}`:       `header "A" must be`,
		`{"A":["1",2]}`:  `header "A" must be`,
		`{"B":"","A":7}`: `header "A" must be`,
	} {
		var got schemas.Headers
		if err := json.Unmarshal([]byte(doc), &got); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v (%v), want an error with %q", doc, got, err, want)
		}
	}
}

func TestLineOf(t *testing.T) {
	const doc = `{
  "id": "a",
  "input": {
    "status": 400,
    "headers": {"a/b": "1", "c~d": "2",
      "e.f": "3"},
    "list": [
      1, {"x": [
        true,
        null]},

      "last"
    ]
  },
  "": "empty name", "0": "zero",
  "text": "{\n\"id\":1}", "id": "again"
}
`
	for pointer, want := range map[string]int{
		"":                     1,
		"/id":                  2,
		"/input":               3,
		"/input/status":        4,
		"/input/headers":       5,
		"/input/headers/a~1b":  5,
		"/input/headers/c~0d":  5,
		"/input/headers/e.f":   6,
		"/input/list":          7,
		"/input/list/0":        8,
		"/input/list/1":        8,
		"/input/list/1/x":      8,
		"/input/list/1/x/0":    9,
		"/input/list/1/x/1":    10,
		"/input/list/2":        12,
		"/":                    15,
		"/0":                   15,
		"/text":                16,
		"/nothing":             1,
		"/input/list/3":        1,
		"/input/list/x":        1,
		"/input/list/-1":       1,
		"/id/0":                1,
		"/input/status/deeper": 1,
	} {
		if got := schemas.LineOf([]byte(doc), pointer); got != want {
			t.Errorf("LineOf(%q) = %d, want %d", pointer, got, want)
		}
		crlf := strings.ReplaceAll(doc, "\n", "\r\n")
		if got := schemas.LineOf([]byte(crlf), pointer); got != want {
			t.Errorf("with \\r\\n LineOf(%q) = %d, want %d", pointer, got, want)
		}
	}
	for _, tc := range []struct {
		doc, pointer string
		want         int
	}{
		{"\n\n {}", "", 3},
		{"", "/a", 1},
		{"{\"a\":\n", "/a", 2},
		{"{\"a\"\n:\n\n1}", "/a", 4},
		{"not JSON", "/a", 1},
	} {
		if got := schemas.LineOf([]byte(tc.doc), tc.pointer); got != tc.want {
			t.Errorf("LineOf(%q, %q) = %d, want %d", tc.doc, tc.pointer, got, tc.want)
		}
	}
}

// A violation and its line come together: this is how a broken file is reported.
func TestLineOfViolation(t *testing.T) {
	doc := []byte("{\n\"response\": {\"status\": 400, \"headers\": []},\n\"fields\": {\"aliases\": {\n  \"a.b/c\": \"x\",\n  \"d.e/f~g\": 7\n}}}")
	violations, err := schemas.Validate(schemas.MapParamsSchema, doc)
	if err != nil || len(violations) != 1 {
		t.Fatalf("got %v (%v)", violations, err)
	}
	if line := schemas.LineOf(doc, violations[0].Pointer); line != 5 {
		t.Errorf("%s is said to be on line %d, want 5", violations[0].Pointer, line)
	}
}

func TestFixtureSchemas(t *testing.T) {
	for _, tc := range []struct {
		ref schemas.Ref
		doc string
		ok  bool
	}{
		{schemas.CaseSchema, `{"description":"d","input":{"status":404},"expected":{}}`, true},
		{schemas.CaseSchema, `{"kind":"error-mapping","id":"code/not-found","description":"d","requirements":["CODE-04"],"input":{"status":404},"expected":{}}`, true},
		{schemas.CaseSchema, `{"kind":"argument-mapping","description":"d","input":{"anything":1},"expected":{}}`, true},
		{schemas.CaseSchema, `{"description":"d","input":{"status":404},"assert":[{"member":"message","is":"absent"}]}`, true},
		{schemas.CaseSchema, `{"description":"d","input":{"status":404},"assert":[{"member":"message","is":"prefix","value":"x"}]}`, true},
		{schemas.CaseSchema, `{"description":"d","input":{"status":404},"observe":true}`, true},
		{schemas.CaseSchema, `{"description":"d","input":{"status":404}}`, false},
		{schemas.CaseSchema, `{"description":" ","input":{"status":404},"expected":{}}`, false},
		{schemas.CaseSchema, `{"description":"d","expected":{}}`, false},
		{schemas.CaseSchema, `{"id":"Not Kebab","description":"d","input":{"status":404},"expected":{}}`, false},
		{schemas.CaseSchema, `{"description":"d","input":{"status":404},"expected":{},"skip":true}`, false},
		{schemas.CaseSchema, `{"description":"d","input":{"status":404},"assert":[{"member":"message","is":"absent","value":1}]}`, false},
		{schemas.CaseSchema, `{"description":"d","input":{"status":404},"assert":[{"member":"message","is":"prefix"}]}`, false},
		{schemas.CaseSchema, `{"description":"d","input":{"status":404},"expectedAnyOf":[{}]}`, false},
		{schemas.ResponseInputSchema, `{"status":404,"contentType":"a/b","headers":{"A":"1","B":["1","2"]},"body":null,"knownFields":["a"],"fieldAliases":{"b":"a"},"hiddenFields":["c"]}`, true},
		{schemas.ResponseInputSchema, `{"status":99}`, false},
		{schemas.ResponseInputSchema, `{"body":"x"}`, false},
		{schemas.ResponseInputSchema, `{"status":404,"sdkError":"invoke_timeout"}`, false},
		{schemas.ResponseInputSchema, `{"status":404,"headers":{"A":[]}}`, false},
		{schemas.RefusalInputSchema, `{"sdkError":"invoke_timeout","limitMs":0}`, true},
		{schemas.RefusalInputSchema, `{"sdkError":"not_found"}`, false},
		{schemas.RefusalInputSchema, `{"sdkError":"invoke_timeout","status":404}`, false},
		{schemas.RequirementsSchema, `{"kind":"requirements","section":"CODE","about":"a","requirements":[{"id":"CODE-01","level":"MUST","profile":"envelope-core","rule":"r","source":"s"}]}`, true},
		{schemas.RequirementsSchema, `{"kind":"requirements","section":"CODE","about":"a","requirements":[{"id":"CODE-1","level":"MUST","profile":"envelope-core","rule":"r","source":"s"}]}`, false},
		{schemas.RequirementsSchema, `{"kind":"requirements","section":"CODE","about":"a","requirements":[]}`, false},
	} {
		if err := schemas.Check(tc.ref, []byte(tc.doc)); (err == nil) != tc.ok {
			t.Errorf("%s: %s: %v", tc.ref, tc.doc, err)
		}
	}
}
