//go:build unix

package exec_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/kballard/go-shellquote"

	"example.com/touchstone/suite/target"
	"example.com/touchstone/suite/target/exec"
	"example.com/touchstone/suite/target/jsonrpc"
)

// describedPid is the process that the child names in its description.
func describedPid(t *testing.T, client *jsonrpc.Client) int {
	t.Helper()
	description, err := client.Describe(withPatience(t))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(description.Version)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// running says whether a process is there and not a zombie, which a process
// whose parent is gone can stay for a while.
func running(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !bytes.Contains(stat, []byte(") Z "))
}

func waitGone(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(patience); running(pid); {
		if time.Now().After(end) {
			t.Fatalf("process %d still runs", pid)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestNoChildSurvivesClose(t *testing.T) {
	for _, tc := range []struct {
		mode string
		opts exec.Options
	}{
		{"good", exec.Options{}},
		{"twice", exec.Options{}},
		{"unsolicited", exec.Options{}},
		{"deaf to the end", exec.Options{Grace: 50 * time.Millisecond}},
		{"closes stdin", exec.Options{Grace: 50 * time.Millisecond}},
	} {
		t.Run(tc.mode, func(t *testing.T) {
			t.Parallel()
			client := start(t, tc.mode, tc.opts)
			pid := describedPid(t, client)
			if group, err := syscall.Getpgid(pid); err != nil || group != pid {
				t.Errorf("the child %d is in the group %d (%v), want one of its own", pid, group, err)
			}
			closeTarget(t, client)
			if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("after Close the child is still there: %v", err)
			}
			if _, err := client.Map(withPatience(t), ok); !errors.Is(err, target.ErrClosed) {
				t.Errorf("a call after Close: %v", err)
			}
		})
	}
}

func TestNoGrandchildSurvives(t *testing.T) {
	t.Parallel()
	client := start(t, "grandchild", exec.Options{})
	pid := describedPid(t, client)
	if !running(pid) {
		t.Fatal("there is no grandchild to begin with")
	}
	closeTarget(t, client)
	waitGone(t, pid)
}

// A child that ends is noticed although a process that it started holds its output.
func TestGrandchildDoesNotHideADeath(t *testing.T) {
	t.Parallel()
	client := start(t, "leaves a grandchild", exec.Options{})
	pid := describedPid(t, client)
	_, err := client.Map(withPatience(t), ok)
	wantFault(t, err, target.ProtocolError{Fault: target.Died, Method: "map", Detail: "exit status 5"})
	waitGone(t, pid)
}

func TestSignalIsNamed(t *testing.T) {
	t.Parallel()
	client := start(t, "good", exec.Options{})
	if err := syscall.Kill(describedPid(t, client), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_, err := client.Map(withPatience(t), ok)
	wantFault(t, err, target.ProtocolError{Fault: target.Died, Method: "map", Detail: "signal: killed"})
}

func TestClosedStdin(t *testing.T) {
	t.Parallel()
	client := start(t, "closes stdin", exec.Options{Grace: 200 * time.Millisecond})
	describedPid(t, client)
	// The first request may still fit into the pipe before the child closes it.
	for end := time.Now().Add(patience); time.Now().Before(end); {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := client.Map(ctx, ok)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			continue
		}
		wantFault(t, err, target.ProtocolError{Fault: target.HungUp, Method: "map", Detail: "its standard input is closed, process "})
		return
	}
	t.Error("the closed pipe is not reported")
}

// The child's life ends with the context it was started with, without Close.
func TestContextEndsTheChild(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	client, err := exec.Start(ctx, shellquote.Join(self), exec.Options{Env: []string{childMode + "=deaf to the end"}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	pid := describedPid(t, client)

	called := make(chan error, 1)
	go func() {
		_, err := client.Map(context.Background(), ok)
		called <- err
	}()
	cancel()
	select {
	case err := <-called:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the call got %v, want the context's error", err)
		}
	case <-time.After(patience):
		t.Fatal("the call did not end")
	}
	waitGone(t, pid)
	if err := closeTarget(t, client); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// Close does not wait for the calls that it ends.
func TestCloseEndsCalls(t *testing.T) {
	t.Parallel()
	client := start(t, "silent", exec.Options{})
	called := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, _ = client.Map(ctx, ok) // the child is up
	go func() {
		_, err := client.Map(context.Background(), ok)
		called <- err
	}()
	if err := closeTarget(t, client); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := <-called; !errors.Is(err, target.ErrClosed) {
		t.Errorf("the call got %v, want %v", err, target.ErrClosed)
	}
}
