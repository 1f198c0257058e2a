package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/reference/serve"
	"example.com/touchstone/schemas"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// call sends a request to a handler and gives what it answers.
func call(t testing.TB, h *serve.Handler, method string, params any) schemas.Response {
	t.Helper()
	raw, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	request, err := json.Marshal(schemas.Request{JSONRPC: "2.0", ID: 7, Method: method, Params: raw})
	if err != nil {
		t.Fatal(err)
	}
	return read(t, h.Handle(t.Context(), request))
}

// read checks and reads a message of the handler.
func read(t testing.TB, message []byte) schemas.Response {
	t.Helper()
	if err := schemas.Check(schemas.ResponseSchema, message); err != nil {
		t.Errorf("%s is not a response: %v", message, err)
	}
	var response schemas.Response
	if err := json.Unmarshal(message, &response); err != nil {
		t.Fatal(err)
	}
	return response
}

// answer reads the envelope and the flag of a result.
func answer(t testing.TB, response schemas.Response) (text string, isError *bool) {
	t.Helper()
	if response.Error != nil {
		t.Fatalf("JSON-RPC error %d: %s", response.Error.Code, response.Error.Message)
	}
	if err := schemas.Check(schemas.AnswerSchema, response.Result); err != nil {
		t.Errorf("%s is not an answer: %v", response.Result, err)
	}
	var result schemas.AnswerResult
	if err := json.Unmarshal(response.Result, &result); err != nil {
		t.Fatal(err)
	}
	return *result.Text, result.IsError
}

func wantAnswer(t testing.TB, response schemas.Response, want string, wantError bool) {
	t.Helper()
	text, isError := answer(t, response)
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if wantError && (isError == nil || !*isError) || !wantError && isError != nil {
		t.Errorf("isError is %v", isError)
	}
}

func TestDescribe(t *testing.T) {
	response := call(t, serve.New(serve.Reference{}), "describe", schemas.DescribeParams{Protocol: 1})
	if err := schemas.Check(schemas.DescribeResultSchema, response.Result); err != nil {
		t.Error(err)
	}
	want := `{"protocol":1,"name":"Touchstone reference","version":"1","features":["map","refuse","compose","invoke","host-recognisers","meta-tools","version-pin","limits","cookies","files","file-refs","deferred","search-ranker","not-invocable","internal-fault","error-flag","agent","agent-streaming","sub-agents","persistent-sessions","invocation-hooks","prompt-hooks","error-equality"]}`
	if got := string(response.Result); got != want {
		t.Errorf("got %s", got)
	}
	named := call(t, serve.New(serve.Reference{Name: "mine", Version: "2.1"}), "describe", schemas.DescribeParams{Protocol: 1})
	if !strings.Contains(string(named.Result), `"name":"mine","version":"2.1"`) {
		t.Errorf("got %s", named.Result)
	}
}

func TestMap(t *testing.T) {
	headers := [][2]string{{"content-TYPE", "application/json"}, {"Retry-After", "3"}, {"x-request-id", "a"}, {"X-Request-ID", "b"}}
	for _, test := range []struct {
		name      string
		params    schemas.MapParams
		want      string
		wantError bool
	}{
		{"success", schemas.MapParams{Response: schemas.BackendResponse{Status: 200, Headers: headers, Body: ` {"b":1,"a":"<&>"} `}},
			`{"status":200,"body":{"b":1,"a":"<&>"}}`, false},
		{"error", schemas.MapParams{Response: schemas.BackendResponse{Status: 429, Headers: headers}},
			`{"error":"rate_limited","message":"The backend is rate-limiting this caller (429). Retry after 3 seconds.","status":429,"retryable":true,"retryAfterSeconds":3}`, true},
		{"repeated header", schemas.MapParams{Response: schemas.BackendResponse{Status: 503, Headers: headers}},
			`{"error":"backend_unavailable","message":"The backend is temporarily unavailable (503). Retry later.","status":503,"retryable":true,"reference":"a"}`, true},
		{"bytes", schemas.MapParams{Response: schemas.BackendResponse{Status: 404, Headers: [][2]string{}, BodyBase64: "Tm8gb3JkZXIg/w=="}},
			`{"error":"not_found","message":"No order ` + "\uFFFD" + `","status":404,"retryable":false}`, true},
		{"fields", schemas.MapParams{
			Response: schemas.BackendResponse{Status: 422, Headers: headers, Body: `{"errors":{"Q":"a","T":"b"}}`},
			Fields:   &schemas.FieldContext{Known: []string{"keyword"}, Aliases: map[string]string{"q": "keyword"}, Hidden: []string{"t"}},
		}, `{"error":"validation_failed","message":"The backend rejected one or more arguments. Fix the listed fields and call the operation again.","status":422,"retryable":false,"fields":[{"name":"keyword","message":"a"},{"message":"b"}]}`, true},
		{"host recogniser", schemas.MapParams{
			Response:       schemas.BackendResponse{Status: 401, Headers: headers, Body: `{"message":"no"}`},
			HostRecognises: &schemas.HostRecognised{Message: "Sign in first.", Fields: []schemas.FieldError{{Name: "sid", Message: "in C:\\x"}}},
		}, `{"error":"unauthenticated","message":"Sign in first.","status":401,"retryable":false,"fields":[{"name":"sid","message":"The value was rejected; details were withheld."}]}`, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			wantAnswer(t, call(t, serve.New(serve.Reference{}), "map", test.params), test.want, test.wantError)
		})
	}
}

