package serve_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/mockbackend"
	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/reference/invoke"
	"example.com/touchstone/reference/serve"
	"example.com/touchstone/schemas"
)

// documentURL serves the OpenAPI document of the sample API.
func documentURL(t testing.TB) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(mockbackend.OpenAPI()) }))
	t.Cleanup(server.Close)
	return server.URL + "/openapi.json"
}

// configure gives a handler its settings.
func configure(t testing.TB, h *serve.Handler, settings schemas.ConfigureParams) {
	t.Helper()
	if response := call(t, h, "configure", settings); response.Error != nil {
		t.Fatal(response.Error.Message)
	}
}

// settingsOf are the settings for a backend, and nothing else.
func settingsOf(t testing.TB, backendURL string) schemas.ConfigureParams {
	t.Helper()
	return schemas.ConfigureParams{BackendURL: backendURL, OpenAPIURL: documentURL(t), TimeoutMs: generous.Milliseconds()}
}

func invokeTool(t testing.TB, h *serve.Handler, name, arguments string) schemas.Response {
	t.Helper()
	return call(t, h, "invoke", schemas.InvokeParams{Name: name, Arguments: json.RawMessage(arguments)})
}

// seen is a request as a backend saw it.
type seen struct{ Method, Target, ContentType, Cookie, Body string }

// recorder is a backend that answers {"ok":true} and keeps what it saw.
func recorder(t testing.TB) (url string, requests func() []seen) {
	t.Helper()
	var mu sync.Mutex
	var got []seen
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got = append(got, seen{r.Method, r.URL.RequestURI(), r.Header.Get("Content-Type"), r.Header.Get("Cookie"), string(body)})
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"ok":true}`)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []seen {
		mu.Lock()
		defer mu.Unlock()
		taken := got
		got = nil
		return taken
	}
}

const ok = `{"status":200,"body":{"ok":true}}`

func refusal(code, message string) string {
	return fmt.Sprintf(`{"error":%q,"message":%q,"retryable":false}`, code, message)
}

func TestInvoke(t *testing.T) {
	backend, requests := recorder(t)
	h := serve.New(serve.Reference{})
	configure(t, h, settingsOf(t, backend))
	wantAnswer(t, invokeTool(t, h, "get_order", `{"id":1,"expand":"a b"}`), ok, false)
	wantAnswer(t, invokeTool(t, h, "create_order", `{"quantity":1e2,"item":"a b"}`), ok, false)
	wantAnswer(t, invokeTool(t, h, "create_order", `null`), ok, false)
	wantAnswer(t, invokeTool(t, h, "nope", `{}`), refusal("unknown_tool", "No operation named 'nope'. Use search_tools to find the exact name."), true)
	wantAnswer(t, invokeTool(t, h, "legacy_report", `{}`),
		refusal("not_invocable", "The operation 'legacy_report' is listed but cannot be invoked: this host has no request template for it."), true)
	want := []seen{
		{Method: "GET", Target: "/orders/1?expand=a%20b"},
		{Method: "POST", Target: "/orders", ContentType: "application/json", Body: `{"item":"a b","quantity":1e2}`},
		{Method: "POST", Target: "/orders", ContentType: "application/json", Body: `{}`},
	}
	if diff := cmp.Diff(want, requests()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestMetaTools(t *testing.T) {
	h := serve.New(serve.Reference{
		Emit:   func([]byte) []byte { return []byte(`{"emitted":true}`) }, // of envelopes alone
		Answer: func(r schemas.AnswerResult) schemas.AnswerResult { *r.Text += " "; return r },
	})
	configure(t, h, settingsOf(t, "http://127.0.0.1:1"))
	wantAnswer(t, call(t, h, "search", schemas.SearchParams{Query: "legacy"}), `{"tools":[{"name":"legacy_report","description":"Report of the old system"}]} `, false)
	wantAnswer(t, call(t, h, "load", schemas.LoadParams{Name: "nope"}), `{"emitted":true} `, true)
	text, _ := answer(t, call(t, h, "load", schemas.LoadParams{Name: "legacy_report"}))
	if want := `{"name":"legacy_report","description":"Report of the old system. It is listed for reference and has no request template.","inputSchema":{"type":"object","properties":{},"additionalProperties":false},"version":"`; !strings.HasPrefix(text, want) {
		t.Errorf("got %s", text)
	}
	var tool struct{ Version string }
	if err := json.Unmarshal([]byte(text), &tool); err != nil {
		t.Fatal(err)
	}
	// Every member of the protocol is one of the meta-tool: the pin arrives.
	plain := serve.New(serve.Reference{})
	configure(t, plain, settingsOf(t, "http://127.0.0.1:1"))
	for version, code := range map[string]string{tool.Version: "not_invocable", "old": "tool_changed", "": "not_invocable"} {
		text, _ := answer(t, call(t, plain, "invoke", schemas.InvokeParams{Name: "legacy_report", Arguments: json.RawMessage(`{}`), Version: version}))
		if !strings.Contains(text, `"error":"`+code+`"`) {
			t.Errorf("pinned to %q: %s", version, text)
		}
	}
}

