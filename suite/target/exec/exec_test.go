package exec_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kballard/go-shellquote"

	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/target"
	"example.com/touchstone/suite/target/exec"
	"example.com/touchstone/suite/target/jsonrpc"
)

// patience is longer than anything takes on a busy machine.
const patience = time.Minute

func start(t *testing.T, mode string, opts exec.Options) *jsonrpc.Client {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// Built with -race, a program waits a second before it exits.
	opts.Env = append(opts.Env, childMode+"="+mode, "GORACE=atexit_sleep_ms=0")
	if opts.Grace == 0 {
		opts.Grace = patience
	}
	client, err := exec.Start(t.Context(), shellquote.Join(self), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeTarget(t, client) })
	return client
}

// closeTarget closes the target, which a child that ends by itself does not delay.
func closeTarget(t *testing.T, client *jsonrpc.Client) error {
	t.Helper()
	began := time.Now()
	err := client.Close()
	if took := time.Since(began); took > patience/2 {
		t.Errorf("Close took %v", took)
	}
	return err
}

func withPatience(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

var ok = schemas.MapParams{Response: schemas.BackendResponse{Status: 200}}

// wantFault checks a fault and that its parts hold these words.
func wantFault(t *testing.T, err error, want target.ProtocolError) {
	t.Helper()
	got, ok := errors.AsType[*target.ProtocolError](err)
	if !ok {
		t.Fatalf("got error %v, want the fault %q", err, want.Fault)
	}
	if got.Fault != want.Fault || got.Method != want.Method {
		t.Errorf("got fault %q during %q, want %q during %q", got.Fault, got.Method, want.Fault, want.Method)
	}
	for _, part := range []struct{ name, got, want string }{
		{"detail", got.Detail, want.Detail}, {"received", got.Received, want.Received}, {"stderr", got.Stderr, want.Stderr},
	} {
		if !strings.Contains(part.got, part.want) || (part.want == "" && part.got != "") {
			t.Errorf("%s is %q, want it to hold %q", part.name, part.got, part.want)
		}
	}
}

func TestFaults(t *testing.T) {
	for _, tc := range []struct {
		mode string
		opts exec.Options
		want target.ProtocolError
	}{
		{mode: "exit at once", want: target.ProtocolError{Fault: target.Died, Detail: "exit status 7", Stderr: "cannot find module 'adapter'"}},
		{mode: "exit when asked", want: target.ProtocolError{Fault: target.Died, Detail: "exit status 3", Stderr: "the configuration is missing"}},
		{mode: "crash", want: target.ProtocolError{Fault: target.Died, Detail: "exit status 2", Stderr: "index out of range"}},
		{mode: "half a message", want: target.ProtocolError{Fault: target.Died, Detail: "exit status 0", Received: `{"jsonrpc":"2.0","id`}},
		{mode: "banner", want: target.ProtocolError{Fault: target.Garbage, Detail: "a log belongs on standard error", Received: "Server listening on port 3000", Stderr: `starting \x1b[31mup`}},
		{mode: "pretty printed", want: target.ProtocolError{Fault: target.Garbage, Detail: "unexpected end of JSON input; standard output is for messages alone, one a line", Received: "{"}},
		{mode: "not a response", want: target.ProtocolError{Fault: target.BadMessage, Detail: `either "result" or "error", this one has neither`, Received: `{"hello":"world"}`, Stderr: "a log line"}},
		{mode: "id of another type", want: target.ProtocolError{Fault: target.BadMessage, Detail: "/id: Invalid type. Expected: [integer,null], given: string", Received: `"id":"1"`}},
		{mode: "cannot read", want: target.ProtocolError{Fault: target.BadMessage, Detail: "its id is null and not the request's; the error it reports is -32700: Parse error", Received: `"id":null`}},
		{mode: "bad result", want: target.ProtocolError{Fault: target.BadMessage, Detail: "/result/text: Invalid type. Expected: string, given: integer (value: 7)", Received: `{"text":7}`}},
		{mode: "twice in a line", want: target.ProtocolError{Fault: target.AnsweredTwice, Detail: "id 1", Received: `}{"jsonrpc"`}},
		{mode: "another id", want: target.ProtocolError{Fault: target.WrongID, Detail: "id 101, without an answer are [1]", Received: `"id":101`}},
		{mode: "notification", want: target.ProtocolError{Fault: target.BadMessage, Detail: `it is a request or a notification (method "log")`, Received: `"method":"log"`}},
		{mode: "flood", opts: exec.Options{MaxMessageBytes: 100_000}, want: target.ProtocolError{Fault: target.Flooded, Detail: "over 100000 bytes without the newline", Received: "xxx… [cut: 2048 of ", Stderr: "here it comes"}},
		{mode: "closes stdout", opts: exec.Options{Grace: 200 * time.Millisecond}, want: target.ProtocolError{Fault: target.HungUp, Detail: "its standard output is closed, process ", Stderr: "closing my output"}},
		{mode: "log much", want: target.ProtocolError{Fault: target.Garbage, Detail: "invalid character 'o'", Received: "oops", Stderr: "earlier bytes] …"}},
	} {
		t.Run(tc.mode, func(t *testing.T) {
			t.Parallel()
			client := start(t, tc.mode, tc.opts)
			_, err := client.Map(withPatience(t), ok)
			tc.want.Method = "map"
			wantFault(t, err, tc.want)
			if err := closeTarget(t, client); err != nil {
				t.Errorf("Close reports again: %v", err)
			}
		})
	}
}

// A target that broke the protocol once is not asked again: what it says after
// that may belong to anything.
func TestFaultStays(t *testing.T) {
	t.Parallel()
	client := start(t, "exit when asked", exec.Options{})
	for _, method := range []string{"describe", "configure", "map"} {
		var err error
		switch method {
		case "describe":
			_, err = client.Describe(withPatience(t))
		case "configure":
			err = client.Configure(withPatience(t), schemas.ConfigureParams{BackendURL: "http://127.0.0.1:1"})
		case "map":
			_, err = client.Map(withPatience(t), ok)
		}
		wantFault(t, err, target.ProtocolError{Fault: target.Died, Method: method, Detail: "exit status 3", Stderr: "missing"})
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"good", "blank lines and CRLF"} {
		client := start(t, mode, exec.Options{})
		got, err := client.Map(withPatience(t), ok)
		if err != nil {
			t.Fatalf("%s: %v", mode, err)
		}
		isError := false
		want := target.Answer{
			Envelope: []byte(`{"status": 200}`),
			IsError:  &isError,
			Raw:      []byte(`{"jsonrpc":"2.0","id":1,"result":{"text":"{\"status\": 200}","isError":false}}`),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: answer (-want +got):\n%s", mode, diff)
		}
		got, err = client.Invoke(withPatience(t), schemas.InvokeParams{Name: "get_order", Arguments: []byte(`{"id":1}`)})
		if err != nil {
			t.Fatalf("%s: %v", mode, err)
		}
		if want := `{"status" : 200,"body":1.50}`; string(got.Envelope) != want {
			t.Errorf("%s: envelope is %s, want it as sent: %s", mode, got.Envelope, want)
		}
		if err := closeTarget(t, client); err != nil {
			t.Errorf("%s: Close: %v", mode, err)
		}
	}
}

func TestAnswerAtTheEndOfOutput(t *testing.T) {
	t.Parallel()
	client := start(t, "last newline missing", exec.Options{})
	if _, err := client.Map(withPatience(t), ok); err != nil {
		t.Errorf("an answer without the last newline: %v", err)
	}
	client = start(t, "answer and exit", exec.Options{})
	if _, err := client.Map(withPatience(t), ok); err != nil {
		t.Errorf("an answer before the exit: %v", err)
	}
	if err := closeTarget(t, client); err != nil {
		t.Errorf("Close of a target that ended with nothing left to answer: %v", err)
	}
	client = start(t, "answer and exit", exec.Options{})
	if _, err := client.Map(withPatience(t), ok); err != nil {
		t.Fatal(err)
	}
	_, err := client.Map(withPatience(t), ok)
	wantFault(t, err, target.ProtocolError{Fault: target.Died, Method: "map", Detail: "exit status 4"})
}

func TestRPCErrorIsNoFault(t *testing.T) {
	t.Parallel()
	client := start(t, "error", exec.Options{})
	_, err := client.Refuse(withPatience(t), schemas.RefuseParams{Error: schemas.UnknownTool})
	got, isRPC := errors.AsType[*target.RPCError](err)
	if !isRPC || got.Method != "refuse" || got.Object.Code != schemas.MethodNotFound || got.Object.Message != "no such method" {
		t.Errorf("got %v, want the JSON-RPC error", err)
	}
	if _, err := client.Map(withPatience(t), ok); err != nil {
		t.Errorf("the call after it: %v", err)
	}
}

// A second answer may come when its call has long returned.
func TestAnsweredTwice(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"twice", "twice on the next request"} {
		client := start(t, mode, exec.Options{})
		if _, err := client.Map(withPatience(t), ok); err != nil {
			t.Fatalf("%s: the first call: %v", mode, err)
		}
		_, err := client.Invoke(withPatience(t), schemas.InvokeParams{Name: "get_order", Arguments: []byte(`{}`)})
		wantFault(t, err, target.ProtocolError{Fault: target.AnsweredTwice, Method: "invoke", Detail: "id 1", Received: `"id":1,`})
		if err := closeTarget(t, client); err != nil {
			t.Errorf("%s: Close reports again: %v", mode, err)
		}
	}
}

