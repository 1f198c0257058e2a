package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"example.com/touchstone/schemas"
)

// binary is the command, built once for the tests that run it as a process.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "touchstone")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "touchstone")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the command: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// result is what a process left behind.
type result struct {
	code           int
	stdout, stderr string
}

func touchstone(t *testing.T, args ...string) result {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func (r result) want(t *testing.T, code int, parts ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d", r.code, code)
	}
	for _, part := range parts {
		if !strings.Contains(r.stdout+r.stderr, part) {
			t.Errorf("the output lacks %q", part)
		}
	}
	if t.Failed() {
		t.Logf("stdout:\n%s\nstderr:\n%s", tail(r.stdout), tail(r.stderr))
	}
}

func tail(text string) string {
	if len(text) > 3000 {
		return "…" + text[len(text)-3000:]
	}
	return text
}

func TestCertifyBuiltin(t *testing.T) {
	dir := t.TempDir()
	junit := filepath.Join(dir, "deep", "junit.xml")
	for range 2 { // a second run finds the files of the first
		touchstone(t, "certify", "--out", dir, "--junit", junit).want(t, 0, "CERTIFIED: ", "envelope-core")
	}
	data, err := os.ReadFile(filepath.Join(dir, "certificate.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := schemas.Check(schemas.CertificateSchema, data); err != nil {
		t.Errorf("the certificate breaks its schema: %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("the directory holds %v, want the certificate and the JUnit directory alone", entries)
	}
	var report struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
	}
	if data, err = os.ReadFile(junit); err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(data, &report); err != nil || report.Tests < 600 || report.Failures != 0 {
		t.Errorf("JUnit: %+v, %v; want over 600 tests and no failures", report, err)
	}
}

func TestExitCodes(t *testing.T) {
	refused, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + refused.Addr().String() + "/"
	refused.Close()
	readOnly := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(readOnly, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name  string
		args  []string
		code  int
		parts []string
	}{
		{"unknown requirement", []string{"certify", "--requirement", "FORWRD-02"}, 2, []string{`"FORWRD-02"`, "FORWARD-02"}},
		{"unknown case", []string{"certify", "--case", "status/404/emty"}, 2, []string{"status/404/empty"}},
		{"unknown profile", []string{"certify", "--profile", "envelope"}, 2, []string{"envelope-core"}},
		{"unknown command", []string{"certfy"}, 2, []string{"certify"}},
		{"unknown flag", []string{"certify", "--targt", "x"}, 2, []string{"--targt"}},
		{"no such directory", []string{"certify", "--fixtures", "nowhere"}, 2, []string{"nowhere"}},
		{"unwritable output", []string{"certify", "--out", filepath.Join(readOnly, "x")}, 2, []string{"--out", "nothing was run"}},
		{"unwritable report", []string{"certify", "--junit", filepath.Join(readOnly, "x", "y.xml")}, 2, []string{"--junit", "nothing was run"}},
		{"no time", []string{"certify", "--timeout", "0s"}, 2, []string{"--timeout"}},
		{"target without its form", []string{"certify", "--target", "node adapter.js"}, 2, []string{"exec:node adapter.js"}},
		{"no such command", []string{"certify", "--target", "exec:no-such-program --flag"}, 3, []string{"no-such-program", "TARGET BROKE"}},
		{"nobody listens", []string{"certify", "--target", url}, 3, []string{url, "refused"}},
		{"not the protocol", []string{"certify", "--target", "exec:cat"}, 3, []string{"TARGET BROKE"}},
		{"prints and ends", []string{"certify", "--target", "exec:echo hello"}, 3, []string{"hello"}},
		{"passes a case", []string{"certify", "--case", "status/404/empty"}, 0, []string{"SELECTION PASSED (partial)", "a selection certifies nothing"}},
		{"explains a requirement", []string{"explain", "CODE-10"}, 0, []string{"MUST", "validation_failed", "code/empty-dictionary/400"}},
		{"explains a case", []string{"explain", "status/404/empty"}, 0, []string{"No resource matched these arguments"}},
		{"explains nothing", []string{"explain", "CODE-100"}, 2, []string{"CODE-10"}},
		{"lists", []string{"list"}, 0, []string{"SHAPE-01", "LEAK-09"}},
		{"lists cases", []string{"list", "--cases"}, 0, []string{"status/599/empty"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { touchstone(t, tt.args...).want(t, tt.code, tt.parts...) })
	}
}

func TestBrokenFixtures(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "good.json", `{"description":"d","input":{"status":404},"expected":{"error":"not_found","message":"m","status":404,"retryable":false}}`)
	write(t, dir, "bad.json", "{\r\n  \"description\": \"d\",\r\n  \"input\": {\"status\": \"x\"},\r\n  \"expected\": {\"status\": 200}\r\n}")
	touchstone(t, "certify", "--fixtures", dir).want(t, 2, "bad.json:3", "/input/status", "nothing was run")
	touchstone(t, "check-fixtures", dir).want(t, 2, "bad.json:3")
	if err := os.Remove(filepath.Join(dir, "bad.json")); err != nil {
		t.Fatal(err)
	}
	touchstone(t, "check-fixtures", dir).want(t, 0, "1 case, all valid")
	// The one case left is wrong: its message is none that the reference gives.
	r := touchstone(t, "certify", "--fixtures", dir, "--junit", filepath.Join(dir, "junit.xml"))
	r.want(t, 1, "NOT CERTIFIED", `-  "message": "m"`, `+  "message": "No resource matched`, "certify --fixtures "+dir+" --case good")
	junit, err := os.ReadFile(filepath.Join(dir, "junit.xml"))
	if err != nil || !bytes.Contains(junit, []byte("No resource matched")) {
		t.Errorf("the JUnit report lacks the text of the failure: %v\n%s", err, junit)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestLostOutput: a report that could not be written is no success.
func TestLostOutput(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no /dev/full")
	}
	defer full.Close()
	for _, args := range [][]string{
		{"certify", "--case", "status/404/empty"}, {"explain", "FORWARD-01"}, {"list"}, {"mock"}, {"mock", "--help"}, {"--version"},
	} {
		cmd := exec.CommandContext(t.Context(), binary, args...)
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = full, &stderr
		if err := cmd.Run(); cmd.ProcessState.ExitCode() != 2 || !strings.Contains(stderr.String(), "no space left") {
			t.Errorf("%v: %v: %s", args, err, &stderr)
		}
	}
}
