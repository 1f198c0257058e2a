package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// peerServers are the other mock servers that are installed in the directory
// peers.
func peerServers(dir, peers string) ([]*server, error) {
	peer := func(name, pattern string, command func(file string, ports [2]string) []string) *server {
		s := &server{name: name, stubs: 1, path: benchPath}
		file, err := found(peers, pattern)
		if err != nil {
			s.missing = err.Error()
			return s
		}
		s.command = func(ports [2]string) []string { return command(file, ports) }
		if _, err := exec.LookPath(s.command([2]string{})[0]); err != nil {
			s.missing = err.Error()
		}
		return s
	}
	httpbin := peer("go-httpbin", "bin/go-httpbin"+exe(), func(file string, ports [2]string) []string {
		return []string{file, "-host", "127.0.0.1", "-port", ports[0], "-log-level", "OFF"}
	})
	httpbin.path = func(int) string { return "/base64/" + base64.URLEncoding.EncodeToString([]byte(body)) }
	list := []*server{httpbin}
	for _, stubs := range []int{1, 10_000} {
		wiremock := peer("WireMock, "+count(stubs), "node_modules/wiremock/build/wiremock-standalone-*.jar", func(file string, ports [2]string) []string {
			return []string{"java", "-jar", file, "--port", ports[0], "--bind-address", "127.0.0.1", "--disable-banner"}
		})
		wiremock.stubs, wiremock.program = stubs, programWireMock
		mountebank := peer("mountebank, "+count(stubs), "node_modules/mountebank/bin/mb", func(file string, ports [2]string) []string {
			return []string{"node", file, "start", "--host", "127.0.0.1", "--port", ports[0], "--nologfile", "--loglevel", "error", "--pidfile", filepath.Join(dir, "mb-"+ports[0]+".pid")}
		})
		mountebank.stubs, mountebank.program = stubs, programMountebank
		list = append(list, wiremock, mountebank)
	}
	document := filepath.Join(dir, "prism.json")
	if err := os.WriteFile(document, prismDocument(), 0o600); err != nil {
		return nil, fmt.Errorf("writing Prism's document: %w", err)
	}
	return append(list, peer("Prism", "node_modules/@stoplight/prism-cli/dist/index.js", func(file string, ports [2]string) []string {
		return []string{"node", file, "mock", document, "--host", "127.0.0.1", "--port", ports[0], "--verboseLevel", "silent"}
	})), nil
}

func programTouchstone(ctx context.Context, ports [2]string, stubs int) (string, error) {
	list := make([]any, stubs)
	for i := range list {
		list[i] = map[string]any{"match": map[string]string{"method": "GET", "path": benchPath(i)}, "respond": map[string]any{"json": json.RawMessage(body)}}
	}
	return ports[0], post(ctx, "http://127.0.0.1:"+ports[0]+"/__mock/stubs", list)
}

func programWireMock(ctx context.Context, ports [2]string, stubs int) (string, error) {
	list := make([]any, stubs)
	for i := range list {
		list[i] = map[string]any{
			"request":  map[string]any{"method": "GET", "urlPath": benchPath(i)},
			"response": map[string]any{"status": 200, "body": body, "headers": map[string]string{"Content-Type": "application/json"}},
		}
	}
	return ports[0], post(ctx, "http://127.0.0.1:"+ports[0]+"/__admin/mappings/import", map[string]any{"mappings": list})
}

// programMountebank makes it record requests, as the others do.
func programMountebank(ctx context.Context, ports [2]string, stubs int) (string, error) {
	list := make([]any, stubs)
	for i := range list {
		list[i] = map[string]any{
			"predicates": []any{map[string]any{"equals": map[string]string{"method": "GET", "path": benchPath(i)}}},
			"responses":  []any{map[string]any{"is": map[string]any{"statusCode": 200, "body": body, "headers": map[string]string{"Content-Type": "application/json", "Connection": "keep-alive"}}}},
		}
	}
	return ports[1], post(ctx, "http://127.0.0.1:"+ports[0]+"/imposters", map[string]any{
		"protocol": "http", "port": json.Number(ports[1]), "host": "127.0.0.1", "recordRequests": true, "stubs": list,
	})
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
