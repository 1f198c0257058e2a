package mockbackend_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/mockbackend"
)

// The official JavaScript client reads every kind of turn, plain and streamed.
func TestModelWithNodeClient(t *testing.T) {
	dir := installNodeClient(t)
	srv := start(t, mockbackend.Options{})
	const turns = `{"text":"Grüße 🌍, this is a text of some length."},
		{"calls":[{"name":"get_order","arguments":{"id":7}},{"id":"mine","name":"get_order","rawArguments":"{\"id\": "}]},
		{"refusal":"I will not."},{"status":500},{"malformed":true},{"drop":true}`
	scope := modelScope(t, srv, `{"turns":[`+turns+`,`+turns+`]}`)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "client.js", scope.ModelURL())
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("running the client: %v", err)
	}
	once := []string{
		`{"finish":"stop","text":"Grüße 🌍, this is a text of some length.","refusal":"","calls":[]}`,
		`{"finish":"tool_calls","text":"","refusal":"","calls":[["call_1","get_order","{\"id\":7}"],["mine","get_order","{\"id\": "]]}`,
		`{"finish":"stop","text":"","refusal":"I will not.","calls":[]}`,
		`{"error":500}`, `{"error":"broken"}`, `{"error":"broken"}`,
	}
	want := append([]string{`["scripted"]`}, append(once, once...)...)
	want[8] = strings.Replace(want[8], "call_1", "call_3", 1) // calls are counted through the script
	if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(string(out)), "\n")); diff != "" {
		t.Errorf("what the client printed (-want +got):\n%s", diff)
	}
}

// installNodeClient installs the client from the lock file in a directory of the
// test's own. It skips the test where Node, or the registry, is not there.
func installNodeClient(t *testing.T) string {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the JavaScript client is not tested: %v", err)
		}
	}
	dir := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json", "client.js"} {
		data, err := os.ReadFile(filepath.Join("testdata", "openai", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline")
	cmd.Dir, cmd.WaitDelay = dir, 10*time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("the JavaScript client is not tested: npm ci: %v\n%s", err, out)
	}
	return dir
}
