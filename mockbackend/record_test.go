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
	"pgregory.net/rapid"

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
	// A transport of its own, whose connections end with the test.
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	opts.Transport = transport
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
	if real[3].Header.Get("Location") != "/orders/7?x=1" || real[10].Header["Content-Type"] != nil || real[6].Body != "poll 1" || real[9].Body != "done" {
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
			if n != 12 {
				t.Errorf("%d stubs for 12 kinds of requests", n)
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
    priority: 2
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

const (
	jwt        = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJlLW9mLTE"
	awsKey     = "AKIAIOSFODNN7EXAMPLE"
	secretWord = "hunter2hunter2"
)

// Every secret that goes through the recorder, in whatever place, is not in the
// file, unless it is asked for.
func TestRecordingReplacesSecrets(t *testing.T) {
	bodies := map[string]string{
		"/member":     `{"ok": true, "password": "` + secretWord + `", "pin": 1}`,
		"/nested":     `{"user": {"apiKey": {"value": "` + secretWord + `", "n": 123456789}}, "list": [{"access_token": "` + secretWord + `"}]}`,
		"/bearer":     `{"message": "the upstream refused Bearer ` + secretWord + `"}`,
		"/jwt":        `{"message": "got ` + jwt + `"}`,
		"/connection": `{"message": "Server=` + secretWord + `;Database=orders;Pwd=` + secretWord + `"}`,
		"/dsn":        `{"message": "dial postgres://db.internal/` + secretWord + `"}`,
		"/userinfo":   `{"message": "see https://bob:` + secretWord + `@shop.internal/x"}`,
		"/aws":        "key " + awsKey + " is not active",
		"/text":       "password: " + secretWord + "\n",
		"/form":       "access_token=" + secretWord + "&token_type=bearer",
		"/xml":        "<login><password kind='x'>" + secretWord + "</password></login>",
		"/pem":        "-----BEGIN RSA PRIVATE KEY-----\n" + secretWord + "\n-----END RSA PRIVATE KEY-----",
		"/basic":      "Authorization: Basic Ym9iOmh1bnRlcjJodW50ZXIy",
		"/twice":      `{"token": "` + secretWord + `", "token": "` + secretWord + `"}`,
	}
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Set-Cookie", "sid="+secretWord+"; Path=/; HttpOnly")
		w.Header().Set("X-Api-Key", secretWord)
		w.Header().Set("X-Auth-Token", secretWord)
		w.Header().Set("X-Upstream", "https://bob:"+secretWord+"@shop.internal/")
		if r.URL.Path == "/zip" {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, bodies["/member"])
			_ = z.Close()
			return
		}
		_, _ = io.WriteString(w, bodies[r.URL.Path])
	}))
	defer backend.Close()
	secrets := []string{secretWord, jwt, awsKey, "Ym9iOmh1bnRlcjJodW50ZXIy", "123456789"}
	run := func(keep bool) (string, []schemas.Stub) {
		rec, proxy, recorded := record(t, backend.URL, mockbackend.RecorderOptions{KeepSecrets: keep})
		client := newClient(t)
		for path := range bodies {
			call(t, client, "GET", proxy.URL+path, "", "Authorization", "Bearer "+secretWord, "Cookie", "sid="+secretWord)
		}
		call(t, client, "GET", proxy.URL+"/zip?api_key="+secretWord+"&page=2&redirect=https://a:"+secretWord+"@b/", "")
		call(t, client, "GET", proxy.URL+"/reset/"+jwt+"/now", "")
		call(t, client, "POST", proxy.URL+"/login", `{"user": "bob", "password": "`+secretWord+`"}`)
		call(t, client, "POST", proxy.URL+"/login", `[{"note": "Bearer `+secretWord+`"}]`)
		call(t, client, "POST", proxy.URL+"/login", `user=bob&password=`+secretWord, "Content-Type", "application/x-www-form-urlencoded")
		call(t, client, "POST", proxy.URL+"/login", `sid=`+secretWord, "Content-Type", "application/x-www-form-urlencoded")
		recorded(len(bodies) + 6)
		data, err := mockbackend.MarshalStubs("out.yaml", rec.Stubs(), "")
		if err != nil {
			t.Fatal(err)
		}
		return string(data), rec.Stubs()
	}
	redacted, stubs := run(false)
	for _, secret := range secrets {
		if strings.Contains(redacted, secret) {
			t.Errorf("%s is in the recording:\n%s", secret, redacted)
		}
	}
	if _, err := mockbackend.ReadStubs("out.yaml", []byte(redacted)); err != nil {
		t.Errorf("the recording does not load: %v", err)
	}
	for _, kept := range []string{"sid=REDACTED; Path=/; HttpOnly", "password: REDACTED", "ok: true", "Bearer REDACTED", "postgres://REDACTED", "https://REDACTED@shop.internal/x", "token_type=bearer", "pin: 1"} {
		if !strings.Contains(redacted, kept) {
			t.Errorf("%s is not in the recording:\n%s", kept, redacted)
		}
	}
	// The conditions that would need a secret ask for less.
	absent := false
	want := map[string]schemas.StubMatch{
		"/zip": {Method: "GET", Path: "/zip", Query: map[string]schemas.StubText{
			"api_key": {Absent: &absent}, "page": {Equals: []string{"2"}}, "redirect": {Absent: &absent}}},
		"/reset/{redacted2}/now": {Method: "GET", Path: "/reset/{redacted2}/now"},
	}
	seen := 0
	var logins []schemas.StubMatch
	for _, s := range stubs {
		if want, ok := want[s.Match.Path]; ok {
			if diff := cmp.Diff(want, s.Match); diff != "" {
				t.Errorf("%s (-want +got):\n%s", s.Match.Path, diff)
			}
			seen++
		}
		if s.Match.Path == "/login" {
			logins = append(logins, s.Match)
		}
	}
	if seen != len(want) {
		t.Errorf("%d of %d conditions are there", seen, len(want))
	}
	if diff := cmp.Diff([]schemas.StubMatch{
		{Method: "POST", Path: "/login", Body: &schemas.StubBodyMatch{Subset: json.RawMessage(`{"user":"bob"}`)}},
		{Method: "POST", Path: "/login", Body: &schemas.StubBodyMatch{Subset: json.RawMessage(`[{}]`)}},
		{Method: "POST", Path: "/login"},
	}, logins); diff != "" {
		t.Errorf("logins (-want +got):\n%s", diff)
	}

	kept, _ := run(true)
	for _, secret := range secrets {
		if !strings.Contains(kept, secret) {
			t.Errorf("asked to keep secrets, it lost %s", secret)
		}
	}
}

