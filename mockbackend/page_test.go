package mockbackend_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"example.com/touchstone/mockbackend"
)

func TestPageForBrowsersOnly(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	client := newClient(t)
	browser := []string{"Accept", "text/html,application/xhtml+xml,*/*;q=0.8"}
	page := call(t, client, "GET", srv.URL()+"/", "", browser...)
	if page.status != 200 || page.header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.Contains(page.body, "<h1>Mock backend</h1>") {
		t.Errorf("a browser gets %d %s", page.status, page.body)
	}
	if len(srv.Journal().Entries(mockbackend.Filter{})) != 0 {
		t.Error("looking at the page is in the journal")
	}
	for _, accept := range []string{"", "*/*", "application/json"} {
		got := call(t, client, "GET", srv.URL()+"/", "", "Accept", accept)
		if got.status != 200 || got.header.Get("Content-Type") != "text/plain; charset=utf-8" || !strings.Contains(got.body, "curl -i "+srv.URL()+"/fault/reset\n") {
			t.Errorf("with Accept %q: %d %s", accept, got.status, got.body)
		}
	}
	if got := srv.Journal().Entries(mockbackend.Filter{}); len(got) != 3 || got[0].Route != "guide" {
		t.Errorf("the journal has %v", got)
	}
	if got := call(t, client, "POST", srv.URL()+"/", "", browser...); got.header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("POST: %+v", got)
	}
	id := add(t, srv, `{"match":{"path":"/","headers":{"X-Mine":"1"}},"respond":{"text":"mine"}}`)
	if got := call(t, client, "GET", srv.URL()+"/", "", append(browser, "X-Mine", "1")...); got.body != "mine" {
		t.Errorf("a stub for / does not win: %s", got.body)
	}
	if got := call(t, client, "GET", srv.URL()+"/", "", browser...); !strings.Contains(got.body, id) {
		t.Error("a stub that does not match wins")
	}
	bare := start(t, mockbackend.Options{StubsOnly: true})
	if got := call(t, client, "GET", bare.URL()+"/", "", browser...); got.status != 404 {
		t.Errorf("with stubs only: %d", got.status)
	}
	if got := call(t, client, "GET", srv.URL()+"/", "", append(browser, "Host", "evil.test")...); got.status != 403 || strings.Contains(got.body, "<") {
		t.Errorf("under a foreign name: %d %s", got.status, got.body)
	}
}

// elements gives the elements of a page by name, with the text below them.
func elements(t *testing.T, page string) map[string][]string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		var text strings.Builder
		for below := range n.Descendants() {
			if below.Type == html.TextNode {
				text.WriteString(below.Data)
			}
		}
		found[n.Data] = append(found[n.Data], text.String())
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || strings.HasPrefix(a.Val, "javascript:") {
				t.Errorf("%s has %s=%q", n.Data, a.Key, a.Val)
			}
		}
	}
	return found
}

const evil = `</code></pre><script>window.pwned=1;document.title='pwned'</script><img src=x onerror="window.pwned=1">`

// attack sends what a page that does not escape would run.
func attack(t *testing.T, srv *mockbackend.Server) {
	t.Helper()
	dial(t, srv, "GET /"+strings.ReplaceAll(evil, " ", "/")+"?q="+strings.ReplaceAll(evil, " ", "/")+" HTTP/1.1\r\nHost: 127.0.0.1\r\nX-"+
		"Evil: "+evil+"\r\nConnection: close\r\n\r\n").Close()
	call(t, newClient(t), "POST", srv.URL()+"/orders", `{"item":"`+strings.ReplaceAll(evil, `"`, `'`)+`","quantity":1}`, "Content-Type", "application/json")
	add(t, srv, `{"match":{"path":"/x","query":{"`+strings.ReplaceAll(evil, `"`, `'`)+`":"1"}},"respond":{"text":"`+strings.ReplaceAll(evil, `"`, `'`)+`"}}`)
	call(t, newClient(t), "GET", srv.URL()+"/x", "")
	wait(t, srv, mockbackend.Filter{}, 3)
}

