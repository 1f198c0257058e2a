package mockbackend_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/touchstone/mockbackend"
)

func TestAdmin(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	client := newClient(t)
	doc := adminDoc(t)
	for _, tt := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"GET", "/__mock/stubs", "", 200, `{"stubs":[]}`},
		{"POST", "/__mock/stubs", `{"id":"a","match":{"path":"/a"},"respond":{"text":"A"}}`, 201, `{"id":"a"}`},
		{"POST", "/__mock/stubs", `{"id":"a","match":{"path":"/a"},"respond":{"text":"A"}}`, 409, `"pointer":"/id"`},
		{"POST", "/__mock/stubs", `[{"match":{},"respond":{}},{"id":"a","match":{},"respond":{}}]`, 409, `"pointer":"/1/id"`},
		{"POST", "/__mock/stubs", `{"match":{},"respond":{"status":99}}`, 422, `"pointer":"/respond/status"`},
		{"POST", "/__mock/stubs", `{`, 400, `unexpected end of JSON input`},
		{"POST", "/__mock/stubs", "- match: {}\n  respond: {}\n", 400, `YAML is taken too, with Content-Type: application/yaml.`},
		{"PUT", "/__mock/stubs/a%20b%0A%3Cx", `{"match":{},"respond":{}}`, 422, `"pointer":"/id"`},
		{"PUT", "/__mock/stubs/a%2Fb", `{"match":{},"respond":{}}`, 422, `"pointer":"/id"`},
		{"PUT", "/__scope/k/__mock/stubs/a%2Fb", `{"match":{},"respond":{}}`, 422, `"pointer":"/id"`},
		{"GET", "/__scope/k%2Fl/__mock/stubs/a%2Fb", "", 404, `There is no stub \"a/b\"`},
		{"GET", "/__scope/k/__mock/", "", 302, ""},
		{"GET", "/__mock", "", 302, ""},
		{"DELETE", "/__mock/scopes/k", "", 204, ""},
		{"DELETE", "/__mock/scopes/k%2Fl", "", 204, ""},
		{"POST", "/__mock/stubs", `7`, 400, `holds neither a stub, nor a list`},
		{"POST", "/__mock/stubs", `[{"id":"b","match":{},"respond":{}},{"match":{},"respond":{"fault":{"kind":"x"}}}]`, 422, `"pointer":"/1/respond/fault/kind"`},
		{"POST", "/__mock/stubs", "[{\"match\":{},\"respond\":{\"status\":1}},\n{\"match\":{\"x\":1},\"respond\":{}}]", 422,
			`"errors":[{"pointer":"/0/respond/status","line":1,"detail":"Must be greater than or equal to`},
		{"GET", "/__mock/stubs", "", 200, `{"stubs":[{"id":"a","match":{"path":"/a"},"respond":{"text":"A"}}]}`},
		{"POST", "/__mock/stubs", `[{"id":"b","match":{"path":"/b"},"respond":{}}]`, 201, `{"ids":["b"]}`},
		{"POST", "/__mock/stubs", `{"stubs":[{"id":"c","match":{"path":"/c"},"respond":{}}]}`, 201, `{"ids":["c"]}`},
		{"GET", "/__mock/stubs/b", "", 200, `{"id":"b","match":{"path":"/b"},"respond":{}}`},
		{"PUT", "/__mock/stubs/b", `{"match":{"path":"/b"},"respond":{"text":"new"}}`, 200, `{"id":"b"}`},
		{"PUT", "/__mock/stubs/b", `{"id":"c","match":{"path":"/b"},"respond":{}}`, 400, `one stub, with the id \"b\" or none`},
		{"PUT", "/__mock/stubs/b", `{"match":{"path":"b"},"respond":{}}`, 422, `"pointer":"/match/path"`},
		{"PUT", "/__mock/stubs/d", `{"match":{"path":"/d"},"respond":{"text":"D"}}`, 201, `{"id":"d"}`},
		{"GET", "/b", "", 200, "new"},
		{"DELETE", "/__mock/stubs/b", "", 204, ""},
		{"GET", "/__mock/stubs/b", "", 404, `There is no stub \"b\"`},
		{"DELETE", "/__mock/stubs/b", "", 404, `There is no stub \"b\"`},
		{"POST", "/__mock/stubs", `[{"id":"n","match":{},"respond":{}},{"id":"n","match":{},"respond":{}}]`, 422, `/1/id: \"n\" is the id of another stub here too`},
		{"GET", "/a", "", 200, "A"},
		{"POST", "/a", "hé", 200, "A"},
		{"GET", "/__mock/wait?stub=a&n=2&done=true&timeoutMs=30000", "", 200, `"target":"/a"`},
		{"GET", "/__mock/wait?stub=a&n=3&timeoutMs=1", "", 408, `waiting for 3 requests, have 2`},
		{"GET", "/__mock/wait?n=0", "", 400, `"parameter":"n"`},
		{"GET", "/__mock/wait?timeoutMs=x", "", 400, `timeoutMs is \"x\"; give a number from 1 to 600000`},
		{"GET", "/__mock/journal?path=/a&method=get", "", 200, `"stub":"a"`},
		{"GET", "/__mock/journal?path=/a&method=post", "", 200, `"bodyText":"hé"`},
		{"GET", "/__mock/journal?limit=1", "", 200, `{"dropped":0,"entries":[{"seq":3,`},
		{"GET", "/__mock/journal?status=404&missed=true", "", 200, `{"dropped":0,"entries":[]}`},
		{"GET", "/__mock/journal?path=/a;v=2", "", 200, `{"dropped":0,"entries":[]}`},
		{"GET", "/__mock/journal?path=/a%", "", 200, `{"dropped":0,"entries":[]}`},
		{"GET", "/__mock/wait?path=/a%zz&timeoutMs=1", "", 408, `have 0`},
		{"GET", "/__mock/journal?x=%zz", "", 400, `"parameter":"x"`},
		{"GET", "/__mock/journal?path=", "", 400, `the filter path is empty; give a value, or leave it out`},
		{"GET", "/__mock/wait?n=&timeoutMs=1", "", 400, `n is \"\"; give a number`},
		{"DELETE", "/__mock/journal?path=/a", "", 400, `the parameter \"path\" is not known; there are none here`},
		{"DELETE", "/__mock/stubs?id=a", "", 400, `"parameter":"id"`},
		{"POST", "/__mock/reset?x", "", 400, `"parameter":"x"`},
		{"POST", "/__mock/model/release?hold=a&hold=b", "", 400, `hold comes 2 times`},
		{"GET", "/__mock/journal?inFlight=true", "", 200, `{"dropped":0,"entries":[]}`},
		{"GET", "/__mock/journal?clientEnded=true", "", 200, `{"dropped":0,"entries":[]}`},
		{"GET", "/__mock/journal?limit=0", "", 400, `"parameter":"limit"`},
		{"GET", "/__mock/journal?x=1", "", 400, `known are after, clientEnded, done, inFlight, limit, method, missed, path, status, stub`},
		{"GET", "/__mock/wait?x=1", "", 400, `known are after, clientEnded, done, inFlight, method, missed, n, path, status, stub, timeoutMs`},
		{"GET", "/__mock/journal?missed=false", "", 400, `the filter missed cannot be \"false\": give true, or leave it out`},
		{"GET", "/__mock/journal?method=GET&method=POST", "", 400, `method comes 2 times`},
		{"GET", "/__mock/journal?limit=1&limit=2", "", 400, `limit comes 2 times`},
		{"GET", "/__mock/journal?after=18446744073709551615", "", 200, `{"dropped":0,"entries":[]}`},
		{"GET", "/__mock/journal?after=x", "", 400, `"parameter":"after"`},
		{"GET", "/__mock/journal/2", "", 200, `"seq":2`},
		{"GET", "/__mock/journal/4", "", 404, `The journal has no entry 4`},
		{"GET", "/__mock/journal/x", "", 404, `The journal has no entry x`},
		{"DELETE", "/__mock/journal", "", 204, ""},
		{"GET", "/__mock/journal/2", "", 404, `or no longer`},
		{"GET", "/__mock/journal", "", 200, `{"dropped":0,"entries":[]}`},
		{"GET", "/__mock/faults", "", 200, `"reset":"Resets the connection (TCP RST)`},
		{"GET", "/__mock/faults", "", 200, `"refuse":"Refuses the connection`},
		{"GET", "/__mock/stub.schema.json", "", 200, `"title": "Stub of the mock backend"`},
		{"GET", "/__mock/openapi.json", "", 200, `"openapi": "3.1.0"`},
		{"PUT", "/__mock/model", "{}", 422, "it has no turns"},
		{"PUT", "/__mock/model", `{"turns":[]}`, 204, ""},
		{"POST", "/__mock/reset", "", 204, ""},
		{"GET", "/__mock/stubs", "", 200, `{"stubs":[]}`},
		{"GET", "/__mock/x", "", 404, `There is no such route`},
		{"PATCH", "/__mock/stubs/a", "", 405, `possible are DELETE, GET, PUT`},
		{"DELETE", "/__mock/stubs", "", 204, ""},
		{"GET", "/__mock/scopes", "", 200, `{"scopes":[]}`},
		{"DELETE", "/__mock/scopes/x", "", 404, `There is no scope \"x\"`},
	} {
		got := call(t, client, tt.method, srv.URL()+tt.path, tt.body)
		if got.status != tt.status || !strings.Contains(got.body, tt.says) {
			t.Errorf("%s %s: %d %s, want %d and %s", tt.method, tt.path, got.status, got.body, tt.status, tt.says)
		}
		if strings.HasPrefix(tt.path, "/__mock/") {
			checkDescribed(t, doc, tt.method, tt.path, got)
		}
	}
}

