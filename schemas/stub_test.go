package schemas_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/schemas"
)

const fullStub = `{
  "id": "a.1", "priority": 3, "times": 2,
  "scenario": {"name": "cart", "state": "started", "next": "full"},
  "match": {
    "method": "POST", "path": "/orders/{id}",
    "query": {"a": "1", "b": ["1", "2"], "c": {"contains": "x"}},
    "headers": {"X-A": {"matches": "^v"}}, "cookies": {"sid": {"absent": true}},
    "contentType": "application/json",
    "body": {"equals": {"a": 1.50}, "subset": {"a": null}, "jsonPath": {"$.a": 12345678901234567890}, "text": {"contains": "y"}}
  },
  "sequence": {
    "responses": [
      {"status": 204, "headers": [["Z", "1"], ["a", "2"], ["Z", "3"]], "omit": ["Date"], "raw": true, "text": "",
       "interim": [{"status": 103, "headers": [["Link", "</a>"]]}], "delay": {"ms": 5}},
      {"template": true, "text": "{{.Path.id}}", "delay": {"uniform": {"minMs": 1, "maxMs": 2}, "seed": 18446744073709551615}},
      {"delay": {"lognormal": {"medianMs": 1.5, "sigma": 0.5}}},
      {"json": null}, {"base64": "AAH/"}, {"file": "a.bin"},
      {"fault": {"kind": "drip", "afterBytes": 0, "bytes": 2, "intervalMs": 3, "durationMs": 4}}
    ],
    "then": "cycle"
  }
}`

func TestStubRoundTrip(t *testing.T) {
	if err := schemas.Check(schemas.StubSchema, []byte(fullStub)); err != nil {
		t.Fatal(err)
	}
	var s schemas.Stub
	if err := json.Unmarshal([]byte(fullStub), &s); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(decode(t, []byte(fullStub)), decode(t, out)); diff != "" {
		t.Errorf("the stub changed on its way (-in +out):\n%s", diff)
	}
	if err := schemas.Check(schemas.StubSchema, out); err != nil {
		t.Errorf("what is written breaks the schema: %v", err)
	}
}

func decode(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestStubHeaders(t *testing.T) {
	for _, tt := range []struct {
		in, out string
		want    schemas.StubHeaders
	}{
		{`[["A","1"],["a","2"]]`, `[["A","1"],["a","2"]]`, schemas.StubHeaders{{Name: "A", Value: "1"}, {Name: "a", Value: "2"}}},
		{`{"Z":"1","A":["2","3"]}`, `[["Z","1"],["A","2"],["A","3"]]`,
			schemas.StubHeaders{{Name: "Z", Value: "1"}, {Name: "A", Value: "2"}, {Name: "A", Value: "3"}}},
		{`[["A","6Q==","base64"]]`, `[["A","6Q==","base64"]]`, schemas.StubHeaders{{Name: "A", Value: "\xe9"}}},
	} {
		var got schemas.StubHeaders
		if err := json.Unmarshal([]byte(tt.in), &got); err != nil {
			t.Errorf("%s: %v", tt.in, err)
			continue
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.in, diff)
		}
		out, err := json.Marshal(got)
		if err != nil || string(out) != tt.out {
			t.Errorf("%s is written as %s (%v), want %s", tt.in, out, err, tt.out)
		}
	}
	for _, bad := range []string{`[["A"]]`, `[["A","1","hex"]]`, `[["A","*","base64"]]`, `{"A":1}`, `"A"`} {
		var got schemas.StubHeaders
		if json.Unmarshal([]byte(bad), &got) == nil {
			t.Errorf("%s was read as %v", bad, got)
		}
	}
}

