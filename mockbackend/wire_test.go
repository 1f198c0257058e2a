package mockbackend_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/mockbackend"
)

// Answers that a polite server would not send, byte by byte.
func TestImpoliteAnswers(t *testing.T) {
	for name, tt := range map[string]struct{ respond, want string }{
		"no content type, no date, no length": {
			`{"text":"hi","omit":["Content-Type","Date","Content-Length","Connection"]}`,
			"HTTP/1.1 200 OK\r\n\r\nhi"},
		"order and spelling": {
			`{"raw":true,"omit":["Date","Connection","Content-Type"],"headers":[["x-B","1"],["X-a","2"],["X-b","3"]],"text":"hi"}`,
			"HTTP/1.1 200 OK\r\nx-B: 1\r\nX-a: 2\r\nX-b: 3\r\nContent-Length: 2\r\n\r\nhi"},
		"body after 204": {
			`{"status":204,"text":"hi","omit":["Date","Content-Type"]}`,
			"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"},
		"body after 205": {
			`{"status":205,"text":"hi","omit":["Date","Content-Type"]}`,
			"HTTP/1.1 205 Reset Content\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"},
		"body after 304": {
			`{"status":304,"text":"hi","omit":["Date","Content-Type"]}`,
			"HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"},
		"wrong length": {
			`{"text":"hi","omit":["Date","Content-Type"],"headers":[["Content-Length","7"]]}`,
			"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\nhi"},
		"two lengths": {
			`{"text":"hi","omit":["Date","Content-Type"],"headers":[["Content-Length","2"],["Content-Length","3"]]}`,
			"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\nConnection: close\r\n\r\nhi"},
		"length and chunks": {
			`{"text":"hi","omit":["Date","Content-Type"],"headers":[["Content-Length","2"],["Transfer-Encoding","chunked"]]}`,
			"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\nhi\r\n0\r\n\r\n"},
		"control characters": {
			`{"omit":["Date"],"headers":[["X-A","a\u0000b\u0007"],["X-B"," b\r\nX-C: c"]]}`,
			"HTTP/1.1 200 OK\r\nX-A: a\x00b\x07\r\nX-B:  b\r\nX-C: c\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"},
		"not a name": {
			`{"omit":["Date"],"headers":[["X A","1"]]}`,
			"HTTP/1.1 200 OK\r\nX A: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"},
		"unregistered status, interim before": {
			`{"status":799,"raw":true,"omit":["Date"],"interim":[{"status":103,"headers":[["Link","</a>"]]},{"status":100}]}`,
			"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 799 \r\nContent-Length: 0\r\nConnection: close\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := start(t, mockbackend.Options{})
			id := add(t, srv, `{"match":{},"respond":`+tt.respond+`}`)
			if diff := cmp.Diff(tt.want, rawGet(t, srv, "/")); diff != "" {
				t.Errorf("bytes (-want +got):\n%s", diff)
			}
			sent := wait(t, srv, mockbackend.Filter{Stub: id, Done: true}, 1)[0].Sent
			if sent.Phase != mockbackend.PhaseComplete || sent.ClientEnded || sent.Error != "" {
				t.Errorf("the journal says %+v", sent)
			}
		})
	}
}