// adminDoc gives the document of the admin API, checked.
func adminDoc(t *testing.T) *openapi3.T {
	t.Helper()
	srv := start(t, mockbackend.Options{})
	got := call(t, newClient(t), "GET", srv.URL()+"/__mock/openapi.json", "")
	doc, err := openapi3.NewLoader().LoadFromData([]byte(got.body))
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return doc
}

// checkDescribed compares an answer of the admin API with its document.
func checkDescribed(t *testing.T, doc *openapi3.T, method, target string, got answer) {
	t.Helper()
	path, _, _ := strings.Cut(target, "?")
	var response *openapi3.ResponseRef
	for template, item := range doc.Paths.Map() {
		if op := item.GetOperation(method); op != nil && fits(template, path) {
			if response = op.Responses.Status(got.status); got.status == 401 || got.status == 403 {
				response = op.Responses.Default()
			}
			if response == nil {
				t.Errorf("%s %s: the status %d is not described", method, target, got.status)
				return
			}
		}
	}
	if response == nil { // a refusal of the API as a whole
		response = doc.Components.Responses["problem"]
	}
	content := response.Value.Content.Get(got.header.Get("Content-Type"))
	switch {
	case len(response.Value.Content) == 0 && got.body == "":
		return
	case content == nil:
		t.Errorf("%s %s: %d as %s is not described", method, target, got.status, got.header.Get("Content-Type"))
		return
	}
	var v any
	if err := json.Unmarshal([]byte(got.body), &v); err != nil {
		t.Errorf("%s %s: %v", method, target, err)
		return
	}
	if err := content.Schema.Value.VisitJSON(v); err != nil {
		t.Errorf("%s %s: %s is not as described: %v", method, target, got.body, err)
	}
}

