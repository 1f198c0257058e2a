package mockbackend_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/touchstone/mockbackend"
)

func TestAdmin(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	client := newClient(t)
	for _, tt := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"GET", "/__mock/stubs", "", 200, `{"stubs":[]}`},
		{"POST", "/__mock/stubs", `{"id":"a","match":{"path":"/a"},"respond":{"text":"A"}}`, 201, `{"id":"a"}`},
		{"POST", "/__mock/stubs", `{"id":"a","match":{"path":"/a"},"respond":{"text":"A"}}`, 422, `"pointer":"/id"`},
		{"POST", "/__mock/stubs", `{"match":{},"respond":{"status":99}}`, 422, `"pointer":"/respond/status"`},
		{"POST", "/__mock/stubs", `{`, 422, `not a JSON document`},
		{"POST", "/__mock/stubs", `[{"id":"b","match":{},"respond":{}},{"match":{},"respond":{"fault":{"kind":"x"}}}]`, 422, `"pointer":"/1/respond/fault/kind"`},
		{"GET", "/__mock/stubs", "", 200, `{"stubs":[{"id":"a","match":{"path":"/a"},"respond":{"text":"A"}}]}`},
		{"POST", "/__mock/stubs", `[{"id":"b","match":{"path":"/b"},"respond":{}}]`, 201, `{"ids":["b"]}`},
		{"GET", "/__mock/stubs/b", "", 200, `{"id":"b","match":{"path":"/b"},"respond":{}}`},
		{"DELETE", "/__mock/stubs/b", "", 204, ""},
		{"GET", "/__mock/stubs/b", "", 404, `There is no stub \"b\"`},
		{"DELETE", "/__mock/stubs/b", "", 404, `There is no stub \"b\"`},
		{"GET", "/a", "", 200, "A"},
		{"GET", "/__mock/wait?stub=a&done=true&timeoutMs=30000", "", 200, `"target":"/a"`},
		{"GET", "/__mock/wait?stub=a&n=2&timeoutMs=1", "", 408, `waiting for 2 requests, have 1`},
		{"GET", "/__mock/wait?n=0", "", 400, `n is \"0\"`},
		{"GET", "/__mock/journal?path=/a&method=GET", "", 200, `"stub":"a"`},
		{"GET", "/__mock/journal?path=/b", "", 200, `{"dropped":0,"entries":[]}`},
		{"GET", "/__mock/journal?x=1", "", 400, `known are stub, method`},
		{"GET", "/__mock/journal?after=x", "", 400, `the filter after`},
		{"DELETE", "/__mock/journal", "", 204, ""},
		{"GET", "/__mock/journal", "", 200, `{"dropped":0,"entries":[]}`},
		{"POST", "/__mock/reset", "", 204, ""},
		{"GET", "/__mock/stubs", "", 200, `{"stubs":[]}`},
		{"GET", "/__mock/x", "", 404, `it has stubs, journal, reset and wait`},
		{"DELETE", "/__mock/stubs", "", 204, ""},
	} {
		got := call(t, client, tt.method, srv.URL()+tt.path, tt.body)
		if got.status != tt.status || !strings.Contains(got.body, tt.says) {
			t.Errorf("%s %s: %d %s, want %d and %s", tt.method, tt.path, got.status, got.body, tt.status, tt.says)
		}
		if tt.status >= 400 && got.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s: a refusal as %s", tt.method, tt.path, got.header.Get("Content-Type"))
		}
	}
}

// The server is a handler too, for a server that the caller has.
func TestHandler(t *testing.T) {
	mock := mockbackend.New(mockbackend.Options{})
	defer mock.Close()
	ts := httptest.NewServer(mock)
	defer ts.Close()
	add(t, mock, `{"match":{"path":"/a"},"respond":{"text":"A","raw":true}}`)
	if got := call(t, newClient(t), "GET", ts.URL+"/a", "", "X-Tag", "1"); got.body != "A" {
		t.Errorf("got %+v", got)
	}
	names := ""
	for _, h := range wait(t, mock, mockbackend.Filter{Done: true}, 1)[0].Header {
		names += h.Name + " "
	}
	if names != "Host Accept-Encoding User-Agent X-Tag " {
		t.Errorf("headers %s", names)
	}
}

// Closing the mock ends what stalls, also under a server that goes on.
func TestHandlerClose(t *testing.T) {
	mock := mockbackend.New(mockbackend.Options{})
	ts := httptest.NewServer(mock)
	defer ts.Close()
	paths := []string{"/delay/3600000", "/fault/stall-before-headers", "/fault/endless-body"}
	for _, path := range paths {
		conn, err := net.Dial("tcp", ts.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, get(path)); err != nil {
			t.Fatal(err)
		}
	}
	wait(t, mock, mockbackend.Filter{}, len(paths))
	if err := mock.Close(); err != nil {
		t.Error(err)
	}
	for _, e := range wait(t, mock, mockbackend.Filter{Done: true}, len(paths)) {
		if e.Sent.ClientEnded {
			t.Errorf("%s: %+v", e.Path, e.Sent)
		}
	}
}

func ExampleStart() {
	srv, err := mockbackend.Start(mockbackend.Options{})
	if err != nil {
		panic(err)
	}
	defer srv.Close()
	stub, err := mockbackend.DecodeStub([]byte(`{"match": {"path": "/orders/{id}"}, "respond": {"status": 503, "text": "closed"}}`))
	if err != nil {
		panic(err)
	}
	id, err := srv.Add(stub)
	if err != nil {
		panic(err)
	}
	resp, err := http.Get(srv.URL() + "/orders/7")
	if err != nil {
		panic(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	resp.Body.Close()
	fmt.Println(resp.Status)
	for _, e := range srv.Journal().Entries(mockbackend.Filter{Stub: id}) {
		fmt.Println(e.Method, e.Target)
	}
	// Output:
	// 503 Service Unavailable
	// GET /orders/7
}
