// Package mcpnode_test certifies the example that is built on the official
// TypeScript SDK, and lets a client on that SDK meet the reference.
package mcpnode_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"example.com/touchstone/mockbackend"
	"example.com/touchstone/schemas"
)

// oldestNode is the major version that package.json asks for.
const oldestNode = 20

// patience is for a machine that is busy.
const patience = 5 * time.Minute

// TestCertifies: the commands of the README certify the server.
func TestCertifies(t *testing.T) {
	node := install(t)
	touchstone := build(t)
	t.Run("mcp+exec", func(t *testing.T) {
		certify(t, touchstone, "--target", "mcp+exec:"+strconv.Quote(node)+" server.js")
	})
	t.Run("mcp+http", func(t *testing.T) {
		backend := freeAddr(t)
		url := listening(t, []string{"TOUCHSTONE_BACKEND_URL=http://" + backend}, node, "server.js", "--http", "0")
		certify(t, touchstone, "--target", "mcp+"+url, "--mock-addr", backend)
	})
}

func certify(t *testing.T, touchstone string, args ...string) {
	t.Helper()
	out := run(t, nil, touchstone, append([]string{"certify"}, args...)...)
	if !strings.Contains(out, "CERTIFIED: touchstone-example-mcp-node") || !strings.Contains(out, "envelope-sdk") {
		t.Errorf("it certifies, and says:\n%s", out)
	}
}

// TestClientMeetsReference: a client on the TypeScript SDK gets from the
// reference's server what an agent should.
func TestClientMeetsReference(t *testing.T) {
	node := install(t)
	touchstone := build(t)
	backend, err := mockbackend.Start(mockbackend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Close()
	if _, err := backend.Add(schemas.Stub{
		Match: schemas.StubMatch{Method: "GET", Path: "/orders/7"}, Respond: &schemas.StubResponse{JSON: json.RawMessage(`{"id":7}`)},
	}); err != nil {
		t.Fatal(err)
	}
	env := []string{"TOUCHSTONE_BACKEND_URL=" + backend.URL(), "TOUCHSTONE_OPENAPI_URL=" + backend.URL() + "/openapi.json"}
	t.Run("stdio", func(t *testing.T) {
		checkClient(t, run(t, env, node, "client.js", "7", touchstone, "reference", "--serve", "mcp-stdio"))
	})
	t.Run("http", func(t *testing.T) {
		url := listening(t, env, touchstone, "reference", "--serve", "mcp-http")
		checkClient(t, run(t, nil, node, "client.js", url, "7"))
	})
}

// checkClient looks at what the client printed.
func checkClient(t *testing.T, out string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 7 || lines[0] != `["invoke_tool","load_tool","search_tools"]` {
		t.Fatalf("the client printed:\n%s", out)
	}
	type answer struct {
		Blocks  int64
		IsError string
		Member  string
	}
	member := []string{"tools.#(name=get_order).name", "name", "body.id", "error", "error", "error"}
	want := []answer{
		{1, "", "get_order"}, {1, "", "get_order"}, {1, "", "7"},
		{1, "true", "invalid_path_type"}, {1, "true", "unknown_tool"}, {1, "true", "unknown_argument"},
	}
	var got []answer
	for i, line := range lines[1:] {
		got = append(got, answer{
			gjson.Get(line, "content.#").Int(), gjson.Get(line, "isError").Raw,
			gjson.Get(gjson.Get(line, "content.0.text").Str, member[i]).String(),
		})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s\nthe client printed:\n%s", diff, out)
	}
}

// install gives the path of a Node that can run the example, with its packages
// installed. It skips the test where there is no Node, or no registry.
func install(t *testing.T) string {
	t.Helper()
	for _, file := range []string{"server.js", "client.js", "package.json", "../node/orders.js", "../node/envelope.js", "../node/leak.js"} {
		if _, err := os.ReadFile(file); err != nil { // so that the go command knows what the result depends on
			t.Fatal(err)
		}
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skipf("the MCP example is not tested: Node is not installed (%v); install Node %d or later", err, oldestNode)
	}
	version := strings.TrimPrefix(strings.TrimSpace(run(t, nil, node, "--version")), "v")
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err != nil || n < oldestNode {
		t.Skipf("the MCP example is not tested: %s is Node %s; install Node %d or later", node, version, oldestNode)
	}
	lock, err := os.ReadFile("package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	installed, err := os.ReadFile(filepath.Join("node_modules", "@modelcontextprotocol", "sdk", "package.json"))
	const path = `packages.node_modules/@modelcontextprotocol/sdk.version`
	if err == nil && gjson.GetBytes(installed, "version").Str == gjson.GetBytes(lock, path).Str {
		return node
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skipf("the MCP example is not tested: npm is not installed (%v)", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline")
	cmd.WaitDelay = 10 * time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("the MCP example is not tested: its packages cannot be installed: %v\n%s", err, out)
	}
	return node
}

// build gives the path of the command line, built from this source.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "touchstone")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	run(t, nil, "go", "build", "-o", path, "example.com/touchstone/cmd/touchstone")
	return path
}

// run runs a command and gives its standard output.
func run(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			out = append(out, exit.Stderr...)
		}
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// listening starts a server and gives the URL that it prints. It ends with the test.
func listening(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("%s %s printed no address: %v", name, strings.Join(args, " "), err)
	}
	go io.Copy(io.Discard, lines) // it ends with the process
	_, url, found := strings.Cut(strings.TrimSpace(line), "http://")
	if !found {
		t.Fatalf("%s printed %q", name, line)
	}
	return "http://" + url
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestLockFile: what is installed comes from the public registry, whatever
// machine the file was written on.
func TestLockFile(t *testing.T) {
	text, err := os.ReadFile("package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct{ Resolved, Integrity string }
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		t.Fatal(err)
	}
	for name, p := range lock.Packages {
		if name != "" && p.Integrity == "" {
			t.Errorf("%s has no integrity", name)
		}
		if p.Resolved != "" {
			t.Errorf("%s is bound to %s; npm takes it from the registry it is set up for", name, p.Resolved)
		}
	}
}