func TestStubSchemaRefuses(t *testing.T) {
	for name, doc := range map[string]string{
		"no match":          `{"respond":{}}`,
		"no answer":         `{"match":{}}`,
		"two answers":       `{"match":{},"respond":{},"sequence":{"responses":[{}]}}`,
		"unknown member":    `{"match":{},"respond":{},"x":1}`,
		"unknown in match":  `{"match":{"uri":"/"},"respond":{}}`,
		"path":              `{"match":{"path":"orders"},"respond":{}}`,
		"two bodies":        `{"match":{},"respond":{"json":1,"text":""}}`,
		"text and base64":   `{"match":{},"respond":{"base64":"","text":""}}`,
		"file and base64":   `{"match":{},"respond":{"base64":"","file":"a"}}`,
		"bad base64":        `{"match":{},"respond":{"base64":"a"}}`,
		"status too low":    `{"match":{},"respond":{"status":199}}`,
		"status too high":   `{"match":{},"respond":{"status":1000}}`,
		"final interim":     `{"match":{},"respond":{"interim":[{"status":200}]}}`,
		"switching":         `{"match":{},"respond":{"interim":[{"status":101}]}}`,
		"times":             `{"match":{},"respond":{},"times":0}`,
		"fault kind":        `{"match":{},"respond":{"fault":{}}}`,
		"empty sequence":    `{"match":{},"sequence":{"responses":[]}}`,
		"sequence end":      `{"match":{},"sequence":{"responses":[{}],"then":"stop"}}`,
		"two conditions":    `{"match":{"query":{"a":{"contains":"x","absent":true}}},"respond":{}}`,
		"scenario no name":  `{"match":{},"respond":{},"scenario":{}}`,
		"empty body match":  `{"match":{"body":{}},"respond":{}}`,
		"two delays":        `{"match":{},"respond":{"delay":{"ms":1,"uniform":{"minMs":1,"maxMs":2}}}}`,
		"two draws":         `{"match":{},"respond":{"delay":{"lognormal":{"medianMs":1,"sigma":1},"uniform":{"minMs":1,"maxMs":2}}}}`,
		"seed alone":        `{"match":{},"respond":{"delay":{"seed":1}}}`,
		"half a uniform":    `{"match":{},"respond":{"delay":{"uniform":{"minMs":1}}}}`,
		"no median":         `{"match":{},"respond":{"delay":{"lognormal":{"medianMs":0,"sigma":1}}}}`,
		"automatic headers": `{"match":{},"respond":{"omit":["Server"]}}`,
	} {
		if violations, err := schemas.Validate(schemas.StubSchema, []byte(doc)); err != nil || len(violations) == 0 {
			t.Errorf("%s: %s is taken (%v)", name, doc, err)
		}
	}
}

// A clone says the same as its stub, and no part of one is a part of the other.
func TestStubClone(t *testing.T) {
	var s schemas.Stub
	if err := json.Unmarshal([]byte(fullStub), &s); err != nil {
		t.Fatal(err)
	}
	s.Respond = &schemas.StubResponse{Omit: []string{}}
	clone := s.Clone()
	if diff := cmp.Diff(s, clone); diff != "" {
		t.Errorf("the clone differs (-stub +clone):\n%s", diff)
	}
	if diff := cmp.Diff(schemas.Stub{}, schemas.Stub{}.Clone()); diff != "" {
		t.Errorf("the clone of the zero stub (-stub +clone):\n%s", diff)
	}
	shared(t, "stub", reflect.ValueOf(s), reflect.ValueOf(clone))
}

// shared looks for memory that two values of one shape have in common.
func shared(t *testing.T, at string, a, b reflect.Value) {
	t.Helper()
	switch a.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		if a.Kind() != reflect.Pointer && a.Len() == 0 || a.IsNil() {
			return
		}
		if a.UnsafePointer() == b.UnsafePointer() {
			t.Errorf("%s is shared", at)
			return
		}
	}
	switch a.Kind() {
	case reflect.Pointer:
		shared(t, at, a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			shared(t, at+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i))
		}
	case reflect.Slice:
		for i := range a.Len() {
			shared(t, fmt.Sprintf("%s[%d]", at, i), a.Index(i), b.Index(i))
		}
	case reflect.Map:
		for _, key := range a.MapKeys() {
			shared(t, fmt.Sprintf("%s[%v]", at, key), a.MapIndex(key), b.MapIndex(key))
		}
	}
}
