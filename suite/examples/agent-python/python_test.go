// Package python_test certifies the Python example.
package python_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/touchstone/schemas"
	"example.com/touchstone/suite"
	"example.com/touchstone/suite/target"
	targetexec "example.com/touchstone/suite/target/exec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, ginkgoStays...) }

// ginkgoStays are the goroutines that Ginkgo keeps for the life of the process.
var ginkgoStays = []goleak.Option{
	goleak.IgnoreAnyFunction("github.com/onsi/ginkgo/v2/internal/interrupt_handler.(*InterruptHandler).registerForInterrupts.func2"),
	goleak.IgnoreAnyFunction("github.com/onsi/ginkgo/v2/internal.RegisterForProgressSignal.func1"),
}

// TestCertify: an agent in a language with exceptions, written from the rules,
// is certified over its standard input and output.
func TestCertify(t *testing.T) {
	python := findPython(t)
	watchSources(t)
	cert, err := suite.Certify(t.Context(), suite.Config{
		Spec: "exec:python3 adapter.py",
		Open: func(ctx context.Context, settings schemas.ConfigureParams) (target.Target, error) {
			return targetexec.Start(ctx, quote(python)+" adapter.py", targetexec.Options{Env: append(target.Environ(settings), "PYTHONDONTWRITEBYTECODE=1"), Grace: 10 * time.Second})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if cert.Verdict.Status != "certified" {
		t.Errorf("the verdict is %q: %s", cert.Verdict.Status, cert.Verdict.Reason)
	}
	for _, k := range cert.Cases {
		for _, run := range k.Runs {
			for _, f := range run.Findings {
				t.Errorf("%s via %s: %s %s", k.ID, run.Via, f.Requirement, f.Problem)
			}
		}
	}
	for _, r := range cert.Requirements {
		if r.Status != schemas.Pass {
			t.Errorf("%s: %s", r.ID, r.Status)
		}
	}
	if len(cert.Requirements) < 19 {
		t.Errorf("%d requirements were judged, want all of the profile", len(cert.Requirements))
	}
}

func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// findPython gives the path of a Python that can run the example, and skips the
// test where there is none.
func findPython(t *testing.T) string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skipf("the Python example is not certified: python3 is not installed (%v); install Python 3.11 or later", err)
	}
	check := exec.CommandContext(t.Context(), python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))")
	if err := check.Run(); err != nil {
		t.Skipf("the Python example is not certified: %s is older than Python 3.11, or does not run: %v", python, err)
	}
	return python
}

// watchSources opens every file that Python will read: the go command keeps a
// test's result until a file the test itself opened changes.
func watchSources(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob("*.py")
	if err != nil || len(files) == 0 {
		t.Fatalf("no Python file (%v)", err)
	}
	for _, file := range files {
		if _, err := os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
}
