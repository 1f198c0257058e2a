package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"example.com/touchstone/mockbackend"
	"example.com/touchstone/suite/report"
)

// saveEvery is how often a recording is written while it grows.
const saveEvery = 2 * time.Second

// recordBackend passes requests on to a backend and writes what it answers as
// stubs.
func recordBackend(ctx context.Context, f mockFlags) error {
	if _, err := os.Stat(f.out); err == nil {
		return fmt.Errorf("--out %s is there already; remove it, or give another name", f.out)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if f.insecure {
		transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	}
	defer transport.CloseIdleConnections()
	var exchanges atomic.Int64
	recorder, err := mockbackend.NewRecorder(f.recordFrom, mockbackend.RecorderOptions{
		KeepSecrets: f.keepSecrets,
		Secrets:     f.secrets,
		Transport:   transport,
		Done:        printRecorded(stdout, os.Stderr, f.verbose, &exchanges),
	})
	if err != nil {
		return fmt.Errorf("--record-from: %w", err)
	}
	save := f.saver(recorder, &exchanges)
	listener, err := net.Listen("tcp", f.address())
	if err != nil {
		return f.listenError(fmt.Errorf("recording: %w", err))
	}
	forget, err := f.forgetPort(listener.Addr().String())
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	server := &http.Server{Handler: recorder, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	var serving sync.WaitGroup
	serving.Go(func() { served <- server.Serve(listener) })
	defer serving.Wait()
	defer server.Close()
	defer forget()
	fmt.Fprintf(stdout, `recording %s

Send requests to http://%s in its place.
What it answers is written to %s%s.

Ctrl-C ends it.
`, redactedURL(f.recordFrom), listener.Addr(), f.out, map[bool]string{true: ", WITH ITS SECRETS", false: "; secrets are replaced by " + mockbackend.Redacted}[f.keepSecrets])
	if err := f.tellPort(listener.Addr().String()); err != nil {
		return err
	}
	ticker := time.NewTicker(saveEvery)
	defer ticker.Stop()
	for {
		select {
		case err := <-served:
			return errors.Join(fmt.Errorf("recording: %w", err), save())
		case <-ticker.C:
			if exchanges.Load() == 0 {
				continue
			}
			if err := save(); err != nil {
				return err
			}
		case <-ctx.Done():
			forget()
			// At once, as a second Ctrl-C ends the process, and with what ended since.
			err := errors.Join(save(), ending(ctx, server.Shutdown), save())
			if err == nil {
				fmt.Fprintf(stdout, "%s from %s in %s. To replay them:\n  %s mock --stubs %s\n",
					report.Count(len(recorder.Stubs()), "stub"), report.Count(int(exchanges.Load()), "request"), f.out, self(), quoteArg(f.out))
			}
			return err
		}
	}
}

// saver writes the recording whole or not at all, when something has come since
// it did so.
func (f mockFlags) saver(recorder *mockbackend.Recorder, exchanges *atomic.Int64) func() error {
	secrets := "Secrets are replaced by " + mockbackend.Redacted + "."
	if f.keepSecrets {
		secrets = "It holds the backend's secrets."
	}
	comment := fmt.Sprintf("Recorded from %s on %s.\n%s", redactedURL(f.recordFrom), time.Now().Format(time.DateOnly), secrets)
	saved := int64(-1)
	return func() error {
		recorder.Stubs() // waits for what has ended
		// Counted first: what comes meanwhile is saved once more rather than not.
		now := exchanges.Load()
		if now == saved {
			return nil
		}
		err := telling(stdout, slowSave, "Saving "+f.out+" takes a while. Ending at once loses what came since it was saved last.", func() error {
			data, err := mockbackend.MarshalStubs(f.out, recorder.Stubs(), comment)
			if err != nil {
				return err
			}
			return report.WriteFile(f.out, data)
		})
		if err == nil {
			saved = now
		}
		return err
	}
}

// slowSave is how long saving takes without a word.
const slowSave = 300 * time.Millisecond

// telling says a line when what is done takes longer.
func telling(out io.Writer, after time.Duration, line string, do func() error) error {
	slow := time.AfterFunc(after, func() { fmt.Fprintln(out, line) })
	defer slow.Stop()
	return do()
}

func redactedURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.User == nil {
		return text
	}
	u.User = url.User(mockbackend.Redacted)
	return u.String()
}

// printRecorded counts exchanges, prints a line for each when asked to, and for
// those that are not recorded in any case.
func printRecorded(out, problems io.Writer, verbose bool, exchanges *atomic.Int64) func(mockbackend.Recorded) {
	var mu sync.Mutex
	return func(r mockbackend.Recorded) {
		exchanges.Add(1)
		mu.Lock()
		defer mu.Unlock()
		if r.Skipped != nil {
			fmt.Fprintf(problems, "Not recorded: %s %q: %v\n", r.Method, r.Target, r.Skipped)
		}
		if verbose {
			fmt.Fprintf(out, "%s %s %q -> %d, %d bytes in %s\n", time.Now().Format("15:04:05.000"), r.Method, r.Target, r.Status, r.BodyBytes, r.Duration.Round(10*time.Microsecond))
		}
	}
}
