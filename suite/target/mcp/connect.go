package mcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/touchstone/suite/target"
	execdriver "example.com/touchstone/suite/target/exec"
)

// lastInitialize is the newest protocol revision that opens a session with
// initialize. A server that cannot make sense of a newer client is asked again
// with it.
const lastInitialize = "2025-11-25"

// link is the way to a server.
type link interface {
	// transport gives a new one, for one attempt to connect.
	transport() (mcp.Transport, error)
	// explain says what an error of the SDK means for the target.
	explain(doing string, err error) error
	// fault gives what broke the connection; see faults.report.
	fault(doing string) error
	// close announces the end, closed tells of that, and wait waits for it.
	close()
	closed() bool
	wait()
}

// Start starts a command as an MCP server over its standard input and output.
// Placeholders in the command are filled from the settings. The server lives
// until Close, or until ctx ends.
func Start(ctx context.Context, command string, opts Options) (*Target, error) {
	opts = opts.withDefaults()
	filled := strings.NewReplacer(
		"{backend}", opts.Settings.BackendURL,
		"{openapi}", opts.Settings.OpenAPIURL,
		"{timeoutMs}", strconv.FormatInt(opts.Settings.TimeoutMs, 10),
		"{maxResponseBytes}", strconv.FormatInt(opts.Settings.MaxResponseBytes, 10),
	).Replace(command)
	if _, err := execdriver.Split(filled); err != nil {
		return nil, err
	}
	return connect(ctx, &child{command: filled, opts: opts, lifetime: ctx}, opts)
}

// Dial connects to an MCP server over streamable HTTP.
func Dial(ctx context.Context, rawURL string, opts Options) (*Target, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, fmt.Errorf("reading the server's URL: %w", err)
	}
	if u.Hostname() == "" {
		return nil, fmt.Errorf("the server's URL %q needs a host, as in mcp+http://127.0.0.1:8080/mcp", rawURL)
	}
	return connect(ctx, newRemote(rawURL, opts), opts.withDefaults())
}

// errSlow is why the time to open a session ended, where it is not the caller's
// that did.
var errSlow = errors.New("the server takes too long")

// tooLate says what it means that no answer came while a session was opened.
func tooLate(doing string, limit time.Duration) (target.Fault, string) {
	if doing == "initialize" {
		return target.NotMCP, fmt.Sprintf("it did not answer within %s", limit)
	}
	return target.Unanswered, fmt.Sprintf("nothing came before the end of the %s that it has to open a session, list its tools and tell of its operations", limit)
}

// connect opens a session and reads what the server offers.
func connect(ctx context.Context, l link, opts Options) (_ *Target, err error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("connecting to the MCP server: %w", err)
	}
	defer func() {
		if err != nil {
			l.close()
			l.wait()
		}
	}()
	opening, cancel := context.WithTimeoutCause(ctx, opts.ConnectTimeout, errSlow)
	defer cancel()
	t := &Target{link: l}
	if t.session, err = open(opening, l, opts); err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("connecting to the MCP server: %w", ctx.Err())
		}
		return nil, l.explain("initialize", err)
	}
	defer func() {
		if err == nil {
			return
		}
		_ = t.session.Close() // the error says why
		if ctx.Err() != nil { // it is not the server that made an end
			err = fmt.Errorf("connecting to the MCP server: %w", ctx.Err())
		}
	}()
	t.about = t.session.InitializeResult().ServerInfo
	if t.about == nil {
		t.about = &mcp.Implementation{}
	}
	if err := t.listTools(opening); err != nil {
		return nil, err
	}
	if t.names, err = t.findNames(opening, opts.Operations); err != nil {
		return nil, err
	}
	return t, nil
}

// open asks with the newest protocol revision first, for a part of the time, and
// then as older clients do.
func open(ctx context.Context, l link, opts Options) (*mcp.ClientSession, error) {
	attempt := func(ctx context.Context, version string) (*mcp.ClientSession, error) {
		transport, err := l.transport()
		if err != nil {
			return nil, err
		}
		client := mcp.NewClient(&mcp.Implementation{Name: "touchstone", Version: "1"}, &mcp.ClientOptions{
			Capabilities:   &mcp.ClientCapabilities{},
			MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
			// Servers may log and report progress as they like.
			LoggingMessageHandler:       func(context.Context, *mcp.LoggingMessageRequest) {},
			ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {},
		})
		return client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	}
	first, cancel := context.WithTimeout(ctx, opts.ConnectTimeout/2)
	session, err := attempt(first, "")
	cancel()
	if unreachable := (*net.OpError)(nil); err == nil || ctx.Err() != nil || errors.As(err, &unreachable) || errors.Is(err, exec.ErrNotFound) {
		return session, err
	}
	l.wait()
	session, again := attempt(ctx, lastInitialize)
	if again != nil {
		return nil, again
	}
	return session, nil
}

func (t *Target) listTools(ctx context.Context) error {
	t.tools = map[string]*mcp.Tool{}
	for tool, err := range t.session.Tools(ctx, nil) {
		if err != nil {
			return t.link.explain("tools/list", err)
		}
		t.tools[tool.Name] = tool
	}
	var missing []string
	for _, name := range []string{SearchTools, LoadTool, InvokeTool} {
		if t.tools[name] == nil {
			missing = append(missing, name)
		}
	}
	if missing == nil {
		return nil
	}
	var has []string
	for tool := range t.tools {
		has = append(has, tool)
	}
	return &target.ProtocolError{Fault: target.NoMetaTools, Method: "tools/list", Detail: fmt.Sprintf(
		"it lacks %s; an agent finds, loads and invokes operations with search_tools, load_tool and invoke_tool, and this server has %s",
		strings.Join(missing, ", "), several(has, 8))}
}

// rejected is the code of an error that the SDK makes itself, where a message
// could not be sent.
const rejected = -32005

// refusal tells of a JSON-RPC error that the server answered.
func refusal(err error) (string, bool) {
	rpc := (*jsonrpc.Error)(nil)
	if !errors.As(err, &rpc) || rpc.Code == rejected {
		return "", false
	}
	return fmt.Sprintf("JSON-RPC error %d: %s", rpc.Code, target.Excerpt([]byte(rpc.Message))), true
}
