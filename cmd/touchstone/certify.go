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
	"time"

	"github.com/spf13/cobra"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/reference/serve"
	"example.com/touchstone/schemas"
	"example.com/touchstone/suite"
	"example.com/touchstone/suite/engine"
	"example.com/touchstone/suite/report"
	"example.com/touchstone/suite/target"
	"example.com/touchstone/suite/target/open"
)

// certifyFlags are the flags of certify as they were given.
type certifyFlags struct {
	target, fixtures, out, junit  string
	profiles, requirements, cases []string
	strict, verbose               bool
	timeout                       time.Duration
	server                        serverFlags
}

func certifyCommand() *cobra.Command {
	var f certifyFlags
	cmd := &cobra.Command{
		Use:   "certify",
		Short: "Run the cases against a target and give a verdict",
		Long: `Certify runs the conformance cases against a target, over real HTTP to a mock
backend of its own, and gives a verdict. Without flags it certifies the built-in
reference.

A target is
  builtin            the reference implementation, in this process
  exec:COMMAND       a program that speaks JSON-RPC 2.0, one message a line
  http://HOST/PATH   a server that takes the same messages as POST
  mcp+exec:COMMAND   an MCP server over standard input and output; {backend} and
                     {openapi} in the command stand for the mock backend's URLs
  mcp+http://HOST/…  an MCP server over streamable HTTP, started with the address
                     that --mock-addr gives the mock backend`,
		Example: `  touchstone certify
  touchstone certify --target 'exec:node suite/examples/node/adapter.js'
  touchstone certify --target http://127.0.0.1:8080/rpc --junit report.xml --out results
  touchstone certify --target 'mcp+exec:node server.js --backend {backend}'
  touchstone certify --target mcp+http://127.0.0.1:8080/mcp --mock-addr 127.0.0.1:8089
  touchstone certify --requirement FORWARD-02 --verbose
  touchstone certify --case status/404/empty
  touchstone certify --fixtures ./my-cases`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return certify(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.target, "target", "builtin", "what to certify: builtin, exec:COMMAND, a URL, or an MCP server as mcp+exec:COMMAND or mcp+URL")
	flags.StringSliceVar(&f.profiles, "profile", nil, "profiles to certify (default: every profile the target claims)")
	flags.StringSliceVar(&f.requirements, "requirement", nil, "run only cases that serve these requirements")
	flags.StringSliceVar(&f.cases, "case", nil, "run only these cases")
	flags.StringVar(&f.fixtures, "fixtures", "", "run the cases of this directory instead of the built-in ones")
	flags.StringVar(&f.out, "out", "", "write certificate.json into this directory")
	flags.StringVar(&f.junit, "junit", "", "write a JUnit report to this file")
	flags.BoolVar(&f.strict, "strict", false, "let a failed SHOULD fail the run")
	flags.BoolVar(&f.verbose, "verbose", false, "show every failure in full")
	flags.DurationVar(&f.timeout, "timeout", engine.DefaultCallTimeout, "time one call of the target may take")
	f.server.register(flags)
	return cmd
}

// command is the command line that repeats a run, without its selection.
func (f certifyFlags) command() string {
	words := []string{self(), "certify"}
	if f.target != "builtin" {
		words = append(words, "--target", quoteArg(f.target))
	}
	if f.fixtures != "" {
		words = append(words, "--fixtures", quoteArg(f.fixtures))
	}
	return strings.Join(append(words, f.server.words()...), " ")
}

func certify(ctx context.Context, f certifyFlags) error {
	// A reader that is gone is an error of a write, and not the end of a run that
	// has files to write. An ignored signal would be ignored in the target too.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if f.timeout <= 0 {
		return fmt.Errorf("--timeout %s: the time of a call must be above zero", f.timeout)
	}
	if err := f.server.checkTarget(f.target); err != nil {
		return err
	}
	header, err := f.server.header()
	if err != nil {
		return err
	}
	operations, err := f.server.names()
	if err != nil {
		return err
	}
	config := suite.Config{
		Spec: f.target, Profiles: f.profiles, Requirements: f.requirements, Cases: f.cases,
		Strict: f.strict, CallTimeout: f.timeout,
		Open: func(ctx context.Context, settings schemas.ConfigureParams) (target.Target, error) {
			return open.Open(ctx, f.target, open.Options{
				Builtin: serve.New(serve.Reference{}), Env: target.Environ(settings),
				Settings: settings, Header: header, Operations: operations,
			})
		},
	}
	if err := f.server.apply(&config); err != nil {
		return err
	}
	corpus, err := corpusOf(f.fixtures)
	if err != nil {
		return err
	}
	if f.fixtures != "" {
		config.Corpus = corpus
	}
	if err := config.Check(); err != nil {
		return err
	}
	outputs, err := f.outputs()
	if err != nil {
		return err
	}
	progress := newProgress(os.Stderr)
	config.Progress = progress.show
	cert, err := suite.Certify(ctx, config)
	progress.done()
	if err != nil {
		return err
	}
	return f.report(corpus, cert, outputs)
}

// report writes the files, then the console, whose reader may be gone: each is
// written whatever became of the others.
func (f certifyFlags) report(corpus *fixtures.Corpus, cert schemas.Certificate, outputs []output) error {
	var errs []error
	for _, write := range outputs {
		errs = append(errs, write(corpus, cert, f.command()))
	}
	report.Console{Corpus: corpus, Command: f.command(), All: f.verbose}.Write(stdout, cert)
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if cert.Verdict.ExitCode == 0 {
		return nil // an incomplete standard output is told of where the process ends
	}
	if err := stdout.failure(); err != nil {
		fmt.Fprintln(os.Stderr, "touchstone: standard output is not complete:", err)
	}
	return exitError(cert.Verdict.ExitCode)
}

// corpusOf reads a directory of fixtures, or gives the built-in corpus.
func corpusOf(dir string) (*fixtures.Corpus, error) {
	if dir == "" {
		return fixtures.Builtin()
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("--fixtures %s: %w", dir, err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("--fixtures %s: not a directory; give the directory that holds the .json files", dir)
	}
	corpus, err := fixtures.Load(os.DirFS(dir))
	if err != nil {
		return nil, fmt.Errorf("the fixtures in %s are broken, and nothing was run:\n%w", dir, err)
	}
	return corpus, nil
}

type output func(corpus *fixtures.Corpus, cert schemas.Certificate, command string) error

// outputs says before the run whether its reports can be written, and gives
// what writes them.
func (f certifyFlags) outputs() ([]output, error) {
	var outputs []output
	if f.out != "" {
		path := filepath.Join(f.out, report.CertificateFile)
		if err := report.CheckWritable(path); err != nil {
			return nil, fmt.Errorf("--out %s cannot be written, and nothing was run: %w", f.out, err)
		}
		outputs = append(outputs, func(_ *fixtures.Corpus, cert schemas.Certificate, _ string) error {
			data, err := report.Certificate(cert)
			if err != nil {
				return err
			}
			return report.WriteFile(path, data)
		})
	}
	if f.junit != "" {
		if err := report.CheckWritable(f.junit); err != nil {
			return nil, fmt.Errorf("--junit %s cannot be written, and nothing was run: %w", f.junit, err)
		}
		outputs = append(outputs, func(corpus *fixtures.Corpus, cert schemas.Certificate, command string) error {
			data, err := report.JUnit(corpus, cert, command)
			if err != nil {
				return err
			}
			return report.WriteFile(f.junit, data)
		})
	}
	return outputs, nil
}
