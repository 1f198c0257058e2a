package node_test

import (
	"bufio"
	"context"
	"os/exec"
	"strings"
	"testing"

	"example.com/touchstone/schemas"
	"example.com/touchstone/suite"
	"example.com/touchstone/suite/target"
	"example.com/touchstone/suite/target/open"
)

// certify holds the example to the whole corpus, as far as it claims it.
func certify(t *testing.T, spec string) {
	t.Helper()
	cert, err := suite.CertifyDirectly(t.Context(), suite.Config{
		Spec: spec,
		Open: func(ctx context.Context, settings schemas.ConfigureParams) (target.Target, error) {
			return open.Open(ctx, spec, open.Options{Env: target.Environ(settings)})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if cert.Verdict.Status != "certified" {
		t.Errorf("the verdict is %q: %s", cert.Verdict.Status, cert.Verdict.Reason)
	}
	for _, k := range cert.Cases {
		if k.Status != schemas.Pass && k.Status != schemas.Informed {
			t.Errorf("%s: %s %s %+v", k.ID, k.Status, k.Reason, k.Runs)
		}
	}
	if len(cert.Cases) < 3000 {
		t.Errorf("%d cases ran, want all of the profile", len(cert.Cases))
	}
}

func TestOverLines(t *testing.T) {
	findNode(t)
	watchSources(t)
	certify(t, "exec:node adapter.js")
}

func TestOverHTTP(t *testing.T) {
	findNode(t)
	watchSources(t)
	server := exec.CommandContext(t.Context(), "node", "adapter.js", "--http", "0")
	stdout, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait() // killed
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("reading the address: %v", err)
	}
	certify(t, strings.TrimSpace(strings.TrimPrefix(line, "listening on ")))
}
