package mockbackend_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/mockbackend"
)

// A name is judged alike wherever it stands: as a JSON member alone and in a
// line, in a form, a text, an element, an attribute, a query and a header.
func TestRecordingJudgesNames(t *testing.T) {
	const value = "zq7Wv-kept"
	secrets := []string{
		"token", "tokens", "token_value", "accessToken", "access-token", "IDToken", "user[token]", "user%5Btoken%5D", "refresh.token", "apitoken",
		"password", "passwords", "user[pwd]", "PWD", "db_password_2", "passPhrase", "client-secret", "client_secret", "api_key", "apikeys", "X-Api-Key",
		"authKey", "X-Auth-Key", "X-Auth", "auth", "X-Session", "session", "sessionId", "JSESSIONID", "PHPSESSID", "connect.sid", "sid",
		"cookies", "cookie", "jwt", "otp", "signature", "X-Authorization", "csrf", "credentials", "Ocp-Apim-Subscription-Key",
		"pass", "DB_PASS", "userPass", "SMTP_PASS", "X-User-Pass", "auth_code", "otpCode", "device_code", "authorization_code",
	}
	open := []string{
		"monkey", "tokenizer", "keyboard", "author", "authors", "authority", "authenticated", "session_count", "sessions", "passenger", "compass",
		"token_type", "tokenCount", "token_endpoint", "token_endpoint_auth_methods_supported", "authorization_endpoint", "cookie_policy", "signature_algorithm", "nextPageToken",
		"side", "inside", "signal", "design", "optional", "code", "key", "country_code", "sort_key", "keys", "resident", "laptop",
		"pass_count", "passed", "bypass", "encode", "author_code", "auth_code_expires",
	}
	var answer string
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name := r.Header.Get("Wanted"); name != "" {
			w.Header().Set(name, value)
		}
		_, _ = io.WriteString(w, answer)
	}))
	defer backend.Close()
	client := newClient(t)
	kept := func(query, body, header string) bool {
		answer = body
		rec, proxy, recorded := record(t, backend.URL, mockbackend.RecorderOptions{})
		defer proxy.Close()
		call(t, client, "GET", proxy.URL+"/"+query, "", "Wanted", header)
		recorded(1)
		data, err := json.Marshal(rec.Stubs())
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(data), value)
	}
	check := func(name string, want bool) {
		element := strings.NewReplacer("[", ".", "]", "", "%5B", ".", "%5D", "").Replace(name)
		member, err := url.QueryUnescape(name)
		if err != nil {
			t.Fatal(err)
		}
		places := map[string][3]string{
			"JSON":         {"", fmt.Sprintf(`{"a": {%q: %q}}`, member, value), ""},
			"name beside":  {"", fmt.Sprintf(`{"a": {"b": 1}, "env": [{"name": %q, "value": %q}, {"name": "a", "value": "b"}]}`, member, value), ""},
			"name behind":  {"", fmt.Sprintf(`[{"Value": {"text": [%q]}, "Key": %q}]`, value, member), ""},
			"pair":         {"", fmt.Sprintf(`{"a": [["a", %q], [%q, %q], ["c", "d"]]}`, "b", member, value), ""},
			"escaped":      {"", "see /a/" + name + "%3D" + value + " or not", ""},
			"NDJSON":       {"", fmt.Sprintf("{\"a\": 1}\n{%q: [%q]}\n", member, value), ""},
			"broken JSON":  {"", fmt.Sprintf(`{"a": 1, %q: %q`, member, value), ""},
			"form":         {"", "a=1&" + name + "=" + value, ""},
			"text":         {"", "it failed with " + member + "=" + value + ", alas", ""},
			"line":         {"", "a: b\n" + member + ": one " + value + "\nc: d\n", ""},
			"quoted":       {"", "a " + member + "=\"one, two & " + value + "\" b", ""},
			"element":      {"", "<r><" + element + " x='1'>one " + value + "</" + element + "></r>", ""},
			"CDATA":        {"", "<n:" + element + "><![CDATA[" + value + "]]></n:" + element + ">", ""},
			"attribute":    {"", "<user " + element + "='" + value + "'/>", ""},
			"field":        {"", `<input type="hidden" name="` + member + `" value="` + value + `">`, ""},
			"link":         {"", `see <https://h.test/cb?a=1&` + name + "=" + value + ">", ""},
			"query pair":   {"?name=" + name + "&value=" + value, "", ""},
			"form pair":    {"", "value=" + value + "&a=1&key=" + name, ""},
			"property":     {"", `<c><property name="a">b</property><property name="` + member + `">` + value + `</property></c>`, ""},
			"bean":         {"", `<property name="` + member + `"><value>one ` + value + `</value></property>`, ""},
			"entry":        {"", "<entry><key>a</key><value>b</value></entry>\n<entry>\n <key>" + member + "</key>\n <value>" + value + "</value></entry>", ""},
			"entry behind": {"", "<e><value>" + value + "</value><name>" + member + "</name></e><e><value>b</value><name>a</name></e>", ""},
			"plist":        {"", "<dict><key>" + member + "</key>\n<string>" + value + "</string></dict>", ""},
			"YAML names":   {"", "env:\n- name: a\n  value: b\n- name: " + member + "\n  value: one " + value + "\n", ""},
			"YAML behind":  {"", "env:\n- value: one " + value + "\n  name: " + member + "\n- value: c\n  name: d\n", ""},
			"YAML flow":    {"", "env: [{name: a, value: b}, {name: " + member + ", value: one " + value + "}]\n", ""},
			"YAML braces":  {"", "env: {a: b, " + member + ": one " + value + "}\n", ""},
			"query":        {"?a=1&" + name + "=" + value, "", ""},
		}
		if !strings.ContainsAny(name, "[]%") {
			places["header"] = [3]string{"", "", name}
		}
		for place, p := range places {
			if got := kept(p[0], p[1], p[2]); got != want {
				t.Errorf("%s in %s is kept: %t, want %t", name, place, got, want)
			}
		}
	}
	for _, name := range secrets {
		check(name, false)
	}
	for _, name := range open {
		check(name, true)
	}
}

