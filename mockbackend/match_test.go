package mockbackend_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"example.com/touchstone/mockbackend"
	"example.com/touchstone/schemas"
)

func TestMatching(t *testing.T) {
	const hit = "hit"
	for _, tt := range []struct {
		name, match string
		method, uri string
		body        string
		headers     []string
		bodyBytes   int64
		reason      string // of the miss; empty for a match
	}{
		{name: "everything", match: `{}`, uri: "/a/b?c=d"},
		{name: "method", match: `{"method":"POST","path":"/a"}`, method: "POST", uri: "/a"},
		{name: "other method", match: `{"method":"POST","path":"/a"}`, uri: "/a", reason: "method is GET, not POST"},
		{name: "literal", match: `{"path":"/a/b"}`, uri: "/a/b"},
		{name: "trailing slash", match: `{"path":"/a/b"}`, uri: "/a/b/", reason: "path is /a/b/, not /a/b"},
		{name: "pattern", match: `{"path":"/a/{x}/c"}`, uri: "/a/b/c"},
		{name: "pattern too short", match: `{"path":"/a/{x}"}`, uri: "/a/b/c", reason: "path is /a/b/c, not /a/{x}"},
		{name: "pattern and empty segment", match: `{"path":"/a/{x}"}`, uri: "/a/", reason: "path is /a/, not /a/{x}"},
		{name: "tail", match: `{"path":"/a/{x...}"}`, uri: "/a/b/c/d"},
		{name: "encoded request", match: `{"path":"/a b/ü"}`, uri: "/a%20b/%C3%BC"},
		{name: "encoded stub", match: `{"path":"/%61/{x}"}`, uri: "/a/%2Fb"},
		{name: "encoded slash divides nothing", match: `{"path":"/a/b"}`, uri: "/a%2Fb", reason: "path is /a%2Fb"},
		{name: "query", match: `{"path":"/a","query":{"x":"1","y":["1","2"]}}`, uri: "/a?y=1&x=1&y=2&z=3"},
		{name: "query order", match: `{"path":"/a","query":{"y":["1","2"]}}`, uri: "/a?y=2&y=1", reason: `query parameter y is \"2\", \"1\", not \"1\", \"2\"`},
		{name: "query missing", match: `{"path":"/a","query":{"y":"1"}}`, uri: "/a", reason: "query parameter y is absent"},
		{name: "query absent", match: `{"path":"/a","query":{"y":{"absent":true}}}`, uri: "/a"},
		{name: "query not absent", match: `{"path":"/a","query":{"y":{"absent":true}}}`, uri: "/a?y=1", reason: "should be absent: true"},
		{name: "query present", match: `{"path":"/a","query":{"y":{"absent":false}}}`, uri: "/a?y"},
		{name: "query with a semicolon", match: `{"path":"/a","query":{"f":"a;b","g":"1"}}`, uri: "/a?f=a;b&&g=1"},
		{name: "query with what is no encoding", match: `{"path":"/a","query":{"f":"100%","%zz":"a b"}}`, uri: "/a?f=100%&%zz=a+%62"},
		{name: "encoded query", match: `{"path":"/a","query":{"ü":"a b&c"}}`, uri: "/a?%C3%BC=a+b%26c"},
		{name: "escaped braces", match: `{"path":"/a/{id}/%7Bx%7D"}`, uri: "/a/1/%7Bx%7D"},
		{name: "escaped braces stand for nothing else", match: `{"path":"/a/{id}/%7Bx%7D"}`, uri: "/a/1/y", reason: "path is /a/1/y"},
		{name: "one escaped brace", match: `{"path":"/a/{id}/b%7bx"}`, uri: "/a/1/b%7Bx"},
		{name: "escaped braces alone", match: `{"path":"/%7Bx%7D"}`, uri: "/{x}"},
		{name: "header", match: `{"path":"/a","headers":{"x-tag":{"contains":"b"}}}`, uri: "/a", headers: []string{"X-Tag", "abc"}},
		{name: "header other", match: `{"path":"/a","headers":{"x-tag":{"contains":"b"}}}`, uri: "/a", headers: []string{"X-Tag", "ac"}, reason: "which does not contain"},
		{name: "expression", match: `{"path":"/a","headers":{"X-Tag":{"matches":"^v[0-9]$"}}}`, uri: "/a", headers: []string{"X-Tag", "v", "X-Tag", "v1"}},
		{name: "expression other", match: `{"path":"/a","headers":{"X-Tag":{"matches":"^v[0-9]$"}}}`, uri: "/a", headers: []string{"X-Tag", "v"}, reason: "which does not match"},
		{name: "cookie", match: `{"path":"/a","cookies":{"sid":"1"}}`, uri: "/a", headers: []string{"Cookie", "a=b; sid=1"}},
		{name: "cookie other", match: `{"path":"/a","cookies":{"sid":"1"}}`, uri: "/a", headers: []string{"Cookie", "sid=2"}, reason: "cookie sid is"},
		{name: "cookie of JSON", match: `{"path":"/a","cookies":{"t":"{\"a\":1, \"b\":\"=\"}"}}`, uri: "/a", headers: []string{"Cookie", `s=1; t={"a":1, "b":"="}`}},
		{name: "quoted cookie", match: `{"path":"/a","cookies":{"t":"a b"}}`, uri: "/a", headers: []string{"Cookie", `t="a b"`}},
		{name: "quoted cookie and quotes", match: `{"path":"/a","cookies":{"t":"\"abc\"","u":{"matches":"^x$"}}}`, uri: "/a", headers: []string{"Cookie", `t="abc"; u="x"`}},
		{name: "quoted cookie other", match: `{"path":"/a","cookies":{"t":"ab"}}`, uri: "/a", headers: []string{"Cookie", `t="abc"`}, reason: `cookie t is \"\\\"abc\\\"\", not \"ab\"`},
		{name: "cookie twice", match: `{"path":"/a","cookies":{"t":["1","2"]}}`, uri: "/a", headers: []string{"Cookie", `t=1;t=2`}},
		{name: "content type", match: `{"path":"/a","contentType":"application/json"}`, method: "POST", uri: "/a", body: "x", headers: []string{"Content-Type", "Application/JSON; charset=utf-8"}},
		{name: "content type other", match: `{"path":"/a","contentType":"application/json"}`, method: "POST", uri: "/a", body: "x", headers: []string{"Content-Type", "text/plain"}, reason: "content type is"},
		{name: "equals", match: `{"path":"/a","body":{"equals":{"b":[1,2.0],"a":null}}}`, method: "POST", uri: "/a", body: `{"a":null, "b":[1.0, 2]}`},
		{name: "equals but more", match: `{"path":"/a","body":{"equals":{"a":1}}}`, method: "POST", uri: "/a", body: `{"a":1,"b":2}`, reason: "more members"},
		{name: "big integers", match: `{"path":"/a","body":{"equals":9007199254740993}}`, method: "POST", uri: "/a", body: `9007199254740992`, reason: "9007199254740992, not 9007199254740993"},
		{name: "subset", match: `{"path":"/a","body":{"subset":{"a":{"b":1}}}}`, method: "POST", uri: "/a", body: `{"x":0,"a":{"b":1,"c":2}}`},
		{name: "subset misses", match: `{"path":"/a","body":{"subset":{"a":{"b":1}}}}`, method: "POST", uri: "/a", body: `{"a":{"c":2}}`, reason: "body has no /a/b"},
		{name: "subset list", match: `{"path":"/a","body":{"subset":[1]}}`, method: "POST", uri: "/a", body: `[1,2]`, reason: "2 elements"},
		{name: "not JSON", match: `{"path":"/a","body":{"subset":{}}}`, method: "POST", uri: "/a", body: `{`, reason: "not usable as JSON"},
		{name: "path query", match: `{"path":"/a","body":{"jsonPath":{"$.items[*].id":7,"$.n":null}}}`, method: "POST", uri: "/a", body: `{"n":null,"items":[{"id":1},{"id":7}]}`},
		{name: "path query misses", match: `{"path":"/a","body":{"jsonPath":{"$.items[*].id":7}}}`, method: "POST", uri: "/a", body: `{"items":[]}`, reason: "no $.items[*].id equal to 7"},
		{name: "text", match: `{"path":"/a","body":{"text":"<a/>"}}`, method: "POST", uri: "/a", body: `<a/>`},
		{name: "no text", match: `{"path":"/a","body":{"text":"<a/>"}}`, method: "POST", uri: "/a", body: "", reason: "body is absent"},
		{name: "empty text", match: `{"path":"/a","body":{"text":""}}`, method: "POST", uri: "/a"},
		{name: "empty text and a body", match: `{"path":"/a","body":{"text":""}}`, method: "POST", uri: "/a", body: "x", reason: `body is \"x\", not \"\"`},
		{name: "text that may be empty", match: `{"path":"/a","body":{"text":{"matches":"^x*$"}}}`, method: "POST", uri: "/a"},
		{name: "absent body", match: `{"path":"/a","body":{"text":{"absent":true}}}`, method: "POST", uri: "/a"},
		{name: "text of a body that was cut", match: `{"path":"/a","body":{"text":"abcd"}}`, method: "POST", uri: "/a", body: "abcdefgh", bodyBytes: 4, reason: "body is not usable as text: it is longer than what the journal keeps"},
		{name: "expression on a body that was cut", match: `{"path":"/a","body":{"text":{"matches":"d$"}}}`, method: "POST", uri: "/a", body: "abcdefgh", bodyBytes: 4, reason: "body is not usable as text"},
		{name: "the rest of a body that was cut", match: `{"path":"/a","body":{"text":{"contains":"gh"}}}`, method: "POST", uri: "/a", body: "abcdefgh", bodyBytes: 4, reason: "body is not usable as text"},
		{name: "the start of a body that was cut", match: `{"path":"/a","body":{"text":{"contains":"bc"}}}`, method: "POST", uri: "/a", body: "abcdefgh", bodyBytes: 4},
		{name: "a body that was cut is there", match: `{"path":"/a","body":{"text":{"absent":true}}}`, method: "POST", uri: "/a", body: "abcdefgh", bodyBytes: 4, reason: "should be absent: true"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := start(t, mockbackend.Options{StubsOnly: true, BodyBytes: tt.bodyBytes})
			add(t, srv, `{"id":"s","match":`+tt.match+`,"respond":{"text":"hit"}}`)
			if tt.method == "" {
				tt.method = "GET"
			}
			client := newClient(t)
			got := call(t, client, tt.method, srv.URL()+tt.uri, tt.body, tt.headers...)
			defer func() {
				// Behind as many as a miss tells of, no reason is put in words.
				for range 3 {
					add(t, srv, `{"match":{"method":"TRACE"},"priority":1,"respond":{}}`)
				}
				if behind := call(t, client, tt.method, srv.URL()+tt.uri, tt.body, tt.headers...); behind.status != got.status {
					t.Errorf("behind others it is answered with %d", behind.status)
				}
			}()
			if tt.reason == "" {
				if got.body != hit {
					t.Fatalf("no match: %s", got.body)
				}
				return
			}
			if got.status != http.StatusNotFound || !strings.Contains(got.body, tt.reason) {
				t.Fatalf("got %d %s, want a 404 with %q", got.status, got.body, tt.reason)
			}
			entries := srv.Journal().Entries(mockbackend.Filter{Missed: true})
			if len(entries) != 1 || entries[0].Stub != "" {
				t.Errorf("the journal has %+v, want one miss", entries)
			}
		})
	}
}

