package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/reference/serve"
	"example.com/touchstone/schemas"
)

const wireFault = `{"error":"internal_error","message":"The backend could not be reached, or its response could not be read.","retryable":false}`

func configured(t *testing.T, url string, timeoutMs int64) *serve.Handler {
	t.Helper()
	h := serve.New(serve.Reference{})
	if response := call(t, h, "configure", schemas.ConfigureParams{BackendURL: url, TimeoutMs: timeoutMs}); response.Error != nil {
		t.Fatal(response.Error.Message)
	}
	return h
}

func invoke(t *testing.T, h *serve.Handler, name, arguments string) schemas.Response {
	t.Helper()
	return call(t, h, "invoke", schemas.InvokeParams{Name: name, Arguments: json.RawMessage(arguments)})
}

func TestInvokeOverTheWire(t *testing.T) {
	type seen struct{ Method, Target, ContentType, AcceptEncoding, Body string }
	var mu sync.Mutex
	var got []seen
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		got = append(got, seen{r.Method, r.URL.RequestURI(), r.Header.Get("Content-Type"), r.Header.Get("Accept-Encoding"), string(body)})
		mu.Unlock()
		switch r.URL.Path {
		case "/orders/1":
			fmt.Fprint(w, `{"id":1}`)
		case "/orders/2":
			http.Redirect(w, r, "/orders/1", http.StatusFound)
		case "/orders/3":
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(400)
			fmt.Fprint(w, `{"errors":{"ID":"No such order."}}`)
		default:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(422)
			fmt.Fprint(w, `{"statusCode":422,"message":["quantity is too large","id is taken"]}`)
		}
	}))
	defer backend.Close()
	h := configured(t, backend.URL, generous.Milliseconds())
	const validation = `{"error":"validation_failed","message":"The backend rejected one or more arguments. Fix the listed fields and call the operation again.","status":%d,"retryable":false,"fields":[%s]}`

	wantAnswer(t, invoke(t, h, "get_order", `{"id":1}`), `{"status":200,"body":"{\"id\":1}","contentType":"text/plain; charset=utf-8"}`, false)
	wantAnswer(t, invoke(t, h, "get_order", `{"id":2}`),
		`{"status":302,"location":"/orders/1"}`, false)
	wantAnswer(t, invoke(t, h, "get_order", `{"id":3}`), fmt.Sprintf(validation, 400, `{"name":"id","message":"No such order."}`), true)
	wantAnswer(t, invoke(t, h, "create_order", `{"note":null,"quantity":1e2,"item":"a b"}`),
		fmt.Sprintf(validation, 422, `{"name":"quantity","message":"quantity is too large"},{"message":"id is taken"}`), true)
	invoke(t, h, "create_order", `null`)

	want := []seen{
		{Method: "GET", Target: "/orders/1"},
		{Method: "GET", Target: "/orders/2"},
		{Method: "GET", Target: "/orders/3"},
		{Method: "POST", Target: "/orders", ContentType: "application/json", Body: `{"item":"a b","quantity":1e2,"note":null}`},
		{Method: "POST", Target: "/orders", ContentType: "application/json", Body: `{}`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestInvokeRefusesBeforeDispatch(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the backend sees %s %s", r.Method, r.URL)
	}))
	defer backend.Close()
	h := configured(t, backend.URL, generous.Milliseconds())
	for _, test := range []struct{ name, arguments, code, message string }{
		{"nope", `{}`, "unknown_tool", "No operation named 'nope'. Use search_tools to find the exact name."},
		{"", `{}`, "unknown_tool", "No operation named ''. Use search_tools to find the exact name."},
		{"get_order", `{"id":1,"z":1,"bogus":1}`, "unknown_argument", "Unknown argument(s): bogus, z. Allowed: id."},
		{"create_order", `{"Item":"x"}`, "unknown_argument", "Unknown argument(s): Item. Allowed: item, quantity, note."},
		{"get_order", `{}`, "missing_path_parameter", "Argument 'id' is required."},
		{"get_order", `null`, "missing_path_parameter", "Argument 'id' is required."},
		{"get_order", `{"id":"1"}`, "invalid_path_type", "Argument 'id' must be of type integer."},
		{"get_order", `{"id":1.5}`, "invalid_path_type", "Argument 'id' must be of type integer."},
		{"get_order", `[]`, "invalid_type", "The arguments must be a JSON object."},
		{"get_order", `7`, "invalid_type", "The arguments must be a JSON object."},
	} {
		want := fmt.Sprintf(`{"error":"%s","message":"%s","retryable":false}`, test.code, test.message)
		wantAnswer(t, invoke(t, h, test.name, test.arguments), want, true)
	}
}

func TestDeadline(t *testing.T) {
	gone := make(chan struct{}, 3)
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/orders/2" { // stalls in the middle of the body
			w.Header().Set("Content-Length", "10")
			fmt.Fprint(w, "{")
			w.(http.Flusher).Flush()
		}
		_, _ = io.Copy(io.Discard, r.Body) // the server watches a connection only once the body is read
		<-r.Context().Done()
		gone <- struct{}{}
	}))
	defer backend.Close()
	h := configured(t, backend.URL, 50)
	const timeout = `{"error":"invoke_timeout","message":"The backend did not answer within 50 ms and the call was abandoned. The operation may already have been applied; re-read before retrying.","retryable":true}`
	for _, arguments := range []string{`{"id":1}`, `{"id":2}`} {
		wantAnswer(t, invoke(t, h, "get_order", arguments), timeout, true)
		<-gone // the abandoned request is cancelled
	}
	wantAnswer(t, invoke(t, h, "create_order", `{"item":"x"}`), timeout, true)
	<-gone

	// Without a deadline only the caller ends a call.
	h = configured(t, backend.URL, 0)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	message := h.Handle(ctx, []byte(`{"jsonrpc":"2.0","id":1,"method":"invoke","params":{"name":"get_order","arguments":{"id":1}}}`))
	wantAnswer(t, read(t, message), wireFault, true)
	<-gone
}

func TestWireFaults(t *testing.T) {
	for _, answer := range []string{
		"", // closed before the headers
		"garbage\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		requests := make(chan int)
		go func() {
			n := 0
			for {
				conn, err := listener.Accept()
				if err != nil {
					requests <- n
					return
				}
				n++
				if _, err := conn.Read(make([]byte, 4096)); err == nil {
					_, _ = io.WriteString(conn, answer)
				}
				conn.Close()
			}
		}()
		h := configured(t, "http://"+listener.Addr().String(), generous.Milliseconds())
		wantAnswer(t, invoke(t, h, "get_order", `{"id":1}`), wireFault, true)
		listener.Close()
		if n := <-requests; n != 1 {
			t.Errorf("%q: the backend was called %d times", answer, n)
		}
		wantAnswer(t, invoke(t, h, "get_order", `{"id":1}`), wireFault, true) // nobody listens any more
	}
}

func TestBodiesThatAreNotPlain(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/1") {
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Type", "text/plain")
			_, _ = w.Write([]byte{0x1f, 0x8b, 'x'})
			return
		}
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = buffered.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nnot a body")
		_ = buffered.Flush()
		_, _ = io.Copy(io.Discard, conn)
	}))
	defer backend.Close()
	h := configured(t, backend.URL, generous.Milliseconds())
	wantAnswer(t, invoke(t, h, "get_order", `{"id":1}`), `{"status":200,"body":"\u001f`+"\uFFFD"+`x","contentType":"text/plain"}`, false)
	wantAnswer(t, invoke(t, h, "get_order", `{"id":2}`), `{"status":101}`, false)
}
