package compose_test

import (
	"context"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/touchstone/reference/compose"
	"github.com/google/go-cmp/cmp"
)

// received is what a backend sees of a request.
type received struct {
	Method, RequestURI, ContentType, Body string
	Header                                http.Header // what the case is about
}

// dispatch composes and sends a call, and gives what arrived.
func dispatch(t *testing.T, template string, c compose.Call, prefix string, headers ...string) received {
	t.Helper()
	var got received
	backend := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Errorf("reading the request: %v", err)
		}
		got = received{req.Method, req.RequestURI, req.Header.Get("Content-Type"), string(body), http.Header{}}
		for _, name := range headers {
			got.Header[name] = req.Header[name]
		}
	}))
	defer backend.Close()
	r, err := compose.Compose(parseTemplate(t, template), c)
	if err != nil {
		t.Fatal(err)
	}
	req, err := r.HTTPRequest(t.Context(), backend.URL+prefix)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := backend.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return got
}

// The bytes on the wire are the composed ones: no part of net/http normalises them.
func TestHTTPRequest(t *testing.T) {
	template := `{"method":"QUERY","route":"/fleet/{id}/log","parameters":[
		{"name":"id","in":"path","type":"string"},
		{"name":"o","in":"query","type":"object","members":[{"name":"m","type":"string"}]},
		{"name":"p","in":"query","array":true,"style":"pipeDelimited"},
		{"name":"x-hull","in":"header","type":"string"},{"name":"c","in":"cookie","type":"string"}],
		"body":{"properties":["v"]}}`
	c := call(`{"id":"../a b!","o":{"m":"1 2"},"p":["x","y"],"x-hull":"a\tb","c":";","v":1.50}`)
	c.CarrierCookies = "sid=1"
	want := received{
		Method:      "QUERY",
		RequestURI:  "/api/fleet/..%2Fa%20b%21/log?o[m]=1%202&p=x|y",
		ContentType: "application/json",
		Body:        `{"v":1.50}`,
		Header:      http.Header{"X-Hull": {"a\tb"}, "Cookie": {"sid=1; c=%3B"}},
	}
	for _, prefix := range []string{"/api", "/api/"} {
		if diff := cmp.Diff(want, dispatch(t, template, c, prefix, "X-Hull", "Cookie")); diff != "" {
			t.Errorf("prefix %s (-want +got):\n%s", prefix, diff)
		}
	}
}

func TestPayload(t *testing.T) {
	tests := []struct {
		name, template, arguments, contentType, body string
	}{
		{"none", params(``), `{}`, "", ""},
		{"root left out", jsonRoot, `{}`, "", ""},
		{"JSON of its own type", jsonRoot, `{"doc":[1, 2]}`, "application/vnd.boat+json; v=1", "[1, 2]"},
		{"form", urlencoded, `{"count":1,"tags":["ü"]}`, "application/x-www-form-urlencoded", "n=1&tags=%C3%BC"},
		{"empty form", urlencoded, `{}`, "application/x-www-form-urlencoded", ""},
		{"text", textRoot, `{"note":"a\nü"}`, "text/markdown", "a\nü"},
		{"file", fileRoot, `{"photo":{"base64":"AP8="}}`, "image/png", "\x00\xff"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := dispatch(t, tt.template, call(tt.arguments), "")
			if got.ContentType != tt.contentType || got.Body != tt.body {
				t.Errorf("sent %q as %q, want %q as %q", got.Body, got.ContentType, tt.body, tt.contentType)
			}
		})
	}
}

func TestMultipartPayload(t *testing.T) {
	got := dispatch(t, multipartForm, call(`{"a b":"line\r\n--x","dim":{"w é":2},
		"plan":{"text":"ü","name":"plän 'v1'.csv"},"photos":[{"base64":"AP8=","mediaType":"image/png"},{"text":""}]}`), "")
	media, attributes, err := mime.ParseMediaType(got.ContentType)
	if err != nil || media != "multipart/form-data" {
		t.Fatalf("content type %q: %v", got.ContentType, err)
	}
	type part struct{ Name, Filename, ContentType, Body string }
	want := []part{
		{"a b", "", "", "line\r\n--x"},
		{"dim[w é]", "", "", "2"},
		{"plan", "plän 'v1'.csv", "text/csv", "ü"},
		{"photos", "photos", "image/png", "\x00\xff"},
		{"photos", "photos", "text/plain; charset=utf-8", ""},
	}
	var parts []part
	reader := multipart.NewReader(strings.NewReader(got.Body), attributes["boundary"])
	for {
		p, err := reader.NextPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(p)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, part{p.FormName(), p.FileName(), p.Header.Get("Content-Type"), string(body)})
	}
	if diff := cmp.Diff(want, parts); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

func TestHTTPRequestErrors(t *testing.T) {
	r := &compose.Request{Method: "GET", PathAndQuery: "/p"}
	if _, err := r.HTTPRequest(context.Background(), "http://[::1"); err == nil || !strings.HasPrefix(err.Error(), "making the request: ") {
		t.Errorf("with a bad base URL: %v", err)
	}
	unresolved := composeRef(t, `{"ref":"r"}`)
	if _, err := unresolved.HTTPRequest(context.Background(), "http://127.0.0.1"); err == nil {
		t.Error("with an unresolved file: no error")
	}
}

func TestEmptyHeadersJSON(t *testing.T) {
	got, err := json.Marshal(compose.Headers{})
	if err != nil || string(got) != "{}" {
		t.Errorf("Marshal(Headers{}) = %s, %v", got, err)
	}
}