// What surrounds a secret stays.
func TestRecordingReplacesTheValueAlone(t *testing.T) {
	for _, tt := range []struct{ contentType, body, want string }{
		{"application/x-ndjson", "{\"token\":\"tok-1\"}\n{\"password\":\"p@ss,word\", \"n\": 1}\n\n[1,2]\n", "{\"token\":\"REDACTED\"}\n{\"password\":\"REDACTED\",\"n\":1}\n\n[1,2]\n"},
		{"text/event-stream", "id: 1\ndata: {\"token\":\"t\",\"sid\":\"s\"}\r\n\ndata:{\"n\": 1}\n\ndata: [DONE]\n\n", "id: 1\ndata: {\"token\":\"REDACTED\",\"sid\":\"REDACTED\"}\r\n\ndata:{\"n\": 1}\n\ndata: [DONE]\n\n"},
		{"text/event-stream", "data: {\"token\":\ndata:   \"t\"}\n\ndata: more\n", "data: {\"token\":\"REDACTED\"}\n\ndata: more\n"},
		{"application/json", `{"tokens":["a"],"cookies":{"a":"b","n":1},"usage":{"tokens":4,"max_tokens":20},"auth":true,"session":null}`, `{"tokens":["REDACTED"],"cookies":{"a":"REDACTED","n":0},"usage":{"tokens":4,"max_tokens":20},"auth":true,"session":null}`},
		{"text/plain", `password="correct horse battery" pwd='a;b' api_key=x,y, auth=true tokens=15 ok`, `password="REDACTED" pwd='REDACTED' api_key=REDACTED, auth=true tokens=15 ok`},
		{"text/plain", "GET / HTTP/1.1\nAuthorization: Digest u=\"b\", r=c\nCookie: a=b; c=d\nHost: h\n", "GET / HTTP/1.1\nAuthorization: REDACTED\"b\", r=c\nCookie: REDACTED\nHost: h\n"},
		{"text/plain", `log: {\"token\":\"t\",\"n\":1} tokens=[a, b] end`, `log: {\"token\":\"REDACTED\",\"n\":1} tokens=REDACTED end`},
		{"text/yaml", "auth:\n  kind: x\n  token: a b\npassword:\n  secret one\nend: 1\n", "auth:\n  kind: x\n  token: REDACTED\npassword:\n  REDACTED\nend: 1\n"},
		{"application/x-www-form-urlencoded", "token=t&jwt=j&scope=x&code=200&key=name", "token=REDACTED&jwt=REDACTED&scope=x&code=200&key=name"},
		{"application/x-www-form-urlencoded", "grant_type=authorization_code&code=SplxlOBeZQQ&client_id=c", "grant_type=authorization_code&code=REDACTED&client_id=c"},
		{"text/xml", "<r><client-secret>a</client-secret><secrets><v>b</v></secrets><api_key/><name>n</name><token>c", "<r><client-secret>REDACTED</client-secret><secrets>REDACTED</secrets><api_key/><name>n</name><token>REDACTED"},
		{"application/json", `{"h":[["Authorization","a"],["A","b"],["token",{"x":"c"}]],"required":["password","email"],"p":["token","d"]}`, `{"h":[["Authorization","REDACTED"],["A","b"],["token",{"x":"REDACTED"}]],"required":["password","email"],"p":["token","d"]}`},
		{"text/html", `<div id="session"><p>one</p></div><form name="session"><input name="a" value="b"></form><p id="session">t</p>`, `<div id="session"><p>one</p></div><form name="session"><input name="a" value="b"></form><p id="session">REDACTED</p>`},
		{"text/xml", "<e><name>a</name><value>b</value></e><e><name>token</name><value>c</value></e>", "<e><name>a</name><value>b</value></e><e><name>token</name><value>REDACTED</value></e>"},
		{"text/yaml", "- name: a\n  value: b\n- name: token\n  value: c d\n- {name: token, value: c d, n: 1}\n", "- name: a\n  value: b\n- name: token\n  value: REDACTED\n- {name: token, value: REDACTED, n: 1}\n"},
		{"application/x-www-form-urlencoded", "name=password&value=a&n=1", "name=password&value=REDACTED&n=1"},
		{"text/html", `<meta content="c" name="csrf-token"><p>Session</p>`, `<meta content="REDACTED" name="csrf-token"><p>Session</p>`},
	} {
		backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", tt.contentType)
			_, _ = io.WriteString(w, tt.body)
		}))
		rec, proxy, recorded := record(t, backend.URL, mockbackend.RecorderOptions{})
		call(t, newClient(t), "GET", proxy.URL+"/", "")
		recorded(1)
		got := rec.Stubs()[0].Respond
		text := string(got.JSON)
		if got.Text != nil {
			text = *got.Text
		}
		if diff := cmp.Diff(tt.want, text); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.body, diff)
		}
		backend.Close()
	}
}

