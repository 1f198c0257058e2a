package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"time"
)

// body is what every server answers.
const body = `{"id":1,"item":"mechanical keyboard","quantity":2,"owner":"alice"}`

// A server is one of those compared.
type server struct {
	name    string
	missing string // why it cannot be started, when it cannot
	stubs   int
	path    func(stub int) string
	command func(ports [2]string) []string
	// program puts the stubs in. It gives the port that answers by them.
	program func(ctx context.Context, ports [2]string, stubs int) (string, error)

	process *exec.Cmd
	said    bytes.Buffer // on standard error
	address string

	starts   []time.Duration // from the start of the process to the first answer
	turns    []turn
	requests int // in all, those to warm up too
}

func benchPath(stub int) string { return fmt.Sprintf("/bench/%d", stub) }

func exe() string {
	if runtime.GOOS == "windows" {
		return ".exe"
	}
	return ""
}

// candidates are the servers: the bare handler first, then our own, then those
// of the directory peers with what they miss. dir is for files of theirs.
func candidates(dir, touchstone, peers string) ([]*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding the program itself: %w", err)
	}
	list := []*server{{name: "bare `net/http` handler", stubs: 1, path: benchPath, command: func(ports [2]string) []string {
		return []string{self, "-bare", "127.0.0.1:" + ports[0]}
	}}}
	for _, stubs := range []int{1, 10_000} {
		list = append(list, &server{
			name: "touchstone, " + count(stubs), stubs: stubs, path: benchPath, program: programTouchstone,
			command: func(ports [2]string) []string { return []string{touchstone, "mock", "--port", ports[0]} },
		})
	}
	if peers == "" {
		return list, nil
	}
	others, err := peerServers(dir, peers)
	return append(list, others...), err
}

func count(stubs int) string {
	if stubs == 1 {
		return "1 stub"
	}
	return fmt.Sprintf("%d %03d stubs", stubs/1000, stubs%1000)
}

// start runs the server, a few times for the time that this takes, and programs
// it.
func (s *server) start(ctx context.Context, p plan) error {
	var ports [2]string
	for range p.starts {
		s.stop()
		var err error
		if ports, err = freePorts(); err != nil {
			return err
		}
		args := s.command(ports)
		s.process = exec.Command(args[0], args[1:]...)
		s.said.Reset()
		s.process.Stderr = &s.said
		began := time.Now()
		if err := s.process.Start(); err != nil {
			return err
		}
		if err := answers(ctx, "http://127.0.0.1:"+ports[0]+"/"); err != nil {
			return s.fail(err)
		}
		s.starts = append(s.starts, time.Since(began))
	}
	port := ports[0]
	if s.program != nil {
		var err error
		if port, err = s.program(ctx, ports, s.stubs); err != nil {
			return s.fail(err)
		}
	}
	s.address = "127.0.0.1:" + port
	return nil
}

// fail stops the server and adds what it said to an error.
func (s *server) fail(err error) error {
	s.stop()
	return fmt.Errorf("%w\n%s", err, s.said.Bytes())
}

// stop ends the server that runs, if one does.
func (s *server) stop() {
	if s.process != nil {
		_ = s.process.Process.Kill()
		_ = s.process.Wait()
	}
	s.process = nil
}

// answers waits until a URL is answered, with whatever.
func answers(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	defer http.DefaultClient.CloseIdleConnections()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(request)
		if err == nil {
			answer.Body.Close()
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Millisecond):
		}
	}
}

// freePorts gives two ports on which nobody listens just now.
func freePorts() (ports [2]string, err error) {
	for i := range ports {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return ports, fmt.Errorf("finding a free port: %w", err)
		}
		defer listener.Close()
		if _, ports[i], err = net.SplitHostPort(listener.Addr().String()); err != nil {
			return ports, err
		}
	}
	return ports, nil
}

// serveBare is the handler that the others are compared with.
func serveBare(ctx context.Context, address string) error {
	server := &http.Server{Addr: address, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	})}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	return server.ListenAndServe()
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// found is a file of a directory that is named by a pattern.
func found(dir, pattern string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("there is no %s", filepath.Join(dir, pattern))
	}
	if err != nil {
		return "", err
	}
	return files[0], nil
}
