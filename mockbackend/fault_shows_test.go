package mockbackend_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/touchstone/mockbackend"
)

// TestFaultsThatWouldNotShow: a stub whose client would see a clean answer is
// refused.
func TestFaultsThatWouldNotShow(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	for respond, want := range map[string]string{
		`{"text":"hello","fault":{"kind":"truncated-body","afterBytes":5}}`:       "needs a body of at least 6 bytes to show, and this one has 5",
		`{"text":"hello","fault":{"kind":"stall-in-body","afterBytes":100}}`:      "at least 101 bytes",
		`{"text":"","fault":{"kind":"content-length-too-short"}}`:                 "at least 1 bytes",
		`{"text":"","fault":{"kind":"wrong-encoding"}}`:                           "at least 1 bytes",
		`{"text":"hello","fault":{"kind":"drip","bytes":5}}`:                      "at least 6 bytes",
		`{"text":"","fault":{"kind":"stall-after-headers"}}`:                      "at least 1 bytes",
		`{"status":204,"fault":{"kind":"stall-after-headers"}}`:                   "which a 204 does not have",
		`{"text":"abc","fault":{"kind":"reset","afterBytes":50000}}`:              "needs an answer of at least 50001 bytes to show, and this one has 1",
		`{"status":204,"fault":{"kind":"endless-body"}}`:                          "which a 204 does not have",
		`{"status":304,"fault":{"kind":"malformed-chunk"}}`:                       "which a 304 does not have",
		`{"status":204,"fault":{"kind":"truncated-body"}}`:                        "which a 204 does not have",
		`{"status":204,"fault":{"kind":"compressed-bomb"}}`:                       "which a 204 does not have",
		`{"text":"hello","fault":{"kind":"drip","intervalMs":9223372036855}}`:     "intervalMs",
		`{"text":"hello","fault":{"kind":"stall-in-body","durationMs":3600001}}`:  "durationMs",
		`{"text":"hello","template":true,"fault":{"kind":"drip","bytes":-1}}`:     "bytes",
		`{"text":"hello","fault":{"kind":"reset","durationMs":9223372036854775}}`: "durationMs",
	} {
		_, err := mockbackend.DecodeStub([]byte(`{"match":{"path":"/f"},"respond":` + respond + `}`))
		if err == nil {
			_, err = srv.Add(mustStub(t, `{"match":{"path":"/f"},"respond":`+respond+`}`))
		}
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "/respond/fault") {
			t.Errorf("%s: %v\nwant %q", respond, err, want)
		}
	}
	if _, err := srv.Add(mustStub(t, `{"match":{"path":"/f"},"respond":{"status":200,"fault":{"kind":"redirect-loop"}}}`)); err == nil || !strings.Contains(err.Error(), "/respond/status: is 200") {
		t.Errorf("a redirect with 200: %v", err)
	}
	for _, path := range []string{"/fault/reset?afterBytes=50000", "/fault/drip?intervalMs=3600001", "/fault/truncated-body?afterBytes=1000", "/delay/18446744073710", "/delay/3600001"} {
		if got := call(t, newClient(t), "GET", srv.URL()+path, ""); got.status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}

// TestFaultWithoutBody: who names a fault alone gets a body for it to show in.
func TestFaultWithoutBody(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	add(t, srv, `{"match":{"path":"/f"},"respond":{"fault":{"kind":"truncated-body"}}}`)
	resp, err := srv.Client().Get(srv.URL() + "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); err != io.ErrUnexpectedEOF || len(got) == 0 {
		t.Errorf("%q, %v", got, err)
	}
}

// TestRedirectLoopStatus: a redirect keeps the status that its stub gives.
func TestRedirectLoopStatus(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	for _, status := range []int{301, 302, 303, 307, 308} {
		add(t, srv, fmt.Sprintf(`{"match":{"path":"/r/%d"},"respond":{"status":%[1]d,"fault":{"kind":"redirect-loop"}}}`, status))
		client := newClient(t)
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		path := fmt.Sprintf("/r/%d", status)
		if got := call(t, client, "GET", srv.URL()+path+"?a=b;c", ""); got.status != status || got.header.Get("Location") != path+"?a=b%3Bc&hop=1" {
			t.Errorf("%d: got %d to %s", status, got.status, got.header.Get("Location"))
		}
	}
}

// TestRedirectLoopStays: a path that begins with two slashes names no host.
func TestRedirectLoopStays(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	add(t, srv, `{"match":{"path":"/{x...}"},"respond":{"fault":{"kind":"redirect-loop"}}}`)
	client := newClient(t)
	hops := 0
	client.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if hops++; "http://"+r.URL.Host != srv.URL() || r.URL.Path != "//evil.example/x" {
			t.Errorf("it leads to %s", r.URL)
		}
		if hops == 3 {
			return http.ErrUseLastResponse
		}
		return nil
	}
	if got := call(t, client, "GET", srv.URL()+"//evil.example/x", ""); got.status != http.StatusFound {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// TestFaultOfTemplate: what a template makes may be too short for the fault; the
// journal then says so, and names no fault.
func TestFaultOfTemplate(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	add(t, srv, `{"match":{"path":"/f/{text}"},"respond":{"text":"{{.Path.text}}","template":true,"fault":{"kind":"truncated-body","afterBytes":3}}}`)
	if got := call(t, newClient(t), "GET", srv.URL()+"/f/abc", ""); got.status != 200 || string(got.body) != "abc" {
		t.Errorf("%d %s", got.status, got.body)
	}
	if sent := wait(t, srv, mockbackend.Filter{Path: "/f/abc", Done: true}, 1)[0].Sent; sent.Fault != "" || !strings.Contains(sent.Error, "at least 4 bytes") {
		t.Errorf("%+v", sent)
	}
	resp, err := srv.Client().Get(srv.URL() + "/f/abcd")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); string(got) != "abc" || err != io.ErrUnexpectedEOF {
		t.Errorf("%q, %v", got, err)
	}
}

// TestFaultsOfHead: a HEAD has no body to fail in. No fault keeps the server
// from closing once the client has left.
func TestFaultsOfHead(t *testing.T) {
	for _, tls := range []bool{false, true} {
		srv := start(t, mockbackend.Options{TLS: tls})
		for kind := range mockbackend.FaultKinds() {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			req, err := http.NewRequestWithContext(ctx, http.MethodHead, srv.URL()+"/fault/"+kind, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := srv.Client().Do(req)
			if err == nil {
				resp.Body.Close()
			}
			cancel()
			switch kind {
			case "drip", "endless-body", "stall-after-headers", "stall-in-body", "truncated-body", "malformed-chunk":
				if err != nil || resp.StatusCode != 200 {
					t.Errorf("%s, TLS %t: %v", kind, tls, err)
				} else if sent := wait(t, srv, mockbackend.Filter{Path: "/fault/" + kind, Done: true}, 1)[0].Sent; sent.Fault != "" || sent.Phase != mockbackend.PhaseComplete {
					t.Errorf("%s, TLS %t: %+v", kind, tls, sent)
				}
			}
		}
		closed := make(chan error, 1)
		go func() { closed <- srv.Close() }()
		select {
		case err := <-closed:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Fatalf("TLS %t: Close does not come to an end", tls)
		}
	}
}