func TestHostRecogniserIsOfOneCall(t *testing.T) {
	h := serve.New(serve.Reference{})
	response := schemas.BackendResponse{Status: 404, Headers: [][2]string{}, Body: "gone"}
	call(t, h, "map", schemas.MapParams{Response: response, HostRecognises: &schemas.HostRecognised{Message: "the host"}})
	wantAnswer(t, call(t, h, "map", schemas.MapParams{Response: response}), `{"error":"not_found","message":"gone","status":404,"retryable":false}`, true)
}

func TestRefuse(t *testing.T) {
	limit := int64(250)
	wantAnswer(t, call(t, serve.New(serve.Reference{}), "refuse", schemas.RefuseParams{Error: "invoke_timeout", LimitMs: &limit}),
		`{"error":"invoke_timeout","message":"The backend did not answer within 250 ms and the call was abandoned. The operation may already have been applied; re-read before retrying.","retryable":true}`, true)
}

func TestHooks(t *testing.T) {
	mapper := envelope.NewMapper()
	mapper.Codes[404] = schemas.Conflict
	no := false
	h := serve.New(serve.Reference{
		Mapper: mapper,
		Emit:   func(text []byte) []byte { return bytes.Replace(text, []byte("gone"), []byte("lost"), 1) },
		Answer: func(r schemas.AnswerResult) schemas.AnswerResult { r.IsError = &no; return r },
	})
	response := call(t, h, "map", schemas.MapParams{Response: schemas.BackendResponse{Status: 404, Headers: [][2]string{}, Body: "gone"}})
	want := `{"text":"{\"error\":\"conflict\",\"message\":\"lost\",\"status\":404,\"retryable\":false}","isError":false}`
	if got := string(response.Result); got != want {
		t.Errorf("got %s", got)
	}

	broken := serve.New(serve.Reference{Answer: func(schemas.AnswerResult) schemas.AnswerResult {
		return schemas.AnswerResult{Envelope: json.RawMessage("{")}
	}})
	if e := call(t, broken, "refuse", schemas.RefuseParams{Error: "internal_error"}).Error; e == nil || e.Code != schemas.RPCInternal {
		t.Errorf("got %+v", e)
	}
}