func TestPrecedence(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	client := newClient(t)
	for _, step := range []struct{ stub, want string }{
		{`{"match":{},"respond":{"text":"any path"}}`, "any path"},
		{`{"match":{"path":"/orders/{id...}"},"respond":{"text":"tail"}}`, "tail"},
		{`{"match":{"path":"/orders/{id}"},"respond":{"text":"pattern"}}`, "pattern"},
		{`{"match":{"path":"/orders/1"},"respond":{"text":"literal"}}`, "literal"},
		{`{"match":{"path":"/orders/{id}"},"respond":{"text":"later pattern"}}`, "literal"},
		{`{"match":{"path":"/orders/1"},"respond":{"text":"later literal"}}`, "later literal"},
		{`{"match":{"path":"/{x}/1"},"priority":1,"respond":{"text":"priority"}}`, "priority"},
		{`{"match":{"path":"/orders/1","method":"PUT"},"priority":2,"respond":{"text":"other method"}}`, "priority"},
	} {
		add(t, srv, step.stub)
		if got := call(t, client, "GET", srv.URL()+"/orders/1", ""); got.body != step.want {
			t.Errorf("after adding %s: %q answers, want %q", step.stub, got.body, step.want)
		}
	}
}

// What a caller does with a stub after Add, or with one that it is given,
// changes nothing.
func TestStubsAreCopied(t *testing.T) {
	srv := start(t, mockbackend.Options{StubsOnly: true})
	in := mustStub(t, `{"id":"s","scenario":{"name":"x","state":"started"},"match":{"path":"/a","query":{"q":"1"}},
		"respond":{"json":{"a":1},"interim":[{"status":103,"headers":[["Link","</a>"]]}],"fault":{"kind":"drip","intervalMs":1}}}`)
	if _, err := srv.Add(in); err != nil {
		t.Fatal(err)
	}
	spoil := func(s schemas.Stub) {
		s.Respond.Fault.Kind = "reset"
		s.Respond.Interim[0].Headers[0].Name = "a b"
		copy(s.Respond.JSON, "broken!")
		s.Scenario.State = "other"
		s.Match.Query["q"].Equals[0] = "2"
	}
	given, _ := srv.Scope("").Stub("s")
	for what, s := range map[string]schemas.Stub{"added": in, "given": given, "listed": srv.Stubs()[0]} {
		spoil(s)
		if got := call(t, newClient(t), "GET", srv.URL()+"/a?q=1", ""); got.status != 200 || got.body != `{"a":1}` {
			t.Errorf("the stub %s was changed: %d %s", what, got.status, got.body)
		}
	}
}

