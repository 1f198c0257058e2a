package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/target"
	"example.com/touchstone/suite/target/mcp"
)

// toolList is what a server with the meta-tools lists.
const toolList = `{"tools":[
	{"name":"search_tools","inputSchema":{"type":"object"}},{"name":"load_tool","inputSchema":{"type":"object"}},
	{"name":"invoke_tool","inputSchema":{"type":"object"}}]}`

// a fake answers methods of MCP with results written by hand: member "result" or
// "error" of the response, by method; "tools/call" by tool. "" is no answer.
type fake map[string]string

func (f fake) answer(message []byte) (response string, wanted bool) {
	request := gjson.ParseBytes(message)
	id := request.Get("id")
	if !id.Exists() {
		return "", false
	}
	answers := map[string]string{
		"initialize": `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"7"}}`,
		"tools/list": `"result":` + toolList,
		"load_tool":  `"result":{"content":[{"type":"text","text":"{}"}]}`,
	}
	for name, text := range f {
		answers[name] = text
	}
	method := request.Get("method").Str
	if method == "tools/call" {
		method = request.Get("params.name").Str
	}
	text, ok := answers[method]
	if !ok {
		text = `"error":{"code":-32601,"message":"no such method"}`
	}
	if text == "" { // it has heard, and says nothing
		return "", false
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, id.Raw, text), true
}

// ServeHTTP implements [http.Handler]: the smallest streamable HTTP there is.
func (f fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // a broken request has no method
	response, wanted := f.answer(body)
	if !wanted {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if strings.HasPrefix(f["type"], "text/event-stream") {
		w.Header().Set("Content-Type", f["type"])
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"working\"}}\n\ndata: %s\n\n", strings.ReplaceAll(response, "\n", "\ndata: "))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, response)
}

// chat serves MCP over lines, with more notifications than answers.
func chat(in io.Reader, out io.Writer, f fake) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		fmt.Fprintln(out, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"debug","data":{"at":1}}}`)
		fmt.Fprintln(out, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}`)
		if response, wanted := f.answer(lines.Bytes()); wanted {
			fmt.Fprintln(out, strings.ReplaceAll(strings.ReplaceAll(response, "\n", " "), "\t", " "))
		}
	}
	return lines.Err()
}

func dial(t *testing.T, h http.Handler, opts mcp.Options) *mcp.Target {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	judged, err := mcp.Dial(t.Context(), server.URL, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = judged.Close() })
	return judged
}

func child(t *testing.T, how string, opts mcp.Options) (*mcp.Target, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	opts.Env = append(opts.Env, serveAs+"="+how+":")
	return mcp.Start(context.WithoutCancel(t.Context()), strconv.Quote(self), opts)
}

