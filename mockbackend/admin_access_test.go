package mockbackend_test

import (
	"strings"
	"testing"

	"example.com/touchstone/mockbackend"
)

func TestAdminToken(t *testing.T) {
	srv := start(t, mockbackend.Options{AdminToken: "right"})
	client := newClient(t)
	doc := adminDoc(t)
	for _, tt := range []struct {
		path   string
		header []string
		status int
	}{
		{"/__mock/stubs", nil, 401},
		{"/__scope/x/__mock/stubs", nil, 401},
		{"/__mock/openapi.json", nil, 401},
		{"/__mock/nothing", nil, 401},
		{"/__mock/stubs", []string{"Authorization", "Bearer wrong"}, 401},
		{"/__mock/stubs", []string{"Authorization", "right"}, 401},
		{"/__mock/stubs", []string{"Cookie", "touchstone-mock-" + port(srv) + "=wrong"}, 401},
		{"/__mock/stubs", []string{"Authorization", "Bearer right"}, 200},
		{"/__mock/stubs", []string{"Authorization", "bearer  right"}, 200},
		{"/__mock/stubs", []string{"Cookie", "touchstone-mock-" + port(srv) + "=right"}, 200},
		{"/__mock/stubs", []string{"Cookie", "touchstone-mock-" + port(srv) + "=right", "Sec-Fetch-Site", "cross-site"}, 403},
		{"/__mock/stubs", []string{"Authorization", "Bearer right", "Host", "mock.internal"}, 200},
		{"/status/204", nil, 204},
	} {
		got := call(t, client, "GET", srv.URL()+tt.path, "", tt.header...)
		if got.status != tt.status {
			t.Errorf("%s %v: %d, want %d", tt.path, tt.header, got.status, tt.status)
		}
		if tt.status == 401 {
			checkDescribed(t, doc, "GET", strings.TrimPrefix(tt.path, "/__scope/x"), got)
			if got.header.Get("WWW-Authenticate") != `Bearer realm="mock"` {
				t.Errorf("%s: the challenge is %q", tt.path, got.header.Get("WWW-Authenticate"))
			}
		}
	}
}

func port(srv *mockbackend.Server) string {
	return srv.URL()[strings.LastIndex(srv.URL(), ":")+1:]
}

// A page of another site, which a browser on this machine shows, gets nothing
// from the admin API and can change nothing.
func TestAdminRefusesOtherSites(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	client := newClient(t)
	host := "127.0.0.1:" + port(srv)
	for _, tt := range []struct {
		title  string
		header []string
		status int
	}{
		{"a program", nil, 204},
		{"another site", []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.test"}, 403},
		{"another port of this machine", []string{"Sec-Fetch-Site", "same-site", "Origin", "http://127.0.0.1:1"}, 403},
		{"another site, in an old browser", []string{"Origin", "https://evil.test"}, 403},
		{"a page without an origin", []string{"Origin", "null"}, 403},
		{"the page of the mock", []string{"Sec-Fetch-Site", "same-origin", "Origin", "http://" + host}, 204},
		{"the page, in an old browser", []string{"Origin", "http://" + host}, 204},
		{"the address line", []string{"Sec-Fetch-Site", "none"}, 204},
		{"a name that DNS leads here", []string{"Host", "evil.test", "Sec-Fetch-Site", "same-origin"}, 403},
		{"the same with the port", []string{"Host", "evil.test:" + port(srv)}, 403},
		{"localhost", []string{"Host", "localhost:" + port(srv)}, 204},
		{"a name below localhost", []string{"Host", "mock.LOCALHOST"}, 204},
		{"IPv6", []string{"Host", "[::1]:" + port(srv)}, 204},
		{"not localhost", []string{"Host", "localhost.evil.test"}, 403},
	} {
		got := call(t, client, "POST", srv.URL()+"/__mock/reset", "", tt.header...)
		if got.status != tt.status {
			t.Errorf("%s: %d %s, want %d", tt.title, got.status, got.body, tt.status)
		}
	}
}
