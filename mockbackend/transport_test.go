package mockbackend_test

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/touchstone/mockbackend"
	"example.com/touchstone/schemas"
)

func TestTransport(t *testing.T) {
	srv := mockbackend.New(mockbackend.Options{})
	defer srv.Close()
	transport, err := srv.Transport()
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: transport}
	id := add(t, srv, `{"match":{"method":"POST","path":"/a/{b}","body":{"subset":{"x":1}}},"respond":{"status":418,"headers":[["X-A","1"],["X-A","2"]],"json":{"y":2}}}`)
	got := call(t, client, "POST", "http://backend.test/a/c?d=e", `{"x":1}`)
	if got.status != 418 || got.body != `{"y":2}` || got.header.Get("Content-Type") != "application/json" || strings.Join(got.header["X-A"], ",") != "1,2" {
		t.Errorf("got %+v", got)
	}
	e := srv.Journal().Entries(mockbackend.Filter{Stub: id})
	if len(e) != 1 || e[0].Target != "/a/c?d=e" || string(e[0].Body) != `{"x":1}` || !e[0].Done || e[0].Sent.Status != 418 {
		t.Errorf("the journal has %+v", e)
	}
	if got := call(t, client, "GET", "http://backend.test/orders/1", ""); got.body != `{"id":1,"item":"mechanical keyboard","quantity":2,"owner":"alice"}` {
		t.Errorf("the sample API answers %s", got.body)
	}
	if got := call(t, client, "HEAD", "http://backend.test/orders/1", ""); got.status != 200 || got.body != "" {
		t.Errorf("HEAD gives %+v", got)
	}
	if got := call(t, client, "GET", "http://backend.test/a/c", ""); got.status != 404 || !strings.Contains(got.body, "method is GET, not POST") {
		t.Errorf("a miss gives %+v", got)
	}
	if _, err := client.Get("http://backend.test/fault/redirect-loop"); err == nil || !strings.Contains(err.Error(), "stopped after 10 redirects") {
		t.Errorf("the redirect loop gives %v", err)
	}
}

// TestTransportAfterClose: an answer that ends with the server is an error, and
// touches nothing of another request.
func TestTransportAfterClose(t *testing.T) {
	srv := mockbackend.New(mockbackend.Options{})
	transport, err := srv.Transport()
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: transport}
	if err := srv.Close(); err != nil {
		t.Fatal(err)
	}
	for range 500 {
		if resp, err := client.Get("http://backend.test/orders"); err == nil {
			resp.Body.Close()
		}
	}
}

// TestTransportIsTheWire: what net/http adds to a request and takes off an answer
// is so in process too.
func TestTransportIsTheWire(t *testing.T) {
	wire := start(t, mockbackend.Options{})
	inside := mockbackend.New(mockbackend.Options{})
	defer inside.Close()
	transport, err := inside.Transport()
	if err != nil {
		t.Fatal(err)
	}
	for _, side := range []struct {
		name   string
		srv    *mockbackend.Server
		client *http.Client
		url    string
	}{{"wire", wire, newClient(t), wire.URL()}, {"in process", inside, &http.Client{Transport: transport}, "http://backend.test"}} {
		add(t, side.srv, `{"match":{"path":"/length","headers":{"Content-Length":"3"}},"respond":{"text":"three"}}`)
		add(t, side.srv, `{"match":{"path":"/bomb"},"respond":{"fault":{"kind":"compressed-bomb","bytes":100000}}}`)
		add(t, side.srv, `{"match":{"path":"/mislabelled"},"respond":{"text":"no gzip at all, by far","fault":{"kind":"wrong-encoding"}}}`)
		if got := call(t, side.client, "POST", side.url+"/length", "abc"); got.body != "three" {
			t.Errorf("%s: a body of three bytes gives %d %s", side.name, got.status, got.body)
		}
		if got := call(t, side.client, "GET", side.url+"/bomb", ""); len(got.body) != 100000 || got.header.Get("Content-Encoding") != "" {
			t.Errorf("%s: the bomb unpacks to %d bytes, as %q", side.name, len(got.body), got.header.Get("Content-Encoding"))
		}
		resp, err := side.client.Get(side.url + "/mislabelled")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(resp.Body); !errors.Is(err, gzip.ErrHeader) {
			t.Errorf("%s: what is no gzip gives %v", side.name, err)
		}
		resp.Body.Close()
		if got := call(t, side.client, "GET", side.url+"/mislabelled", "", "Accept-Encoding", "gzip"); got.header.Get("Content-Encoding") != "gzip" || got.body != "no gzip at all, by far" {
			t.Errorf("%s: who asks for gzip gets %q, as %q", side.name, got.body, got.header.Get("Content-Encoding"))
		}
	}
}

func TestTransportDelayEnds(t *testing.T) {
	delay := &schemas.StubDelay{Ms: 3600000}
	transport, err := mockbackend.NewTransport(schemas.Stub{Respond: &schemas.StubResponse{Delay: delay}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", "http://backend.test/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&http.Client{Transport: transport}).Do(req); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestTransportRefuses(t *testing.T) {
	for _, tt := range []struct{ respond, pointer, says string }{
		{`{"fault":{"kind":"reset"}}`, "/respond/fault", "reset needs a connection"},
		{`{"interim":[{"status":103}]}`, "/respond/interim", "interim answers need a connection"},
		{`{"raw":true}`, "/respond/raw", "exact bytes: raw bytes need a connection"},
		{`{"status":204,"text":"x"}`, "/respond/status", "204 has a body"},
		{`{"headers":[["A","1"],["B","\u0007"]]}`, "/respond/headers/1", "B has a value"},
		{`{"text":"a","headers":[["Content-Length","7"]]}`, "/respond/headers/0", "Content-Length"},
		{`{"omit":["Content-Length"]}`, "/respond/omit", "leaves Content-Length out"},
	} {
		stub, err := mockbackend.DecodeStub([]byte(`{"match":{},"respond":` + tt.respond + `}`))
		if err != nil {
			t.Fatal(err)
		}
		_, err = mockbackend.NewTransport(stub)
		bad, ok := errors.AsType[*mockbackend.InvalidStubError](err)
		if !ok || bad.Pointer != tt.pointer || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", tt.respond, err)
		}
		srv := start(t, mockbackend.Options{})
		if _, err := srv.Add(stub); err != nil {
			t.Errorf("%s over a socket: %v", tt.respond, err)
		}
		if _, err := srv.Transport(); !errors.As(err, &bad) {
			t.Errorf("%s: a transport of a server that has the stub: %v", tt.respond, err)
		}
	}
	// A ready-made route that needs a wire is an error of its request.
	srv := mockbackend.New(mockbackend.Options{})
	defer srv.Close()
	transport, err := srv.Transport()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&http.Client{Transport: transport}).Get("http://backend.test/fault/reset"); err == nil || !strings.Contains(err.Error(), "reset needs a connection") {
		t.Errorf("got %v", err)
	}
}