// TestAnswers: what a result holds is handed on as it came.
func TestAnswers(t *testing.T) {
	yes, no := true, false
	for _, tc := range []struct {
		name, result string
		want         target.Answer
	}{
		{"a success", `"result":{"content":[{"type":"text","text":"{\"status\":204}"}]}`,
			target.Answer{Envelope: []byte(`{"status":204}`), Carrier: &target.Carrier{Blocks: []string{"text"}}}},
		{"a flag that is false", `"result":{"content":[{"type":"text","text":"{}"}],"isError":false}`,
			target.Answer{Envelope: []byte(`{}`), IsError: &no, Carrier: &target.Carrier{Blocks: []string{"text"}}}},
		{"an error", `"result":{"content":[{"type":"text","text":"{}"}],"isError":true}`,
			target.Answer{Envelope: []byte(`{}`), IsError: &yes, Carrier: &target.Carrier{Blocks: []string{"text"}}}},
		{"structured content only", `"result":{"content":[],"structuredContent":{"status":204}}`,
			target.Answer{Carrier: &target.Carrier{Structured: true}}},
		{"no content", `"result":{}`, target.Answer{Carrier: &target.Carrier{}}},
		{"two blocks", `"result":{"content":[{"type":"image","data":"","mimeType":"image/png"},{"type":"text","text":"{}"}]}`,
			target.Answer{Envelope: []byte(`{}`), Carrier: &target.Carrier{Blocks: []string{"image", "text"}}}},
		{"a block that MCP does not have", `"result":{"content":[{"type":"hologram"}]}`,
			target.Answer{Carrier: &target.Carrier{Blocks: []string{"hologram"}}}},
		{"a JSON-RPC error", `"error":{"code":-32602,"message":"bad arguments"}`,
			target.Answer{Carrier: &target.Carrier{Error: &schemas.RPCError{Code: -32602, Message: "bad arguments"}}}},
	} {
		for _, contentType := range []string{"application/json", "text/event-stream"} {
			judged := dial(t, fake{"invoke_tool": tc.result, "type": contentType}, mcp.Options{})
			got, err := judged.Invoke(t.Context(), schemas.InvokeParams{Name: "get_order", Arguments: json.RawMessage(`{"id":1}`)})
			if err != nil {
				t.Errorf("%s as %s: %v", tc.name, contentType, err)
				continue
			}
			if !strings.Contains(string(got.Raw), tc.result) {
				t.Errorf("%s as %s: the raw message is %s", tc.name, contentType, got.Raw)
			}
			got.Raw = nil
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s as %s (-want +got):\n%s", tc.name, contentType, diff)
			}
		}
	}
}