func TestPageEscapes(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	attack(t, srv)
	page := call(t, newClient(t), "GET", srv.URL()+"/?path="+"%3Cscript%3E&x="+"%3Cscript%3E", "", "Accept", "text/html")
	found := elements(t, page.body)
	if len(found["script"]) != 1 || len(found["img"]) != 0 || len(found["title"]) != 1 {
		t.Errorf("%d scripts, %d images and %d titles", len(found["script"]), len(found["img"]), len(found["title"]))
	}
	page = call(t, newClient(t), "GET", srv.URL()+"/", "", "Accept", "text/html")
	found = elements(t, page.body)
	if len(found["script"]) != 1 || len(found["img"]) != 0 {
		t.Errorf("%d scripts and %d images", len(found["script"]), len(found["img"]))
	}
	shown := 0
	for _, code := range found["code"] {
		if strings.Contains(code, "</code></pre><script>") {
			shown++
		}
	}
	if shown < 3 { // the requests with the header and the body, and the stub
		t.Errorf("%d of the attacks are shown as they were", shown)
	}
	// What would get past that may still not run.
	var sources []string
	for _, source := range []string{found["style"][0], found["script"][0]} {
		sum := sha256.Sum256([]byte(source))
		sources = append(sources, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	want := "default-src 'none'; style-src " + sources[0] + "; script-src " + sources[1] +
		"; connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	if got := page.header.Get("Content-Security-Policy"); got != want {
		t.Errorf("policy\n got %s\nwant %s", got, want)
	}
}

func TestPageShowsTheJournal(t *testing.T) {
	srv := start(t, mockbackend.Options{JournalEntries: 150})
	client := newClient(t)
	add(t, srv, `{"id":"near-it","match":{"method":"PUT","path":"/nowhere"},"respond":{}}`)
	call(t, client, "POST", srv.URL()+"/nowhere", "hello", "X-Tag", "tagged")
	call(t, client, "POST", srv.URL()+"/orders", "\xff\x00")
	show := func(query string) string {
		return call(t, client, "GET", srv.URL()+"/"+query, "", "Accept", "text/html").body
	}
	for _, part := range []string{
		"2 requests received.", "POST /nowhere HTTP/1.1", "X-Tag: tagged\n", "\n\nhello</code>", "5 bytes of body",
		"<code>near-it</code>: method is POST, not PUT", "2 bytes of body, which are no text", "|..|",
		"1 stub.", `<code>near-it</code> <span class="verb">PUT</span>`, "Status 404, ",
	} {
		if !strings.Contains(show(""), part) {
			t.Errorf("the page lacks %q", part)
		}
	}
	filtered := show("?path=/now*&method=post&status=&missed=true")
	if !strings.Contains(filtered, "1 pass the filter") || !strings.Contains(filtered, `value="/now*"`) || strings.Contains(filtered, `id="e2"`) {
		t.Errorf("filtered: %s", filtered)
	}
	if got := show("?status=x"); !strings.Contains(got, "the filter status cannot be &#34;x&#34;") || !strings.Contains(got, `id="e2"`) {
		t.Errorf("with a filter that is none: %s", got)
	}
	for range 200 {
		call(t, client, "GET", srv.URL()+"/status/204", "")
	}
	many := show("")
	if got := strings.Count(many, "<details id=\"e"); got != 100 || !strings.Contains(many, "202 requests received, 52 no longer kept. The latest 100 are shown.") {
		t.Errorf("%d entries: %s", got, many)
	}
}

func TestPageTries(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	client := newClient(t)
	for query, location := range map[string]string{
		"try=status&arg=422&body=nest":    "/status/422?body=nest",
		"try=leak&arg=credential":         "/leak/credential",
		"try=delay&arg=0":                 "/delay/0",
		"try=fault&arg=reset":             "/fault/reset",
		"try=leak&arg=..%2F..%2F%2Fevil/": "/leak/..%2F..%2F%2Fevil%2F",
	} {
		for _, base := range []string{"", "/__scope/x"} {
			got := call(t, client, "GET", srv.URL()+base+"/?"+query, "", "Accept", "text/html")
			if got.status != http.StatusSeeOther || got.header.Get("Location") != base+location {
				t.Errorf("%s: %d to %s", query, got.status, got.header.Get("Location"))
			}
		}
	}
	if got := call(t, client, "GET", srv.URL()+"/?try=//evil.test&arg=x", "", "Accept", "text/html"); got.status != 200 {
		t.Errorf("a form that is not there: %d", got.status)
	}
	scoped := call(t, client, "GET", srv.URL()+"/__scope/x/", "", "Accept", "text/html").body
	for _, part := range []string{"scope <b>x</b>", `action="/__scope/x/"`, `data-events="/__scope/x/__mock/events"`, `href="/__scope/x/orders/1"`} {
		if !strings.Contains(scoped, part) {
			t.Errorf("the page of a scope lacks %s", part)
		}
	}
}

func TestPageToken(t *testing.T) {
	srv := start(t, mockbackend.Options{AdminToken: "right"})
	client := newClient(t)
	add(t, srv, `{"id":"secret-stub","match":{"path":"/x"},"respond":{}}`)
	call(t, client, "GET", srv.URL()+"/secret-path", "")
	show := func(query string, headers ...string) answer {
		return call(t, client, "GET", srv.URL()+"/"+query, "", append(headers, "Accept", "text/html")...)
	}
	for _, query := range []string{"", "?token=wrong"} {
		got := show(query)
		if got.status != 200 || strings.Contains(got.body, "secret-") || !strings.Contains(got.body, "need the token") || got.header.Get("Set-Cookie") != "" {
			t.Errorf("%q: %+v", query, got)
		}
		if wrong := strings.Contains(got.body, "is not the one"); wrong != (query != "") {
			t.Errorf("%q: says that the token is wrong: %t", query, wrong)
		}
	}
	got := show("?token=right")
	cookie := fmt.Sprintf("touchstone-mock-%s=right", port(srv))
	if got.status != http.StatusSeeOther || got.header.Get("Location") != "/" || got.header.Get("Set-Cookie") != cookie+"; Path=/; HttpOnly; SameSite=Strict" {
		t.Errorf("with the token: %+v", got)
	}
	if got := show("", "Cookie", cookie); !strings.Contains(got.body, "secret-stub") || !strings.Contains(got.body, "secret-path") {
		t.Errorf("with the cookie: %s", got.body)
	}
	open := start(t, mockbackend.Options{})
	if got := call(t, client, "GET", open.URL()+"/?token=", "", "Accept", "text/html"); got.status != 200 || got.header.Get("Set-Cookie") != "" {
		t.Errorf("an empty token on a server without: %+v", got)
	}
}

// Every fault is on the page: those of a stub in the form, those of a listener
// as a link that leads there, in a scope too.
func TestPageListsEveryFault(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	page := call(t, newClient(t), "GET", srv.URL()+"/__scope/a/", "", "Accept", "text/html")
	for kind, about := range mockbackend.FaultKinds() {
		if !strings.Contains(page.body, `<option value="`+kind+`"`) || !strings.Contains(page.body, `<dt><code>`+kind+`</code></dt><dd>`+html.EscapeString(about)) {
			t.Errorf("the fault %s is not there", kind)
		}
	}
	for kind := range mockbackend.ListenerKinds() {
		if !strings.Contains(page.body, `<a href="/__scope/a/fault/`+kind+`" `) {
			t.Errorf("the listener %s is not there", kind)
		}
	}
}
