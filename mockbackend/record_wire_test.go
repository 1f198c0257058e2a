package mockbackend_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/mockbackend"
)

// replay writes a recording to a file and starts a server with it.
func replay(t *testing.T, rec *mockbackend.Recorder, opts mockbackend.Options) *mockbackend.Server {
	t.Helper()
	data, err := mockbackend.MarshalStubs("out.yaml", rec.Stubs(), "")
	if err != nil {
		t.Fatal(err)
	}
	opts.StubsOnly = true
	srv := start(t, opts)
	if _, err := srv.LoadFiles(write(t, "out.yaml", string(data))...); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return srv
}

// A backend gets the target as the client sent it, whatever Go makes of its
// query, and the stub answers to it.
func TestRecorderPassesQueriesOn(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.RequestURI)
	}))
	defer backend.Close()
	for _, base := range []string{"", "/api"} {
		rec, proxy, recorded := record(t, backend.URL+base, mockbackend.RecorderOptions{})
		client := newClient(t)
		targets := []string{"/semicolon?a=1;b=2", "/percent?x=%zz&y=1", "/half?x=%2", "/empty?", "/odd?&&=&a", "/plain?a=1&b=2", "/order?b=2&a=1&b=1"}
		for _, target := range targets {
			if got := call(t, client, "GET", proxy.URL+target, ""); got.body != base+target {
				t.Errorf("%s reached the backend at %q as %s", target, base, got.body)
			}
		}
		recorded(len(targets))
		srv := replay(t, rec, mockbackend.Options{})
		for _, target := range targets {
			if got := call(t, client, "GET", srv.URL()+target, ""); got.body != base+target {
				t.Errorf("%s is replayed as %d %s", target, got.status, got.body)
			}
		}
	}
}

// An answer to HEAD says the length that the backend said, or none, on a
// connection that stays, over HTTP/2 and without a socket too.
func TestRecordingOfHead(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		switch r.URL.Path {
		case "/length":
			w.Header().Set("Content-Length", "12345678901")
		case "/zero":
			w.Header().Set("Content-Length", "0")
		case "/unmodified":
			w.WriteHeader(http.StatusNotModified)
		}
	}))
	defer backend.Close()
	rec, proxy, recorded := record(t, backend.URL, mockbackend.RecorderOptions{})
	paths := []string{"/length", "/zero", "/none", "/unmodified"}
	type reply struct {
		Status  int
		Length  []string
		Claimed int64
		Close   bool
	}
	run := func(client *http.Client, base string) (list []reply) {
		for _, path := range paths {
			resp, err := client.Head(base + path)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			list = append(list, reply{resp.StatusCode, resp.Header["Content-Length"], resp.ContentLength, resp.Close})
		}
		return list
	}
	real := run(newClient(t), proxy.URL)
	recorded(len(paths))
	if fmt.Sprint(real[0].Length, real[1].Length, real[2].Length) != "[12345678901] [0] []" {
		t.Fatalf("the backend said %+v", real)
	}
	for _, tls := range []bool{false, true} {
		srv := replay(t, rec, mockbackend.Options{TLS: tls})
		client := newClient(t)
		if tls {
			client = srv.Client()
		}
		if diff := cmp.Diff(real, run(client, srv.URL())); diff != "" {
			t.Errorf("replay, TLS %t (-backend +mock):\n%s", tls, diff)
		}
	}
	transport, err := mockbackend.NewTransport(rec.Stubs()...)
	if err != nil {
		t.Fatal(err)
	}
	got := run(&http.Client{Transport: transport}, "http://shop.test")
	if got[0].Claimed != real[0].Claimed || got[2].Length != nil || got[2].Claimed != -1 {
		t.Errorf("without a socket %+v, want %+v", got, real)
	}
}

// A length that is not the body's is sent to the byte where a body comes.
func TestOddLengthOfGet(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	add(t, srv, `{"match": {"path": "/odd"}, "respond": {"text": "hello", "headers": [["Content-Length", "9"]]}}`)
	if got := rawGet(t, srv, "/odd"); !strings.Contains(got, "Content-Length: 9\r\n") || !strings.HasSuffix(got, "\r\n\r\nhello") {
		t.Errorf("GET gives %q", got)
	}
	resp, err := newClient(t).Head(srv.URL() + "/odd")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.ContentLength != 9 || resp.Close {
		t.Errorf("HEAD gives the length %d, closing %t", resp.ContentLength, resp.Close)
	}
}

// recordEach gives a recorder of a backend, a server with it, and what it tells of
// each exchange.
func recordEach(t *testing.T, backend string) (*mockbackend.Recorder, *httptest.Server, <-chan mockbackend.Recorded) {
	t.Helper()
	done := make(chan mockbackend.Recorded, 3)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	rec, err := mockbackend.NewRecorder(backend, mockbackend.RecorderOptions{Transport: transport, Done: func(r mockbackend.Recorded) { done <- r }})
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(rec)
	t.Cleanup(proxy.Close)
	return rec, proxy, done
}

