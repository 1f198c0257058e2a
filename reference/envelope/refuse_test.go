package envelope_test

import (
	"encoding/json"
	"testing"

	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/schemas"
)

const (
	tooLarge = "The response is 300000 bytes; the limit is 262144 bytes. It is refused, not truncated: no part of the body was returned. "
	noAdvice = " No argument of this call narrows the response."
)

func TestRefuse(t *testing.T) {
	n := func(n int64) *int64 { return &n }
	payload := func(kind string, count *int64) *schemas.Payload {
		return &schemas.Payload{Bytes: 300000, Limit: 262144, Shape: schemas.PayloadShape{Kind: kind, Count: count}}
	}
	large := func(body string, narrowing ...schemas.FieldError) schemas.RefuseParams {
		return schemas.RefuseParams{Error: "response_too_large", Bytes: n(300000), Limit: n(262144), Payload: json.RawMessage(body), Narrowing: narrowing}
	}
	for _, test := range []struct {
		name  string
		facts schemas.RefuseParams
		want  schemas.SDKError // Error aside
	}{
		{"array", large(`[[1,2],3,{"a":1}]`), schemas.SDKError{Message: tooLarge + "The body is an array of 3 items." + noAdvice, Payload: payload("array", n(3))}},
		{"empty array", large(` [] `), schemas.SDKError{Message: tooLarge + "The body is an array of 0 items." + noAdvice, Payload: payload("array", n(0))}},
		{"object", large(`{"a":"secret","b":{"c":1}}`), schemas.SDKError{Message: tooLarge + "The body is an object with 2 properties." + noAdvice, Payload: payload("object", n(2))}},
		{"text", large(`"a\u00e9\ud83d\ude00\n"`), schemas.SDKError{Message: tooLarge + "The body is a text value of 5 characters." + noAdvice, Payload: payload("text", n(5))}},
		{"number", large(`12345`), schemas.SDKError{Message: tooLarge + "The body is not a JSON array or object." + noAdvice, Payload: payload("text", nil)}},
		{"boolean", large(`true`), schemas.SDKError{Message: tooLarge + "The body is not a JSON array or object." + noAdvice, Payload: payload("text", nil)}},
		{"null", large(`null`), schemas.SDKError{Message: tooLarge + "The body is not a JSON array or object." + noAdvice, Payload: payload("text", nil)}},
		{"no payload", large(``), schemas.SDKError{Message: tooLarge + "The body is not a JSON array or object." + noAdvice, Payload: payload("text", nil)}},
		{"narrowing", large(`[]`, schemas.FieldError{Name: "limit", Message: "How many."}, schemas.FieldError{Name: "{shape}", Message: " "}, schemas.FieldError{Message: "no name"}),
			schemas.SDKError{Message: tooLarge + "The body is an array of 0 items. Narrow it and call again: limit, {shape}.", Payload: payload("array", n(0)),
				Fields: []schemas.FieldError{{Name: "limit", Message: "How many."}, {Name: "{shape}", Message: "Constrains the result set."}}}},
		{"measures that are missing", schemas.RefuseParams{Error: "response_too_large", Payload: json.RawMessage(`[1]`)},
			schemas.SDKError{Message: "The response is 3 bytes; the limit is 0 bytes. It is refused, not truncated: no part of the body was returned. The body is an array of 1 items." + noAdvice,
				Payload: &schemas.Payload{Bytes: 3, Shape: schemas.PayloadShape{Kind: "array", Count: n(1)}}}},

		{"timeout", schemas.RefuseParams{Error: "invoke_timeout", LimitMs: n(1500), Message: "not this"}, schemas.SDKError{Retryable: true,
			Message: "The backend did not answer within 1500 ms and the call was abandoned. The operation may already have been applied; re-read before retrying."}},
		{"timeout without a limit", schemas.RefuseParams{Error: "invoke_timeout", Message: "Too late."}, schemas.SDKError{Retryable: true, Message: "Too late."}},
		{"tool changed", schemas.RefuseParams{Error: "tool_changed", Tool: "get_{field}"}, schemas.SDKError{
			Message: "The tool 'get_{field}' changed after it was loaded, so the call was refused before reaching the backend. Load it again with load_tool and retry with the new version."}},
		{"ranker", schemas.RefuseParams{Error: "search_ranker_unavailable"}, schemas.SDKError{Retryable: true,
			Message: "Search is unavailable: the ranker did not answer this query. Call search_tools again later."}},
		{"file not found", schemas.RefuseParams{Error: "file_unresolved", Field: "scan", Reason: "not_found"}, schemas.SDKError{
			Message: "File argument 'scan' names a ref that could not be resolved. Retrying with the same ref will not help."}},
		{"file forbidden", schemas.RefuseParams{Error: "file_unresolved", Field: "scan", Reason: "forbidden"}, schemas.SDKError{
			Message: "File argument 'scan' names a ref that could not be resolved. Retrying with the same ref will not help."}},
		{"file unavailable", schemas.RefuseParams{Error: "file_unresolved", Field: "scan", Reason: "unavailable"}, schemas.SDKError{Retryable: true,
			Message: "File argument 'scan' could not be resolved right now. Retry the call."}},
		{"file too large", schemas.RefuseParams{Error: "file_too_large", Field: "scan", Reason: "too_large", Limit: n(10)}, schemas.SDKError{
			Message: "File argument 'scan' is over the limit of 10 bytes and was not sent."}},
		{"inline file too large", schemas.RefuseParams{Error: "file_too_large", Message: "The files are too large."}, schemas.SDKError{Message: "The files are too large."}},
		{"unknown tool", schemas.RefuseParams{Error: "unknown_tool", Tool: "get  it"}, schemas.SDKError{
			Message: "No operation named 'get  it'. Use search_tools to find the exact name."}},
		{"unknown tool, said otherwise", schemas.RefuseParams{Error: "unknown_tool", Tool: "x", Message: "There is no x."}, schemas.SDKError{Message: "There is no x."}},
		{"the caller's message", schemas.RefuseParams{Error: "unknown_argument", Message: "Unknown argument(s): a\xff. Allowed: id."}, schemas.SDKError{
			Message: "Unknown argument(s): a\uFFFD. Allowed: id."}},
		{"no message", schemas.RefuseParams{Error: "invalid_type", Message: " "}, schemas.SDKError{Message: "The call was refused before it reached the backend."}},
		{"internal", schemas.RefuseParams{Error: "internal_error", Message: "The cache\n is gone."}, schemas.SDKError{Message: "The cache is gone."}},
		{"internal, withheld", schemas.RefuseParams{Error: "internal_error", Message: "KeyNotFoundException"}, schemas.SDKError{
			Message: "The call failed inside the tool layer. Details were withheld."}},
		{"internal, no message", schemas.RefuseParams{Error: "internal_error"}, schemas.SDKError{
			Message: "The call failed inside the tool layer. Details were withheld."}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.want.Error = test.facts.Error
			got := envelope.NewMapper().Refuse(test.facts)
			equal(t, &test.want, got)
			valid(t, got)
		})
	}
}

func TestEveryRefusalIsValid(t *testing.T) {
	for code, retryable := range map[schemas.SDKCode]bool{
		"unknown_argument": false, "invalid_path_type": false, "missing_path_parameter": false, "header_injection": false,
		"null_not_allowed": false, "invalid_type": false, "deferred_value_missing": false, "deferred_value_invalid": false,
		"invalid_cookie_value": false, "cookie_carrier_collision": false, "invalid_file_argument": false, "file_too_large": false,
		"file_unresolved": false, "unknown_tool": false, "not_invocable": false, "tool_changed": false, "response_too_large": false,
		"invoke_timeout": true, "search_ranker_unavailable": true, "internal_error": false,
	} {
		e := envelope.NewMapper().Refuse(schemas.RefuseParams{Error: code})
		valid(t, e)
		if e.Retryable != retryable {
			t.Errorf("%s: retryable is %v", code, e.Retryable)
		}
	}
}
