package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"example.com/touchstone/reference/invoke"
	"example.com/touchstone/reference/serve"
)

// mcpFlags are the flags of the reference as an MCP server. What is not given is
// taken from the TOUCHSTONE_* variables that a launched target gets.
type mcpFlags struct{ openapi, backend string }

func (f *mcpFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.openapi, "openapi", "", "OpenAPI document of the backend for the mcp ways: a URL or a file (default $TOUCHSTONE_OPENAPI_URL)")
	flags.StringVar(&f.backend, "backend", "", "URL of the backend for the mcp ways (default $TOUCHSTONE_BACKEND_URL)")
}

// server makes the MCP server that the flags and the environment describe.
func (f mcpFlags) server(ctx context.Context) (*serve.MCPServer, error) {
	where := cmp.Or(f.openapi, os.Getenv("TOUCHSTONE_OPENAPI_URL"))
	if where == "" {
		return nil, errors.New("serving MCP needs an OpenAPI document: give --openapi URL or FILE, or set TOUCHSTONE_OPENAPI_URL")
	}
	backend := cmp.Or(f.backend, os.Getenv("TOUCHSTONE_BACKEND_URL"))
	u, err := url.Parse(backend)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("serving MCP needs the http or https URL of a backend, and has %q: give --backend URL, or set TOUCHSTONE_BACKEND_URL", backend)
	}
	limits, err := limitsFromEnviron()
	if err != nil {
		return nil, err
	}
	document, err := readDocument(ctx, where)
	if err != nil {
		return nil, fmt.Errorf("--openapi %s: %w", where, err)
	}
	server, err := serve.NewMCP(serve.Reference{}, serve.MCPOptions{Document: document, BackendURL: strings.TrimSuffix(backend, "/"), Limits: limits})
	if err != nil {
		return nil, fmt.Errorf("--openapi %s: %w", where, err)
	}
	for _, text := range server.Diagnostics {
		fmt.Fprintln(os.Stderr, "reference:", text)
	}
	return server, nil
}

// limitsFromEnviron reads the limits that a launched target is given.
func limitsFromEnviron() (invoke.Limits, error) {
	limits := invoke.DefaultLimits()
	timeout := limits.Timeout.Milliseconds()
	for name, into := range map[string]*int64{
		"TOUCHSTONE_TIMEOUT_MS":            &timeout,
		"TOUCHSTONE_MAX_RESPONSE_BYTES":    &limits.MaxResponseBytes,
		"TOUCHSTONE_MAX_INLINE_FILE_BYTES": &limits.MaxInlineFileBytes,
		"TOUCHSTONE_MAX_FILE_BYTES":        &limits.MaxFileBytes,
	} {
		text := os.Getenv(name)
		if text == "" {
			continue
		}
		value, err := strconv.ParseInt(text, 10, 64)
		if err != nil || value < 0 {
			return limits, fmt.Errorf("%s=%q: give a whole number, as in %s=%d", name, text, name, *into)
		}
		*into = value
	}
	limits.Timeout = time.Duration(timeout) * time.Millisecond
	return limits, nil
}

// maxDocumentBytes bounds an OpenAPI document.
const maxDocumentBytes = 32 << 20

// readDocument reads a URL or a file.
func readDocument(ctx context.Context, where string) ([]byte, error) {
	if !strings.HasPrefix(where, "http://") && !strings.HasPrefix(where, "https://") {
		return os.ReadFile(where)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, where, nil)
	if err != nil {
		return nil, err
	}
	answer, err := invoke.NewTransport().RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the answer is %s", answer.Status)
	}
	document, err := io.ReadAll(io.LimitReader(answer.Body, maxDocumentBytes+1))
	if err == nil && len(document) > maxDocumentBytes {
		err = fmt.Errorf("it is over %d bytes", maxDocumentBytes)
	}
	return document, err
}