// TestSettings takes one handler through one group of settings after the other:
// each must be in force, and gone when the next one comes.
func TestSettings(t *testing.T) {
	backend, requests := recorder(t)
	base := settingsOf(t, backend)
	number := func(n int64) *int64 { return &n }
	text := "from the store"
	encoded := "AP8="
	const unresolved = "File argument 'file' names a ref that could not be resolved. Retrying with the same ref will not help."
	type exchange struct {
		name, arguments, want string
		request               *seen
	}
	neutral := []exchange{
		{"get_session", `{"sid":"x"}`, ok, &seen{Method: "GET", Target: "/session", Cookie: "sid=x"}},
		{"tenant_report", `{}`, refusal("deferred_value_missing", "A value that the host supplies for this operation is not available. Retrying will not help."), nil},
		{"attach_file", `{"id":1,"file":{"ref":"a"}}`, refusal("invalid_file_argument", "File argument 'file' has an unknown member. Allowed: text, base64, name, mediaType."), nil},
	}
	h := serve.New(serve.Reference{})
	for _, test := range []struct {
		name      string
		edit      func(*schemas.ConfigureParams)
		exchanges []exchange
	}{
		{"none", func(*schemas.ConfigureParams) {}, nil},
		{"identity", func(c *schemas.ConfigureParams) { c.IdentityCookies = "sid=me; lang=en" }, []exchange{
			{"get_session", `{}`, ok, &seen{Method: "GET", Target: "/session", Cookie: "sid=me; lang=en"}},
			{"get_session", `{"sid":"x"}`, refusal("cookie_carrier_collision", "Argument 'sid' is sent as a cookie that the caller's identity already uses. Leave it out."), nil},
		}},
		{"deferred", func(c *schemas.ConfigureParams) {
			c.Deferred = map[string]json.RawMessage{"tenantId": json.RawMessage(`"acme"`)}
		}, []exchange{
			{"tenant_report", `{}`, ok, &seen{Method: "GET", Target: "/tenants/acme/report"}},
			{"tenant_report", `{"tenantId":"acme"}`, refusal("unknown_argument", "Unknown argument(s): tenantId. Allowed: none."), nil},
		}},
		{"deferred, unusable", func(c *schemas.ConfigureParams) {
			c.Deferred = map[string]json.RawMessage{"tenantId": json.RawMessage(`["acme"]`)}
		}, []exchange{
			{"tenant_report", `{}`, refusal("deferred_value_invalid", "A value that the host supplies for this operation cannot be used. Retrying will not help."), nil},
		}},
		{"files", func(c *schemas.ConfigureParams) {
			c.MaxFileBytes = number(20)
			c.Files = map[string]schemas.ResolvedFile{
				"text": {Text: &text, Name: "t.csv", MediaType: "text/csv"}, "bytes": {Base64: &encoded}, "none": {Error: "not_found"}, "hers": {Error: "forbidden"},
				"big": {Text: new(strings.Repeat("x", 21))},
			}
		}, []exchange{
			{"attach_file", `{"id":1,"file":{"ref":"text"}}`, ok, &seen{Body: "Content-Disposition: form-data; name=\"file\"; filename=\"t.csv\"\r\nContent-Type: text/csv\r\n\r\nfrom the store\r\n"}},
			{"attach_file", `{"id":1,"file":{"ref":"bytes"}}`, ok, &seen{Body: "Content-Disposition: form-data; name=\"file\"; filename=\"file\"\r\nContent-Type: application/octet-stream\r\n\r\n\x00\xff\r\n"}},
			{"attach_file", `{"id":1,"file":{"ref":"none"}}`, refusal("file_unresolved", unresolved), nil},
			{"attach_file", `{"id":1,"file":{"ref":"hers"}}`, refusal("file_unresolved", unresolved), nil},
			{"attach_file", `{"id":1,"file":{"ref":"lost"}}`, refusal("file_unresolved", unresolved), nil},
			{"attach_file", `{"id":1,"file":{"ref":"big"}}`, refusal("file_too_large", "File argument 'file' is over the limit of 20 bytes and was not sent."), nil},
		}},
		{"file store that is away", func(c *schemas.ConfigureParams) {
			c.Files = map[string]schemas.ResolvedFile{"text": {Error: "unavailable"}}
		}, []exchange{
			{"attach_file", `{"id":1,"file":{"ref":"text"}}`, `{"error":"file_unresolved","message":"File argument 'file' could not be resolved right now. Retry the call.","retryable":true}`, nil},
		}},
		{"inline files", func(c *schemas.ConfigureParams) { c.MaxInlineFileBytes = number(0) }, []exchange{
			{"attach_file", `{"id":1,"file":{"base64":"AA=="}}`, refusal("file_too_large", "File argument 'file' takes the inline files of this call over the limit of 0 bytes in all."), nil},
		}},
		{"internal fault", func(c *schemas.ConfigureParams) { c.InternalFault = "the layer is ill" }, []exchange{
			{"get_order", `{"id":1}`, refusal("internal_error", "the layer is ill"), nil},
			{"get_order", `{"id":2}`, refusal("internal_error", "the layer is ill"), nil},
		}},
		{"size", func(c *schemas.ConfigureParams) { c.MaxResponseBytes = 30 }, []exchange{
			{"get_order", `{"id":1}`, `{"error":"response_too_large","message":"The response is 33 bytes; the limit is 30 bytes. It is refused, not truncated: no part of the body was returned. The body is an object with 1 properties. No argument of this call narrows the response.","retryable":false,"payload":{"bytes":33,"limit":30,"shape":{"kind":"object","count":1}}}`,
				&seen{Method: "GET", Target: "/orders/1"}},
		}},
		{"time", func(c *schemas.ConfigureParams) { c.BackendURL, c.TimeoutMs = stalling(t), 50 }, []exchange{
			{"get_order", `{"id":1}`, `{"error":"invoke_timeout","message":"The backend did not answer within 50 ms and the call was abandoned. The operation may already have been applied; re-read before retrying.","retryable":true}`, nil},
		}},
	} {
		settings := base
		test.edit(&settings)
		for _, step := range []struct {
			settings  schemas.ConfigureParams
			exchanges []exchange
		}{{settings, test.exchanges}, {base, neutral}} {
			configure(t, h, step.settings)
			for _, x := range step.exchanges {
				text, _ := answer(t, invokeTool(t, h, x.name, x.arguments))
				if diff := cmp.Diff(x.want, text); diff != "" {
					t.Errorf("%s: %s %s (-want +got):\n%s", test.name, x.name, x.arguments, diff)
				}
				got := requests()
				switch {
				case x.request == nil && len(got) > 0 || x.request != nil && len(got) != 1:
					t.Errorf("%s: %s %s made the requests %q", test.name, x.name, x.arguments, got)
				case x.request == nil:
				case x.request.Method == "": // the boundary of a multipart body is made up
					if !strings.Contains(got[0].Body, x.request.Body) {
						t.Errorf("%s: %s %s sent %q", test.name, x.name, x.arguments, got[0].Body)
					}
				case got[0] != *x.request:
					t.Errorf("%s: %s %s made the request %q, want %q", test.name, x.name, x.arguments, got[0], *x.request)
				}
			}
		}
	}
}