// With no next call, Close reports what came after the last one.
func TestCloseReports(t *testing.T) {
	for _, tc := range []struct {
		mode string
		want target.ProtocolError
	}{
		{"twice", target.ProtocolError{Fault: target.AnsweredTwice, Detail: "id 1", Received: `"id":1,`}},
		{"twice at the end", target.ProtocolError{Fault: target.AnsweredTwice, Detail: "id 1", Received: `"id":1,`}},
		{"unsolicited", target.ProtocolError{Fault: target.Unsolicited, Detail: "an answer to id 99", Received: `"id":99`}},
		{"words at the end", target.ProtocolError{Fault: target.Garbage, Detail: "standard output is for messages", Received: "bye"}},
	} {
		t.Run(tc.mode, func(t *testing.T) {
			t.Parallel()
			client := start(t, tc.mode, exec.Options{})
			if _, err := client.Map(withPatience(t), ok); err != nil {
				t.Fatal(err)
			}
			wantFault(t, closeTarget(t, client), tc.want)
			if err := closeTarget(t, client); err != nil {
				t.Errorf("the second Close: %v", err)
			}
		})
	}
}

func TestCallsSideBySide(t *testing.T) {
	t.Parallel()
	client := start(t, "reverse", exec.Options{})
	var work sync.WaitGroup
	for i := range 8 {
		work.Go(func() {
			got, err := client.Invoke(withPatience(t), schemas.InvokeParams{Name: "echo", Arguments: fmt.Appendf(nil, "%d", i)})
			if err != nil {
				t.Errorf("call %d: %v", i, err)
			} else if want := fmt.Sprintf(`{"name":"echo","arguments":%d}`, i); string(got.Envelope) != want {
				t.Errorf("call %d got the answer %s", i, got.Envelope)
			}
		})
	}
	work.Wait()
}

