//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/touchstone/mockbackend"
)

// A backend that was recorded is replayed.
func TestMockRecord(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "sid=9f8e7d6c5b; Path=/")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s with Bearer 9f8e7d6c5b", r.Method, r.URL)
	}))
	defer backend.Close()
	dir := t.TempDir()
	out := filepath.Join(dir, "stubs.yaml")
	p := startMock(t, "--record-from", backend.URL, "--out", out, "--verbose")
	status, body := fetch(t, "GET", p.url("/pot?size=2"), "", "Authorization", "Bearer 9f8e7d6c5b")
	if status != http.StatusTeapot || body != "GET /pot?size=2 with Bearer 9f8e7d6c5b" {
		t.Errorf("through the recorder: %d %s", status, body)
	}
	p.until("the recording while it runs", func() bool {
		data, err := os.ReadFile(out)
		return err == nil && strings.Contains(string(data), "/pot")
	})
	fetch(t, "PUT", p.url("/pot"), `{"full": true}`)
	if code := p.interrupt(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if said := p.stdout.String(); !strings.Contains(said, "2 stubs from 2 requests") || !strings.Contains(said, `PUT "/pot" -> 418`) {
		t.Errorf("it said %s", said)
	}
	data, err := os.ReadFile(out)
	if err != nil || strings.Contains(string(data), "9f8e7d6c5b") || !strings.HasPrefix(string(data), "# Recorded from "+backend.URL+" on ") {
		t.Errorf("%v; the recording is %s", err, data)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the directory has %v", entries)
	}

	replay := startMock(t, "--stubs", out)
	for request, want := range map[[3]string]string{
		{"GET", "/pot?size=2", ""}:           "GET /pot?size=2 with Bearer REDACTED",
		{"PUT", "/pot", `{ "full" : true }`}: "PUT /pot with Bearer REDACTED",
	} {
		if status, body := fetch(t, request[0], replay.url(request[1]), request[2]); status != http.StatusTeapot || body != want {
			t.Errorf("%v is replayed as %d %s", request, status, body)
		}
	}

	kept := filepath.Join(dir, "kept.json")
	p = startMock(t, "--record-from", backend.URL, "--out", kept, "--keep-secrets")
	fetch(t, "GET", p.url("/pot"), "")
	p.interrupt()
	if data, err := os.ReadFile(kept); err != nil || !strings.Contains(string(data), "sid=9f8e7d6c5b") || !strings.HasPrefix(string(data), "{") {
		t.Errorf("%v; with secrets the recording is %s", err, data)
	}
	if !strings.Contains(p.stdout.String(), "WITH ITS SECRETS") {
		t.Error("it does not warn of the secrets")
	}
}

// An interrupt saves what is finished before it waits for the rest: a second one
// loses nothing of it.
func TestMockRecordInterrupted(t *testing.T) {
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprintf("again %t", again), func(t *testing.T) {
			release, held := make(chan struct{}), make(chan struct{})
			backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/slow" {
					close(held)
					<-release
				}
				fmt.Fprint(w, "answer to ", r.URL.Path)
			}))
			defer backend.Close()
			let := sync.OnceFunc(func() { close(release) })
			defer let()
			out := filepath.Join(t.TempDir(), "stubs.yaml")
			recorded := func(path string) bool {
				data, err := os.ReadFile(out)
				return err == nil && strings.Contains(string(data), path)
			}
			p := startMock(t, "--record-from", backend.URL, "--out", out, "--verbose")
			fetch(t, "GET", p.url("/quick"), "")
			p.until("the end of the quick answer", func() bool { return strings.Contains(p.stdout.String(), `GET "/quick" -> 200`) })
			slow := make(chan struct{})
			go func() {
				defer close(slow)
				if answer, err := http.Get(p.url("/slow")); err == nil {
					answer.Body.Close()
				}
			}()
			<-held
			if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			p.until("the waiting", func() bool { return strings.Contains(p.stdout.String(), "Waiting up to") })
			if !recorded("/quick") || recorded("/slow") {
				t.Errorf("while it waits, /quick is recorded: %t, /slow: %t", recorded("/quick"), recorded("/slow"))
			}
			if again {
				p.interrupt()
				let()
			} else {
				let()
				<-p.ended
				if code := p.cmd.ProcessState.ExitCode(); code != 0 {
					t.Errorf("exit code %d", code)
				}
			}
			<-slow
			if !recorded("/quick") || recorded("/slow") == again {
				t.Errorf("at the end, /quick is recorded: %t, /slow: %t", recorded("/quick"), recorded("/slow"))
			}
		})
	}
}

// A backend with a certificate of its own making is recorded when asked to.
func TestMockRecordInsecure(t *testing.T) {
	backend := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"tenant": "acme", "total": 1}`)
	}))
	defer backend.Close()
	dir := t.TempDir()
	for _, tt := range []struct {
		file   string
		flags  []string
		status int
		says   string
	}{
		{"no.yaml", nil, http.StatusBadGateway, "certificate"},
		{"yes.yaml", []string{"--insecure", "--secret", "Tenant"}, http.StatusOK, `"total": 1`},
	} {
		out := filepath.Join(dir, tt.file)
		p := startMock(t, append(tt.flags, "--record-from", backend.URL, "--out", out)...)
		if status, body := fetch(t, "GET", p.url("/"), ""); status != tt.status || !strings.Contains(body, tt.says) {
			t.Errorf("%s: %d %s", tt.file, status, body)
		}
		p.interrupt()
		if data, err := os.ReadFile(out); err != nil || strings.Contains(string(data), "acme") || strings.Contains(string(data), "total: 1") != (tt.status == http.StatusOK) {
			t.Errorf("%v; the recording is %s", err, data)
		}
	}
}

// A recording is written again when something came, and not else.
func TestMockRecordSavesWhatIsNew(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "answer to ", r.URL.Path)
	}))
	defer backend.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	var exchanges atomic.Int64
	recorder, err := mockbackend.NewRecorder(backend.URL, mockbackend.RecorderOptions{
		Transport: transport, Done: printRecorded(io.Discard, io.Discard, false, &exchanges),
	})
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "stubs.yaml")
	save := mockFlags{out: out}.saver(recorder, &exchanges)
	saved := func() os.FileInfo {
		t.Helper()
		if err := save(); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(out)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	empty := saved()
	recorder.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/a", nil))
	one := saved()
	if empty.Size() == one.Size() {
		t.Error("what came is not saved")
	}
	if !os.SameFile(one, saved()) {
		t.Error("it is written again, though nothing came")
	}
}

// What takes long says so while it lasts.
func TestMockRecordTellsOfSlowSaving(t *testing.T) {
	var said printed
	err := telling(&said, time.Millisecond, "Saving takes a while.", func() error {
		for deadline := time.Now().Add(patience); said.String() == "" && time.Now().Before(deadline); {
			runtime.Gosched()
		}
		return nil
	})
	if err != nil || said.String() != "Saving takes a while.\n" {
		t.Errorf("%v; it said %q", err, said.String())
	}
}
