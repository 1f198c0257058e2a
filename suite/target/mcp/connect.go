package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"sync"
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
	opening, cancel := context.WithTimeout(ctx, opts.ConnectTimeout)
	defer cancel()
	t := &Target{link: l}
	if t.session, err = open(opening, l, opts); err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("connecting to the MCP server: %w", ctx.Err())
		}
		return nil, l.explain("initialize", err)
	}
	defer func() {
		if err != nil {
			_ = t.session.Close() // the error says why
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

// child is a server that is launched.
type child struct {
	command  string
	opts     Options
	lifetime context.Context

	mu      sync.Mutex
	cmd     *exec.Cmd
	out     *head
	log     *execdriver.Log
	exited  chan struct{}
	closing bool
}

func (c *child) transport() (mcp.Transport, error) {
	log := &execdriver.Log{}
	cmd, err := execdriver.Command(c.command, c.opts.Env, log)
	if err != nil {
		return nil, err
	}
	cmd.WaitDelay = c.opts.Grace // for those who hold its standard error
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cmd, c.log, c.exited, c.out = cmd, log, make(chan struct{}), &head{}
	p := &pipes{child: c, cmd: cmd, in: stdin, out: stdout, head: c.out, exited: c.exited}
	p.unwatch = context.AfterFunc(c.lifetime, func() { execdriver.Kill(cmd) })
	return tappedTransport{&mcp.IOTransport{Reader: p, Writer: p, MaxLineLength: maxMessage}}, nil
}

// maxMessage is the size limit of one message, as for the other drivers.
const maxMessage = 32 << 20

func (c *child) explain(doing string, err error) error {
	c.mu.Lock()
	cmd, out, log := c.cmd, c.out, c.log
	c.mu.Unlock()
	fault := &target.ProtocolError{Method: doing}
	rpc, refused := refusal(err)
	switch {
	case cmd == nil:
		fault.Fault, fault.Method, fault.Detail = target.Unreachable, "", fmt.Sprintf("starting %s: %v", c.command, err)
		return fault
	case refused:
		fault.Fault, fault.Detail = target.RefusedMCP, rpc
	case out.foreign():
		fault.Fault = target.NotMCP
		fault.Detail = "its standard output holds something else than JSON-RPC messages; a log belongs on standard error"
		fault.Received = target.Excerpt(out.bytes())
	case errors.Is(err, context.DeadlineExceeded):
		fault.Fault, fault.Detail = target.NotMCP, fmt.Sprintf("it did not answer within %s", c.opts.ConnectTimeout)
	default:
		c.wait()
		fault.Fault = target.Died
		if cmd.ProcessState != nil {
			fault.Detail = cmd.ProcessState.String()
		}
	}
	fault.Stderr = log.String()
	return fault
}

func (c *child) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closing = true
}

func (c *child) closed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closing
}

func (c *child) wait() {
	c.mu.Lock()
	exited := c.exited
	c.mu.Unlock()
	if exited != nil {
		<-exited
	}
}

// pipes are the ends of a child's standard input and output. Closing them ends
// the child.
type pipes struct {
	child *child
	cmd   *exec.Cmd
	in    interface {
		Write([]byte) (int, error)
		Close() error
	}
	out     interface{ Read([]byte) (int, error) }
	head    *head
	exited  chan struct{}
	unwatch func() bool
	once    sync.Once
}

func (p *pipes) Read(b []byte) (int, error) {
	n, err := p.out.Read(b)
	p.head.add(b[:n])
	return n, err
}

func (p *pipes) Write(b []byte) (int, error) { return p.in.Write(b) }

// Close asks the child to end, by the end of its input, and then makes it.
func (p *pipes) Close() error {
	p.once.Do(func() {
		p.in.Close()
		kill := time.AfterFunc(p.child.opts.Grace, func() { execdriver.Kill(p.cmd) })
		go func() {
			defer close(p.exited)
			_ = p.cmd.Wait() // ProcessState says how it ended
			kill.Stop()
			p.unwatch()
			execdriver.Kill(p.cmd) // what it started and left behind
		}()
	})
	return nil
}

// head keeps the beginning of a line that is no JSON, for the report.
type head struct {
	mu   sync.Mutex
	kept []byte
}

func (h *head) add(b []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if room := target.ExcerptBytes - len(h.kept); room > 0 {
		h.kept = append(h.kept, b[:min(room, len(b))]...)
	}
}

func (h *head) bytes() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	return bytes.Clone(h.kept)
}

// foreign says whether a line does not begin as a JSON-RPC message does.
func (h *head) foreign() bool {
	for line := range bytes.Lines(h.bytes()) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '{' && line[0] != '[' {
			return true
		}
	}
	return false
}

// remote is a server over HTTP.
type remote struct {
	url     string
	dial    *http.Transport
	trip    *tappedRoundTripper
	opts    Options
	mu      sync.Mutex
	closing bool
}

func newRemote(rawURL string, opts Options) *remote {
	dial := http.DefaultTransport.(*http.Transport).Clone()
	dial.IdleConnTimeout = time.Second // see the http driver
	dial.MaxIdleConnsPerHost = 64
	return &remote{
		url: rawURL, dial: dial, opts: opts.withDefaults(),
		trip: &tappedRoundTripper{next: dial, header: opts.Header, last: &lastStatus{}},
	}
}

func (r *remote) transport() (mcp.Transport, error) {
	return &mcp.StreamableClientTransport{
		Endpoint:   r.url,
		HTTPClient: &http.Client{Transport: r.trip},
		// Nothing is wanted of a server but answers.
		DisableStandaloneSSE: true,
		MaxRetries:           -1,
		MaxEventSize:         maxMessage,
	}, nil
}

func (r *remote) explain(doing string, err error) error {
	r.trip.last.mu.Lock()
	status, line, contentType := r.trip.last.status, r.trip.last.line, r.trip.last.contentType
	r.trip.last.mu.Unlock()
	fault := &target.ProtocolError{Method: doing}
	rpc, refused := refusal(err)
	network := (*net.OpError)(nil)
	switch {
	case refused:
		fault.Fault, fault.Detail = target.RefusedMCP, rpc
	case errors.As(err, &network) && network.Op == "dial":
		fault.Fault, fault.Method, fault.Detail = target.Unreachable, "", fmt.Sprintf("%s: %v; is the server running, and is this its address?", r.url, network)
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		fault.Fault, fault.Detail = target.RefusedMCP, fmt.Sprintf("POST %s was answered with %s; give a token with --header 'Authorization: Bearer …'", r.url, line)
	case status >= 300:
		fault.Fault, fault.Detail = target.NotMCP, fmt.Sprintf("POST %s was answered with %s; is this the path of its MCP endpoint?", r.url, line)
	case errors.Is(err, context.DeadlineExceeded):
		fault.Fault, fault.Detail = target.NotMCP, fmt.Sprintf("it did not answer within %s", r.opts.ConnectTimeout)
	case network != nil:
		fault.Fault, fault.Detail = target.Died, network.Error()
	default:
		fault.Fault, fault.Detail = target.NotMCP, fmt.Sprintf("POST %s was answered with %s and Content-Type %q: %v", r.url, or(line, "nothing"), contentType, target.Excerpt([]byte(err.Error())))
	}
	return fault
}

func (r *remote) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closing = true
}

func (r *remote) closed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closing
}

func (r *remote) wait() { r.dial.CloseIdleConnections() }