// A request that held secrets is matched again, with others in their place.
func TestRecordingMatchesRequestsWithOtherSecrets(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "answer to ", path.Base(r.URL.Path))
	}))
	defer backend.Close()
	rec, proxy, recorded := record(t, backend.URL, mockbackend.RecorderOptions{})
	client := newClient(t)
	const form = "application/x-www-form-urlencoded"
	requests := []struct{ path, contentType, body string }{
		{"/form", form, "user%5Btoken%5D=SECRET1&x=1"},
		{"/pwd", form, "user%5Bpwd%5D=SECRET1"},
		{"/text", "text/plain", "token=SECRET1"},
		{"/list", "application/json", `{"tokens": ["SECRET1"], "max_tokens": 5}`},
		{"/grant", "application/json", `{"grant_type": "authorization_code", "code": "SECRET1"}`},
		{"/lines", "application/x-ndjson", "{\"token\":\"SECRET1\"}\n{}\n"},
		{"/pair?name=password&value=SECRET1", "", ""},
		{"/pair", form, "name=password&value=SECRET1"},
		{"/password%3DSECRET1/a", "", ""},
		{"/pass%77ord=SECRET1/a", "", ""},
		{"/pairs", "application/json", `{"a": 1, "headers": [["X-Api-Key", "SECRET1"]]}`},
		{"/cb?code=SECRET1&state=x", "", ""},
		{"/map?key=SECRET1SECRET1SECRET1&q=1", "", ""},
		{"/entry?key=name&code=de", "", ""},
	}
	run := func(base, secret string) (got []string) {
		for _, r := range requests {
			method := "POST"
			if r.body == "" {
				method = "GET"
			}
			a := call(t, client, method, base+strings.ReplaceAll(r.path, "SECRET1", secret), strings.ReplaceAll(r.body, "SECRET1", secret), "Content-Type", r.contentType)
			got = append(got, a.body)
		}
		return got
	}
	real := run(proxy.URL, "SECRET1")
	recorded(len(requests))
	data, err := mockbackend.MarshalStubs("out.yaml", rec.Stubs(), "")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), "SECRET1") {
		t.Errorf("it holds secrets:\n%s", data)
	}
	srv := start(t, mockbackend.Options{StubsOnly: true})
	if _, err := srv.LoadFiles(write(t, "out.yaml", string(data))...); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(real, run(srv.URL(), "OTHER22")); diff != "" {
		t.Errorf("replay (-backend +mock):\n%s\nfrom\n%s", diff, data)
	}
	// What tells requests apart is a condition still.
	for _, other := range []string{"/entry?key=other&code=de", "/map?key=x&q=2"} {
		if got := call(t, client, "GET", srv.URL()+other, ""); got.status != http.StatusNotFound {
			t.Errorf("%s is answered with %d %s", other, got.status, got.body)
		}
	}
}

