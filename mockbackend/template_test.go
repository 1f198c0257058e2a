package mockbackend_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/touchstone/mockbackend"
)

func TestTemplates(t *testing.T) {
	const target = "/o/a%2Fb%25/c/d%20e?q=say+%22hi%22&s=a;b"
	for name, tt := range map[string]struct{ path, query, respond, body, want, header string }{
		"segments": {path: `/o/{id}/{rest...}`, respond: `"text":"{{.Path.id}}|{{.Path.rest}}"`, want: "a/b%|c/d e"},
		"json": {path: `/o/{id}/{rest...}`, respond: `"json":{"id":"{{.Path.id}}","n":[1.50,"{{.Query \"q\"}}"],"{{.Method}}":"plain \\ {{.Cookie \"sid\"}}"}`,
			want: `{"id":"a/b%","n":[1.50,"say \"hi\""],"POST":"plain \\ s1"}`},
		"body": {path: `/o/{any...}`, respond: `"text":"{{.JSON.item.name}} {{json .JSON.item}} {{.JSON.n}} {{len .Body}}"`,
			body: `{"item":{"name":"pen"},"n":1.50}`, want: `pen {"name":"pen"} 1.50 32`},
		"headers": {path: `/o/{any...}`, respond: `"headers":[["X-T","{{.Header \"x-tag\"}}/{{.Header \"none\"}}/"]],"text":"{{.Target}}"`, want: target, header: "tag//"},
		"branches": {path: `/o/{any...}`, respond: `"text":"{{if eq .Count 1}}first{{else}}later{{end}}{{with .Query \"none\"}}{{.}}{{end}}{{range .JSON.list}}{{.}},{{$.Method}};{{end}}"`,
			body: `{"list":["x","y"]}`, want: "firstx,POST;y,POST;"},
		"numbers": {path: `/o/{any...}`, respond: `"text":"{{if gt .JSON.n 5}}more{{end}} {{if .JSON.zero}}some{{else}}none{{end}} {{.JSON.n}} {{.JSON.long}} {{.JSON.price}} {{if gt (number .JSON.price) 1.0}}dear{{end}} {{if eq (number (.Query \"n\")) 2.0}}two{{end}}"`,
			query: "&n=2", body: `{"n":1000000,"zero":0,"long":12345678901234567890,"price":1.50}`, want: "more none 1000000 12345678901234567890 1.50 dear two"},
		"with a fault":  {path: `/o/{id}/{rest...}`, respond: `"text":"{{.Path.id}}","fault":{"kind":"drip","intervalMs":1}`, want: "a/b%"},
		"query":         {path: `/o/{any...}`, respond: `"text":"{{.Query \"s\"}}"`, want: "a;b"},
		"cookies":       {path: `/o/{any...}`, respond: `"text":"{{.Cookie \"q\"}} {{.Cookie \"j\"}}"`, want: `a b {"a":1}`},
		"not asked for": {path: `/o/{id}/{rest...}`, respond: `"template":false,"text":"{{.Path.id}}"`, want: "{{.Path.id}}"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(tt.respond, `"template"`) {
				tt.respond += `,"template":true`
			}
			srv := start(t, mockbackend.Options{})
			add(t, srv, `{"match":{"path":"`+tt.path+`"},"respond":{`+tt.respond+`}}`)
			got := call(t, newClient(t), "POST", srv.URL()+target+tt.query, tt.body, "X-Tag", "tag", "Cookie", `sid=s1; q="a b"; j={"a":1}`)
			if got.body != tt.want || got.header.Get("X-T") != tt.header {
				t.Errorf("got %q, X-T %q; want %q, %q", got.body, got.header.Get("X-T"), tt.want, tt.header)
			}
		})
	}
}

// The number of an answer counts on, also through a sequence.
func TestTemplateCount(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	add(t, srv, `{"match":{},"sequence":{"responses":[{"template":true,"text":"a{{.Count}}"},{"template":true,"text":"b{{.Count}}"}],"then":"cycle"}}`)
	for _, want := range []string{"a1", "b2", "a3"} {
		if got := call(t, newClient(t), "GET", srv.URL()+"/", ""); got.body != want {
			t.Errorf("got %s, want %s", got.body, want)
		}
	}
}

// TestTemplateRange: what a range asks of the request costs no more than once.
func TestTemplateRange(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	add(t, srv, `{"match":{},"respond":{"template":true,"text":"{{range .JSON.items}}{{$.JSON.cur}}{{end}}"}}`)
	const n = 20000
	body := `{"cur":"E","items":[` + strings.Repeat(`{"id":0},`, n-1) + `{"id":0}]}`
	if got := call(t, newClient(t), "POST", srv.URL()+"/", body); got.body != strings.Repeat("E", n) {
		t.Errorf("%d: %.200s", got.status, got.body)
	}
}