func TestBadRequests(t *testing.T) {
	seven := int64(7)
	for _, test := range []struct {
		message string
		id      *int64
		code    int
		says    string
	}{
		{``, nil, schemas.ParseError, "not JSON"},
		{`{`, nil, schemas.ParseError, "not JSON"},
		{`{"jsonrpc":"2.0","id":7,"method":"describe"} {}`, nil, schemas.ParseError, "not JSON"},
		{`[]`, nil, schemas.InvalidRequest, "not a JSON-RPC request"},
		{`[{"jsonrpc":"2.0","id":7,"method":"describe"}]`, nil, schemas.InvalidRequest, "not a JSON-RPC request"},
		{`"describe"`, nil, schemas.InvalidRequest, "not a JSON-RPC request"},
		{`null`, nil, schemas.InvalidRequest, "jsonrpc"},
		{`{"id":7,"method":"describe"}`, &seven, schemas.InvalidRequest, "jsonrpc"},
		{`{"jsonrpc":"1.0","id":7,"method":"describe"}`, &seven, schemas.InvalidRequest, "jsonrpc"},
		{`{"jsonrpc":"2.0","method":"describe"}`, nil, schemas.InvalidRequest, "id"},
		{`{"jsonrpc":"2.0","id":null,"method":"describe"}`, nil, schemas.InvalidRequest, "id"},
		{`{"jsonrpc":"2.0","id":0,"method":"describe"}`, nil, schemas.InvalidRequest, "id"},
		{`{"jsonrpc":"2.0","id":1.5,"method":"describe"}`, nil, schemas.InvalidRequest, "id"},
		{`{"jsonrpc":"2.0","id":"7","method":"describe"}`, nil, schemas.InvalidRequest, "id"},
		{`{"jsonrpc":"2.0","id":7}`, &seven, schemas.InvalidRequest, "no method"},
		{`{"jsonrpc":"2.0","id":7,"method":5}`, &seven, schemas.InvalidRequest, "not a JSON-RPC request"},
		{`{"jsonrpc":"2.0","id":7,"method":"describe","extra":1}`, &seven, schemas.InvalidRequest, "extra"},
		{`{"jsonrpc":"2.0","id":7,"method":"shutdown"}`, &seven, schemas.MethodNotFound, `no method "shutdown"`},
		{`{"jsonrpc":"2.0","id":7,"method":"describe"}`, &seven, schemas.InvalidParams, "protocol"},
		{`{"jsonrpc":"2.0","id":7,"method":"describe","params":[1]}`, &seven, schemas.InvalidParams, "describe"},
		{`{"jsonrpc":"2.0","id":7,"method":"describe","params":{"protocol":2}}`, &seven, schemas.InvalidParams, "/protocol"},
		{`{"jsonrpc":"2.0","id":7,"method":"map","params":{"response":{"status":99,"headers":[]}}}`, &seven, schemas.InvalidParams, "/response/status"},
		{`{"jsonrpc":"2.0","id":7,"method":"map","params":{"response":{"status":600,"headers":[]}}}`, &seven, schemas.InvalidParams, "/response/status"},
		{`{"jsonrpc":"2.0","id":7,"method":"map","params":{"response":{"status":200,"headers":[],"bodyBase64":"%"}}}`, &seven, schemas.InvalidParams, "bodyBase64"},
		{`{"jsonrpc":"2.0","id":7,"method":"refuse","params":{"error":"not_found"}}`, &seven, schemas.InvalidParams, "/error"},
		{`{"jsonrpc":"2.0","id":7,"method":"refuse","params":{"error":"internal_error","limit":1e300}}`, &seven, schemas.InvalidParams, "limit"},
		{`{"jsonrpc":"2.0","id":7,"method":"invoke","params":{"name":"get_order"}}`, &seven, schemas.InvalidParams, "arguments"},
		{`{"jsonrpc":"2.0","id":7,"method":"invoke","params":{"name":"get_order","arguments":{}}}`, &seven, schemas.InvalidRequest, `"configure" first`},
		{`{"jsonrpc":"2.0","id":7,"method":"search","params":{"query":"x"}}`, &seven, schemas.InvalidRequest, `"configure" first`},
		{`{"jsonrpc":"2.0","id":7,"method":"load","params":{"name":"x"}}`, &seven, schemas.InvalidRequest, `"configure" first`},
		{`{"jsonrpc":"2.0","id":7,"method":"search","params":{"query":"x","limit":0}}`, &seven, schemas.InvalidParams, "/limit"},
		{`{"jsonrpc":"2.0","id":7,"method":"configure","params":{"backendUrl":"ftp://127.0.0.1","timeoutMs":1}}`, &seven, schemas.InvalidParams, "/backendUrl"},
		{`{"jsonrpc":"2.0","id":7,"method":"configure","params":{"backendUrl":"http://127.0.0.1:1","timeoutMs":1}}`, &seven, schemas.InvalidParams, "openapiUrl is missing"},
		{`{"jsonrpc":"2.0","id":7,"method":"configure","params":{"backendUrl":"http://127.0.0.1:1","openapiUrl":"http://127.0.0.1:1/api.json","timeoutMs":1}}`, &seven, schemas.InvalidParams, "openapiUrl http://127.0.0.1:1/api.json: asking for the OpenAPI document"},
		{`{"jsonrpc":"2.0","id":7,"method":"compose","params":{"template":{"method":"GET","route":"a"},"arguments":{}}}`, &seven, schemas.InvalidParams, `route "a" is not an encoded path`},
		{`{"jsonrpc":"2.0","id":7,"method":"compose","params":{"template":{"method":"GET","route":7},"arguments":{}}}`, &seven, schemas.InvalidParams, "reading the template"},
	} {
		response := read(t, serve.New(serve.Reference{}).Handle(t.Context(), []byte(test.message)))
		if diff := cmp.Diff(test.id, response.ID); diff != "" {
			t.Errorf("%s: id (-want +got):\n%s", test.message, diff)
		}
		if e := response.Error; e == nil || e.Code != test.code || !strings.Contains(e.Message, test.says) {
			t.Errorf("%s: got %+v, want code %d and a message with %q", test.message, e, test.code, test.says)
		}
	}
}

func FuzzHandle(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":7,"method":"describe","params":{"protocol":1}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":7,"method":"map","params":{"response":{"status":404,"headers":[["a","b"]],"body":"x"}}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":7,"method":"refuse","params":{"error":"internal_error"}}`))
	f.Add([]byte(`[`))
	h := serve.New(serve.Reference{})
	f.Fuzz(func(t *testing.T, message []byte) {
		if out := h.Handle(context.Background(), message); bytes.ContainsAny(out, "\r\n") {
			t.Errorf("%q has a line end", out)
		} else {
			read(t, out)
		}
	})
}

func ExampleHandler_Handle() {
	h := serve.New(serve.Reference{})
	request := `{"jsonrpc":"2.0","id":1,"method":"map","params":{"response":{"status":204,"headers":[]}}}`
	fmt.Println(string(h.Handle(context.Background(), []byte(request))))
	// Output: {"jsonrpc":"2.0","id":1,"result":{"text":"{\"status\":204}"}}
}
