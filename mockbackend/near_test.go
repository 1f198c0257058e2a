package mockbackend_test

import (
	"encoding/json"
	"strings"
	"testing"

	"example.com/touchstone/mockbackend"
)

// A miss tells of the stubs whose paths may have been meant, each once.
func TestNearStubs(t *testing.T) {
	srv := start(t, mockbackend.Options{StubsOnly: true})
	for _, path := range []string{"/orders", "/orders/{id}/items", "/users", "/p", "/a%20b", "/%7Bx%7D/é", "/v1/things/{id}", "/files/{rest...}", "/deep/er/{x}/{rest...}"} {
		add(t, srv, `{"match":{"method":"POST","path":"`+path+`"},"respond":{}}`)
	}
	client := newClient(t)
	for _, tt := range []struct {
		uri  string
		want string // reasons
	}{
		{"/ordres", "path is /ordres, not /orders"},
		{"/Users", "path is /Users, not /users"},
		{"/xyz", ""},
		{"/q", "path is /q, not /p"},
		{"/", ""},
		{"/a%20b", "method is GET, not POST"},
		{"/a%20c", "path is /a c, not /a b"},
		{"/b%20b", "path is /b b, not /a b"},
		{"/c%20d", ""},
		{"/a%20b/", "path is /a b/, not /a b"},
		{"/%7Bx%7D/e", "path is /{x}/e, not /%7Bx%7D/é"},
		{"/orders/7/itms", "path is /orders/7/itms, not /orders/{id}/items"},
		{"/orders/7", "path is /orders/7, not /orders/{id}/items; path is /orders/7, not /orders"},
		{"/v2/things/9", "path is /v2/things/9, not /v1/things/{id}"},
		{"/v1%2Fthings/9", "path is /v1%2Fthings/9, not /v1/things/{id}"},
		{"/files/a/b", "method is GET, not POST"},
		{"/fles/a/b", "path is /fles/a/b, not /files/{rest...}"},
		{"/deep/er", "path is /deep/er, not /deep/er/{x}/{rest...}"},
		{"/nothing/like/it/at/all", ""},
	} {
		got := call(t, client, "GET", srv.URL()+tt.uri, "")
		var miss struct {
			Detail string                 `json:"detail"`
			Near   []mockbackend.NearStub `json:"near"`
		}
		if err := json.Unmarshal([]byte(got.body), &miss); err != nil || got.status != 404 {
			t.Fatalf("%s: %d %s", tt.uri, got.status, got.body)
		}
		var reasons []string
		for _, n := range miss.Near {
			reasons = append(reasons, n.Reason)
		}
		if have := strings.Join(reasons, "; "); have != tt.want {
			t.Errorf("%s: near are %q, want %q", tt.uri, have, tt.want)
		}
	}
}

// A miss repeats no more of a request than can be read.
func TestMissIsShort(t *testing.T) {
	srv := start(t, mockbackend.Options{StubsOnly: true})
	for _, match := range []string{`{"path":"/a/{rest...}","method":"POST"}`, `{"path":"/a/{rest...}","contentType":"text/plain"}`, `{"path":"/a/{x}/c/d"}`} {
		add(t, srv, `{"match":`+match+`,"respond":{}}`)
	}
	for _, path := range []string{"/a/" + strings.Repeat("é", 50_000), "/a/b/" + strings.Repeat("x", 100_000), "/a/" + strings.Repeat("y", 100_000) + "/"} {
		got := call(t, newClient(t), "GET", srv.URL()+path, "", "Content-Type", "text/"+strings.Repeat("x", 5000))
		if got.status != 404 || len(got.body) > 3000 || !strings.Contains(got.body, "…") || strings.Contains(got.body, "\ufffd") {
			t.Errorf("%.20s: %d, %d bytes: %.300s", path, got.status, len(got.body), got.body)
		}
	}
}