// Answers that go through net/http and still are as the stub says.
func TestPoliteAnswers(t *testing.T) {
	for name, tt := range map[string]struct{ respond, want string }{
		"json":              {`{"omit":["Date"],"json":{"b":1.0,  "a":2}}`, "HTTP/1.1 200 OK\r\nContent-Length: 17\r\nContent-Type: application/json\r\n\r\n{\"b\":1.0,  \"a\":2}"},
		"no content type":   {`{"omit":["Date","Content-Type"],"text":"<html>"}`, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>"},
		"bytes, no guess":   {`{"omit":["Date"],"base64":"PGh0bWw+"}`, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>"},
		"own content type":  {`{"omit":["Date"],"headers":[["content-type","a/b"]],"json":1}`, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\ncontent-type: a/b\r\n\r\n1"},
		"two content types": {`{"omit":["Date"],"headers":[["Content-Type","a/b"],["Content-Type","c/d"]],"json":1}`, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Type: a/b\r\nContent-Type: c/d\r\n\r\n1"},
		"repeated":          {`{"omit":["Date"],"headers":{"X-A":["2","1"]},"status":400}`, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nX-A: 2\r\nX-A: 1\r\n\r\n"},
		"obs-text":          {`{"omit":["Date"],"headers":[["X-A","6Q==","base64"]]}`, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-A: \xe9\r\n\r\n"},
		"own date":          {`{"headers":[["Date","yesterday"]]}`, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nDate: yesterday\r\n\r\n"},
		"no body":           {`{"omit":["Date"],"status":204}`, "HTTP/1.1 204 No Content\r\n\r\n"},
		"unregistered":      {`{"omit":["Date"],"status":599,"text":""}`, "HTTP/1.1 599 status code 599\r\nContent-Length: 0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := start(t, mockbackend.Options{})
			id := add(t, srv, `{"match":{},"respond":`+tt.respond+`}`)
			// Two requests on one connection: it is kept alive.
			conn := dial(t, srv, get("/1")+get("/2"))
			got := make([]byte, 2*len(tt.want))
			if n, err := io.ReadFull(conn, got); err != nil {
				t.Fatalf("got %q: %v", got[:n], err)
			}
			if diff := cmp.Diff(tt.want+tt.want, string(got)); diff != "" {
				t.Errorf("bytes (-want +got):\n%s", diff)
			}
			wait(t, srv, mockbackend.Filter{Stub: id, Done: true}, 2)
		})
	}
}

func TestInterimAnswers(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	add(t, srv, `{"match":{},"respond":{"interim":[{"status":103,"headers":[["Link","</a>"]]},{"status":150}],"text":"hi"}}`)
	var got []string
	trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, header textproto.MIMEHeader) error {
		got = append(got, http.StatusText(code)+header.Get("Link"))
		return nil
	}}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), "GET", srv.URL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := newClient(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if diff := cmp.Diff([]string{"Early Hints</a>", ""}, got); diff != "" || resp.StatusCode != 200 || resp.Header.Get("Link") != "" {
		t.Errorf("status %d, headers %v, interim (-want +got):\n%s", resp.StatusCode, resp.Header, diff)
	}
}

func TestHead(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	add(t, srv, `{"match":{"path":"/polite"},"respond":{"text":"hello"}}`)
	add(t, srv, `{"match":{"path":"/raw"},"respond":{"text":"hello","raw":true}}`)
	for _, path := range []string{"/polite", "/raw"} {
		conn := bufio.NewReader(dial(t, srv, "HEAD "+path+" HTTP/1.1\r\nHost: mock\r\nConnection: close\r\n\r\n"))
		if head := readHead(t, conn); !strings.Contains(head, "Content-Length: 5\r\n") {
			t.Errorf("%s: head %q", path, head)
		}
		if rest, err := io.ReadAll(conn); len(rest) > 0 || err != nil {
			t.Errorf("%s: %q follows the head (%v)", path, rest, err)
		}
		if e := wait(t, srv, mockbackend.Filter{Path: path, Done: true}, 1)[0]; e.Sent.BodyBytes != 0 || e.Sent.Status != 200 {
			t.Errorf("%s: the journal says %+v", path, e.Sent)
		}
	}
}

func TestFileBody(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.json"), []byte(`{"a":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	srv := start(t, mockbackend.Options{Files: dir})
	add(t, srv, `{"match":{"path":"/"},"respond":{"file":"a.json"}}`)
	got := call(t, newClient(t), "GET", srv.URL()+"/", "")
	if got.body != `{"a":1}` || got.header.Get("Content-Type") != "application/json" {
		t.Errorf("got %+v", got)
	}
	for _, name := range []string{"../x", "missing"} {
		s, err := mockbackend.DecodeStub([]byte(`{"match":{},"respond":{"file":"` + name + `"}}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := srv.Add(s); err == nil || !strings.Contains(err.Error(), "/respond/file") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
