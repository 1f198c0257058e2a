package mockbackend_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/mockbackend"
	"example.com/touchstone/schemas"
)

// A shop is a real backend to record.
func shop(t testing.TB) *httptest.Server {
	t.Helper()
	var mu sync.Mutex
	polls := 0
	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Page", r.URL.Query().Get("page"))
		fmt.Fprintf(w, `{"page": %q, "items": [{"id": 12345678901234567890, "price": 1.50}], "next_page_token": "abc"}`, r.URL.Query().Get("page"))
	})
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Item string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, "broken", http.StatusBadRequest)
			return
		}
		w.Header().Set("Location", "http://"+r.Host+"/orders/7?x=1")
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, "made %s\n", in.Item)
	})
	mux.HandleFunc("GET /job", func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if polls++; polls < 3 {
			w.WriteHeader(http.StatusAccepted)
			fmt.Fprintf(w, "poll %d", polls)
			return
		}
		fmt.Fprint(w, "done")
	})
	mux.HandleFunc("GET /picture", func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		_, _ = w.Write([]byte{0xff, 0x00, 0x89, 'P'})
	})
	mux.HandleFunc("DELETE /orders/{id}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("Warning", `199 - "one"`)
		w.Header().Add("Warning", `199 - "two"`)
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /a%20b/{x}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "x is %s", r.PathValue("x"))
	})
	mux.HandleFunc("GET /zip", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, `{"password": "hunter2hunter2"}`)
		_ = z.Close()
	})
	mux.HandleFunc("GET /coding", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Header.Get("Accept-Encoding"))
	})
	mux.HandleFunc("GET /twice", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"a":1,"a":2}`)
	})
	ts := httptest.NewServer(mux)
	t.Cleanup(ts.Close)
	return ts
}

// record puts a recorder in front of a backend. When n exchanges are recorded,
// which is a little after their answers have arrived, recorded returns.
func record(t testing.TB, backend string, opts mockbackend.RecorderOptions) (rec *mockbackend.Recorder, proxy *httptest.Server, recorded func(n int)) {
	t.Helper()
	done := make(chan mockbackend.Recorded, 100)
	opts.Done = func(r mockbackend.Recorded) { done <- r }
	recorded = func(n int) {
		t.Helper()
		for range n {
			if r := <-done; r.Skipped != nil {
				t.Errorf("%s %s is not recorded: %v", r.Method, r.Target, r.Skipped)
			}
		}
	}
	if opts.Transport == nil {
		// One of its own, whose connections end with the test.
		transport := &http.Transport{}
		t.Cleanup(transport.CloseIdleConnections)
		opts.Transport = transport
	}
	rec, err := mockbackend.NewRecorder(backend, opts)
	if err != nil {
		t.Fatal(err)
	}
	proxy = httptest.NewServer(rec)
	t.Cleanup(proxy.Close)
	return rec, proxy, recorded
}

// What was recorded is replayed as the backend answered, from either form of
// file.
func TestRecordAndReplay(t *testing.T) {
	rec, proxy, recorded := record(t, shop(t).URL, mockbackend.RecorderOptions{})
	type request struct{ method, path, body string }
	requests := []request{
		{"GET", "/orders", ""},
		{"GET", "/orders?page=2", ""},
		{"GET", "/orders?page=3", ""},
		{"POST", "/orders", `{"item": "lamp"}`},
		{"POST", "/orders", `{"item": "desk"}`},
		{"POST", "/orders", `nonsense`},
		{"GET", "/job", ""}, {"GET", "/job", ""}, {"GET", "/job", ""}, {"GET", "/job", ""},
		{"GET", "/picture", ""},
		{"DELETE", "/orders/1", ""},
		{"GET", "/a%20b/%7Bx%7D", ""},
		{"GET", "/twice", ""},
		{"GET", "/coding", ""},
		{"GET", "/nowhere", ""},
	}
	type reply struct {
		Status int
		Header http.Header
		Body   string
	}
	run := func(base string) []reply {
		client := newClient(t)
		var list []reply
		for _, r := range requests {
			got := call(t, client, r.method, base+r.path, r.body, "Content-Type", "application/json")
			got.header.Del("Date")
			var compact bytes.Buffer
			if json.Compact(&compact, []byte(got.body)) == nil {
				// White space is not kept, and so the length is not either.
				got.body = compact.String()
				got.header.Del("Content-Length")
			}
			list = append(list, reply{got.status, got.header, got.body})
		}
		return list
	}
	real := run(proxy.URL)
	recorded(len(requests))
	// In a coding, secrets would not be found.
	if real[3].Header.Get("Location") != "/orders/7?x=1" || real[6].Body != "poll 1" || real[9].Body != "done" || real[14].Body != "identity" {
		t.Fatalf("through the proxy: %+v", real)
	}
	for _, name := range []string{"stubs.yaml", "stubs.json"} {
		t.Run(name, func(t *testing.T) {
			data, err := mockbackend.MarshalStubs(name, rec.Stubs(), "Recorded.\nFor a test.")
			if err != nil {
				t.Fatal(err)
			}
			srv := start(t, mockbackend.Options{StubsOnly: true})
			n, err := srv.LoadFiles(write(t, name, string(data))...)
			if err != nil {
				t.Fatalf("%v\n%s", err, data)
			}
			if n != 13 {
				t.Errorf("%d stubs for 13 kinds of requests", n)
			}
			if diff := cmp.Diff(real, run(srv.URL())); diff != "" {
				t.Errorf("replay (-backend +mock):\n%s\nfrom\n%s", diff, data)
			}
		})
	}
}

func TestRecordingReads(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"b": [1, 2.0], "a": "x & y"}`)
	}))
	defer backend.Close()
	rec, proxy, recorded := record(t, backend.URL, mockbackend.RecorderOptions{})
	call(t, newClient(t), "PUT", proxy.URL+"/orders/1?dry=true", `{"q": 1}`)
	recorded(1)
	got, err := mockbackend.MarshalStubs("out.yaml", rec.Stubs(), "Recorded.\nIt is text.")
	if err != nil {
		t.Fatal(err)
	}
	want := `# Recorded.
# It is text.
stubs:
  - id: PUT-orders-1
    priority: 4
    match:
      method: PUT
      path: /orders/1
      query:
        dry: "true"
      body:
        equals:
          q: 1
    respond:
      status: 200
      headers:
        - [Content-Type, application/json]
      json:
        b:
          - 1
          - 2.0
        a: x & y
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("recording (-want +got):\n%s", diff)
	}
}

// The client stays at the recorder, whatever form a redirect has.
func TestRecorderRedirects(t *testing.T) {
	var base string
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", strings.ReplaceAll(r.URL.Query().Get("to"), "BACKEND", base))
		w.WriteHeader(http.StatusFound)
	}))
	defer backend.Close()
	base = backend.URL
	for _, tt := range []struct{ path, to, want string }{
		{"", "BACKEND/a?b=c", "/a?b=c"},
		{"", "BACKEND", "/"},
		{"", "BACKEND?x=1", "/?x=1"},
		{"", "/a", "/a"},
		{"", "a/b", "a/b"},
		{"", "//other.test/a", "//other.test/a"},
		{"", "https://other.test/a", "https://other.test/a"},
		{"/api/", "BACKEND/api/a", "/a"},
		{"/api", "BACKEND/api", "/"},
		{"/api", "/api/a", "/a"},
		{"/api", "/apis/a", "/apis/a"},
		{"/api", "/else", "/else"},
	} {
		_, proxy, recorded := record(t, backend.URL+tt.path, mockbackend.RecorderOptions{})
		got := call(t, newClient(t), "GET", proxy.URL+"/?to="+url.QueryEscape(tt.to), "")
		recorded(1)
		if want := strings.ReplaceAll(tt.want, "BACKEND", base); got.header.Get("Location") != want {
			t.Errorf("backend at %q: %s became %s, want %s", tt.path, tt.to, got.header.Get("Location"), want)
		}
	}
}

// An answer without a content type passes as it is: net/http would guess one,
// depending on what it gets first.
func TestRecorderAddsNoContentType(t *testing.T) {
	_, proxy, recorded := record(t, shop(t).URL, mockbackend.RecorderOptions{})
	client := newClient(t)
	for range 50 {
		if got := call(t, client, "GET", proxy.URL+"/picture", ""); got.header["Content-Type"] != nil {
			t.Fatalf("it came as %s", got.header["Content-Type"])
		}
	}
	recorded(50)
}

func TestRecorderSkips(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/br":
			w.Header().Set("Content-Encoding", "br")
			_, _ = io.WriteString(w, "not to be looked into")
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, "no gzip")
		case "/endless":
			for r.Context().Err() == nil {
				_, _ = w.Write(make([]byte, 1<<10))
			}
		case "/cut":
			w.Header().Set("Content-Length", "10")
			_, _ = io.WriteString(w, "half")
		}
	}))
	skipped := make(chan mockbackend.Recorded, 10)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	rec, err := mockbackend.NewRecorder(backend.URL, mockbackend.RecorderOptions{Transport: transport, Done: func(r mockbackend.Recorded) { skipped <- r }})
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(rec)
	defer proxy.Close()
	client := newClient(t)
	for path, why := range map[string]string{"/br": "coded as br", "/gzip": "decoding gzip", "/cut": "not whole: unexpected EOF"} {
		resp, err := client.Get(proxy.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if r := <-skipped; r.Skipped == nil || !strings.Contains(r.Skipped.Error(), why) || r.Target != path {
			t.Errorf("%s: %+v", path, r)
		}
	}
	endless, err := client.Get(proxy.URL + "/endless")
	if err != nil {
		t.Fatal(err)
	}
	endless.Body.Close()
	if r := <-skipped; r.Skipped == nil || !strings.Contains(r.Skipped.Error(), "not whole") {
		t.Errorf("a client that leaves: %+v", r)
	}
	backend.Close()
	if got := call(t, client, "GET", proxy.URL+"/", ""); got.status != http.StatusBadGateway || got.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("without a backend: %+v", got)
	}
	if r := <-skipped; r.Skipped == nil || !strings.Contains(r.Skipped.Error(), "did not answer") {
		t.Errorf("without a backend: %+v", r)
	}
	if got := rec.Stubs(); len(got) != 0 {
		t.Errorf("recorded %+v", got)
	}
	for _, bad := range []string{"", "shop:80", "ftp://shop", "http://", "http://shop?x=1", "%"} {
		if _, err := mockbackend.NewRecorder(bad, mockbackend.RecorderOptions{}); err == nil {
			t.Errorf("%q passes for a backend", bad)
		}
	}
}

func ExampleNewRecorder() {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id": 7, "access_token": "7c1f0a9be2d84463"}`)
	}))
	defer backend.Close()
	done := make(chan mockbackend.Recorded, 1)
	recorder, err := mockbackend.NewRecorder(backend.URL, mockbackend.RecorderOptions{
		Done: func(r mockbackend.Recorded) { done <- r },
	})
	if err != nil {
		panic(err)
	}
	proxy := httptest.NewServer(recorder)
	defer proxy.Close()
	defer http.DefaultClient.CloseIdleConnections()
	resp, err := http.Get(proxy.URL + "/orders/7")
	if err != nil {
		panic(err)
	}
	resp.Body.Close()
	<-done

	file, err := mockbackend.MarshalStubs("stubs.yaml", recorder.Stubs(), "Recorded for an example.")
	if err != nil {
		panic(err)
	}
	fmt.Print(string(file))
	// Output:
	// # Recorded for an example.
	// stubs:
	//   - id: GET-orders-7
	//     match:
	//       method: GET
	//       path: /orders/7
	//     respond:
	//       status: 200
	//       headers:
	//         - [Content-Type, application/json]
	//       json:
	//         id: 7
	//         access_token: REDACTED
}

// unread is a backend that answers without a look at the request's body.
type unread struct{}

func (unread) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}, r.Body.Close()
}

// A stub matches by the body of its request, whether the backend read it or not.
func TestRecordingOfAnUnreadBody(t *testing.T) {
	rec, proxy, recorded := record(t, "http://127.0.0.1:1", mockbackend.RecorderOptions{Transport: unread{}})
	call(t, newClient(t), "PUT", proxy.URL+"/orders/1", `{"q": 1}`)
	recorded(1)
	want := schemas.StubMatch{Method: "PUT", Path: "/orders/1", Body: &schemas.StubBodyMatch{Equals: json.RawMessage(`{"q": 1}`)}}
	if diff := cmp.Diff(want, rec.Stubs()[0].Match); diff != "" {
		t.Errorf("match (-want +got):\n%s", diff)
	}
}
