package open_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/kballard/go-shellquote"
	"go.uber.org/goleak"

	"example.com/touchstone/mockbackend"
	"example.com/touchstone/reference/invoke"
	"example.com/touchstone/reference/serve"
	"example.com/touchstone/suite/target"
	"example.com/touchstone/suite/target/builtin"
	"example.com/touchstone/suite/target/open"
)

const described = `{"jsonrpc":"2.0","id":1,"result":{"protocol":1,"name":"%s","version":"1","features":["map"]}}`

func TestMain(m *testing.M) {
	if name := os.Getenv("TOUCHSTONE_TEST_CHILD"); name != "" {
		var line string
		fmt.Scanln(&line)
		fmt.Printf(described+"\n", name)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func TestOpen(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, described, "over http")
	}))
	defer server.Close()
	overMCP := httptest.NewServer(mcpServer(t, "over mcp"))
	defer overMCP.Close()
	opts := open.Options{
		Builtin: builtin.HandlerFunc(func(context.Context, []byte) []byte { return fmt.Appendf(nil, described, "in process") }),
		Env:     []string{"TOUCHSTONE_TEST_CHILD=a child"},
	}
	for spec, want := range map[string]string{
		"builtin":                             "in process",
		"exec:" + shellquote.Join(self):       "a child",
		"exec: " + shellquote.Join(self, "x"): "a child",
		server.URL:                            "over http",
		"mcp+" + overMCP.URL:                  "over mcp",
	} {
		opened, err := open.Open(t.Context(), spec, opts)
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		if got, err := opened.Describe(t.Context()); err != nil || got.Name != want {
			t.Errorf("%s: got %q (%v), want %q", spec, got.Name, err, want)
		}
		if err := opened.Close(); err != nil {
			t.Errorf("%s: Close: %v", spec, err)
		}
	}
}

// mcpServer is an MCP server with the meta-tools.
func mcpServer(t *testing.T, name string) http.Handler {
	t.Helper()
	server, err := serve.NewMCP(serve.Reference{Name: name}, serve.MCPOptions{
		Document: mockbackend.OpenAPI(), BackendURL: "http://127.0.0.1:1", Limits: invoke.DefaultLimits(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return server.HTTPHandler()
}

func TestBadSpecs(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("adapter", []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	const forms = "builtin, exec:COMMAND (as in exec:node adapter.js), http://HOST/PATH, https://HOST/PATH"
	for spec, want := range map[string]string{
		"":                        `unknown target "": a target is one of: ` + forms,
		"nonsense":                `unknown target "nonsense": a target is one of: ` + forms,
		"exec:":                   `unknown target "exec:": a target is one of: ` + forms,
		"ftp://127.0.0.1/":        `unknown target "ftp://127.0.0.1/": a target is one of: ` + forms,
		"some-node adapter.js":    `unknown target "some-node adapter.js": did you mean "exec:some-node adapter.js"? a target is one of: ` + forms,
		"go":                      `did you mean "exec:go"?`,
		"./adapter":               `did you mean "exec:./adapter"?`,
		"EXEC:node adapter.js":    `did you mean "exec:node adapter.js"?`,
		"cmd: node adapter.js":    `did you mean "exec:node adapter.js"?`,
		"HTTP://127.0.0.1:8080/x": `did you mean "http://127.0.0.1:8080/x"?`,
		"localhost":               `did you mean "http://localhost"?`,
		"127.0.0.1:8080/rpc":      `did you mean "http://127.0.0.1:8080/rpc"?`,
		"Builtin":                 `did you mean "builtin"?`,
		"builtin":                 "there is no built-in target here; a target is one of: " + forms,
		"exec:  ":                 "the command is empty",
		`exec:node "adapter.js`:   "unterminated double-quoted string",
		"http://":                 "needs a scheme and a host",
	} {
		opened, err := open.Open(t.Context(), spec, open.Options{})
		if opened != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %s", spec, err, want)
		}
		if _, is := errors.AsType[*target.ProtocolError](err); is {
			t.Errorf("%q: the target is blamed for the spec: %v", spec, err)
		}
	}
	opened, err := open.Open(t.Context(), "exec:no-such-program-here --now", open.Options{})
	if fault, is := errors.AsType[*target.ProtocolError](err); opened != nil || !is || fault.Fault != target.Unreachable || !strings.Contains(fault.Detail, "no-such-program-here --now") {
		t.Errorf("a program that is not there: %v", err)
	}
}
