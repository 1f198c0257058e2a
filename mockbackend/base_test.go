package mockbackend_test

import (
	"bufio"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"example.com/touchstone/mockbackend"
)

// TestScopeInURLs: a URL that the server writes leads back to the scope, whatever
// is in its key.
func TestScopeInURLs(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	client := newClient(t)
	client.CheckRedirect = nil
	for _, key := range []string{"TestX/case#01", "a b", "50%", "ä", "a?b", "q'uote"} {
		scope := srv.Scope(key)
		if got := call(t, client, "GET", scope.URL()+"/status/302", ""); got.status != 200 || !strings.Contains(got.body, `"id":1`) {
			t.Errorf("%q: %d %s", key, got.status, got.body)
		}
		made := call(t, client, "POST", scope.URL()+"/orders", `{"item":"a","quantity":1}`, "Content-Type", "application/json")
		if got := call(t, client, "GET", srv.URL()+made.header.Get("Location"), ""); made.status != 201 || got.status != 200 {
			t.Errorf("%q: %d with %q, then %d", key, made.status, made.header.Get("Location"), got.status)
		}
		page := call(t, client, "GET", scope.URL()+"/", "", "Accept", "text/html").body
		before, _, _ := strings.Cut(page, `">Sample API`)
		link := before[strings.LastIndexByte(before, '"')+1:]
		if got := call(t, client, "GET", srv.URL()+link, ""); got.status != 200 || !strings.Contains(got.body, `"openapi"`) {
			t.Errorf("%q: the page links to %q: %d", key, link, got.status)
		}
		if n := scope.Journal().Last(); n < 4 {
			t.Errorf("%q: %d requests came to the scope", key, n)
		}
	}
	if n := len(srv.Scopes()); n != 6 {
		t.Errorf("there are %d scopes: %v", n, srv.Scopes())
	}
}

// TestScopeIsNoHeader: what is in a key cannot add a header to an answer.
func TestScopeIsNoHeader(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	head := readHead(t, bufio.NewReader(dial(t, srv, get("/__scope/a%0d%0aX-Evil:%201/status/302"))))
	if strings.Contains(head, "\nX-Evil") || !strings.Contains(head, "Location: /__scope/a%0D%0AX-Evil:%201/orders/1\r\n") {
		t.Errorf("%s", head)
	}
}

// TestCommandsAreQuoted: what the page and the first screen tell to paste is one
// command each.
func TestCommandsAreQuoted(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	base := srv.URL() + "/__scope/" + url.PathEscape("a;touch 'b'$(c)")
	for _, accept := range []string{"text/plain", "text/html"} {
		body := call(t, newClient(t), "GET", base+"/", "", "Accept", accept).body
		body = strings.NewReplacer("&#39;", "'", "&amp;", "&").Replace(body)
		for _, path := range []string{"/hi", "/__mock/stubs", "/delay/3000"} {
			// Quotes in the key are escaped in the URL, so none is in the way.
			if want := "curl -i '" + srv.URL() + "/__scope/a%3Btouch%20%27b%27$%28c%29" + path + "'"; !strings.Contains(body, want) {
				t.Errorf("%s lacks %s:\n%s", accept, want, body)
			}
		}
	}
}

// TestGuideOverTLS: the reset needs HTTP/1.1, and the admin API the token.
func TestGuideOverTLS(t *testing.T) {
	srv := start(t, mockbackend.Options{TLS: true, AdminToken: "secret"})
	body := call(t, &http.Client{Transport: srv.Client().Transport}, "GET", srv.URL()+"/", "").body
	for _, want := range []string{
		"curl -i -k --http1.1 " + srv.URL() + "/fault/reset\n",
		"curl -i -k " + srv.URL() + "/delay/3000\n",
		`curl -i -k -H "Authorization: Bearer $MOCK_TOKEN" ` + srv.URL() + "/__mock/journal\n",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("it lacks %q:\n%s", want, body)
		}
	}
	if strings.Contains(body, "secret") {
		t.Error("it shows the token")
	}
}
