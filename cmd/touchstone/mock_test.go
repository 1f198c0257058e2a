//go:build unix

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

func needCurl(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl to try the first screen with; `apt-get install curl` brings it")
	}
}

// Whoever knows nothing but the first screen gets a leak, a stall of three
// seconds, a reset, and all the rest that it shows.
func TestMockFirstScreen(t *testing.T) {
	needCurl(t)
	p := startMock(t)
	if !strings.HasPrefix(p.stdout.String(), "mock backend on "+p.url("")+"\n") {
		t.Errorf("the first line does not say where it is: %s", p.stdout.String())
	}
	lines := p.commands()
	tests := []struct {
		part  string // of the command
		exit  int
		says  string
		least time.Duration
	}{
		{"/leak/connection-string", 0, "HTTP/1.1 400 Bad Request", 0},
		{"/leak/connection-string", 0, "Server=sql-7.shop.internal;", 0},
		{"/delay/3000", 0, "HTTP/1.1 200 OK", 3 * time.Second},
		{"/fault/stall-before-headers", 52, "Empty reply from server", 3 * time.Second},
		{"/fault/reset", 56, "Connection reset by peer", 0},
		{"/status/422", 0, "HTTP/1.1 422 Unprocessable Entity", 0},
		{"/orders/1", 0, "mechanical keyboard", 0},
		{"/__mock/stubs", 0, "HTTP/1.1 201 Created", 0},
	}
	var wg sync.WaitGroup
	for _, tt := range tests {
		wg.Go(func() {
			for _, line := range lines {
				if !strings.Contains(line, tt.part) {
					continue
				}
				began := time.Now()
				out, exit := shell(t, line)
				if exit != tt.exit || !strings.Contains(out, tt.says) || time.Since(began) < tt.least {
					t.Errorf("%s\nexit code %d after %s, want %d and %q:\n%s", line, exit, time.Since(began), tt.exit, tt.says, out)
				}
				return
			}
			t.Errorf("no command has %s", tt.part)
		})
	}
	wg.Wait()
	// These want what the one before did.
	last := lines[len(lines)-2:]
	if out, exit := shell(t, last[0]); exit != 0 || !strings.HasSuffix(out, "\r\n\r\nhello") {
		t.Errorf("%s\nexit code %d: %s", last[0], exit, out)
	}
	if out, exit := shell(t, last[1]); exit != 0 || !strings.Contains(out, `"target":"/hi"`) || !strings.Contains(out, `"fault":"reset"`) {
		t.Errorf("%s\nexit code %d: %s", last[1], exit, out)
	}
	if len(lines) != 9 {
		t.Errorf("%d commands, 9 are tried", len(lines))
	}
	// Without a browser, the page is the same screen.
	if _, text := fetch(t, "GET", p.url("/"), ""); !strings.Contains(text, strings.TrimSpace(lines[0])) {
		t.Errorf("/ says %s", text)
	}
}

