package mockbackend_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/mockbackend"
	"example.com/touchstone/schemas"
)

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
		"/signed":     `{"next": "https://files.internal/a?page=2&sig=` + secretWord + `"}`,
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
		call(t, client, "POST", proxy.URL+"/login", `{"name": "password", "value": "`+secretWord+`"}`)
		call(t, client, "POST", proxy.URL+"/login", `user=bob&password=`+secretWord, "Content-Type", "application/x-www-form-urlencoded")
		call(t, client, "POST", proxy.URL+"/login", `sid=`+secretWord, "Content-Type", "application/x-www-form-urlencoded")
		recorded(len(bodies) + 7)
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
	for _, kept := range []string{"sid=REDACTED; Path=/; HttpOnly", "password: REDACTED", "ok: true", "Bearer REDACTED", "postgres://REDACTED", "https://REDACTED@shop.internal/x", "token_type=bearer", "pin: 1", "a?page=2&sig=REDACTED"} {
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
		{Method: "POST", Path: "/login", Body: &schemas.StubBodyMatch{Subset: json.RawMessage(`{"name":"password"}`)}},
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
	body := `{"usage":{"total_tokens":15,"max_tokens":20},"token_type":"bearer","tokens":4,"message":"Basic authentication is required","url":"https://shop.internal/orders?page=2","nextPageToken":"CAUQAA","secretary":"x","server":"web-1","at":"user@shop.internal"}`
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

// Names that the caller gives are secrets too, in every place and spelling.
func TestRecordingReplacesNamedSecrets(t *testing.T) {
	const secret = "acme-4711"
	bodies := map[string]string{
		"/json": `{"tenantName": "` + secret + `", "ok": true}`,
		"/text": "the Tenant-Name: " + secret + " is closed",
	}
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Tenant-Name", secret)
		_, _ = io.WriteString(w, bodies[r.URL.Path])
	}))
	defer backend.Close()
	record := func(opts mockbackend.RecorderOptions) string {
		rec, proxy, recorded := record(t, backend.URL, opts)
		client := newClient(t)
		call(t, client, "GET", proxy.URL+"/json?tenant_name="+secret, "")
		call(t, client, "POST", proxy.URL+"/text", "tenant-name="+secret, "Content-Type", "application/x-www-form-urlencoded")
		recorded(2)
		data, err := mockbackend.MarshalStubs("out.yaml", rec.Stubs(), "")
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if got := record(mockbackend.RecorderOptions{}); strings.Count(got, secret) != 6 {
		t.Errorf("without a name it is no secret:\n%s", got)
	}
	got := record(mockbackend.RecorderOptions{Secrets: []string{"Tenant-Name"}})
	if strings.Contains(got, secret) || strings.Count(got, mockbackend.Redacted) != 4 || !strings.Contains(got, "ok: true") {
		t.Errorf("it holds what was named:\n%s", got)
	}
}