func TestRemove(t *testing.T) {
	srv := start(t, mockbackend.Options{StubsOnly: true})
	client := newClient(t)
	for _, path := range []string{"/a", "/a/{x}", "/a/{x}/b", "/a/{x...}", "/"} {
		id := add(t, srv, `{"match":{"path":"`+path+`"},"respond":{}}`)
		uri := srv.URL() + strings.NewReplacer("{x}", "1", "{x...}", "1/2/3").Replace(path)
		if got := call(t, client, "GET", uri, ""); got.status != 200 {
			t.Errorf("%s: %d before the removal", path, got.status)
		}
		if !srv.Remove(id) {
			t.Errorf("%s: not there to remove", path)
		}
		if got := call(t, client, "GET", uri, ""); got.status != 404 {
			t.Errorf("%s: %d after the removal", path, got.status)
		}
		if srv.Remove(id) {
			t.Errorf("%s: removed twice", path)
		}
	}
}

func TestTimesSequencesAndScenarios(t *testing.T) {
	srv := start(t, mockbackend.Options{StubsOnly: true})
	client := newClient(t)
	add(t, srv, `{"match":{"path":"/times"},"times":2,"respond":{"text":"a"}}`)
	add(t, srv, `{"match":{"path":"/last"},"sequence":{"responses":[{"text":"a"},{"text":"b"}]}}`)
	add(t, srv, `{"match":{"path":"/cycle"},"sequence":{"responses":[{"text":"a"},{"text":"b"}],"then":"cycle"}}`)
	add(t, srv, `{"match":{"path":"/end"},"sequence":{"responses":[{"text":"a"},{"text":"b"}],"then":"not-found"}}`)
	add(t, srv, `{"match":{"path":"/door"},"scenario":{"name":"door","state":"started","next":"open"},"respond":{"text":"a"}}`)
	add(t, srv, `{"match":{"path":"/door"},"scenario":{"name":"door","state":"open","next":"gone"},"respond":{"text":"b"}}`)
	for path, want := range map[string]string{
		"/times": "aa--", "/last": "abbb", "/cycle": "abab", "/end": "ab--", "/door": "ab--",
	} {
		var got strings.Builder
		for range want {
			if a := call(t, client, "GET", srv.URL()+path, ""); a.status == 404 {
				got.WriteString("-")
			} else {
				got.WriteString(a.body)
			}
		}
		if got.String() != want {
			t.Errorf("%s answers %s, want %s", path, &got, want)
		}
	}
}

