package schemas_test

import (
	"encoding/json"
	"testing"

	"example.com/touchstone/schemas"
)

func ptr[T any](v T) *T { return &v }

// What the Go types write keeps to the schema.
func TestProtocolTypes(t *testing.T) {
	for _, tc := range []struct {
		ref   schemas.Ref
		value any
	}{
		{schemas.RequestSchema, schemas.Request{JSONRPC: "2.0", ID: 1, Method: "describe"}},
		{schemas.RequestSchema, schemas.Request{JSONRPC: "2.0", ID: 1, Method: "map", Params: json.RawMessage(`{}`)}},
		{schemas.ResponseSchema, schemas.Response{JSONRPC: "2.0", ID: ptr[int64](1), Result: json.RawMessage(`null`)}},
		{schemas.ResponseSchema, schemas.Response{JSONRPC: "2.0", Error: &schemas.RPCError{Code: schemas.ParseError, Message: "m", Data: json.RawMessage(`[]`)}}},
		{schemas.DescribeParamsSchema, schemas.DescribeParams{Protocol: schemas.ProtocolVersion}},
		{schemas.DescribeResultSchema, schemas.DescribeResult{
			Protocol: schemas.ProtocolVersion, Name: "n", Version: "v", Profiles: []string{"envelope-core"},
			Features: []string{
				schemas.FeatureMap, schemas.FeatureRefuse, schemas.FeatureInvoke, schemas.FeatureHostRecognisers, schemas.FeatureCompose,
				schemas.FeatureMetaTools, schemas.FeatureVersionPin, schemas.FeatureLimits, schemas.FeatureCookies, schemas.FeatureFiles,
				schemas.FeatureFileRefs, schemas.FeatureDeferred, schemas.FeatureSearchRanker, schemas.FeatureNotInvocable,
				schemas.FeatureInternalFault, schemas.FeatureErrorFlag,
			},
		}},
		{schemas.ConfigureParamsSchema, schemas.ConfigureParams{BackendURL: "http://127.0.0.1:1"}},
		{schemas.ConfigureParamsSchema, schemas.ConfigureParams{BackendURL: "http://127.0.0.1:1", OpenAPIURL: "http://127.0.0.1:1/o", TimeoutMs: 1, MaxResponseBytes: 1}},
		{schemas.ConfigureParamsSchema, schemas.ConfigureParams{
			BackendURL: "http://127.0.0.1:1", MaxInlineFileBytes: ptr[int64](0), MaxFileBytes: ptr[int64](0), IdentityCookies: "sid=1",
			Deferred: map[string]json.RawMessage{"tenant": json.RawMessage(`null`)},
			Files: map[string]schemas.ResolvedFile{
				"a": {Text: ptr(""), Name: "n", MediaType: "text/plain"}, "b": {Base64: ptr("/w==")}, "c": {Error: "forbidden"},
			},
			Ranker: &schemas.RankerSetting{Behaviour: "hangs", OnFailure: "fallback"}, InternalFault: "x",
		}},
		{schemas.MapParamsSchema, schemas.MapParams{
			Response:       schemas.BackendResponse{Status: 400, Headers: [][2]string{{"A", ""}, {"A", "b"}}, Body: "x"},
			Fields:         &schemas.FieldContext{Known: []string{"a"}, Aliases: map[string]string{"b": "a"}, Hidden: []string{"c"}},
			HostRecognises: &schemas.HostRecognised{Message: "m", Fields: []schemas.FieldError{{Message: "m"}, {Name: "a", Message: "m"}}},
		}},
		{schemas.MapParamsSchema, schemas.MapParams{Response: schemas.BackendResponse{Status: 200, Headers: [][2]string{}, BodyBase64: "/w=="}}},
		{schemas.RefuseParamsSchema, schemas.RefuseParams{
			Error: schemas.ResponseTooLarge, Message: "m", Tool: "t", Field: "f", Reason: "r", LimitMs: ptr[int64](0), Bytes: ptr[int64](1),
			Limit: ptr[int64](1), Payload: json.RawMessage(`[1]`), Narrowing: []schemas.FieldError{{Name: "limit", Message: "m"}},
		}},
		{schemas.InvokeParamsSchema, schemas.InvokeParams{Name: "n", Arguments: json.RawMessage(`"not an object"`), Version: "1"}},
		{schemas.ComposeParamsSchema, schemas.ComposeParams{
			Template: json.RawMessage(`{"method":"GET","route":"/"}`), Arguments: json.RawMessage(`7`), CarrierCookies: "a=1",
			Deferred: map[string]json.RawMessage{"tenant": json.RawMessage(`1`)}, MaxInlineFileBytes: ptr[int64](0),
		}},
		{schemas.ComposeResultSchema, schemas.ComposeResult{Request: json.RawMessage(`{"method":"GET","pathAndQuery":"/a?b=c"}`)}},
		{schemas.ComposeResultSchema, schemas.ComposeResult{Refusal: json.RawMessage(`{}`)}},
		{schemas.SearchParamsSchema, schemas.SearchParams{Query: ""}},
		{schemas.SearchParamsSchema, schemas.SearchParams{Query: "orders", Limit: 5}},
		{schemas.LoadParamsSchema, schemas.LoadParams{Name: "get_order"}},
		{schemas.AnswerSchema, schemas.AnswerResult{Text: ptr("")}},
		{schemas.AnswerSchema, schemas.AnswerResult{Envelope: json.RawMessage(`null`), IsError: ptr(false)}},
	} {
		doc := encode(t, tc.value)
		if err := schemas.Check(tc.ref, doc); err != nil {
			t.Errorf("%s: %s: %v", tc.ref, doc, err)
		}
	}
}

