package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"example.com/touchstone/reference/serve"
	"example.com/touchstone/schemas"
)

func TestServeLines(t *testing.T) {
	const calls = 300
	var in strings.Builder
	for id := 1; id <= calls; id++ {
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":"map","params":{"response":{"status":200,"headers":[],"body":"%d"}}}`+"\r\n\n", id, id)
	}
	in.WriteString("garbage") // the last line needs no end
	var out strings.Builder
	if err := serve.New(serve.Reference{}).ServeLines(t.Context(), strings.NewReader(in.String()), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	seen := map[int64]bool{}
	for _, line := range lines {
		response := read(t, []byte(line))
		if response.ID == nil {
			if response.Error.Code != schemas.ParseError {
				t.Errorf("got %s", line)
			}
			continue
		}
		seen[*response.ID] = true
		if text, _ := answer(t, response); text != fmt.Sprintf(`{"status":200,"body":%d}`, *response.ID) {
			t.Errorf("%d has the answer %s", *response.ID, text)
		}
	}
	if len(lines) != calls+1 || len(seen) != calls {
		t.Errorf("%d lines, %d calls answered", len(lines), len(seen))
	}
}

// TestServeLinesSideBySide needs the second call answered before the first one can be.
func TestServeLinesSideBySide(t *testing.T) {
	release := make(chan struct{})
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer backend.Close()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- serve.New(serve.Reference{}).ServeLines(t.Context(), inR, outW)
		outW.Close()
	}()
	answers := bufio.NewScanner(outR)
	exchange := func(line string) {
		if _, err := io.WriteString(inW, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	next := func() schemas.Response {
		if !answers.Scan() {
			t.Fatal("no answer")
		}
		return read(t, answers.Bytes())
	}
	exchange(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"configure","params":{"backendUrl":%q,"openapiUrl":%q,"timeoutMs":0}}`, backend.URL, documentURL(t)))
	if got := string(next().Result); got != "{}" {
		t.Errorf("configure gives %s", got)
	}
	exchange(`{"jsonrpc":"2.0","id":2,"method":"invoke","params":{"name":"get_order","arguments":{"id":1}}}`)
	exchange(`{"jsonrpc":"2.0","id":3,"method":"map","params":{"response":{"status":204,"headers":[]}}}`)
	if id := *next().ID; id != 3 {
		t.Errorf("the first answer is to %d", id)
	}
	inW.Close() // what is in flight is still answered
	close(release)
	if text, _ := answer(t, next()); text != `{"status":200}` {
		t.Errorf("got %s", text)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestServeLinesEnds(t *testing.T) {
	h := serve.New(serve.Reference{})
	line := `{"jsonrpc":"2.0","id":1,"method":"map","params":{"response":{"status":204,"headers":[]}}}` + "\n"
	broken := errors.New("broken pipe")
	if err := h.ServeLines(t.Context(), iotest.ErrReader(broken), io.Discard); !errors.Is(err, broken) {
		t.Errorf("a reader that fails gives %v", err)
	}
	if err := h.ServeLines(t.Context(), strings.NewReader(line+line), failingWriter{broken}); !errors.Is(err, broken) {
		t.Errorf("a writer that fails gives %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out strings.Builder
	if err := h.ServeLines(ctx, strings.NewReader(line), &out); !errors.Is(err, context.Canceled) || out.Len() > 0 {
		t.Errorf("a cancelled context gives %v and %q", err, out.String())
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

func TestServeHTTP(t *testing.T) {
	server := httptest.NewServer(serve.New(serve.Reference{}))
	defer server.Close()
	client := server.Client()
	defer client.CloseIdleConnections()

	post, err := client.Post(server.URL, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"describe","params":{"protocol":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	defer post.Body.Close()
	var response schemas.Response
	if err := json.NewDecoder(post.Body).Decode(&response); err != nil || response.Error != nil {
		t.Errorf("got %+v, %v", response, err)
	}
	if post.StatusCode != 200 || post.Header.Get("Content-Type") != "application/json" {
		t.Errorf("got %d, %v", post.StatusCode, post.Header)
	}

	get, err := client.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer get.Body.Close()
	if get.StatusCode != http.StatusMethodNotAllowed || get.Header.Get("Allow") != "POST" {
		t.Errorf("GET gives %d, %v", get.StatusCode, get.Header)
	}
}

func TestServeHTTPBodies(t *testing.T) {
	for _, test := range []struct {
		body io.Reader
		want int
	}{
		{iotest.ErrReader(errors.New("reset")), http.StatusBadRequest},
		{io.LimitReader(endless{}, 65<<20), http.StatusRequestEntityTooLarge},
	} {
		w := httptest.NewRecorder()
		serve.New(serve.Reference{}).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", test.body))
		if w.Code != test.want {
			t.Errorf("got %d, want %d", w.Code, test.want)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

const generous = 30 * time.Second
