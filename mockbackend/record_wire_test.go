package mockbackend_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"


	"example.com/touchstone/mockbackend"
)

// replay writes a recording to a file and starts a server with it.
func replay(t *testing.T, rec *mockbackend.Recorder, opts mockbackend.Options) *mockbackend.Server {
	t.Helper()
	data, err := mockbackend.MarshalStubs("out.yaml", rec.Stubs(), "")
	if err != nil {
		t.Fatal(err)
	}
	opts.StubsOnly = true
	srv := start(t, opts)
	if _, err := srv.LoadFiles(write(t, "out.yaml", string(data))...); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return srv
}

// A backend gets the target as the client sent it, whatever Go makes of its
// query, and the stub answers to it.
func TestRecorderPassesQueriesOn(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.RequestURI)
	}))
	defer backend.Close()
	for _, base := range []string{"", "/api"} {
		rec, proxy, recorded := record(t, backend.URL+base, mockbackend.RecorderOptions{})
		client := newClient(t)
		targets := []string{"/semicolon?a=1;b=2", "/percent?x=%zz&y=1", "/half?x=%2", "/empty?", "/odd?&&=&a", "/plain?a=1&b=2", "/order?b=2&a=1&b=1"}
		for _, target := range targets {
			if got := call(t, client, "GET", proxy.URL+target, ""); got.body != base+target {
				t.Errorf("%s reached the backend at %q as %s", target, base, got.body)
			}
		}
		recorded(len(targets))
		srv := replay(t, rec, mockbackend.Options{})
		for _, target := range targets {
			if got := call(t, client, "GET", srv.URL()+target, ""); got.body != base+target {
				t.Errorf("%s is replayed as %d %s", target, got.status, got.body)
			}
		}
	}
}