// TestNotifications: a server that logs and reports progress is understood, over
// pipes too, and what was sent is the flag that is handed on.
func TestNotifications(t *testing.T) {
	judged, err := child(t, "chats", mcp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := judged.Invoke(t.Context(), schemas.InvokeParams{Name: "get_order", Arguments: json.RawMessage(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Envelope) != `{"status":200}` || got.IsError == nil || *got.IsError {
		t.Errorf("%s, isError %v", got.Envelope, got.IsError)
	}
	if err := judged.Close(); err != nil {
		t.Error(err)
	}
	if _, err := judged.Invoke(t.Context(), schemas.InvokeParams{Name: "get_order"}); err == nil {
		t.Error("a closed target answers")
	}
}

func TestDescribe(t *testing.T) {
	list := strings.Replace(toolList, `"invoke_tool","inputSchema":{"type":"object"`, `"invoke_tool","inputSchema":{"type":"object","properties":{"version":{}}`, 1)
	judged := dial(t, fake{"tools/list": `"result":` + list}, mcp.Options{})
	got, err := judged.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := schemas.DescribeResult{
		Protocol: 1, Name: "fake", Version: "7",
		Features:   []string{"invoke", "meta-tools", "error-flag", "mcp", "files", "version-pin"},
		Operations: schemas.SampleOperations(),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFaults: each way not to be a server with the meta-tools has a sentence of
// its own.
func TestFaults(t *testing.T) {
	over := func(h http.HandlerFunc, timeout ...time.Duration) func(t *testing.T) error {
		return func(t *testing.T) error {
			server := httptest.NewServer(h)
			defer server.Close()
			_, err := mcp.Dial(t.Context(), server.URL, mcp.Options{ConnectTimeout: append(timeout, time.Minute)[0]})
			return err
		}
	}
	launched := func(how string, timeout time.Duration) func(t *testing.T) error {
		return func(t *testing.T) error {
			_, err := child(t, how, mcp.Options{ConnectTimeout: timeout})
			return err
		}
	}
	for name, tc := range map[string]struct {
		open func(t *testing.T) error
		want []string // in order
	}{
		"nothing listens": {func(t *testing.T) error {
			_, err := mcp.Dial(t.Context(), "http://127.0.0.1:1/mcp", mcp.Options{})
			return err
		}, []string{"the target could not be reached: http://127.0.0.1:1/mcp", "is the server running"}},
		"a web server": {over(http.NotFound),
			[]string{"the target is not an MCP server (during \"initialize\")", "404 Not Found", "path"}},
		"a page": {over(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }),
			[]string{"the target is not an MCP server", "text/html"}},
		"a token is missing": {over(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }),
			[]string{"answered the MCP protocol with an error", "401 Unauthorized", "--header"}},
		"initialize is refused": {over(fake{"initialize": `"error":{"code":-32000,"message":"the licence has expired"}`}.ServeHTTP),
			[]string{"answered the MCP protocol with an error (during \"initialize\")", "-32000", "the licence has expired"}},
		"other tools": {over(fake{"tools/list": `"result":{"tools":[{"name":"load_tool","inputSchema":{"type":"object"}},{"name":"getOrder","inputSchema":{"type":"object"}}]}`}.ServeHTTP),
			[]string{"an MCP server without the meta-tools", "lacks search_tools, invoke_tool", "has getOrder, load_tool"}},
		"tools/list is refused": {over(fake{"tools/list": `"error":{"code":-32603,"message":"no database"}`}.ServeHTTP),
			[]string{"answered the MCP protocol with an error (during \"tools/list\")", "no database"}},
		"no such command": {func(t *testing.T) error {
			_, err := mcp.Start(t.Context(), "/no/such/server", mcp.Options{})
			return err
		}, []string{"the target could not be reached: starting /no/such/server"}},
		"it dies":           {launched("dies", time.Minute), []string{"ended before it answered", "exit status 1", "the port is taken"}},
		"it talks":          {launched("talks", time.Minute), []string{"is not an MCP server", "standard error", "listening on a port"}},
		"it talks and ends": {launched("talks and ends", time.Minute), []string{"is not an MCP server", "standard error", "listening on a port"}},
		"it lists wrongly":  {launched("lists wrongly", time.Minute), []string{`is not an MCP server (during "tools/list")`, "its answer is not what MCP defines", "ListToolsResult"}},
		"it is mute":        {launched("is silent", 400*time.Millisecond), []string{"is not an MCP server", "did not answer within 400ms"}},
		"it answers no call": {launched("answers no call", 3*time.Second),
			[]string{`left a request without an answer (during "tools/call load_tool")`, "3s"}},
		"it lists no tools": {launched("lists no tools", 3*time.Second),
			[]string{`left a request without an answer (during "tools/list")`, "3s"}},
		"no call is answered": {func(t *testing.T) error {
			release := make(chan struct{})
			defer close(release)
			return over(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if gjson.GetBytes(body, "method").Str == "tools/call" {
					select {
					case <-release:
					case <-r.Context().Done():
					}
					return
				}
				r.Body = io.NopCloser(strings.NewReader(string(body)))
				fake{}.ServeHTTP(w, r)
			}, 3*time.Second)(t)
		}, []string{`left a request without an answer (during "tools/call load_tool")`, "3s"}},
		"another protocol": {launched("lines", time.Minute),
			[]string{"answered the MCP protocol with an error", "-32601", "initialize"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // some wait for a limit
			err := tc.open(t)
			if _, ok := err.(*target.ProtocolError); !ok {
				t.Fatalf("%T: %v, want a *target.ProtocolError", err, err)
			}
			rest := err.Error()
			for _, text := range tc.want {
				_, after, found := strings.Cut(rest, text)
				if !found {
					t.Fatalf("%v\ndoes not say %q", err, text)
				}
				rest = after
			}
		})
	}
}

// TestGivenUp: where it is the caller that makes an end, the server is not blamed.
func TestGivenUp(t *testing.T) {
	for _, asked := range []string{"tools/list", "tools/call"} {
		ctx, cancel := context.WithCancel(t.Context())
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if gjson.GetBytes(body, "method").Str == asked {
				cancel()
			}
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			fake{asked: "", "load_tool": ""}.ServeHTTP(w, r)
		}))
		_, err := mcp.Dial(ctx, server.URL, mcp.Options{})
		if fault, ok := errors.AsType[*target.ProtocolError](err); ok || !errors.Is(err, context.Canceled) {
			t.Errorf("during %s: %v (%v)", asked, err, fault)
		}
		server.Close()
		cancel()
	}
}

