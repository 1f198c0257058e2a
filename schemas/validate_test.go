package schemas_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.com/touchstone/schemas"
)

func TestViolations(t *testing.T) {
	type violation = schemas.Violation
	for _, tc := range []struct {
		name string
		ref  schemas.Ref
		doc  string
		want []violation
	}{
		{"valid", schemas.SuccessSchema, `{"status":200,"body":{"a":[1,null]},"contentType":"a/b","location":"/x"}`, nil},
		{"unknown member", schemas.SuccessSchema, `{"status":200,"note":"x"}`, []violation{
			{Pointer: "", Keyword: "additional_property_not_allowed", Property: "note", Rule: "Additional property note is not allowed", Value: "x"},
		}},
		{"missing member", schemas.SuccessSchema, `{"body":1}`, []violation{
			{Pointer: "", Keyword: "required", Property: "status", Rule: "status is required", Value: map[string]any{"body": json.Number("1")}},
		}},
		{"wrong type", schemas.BackendErrorSchema, `{"error":"not_found","message":"m","status":404,"retryable":"no"}`, []violation{
			{Pointer: "/retryable", Keyword: "invalid_type", Rule: "Invalid type. Expected: boolean, given: string", Value: "no"},
		}},
		{"all at once, in order", schemas.BackendErrorSchema, `{"zz":1,"message":" ","status":399,"retryable":null,"aa":2}`, []violation{
			{Pointer: "", Keyword: "additional_property_not_allowed", Property: "aa", Rule: "Additional property aa is not allowed", Value: json.Number("2")},
			{Pointer: "", Keyword: "additional_property_not_allowed", Property: "zz", Rule: "Additional property zz is not allowed", Value: json.Number("1")},
			{Pointer: "", Keyword: "required", Property: "error", Rule: "error is required", Value: map[string]any{
				"zz": json.Number("1"), "message": " ", "status": json.Number("399"), "retryable": nil, "aa": json.Number("2"),
			}},
			{Pointer: "/message", Keyword: "pattern", Rule: `Does not match pattern '\S'`, Value: " "},
			{Pointer: "/retryable", Keyword: "invalid_type", Rule: "Invalid type. Expected: boolean, given: null", Value: nil},
			{Pointer: "/status", Keyword: "number_gte", Rule: "Must be greater than or equal to 400", Value: json.Number("399")},
		}},
		{"in an array", schemas.BackendErrorSchema, `{"error":"conflict","message":"m","status":409,"retryable":false,"fields":[{"message":"a"},{"name":"","message":"b"}]}`, []violation{
			{Pointer: "/fields/1/name", Keyword: "string_gte", Rule: "String length must be greater than or equal to 1", Value: ""},
		}},
		{"name with dots, slashes and tildes", schemas.MapParamsSchema, `{"response":{"status":400,"headers":[]},"fields":{"aliases":{"a.b/c~d":7,"(root).x":"y"}}}`, []violation{
			{Pointer: "/fields/aliases/a.b~1c~0d", Keyword: "invalid_type", Rule: "Invalid type. Expected: string, given: integer", Value: json.Number("7")},
		}},
		{"not an object", schemas.SuccessSchema, `[]`, []violation{
			{Pointer: "", Keyword: "invalid_type", Rule: "Invalid type. Expected: object, given: array", Value: []any{}},
		}},
		{"by reference to another file", schemas.RefuseParamsSchema, `{"error":"unknown_tool","narrowing":[]}`, []violation{
			{Pointer: "/narrowing", Keyword: "array_min_items", Rule: "Array must have at least 1 items", Value: []any{}},
		}},
	} {
		got, err := schemas.Validate(tc.ref, []byte(tc.doc))
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

func TestNotValidated(t *testing.T) {
	for _, tc := range []struct {
		name string
		ref  schemas.Ref
		doc  string
		want string
	}{
		{"empty", schemas.SuccessSchema, "", "not a JSON document: unexpected end of JSON input"},
		{"cut", schemas.SuccessSchema, `{"status":200`, "not a JSON document: unexpected end of JSON input"},
		{"more than one value", schemas.SuccessSchema, `{"status":200} {}`, "not a JSON document: invalid character '{' after top-level value"},
		{"no such file", "nowhere.schema.json", `{}`, "finding the schema nowhere.schema.json"},
		{"no such definition", "envelope.schema.json#/definitions/nowhere", `{}`, "compiling the schema envelope.schema.json#/definitions/nowhere"},
		{"number of a megabyte", schemas.SuccessSchema, `{"status":200,"body":"0", "x": -1` + strings.Repeat("0", 1<<20) + `.5e+1}`, "a number of 1048583 characters"},
	} {
		violations, err := schemas.Validate(tc.ref, []byte(tc.doc))
		if err == nil || !strings.Contains(err.Error(), tc.want) || violations != nil {
			t.Errorf("%s: got %v and %v, want an error with %q", tc.name, violations, err, tc.want)
		}
	}
	// Digits in a string are no number.
	for _, body := range []string{strings.Repeat("7", 5000), `\"` + strings.Repeat("7", 5000) + `\\`} {
		if err := schemas.Check(schemas.SuccessSchema, []byte(`{"status":200,"body":"`+body+`"}`)); err != nil {
			t.Errorf("digits in a string: %v", err)
		}
	}
}

func TestCheck(t *testing.T) {
	err := schemas.Check(schemas.BackendErrorSchema, []byte(`{"error":"not_found","message":"m","status":200,"retryable":0}`))
	const want = "/retryable: Invalid type. Expected: boolean, given: integer (value: 0); " +
		"/status: Must be greater than or equal to 400 (value: 200)"
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	if e, ok := errors.AsType[*schemas.SchemaError](err); !ok || e.Ref != schemas.BackendErrorSchema || len(e.Violations) != 2 {
		t.Errorf("got %#v", err)
	}
	if err := schemas.Check(schemas.SuccessSchema, []byte(`{"status":200}`)); err != nil {
		t.Errorf("a valid document: %v", err)
	}
}

func TestViolationText(t *testing.T) {
	for _, tc := range []struct {
		violation schemas.Violation
		want      string
	}{
		{schemas.Violation{Rule: "status is required", Value: map[string]any{}}, "/: status is required (value: {})"},
		{schemas.Violation{Pointer: "/a/0", Rule: "r", Value: strings.Repeat("x", 118)}, `/a/0: r (value: "` + strings.Repeat("x", 118) + `")`},
		{schemas.Violation{Pointer: "/a", Rule: "r", Value: strings.Repeat("x", 119)}, `/a: r (value: "` + strings.Repeat("x", 116) + `...)`},
		{schemas.Violation{Pointer: "/a", Rule: "r", Value: strings.Repeat("x", 115) + "üüü"}, `/a: r (value: "` + strings.Repeat("x", 115) + `...)`},
	} {
		if got := tc.violation.String(); got != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
	}
}

// Every schema compiles, and its references lead somewhere.
func TestAllSchemasCompile(t *testing.T) {
	names, err := fs.Glob(schemas.FS(), "*.schema.json")
	if err != nil || len(names) < 6 {
		t.Fatalf("the schemas are %v (%v)", names, err)
	}
	for _, name := range names {
		if _, err := schemas.Validate(schemas.Ref(name), []byte(`{}`)); err != nil {
			t.Error(err)
		}
		data, err := fs.ReadFile(schemas.FS(), name)
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			ID          string `json:"$id"`
			Definitions map[string]json.RawMessage
		}
		if err := json.Unmarshal(data, &file); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if want := "https://touchstone.example.com/schemas/" + name; file.ID != want {
			t.Errorf("%s has the $id %s, want %s", name, file.ID, want)
		}
		for definition := range file.Definitions {
			if _, err := schemas.Validate(schemas.Ref(name+"#/definitions/"+definition), []byte(`{}`)); err != nil {
				t.Error(err)
			}
		}
	}
	for _, ref := range []schemas.Ref{
		schemas.SuccessSchema, schemas.BackendErrorSchema, schemas.SDKErrorSchema, schemas.CaseSchema, schemas.CaseListSchema,
		schemas.FamilySchema, schemas.TableSchema, schemas.ResponseInputSchema, schemas.RefusalInputSchema, schemas.RequirementsSchema,
		schemas.CertificateSchema, schemas.RequestSchema, schemas.ResponseSchema, schemas.DescribeParamsSchema, schemas.DescribeResultSchema,
		schemas.ConfigureParamsSchema, schemas.ConfigureResultSchema, schemas.MapParamsSchema, schemas.RefuseParamsSchema,
		schemas.InvokeParamsSchema, schemas.AnswerSchema, schemas.StubSchema, schemas.ComposeParamsSchema, schemas.ComposeResultSchema,
		schemas.SearchParamsSchema, schemas.LoadParamsSchema, schemas.CompositionSchema, schemas.CallsSchema,
	} {
		if _, err := schemas.Validate(ref, []byte(`{}`)); err != nil {
			t.Error(err)
		}
	}
}

func TestValidateSideBySide(t *testing.T) {
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() {
			for _, ref := range []schemas.Ref{schemas.SuccessSchema, schemas.AnswerSchema, schemas.CaseSchema} {
				if violations, err := schemas.Validate(ref, []byte(`{"nothing":"of the kind"}`)); err != nil || len(violations) == 0 {
					t.Errorf("%s: %v, %v", ref, violations, err)
				}
			}
		})
	}
	work.Wait()
}

func BenchmarkValidate(b *testing.B) {
	for name, doc := range map[string]string{
		"valid":   `{"error":"not_found","message":"m","status":404,"retryable":false}`,
		"invalid": `{"error":"not_found","message":"m","status":404,"retryable":null}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := schemas.Validate(schemas.BackendErrorSchema, []byte(doc)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
