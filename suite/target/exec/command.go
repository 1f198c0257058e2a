package exec

import (
	"os"
	"os/exec"
)

// Log keeps the end of what is written to it, as a child's standard error. The
// zero value is ready for use.
type Log struct{ tail }

// Command gives a command, cut into words by [Split], that is not started yet:
// in a process group of its own, with env added to the environment of this
// process, and with its standard error kept in log. It is for drivers that speak
// another protocol with their child; they end it with [Kill].
func Command(command string, env []string, log *Log) (*exec.Cmd, error) {
	argv, err := Split(command)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = log
	ownGroup(cmd)
	return cmd, nil
}

// Kill ends a started command and what it has started (on Windows: it alone).
func Kill(cmd *exec.Cmd) { killGroup(cmd) }
