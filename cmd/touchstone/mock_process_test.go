//go:build unix

package main

import (
	"bytes"
	"io"
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

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// A process is a mock that runs as a child.
type process struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdout, stderr printed
	port, portFile string
	ended          chan struct{}
}

// printed is what a process has printed so far.
type printed struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *printed) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *printed) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// startMock runs mock and returns once it has written its port.
func startMock(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{t: t, ended: make(chan struct{}), portFile: filepath.Join(t.TempDir(), "port")}
	p.cmd = exec.Command(binary, append([]string{"mock", "--port-file", p.portFile}, args...)...)
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
		if t.Failed() {
			t.Logf("stdout:\n%s\nstderr:\n%s", &p.stdout, &p.stderr)
		}
	})
	p.until("the port file", func() bool {
		data, err := os.ReadFile(p.portFile)
		p.port = strings.TrimSpace(string(data))
		return err == nil
	})
	return p
}

// until waits for a condition.
func (p *process) until(what string, condition func() bool) {
	p.t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-p.ended:
			p.t.Fatalf("it ended before %s", what)
		case <-deadline:
			p.t.Fatalf("waited in vain for %s", what)
		}
	}
}

func (p *process) url(path string) string { return "http://127.0.0.1:" + p.port + path }

// interrupt is Ctrl-C; it gives the exit code.
func (p *process) interrupt() int {
	p.t.Helper()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		p.t.Fatal(err)
	}
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatal("an interrupt does not end it")
	}
	return p.cmd.ProcessState.ExitCode()
}

func fetch(t *testing.T, method, url, body string, header ...string) (int, string) {
	t.Helper()
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	answer, err := (&http.Client{Timeout: patience}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(data)
}

// shell runs a command line and gives its output and exit code.
func shell(t *testing.T, line string) (string, int) {
	t.Helper()
	cmd := exec.Command("sh", "-c", line+" --silent --show-error")
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// commands gives the curl commands of the first screen.
func (p *process) commands() []string {
	return regexp.MustCompile(`(?m)^  curl .*$`).FindAllString(p.stdout.String(), -1)
}
