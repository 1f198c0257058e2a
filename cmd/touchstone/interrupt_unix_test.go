//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestInterrupt: Ctrl-C in the middle of a run ends the running case, reports
// what ran, and leaves no child behind.
func TestInterrupt(t *testing.T) {
	for _, profile := range []string{"envelope-core", "agent-outcome"} {
		for _, signal := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
			t.Run(fmt.Sprintf("%s, %s", profile, signal), func(t *testing.T) { testInterrupt(t, profile, signal) })
		}
	}
}

func testInterrupt(t *testing.T, profile string, signal os.Signal) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	hang := filepath.Join(t.TempDir(), "target.sh")
	write(t, filepath.Dir(hang), "target.sh", fmt.Sprintf(`echo $$ > %s; exec %s reference --serve exec`, pidFile, binary))
	cmd := exec.Command(binary, "certify", "--target", "exec:sh "+hang, "--profile", profile)
	var stdout bytes.Buffer
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = &stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The first line of progress says that cases run.
	first := make([]byte, 64)
	if _, err := stderr.Read(first); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = new(bytes.Buffer).ReadFrom(stderr) }()
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	for _, part := range []string{"INTERRUPTED (partial)", "cases ran", "REQUIREMENT"} {
		if !strings.Contains(stdout.String(), part) {
			t.Errorf("the report lacks %q:\n%.3000s", part, &stdout)
		}
	}
	if strings.Contains(stdout.String(), " 0 not run") {
		t.Errorf("it ran on to the end:\n%.3000s", &stdout)
	}
	wantGone(t, pidFile)
}

// TestInterruptEarly: a target that has not answered yet is not blamed for it.
func TestInterruptEarly(t *testing.T) {
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
		pidFile := filepath.Join(t.TempDir(), "pid")
		cmd := exec.Command(binary, "certify", "--target", fmt.Sprintf("exec:sh -c 'echo $$ > %s; exec sleep 1000'", pidFile))
		var stdout bytes.Buffer
		cmd.Stdout = &stdout
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for began := time.Now(); ; {
			if data, err := os.ReadFile(pidFile); err == nil && len(data) > 0 {
				break
			}
			if time.Since(began) > time.Minute {
				t.Fatal("the target was not started")
			}
		}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 130 {
			t.Errorf("%s: exit code %d, want 130\n%s", signal, code, &stdout)
		}
		wantGone(t, pidFile)
	}
}

// wantGone waits for the end of the process whose number is in a file.
func wantGone(t *testing.T, pidFile string) {
	t.Helper()
	data, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(string(data), &pid); err != nil {
		t.Fatal(err)
	}
	gone := time.Now().Add(10 * time.Second)
	for syscall.Kill(pid, 0) == nil {
		if time.Now().After(gone) {
			t.Fatalf("the target, process %d, still lives", pid)
		}
		runtime.Gosched()
	}
}
