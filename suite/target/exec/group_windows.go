package exec

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps a Ctrl-C in the console from the child: it reaches the suite
// alone, which then ends the child in order.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// killGroup ends the child. An error means that it has ended already.
func killGroup(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
}