func TestAddRefuses(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	add(t, srv, `{"id":"taken","match":{},"respond":{}}`)
	zero := int64(0)
	for _, tt := range []struct {
		pointer, says string
		stub          schemas.Stub
	}{
		{"/id", "in use", schemas.Stub{ID: "taken", Respond: text("")}},
		{"/respond", "is missing", schemas.Stub{}},
		{"/sequence", "beside respond", schemas.Stub{Respond: text(""), Sequence: &schemas.StubSequence{}}},
		{"/sequence/responses", "empty", schemas.Stub{Sequence: &schemas.StubSequence{}}},
		{"/sequence/then", "stop", schemas.Stub{Sequence: &schemas.StubSequence{Responses: []schemas.StubResponse{{}}, Then: "stop"}}},
		{"/sequence/responses/1/status", "199", schemas.Stub{Sequence: &schemas.StubSequence{Responses: []schemas.StubResponse{{}, {Status: 199}}}}},
		{"/times", "-1", schemas.Stub{Times: -1, Respond: text("")}},
		{"/scenario/name", "empty", schemas.Stub{Scenario: &schemas.StubScenario{}, Respond: text("")}},
		{"/match/path", "slash", schemas.Stub{Match: schemas.StubMatch{Path: "a"}, Respond: text("")}},
		{"/match/path", "query", schemas.Stub{Match: schemas.StubMatch{Path: "/a?b=c"}, Respond: text("")}},
		{"/match/path", "braces", schemas.Stub{Match: schemas.StubMatch{Path: "/a-{id}"}, Respond: text("")}},
		{"/match/path", "braces", schemas.Stub{Match: schemas.StubMatch{Path: "/{}"}, Respond: text("")}},
		{"/match/path", "last", schemas.Stub{Match: schemas.StubMatch{Path: "/{a...}/b"}, Respond: text("")}},
		{"/match/path", "%7B", schemas.Stub{Match: schemas.StubMatch{Path: "/{a}/{b"}, Respond: text("")}},
		{"/match/path", "reaches no stub", schemas.Stub{Match: schemas.StubMatch{Path: "/__mock/stubs"}, Respond: text("")}},
		{"/match/path", "reaches no stub", schemas.Stub{Match: schemas.StubMatch{Path: "/%5F_scope/{key}/a"}, Respond: text("")}},
		{"/match/method", "case-sensitive (RFC 9110, section 9.1); give GET", schemas.Stub{Match: schemas.StubMatch{Method: "get"}, Respond: text("")}},
		{"/match/method", "give PATCH", schemas.Stub{Match: schemas.StubMatch{Method: "Patch"}, Respond: text("")}},
		{"/match/contentType", "leave the parameters out, which are not compared: application/json", schemas.Stub{Match: schemas.StubMatch{ContentType: "application/json; charset=utf-8"}, Respond: text("")}},
		{"/match/contentType", "not a media type", schemas.Stub{Match: schemas.StubMatch{ContentType: "a/b/c"}, Respond: text("")}},
		{"/match/body/text", "one text", schemas.Stub{Match: schemas.StubMatch{Body: &schemas.StubBodyMatch{Text: &schemas.StubText{Equals: []string{"a", "b"}}}}, Respond: text("")}},
		{"/match/query/q", "give absent", schemas.Stub{Match: schemas.StubMatch{Query: map[string]schemas.StubText{"q": {Equals: []string{}}}}, Respond: text("")}},
		{"/match/headers/X~1Y", "has 0", schemas.Stub{Match: schemas.StubMatch{Headers: map[string]schemas.StubText{"X/Y": {}}}, Respond: text("")}},
		{"/match/query/q", "regular expression", schemas.Stub{Match: schemas.StubMatch{Query: map[string]schemas.StubText{"q": {Matches: "("}}}, Respond: text("")}},
		{"/match/body", "no condition", schemas.Stub{Match: schemas.StubMatch{Body: &schemas.StubBodyMatch{}}, Respond: text("")}},
		{"/match/body/equals", "not JSON", schemas.Stub{Match: schemas.StubMatch{Body: &schemas.StubBodyMatch{Equals: []byte("{")}}, Respond: text("")}},
		{"/respond/status", "interim", schemas.Stub{Respond: &schemas.StubResponse{Status: 103}}},
		{"/respond/status", "1000", schemas.Stub{Respond: &schemas.StubResponse{Status: 1000}}},
		{"/respond", "2 bodies", schemas.Stub{Respond: &schemas.StubResponse{JSON: []byte("1"), Bytes: []byte("1")}}},
		{"/respond/json", "not JSON", schemas.Stub{Respond: &schemas.StubResponse{JSON: []byte("{")}}},
		{"/respond/file", "no directory", schemas.Stub{Respond: &schemas.StubResponse{File: "main_test.go"}}},
		{"/respond/omit/0", "Server", schemas.Stub{Respond: &schemas.StubResponse{Omit: []string{"Server"}}}},
		{"/respond/interim/0/status", "101", schemas.Stub{Respond: &schemas.StubResponse{Interim: []schemas.StubInterim{{Status: 101}}}}},
		{"/respond/delay/ms", "is -1; give 0 to 3600000", schemas.Stub{Respond: &schemas.StubResponse{Delay: &schemas.StubDelay{Ms: -1}}}},
		{"/respond/fault/kind", "known are close-before-headers, compressed-bomb", schemas.Stub{Respond: &schemas.StubResponse{Fault: &schemas.StubFault{Kind: "x"}}}},
		{"/respond/fault/afterBytes", "takes kind, bytes", schemas.Stub{Respond: &schemas.StubResponse{Fault: &schemas.StubFault{Kind: "garbage", AfterBytes: &zero}}}},
		{"/respond/fault/bytes", "negative", schemas.Stub{Respond: &schemas.StubResponse{Fault: &schemas.StubFault{Kind: "garbage", Bytes: -1}}}},
	} {
		_, err := srv.Add(tt.stub)
		bad, ok := errors.AsType[*mockbackend.InvalidStubError](err)
		if !ok || bad.Pointer != tt.pointer || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("got %v, want one at %s that says %q", err, tt.pointer, tt.says)
		}
	}
	// Those are methods of their own, and paths beside the mock's.
	for _, doc := range []string{
		`{"match":{"method":"purge","path":"/a"},"respond":{}}`,
		`{"match":{"method":"QUERY","path":"/__mock"},"respond":{}}`,
		`{"match":{"path":"/__mocked/a","contentType":"Text/Plain"},"respond":{}}`,
	} {
		add(t, srv, doc)
	}
	for _, tt := range []struct{ doc, pointer string }{
		{`{`, ""},
		{`{"match":{},"respond":{},"x":1}`, "/x"},
		{`{"match":{},"respond":{},"match":{"path":"/a"}}`, "/match"},
		{`{"match":{"path":7},"respond":{}}`, "/match/path"},
		{`{"match":{},"respond":{"headers":[["A"]]}}`, "/respond/headers/0"},
	} {
		_, err := mockbackend.DecodeStub([]byte(tt.doc))
		bad, ok := errors.AsType[*mockbackend.InvalidStubError](err)
		if !ok || bad.Pointer != tt.pointer {
			t.Errorf("%s: got %v, want an error at %q", tt.doc, err, tt.pointer)
		}
	}
}
