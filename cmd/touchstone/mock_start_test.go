//go:build unix

package main

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestMockPortFile: nobody finds the port of a server that has ended, nor misses
// that of one that runs.
func TestMockPortFile(t *testing.T) {
	serve := func() []string { return nil }
	record := func() []string {
		return []string{"--record-from", "http://127.0.0.1:1", "--out", filepath.Join(t.TempDir(), "out.yaml")}
	}
	for i, args := range []func() []string{serve, record} {
		kind := []string{"serving", "recording"}[i]
		p := startMock(t, args()...)
		touchstone(t, append([]string{"mock", "--port", p.port, "--port-file", p.portFile}, args()...)...).want(t, 2, "is taken")
		if data, err := os.ReadFile(p.portFile); err != nil || string(data) != p.port+"\n" {
			t.Errorf("%s: one that could not listen left %q, %v in the file", kind, data, err)
		}
		if code := p.interrupt(); code != 0 {
			t.Errorf("%s: exit code %d", kind, code)
		}
		if _, err := os.Stat(p.portFile); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the file is still there: %v", kind, err)
		}

		p = startMock(t, args()...)
		if err := os.WriteFile(p.portFile, []byte("11111\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		p.interrupt()
		if data, err := os.ReadFile(p.portFile); err != nil || string(data) != "11111\n" {
			t.Errorf("%s: of a younger server the file has %q, %v", kind, data, err)
		}
	}
}

// TestMockStalePortFile: the port of an earlier server is not told once ours
// listens, also if it never writes its own.
func TestMockStalePortFile(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "port", "11111\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := serveMock(ctx, mockFlags{listen: "127.0.0.1", journal: 1, portFile: filepath.Join(dir, "port")}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "port")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if forget, err := (mockFlags{portFile: pipe}).forgetPort("127.0.0.1:1"); err != nil {
		t.Error(err)
	} else {
		forget()
	}
	if _, err := os.Stat(pipe); err != nil {
		t.Errorf("a pipe was removed: %v", err)
	}
}