func TestMockDrains(t *testing.T) {
	p := startMock(t, "--verbose")
	got := make(chan string, 1)
	go func() {
		answer, err := http.Get(p.url("/delay/3000"))
		if err != nil {
			got <- err.Error()
			return
		}
		answer.Body.Close()
		got <- answer.Status
	}()
	fetch(t, "GET", p.url("/__mock/wait?path=/delay/3000&inFlight=true&timeoutMs=30000"), "")
	if code := p.interrupt(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if status := <-got; status != "200 OK" {
		t.Errorf("the answer under way came to %s", status)
	}
	if out := p.stdout.String(); !strings.Contains(out, "GET /delay/3000 -> 200") || !strings.Contains(out, "Ctrl-C ends it at once") {
		t.Errorf("it printed %s", out)
	}
}

// What never comes to an end does not keep it from ending.
func TestMockEndsWhatStalls(t *testing.T) {
	p := startMock(t, "--verbose")
	got := make(chan error, 1)
	go func() {
		answer, err := http.Get(p.url("/fault/stall-before-headers"))
		if err == nil {
			answer.Body.Close()
		}
		got <- err
	}()
	const line = "GET /fault/stall-before-headers -> "
	p.until("a line about the stall while it lasts", func() bool {
		return strings.Contains(p.stdout.String(), line+"under way: before-status (route fault)\n")
	})
	if code := p.interrupt(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if out := p.stdout.String(); !strings.Contains(out, line+"no answer, 0 bytes in ") {
		t.Errorf("it printed %s", out)
	}
	if err := <-got; err == nil {
		t.Error("a stall has been answered")
	}
}

// Ctrl-C before the first screen is no error.
func TestMockInterruptedEarly(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := serveMock(ctx, mockFlags{listen: "127.0.0.1", journal: 1}); err != nil {
		t.Error(err)
	}
}

func TestMockStubFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.yaml", "- match: {path: /a}\n  respond: {text: from a}\n")
	write(t, dir, "b.json", `{"match":{"path":"/b"},"respond":{"file":"body.txt"}}`)
	write(t, dir, "c.yaml", "stubs: [{match: {path: /c}, respond: {text: from c}}]\n")
	write(t, dir, "body.txt", "from a file")
	in := func(name string) string { return filepath.Join(dir, name) }
	p := startMock(t, "--files", dir, "--watch", "--verbose", "--journal", "2", "--stubs", in("a.yaml"), "--stubs", in("b.json"), in("c.yaml"))
	for path, want := range map[string]string{"/a": "from a", "/b": "from a file", "/c": "from c"} {
		if _, got := fetch(t, "GET", p.url(path), ""); got != want {
			t.Errorf("%s answers %s", path, got)
		}
	}
	if _, got := fetch(t, "GET", p.url("/__mock/journal"), ""); strings.Count(got, `"seq"`) != 2 || !strings.Contains(got, `"dropped":1`) {
		t.Errorf("of a journal of two: %s", got)
	}
	p.until("a line of the request", func() bool { return strings.Contains(p.stdout.String(), " GET /a -> 200, 6 bytes in ") })
	fetch(t, "GET", p.url("/x"), "")
	p.until("a line of the miss", func() bool {
		return strings.Contains(p.stdout.String(), "(missed); near: ") && strings.Contains(p.stdout.String(), "path is /x, not /a")
	})

	write(t, dir, "a.yaml", "- match: {path: /a}\n  respond: {text: 7}\n")
	p.until("word of the broken file", func() bool {
		return strings.Contains(p.stderr.String(), "a.yaml:2: /0/respond/text: ")
	})
	if _, got := fetch(t, "GET", p.url("/a"), ""); got != "from a" {
		t.Errorf("a broken file changed the answer to %s", got)
	}
	write(t, dir, "a.yaml", "- match: {path: /a}\n  respond: {text: changed}\n")
	p.until("the changed answer", func() bool {
		_, got := fetch(t, "GET", p.url("/a"), "")
		return got == "changed"
	})
	p.until("word of it", func() bool { return strings.Contains(p.stderr.String(), "The files were read again: 3 stubs.") })
	if code := p.interrupt(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestMockToken(t *testing.T) {
	needCurl(t)
	p := startMock(t, "--listen", "0.0.0.0")
	out := p.stdout.String()
	found := regexp.MustCompile(`(?m)^  export MOCK_TOKEN=(\w{20,})$`).FindStringSubmatch(out)
	if found == nil {
		t.Fatalf("there is no token in %s", out)
	}
	token := found[1]
	if !strings.Contains(out, p.url("/?token="+token)) {
		t.Errorf("there is no address for a browser in %s", out)
	}
	if status, body := fetch(t, "GET", p.url("/__mock/stubs"), ""); status != 401 || !strings.Contains(body, "token-required") {
		t.Errorf("without the token: %d %s", status, body)
	}
	if status, _ := fetch(t, "GET", p.url("/__mock/stubs"), "", "Authorization", "Bearer "+token); status != 200 {
		t.Errorf("with the token: %d", status)
	}
	if status, _ := fetch(t, "GET", p.url("/orders/1"), ""); status != 200 {
		t.Errorf("a route asks for a token: %d", status)
	}
	lines := p.commands()
	for _, line := range lines[len(lines)-3:] {
		if out, exit := shell(t, "MOCK_TOKEN="+token+"; "+line); exit != 0 || !strings.Contains(out, "HTTP/1.1 20") {
			t.Errorf("%s\nexit code %d: %s", line, exit, out)
		}
	}
	other := startMock(t, "--listen", "0.0.0.0")
	if strings.Contains(other.stdout.String(), token) {
		t.Error("the token is always the same")
	}
	if loopback := startMock(t, "--listen", "::1"); strings.Contains(loopback.stdout.String(), "TOKEN") {
		t.Error("a loopback address has a token")
	}
}

// TestMockListensOnIPv4: an IPv4 address is no IPv6 address.
func TestMockListensOnIPv4(t *testing.T) {
	p := startMock(t, "--listen", "0.0.0.0")
	if !strings.Contains(p.stdout.String(), "mock backend on http://0.0.0.0:"+p.port) {
		t.Error("it listens elsewhere")
	}
	if conn, err := net.Dial("tcp", "[::1]:"+p.port); err == nil {
		conn.Close()
		t.Error("it listens on ::1")
	}
}

// TestMockCAOfFaults: without TLS of its own, the faults of TLS are still told
// apart by who trusts the authority.
func TestMockCAOfFaults(t *testing.T) {
	ca := filepath.Join(t.TempDir(), "ca.pem")
	p := startMock(t, "--ca-out", ca)
	for fault, want := range map[string]string{"tls-expired": "certificate has expired", "tls-wrong-name": "cannot validate certificate for 127.0.0.1"} {
		_, err := trusting(t, ca).Get(p.url("/fault/" + fault))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", fault, err, want)
		}
	}
}

// trusting is a client that trusts the authority in a file, and no other.
func trusting(t *testing.T, ca string) *http.Client {
	t.Helper()
	pem, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) || strings.Count(string(pem), "BEGIN CERTIFICATE") != 1 {
		t.Fatalf("not the one certificate: %s", pem)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func TestMockTLS(t *testing.T) {
	needCurl(t)
	ca := filepath.Join(t.TempDir(), "deep", "ca.pem")
	p := startMock(t, "--tls", "--ca-out", ca)
	answer, err := trusting(t, ca).Get("https://127.0.0.1:" + p.port + "/status/204")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != 204 || answer.ProtoMajor != 2 {
		t.Errorf("got %s %s", answer.Proto, answer.Status)
	}
	line := p.commands()[0]
	if out, exit := shell(t, line); exit != 0 || !strings.Contains(out, "HTTP/2 400") || !strings.Contains(line, "--cacert "+ca) {
		t.Errorf("%s\nexit code %d: %s", line, exit, out)
	}
	for _, line := range p.commands() {
		if strings.Contains(line, "/fault/reset") {
			if out, exit := shell(t, line); exit != 35 && exit != 56 || !strings.Contains(out, "reset") {
				t.Errorf("%s\nexit code %d: %s", line, exit, out)
			}
		}
	}
	careless := startMock(t, "--tls", "--verbose")
	if out, exit := shell(t, careless.commands()[0]); exit != 0 || !strings.Contains(out, " 400") {
		t.Errorf("without a file for the certificate: exit code %d: %s", exit, out)
	}
	if _, err := trusting(t, ca).Get("https://127.0.0.1:" + careless.port); err == nil {
		t.Error("the certificate of another authority is trusted")
	}
	careless.until("a line about the handshake that came to nothing", func() bool {
		return strings.Contains(careless.stdout.String(), "TLS handshake error from 127.0.0.1:")
	})
}
