package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"example.com/touchstone/mockbackend"
	"example.com/touchstone/reference/serve"
)

func mockCommand() *cobra.Command {
	var port int
	cmd := &cobra.Command{
		Use:   "mock",
		Short: "Serve the mock backend alone",
		Long: `Mock serves the programmable backend on the loopback interface, until it is
interrupted, so that one can see how a client takes every status, leak bait,
delay and wire fault.`,
		Example: `  touchstone mock --port 8089
  curl -i 'http://127.0.0.1:8089/status/422?body=fields'
  curl -i http://127.0.0.1:8089/leak/connection-string
  curl -i http://127.0.0.1:8089/fault/reset`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			server, err := mockbackend.Start(mockbackend.Options{Addr: net.JoinHostPort("127.0.0.1", fmt.Sprint(port))})
			if err != nil {
				return err
			}
			fmt.Printf(`mock backend on %s

  %[1]s/status/404?body=problem   any status; body: problem, fields, nest, envelope, plain, html, empty
  %[1]s/leak/connection-string    an error that leaks, one for each class
  %[1]s/delay/3000                an answer after as many milliseconds
  %[1]s/fault/reset               a wire fault of each kind
  %[1]s/orders/1                  the sample API, described at /openapi.json
  %[1]s/__mock/journal            what was received; stubs are set at /__mock/stubs

Ctrl-C ends it.
`, server.URL())
			<-cmd.Context().Done()
			return server.Close()
		},
	}
	cmd.Flags().IntVar(&port, "port", 0, "port on 127.0.0.1; 0 takes a free one")
	return cmd
}

func referenceCommand() *cobra.Command {
	var how string
	var port int
	cmd := &cobra.Command{
		Use:   "reference",
		Short: "Serve the reference implementation as a target",
		Long: `Reference serves the reference implementation over the target protocol:
as lines on standard input and output, or over HTTP.`,
		Example: `  touchstone certify --target 'exec:touchstone reference --serve exec'
  touchstone reference --serve http --port 8088`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			handler := serve.New(serve.Reference{})
			switch how {
			case "exec":
				return handler.ServeLines(cmd.Context(), os.Stdin, os.Stdout)
			case "http":
				return serveHTTP(cmd.Context(), handler, port)
			}
			return fmt.Errorf("--serve %q: the ways are exec and http", how)
		},
	}
	cmd.Flags().StringVar(&how, "serve", "exec", "how to serve: exec or http")
	cmd.Flags().IntVar(&port, "port", 0, "port on 127.0.0.1 for http; 0 takes a free one")
	return cmd
}

// drain is how long answers under way may take when the server is interrupted.
const drain = 5 * time.Second

func serveHTTP(ctx context.Context, handler http.Handler, port int) error {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", fmt.Sprint(port)))
	if err != nil {
		return fmt.Errorf("serving the reference: %w", err)
	}
	fmt.Printf("reference on http://%s\n", listener.Addr())
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("serving the reference: %w", err)
	case <-ctx.Done():
	}
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	err = server.Shutdown(draining)
	if served := <-served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
