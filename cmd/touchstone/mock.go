package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"example.com/touchstone/mockbackend"
	"example.com/touchstone/suite/report"
)

// mockFlags are the flags of mock as they were given.
type mockFlags struct {
	port                             int
	portFile, listen, files, caOut   string
	stubs                            []string
	watch, tls, verbose, keepSecrets bool
	journal                          int
	journalBytes                     int64
	recordFrom, out                  string
	secrets                          []string
	insecure                         bool
}

func mockCommand() *cobra.Command {
	var f mockFlags
	cmd := &cobra.Command{
		Use:   "mock",
		Short: "Serve the mock backend alone, or record a real one",
		Long: `Mock serves the programmable backend until it is interrupted, so that one can
see how a client takes every status, leak bait, delay and wire fault. What it
answers is said by files of stubs, by the admin API at /__mock/, or by the
ready-made routes that the first screen lists. Opened in a browser, it shows
what it received.

A file of stubs is JSON or YAML, with one stub, a list, or {stubs: [...]}:

  - match: {method: GET, path: "/orders/{id}"}
    respond:
      status: 409
      json: {title: Conflict}
      delay: {ms: 200}

With --record-from it passes requests on to a real backend instead, and writes
stubs that answer as that did. Secrets are replaced, unless --keep-secrets.`,
		Example: `  touchstone mock
  touchstone mock --port 8089 --stubs stubs/*.yaml --watch --verbose
  touchstone mock --port 0 --port-file port.txt
  touchstone mock --tls --ca-out ca.pem
  touchstone mock --listen 0.0.0.0 --port 8089
  touchstone mock --record-from http://127.0.0.1:3000 --out stubs.yaml
  touchstone mock --record-from https://127.0.0.1:3000 --insecure --secret X-Tenant --out stubs.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			// The shell makes several arguments of --stubs stubs/*.yaml.
			if len(args) > 0 && len(f.stubs) == 0 {
				return fmt.Errorf("mock takes no argument %q; files of stubs are given as --stubs %s", args[0], quoteArg(args[0]))
			}
			f.stubs = append(f.stubs, args...)
			if err := f.check(); err != nil {
				return err
			}
			if f.recordFrom != "" {
				return recordBackend(cmd.Context(), f)
			}
			return serveMock(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.port, "port", 0, "port to listen on; 0 takes a free one")
	flags.StringVar(&f.portFile, "port-file", "", "write the number of the port to this file once the server answers")
	flags.StringVar(&f.listen, "listen", "127.0.0.1", "address to listen on; any but a loopback one protects /__mock with a token")
	flags.StringArrayVar(&f.stubs, "stubs", nil, "read stubs from this file; more files may follow")
	flags.BoolVar(&f.watch, "watch", false, "read the files of stubs, and those they name as bodies, again when they change")
	flags.StringVar(&f.files, "files", "", "directory of the bodies that stubs name with file")
	flags.BoolVar(&f.tls, "tls", false, "serve HTTPS with HTTP/2, with a certificate of its own making")
	flags.StringVar(&f.caOut, "ca-out", "", "write the certificate of the authority behind the server's, and behind those of TLS faults, to this file, as PEM")
	flags.IntVar(&f.journal, "journal", 10_000, "how many requests to remember, as far as --journal-bytes allows")
	flags.Int64Var(&f.journalBytes, "journal-bytes", 16<<20, "how many bytes of requests to remember; of one body it is the first MiB")
	flags.BoolVar(&f.verbose, "verbose", false, "print a line for each request that is answered, before it one for each that takes long, and one for each TLS handshake that fails")
	flags.StringVar(&f.recordFrom, "record-from", "", "record the backend at this URL")
	flags.StringVar(&f.out, "out", "", "file to write the recording to, YAML or .json")
	flags.BoolVar(&f.keepSecrets, "keep-secrets", false, "do not replace secrets in the recording")
	flags.StringArrayVar(&f.secrets, "secret", nil, "name of a header, member or parameter to replace too (repeatable)")
	flags.BoolVar(&f.insecure, "insecure", false, "record a backend whose certificate cannot be verified")
	return cmd
}

// check refuses what cannot be meant, before anything is started.
func (f mockFlags) check() error {
	if f.port < 0 || f.port > 65535 {
		return fmt.Errorf("--port %d: a port is a number from 0 to 65535", f.port)
	}
	if f.journal < 1 {
		return fmt.Errorf("--journal %d: remember at least one request", f.journal)
	}
	if f.journalBytes < 1 {
		return fmt.Errorf("--journal-bytes %d: leave room for at least one request", f.journalBytes)
	}
	if f.listen == "" {
		return errors.New("--listen: the address is empty; give one, such as 0.0.0.0, or leave --listen out for 127.0.0.1")
	}
	if _, _, err := net.SplitHostPort(f.listen); err == nil {
		return fmt.Errorf("--listen %s: give the address alone, and its port as --port", f.listen)
	}
	if f.files != "" {
		if info, err := os.Stat(f.files); err != nil {
			return fmt.Errorf("--files: %w", err)
		} else if !info.IsDir() {
			return fmt.Errorf("--files %s: not a directory; give the one that holds the bodies", f.files)
		}
	}
	for _, rule := range []struct {
		given, needs bool
		text         string
	}{
		{f.watch, len(f.stubs) > 0, "--watch: there are no files to watch; give them with --stubs"},
		{f.recordFrom != "", f.out != "", "--record-from: say where to write the recording with --out"},
		{f.out != "", f.recordFrom != "", "--out: say what to record with --record-from"},
		{f.keepSecrets, f.recordFrom != "", "--keep-secrets is for --record-from"},
		{len(f.secrets) > 0, f.recordFrom != "" && !f.keepSecrets, "--secret is for --record-from, without --keep-secrets"},
		{slices.Contains(f.secrets, ""), false, "--secret: give the name of a header, member or parameter"},
		{f.insecure, strings.HasPrefix(f.recordFrom, "https://"), "--insecure is for --record-from with an https URL"},
		{f.recordFrom != "", len(f.stubs) == 0 && f.files == "" && !f.tls && f.caOut == "", "--record-from only passes requests on; it takes no --stubs, --files, --tls or --ca-out"},
		{f.recordFrom != "", isLoopback(f.listen), "--record-from listens on loopback addresses only: whoever reaches it reaches the backend"},
	} {
		if rule.given && !rule.needs {
			return errors.New(rule.text)
		}
	}
	for _, out := range []struct{ flag, path string }{{"--port-file", f.portFile}, {"--ca-out", f.caOut}, {"--out", f.out}} {
		if out.path == "" {
			continue
		}
		if err := report.CheckWritable(out.path); err != nil {
			return fmt.Errorf("%s %s cannot be written, and nothing was started: %w", out.flag, out.path, err)
		}
	}
	return nil
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && address.Unmap().IsLoopback()
}

func (f mockFlags) address() string {
	return net.JoinHostPort(strings.Trim(f.listen, "[]"), strconv.Itoa(f.port))
}

// listenError says what to do about an address that cannot be listened on.
func (f mockFlags) listenError(err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %d is taken: end what listens there, or take a free one with --port 0: %w", f.port, err)
	}
	return err
}

func serveMock(ctx context.Context, f mockFlags) error {
	options := mockbackend.Options{Addr: f.address(), JournalEntries: f.journal, JournalBytes: f.journalBytes, Files: f.files, Stubs: f.stubs, TLS: f.tls}
	if !isLoopback(f.listen) {
		options.AdminToken = rand.Text()
	}
	if f.verbose {
		options.Observe = printEntries(stdout, longAnswer)
		options.ErrorLog = log.New(stdout, "", log.Ltime|log.Lmicroseconds)
	}
	server, err := mockbackend.Start(options)
	if err != nil {
		return f.listenError(err)
	}
	forget, err := f.forgetPort(server.URL())
	if err != nil {
		return errors.Join(err, server.Close())
	}
	defer forget()
	err = f.announce(ctx, server, len(server.Stubs()), options.AdminToken)
	switch {
	case err != nil && ctx.Err() != nil: // interrupted before it was up
		return server.Close()
	case err != nil:
		return errors.Join(err, server.Close())
	}
	var watching sync.WaitGroup
	if f.watch {
		watching.Go(func() {
			if err := server.WatchFiles(ctx, printReload(os.Stderr), f.stubs...); err != nil {
				fmt.Fprintln(os.Stderr, "touchstone: --watch:", err)
			}
		})
	}
	<-ctx.Done()
	forget()
	watching.Wait()
	return ending(ctx, server.Shutdown)
}

// ending lets what is being answered come to its end, for a while.
func ending(ctx context.Context, shutdown func(context.Context) error) error {
	slow := time.AfterFunc(300*time.Millisecond, func() {
		fmt.Fprintf(stdout, "\nWaiting up to %s for what is being answered. Ctrl-C ends it at once.\n", drain)
	})
	defer slow.Stop()
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	if err := shutdown(draining); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil // what stalls has ended too
}

// announce waits until the server answers, writes the files that say where it
// is, and prints the first screen.
func (f mockFlags) announce(ctx context.Context, server *mockbackend.Server, stubs int, token string) error {
	base := localURL(server.URL())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/__mock/openapi.json", nil)
	if err != nil {
		return fmt.Errorf("calling the mock backend: %w", err)
	}
	answer, err := server.Client().Do(request)
	if err != nil {
		return fmt.Errorf("calling the mock backend: %w", err)
	}
	answer.Body.Close()
	server.Client().CloseIdleConnections() // the end would wait for them
	curl := "curl -i"
	if f.caOut != "" {
		if err := report.WriteFile(f.caOut, server.CAPEM()); err != nil {
			return fmt.Errorf("--ca-out: %w", err)
		}
	}
	switch {
	case f.tls && f.caOut != "":
		curl += " --cacert " + quoteArg(f.caOut)
	case f.tls:
		curl += " -k"
	}
	fmt.Fprintf(stdout, "mock backend on %s", server.URL())
	if len(f.stubs) > 0 {
		fmt.Fprintf(stdout, ", with %s of %s", report.Count(stubs, "stub"), report.Count(len(f.stubs), "file"))
	}
	fmt.Fprint(stdout, "\n\n")
	var admin string
	if token != "" {
		fmt.Fprintf(stdout, "The admin API and the page ask for a token, which is not shown again:\n  export MOCK_TOKEN=%s\n  In a browser: %s/?token=%[1]s\n\n", token, base)
		admin = mockbackend.AdminHeader
	}
	fmt.Fprint(stdout, mockbackend.Guide(base, curl, admin), "\nCtrl-C ends it.\n")
	if err := stdout.failure(); err != nil {
		return fmt.Errorf("the first screen: %w", err)
	}
	// Last: who waits for the file finds all the rest done.
	return f.tellPort(server.URL())
}

// tellPort writes the number at the end of an address or a URL into the file
// that was asked for.
func (f mockFlags) tellPort(address string) error {
	if f.portFile == "" {
		return nil
	}
	if err := report.WriteFile(f.portFile, portLine(address)); err != nil {
		return fmt.Errorf("--port-file: %w", err)
	}
	return nil
}

func portLine(address string) []byte {
	return []byte(address[strings.LastIndexByte(address, ':')+1:] + "\n")
}

// forgetPort removes the file with the port of an earlier server, which who
// waits for ours would take for it. It is called when ours listens: of two that
// want one port, the one that fails leaves the file to the other. What it gives
// removes ours, and is called before ours stops listening, when no other server
// can have written the same port.
func (f mockFlags) forgetPort(address string) (forget func(), err error) {
	// Pipes and devices are written to as they are, and stay.
	if info, err := os.Stat(f.portFile); f.portFile == "" || err == nil && !info.Mode().IsRegular() {
		return func() {}, nil
	}
	if err := os.Remove(f.portFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--port-file: %w", err)
	}
	return sync.OnceFunc(func() {
		if data, err := os.ReadFile(f.portFile); err == nil && bytes.Equal(data, portLine(address)) {
			_ = os.Remove(f.portFile)
		}
	}), nil
}

// localURL is a URL of this machine for a server on all its addresses.
func localURL(url string) string {
	for _, all := range []string{"://[::]:", "://0.0.0.0:"} {
		url = strings.Replace(url, all, "://127.0.0.1:", 1)
	}
	return url
}

// printReload tells how reading the files of stubs again went.
func printReload(to io.Writer) func(int, error) {
	return func(stubs int, err error) {
		if err != nil {
			fmt.Fprintf(to, "The stubs stay as they were; the files cannot be used:\n%v\n", err)
			return
		}
		fmt.Fprintf(to, "The files were read again: %s.\n", report.Count(stubs, "stub"))
	}
}
