package schemas_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/schemas"
)

func TestCheckUnique(t *testing.T) {
	for _, tt := range []struct {
		doc  string
		want *schemas.DuplicateError
	}{
		{`{"a": 1, "b": {"a": [{"a": 1}, {"a": 2}]}, "A": "a", "c": [], "d": {}}`, nil},
		{`[1, -2.5e+3, true, null, "a\"{", {"\\": 1, "\"": 2}, [[]], "\\"]`, nil},
		{` "a" `, nil},
		{"{\"a\": 1,\n\n\"a\": 1}", &schemas.DuplicateError{Pointer: "/a", Name: "a", Line: 3, First: 1}},
		{"[{},\n{\"x/y\": [true, {\"é\": 1,\n\"b\": {\"c\": \"}\"},\r\n\"\\u00e9\": 2}]}]",
			&schemas.DuplicateError{Pointer: "/1/x~1y/1/é", Name: "é", Line: 4, First: 2}},
		{`{"": 1, "": {}}`, &schemas.DuplicateError{Pointer: "/", Name: "", Line: 1, First: 1}},
		// Not JSON: whatever is said, it is said at last.
		{`{`, nil}, {`[`, nil}, {`["a`, nil}, {`{"a\`, nil}, {`[}`, nil}, {`{"a":`, nil}, {``, nil}, {`[{]`, nil},
	} {
		err := schemas.CheckUnique([]byte(tt.doc))
		got, _ := errors.AsType[*schemas.DuplicateError](err)
		if diff := cmp.Diff(tt.want, got); diff != "" || (err == nil) != (tt.want == nil) {
			t.Errorf("%s: %v (-want +got):\n%s", tt.doc, err, diff)
		}
	}
}

// Whether a member stands twice, a document and the document as it is decoded
// and written again agree: then none is lost.
func FuzzCheckUnique(f *testing.F) {
	for _, seed := range []string{fullStub, `{"a":{"b":[{}]},"a":1}`, `{"\u0061":1,"a":2}`, `[" \\",{"x":"\"","":-1e5}]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		err := schemas.CheckUnique([]byte(doc))
		if !json.Valid([]byte(doc)) || strings.ToValidUTF8(doc, "") != doc {
			return
		}
		if got, want := err != nil, losesMembers(t, doc); got != want {
			t.Errorf("%s: %v, loses members: %t", doc, err, want)
		}
	})
}

// losesMembers compares the number of names in a document before and after.
func losesMembers(t *testing.T, doc string) bool {
	var v any
	dec := json.NewDecoder(strings.NewReader(doc))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return tokens(t, doc) != tokens(t, string(again))
}

func tokens(t *testing.T, doc string) int {
	dec := json.NewDecoder(strings.NewReader(doc))
	dec.UseNumber()
	n := 0
	for {
		if _, err := dec.Token(); err != nil {
			return n
		}
		n++
	}
}