// stalling is a backend that does not answer.
func stalling(t testing.TB) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(server.Close)
	return server.URL
}

func TestRankers(t *testing.T) {
	h := serve.New(serve.Reference{})
	base := settingsOf(t, "http://127.0.0.1:1")
	const found = `{"tools":[{"name":"legacy_report","description":"Report of the old system"}]}`
	const refused = `{"error":"search_ranker_unavailable","message":"Search is unavailable: the ranker did not answer this query. Call search_tools again later.","retryable":true}`
	search := func() schemas.Response { return call(t, h, "search", schemas.SearchParams{Query: "legacy"}) }
	for _, behaviour := range []string{"answers", "fails", "hangs", "nonsense"} {
		settings := base
		settings.Ranker = &schemas.RankerSetting{Behaviour: behaviour, OnFailure: "refuse"}
		configure(t, h, settings)
		if behaviour == "answers" {
			wantAnswer(t, search(), found, false)
		} else {
			wantAnswer(t, search(), refused, true)
		}
		settings.Ranker = &schemas.RankerSetting{Behaviour: behaviour, OnFailure: "fallback"}
		configure(t, h, settings)
		wantAnswer(t, search(), found, false)
	}
	h.Close()
}

// TestCallsKeepTheirSettings changes the settings while a call is on its way.
func TestCallsKeepTheirSettings(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-release
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `"slow"`)
	}))
	defer slow.Close()
	backend, _ := recorder(t)
	h := serve.New(serve.Reference{})
	configure(t, h, settingsOf(t, slow.URL))
	first := make(chan schemas.Response)
	go func() { first <- invokeTool(t, h, "get_order", `{"id":1}`) }()
	<-arrived
	settings := settingsOf(t, backend)
	settings.MaxResponseBytes = 40
	configure(t, h, settings)
	wantAnswer(t, invokeTool(t, h, "get_order", `{"id":1}`), ok, false)
	close(release)
	wantAnswer(t, <-first, `{"status":200,"body":"slow"}`, false)
}

