// Package exec is the driver for a target that is a command: JSON-RPC 2.0, one
// message a line on its standard input and output. Its standard error is its
// log, and the end of that is shown with every fault.
package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/kballard/go-shellquote"

	"example.com/touchstone/suite/target"
	"example.com/touchstone/suite/target/jsonrpc"
)

// Options are the settings of a launched target. The zero value is ready for use.
type Options struct {
	// Env is added to the environment of this process; see [target.Environ].
	Env []string
	// MaxMessageBytes is the size limit of one message; 0 means [jsonrpc.MaxMessageBytes].
	MaxMessageBytes int
	// Grace is how long the child may take to end when it is closed, and to make
	// clear that it has not ended when it closes a pipe; 0 means 2 seconds.
	Grace time.Duration
}

// Split cuts a command into words by the rules of a POSIX shell: quotes and
// backslashes, but no variables, patterns or operators. In a Windows path, quote
// the backslashes.
func Split(command string) ([]string, error) {
	argv, err := shellquote.Split(command)
	if err != nil {
		return nil, fmt.Errorf("reading the command %q: %s: close it, or put a backslash before a character that stands for itself", command, strings.ToLower(err.Error()))
	}
	if len(argv) == 0 || argv[0] == "" {
		return nil, errors.New("the command is empty: give a program, and its arguments, as in exec:node adapter.js")
	}
	return argv, nil
}

// Start starts the command as a target. The child lives until Close, which
// closes its standard input, waits for the grace and then kills it with its
// process group (on Windows: it alone), or until ctx ends, which kills it at
// once. A command that cannot be started gives a [*target.ProtocolError].
func Start(ctx context.Context, command string, opts Options) (*jsonrpc.Client, error) {
	argv, err := Split(command)
	if err != nil {
		return nil, err
	}
	if opts.MaxMessageBytes <= 0 {
		opts.MaxMessageBytes = jsonrpc.MaxMessageBytes
	}
	if opts.Grace <= 0 {
		opts.Grace = 2 * time.Second
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", command, err)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), opts.Env...)
	ownGroup(cmd)
	p := &process{
		stream:   newStream(opts.MaxMessageBytes),
		cmd:      cmd,
		grace:    opts.Grace,
		lifetime: ctx,
		closing:  make(chan struct{}),
		exited:   make(chan struct{}),
		readDone: make(chan struct{}),
		logDone:  make(chan struct{}),
	}
	if err := p.start(); err != nil {
		return nil, &target.ProtocolError{
			Fault:  target.Unreachable,
			Detail: fmt.Sprintf("starting %s: %v", shellquote.Join(argv...), err),
		}
	}
	return jsonrpc.NewClient(p), nil
}

// process is a child and the stream over its pipes.
type process struct {
	*stream
	cmd                   *exec.Cmd
	stdin, stdout, stderr *os.File // our ends
	log                   tail
	grace                 time.Duration

	lifetime context.Context // of the child, not of a call
	unwatch  func() bool
	closing  chan struct{} // closed when Close begins
	exited   chan struct{} // closed when the child is reaped
	readDone chan struct{} // closed when its stdout is read
	logDone  chan struct{} // closed when its stderr is read
	settle   sync.Once
	work     sync.WaitGroup
}

var (
	_ jsonrpc.Transport = (*process)(nil)
	_ jsonrpc.Logger    = (*process)(nil)
)

// start starts the child and the goroutines that serve it, which Close waits for.
func (p *process) start() (err error) {
	var pipes [3][2]*os.File // read end, write end
	defer func() {
		// The child has its own copies. Close of a nil file does nothing.
		closeAll(pipes[0][0], pipes[1][1], pipes[2][1])
		if err != nil {
			closeAll(pipes[0][1], pipes[1][0], pipes[2][0])
		}
	}()
	for i := range pipes {
		if pipes[i][0], pipes[i][1], err = os.Pipe(); err != nil {
			return fmt.Errorf("making a pipe: %w", err)
		}
	}
	// Files, and not the pipes of os/exec: those are closed as soon as the child
	// is reaped, with its last words unread.
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = pipes[0][0], pipes[1][1], pipes[2][1]
	p.stdin, p.stdout, p.stderr = pipes[0][1], pipes[1][0], pipes[2][0]
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.unwatch = context.AfterFunc(p.lifetime, p.kill)
	p.work.Go(p.reap)
	p.work.Go(p.readMessages)
	p.work.Go(p.writeMessages)
	p.work.Go(p.readLog)
	return nil
}

// kill ends the child now. A child that is reaped is left alone: its number may
// be another's by now.
func (p *process) kill() {
	select {
	case <-p.exited:
	default:
		killGroup(p.cmd)
	}
}

func (p *process) reap() {
	_ = p.cmd.Wait() // ProcessState says how it ended
	close(p.exited)
	p.unwatch()
	killGroup(p.cmd) // what it started and left behind
	// Its output ends with the last process that holds it. One that left the
	// group can hold it for ever, and is not waited for.
	grace, cancel := context.WithTimeout(context.Background(), p.grace)
	defer cancel()
	for _, done := range []chan struct{}{p.readDone, p.logDone} {
		select {
		case <-done:
		case <-grace.Done():
		}
	}
	closeAll(p.stdin, p.stdout, p.stderr)
}

func closeAll(pipes ...*os.File) {
	for _, pipe := range pipes {
		pipe.Close()
	}
}

func (p *process) readMessages() {
	defer close(p.readDone)
	err := p.read(p.stdout)
	p.stdout.Close() // whoever goes on writing gets an error and not a full pipe
	if err == nil {
		err = p.outputEnded()
	}
	p.end(err)
}

// outputEnded says why the child's standard output has ended.
func (p *process) outputEnded() error {
	select {
	case <-p.exited:
	case <-p.closing:
	case <-time.After(p.grace):
		return p.hungUp("standard output")
	}
	select {
	case <-p.closing:
		return target.ErrClosed
	default:
	}
	if err := p.lifetime.Err(); err != nil {
		return fmt.Errorf("the target was stopped: %w", err)
	}
	return &target.ProtocolError{Fault: target.Died, Detail: p.cmd.ProcessState.String(), Received: p.unfinished()}
}

func (p *process) hungUp(pipe string) error {
	return &target.ProtocolError{
		Fault:    target.HungUp,
		Detail:   fmt.Sprintf("its %s is closed, process %d still runs", pipe, p.cmd.Process.Pid),
		Received: p.unfinished(),
	}
}

func (p *process) writeMessages() {
	if p.write(p.stdin) == nil {
		return
	}
	// A child that died shows here too, and how it died is the better report.
	select {
	case <-p.ended:
	case <-p.closing:
	case <-time.After(p.grace):
		p.end(p.hungUp("standard input"))
	}
}

func (p *process) readLog() {
	defer close(p.logDone)
	_, _ = io.Copy(&p.log, p.stderr) // it ends when the child does
}

// LogTail implements [jsonrpc.Logger].
func (p *process) LogTail() string {
	// What the child logged before it broke the protocol may still be on its way.
	p.settle.Do(func() {
		select {
		case <-p.logDone:
		case <-time.After(100 * time.Millisecond):
		}
	})
	return p.log.String()
}

// Close implements [jsonrpc.Transport].
func (p *process) Close() error {
	close(p.closing)
	p.stdin.Close()
	select {
	case <-p.exited:
	case <-time.After(p.grace):
		p.kill()
	}
	p.work.Wait()
	return p.unreported()
}
