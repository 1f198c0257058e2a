package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/schemas"
)

// TestReaderIsGone: `certify | head` leaves the files behind, and a code that
// says that the report was not read to its end.
func TestReaderIsGone(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "wrong.json", `{"description":"d","input":{"status":404},"expected":{"error":"not_found","message":"m","status":404,"retryable":false}}`)
	for _, tt := range []struct {
		name, flag, value string
		code              int
	}{
		{"passes", "--case", "status/404/empty", 2},
		{"fails", "--fixtures", dir, 1},
	} {
		reader, writer, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		reader.Close()
		out := t.TempDir()
		cmd := exec.CommandContext(t.Context(), binary, "certify", tt.flag, tt.value, "--out", out, "--junit", filepath.Join(out, "junit.xml"))
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = writer, &stderr
		_ = cmd.Run()
		writer.Close()
		if code := cmd.ProcessState.ExitCode(); code != tt.code || !strings.Contains(stderr.String(), "standard output is not complete") {
			t.Errorf("%s: %s, want exit code %d and a word about it: %s", tt.name, cmd.ProcessState, tt.code, &stderr)
		}
		for _, name := range []string{"certificate.json", "junit.xml"} {
			if info, err := os.Stat(filepath.Join(out, name)); err != nil || info.Size() == 0 {
				t.Errorf("%s: %s was not written: %v", tt.name, name, err)
			}
		}
	}
}

// TestEveryReport: a file that cannot be written keeps no other report back.
func TestEveryReport(t *testing.T) {
	corpus, err := fixtures.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	console := &bytes.Buffer{}
	defer func(kept *keeping) { stdout = kept }(stdout)
	stdout = &keeping{to: console}
	written := 0
	writes := func(err error) output {
		return func(*fixtures.Corpus, schemas.Certificate, string) error {
			if written++; console.Len() > 0 {
				t.Error("the console was written before a file")
			}
			return err
		}
	}
	first, last := errors.New("the disk is full"), errors.New("the directory is gone")
	err = certifyFlags{}.report(corpus, schemas.Certificate{}, []output{writes(first), writes(nil), writes(last)})
	if written != 3 || console.Len() == 0 || !errors.Is(err, first) || !errors.Is(err, last) {
		t.Errorf("%d of 3 files and %d bytes of console written: %v", written, console.Len(), err)
	}
}