// What is no secret stays as it is.
func TestRecordingKeepsTheRest(t *testing.T) {
	body := `{"usage":{"total_tokens":15,"max_tokens":20},"token_type":"bearer","tokens":["a"],"message":"Basic authentication is required","url":"https://shop.internal/orders?page=2","nextPageToken":"CAUQAA","secretary":"x","server":"web-1","at":"user@shop.internal"}`
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="shop"`)
		_, _ = io.WriteString(w, body)
	}))
	defer backend.Close()
	rec, proxy, recorded := record(t, backend.URL, mockbackend.RecorderOptions{})
	call(t, newClient(t), "GET", proxy.URL+"/", "")
	recorded(1)
	got := rec.Stubs()[0].Respond
	if diff := cmp.Diff(strings.Replace(body, `"secretary":"x"`, `"secretary":"REDACTED"`, 1), string(got.JSON)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	if got.Headers[1] != (schemas.StubHeader{Name: "Www-Authenticate", Value: `Basic realm="shop"`}) {
		t.Errorf("headers %v", got.Headers)
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

func TestRecorderSkips(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/br":
			w.Header().Set("Content-Encoding", "br")
			_, _ = io.WriteString(w, "not to be looked into")
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, "no gzip")
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

// Any JSON body and any text comes back from a file as it was.
func TestMarshalStubsRoundTrip(t *testing.T) {
	letters := rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune(" \t\r\n\x00\x7f\u0085\u2028\ufeff:#-'\"\\{}[]&*!|>%@`~=<,?")))
	text := rapid.OneOf(rapid.StringOf(letters), rapid.SampledFrom([]string{"", "true", "null", "~", "1", "1e3", "0x1F", "2024-01-01", "<<", "=", "no", " x", "x ", "\n", "\n x", "a\n", "a\n\n", "- a", "? a", "---\n", "%YAML"}))
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		leaf := []*rapid.Generator[any]{
			text.AsAny(), rapid.Bool().AsAny(), rapid.Just[any](nil),
			rapid.SampledFrom([]any{json.Number("0"), json.Number("-0"), json.Number("1.50"), json.Number("1e400"), json.Number("-1E-7"), json.Number("123456789012345678901234567890")}),
		}
		if depth > 0 {
			leaf = append(leaf, rapid.SliceOfN(value(depth-1), 0, 4).AsAny(), rapid.MapOfN(text, value(depth-1), 0, 4).AsAny())
		}
		return rapid.OneOf(leaf...)
	}
	rapid.Check(t, func(t *rapid.T) {
		body, err := json.Marshal(value(3).Draw(t, "body"))
		if err != nil {
			t.Fatal(err)
		}
		plain := text.Draw(t, "text")
		in := []schemas.Stub{
			{ID: "json", Respond: &schemas.StubResponse{JSON: body}},
			{ID: "text", Respond: &schemas.StubResponse{Text: &plain}},
			{ID: "bytes", Respond: &schemas.StubResponse{Bytes: []byte(plain + "\xff")}},
		}
		for _, name := range []string{"a.yaml", "a.json"} {
			data, err := mockbackend.MarshalStubs(name, in, "")
			if err != nil {
				t.Fatal(err)
			}
			out, err := mockbackend.ReadStubs(name, data)
			if err != nil {
				t.Fatalf("%v\n%s", err, data)
			}
			var want, got any
			for doc, v := range map[*any][]byte{&want: body, &got: out[0].Respond.JSON} {
				dec := json.NewDecoder(bytes.NewReader(v))
				dec.UseNumber()
				if err := dec.Decode(doc); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("body (-want +got):\n%s\n%s", diff, data)
			}
			if *out[1].Respond.Text != plain || string(out[2].Respond.Bytes) != plain+"\xff" {
				t.Fatalf("text %q came back as %q\n%s", plain, *out[1].Respond.Text, data)
			}
		}
	})
}
