package httprpc_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/target"
	"example.com/touchstone/suite/target/httprpc"
	"example.com/touchstone/suite/target/jsonrpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ok = schemas.MapParams{Response: schemas.BackendResponse{Status: 200}}

func open(t *testing.T, url string, opts httprpc.Options) *jsonrpc.Client {
	t.Helper()
	client, err := httprpc.New(url, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return client
}

func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// echo answers a call with its params.
func echo(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		ID     int64
		Params json.RawMessage
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%d,"result":{"envelope":%s}}`, asked.ID, asked.Params)
}

func TestRequest(t *testing.T) {
	var method, uri, contentType, body string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		method, uri, contentType, body = r.Method, r.RequestURI, r.Header.Get("Content-Type"), string(text)
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	})
	// Without a Content-Type of its own, Go's server would send text/plain.
	client := open(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = nil
		resp, err := http.Post(url+r.RequestURI, r.Header.Get("Content-Type"), r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		io.Copy(w, resp.Body)
	})+"/rpc?key=1", httprpc.Options{})
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	if err := client.Configure(t.Context(), schemas.ConfigureParams{BackendURL: "http://127.0.0.1:1"}); err != nil {
		t.Fatal(err)
	}
	if method != "POST" || uri != "/rpc?key=1" || contentType != "application/json" {
		t.Errorf("the request was %s %s with %s", method, uri, contentType)
	}
	if want := `{"jsonrpc":"2.0","id":1,"method":"configure","params":{"backendUrl":"http://127.0.0.1:1","timeoutMs":0}}`; body != want {
		t.Errorf("the request's body was %s, want %s", body, want)
	}
}

func TestCallsSideBySide(t *testing.T) {
	client := open(t, serve(t, echo), httprpc.Options{})
	var work sync.WaitGroup
	for i := range 16 {
		work.Go(func() {
			got, err := client.Invoke(t.Context(), schemas.InvokeParams{Name: "echo", Arguments: fmt.Appendf(nil, "%d", i)})
			if want := fmt.Sprintf(`{"name":"echo","arguments":%d}`, i); err != nil || string(got.Envelope) != want {
				t.Errorf("got %s (%v), want %s", got.Envelope, err, want)
			}
		})
	}
	work.Wait()
}

// closedPort is a loopback address at which nothing listens.
func closedPort(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// raw serves each connection with a function, once a request has come.
func raw(t *testing.T, reply func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			work.Go(func() {
				defer conn.Close()
				// To close with a request unread would reset the connection.
				if req, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					_, _ = io.Copy(io.Discard, req.Body)
					reply(conn)
				}
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		work.Wait()
	})
	return "http://" + listener.Addr().String()
}

func TestFaults(t *testing.T) {
	answer := func(contentType, body string) func(*testing.T) string {
		return func(t *testing.T) string {
			return serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", contentType)
				io.WriteString(w, body)
			})
		}
	}
	status := func(code int, body string) func(*testing.T) string {
		return func(t *testing.T) string {
			return serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if code == http.StatusFound {
					w.Header().Set("Location", "/elsewhere")
				}
				w.WriteHeader(code)
				io.WriteString(w, body)
			})
		}
	}
	wire := func(reply func(net.Conn)) func(*testing.T) string {
		return func(t *testing.T) string { return raw(t, reply) }
	}
	const good = `{"jsonrpc":"2.0","id":1,"result":{"text":"{}"}}`
	for _, tc := range []struct {
		name  string
		url   func(*testing.T) string
		fault target.Fault
		words []string // in the error's text
	}{
		{"nothing listens", func(t *testing.T) string { return "http://" + closedPort(t) + "/rpc" }, target.Unreachable, []string{`Post "http://127.0.0.1:`, "connection refused"}},
		{"not found", status(404, "no such page"), target.BadHTTP, []string{"POST http://127.0.0.1:", "status 404 Not Found; every JSON-RPC answer", "it sent: no such page"}},
		{"server error", status(500, good), target.BadHTTP, []string{"status 500 Internal Server Error", "it sent: " + good}},
		{"no content", status(204, ""), target.BadHTTP, []string{"status 204 No Content"}},
		{"redirect", status(302, ""), target.BadHTTP, []string{"status 302 Found to /elsewhere; redirects are not followed"}},
		{"web page", answer("text/html", "<p>hello"), target.BadHTTP, []string{"Content-Type text/html instead of application/json", "it sent: <p>hello"}},
		{"plain text", answer("text/plain; charset=utf-8", good), target.BadHTTP, []string{"Content-Type text/plain; charset=utf-8 instead"}},
		{"no type at all", answer("nonsense", good), target.BadHTTP, []string{"Content-Type nonsense instead"}},
		{"empty", answer("application/json", ""), target.Garbage, []string{"the message is empty"}},
		{"not JSON", answer("application/json", "hello"), target.Garbage, []string{"invalid character 'h'", "it sent: hello"}},
		{"another message", answer("application/json", `{"ok":true}`), target.BadMessage, []string{`"result" or "error"`, `it sent: {"ok":true}`}},
		{"another id", answer("application/json", `{"jsonrpc":"2.0","id":12,"result":{"text":"{}"}}`), target.WrongID, []string{"id 12, asked was 1"}},
		{"two answers", answer("application/json", good+"\n"+good), target.AnsweredTwice, []string{"id 1"}},
		{"too large", answer("application/json", strings.Repeat(" ", 1001)), target.Flooded, []string{"the body is over 1000 bytes"}},
		{"closes", wire(func(net.Conn) {}), target.Died, []string{"EOF"}},
		{"cut short", wire(func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"jsonrpc\"")
		}), target.Died, []string{"reading the body: unexpected EOF", `it sent: {"jsonrpc"`}},
		{"not HTTP", wire(func(c net.Conn) { io.WriteString(c, "220 mail.example ESMTP\r\n\r\n") }), target.BadHTTP, []string{"malformed HTTP"}},
		{"endless headers", wire(func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			for {
				if _, err := io.WriteString(c, "X-More: "+strings.Repeat("x", 4000)+"\r\n"); err != nil {
					return
				}
			}
		}), target.BadHTTP, []string{"headers exceeded"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			client := open(t, tc.url(t), httprpc.Options{MaxMessageBytes: 1000})
			_, err := client.Map(t.Context(), ok)
			fault, is := errors.AsType[*target.ProtocolError](err)
			if !is || fault.Fault != tc.fault || fault.Method != "map" {
				t.Fatalf("got %v, want the fault %q", err, tc.fault)
			}
			for _, words := range tc.words {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("got %v\nwant it to hold %q", err, words)
				}
			}
		})
	}
}