// TestTemplateEnds: a range ends with the client.
func TestTemplateEnds(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	add(t, srv, `{"match":{},"respond":{"template":true,"text":"{{range 2}}x{{end}}"}}`)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	answer := httptest.NewRecorder()
	srv.ServeHTTP(answer, httptest.NewRequestWithContext(gone, "GET", "/", nil))
	if answer.Code != 500 || !strings.Contains(answer.Body.String(), "context canceled") {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
}

// A template that the request does not fit is a 500 that says so, here and in
// the journal.
func TestTemplateFails(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	for _, tt := range []struct{ respond, path, body, says string }{
		{`{"template":true,"text":"{{.JSON.a}}"}`, "/x", `{"b":1}`, `no entry for key "a"`},
		{`{"template":true,"text":"{{.JSON.a}}"}`, "/x", `{`, "JSON"},
		{`{"template":true,"headers":[["X-T","{{.Path.id}}"]]}`, "/a%0d%0aSet-Cookie:x", "", "more than one line"},
		{`{"template":true,"text":"{{range $i, $x := .JSON}}{{printf \"%1000000d\" $i}}{{end}}"}`, "/x", "[" + strings.Repeat("1,", 20) + "1]", "more than 16777216 bytes"},
		{`{"template":true,"text":"{{range .JSON.n}}{{end}}"}`, "/x", `{"n":1000000000000}`, "go round more than 100000 times"},
		{`{"template":true,"text":"{{range .JSON.n}}{{continue}}{{end}}"}`, "/x", `{"n":1000000000000}`, "go round more than 100000 times"},
		{`{"template":true,"text":"{{range 1000000000000}}{{end}}"}`, "/x", "", "go round more than 100000 times"},
		{`{"template":true,"text":"{{with .JSON}}{{range $i, $a := .}}{{range $.JSON}}{{range $.JSON}}{{else}}{{end}}{{end}}{{end}}{{end}}"}`, "/x", "[" + strings.Repeat("1,", 200) + "1]", "go round more than 100000 times"},
	} {
		id := add(t, srv, `{"match":{"path":"/{id}"},"respond":`+tt.respond+`}`)
		got := call(t, newClient(t), "POST", srv.URL()+tt.path, tt.body)
		if got.status != 500 || !strings.Contains(got.body, "The template of the stub "+id) || !strings.Contains(strings.ReplaceAll(got.body, `\"`, `"`), tt.says) {
			t.Errorf("%s: %d %s, want %s", tt.respond, got.status, got.body, tt.says)
		}
		if e := wait(t, srv, mockbackend.Filter{Stub: id, Done: true}, 1)[0]; e.Sent.Status != 500 || !strings.Contains(e.Sent.Error, tt.says) {
			t.Errorf("%s: the journal says %+v", tt.respond, e.Sent)
		}
		srv.Remove(id)
	}
}

func TestTemplateRefusals(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	for _, tt := range []struct{ respond, pointer, says string }{
		{`{"text":"{{"}`, "/respond", "is not a template"},
		{`{"text":"{{.Path.no}}"}`, "/respond", "the segment no, which the path does not name; it names [id]"},
		{`{"text":"{{if .Path.id}}{{else}}{{with 1}}{{$.Path.no}}{{end}}{{end}}"}`, "/respond", "the segment no"},
		{`{"text":"{{printf \"%s\" (print .Path.no)}}"}`, "/respond", "the segment no"},
		{`{"text":"{{.nope}}"}`, "/respond", "asks for .nope, which a request does not have; it has .Method, .Target, .Path, .Query,"},
		{`{"text":"{{range .JSON}}{{$.json}}{{end}}"}`, "/respond", "asks for .json"},
		{`{"json":{"a":["{{.Path.no}}"]}}`, "/respond/json", "the segment no"},
		{`{"headers":[["A","1"],["B","{{.Path.no}}"]]}`, "/respond/headers/1", "the segment no"},
		{`{"text":"{{define \"a\"}}{{end}}"}`, "/respond", "defines others"},
		{`{"text":"{{template \"stub\"}}"}`, "/respond", "calls others"},
		{`{"text":"{{env \"HOME\"}}"}`, "/respond", `"env" not defined`},
	} {
		_, err := srv.Add(mustStub(t, `{"match":{"path":"/{id}"},"respond":{"template":true,`+tt.respond[1:]+`}`))
		bad, ok := errors.AsType[*mockbackend.InvalidStubError](err)
		if !ok || bad.Pointer != tt.pointer || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", tt.respond, err)
		}
	}
}
