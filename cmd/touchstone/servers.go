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

	"example.com/touchstone/reference/serve"
)

func referenceCommand() *cobra.Command {
	var how string
	var port int
	var overMCP mcpFlags
	cmd := &cobra.Command{
		Use:   "reference",
		Short: "Serve the reference implementation as a target, or as an MCP server",
		Long: `Reference serves the reference implementation over the target protocol, as
lines on standard input and output or over HTTP; or as an MCP server for the
operations of any OpenAPI document, over standard input and output or over
streamable HTTP.`,
		Example: `  touchstone certify --target 'exec:touchstone reference --serve exec'
  touchstone reference --serve http --port 8088
  touchstone certify --target 'mcp+exec:touchstone reference --serve mcp-stdio'
  touchstone reference --serve mcp-http --openapi api.yaml --backend http://127.0.0.1:9000`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if how == "mcp-stdio" || how == "mcp-http" {
				server, err := overMCP.server(cmd.Context())
				if err != nil {
					return err
				}
				if how == "mcp-stdio" {
					return server.ServeStdio(cmd.Context())
				}
				defer server.Close()
				return serveHTTP(cmd.Context(), server.HTTPHandler(), port)
			}
			handler := serve.New(serve.Reference{})
			switch how {
			case "exec":
				return handler.ServeLines(cmd.Context(), os.Stdin, stdout)
			case "http":
				return serveHTTP(cmd.Context(), handler, port)
			}
			return fmt.Errorf("--serve %q: the ways are exec, http, mcp-stdio and mcp-http", how)
		},
	}
	cmd.Flags().StringVar(&how, "serve", "exec", "how to serve: exec, http, mcp-stdio or mcp-http")
	cmd.Flags().IntVar(&port, "port", 0, "port on 127.0.0.1 for http and mcp-http; 0 takes a free one")
	overMCP.register(cmd.Flags())
	return cmd
}

// drain is how long answers under way may take when the server is interrupted.
const drain = 5 * time.Second

func serveHTTP(ctx context.Context, handler http.Handler, port int) error {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", fmt.Sprint(port)))
	if err != nil {
		return fmt.Errorf("serving the reference: %w", err)
	}
	fmt.Fprintf(stdout, "reference on http://%s\n", listener.Addr())
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