func TestCertificateIsChecked(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(echo))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it would tell of our refusal
	server.StartTLS()
	defer server.Close()
	_, err := open(t, server.URL, httprpc.Options{}).Map(t.Context(), ok)
	if fault, is := errors.AsType[*target.ProtocolError](err); !is || fault.Fault != target.Unreachable || !strings.Contains(fault.Detail, "certificate") {
		t.Errorf("got %v, want the certificate's fault", err)
	}
}

func TestPasswordIsNotShown(t *testing.T) {
	url := strings.Replace(serve(t, http.NotFound), "http://", "http://me:secret@", 1)
	for _, url := range []string{url, "http://me:secret@" + closedPort(t)} {
		_, err := open(t, url, httprpc.Options{}).Map(t.Context(), ok)
		if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "127.0.0.1") {
			t.Errorf("got %v", err)
		}
	}
}

func TestContextEndsCall(t *testing.T) {
	for name, reply := range map[string]string{"before the headers": "", "in the body": "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"} {
		t.Run(name, func(t *testing.T) {
			release := make(chan struct{})
			url := raw(t, func(c net.Conn) {
				io.WriteString(c, reply)
				<-release
			})
			t.Cleanup(func() { close(release) })
			client := open(t, url, httprpc.Options{})
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			_, err := client.Map(ctx, ok)
			if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), `calling "map": `) {
				t.Errorf("got %v, want the context's error with the method", err)
			}
			called := make(chan error, 1)
			go func() { _, err := client.Map(context.Background(), ok); called <- err }()
			if err := client.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			if err := <-called; !errors.Is(err, target.ErrClosed) {
				t.Errorf("a call at Close: %v", err)
			}
		})
	}
}

func TestBadURL(t *testing.T) {
	for _, url := range []string{"http://", "http:///rpc", "http:127.0.0.1", "ftp://127.0.0.1/", "http://127.0.0.1:port/", ""} {
		_, err := httprpc.New(url, httprpc.Options{})
		if _, is := errors.AsType[*target.ProtocolError](err); is || err == nil || !strings.Contains(err.Error(), "URL") {
			t.Errorf("%q: got %v, want a plain error", url, err)
		}
	}
}
