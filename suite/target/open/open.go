// Package open turns the text that names a target into the target.
package open

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/target"
	"example.com/touchstone/suite/target/builtin"
	execdriver "example.com/touchstone/suite/target/exec"
	"example.com/touchstone/suite/target/httprpc"
	"example.com/touchstone/suite/target/mcp"
)

// Options are what the drivers need. The zero value opens everything but "builtin".
type Options struct {
	// Builtin is the target that "builtin" names.
	Builtin builtin.Handler
	// Env is added to the environment of a launched target; see [target.Environ].
	Env []string
	// MaxMessageBytes is the size limit of one message from the target; 0 means
	// the drivers' default of 32 MiB.
	MaxMessageBytes int
	// Grace is how long a launched target may take to end; 0 means 2 seconds.
	Grace time.Duration
	// Settings, Header and Operations are for MCP servers; see [mcp.Options].
	Settings   schemas.ConfigureParams
	Header     http.Header
	Operations map[string]string
}

const forms = "a target is one of: builtin, exec:COMMAND (as in exec:node adapter.js), http://HOST/PATH, https://HOST/PATH, " +
	"and for an MCP server mcp+exec:COMMAND, mcp+http://HOST/PATH, mcp+https://HOST/PATH"

// Open gives the target that spec names: "builtin", "exec:COMMAND", or an http or
// https URL, the last three with "mcp+" before them for an MCP server. A launched target lives until Close or the end of ctx. A
// [*target.ProtocolError] says that the target cannot be reached; any other
// error, but the context's, is about the spec, and nothing was started.
func Open(ctx context.Context, spec string, opts Options) (target.Target, error) {
	switch scheme, rest, _ := strings.Cut(spec, ":"); {
	case spec == "builtin":
		if opts.Builtin == nil {
			return nil, errors.New("there is no built-in target here; " + forms)
		}
		return builtin.New(opts.Builtin), nil
	case scheme == "exec" && rest != "":
		t, err := execdriver.Start(ctx, rest, execdriver.Options{Env: opts.Env, MaxMessageBytes: opts.MaxMessageBytes, Grace: opts.Grace})
		if err != nil {
			return nil, err // and no typed nil
		}
		return t, nil
	case scheme == "http", scheme == "https":
		t, err := httprpc.New(spec, httprpc.Options{MaxMessageBytes: opts.MaxMessageBytes})
		if err != nil {
			return nil, err
		}
		return t, nil
	case scheme == "mcp+exec" && rest != "":
		t, err := mcp.Start(ctx, rest, opts.mcp())
		if err != nil {
			return nil, err
		}
		return t, nil
	case scheme == "mcp+http", scheme == "mcp+https":
		t, err := mcp.Dial(ctx, strings.TrimPrefix(spec, "mcp+"), opts.mcp())
		if err != nil {
			return nil, err
		}
		return t, nil
	}
	if meant := likely(spec); meant != "" {
		return nil, fmt.Errorf("unknown target %q: did you mean %q? %s", spec, meant, forms)
	}
	return nil, fmt.Errorf("unknown target %q: %s", spec, forms)
}

func (o Options) mcp() mcp.Options {
	return mcp.Options{Env: o.Env, Settings: o.Settings, Header: o.Header, Operations: o.Operations, Grace: o.Grace}
}

// likely guesses what a mistaken spec was meant to be; "" where it cannot.
func likely(spec string) string {
	if lower := strings.ToLower(strings.TrimSpace(spec)); lower == "builtin" || lower == "built-in" {
		return "builtin"
	}
	if scheme, rest, ok := strings.Cut(spec, ":"); ok {
		switch strings.ToLower(strings.TrimSpace(scheme)) {
		case "exec", "cmd", "command":
			if rest != "" {
				return "exec:" + strings.TrimSpace(rest)
			}
			return ""
		case "http", "https":
			return strings.ToLower(strings.TrimSpace(scheme)) + ":" + rest
		}
	}
	argv, err := execdriver.Split(spec)
	if err != nil {
		return ""
	}
	if _, err := exec.LookPath(argv[0]); err == nil {
		return "exec:" + spec
	}
	if _, err := os.Stat(argv[0]); err == nil {
		return "exec:" + spec
	}
	if u, err := url.Parse("http://" + spec); err == nil && len(argv) == 1 {
		if u.Port() != "" || u.Hostname() == "localhost" {
			return u.String()
		}
	}
	if len(argv) > 1 {
		return "exec:" + spec
	}
	return ""
}
