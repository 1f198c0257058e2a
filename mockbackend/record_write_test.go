package mockbackend_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.com/touchstone/mockbackend"
	"example.com/touchstone/schemas"
)

// Any JSON body and any text comes back from a file as it was.
func TestMarshalStubsRoundTrip(t *testing.T) {
	letters := rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune(" \t\r\n\x00\x7f\u0085\u2028\ufeff:#-'\"\\{}[]&*!|>%@`~=<,?")))
	text := rapid.OneOf(rapid.StringOf(letters), rapid.SampledFrom([]string{"", "true", "null", "~", "1", "1e3", "0x1F", "2024-01-01", "<<", "=", "no", " x", "x ", "\n", "\n x", "a\n", "a\n\n", "- a", "? a", "---\n", "%YAML"}))
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		leaf := []*rapid.Generator[any]{
			text.AsAny(), rapid.Bool().AsAny(), rapid.Just[any](nil),
			rapid.SampledFrom([]any{json.Number("0"), json.Number("-0"), json.Number("1.50"), json.Number("1e400"), json.Number("-1E-7"), json.Number("123456789012345678901234567890")}),
		}
		if depth > 0 {
			leaf = append(leaf, rapid.SliceOfN(value(depth-1), 0, 4).AsAny(), rapid.MapOfN(text, value(depth-1), 0, 4).AsAny())
		}
		return rapid.OneOf(leaf...)
	}
	rapid.Check(t, func(t *rapid.T) {
		body, err := json.Marshal(value(3).Draw(t, "body"))
		if err != nil {
			t.Fatal(err)
		}
		plain := text.Draw(t, "text")
		in := []schemas.Stub{
			{ID: "json", Respond: &schemas.StubResponse{JSON: body}},
			{ID: "text", Respond: &schemas.StubResponse{Text: &plain}},
			{ID: "bytes", Respond: &schemas.StubResponse{Bytes: []byte(plain + "\xff")}},
		}
		for _, name := range []string{"a.yaml", "a.json"} {
			data, err := mockbackend.MarshalStubs(name, in, "")
			if err != nil {
				t.Fatal(err)
			}
			out, err := mockbackend.ReadStubs(name, data)
			if err != nil {
				t.Fatalf("%v\n%s", err, data)
			}
			var want, got any
			for doc, v := range map[*any][]byte{&want: body, &got: out[0].Respond.JSON} {
				dec := json.NewDecoder(bytes.NewReader(v))
				dec.UseNumber()
				if err := dec.Decode(doc); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("body (-want +got):\n%s\n%s", diff, data)
			}
			if *out[1].Respond.Text != plain || string(out[2].Respond.Bytes) != plain+"\xff" {
				t.Fatalf("text %q came back as %q\n%s", plain, *out[1].Respond.Text, data)
			}
		}
	})
}