// Each of these breaks the contract in one place.
func TestProtocolIsClosed(t *testing.T) {
	for _, tc := range []struct {
		ref schemas.Ref
		doc string
	}{
		{schemas.RequestSchema, `{"jsonrpc":"2.0","id":0,"method":"map"}`},
		{schemas.RequestSchema, `{"jsonrpc":"2.0","id":1,"method":"shutdown"}`},
		{schemas.RequestSchema, `{"jsonrpc":"2.0","id":1,"method":"map","params":[]}`},
		{schemas.ResponseSchema, `{"jsonrpc":"2.0","id":1}`},
		{schemas.ResponseSchema, `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}`},
		{schemas.ResponseSchema, `{"jsonrpc":"2.0","id":"1","result":{}}`},
		{schemas.ResponseSchema, `{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":""}}`},
		{schemas.ResponseSchema, `{"jsonrpc":"2.0","id":1,"error":null}`},
		{schemas.DescribeParamsSchema, `{"protocol":2}`},
		{schemas.DescribeResultSchema, `{"protocol":1,"name":" ","version":"1","features":["map"]}`},
		{schemas.DescribeResultSchema, `{"protocol":1,"name":"n","version":"1","features":["map","map"]}`},
		{schemas.DescribeResultSchema, `{"protocol":1,"name":"n","version":"1","features":["map"],"profiles":["core"]}`},
		{schemas.DescribeResultSchema, `{"protocol":1,"name":"n","version":"1","features":["map"],"profiles":null}`},
		{schemas.ConfigureParamsSchema, `{"backendUrl":"127.0.0.1","timeoutMs":0}`},
		{schemas.ConfigureParamsSchema, `{"backendUrl":"http://127.0.0.1"}`},
		{schemas.ConfigureResultSchema, `{"ok":true}`},
		{schemas.MapParamsSchema, `{"response":{"status":200}}`},
		{schemas.MapParamsSchema, `{"response":{"status":200,"headers":null}}`},
		{schemas.MapParamsSchema, `{"response":{"status":200,"headers":[["a","b","c"]]}}`},
		{schemas.MapParamsSchema, `{"response":{"status":200,"headers":[]},"hostRecognises":{}}`},
		{schemas.RefuseParamsSchema, `{"error":"not_found"}`},
		{schemas.RefuseParamsSchema, `{"error":"unknown_tool","bytes":-1}`},
		{schemas.InvokeParamsSchema, `{"name":"n"}`},
		{schemas.ConfigureParamsSchema, `{"backendUrl":"http://127.0.0.1","timeoutMs":0,"files":{"a":{}}}`},
		{schemas.ConfigureParamsSchema, `{"backendUrl":"http://127.0.0.1","timeoutMs":0,"ranker":{"behaviour":"sings","onFailure":"refuse"}}`},
		{schemas.ComposeParamsSchema, `{"template":null,"arguments":{}}`},
		{schemas.ComposeResultSchema, `{}`},
		{schemas.ComposeResultSchema, `{"request":{"method":"GET","pathAndQuery":"a"}}`},
		{schemas.ComposeResultSchema, `{"request":{"method":"GET","pathAndQuery":"/"},"refusal":{}}`},
		{schemas.SearchParamsSchema, `{}`},
		{schemas.LoadParamsSchema, `{"name":1}`},
		{schemas.AnswerSchema, `{}`},
		{schemas.AnswerSchema, `{"text":"","envelope":{}}`},
		{schemas.AnswerSchema, `{"text":null}`},
		{schemas.AnswerSchema, `{"text":"","isError":null}`},
		{schemas.AnswerSchema, `{"text":"","note":""}`},
	} {
		if violations, err := schemas.Validate(tc.ref, []byte(tc.doc)); err != nil || len(violations) == 0 {
			t.Errorf("%s took %s (%v)", tc.ref, tc.doc, err)
		}
	}
}