// TestConfigureThatFails leaves the settings before it in force.
func TestConfigureThatFails(t *testing.T) {
	backend, _ := recorder(t)
	h := serve.New(serve.Reference{})
	configure(t, h, settingsOf(t, backend))
	for path, says := range map[string]string{
		"/missing": "the answer is 404 Not Found",
		"/swagger": `its version is ""`,
		"/curated": `curating tenant_report: it has no argument "tenantId"`,
		"/long":    "it is over 33554432 bytes",
		"/short":   "reading the OpenAPI document: unexpected EOF",
	} {
		documents := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/missing":
				http.NotFound(w, r)
			case "/swagger":
				fmt.Fprint(w, `{"swagger":"2.0"}`)
			case "/curated":
				fmt.Fprint(w, `{"openapi":"3.0.3","info":{"title":"t","version":"1"},"paths":{"/a":{"get":{"operationId":"tenant_report","responses":{}}}}}`)
			case "/long":
				_, _ = io.Copy(w, io.LimitReader(endless{}, 33<<20))
			case "/short":
				w.Header().Set("Content-Length", "10")
				fmt.Fprint(w, "{")
			}
		}))
		settings := settingsOf(t, "http://127.0.0.1:1")
		settings.OpenAPIURL = documents.URL + path
		if e := call(t, h, "configure", settings).Error; e == nil || e.Code != schemas.InvalidParams || !strings.Contains(e.Message, says) || !strings.Contains(e.Message, settings.OpenAPIURL) {
			t.Errorf("%s: got %+v, want an error with %q", path, e, says)
		}
		documents.Close()
		wantAnswer(t, invokeTool(t, h, "get_order", `{"id":1}`), ok, false)
	}
}

