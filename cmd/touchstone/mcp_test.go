package main

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestCertifyOverMCP: the reference's MCP server, launched by the command.
func TestCertifyOverMCP(t *testing.T) {
	target := "mcp+exec:" + strconv.Quote(binary) + " reference --serve mcp-stdio --backend {backend} --openapi {openapi}"
	touchstone(t, "certify", "--target", target, "--requirement", "CARRIER-01,CARRIER-05,CARRIER-06").
		want(t, 0, "SELECTION PASSED", "CARRIER-01   MUST   pass", "CARRIER-06   MUST   pass")
	touchstone(t, "certify", "--target", target, "--profile", "envelope-guards", "--limit", "maxResponseBytes=2000").
		want(t, 0, "CERTIFIED", "GUARD-01     MUST   pass")
}

// TestReferenceOverMCPNeeds: what is missing is named, with the way to give it.
func TestReferenceOverMCPNeeds(t *testing.T) {
	t.Setenv("TOUCHSTONE_BACKEND_URL", "")
	t.Setenv("TOUCHSTONE_OPENAPI_URL", "")
	document := filepath.Join("..", "..", "reference", "testdata", "library.yaml")
	touchstone(t, "reference", "--serve", "mcp-stdio").want(t, 2, "--openapi")
	touchstone(t, "reference", "--serve", "mcp-stdio", "--openapi", document).want(t, 2, "--backend URL")
	touchstone(t, "reference", "--serve", "mcp-stdio", "--openapi", document, "--backend", "orders").want(t, 2, `"orders"`, "--backend URL")
	touchstone(t, "reference", "--serve", "mcp-stdio", "--openapi", "no-such.yaml", "--backend", "http://127.0.0.1:1").want(t, 2, "--openapi no-such.yaml")
	touchstone(t, "reference", "--serve", "mcp").want(t, 2, "mcp-stdio and mcp-http")
	t.Setenv("TOUCHSTONE_MAX_RESPONSE_BYTES", "many")
	touchstone(t, "reference", "--serve", "mcp-stdio", "--openapi", document, "--backend", "http://127.0.0.1:1").
		want(t, 2, "TOUCHSTONE_MAX_RESPONSE_BYTES", "many")
	t.Setenv("TOUCHSTONE_MAX_RESPONSE_BYTES", "")
	// Standard input has ended: it serves, and is done.
	touchstone(t, "reference", "--serve", "mcp-stdio", "--openapi", document, "--backend", "http://127.0.0.1:1").want(t, 0)
}

// TestServerFlags: what cannot be meant ends before anything is started.
func TestServerFlags(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	const server = "mcp+http://127.0.0.1:1/mcp"
	for _, tc := range []struct {
		args []string
		want []string
	}{
		{[]string{"--target", server, "--header", "Bearer abc"}, []string{"--header", "a colon"}},
		{[]string{"--target", server, "--header", "X Token: abc"}, []string{`--header "X Token"`}},
		{[]string{"--target", server, "--operation", "get_order"}, []string{"--operation", "get_order=orders_getOrder"}},
		{[]string{"--target", server, "--operation", "getOrder=x"}, []string{"there is no operation getOrder", "get_order"}},
		{[]string{"--header", "Authorization: Bearer abc"}, []string{"--header is for", "mcp+http", "builtin"}},
		{[]string{"--target", "mcp+exec:server", "--header", "Authorization: Bearer abc"}, []string{"--header is for", "mcp+exec:server"}},
		{[]string{"--target", "exec:adapter", "--operation", "get_order=x"}, []string{"--operation is for", "exec:adapter"}},
		{[]string{"--limit", "maxResponseBytes"}, []string{"--limit", "maxResponseBytes=2000"}},
		{[]string{"--limit", "speed=3"}, []string{"there is no such limit", "timeoutMs"}},
		{[]string{"--limit", "timeoutMs=-1"}, []string{"above zero"}},
		{[]string{"--mock-addr", "8089"}, []string{"--mock-addr", "127.0.0.1:8089"}},
		{[]string{"--mock-addr", "0.0.0.0:8089"}, []string{"loopback"}},
		{[]string{"--mock-addr", "127.0.0.1:99999"}, []string{"127.0.0.1:99999", "a port, as in"}},
		{[]string{"--mock-addr", taken.Addr().String()}, []string{"must be ended first"}},
		{[]string{"--target", "mcp+exec:"}, []string{"mcp+exec:COMMAND"}},
		{[]string{"--target", "mcp+http://"}, []string{"needs a host"}},
	} {
		touchstone(t, append([]string{"certify"}, tc.args...)...).want(t, 2, tc.want...)
	}
}

// TestBrokenServer: the verdict begins with what its author has to do.
func TestBrokenServer(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("there is no /bin/sh to write a broken server in")
	}
	touchstone(t, "certify", "--target", "mcp+exec:/bin/sh -c 'echo ready'").
		want(t, 3, "TARGET BROKE", "is not an MCP server", "standard error")
	touchstone(t, "certify", "--target", "mcp+exec:"+strconv.Quote(binary)+" reference --serve exec").
		want(t, 3, "TARGET BROKE", "-32601")
	document := filepath.Join("..", "..", "reference", "testdata", "library.yaml")
	touchstone(t, "certify", "--target", "mcp+exec:"+strconv.Quote(binary)+" reference --serve mcp-stdio --openapi "+strconv.Quote(document)).
		want(t, 3, "has no operation get_order", "--operation get_order=")
	touchstone(t, "certify", "--target", "mcp+exec:"+strconv.Quote(binary)+" reference --serve mcp-stdio --backend http://127.0.0.1:1").
		want(t, 3, "does not reach the mock backend", "TOUCHSTONE_BACKEND_URL")
}

// TestRepeatWithoutTokens: the command that repeats a case names every flag, and
// shows no header's value.
func TestRepeatWithoutTokens(t *testing.T) {
	f := serverFlags{
		headers: []string{"Authorization: Bearer 7c1f0a9be2d84463", "X-Api-Key:abc"}, operations: []string{"get_order=orders_getOrder"},
		limits: []string{"timeoutMs=500"}, mockAddr: "127.0.0.1:8089",
	}
	const want = `--header "Authorization: $AUTHORIZATION" --header "X-Api-Key: $X_API_KEY" --operation get_order=orders_getOrder --limit timeoutMs=500 --mock-addr 127.0.0.1:8089`
	if got := strings.Join(f.words(), " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
