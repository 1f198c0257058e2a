//go:build unix

package exec

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the child into a process group of its own: a Ctrl-C in the
// terminal reaches the suite alone, which then ends the child in order.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// killGroup ends the child and every process that it started and that stayed in
// its group. An error means that there is nothing left to end.
func killGroup(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
}