// TestMockLoadsFirst: nobody is answered while the files are read.
func TestMockLoadsFirst(t *testing.T) {
	free, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	dir := t.TempDir()
	f := mockFlags{listen: "127.0.0.1", port: free.Addr().(*net.TCPAddr).Port, journal: 1, portFile: filepath.Join(dir, "port"), stubs: []string{filepath.Join(dir, "stubs.yaml")}}
	// The ends of pipes wait for each other.
	for _, pipe := range []string{f.portFile, f.stubs[0]} {
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	served, loads, up := make(chan error, 1), make(chan *os.File, 1), make(chan struct{})
	go func() { served <- serveMock(ctx, f) }()
	go func() {
		if file, err := os.OpenFile(f.stubs[0], os.O_WRONLY, 0); err == nil {
			loads <- file
		}
	}()
	go func() {
		if _, err := os.ReadFile(f.portFile); err == nil {
			close(up)
		}
	}()
	select {
	case err := <-served:
		t.Fatalf("it ended before it read its file: %v", err)
	case file := <-loads:
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			t.Error("it listens before its file is read")
		}
		if _, err := file.WriteString("match: {path: /a}\nrespond: {text: A}\n"); err != nil {
			t.Error(err)
		}
		file.Close()
	}
	select {
	case err := <-served:
		t.Fatalf("it ended before it was up: %v", err)
	case <-up:
		if _, body := fetch(t, "GET", "http://"+address+"/a", ""); body != "A" {
			t.Errorf("it answers %s", body)
		}
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestMockRefuses(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "bad.yaml", "- match: {path: /a}\n  respond:\n    status: 42\n- match: {}\n  respond: {fault: {kind: odd}}\n")
	write(t, dir, "good.yaml", "match: {}\nrespond: {}\n")
	bad, good := filepath.Join(dir, "bad.yaml"), filepath.Join(dir, "good.yaml")
	running := startMock(t)
	tests := []struct {
		name  string
		args  []string
		parts []string
	}{
		{"broken stubs", []string{"--stubs", bad}, []string{"bad.yaml:3: /0/respond/status: Must be greater than or equal to 200"}},
		{"two broken files", []string{"--stubs", bad, filepath.Join(dir, "none.yaml")}, []string{"bad.yaml:3: ", "none.yaml: no such file"}},
		{"files without a flag", []string{good}, []string{"--stubs " + good}},
		{"port taken", []string{"--port", running.port}, []string{"port " + running.port + " is taken", "--port 0"}},
		{"port out of range", []string{"--port", "70000"}, []string{"0 to 65535"}},
		{"address with a port", []string{"--listen", "127.0.0.1:80"}, []string{"--port"}},
		{"address of nobody", []string{"--listen", "no.such.host.invalid"}, []string{"no.such.host.invalid"}},
		{"nothing to watch", []string{"--watch"}, []string{"--stubs"}},
		{"no directory", []string{"--files", good}, []string{"not a directory"}},
		{"no such directory", []string{"--files", dir + "/none"}, []string{"none: no such file"}},
		{"certificate of a recorder", []string{"--record-from", "http://127.0.0.1:1", "--out", dir + "/x.yaml", "--ca-out", dir + "/ca.pem"}, []string{"--ca-out"}},
		{"address that is empty", []string{"--listen", ""}, []string{"--listen", "127.0.0.1"}},
		{"journal without room", []string{"--journal-bytes", "0"}, []string{"--journal-bytes", "at least one"}},
		{"port file that is a directory", []string{"--port-file", dir}, []string{"--port-file", "is a directory", "nothing was started"}},
		{"port file that cannot be", []string{"--port-file", good + "/x"}, []string{"--port-file", "nothing was started"}},
		{"empty journal", []string{"--journal", "0"}, []string{"at least one"}},
		{"recording nowhere", []string{"--record-from", "http://127.0.0.1:1"}, []string{"--out"}},
		{"recording nothing", []string{"--out", dir + "/x.yaml"}, []string{"--record-from"}},
		{"secrets of nothing", []string{"--keep-secrets"}, []string{"--record-from"}},
		{"names of nothing", []string{"--secret", "X-Tenant"}, []string{"--record-from"}},
		{"names of secrets to keep", []string{"--record-from", "http://127.0.0.1:1", "--out", dir + "/x.yaml", "--keep-secrets", "--secret", "X-Tenant"}, []string{"without --keep-secrets"}},
		{"a name that is empty", []string{"--record-from", "http://127.0.0.1:1", "--out", dir + "/x.yaml", "--secret", ""}, []string{"name of a header"}},
		{"no certificate to trust", []string{"--record-from", "http://127.0.0.1:1", "--out", dir + "/x.yaml", "--insecure"}, []string{"https"}},
		{"recording and stubs", []string{"--record-from", "http://127.0.0.1:1", "--out", dir + "/x.yaml", "--stubs", good}, []string{"takes no --stubs"}},
		{"recording for everybody", []string{"--record-from", "http://127.0.0.1:1", "--out", dir + "/x.yaml", "--listen", "0.0.0.0"}, []string{"loopback"}},
		{"recording over a file", []string{"--record-from", "http://127.0.0.1:1", "--out", good}, []string{"good.yaml is there already"}},
		{"recording no URL", []string{"--record-from", "localhost:3000", "--out", dir + "/x.yaml"}, []string{"http://127.0.0.1:3000"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := touchstone(t, append([]string{"mock"}, tt.args...)...)
			r.want(t, 2, tt.parts...)
			if strings.Contains(r.stdout, "mock backend on") {
				t.Error("it says that it has started")
			}
		})
	}
	touchstone(t, "mock", "--help").want(t, 0, "Examples:", "--record-from http://127.0.0.1:3000 --out stubs.yaml")
	if data, err := os.ReadFile(good); err != nil || string(data) != "match: {}\nrespond: {}\n" {
		t.Errorf("the file in the way is now %q, %v", data, err)
	}
}