// fits compares a path with a template of OpenAPI.
func fits(template, path string) bool {
	want, have := strings.Split(template, "/"), strings.Split(path, "/")
	return len(want) == len(have) && !slices.ContainsFunc(want, func(segment string) bool {
		other := have[0]
		have = have[1:]
		return segment != other && !strings.HasPrefix(segment, "{")
	})
}

func TestAdminTakesYAML(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	got := call(t, newClient(t), "POST", srv.URL()+"/__mock/stubs", "- id: y\n  match: {path: /y}\n  respond: {text: Y}\n", "Content-Type", "application/yaml")
	if got.status != 201 || got.body != `{"ids":["y"]}` {
		t.Errorf("got %+v", got)
	}
	got = call(t, newClient(t), "POST", srv.URL()+"/__mock/stubs", "match: {path: /y}\nrespond:\n  status: 7\n", "Content-Type", "application/yaml")
	if got.status != 422 || !strings.Contains(got.body, `"line":3`) {
		t.Errorf("got %+v", got)
	}
}

func TestAdminScopes(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	client := newClient(t)
	doc := adminDoc(t)
	expect := func(method, path, body string, status int, says string, headers ...string) {
		t.Helper()
		got := call(t, client, method, srv.URL()+path, body, headers...)
		if got.status != status || !strings.Contains(got.body, says) {
			t.Errorf("%s %s: %d %s, want %d and %s", method, path, got.status, got.body, status, says)
		}
		if rest := strings.TrimPrefix(path, "/__scope/one"); strings.HasPrefix(rest, "/__mock/") {
			checkDescribed(t, doc, method, rest, got)
		}
	}
	const stub = `{"id":"a","match":{"path":"/a"},"respond":{"text":%q}}`
	expect("POST", "/__mock/stubs", fmt.Sprintf(stub, "default"), 201, `{"id":"a"}`)
	expect("POST", "/__scope/one/__mock/stubs", fmt.Sprintf(stub, "one"), 201, `{"id":"a"}`)
	made := call(t, client, "POST", srv.URL()+"/__scope/one/__mock/stubs", `{"id":"b","match":{"path":"/b"},"respond":{}}`)
	at, err := url.Parse(srv.URL() + "/__scope/one/__mock/stubs")
	if err != nil {
		t.Fatal(err)
	}
	if at, err = at.Parse(made.header.Get("Location")); err != nil || at.Path != "/__scope/one/__mock/stubs/b" {
		t.Errorf("the location leads to %v, %v", at, err)
	}
	expect("DELETE", at.Path, "", 204, "")
	expect("POST", "/__mock/stubs", fmt.Sprintf(stub, "two"), 201, `{"id":"a"}`, mockbackend.ScopeHeader, "two/2")
	expect("GET", "/a", "", 200, "default")
	expect("GET", "/__scope/one/a", "", 200, "one")
	expect("GET", "/a", "", 200, "two", mockbackend.ScopeHeader, "two/2")
	expect("GET", "/__scope/one/__mock/journal", "", 200, `"scope":"one"`)
	expect("GET", "/__scope/one/__mock/wait?n=2&timeoutMs=1", "", 408, "have 1")
	expect("GET", "/__mock/scopes", "", 200, `{"scopes":[{"key":"one","stubs":1,"requests":1},{"key":"two/2","stubs":1,"requests":1}]}`)
	for _, unclean := range []string{"/__scope/one/__mock//stubs", "/__scope/one/__mock/./stubs", "/__scope/one//__mock/stubs", "/__scope/one/__mock/../__mock/stubs"} {
		got := call(t, client, "DELETE", srv.URL()+unclean, "")
		if got.status != 404 {
			t.Errorf("DELETE %s: %d %s", unclean, got.status, got.body)
		}
	}
	expect("GET", "/a", "", 200, "default")
	expect("GET", "/__mock/stubs", "", 400, "no-scope", mockbackend.ScopeHeader, strings.Repeat("k", 201))
	expect("DELETE", "/__scope/one/__mock/stubs", "", 204, "")
	expect("GET", "/__scope/one/a", "", 404, "No stub")
	expect("POST", "/__mock/reset", "", 204, "", mockbackend.ScopeHeader, "two/2")
	expect("GET", "/__mock/scopes", "", 200, `{"key":"two/2","stubs":0,"requests":1}`)
	expect("GET", "/a", "", 200, "default")
	expect("DELETE", "/__mock/scopes/two%2F2", "", 204, "")
	expect("DELETE", "/__mock/scopes/one", "", 204, "")
	expect("GET", "/__mock/scopes", "", 200, `{"scopes":[]}`)
}

