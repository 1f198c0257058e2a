package mockbackend_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/touchstone/mockbackend"
	"example.com/touchstone/schemas"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

func start(t testing.TB, opts mockbackend.Options) *mockbackend.Server {
	t.Helper()
	srv, err := mockbackend.Start(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			t.Errorf("closing the server: %v", err)
		}
	})
	return srv
}

func mustStub(t testing.TB, text string) schemas.Stub {
	t.Helper()
	s, err := mockbackend.DecodeStub([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

func add(t testing.TB, srv *mockbackend.Server, stub string) string {
	t.Helper()
	id, err := srv.Add(mustStub(t, stub))
	if err != nil {
		t.Fatalf("%s: %v", stub, err)
	}
	return id
}

// newClient gives a client that follows no redirects and keeps its connections
// to itself.
func newClient(t testing.TB) *http.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{
		Transport:     transport,
		Timeout:       patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type answer struct {
	status int
	header http.Header
	body   string
}

func call(t testing.TB, client *http.Client, method, url, body string, headers ...string) answer {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if req.Header.Add(headers[i], headers[i+1]); headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("reading the answer of %s %s: %v", method, url, err)
	}
	return answer{resp.StatusCode, resp.Header, string(data)}
}

// dial opens a raw connection and sends text on it.
func dial(t testing.TB, srv *mockbackend.Server, text string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(srv.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn
}

func get(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: mock\r\n\r\n" }

// rawGet gives every byte that comes back until the server closes.
func rawGet(t testing.TB, srv *mockbackend.Server, path string) string {
	t.Helper()
	data, err := io.ReadAll(dial(t, srv, get(path)))
	if err != nil {
		t.Fatalf("reading after %d bytes: %v", len(data), err)
	}
	return string(data)
}

// readHead reads status line and headers from a raw connection.
func readHead(t testing.TB, r *bufio.Reader) string {
	t.Helper()
	var head strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("reading the head, got %q: %v", head.String(), err)
		}
		head.WriteString(line)
		if line == "\r\n" {
			return head.String()
		}
	}
}

func wait(t testing.TB, srv waiter, f mockbackend.Filter, n int) []mockbackend.Entry {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	entries, err := srv.Wait(ctx, f, n)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// A waiter is a server, a scope or a journal.
type waiter interface {
	Wait(context.Context, mockbackend.Filter, int) ([]mockbackend.Entry, error)
}

func text(s string) *schemas.StubResponse { return &schemas.StubResponse{Text: &s} }
