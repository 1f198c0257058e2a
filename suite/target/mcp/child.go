package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/touchstone/suite/target"
	execdriver "example.com/touchstone/suite/target/exec"
)

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
