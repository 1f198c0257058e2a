// Package node_test runs the unit tests of the JavaScript example.
package node_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// oldestNode is the major version that package.json asks for.
const oldestNode = 20

func TestNodeUnitTests(t *testing.T) {
	node := findNode(t)
	watchSources(t)

	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, "--test", "--test-reporter=tap")
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("node --test: %v\n%s", err, out)
	}
	// A runner that finds no test file succeeds as well.
	if strings.Contains(string(out), "# tests 0\n") || !strings.Contains(string(out), "# tests ") {
		t.Fatalf("node --test ran no test:\n%s", out)
	}
}

// findNode gives the path of a Node that can run the example, and skips the
// test where there is none.
func findNode(t *testing.T) string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skipf("the JavaScript example is not tested: Node is not installed (%v); install Node %d or later", err, oldestNode)
	}
	out, err := exec.CommandContext(t.Context(), node, "--version").Output()
	if err != nil {
		t.Fatalf("%s --version: %v", node, err)
	}
	version := strings.TrimSpace(string(out))
	major, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	if n, err := strconv.Atoi(major); err != nil || n < oldestNode {
		t.Skipf("the JavaScript example is not tested: %s is Node %s; install Node %d or later", node, version, oldestNode)
	}
	return node
}

// watchSources opens every file that Node will read: the go command keeps a
// test's result until a file the test itself opened changes.
func watchSources(t *testing.T) {
	t.Helper()
	for _, pattern := range []string{"package.json", "*.js", filepath.Join("test", "*.test.js")} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no file matches %s (%v)", pattern, err)
		}
		for _, file := range files {
			if _, err := os.ReadFile(file); err != nil {
				t.Fatal(err)
			}
		}
	}
}