// TestHeader: a token reaches the server with every request.
func TestHeader(t *testing.T) {
	f := fake{"invoke_tool": `"result":{"content":[]}`}
	guarded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer abc" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		f.ServeHTTP(w, r)
	})
	judged := dial(t, guarded, mcp.Options{Header: http.Header{"Authorization": {"Bearer abc"}}})
	if _, err := judged.Invoke(t.Context(), schemas.InvokeParams{Name: "get_order", Arguments: json.RawMessage(`{}`)}); err != nil {
		t.Error(err)
	}
}

// TestRedirect: no other server is told what the headers hold, and the user is
// told the address to give.
func TestRedirect(t *testing.T) {
	var asked atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer elsewhere.Close()
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/mcp", http.StatusTemporaryRedirect))
	defer server.Close()
	_, err := mcp.Dial(t.Context(), server.URL, mcp.Options{Header: http.Header{"Authorization": {"Bearer abc"}}})
	if _, ok := errors.AsType[*target.ProtocolError](err); !ok {
		t.Errorf("%v, want a *target.ProtocolError", err)
	} else if want := "to " + elsewhere.URL + "/mcp; redirects are not followed, give the final URL"; !strings.Contains(err.Error(), want) {
		t.Errorf("%v\ndoes not say %q", err, want)
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("the server that was redirected to was asked %d times", n)
	}
}

// renaming is a server with names of its own.
type renaming struct{ asked []string }

func (r *renaming) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	name := gjson.GetBytes(body, "params.arguments.name").Str
	f := fake{"search_tools": `"result":{"content":[{"type":"text","text":"{\"found\":[{\"name\":\"orders_getOrder\"},{\"name\":\"orders_createOrder\"},{\"name\":\"orders_createOrderDraft\"}]}"}]}`}
	switch {
	case gjson.GetBytes(body, "params.name").Str == "invoke_tool":
		r.asked = append(r.asked, name)
		f["invoke_tool"] = `"result":{"content":[{"type":"text","text":"{\"message\":\"The tool '` + name + `' changed\"}"}]}`
	case !strings.HasPrefix(name, "orders_"):
		f["load_tool"] = `"result":{"content":[{"type":"text","text":"{\"error\":\"unknown_tool\"}"}],"isError":true}`
	}
	request.Body = io.NopCloser(strings.NewReader(string(body)))
	f.ServeHTTP(w, request)
}

// TestNames: an operation has the server's name in calls, and ours in answers.
func TestNames(t *testing.T) {
	server := &renaming{}
	judged := dial(t, server, mcp.Options{Operations: map[string]string{"list_orders": "orders_all"}})
	d, err := judged.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// create_order has two candidates, and is not guessed.
	if diff := cmp.Diff([]string{"list_orders", "get_order"}, d.Operations); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
	for _, name := range []string{"get_order", "list_orders", "cancel_everything"} {
		got, err := judged.Invoke(t.Context(), schemas.InvokeParams{Name: name, Arguments: json.RawMessage(`{}`)})
		if err != nil {
			t.Fatal(err)
		}
		if want := `{"message":"The tool '` + name + `' changed"}`; string(got.Envelope) != want {
			t.Errorf("%s: %s, want %s", name, got.Envelope, want)
		}
	}
	if diff := cmp.Diff([]string{"orders_getOrder", "orders_all", "cancel_everything"}, server.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

// TestPlaceholders: a command is filled from the settings.
func TestPlaceholders(t *testing.T) {
	_, err := mcp.Start(t.Context(), "/no/such/server {backend} {openapi} {timeoutMs} {maxResponseBytes}", mcp.Options{
		Settings: schemas.ConfigureParams{BackendURL: "http://127.0.0.1:1", OpenAPIURL: "http://127.0.0.1:1/o.json", TimeoutMs: 5, MaxResponseBytes: 6},
	})
	if err == nil || !strings.Contains(err.Error(), "/no/such/server http://127.0.0.1:1 http://127.0.0.1:1/o.json 5 6") {
		t.Errorf("%v", err)
	}
}
