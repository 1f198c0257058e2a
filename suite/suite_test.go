package suite_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/onsi/ginkgo/v2/formatter"
	"go.uber.org/goleak"

	"example.com/touchstone/reference/serve"
	"example.com/touchstone/schemas"
	"example.com/touchstone/suite"
	"example.com/touchstone/suite/target"
	"example.com/touchstone/suite/target/builtin"
	"example.com/touchstone/suite/target/open"
)

// serveLines makes this test binary the reference as an exec target.
const serveLines = "TOUCHSTONE_TEST_SERVE_LINES"

func TestMain(m *testing.M) {
	if os.Getenv(serveLines) != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		if err := serve.New(serve.Reference{}).ServeLines(ctx, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	formatter.ColorableStdOut = io.Discard // three thousand dots say less than one verdict
	goleak.VerifyTestMain(m,
		// Ginkgo keeps its handlers for the life of the process.
		goleak.IgnoreAnyFunction("github.com/onsi/ginkgo/v2/internal/interrupt_handler.(*InterruptHandler).registerForInterrupts.func2"),
		goleak.IgnoreAnyFunction("github.com/onsi/ginkgo/v2/internal.RegisterForProgressSignal.func1"),
	)
}

// TestRunAgreesWithEngine certifies the reference the way a Go project does it
// in its own tests, and once more case by case: both paths give one verdict.
func TestRunAgreesWithEngine(t *testing.T) {
	reference := builtin.New(serve.New(serve.Reference{}))
	t.Cleanup(func() { closing(t, reference) })
	cert := suite.Run(t, suite.Config{Target: reference, Spec: "builtin"})
	if cert.Verdict.Status != "certified" {
		t.Errorf("the verdict is %q: %s", cert.Verdict.Status, cert.Verdict.Reason)
	}
	if len(cert.Cases) < 600 {
		t.Errorf("%d cases ran, want well over 600", len(cert.Cases))
	}
	direct := certifyDirectly(t, reference)
	ignore := cmpopts.IgnoreFields(schemas.RunResult{}, "DurationMs", "Attempts")
	if diff := cmp.Diff(direct.Cases, cert.Cases, ignore); diff != "" {
		t.Errorf("the Ginkgo tree and the engine disagree (-engine +tree):\n%s", diff)
	}
	if diff := cmp.Diff(direct.Requirements, cert.Requirements); diff != "" {
		t.Errorf("requirements (-engine +tree):\n%s", diff)
	}
}

// onlyFiltered lets TestRunUnderFilter run, in a process of its own: Ginkgo runs
// one suite in each.
const onlyFiltered = "TOUCHSTONE_TEST_FILTERED"

func TestRunUnderFilter(t *testing.T) {
	if os.Getenv(onlyFiltered) == "" {
		t.Skip("TestRunFiltered runs it")
	}
	reference := builtin.New(serve.New(serve.Reference{}))
	t.Cleanup(func() { closing(t, reference) })
	cert := suite.Run(t, suite.Config{Target: reference, Profiles: []string{"envelope-core"}})
	fmt.Printf("%s, exit code %d, %d cases: %s\n", cert.Verdict.Status, cert.Verdict.ExitCode, len(cert.Cases), cert.Verdict.Reason)
}

// TestRunFiltered: what Ginkgo's own flags leave out was not to run.
func TestRunFiltered(t *testing.T) {
	for filter, want := range map[string]string{
		"FORWARD-02 && MUST": "selection passed, exit code 0, 54 cases: ",
		"NO-SUCH":            "nothing ran, exit code 4, 0 cases: ",
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestRunUnderFilter$", "-ginkgo.label-filter", filter)
		cmd.Env = append(os.Environ(), onlyFiltered+"=1")
		out, err := cmd.Output()
		if !strings.Contains(string(out), want) || (err == nil) != strings.Contains(want, "exit code 0") {
			t.Errorf("%s: %v, without %q:\n%.2000s", filter, err, want, out)
		}
	}
}

func closing(t *testing.T, c interface{ Close() error }) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func certifyDirectly(t *testing.T, judged target.Target) schemas.Certificate {
	t.Helper()
	cert, err := suite.CertifyDirectly(t.Context(), suite.Config{Target: judged})
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// TestOneVerdictOverEveryDriver: the driver is how a target is reached and says
// nothing about it.
func TestOneVerdictOverEveryDriver(t *testing.T) {
	server := httptest.NewServer(serve.New(serve.Reference{}))
	defer server.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	quoted, err := json.Marshal(self) // a shell word too, for paths without specials
	if err != nil {
		t.Fatal(err)
	}
	targets := []struct{ name, spec string }{
		{"builtin", "builtin"},
		{"exec", "exec:" + string(quoted)},
		{"http", server.URL},
	}
	var first []schemas.CaseResult
	for _, tt := range targets {
		t.Run(tt.name, func(t *testing.T) {
			judged, err := open.Open(t.Context(), tt.spec, open.Options{
				Builtin: serve.New(serve.Reference{}), Env: []string{serveLines + "=1"},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer closing(t, judged)
			cert := certifyDirectly(t, judged)
			if cert.Verdict.Status != "certified" {
				t.Errorf("the verdict is %q: %s", cert.Verdict.Status, cert.Verdict.Reason)
			}
			if first == nil {
				first = cert.Cases
			}
			if diff := cmp.Diff(first, cert.Cases, cmpopts.IgnoreFields(schemas.RunResult{}, "DurationMs", "Attempts")); diff != "" {
				t.Errorf("differs from builtin (-builtin +%s):\n%s", tt.name, diff)
			}
		})
	}
}
