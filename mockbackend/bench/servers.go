package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"example.com/touchstone/mockbackend"
	"example.com/touchstone/schemas"
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
	program func(ctx context.Context, ports [2]string) (string, error)

	address string
	process *exec.Cmd
	took    time.Duration // from its start to its first answer
}

func benchPath(stub int) string { return fmt.Sprintf("/bench/%d", stub) }

// candidates are the servers, those of the directory with what they miss.
func candidates(peers string) []*server {
	self, err := os.Executable()
	if err != nil {
		panic(err) // there is always one that runs
	}
	own := func(name, kind string, stubs int) *server {
		return &server{name: name, stubs: stubs, path: benchPath, command: func(ports [2]string) []string {
			return []string{self, "-serve", kind, "-stubs", fmt.Sprint(stubs), "-", ports[0]}
		}}
	}
	list := []*server{own("bare `net/http` handler", "bare", 1), own("touchstone, 1 stub", "mock", 1), own("touchstone, 10 000 stubs", "mock", 10_000)}
	if peers == "" {
		return list
	}
	peer := func(name, file string, stubs int, command func(file string, ports [2]string) []string) *server {
		s := &server{name: name, stubs: stubs, path: benchPath}
		found, err := filepath.Glob(filepath.Join(peers, file))
		if err != nil || len(found) == 0 {
			s.missing = "there is no " + filepath.Join(peers, file)
			return s
		}
		s.command = func(ports [2]string) []string { return command(found[0], ports) }
		if _, err := exec.LookPath(s.command([2]string{})[0]); err != nil {
			s.missing = err.Error()
		}
		return s
	}
	exe := ""
	if runtime.GOOS == "windows" {
		exe = ".exe"
	}
	httpbin := peer("go-httpbin", "bin/go-httpbin"+exe, 1, func(file string, ports [2]string) []string {
		return []string{file, "-host", "127.0.0.1", "-port", ports[0], "-log-level", "OFF"}
	})
	httpbin.path = func(int) string { return "/base64/" + base64.URLEncoding.EncodeToString([]byte(body)) }
	list = append(list, httpbin)
	for _, stubs := range []int{1, 10_000} {
		name := fmt.Sprintf("%d stub", stubs)
		if stubs > 1 {
			name = "10 000 stubs"
		}
		wiremock := peer("WireMock, "+name, "node_modules/wiremock/build/wiremock-standalone-*.jar", stubs, func(file string, ports [2]string) []string {
			return []string{"java", "-jar", file, "--port", ports[0], "--bind-address", "127.0.0.1", "--disable-banner"}
		})
		wiremock.program = programWireMock(stubs)
		mountebank := peer("mountebank, "+name, "node_modules/mountebank/bin/mb", stubs, func(file string, ports [2]string) []string {
			return []string{"node", file, "start", "--host", "127.0.0.1", "--port", ports[0], "--nologfile", "--loglevel", "error", "--pidfile", filepath.Join(peers, "mb-"+ports[0]+".pid")}
		})
		mountebank.program = programMountebank(stubs)
		list = append(list, wiremock, mountebank)
	}
	document := filepath.Join(peers, "prism.json")
	return append(list, peer("Prism", "node_modules/@stoplight/prism-cli/dist/index.js", 1, func(file string, ports [2]string) []string {
		if err := os.WriteFile(document, prismDocument(), 0o600); err != nil {
			panic(err) // without it Prism would only say so later
		}
		return []string{"node", file, "mock", document, "--host", "127.0.0.1", "--port", ports[0], "--verboseLevel", "silent"}
	}))
}

// start runs the server and waits until it answers as it should.
func (s *server) start(ctx context.Context) error {
	ports := [2]string{freePort(), freePort()}
	args := s.command(ports)
	s.process = exec.Command(args[0], args[1:]...)
	s.process.Stderr = os.Stderr
	began := time.Now()
	if err := s.process.Start(); err != nil {
		return err
	}
	if err := answers(ctx, "http://127.0.0.1:"+ports[0]+"/"); err != nil {
		return err
	}
	s.took = time.Since(began)
	s.address = "127.0.0.1:" + ports[0]
	if s.program != nil {
		port, err := s.program(ctx, ports)
		if err != nil {
			return err
		}
		s.address = "127.0.0.1:" + port
	}
	return answers(ctx, "http://"+s.address+s.path(s.stubs-1))
}

func (s *server) stop() {
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
}

// answers waits until a URL is answered, with whatever.
func answers(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
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

func freePort() string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err) // a machine without a free port measures nothing
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return port
}

// serveUntil is one of our own servers, on the port of the last argument.
func serveUntil(ctx context.Context, kind string, stubs int) error {
	address := net.JoinHostPort("127.0.0.1", os.Args[len(os.Args)-1])
	if kind == "bare" {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, body)
		})}
		defer context.AfterFunc(ctx, func() { server.Close() })()
		return server.Serve(listener)
	}
	server, err := mockbackend.Start(mockbackend.Options{Addr: address})
	if err != nil {
		return err
	}
	for i := range stubs {
		if _, err := server.Add(schemas.Stub{
			Match:   schemas.StubMatch{Method: http.MethodGet, Path: benchPath(i)},
			Respond: &schemas.StubResponse{JSON: []byte(body)},
		}); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return server.Close()
}

func programWireMock(stubs int) func(context.Context, [2]string) (string, error) {
	return func(ctx context.Context, ports [2]string) (string, error) {
		var mappings []any
		for i := range stubs {
			mappings = append(mappings, map[string]any{
				"request":  map[string]any{"method": "GET", "urlPath": benchPath(i)},
				"response": map[string]any{"status": 200, "body": body, "headers": map[string]string{"Content-Type": "application/json"}},
			})
		}
		return ports[0], post(ctx, "http://127.0.0.1:"+ports[0]+"/__admin/mappings/import", map[string]any{"mappings": mappings})
	}
}

// programMountebank makes it record requests, as the others do.
func programMountebank(stubs int) func(context.Context, [2]string) (string, error) {
	return func(ctx context.Context, ports [2]string) (string, error) {
		var list []any
		for i := range stubs {
			list = append(list, map[string]any{
				"predicates": []any{map[string]any{"equals": map[string]string{"method": "GET", "path": benchPath(i)}}},
				"responses":  []any{map[string]any{"is": map[string]any{"statusCode": 200, "body": body, "headers": map[string]string{"Content-Type": "application/json", "Connection": "keep-alive"}}}},
			})
		}
		return ports[1], post(ctx, "http://127.0.0.1:"+ports[0]+"/imposters", map[string]any{
			"protocol": "http", "port": json.Number(ports[1]), "host": "127.0.0.1", "recordRequests": true, "stubs": list,
		})
	}
}

func prismDocument() []byte {
	return []byte(strings.Replace(`{"openapi":"3.1.0","info":{"title":"Bench","version":"1"},"paths":{"/bench/0":{"get":{"responses":{"200":{
		"description":"ok","content":{"application/json":{"example":BODY}}}}}}}}`, "BODY", body, 1))
}

func post(ctx context.Context, url string, doc any) error {
	data, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(data))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if said, _ := io.ReadAll(answer.Body); answer.StatusCode >= 300 {
		return fmt.Errorf("POST %s: %s: %.300s", url, answer.Status, said)
	}
	return nil
}
