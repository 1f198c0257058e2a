package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
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
	pipes   *pipes // of the last attempt; nil before it
	log     *execdriver.Log
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
	// A file, and not the pipe of os/exec: that is closed as soon as the child is
	// reaped, with its last words unread.
	stdout, childs, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	cmd.Stdout = childs
	err = cmd.Start()
	childs.Close() // the child has its own
	if err != nil {
		stdout.Close()
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &pipes{
		cmd: cmd, in: stdin, out: stdout, grace: c.opts.Grace, exited: make(chan struct{}),
		stream: &stream{ended: make(chan struct{})},
	}
	p.unwatch = context.AfterFunc(c.lifetime, func() { execdriver.Kill(cmd) })
	c.pipes, c.log = p, log
	return tappedTransport{&mcp.IOTransport{Reader: p, Writer: p, MaxLineLength: 2 * maxMessage}, p.stream}, nil
}

// maxMessage is the size limit of one message, as for the other drivers. It is
// the driver that minds it, and says so; the SDK's limit is for messages of many
// lines.
const maxMessage = 32 << 20

func (c *child) explain(doing string, err error) error {
	c.mu.Lock()
	pipes, log := c.pipes, c.log
	c.mu.Unlock()
	if err := c.fault(doing); err != nil {
		return err
	}
	fault := &target.ProtocolError{Method: doing}
	rpc, refused := refusal(err)
	late := errors.Is(err, context.DeadlineExceeded)
	_, misread := errors.AsType[*json.UnmarshalTypeError](err)
	if pipes != nil && !refused && !late && !misread {
		// The connection is broken: how it ended tells why, and what it last said.
		err = pipes.stream.why(err) // before closing it is the reason
		_ = pipes.Close()
		c.wait()
	}
	foreign := target.NotMCP
	if strings.HasPrefix(doing, "tools/call ") {
		foreign = target.Garbage // it was an MCP server until now
	}
	switch {
	case pipes == nil:
		fault.Fault, fault.Method, fault.Detail = target.Unreachable, "", fmt.Sprintf("starting %s: %v", c.command, err)
		return fault
	case refused:
		fault.Fault, fault.Detail = target.RefusedMCP, rpc
	case pipes.head.foreign() != nil:
		fault.Fault = foreign
		fault.Detail = "its standard output holds something else than JSON-RPC messages; a log belongs on standard error"
		fault.Received = target.Excerpt(pipes.head.foreign())
	case misread:
		fault.Fault, fault.Detail = target.NotMCP, fmt.Sprintf("its answer is not what MCP defines: %v", err)
	case late:
		fault.Fault, fault.Detail = tooLate(doing, c.opts.ConnectTimeout)
	case gone(err):
		fault.Fault, fault.Detail = target.Died, pipes.cmd.ProcessState.String()
		fault.Received = target.Excerpt(pipes.head.unfinished())
	default: // it ended because it was made to
		fault.Fault, fault.Detail = foreign, target.Excerpt(fmt.Appendf(nil, "what it sent cannot be read: %v", err))
	}
	fault.Stderr = log.String()
	return fault
}

// gone says whether a connection broke because nobody was at its other end.
func gone(err error) bool {
	_, piping := errors.AsType[*fs.PathError](err)
	return piping || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

func (c *child) fault(doing string) error {
	c.mu.Lock()
	pipes, log := c.pipes, c.log
	c.mu.Unlock()
	if pipes == nil {
		return nil
	}
	if fault := pipes.stream.report(doing); fault != nil {
		fault.Stderr = log.String()
		return fault
	}
	return nil
}

// close asks the child to end, and lets what it still says be read: it may be a
// second answer.
func (c *child) close() {
	c.mu.Lock()
	c.closing = true
	pipes := c.pipes
	c.mu.Unlock()
	if pipes == nil {
		return
	}
	pipes.ask()
	select {
	case <-pipes.stream.ended:
	case <-pipes.exited:
	case <-time.After(2 * c.opts.Grace): // another process holds its output
	}
}

func (c *child) closed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closing
}

func (c *child) wait() {
	c.mu.Lock()
	pipes := c.pipes
	c.mu.Unlock()
	if pipes != nil {
		<-pipes.exited
	}
}

// pipes are the ends of a child's standard input and output. Closing them ends
// the child.
type pipes struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     io.ReadCloser
	grace   time.Duration
	reading sync.Mutex // held until what was read is in head
	head    head
	exited  chan struct{} // closed when it has ended and its output is read
	unwatch func() bool
	asked   sync.Once
	kill    *time.Timer // set once it was asked
	once    sync.Once
	stream  *stream
}

// Read implements [io.Reader]. A line that is too long is its error.
func (p *pipes) Read(b []byte) (int, error) {
	n, err := p.read(b)
	if p.head.tooLong() {
		return 0, faultOf(target.Flooded, p.head.unfinished(), "over %d bytes without the newline that ends a message", maxMessage)
	}
	return n, err
}

func (p *pipes) read(b []byte) (int, error) {
	p.reading.Lock()
	defer p.reading.Unlock()
	n, err := p.out.Read(b)
	p.head.add(b[:n])
	return n, err
}

func (p *pipes) Write(b []byte) (int, error) { return p.in.Write(b) }

// ask asks the child to end, by the end of its input, and makes it when it does
// not.
func (p *pipes) ask() {
	p.asked.Do(func() {
		p.in.Close()
		p.kill = time.AfterFunc(p.grace, func() { execdriver.Kill(p.cmd) })
	})
}

// Close asks the child to end, and sees to it that it does.
func (p *pipes) Close() error {
	p.ask()
	p.once.Do(func() {
		read := make(chan struct{})
		go func() {
			defer close(read)
			rest := make([]byte, 64<<10)
			for err := error(nil); err == nil; {
				_, err = p.read(rest) // into head
			}
		}()
		go func() {
			defer close(p.exited)
			_ = p.cmd.Wait() // ProcessState says how it ended
			p.kill.Stop()
			p.unwatch()
			execdriver.Kill(p.cmd) // what it started and left behind
			// Its output ends with the last process that holds it. One that left the
			// group can hold it for ever, and is not waited for.
			select {
			case <-read:
			case <-time.After(p.grace):
			}
			p.out.Close()
			<-read
		}()
	})
	return nil
}