func TestCompose(t *testing.T) {
	h := serve.New(serve.Reference{})
	number := func(n int64) *int64 { return &n }
	const upload = `{"method":"PUT","route":"/a","bodyRoot":"f","contentType":"application/zip"}`
	for _, test := range []struct {
		params schemas.ComposeParams
		want   string
	}{
		{schemas.ComposeParams{
			Template:  json.RawMessage(`{"method":"GET","route":"/a/{t}","parameters":[{"name":"t","in":"path","fill":{"kind":"deferred","source":"s"}},{"name":"q","in":"query"},{"name":"c","in":"cookie"}]}`),
			Arguments: json.RawMessage(`{"q":"<&>","c":1}`), CarrierCookies: "sid=x", Deferred: map[string]json.RawMessage{"s": json.RawMessage(`"/"`)},
		}, `{"request":{"method":"GET","pathAndQuery":"/a/%2F?q=%3C%26%3E","headers":{"cookie":"sid=x; c=1"}}}`},
		{schemas.ComposeParams{Template: json.RawMessage(`{"method":"GET","route":"/a"}`), Arguments: json.RawMessage(`{"<q>":1}`)},
			`{"refusal":{"error":"unknown_argument","message":"Unknown argument(s): <q>. Allowed: none.","retryable":false}}`},
		{schemas.ComposeParams{Template: json.RawMessage(upload), Arguments: json.RawMessage(`{"f":{"base64":"AAA="}}`)},
			`{"request":{"method":"PUT","pathAndQuery":"/a","contentType":"application/zip","bodyFile":{"base64":"AAA=","byteLength":2,"filename":"f","mediaType":"application/zip"}}}`},
		{schemas.ComposeParams{Template: json.RawMessage(upload), Arguments: json.RawMessage(`{"f":{"base64":"AAA="}}`), MaxInlineFileBytes: number(1)},
			`{"refusal":{"error":"file_too_large","message":"File argument 'f' takes the inline files of this call over the limit of 1 bytes in all.","retryable":false}}`},
	} {
		response := call(t, h, "compose", test.params)
		if response.Error != nil {
			t.Fatal(response.Error.Message)
		}
		if err := schemas.Check(schemas.ComposeResultSchema, response.Result); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(test.want, string(response.Result)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestPoliciesReachCalls has a handler of another kind.
func TestPoliciesReachCalls(t *testing.T) {
	backend, requests := recorder(t)
	policy := invoke.DefaultPolicy()
	policy.Measure = func([]byte) int64 { return 1 << 40 }
	sent := 0
	h := serve.New(serve.Reference{
		Policy: policy,
		Client: &http.Client{Transport: counting{&sent}},
	})
	configure(t, h, settingsOf(t, backend))
	text, _ := answer(t, invokeTool(t, h, "get_order", `{"id":1}`))
	if !strings.Contains(text, `"bytes":1099511627776`) {
		t.Errorf("got %s", text)
	}
	if n := len(requests()); n != 1 || sent != 1 {
		t.Errorf("%d requests arrived, %d were sent by the client", n, sent)
	}

	mapped := serve.New(serve.Reference{Map: func(m *envelope.Mapper, resp envelope.Response, fields envelope.FieldContext) schemas.Envelope {
		resp.Status = 201
		return m.Map(resp, fields)
	}})
	configure(t, mapped, settingsOf(t, backend))
	wantAnswer(t, invokeTool(t, mapped, "get_order", `{"id":1}`), `{"status":201,"body":{"ok":true}}`, false)
	wantAnswer(t, call(t, mapped, "map", schemas.MapParams{Response: schemas.BackendResponse{Status: 200, Headers: [][2]string{}}}), `{"status":201}`, false)
}

// counting counts the requests of a client.
type counting struct{ sent *int }

func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	*c.sent++
	return invoke.NewTransport().RoundTrip(r)
}