func TestCallEndsWithItsContext(t *testing.T) {
	// More than a pipe holds: such a request cannot even be handed over.
	large := schemas.MapParams{Response: schemas.BackendResponse{Status: 200, Body: strings.Repeat("x", 200_000)}}
	for _, tc := range []struct {
		mode   string
		params schemas.MapParams
	}{
		{"silent", ok},
		{"deaf", large},
	} {
		t.Run(tc.mode, func(t *testing.T) {
			t.Parallel()
			client := start(t, tc.mode, exec.Options{Grace: 10 * time.Millisecond})
			for range 2 {
				ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
				began := time.Now()
				_, err := client.Map(ctx, tc.params)
				cancel()
				if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), `calling "map": `) {
					t.Errorf("got %v, want the context's error with the method", err)
				}
				if took := time.Since(began); took > patience/2 {
					t.Errorf("the call took %v", took)
				}
			}
		})
	}
}

// The child's bytes may still be on their way when a deadline passes, so this
// waits for them.
func TestMissingNewlineIsTold(t *testing.T) {
	t.Parallel()
	client := start(t, "no newline", exec.Options{})
	const want = `context deadline exceeded; the target has sent 78 bytes without the newline that ends a message: {"jsonrpc":"2.0","id":1,`
	for wait := time.Second; ; wait *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		_, err := client.Map(ctx, ok)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v, want the context's error", err)
		}
		if strings.Contains(err.Error(), want) {
			return
		}
		if wait > patience/4 {
			t.Fatalf("got %v, want %q", err, want)
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	client := start(t, "environment", exec.Options{
		Env: target.Environ(schemas.ConfigureParams{BackendURL: "http://127.0.0.1:4242"}),
	})
	got, err := client.Map(withPatience(t), ok)
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Envelope) != "http://127.0.0.1:4242" {
		t.Errorf("the child saw TOUCHSTONE_BACKEND_URL=%s", got.Envelope)
	}
}

func TestNotStarted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain := filepath.Join(dir, "adapter.js")
	if err := os.WriteFile(plain, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, command, want string }{
		{"no such program", "no-such-program-here --port 1", "starting no-such-program-here --port 1: exec: "},
		{"no such file", shellquote.Join(filepath.Join(dir, "none")), "starting " + filepath.Join(dir, "none") + ": "},
		{"not executable", shellquote.Join(plain), "permission denied"},
	} {
		_, err := exec.Start(t.Context(), tc.command, exec.Options{})
		t.Run(tc.name, func(t *testing.T) {
			wantFault(t, err, target.ProtocolError{Fault: target.Unreachable, Detail: tc.want})
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := exec.Start(ctx, "true", exec.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		command string
		want    []string
	}{
		{`node adapter.js`, []string{"node", "adapter.js"}},
		{`  node   "my adapter.js" 'a b' c\ d ""`, []string{"node", "my adapter.js", "a b", "c d", ""}},
		{`sh -c 'echo "$HOME" | cat'`, []string{"sh", "-c", `echo "$HOME" | cat`}},
		{`x --name="a b"`, []string{"x", "--name=a b"}},
	} {
		got, err := exec.Split(tc.command)
		if err != nil {
			t.Errorf("%s: %v", tc.command, err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.command, diff)
		}
	}
	for command, want := range map[string]string{
		`node "adapter.js`: `reading the command "node \"adapter.js": unterminated double-quoted string`,
		`node 'adapter.js`: "unterminated single-quoted string: close it",
		`node adapter.js\`: "unterminated backslash-escape",
		"  ":               "the command is empty",
		`""`:               "the command is empty",
	} {
		if got, err := exec.Split(command); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %q and %v, want an error with %q", command, got, err, want)
		}
	}
}
