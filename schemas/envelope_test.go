package schemas_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/schemas"
)

var backendCodes = []schemas.BackendCode{
	schemas.ValidationFailed, schemas.Unauthenticated, schemas.Forbidden, schemas.NotFound, schemas.Conflict,
	schemas.RateLimited, schemas.BackendUnavailable, schemas.BackendFailed, schemas.BadRequest,
}

var sdkCodes = []schemas.SDKCode{
	schemas.UnknownArgument, schemas.InvalidPathType, schemas.MissingPathParameter, schemas.HeaderInjection,
	schemas.NullNotAllowed, schemas.InvalidType, schemas.DeferredValueMissing, schemas.DeferredValueInvalid,
	schemas.InvalidCookieValue, schemas.CookieCarrierCollision, schemas.InvalidFileArgument, schemas.FileTooLarge,
	schemas.FileUnresolved, schemas.UnknownTool, schemas.NotInvocable, schemas.ToolChanged, schemas.ResponseTooLarge,
	schemas.InvokeTimeout, schemas.SearchRankerUnavailable, schemas.InternalError,
}

// The Go constants are the enums of the schema, and no code is in both.
func TestCodes(t *testing.T) {
	data, err := fs.ReadFile(schemas.FS(), "envelope.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Definitions struct {
			BackendCode struct{ Enum []schemas.BackendCode }
			SDKCode     struct{ Enum []schemas.SDKCode } `json:"sdkCode"`
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(backendCodes, file.Definitions.BackendCode.Enum); diff != "" {
		t.Errorf("backend codes (-Go +schema):\n%s", diff)
	}
	if diff := cmp.Diff(sdkCodes, file.Definitions.SDKCode.Enum); diff != "" {
		t.Errorf("SDK codes (-Go +schema):\n%s", diff)
	}
	if len(backendCodes) != 9 || len(sdkCodes) != 20 {
		t.Errorf("there are %d backend and %d SDK codes, want 9 and 20", len(backendCodes), len(sdkCodes))
	}
	seen := make(map[string]bool)
	for _, code := range backendCodes {
		seen[string(code)] = true
	}
	for _, code := range sdkCodes {
		if seen[string(code)] {
			t.Errorf("%s is a code of both", code)
		}
		seen[string(code)] = true
	}
	if len(seen) != 29 {
		t.Errorf("there are %d different codes, want 29", len(seen))
	}
}

// whole are envelopes with every member that they can have.
var whole = map[schemas.Ref]string{
	schemas.SuccessSchema: `{"status":200,"body":{"a":null},"contentType":"text/plain","location":"/orders/1"}`,
	schemas.BackendErrorSchema: `{"error":"rate_limited","message":"m","status":429,"retryable":true,
		"fields":[{"name":"n","message":"m"},{"message":"m"}],"retryAfterSeconds":0,"reference":"r"}`,
	schemas.SDKErrorSchema: `{"error":"response_too_large","message":"m","retryable":false,
		"fields":[{"name":"n","message":"m"}],"payload":{"bytes":10,"limit":5,"shape":{"kind":"array","count":0}}}`,
}

func members(t *testing.T, doc string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(doc), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

func encode(t *testing.T, value any) []byte {
	t.Helper()
	doc, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// An envelope has no members but its own, and none of them is null.
func TestEnvelopesAreClosed(t *testing.T) {
	for ref, doc := range whole {
		if err := schemas.Check(ref, []byte(doc)); err != nil {
			t.Errorf("%s: %v", ref, err)
		}
		for other := range whole {
			if other != ref && schemas.Check(other, []byte(doc)) == nil {
				t.Errorf("%s is a %s too", doc, other)
			}
		}
		if err := schemas.Check("envelope.schema.json", []byte(doc)); err != nil {
			t.Errorf("the whole schema: %v", err)
		}
		object := members(t, doc)
		for name := range object {
			changed := maps.Clone(object)
			changed[name] = nil
			err := schemas.Check(ref, encode(t, changed))
			if isBody := name == "body"; (err == nil) != isBody { // null is a JSON value like any other there
				t.Errorf("%s with %s null: %v", ref, name, err)
			}
		}
		for _, name := range []string{"x", "Status", "errors", "$schema", "", "details"} {
			changed := maps.Clone(object)
			changed[name] = 1
			if err := schemas.Check(ref, encode(t, changed)); err == nil || !strings.Contains(err.Error(), "Additional property "+name) {
				t.Errorf("%s with the member %q: %v", ref, name, err)
			}
		}
	}
}

func TestEnvelopeRules(t *testing.T) {
	for _, tc := range []struct {
		ref    schemas.Ref
		member string
		set    any // absent removes it
		ok     bool
	}{
		{schemas.SuccessSchema, "status", 399, true},
		{schemas.SuccessSchema, "status", 400, false},
		{schemas.SuccessSchema, "status", 99, false},
		{schemas.SuccessSchema, "status", "200", false},
		{schemas.SuccessSchema, "status", absent, false},
		{schemas.SuccessSchema, "body", "text", true},
		{schemas.SuccessSchema, "body", absent, true},
		{schemas.SuccessSchema, "contentType", "", false},
		{schemas.SuccessSchema, "location", "", false},
		{schemas.BackendErrorSchema, "status", 400, true},
		{schemas.BackendErrorSchema, "status", 399, false},
		{schemas.BackendErrorSchema, "status", 600, false},
		{schemas.BackendErrorSchema, "status", absent, false},
		{schemas.BackendErrorSchema, "error", "unknown_tool", false},
		{schemas.BackendErrorSchema, "error", "NOT_FOUND", false},
		{schemas.BackendErrorSchema, "error", absent, false},
		{schemas.BackendErrorSchema, "message", "", false},
		{schemas.BackendErrorSchema, "message", " \n", false},
		{schemas.BackendErrorSchema, "message", absent, false},
		{schemas.BackendErrorSchema, "retryable", "true", false},
		{schemas.BackendErrorSchema, "retryable", absent, false},
		{schemas.BackendErrorSchema, "fields", []any{}, false},
		{schemas.BackendErrorSchema, "fields", []any{map[string]any{"name": "n"}}, false},
		{schemas.BackendErrorSchema, "fields", []any{map[string]any{"name": "", "message": "m"}}, false},
		{schemas.BackendErrorSchema, "fields", []any{map[string]any{"name": nil, "message": "m"}}, false},
		{schemas.BackendErrorSchema, "fields", []any{map[string]any{"message": "m", "code": "c"}}, false},
		{schemas.BackendErrorSchema, "fields", []any{nil}, false},
		{schemas.BackendErrorSchema, "fields", absent, true},
		{schemas.BackendErrorSchema, "retryAfterSeconds", -1, false},
		{schemas.BackendErrorSchema, "retryAfterSeconds", 1.5, false},
		{schemas.BackendErrorSchema, "retryAfterSeconds", absent, true},
		{schemas.BackendErrorSchema, "reference", "", false},
		{schemas.BackendErrorSchema, "reference", absent, true},
		{schemas.SDKErrorSchema, "error", "not_found", false},
		{schemas.SDKErrorSchema, "retryable", absent, false},
		{schemas.SDKErrorSchema, "payload", absent, true},
		{schemas.SDKErrorSchema, "payload", map[string]any{"bytes": 1, "limit": 1}, false},
		{schemas.SDKErrorSchema, "payload", map[string]any{"bytes": 1, "limit": 1, "shape": map[string]any{"kind": "text"}}, true},
		{schemas.SDKErrorSchema, "payload", map[string]any{"bytes": 1, "limit": 1, "shape": map[string]any{"kind": "number"}}, false},
		{schemas.SDKErrorSchema, "payload", map[string]any{"bytes": 1, "limit": 1, "shape": map[string]any{"kind": "text", "count": nil}}, false},
		{schemas.SDKErrorSchema, "payload", map[string]any{"bytes": -1, "limit": 1, "shape": map[string]any{"kind": "text"}}, false},
		{schemas.SDKErrorSchema, "payload", map[string]any{"bytes": 1, "limit": 1, "shape": map[string]any{"kind": "text"}, "sample": "x"}, false},
	} {
		object := members(t, whole[tc.ref])
		if tc.set == absent {
			delete(object, tc.member)
		} else {
			object[tc.member] = tc.set
		}
		if err := schemas.Check(tc.ref, encode(t, object)); (err == nil) != tc.ok {
			t.Errorf("%s with %s = %v: %v", tc.ref, tc.member, tc.set, err)
		}
	}
}

const absent = "(absent)"

// The Go types read and write what the schema describes, member for member.
func TestEnvelopeTypes(t *testing.T) {
	for ref, into := range map[schemas.Ref]schemas.Envelope{
		schemas.SuccessSchema:      &schemas.Success{},
		schemas.BackendErrorSchema: &schemas.BackendError{},
		schemas.SDKErrorSchema:     &schemas.SDKError{},
	} {
		if err := json.Unmarshal([]byte(whole[ref]), into); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(members(t, whole[ref]), members(t, string(encode(t, into)))); diff != "" {
			t.Errorf("%s (-read +written):\n%s", ref, diff)
		}
	}
	for ref, value := range map[schemas.Ref]schemas.Envelope{
		schemas.SuccessSchema:      &schemas.Success{Status: 204},
		schemas.BackendErrorSchema: &schemas.BackendError{Error: schemas.NotFound, Message: "m", Status: 404},
		schemas.SDKErrorSchema:     &schemas.SDKError{Error: schemas.UnknownTool, Message: "m"},
	} {
		if err := schemas.Check(ref, encode(t, value)); err != nil {
			t.Errorf("%s with only what it needs: %v", ref, err)
		}
	}
}