// Secrets are found in any charset, or the exchange is left out with the reason.
func TestRecordingOfBytes(t *testing.T) {
	for _, tt := range []struct{ contentType, body, want, skipped string }{
		{"text/plain; charset=iso-8859-1", "caf\xe9 password=hunter2 Bearer abcdefgh12345678", "caf\xe9 password=REDACTED Bearer REDACTED", ""},
		{"image/png", "\x89PNG\x00\xff sid", "\x89PNG\x00\xff sid", ""},
		{"application/x-thing", "\xff\x00\x01password=hunter2\x00", "", "binary"},
		{"text/plain; charset=UTF-16LE", "p\x00w\x00d\x00=\x00x\x00", "", "two or four bytes"},
		{"text/plain", "\xff\xfep\x00w\x00d\x00=\x00x\x00", "", "two or four bytes"},
	} {
		backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", tt.contentType)
			_, _ = io.WriteString(w, tt.body)
		}))
		done := make(chan mockbackend.Recorded, 1)
		transport := &http.Transport{}
		rec, err := mockbackend.NewRecorder(backend.URL, mockbackend.RecorderOptions{Transport: transport, Done: func(r mockbackend.Recorded) { done <- r }})
		if err != nil {
			t.Fatal(err)
		}
		proxy := httptest.NewServer(rec)
		if got := call(t, newClient(t), "GET", proxy.URL+"/", ""); got.body != tt.body {
			t.Errorf("%q came as %q", tt.body, got.body)
		}
		r := <-done
		switch {
		case tt.skipped != "":
			if r.Skipped == nil || !strings.Contains(r.Skipped.Error(), tt.skipped) || len(rec.Stubs()) != 0 {
				t.Errorf("%q: skipped %v, recorded %v", tt.body, r.Skipped, rec.Stubs())
			}
		case r.Skipped != nil || string(rec.Stubs()[0].Respond.Bytes) != tt.want:
			t.Errorf("%q: skipped %v, recorded %+v", tt.body, r.Skipped, rec.Stubs())
		}
		proxy.Close()
		backend.Close()
		transport.CloseIdleConnections()
	}
}

// Of a cookie all but the value stays, whether it has a name or not.
func TestRecordingOfCookies(t *testing.T) {
	s := map[string]string{
		"sid=LEAK; Path=/": "sid=REDACTED; Path=/",
		"LEAK; Path=/":     "REDACTED; Path=/",
		"LEAK":             "REDACTED",
		"=LEAK; Secure":    "=REDACTED; Secure",
		"a=LEAK=LEAK;":     "a=REDACTED;",
	}
	for cookie, want := range s {
		backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Set-Cookie"] = []string{cookie}
		}))
		rec, proxy, recorded := record(t, backend.URL, mockbackend.RecorderOptions{})
		call(t, newClient(t), "GET", proxy.URL+"/", "")
		recorded(1)
		got := ""
		for _, h := range rec.Stubs()[0].Respond.Headers {
			if h.Name == "Set-Cookie" {
				got = h.Value
			}
		}
		if got != want {
			t.Errorf("%s is recorded as %s, want %s", cookie, got, want)
		}
		backend.Close()
	}
}