// What the mock keeps for itself is passed on, and left out with the reason.
func TestRecorderSkipsTheMocksOwnPaths(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "backend's "+r.URL.Path)
	}))
	defer backend.Close()
	rec, proxy, done := recordEach(t, backend.URL)
	for path, own := range map[string]string{"/__mock/stubs": "/__mock/", "/__scope/a/b": "/__scope/", "/%5F_mock/x": "/__mock/", "/__mocked": ""} {
		got := call(t, newClient(t), "GET", proxy.URL+path, "")
		r := <-done
		if !strings.HasPrefix(got.body, "backend's /__") {
			t.Errorf("%s gives %d %s", path, got.status, got.body)
		}
		if own == "" && r.Skipped != nil || own != "" && (r.Skipped == nil || !strings.Contains(r.Skipped.Error(), own)) {
			t.Errorf("%s: skipped %v", path, r.Skipped)
		}
	}
	if stubs := rec.Stubs(); len(stubs) != 1 || stubs[0].Match.Path != "/__mocked" {
		t.Errorf("recorded %+v", stubs)
	}
}

// A recording loads, whatever came: an exchange whose stub would be refused is left
// out with the reason.
func TestRecordingLoads(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/deep" {
			_, _ = io.WriteString(w, strings.Repeat("[", 9_999)+strings.Repeat("]", 9_999))
			return
		}
		_, _ = io.WriteString(w, "answer to "+r.Method)
	}))
	defer backend.Close()
	rec, proxy, done := recordEach(t, backend.URL)
	client := newClient(t)
	for _, request := range [][2]string{{"get", "/a"}, {"GET", "/a"}, {"GET", "/deep"}} {
		got := call(t, client, request[0], proxy.URL+request[1], "")
		r := <-done
		if skip := request[0] == "get"; skip != (r.Skipped != nil) || skip && !strings.Contains(r.Skipped.Error(), "methods are case-sensitive") {
			t.Errorf("%v: skipped %v", request, r.Skipped)
		}
		if got.status != http.StatusOK {
			t.Errorf("%v: %d", request, got.status)
		}
	}
	srv := replay(t, rec, mockbackend.Options{})
	if got := call(t, client, "GET", srv.URL()+"/a", ""); got.body != "answer to GET" {
		t.Errorf("it is replayed as %d %s", got.status, got.body)
	}
	if got := call(t, client, "GET", srv.URL()+"/deep", ""); len(got.body) != 2*9_999 {
		t.Errorf("the deep body is replayed with %d bytes", len(got.body))
	}
}

// An answer to a condition or for a range is replayed to those that ask so alone.
func TestRecordingOfConditionalRequests(t *testing.T) {
	modified := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Etag", `"v1"`)
		http.ServeContent(w, r, "c.txt", modified, strings.NewReader("content of "+r.URL.String()))
	}))
	defer backend.Close()
	rec, proxy, recorded := record(t, backend.URL, mockbackend.RecorderOptions{})
	client := newClient(t)
	requests := [][]string{
		{"/c"}, {"/c", "If-None-Match", `"v1"`},
		{"/r"}, {"/r", "Range", "bytes=0-1"}, {"/r", "Range", "bytes=3-"}, {"/r", "Range", "bytes=99-"}, {"/r", "Range", "bytes=0-1", "If-Range", `"v1"`},
		{"/m", "If-Modified-Since", modified.Format(http.TimeFormat)}, {"/m"},
		{"/p", "If-Match", `"v2"`}, {"/p", "If-Match", `"v1"`},
		{"/u"}, {"/u", "If-Unmodified-Since", modified.Add(-time.Hour).Format(http.TimeFormat)},
		{"/c?a=1"}, {"/c?a=1", "If-None-Match", `"v0"`},
	}
	run := func(base string) (list []string) {
		for _, r := range requests {
			got := call(t, client, "GET", base+r[0], "", r[1:]...)
			list = append(list, fmt.Sprint(r, got.status, got.body, got.header.Get("Content-Range")))
		}
		return list
	}
	real := run(proxy.URL)
	recorded(len(requests))
	for _, status := range []string{" 304", " 206", " 416", " 412"} {
		if !strings.Contains(fmt.Sprint(real), status) {
			t.Fatalf("the backend gives no%s: %v", status, real)
		}
	}
	srv := replay(t, rec, mockbackend.Options{})
	for range 2 {
		if diff := cmp.Diff(real, run(srv.URL())); diff != "" {
			t.Errorf("replay (-backend +mock):\n%s", diff)
		}
	}
	if got := call(t, client, "GET", srv.URL()+"/c?a=1", "", "If-None-Match", `"v1"`); got.status != http.StatusOK {
		t.Errorf("the condition that was met without a query is met with one: %d", got.status)
	}
}