func TestAdminEvents(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	stream, err := newClient(t).Get(srv.URL() + "/__scope/x/__mock/events")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	if got := stream.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("as %s", got)
	}
	lines := bufio.NewReader(stream.Body)
	until := func(want string) {
		t.Helper()
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatalf("waiting for %s: %v", want, err)
			}
			if strings.TrimSpace(line) == want {
				return
			}
		}
	}
	until(`data: {"last":0,"dropped":0}`)
	call(t, newClient(t), "GET", srv.URL()+"/status/204", "")
	call(t, newClient(t), "GET", srv.URL()+"/__scope/x/status/204", "")
	until(`data: {"last":1,"dropped":0}`)
	if !srv.DropScope("x") {
		t.Error("the scope was not there")
	}
	if _, err := io.ReadAll(lines); err != nil {
		t.Errorf("the stream of a scope that is dropped does not end well: %v", err)
	}
}

// What waits for requests must not keep the server from ending.
func TestAdminShutdown(t *testing.T) {
	srv, err := mockbackend.Start(mockbackend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	started := make(chan struct{})
	wg.Go(func() {
		stream, err := newClient(t).Get(srv.URL() + "/__mock/events")
		if err != nil {
			t.Error(err)
			close(started)
			return
		}
		defer stream.Body.Close()
		close(started)
		if _, err := io.ReadAll(stream.Body); err != nil {
			t.Errorf("events: %v", err)
		}
	})
	<-started
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	wg.Wait()
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
