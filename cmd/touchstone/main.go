// Command touchstone certifies implementations of the invoke-result envelope.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"example.com/touchstone/suite"
	"example.com/touchstone/suite/verdict"
)

func main() {
	ending := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		ending = append(ending, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ending...)
	// A second signal ends the process the ordinary way.
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// exitError ends the command with a code of its own; what it had to say is said.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

func run(ctx context.Context, args []string) int {
	root := &cobra.Command{
		Use:   "touchstone",
		Short: "Certify what an agent's tool layer answers",
		Long: `Touchstone certifies implementations of the invoke-result envelope: what an
agent-facing tool layer answers when it called a backend, or refused to.

Exit codes: 0 certified, 1 not certified, 2 usage or configuration error,
3 the target broke, 4 nothing ran, 5 the suite itself failed, 130 interrupted.`,
		Version:       suite.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(certifyCommand(), listCommand(), explainCommand(), checkFixturesCommand(), mutantsCommand(), mockCommand(), referenceCommand())
	root.SetArgs(args)
	root.SetOut(stdout)
	err := root.ExecuteContext(ctx)
	var code exitError
	switch lost := stdout.failure(); {
	case err == nil && lost == nil:
		return verdict.Certified
	case errors.As(err, &code):
		return int(code)
	case err == nil:
		err = fmt.Errorf("standard output is not complete: %w", lost)
	}
	fmt.Fprintln(os.Stderr, "touchstone:", err)
	if strings.HasPrefix(err.Error(), "unknown command") || strings.HasPrefix(err.Error(), "unknown flag") || strings.HasPrefix(err.Error(), "unknown shorthand") {
		fmt.Fprintln(os.Stderr, "`touchstone --help` lists the commands, `touchstone COMMAND --help` its flags.")
	}
	return verdict.Usage
}

// self is how this process was called, for commands that a reader can repeat.
func self() string {
	if strings.Contains(filepath.ToSlash(os.Args[0]), "/go-build") {
		return "go run ./cmd/touchstone"
	}
	return os.Args[0]
}

// quoteArg writes an argument for a shell.
func quoteArg(arg string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:,=+@%", r)
	}
	if arg != "" && strings.IndexFunc(arg, func(r rune) bool { return !plain(r) }) < 0 {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}
