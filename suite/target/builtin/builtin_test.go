package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/target"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ok = schemas.MapParams{Response: schemas.BackendResponse{Status: 200}}

func echo(_ context.Context, message []byte) []byte {
	var asked struct {
		ID     int64
		Params json.RawMessage
	}
	if err := json.Unmarshal(message, &asked); err != nil {
		panic(err)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{"envelope":%s}}`, asked.ID, asked.Params)
}

func TestCallsSideBySide(t *testing.T) {
	client := New(HandlerFunc(echo))
	var work sync.WaitGroup
	for i := range 16 {
		work.Go(func() {
			got, err := client.Invoke(t.Context(), schemas.InvokeParams{Name: "echo", Arguments: fmt.Appendf(nil, "%d", i)})
			if want := fmt.Sprintf(`{"name":"echo","arguments":%d}`, i); err != nil || string(got.Envelope) != want {
				t.Errorf("got %s (%v), want %s", got.Envelope, err, want)
			}
		})
	}
	work.Wait()
	if err := client.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// A handler may use its buffer again; the answer is the suite's own.
func TestAnswerIsCopied(t *testing.T) {
	buffer := []byte(`{"jsonrpc":"2.0","id":1,"result":{"envelope":{}}}`)
	client := New(HandlerFunc(func(context.Context, []byte) []byte { return buffer }))
	defer client.Close()
	got, err := client.Map(t.Context(), ok)
	if err != nil {
		t.Fatal(err)
	}
	clear(buffer)
	if string(got.Raw) != `{"jsonrpc":"2.0","id":1,"result":{"envelope":{}}}` {
		t.Errorf("the message is now %q", got.Raw)
	}
}

func TestFaults(t *testing.T) {
	for _, tc := range []struct {
		name    string
		handler HandlerFunc
		fault   target.Fault
		detail  string
	}{
		{"panic", func(context.Context, []byte) []byte { panic("as if") }, target.Died, "panic: as if\n"},
		{"nothing", func(context.Context, []byte) []byte { return nil }, target.Garbage, "the message is empty"},
		{"garbage", func(context.Context, []byte) []byte { return []byte("hello") }, target.Garbage, "invalid character 'h'"},
		{"another id", func(context.Context, []byte) []byte { return []byte(`{"jsonrpc":"2.0","id":9,"result":{}}`) }, target.WrongID, "id 9, asked was 1"},
	} {
		client := New(tc.handler)
		_, err := client.Map(t.Context(), ok)
		fault, is := errors.AsType[*target.ProtocolError](err)
		if !is || fault.Fault != tc.fault || !strings.HasPrefix(fault.Detail, tc.detail) || fault.Method != "map" {
			t.Errorf("%s: got %v", tc.name, err)
		}
		if err := client.Close(); err != nil {
			t.Errorf("%s: Close: %v", tc.name, err)
		}
	}
}

func TestContextEndsCall(t *testing.T) {
	heeded := make(chan error, 1)
	client := New(HandlerFunc(func(ctx context.Context, _ []byte) []byte {
		<-ctx.Done()
		heeded <- ctx.Err()
		return nil
	}))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := client.Map(ctx, ok); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's error", err)
	}
	if err := <-heeded; err == nil {
		t.Error("the handler's context did not end")
	}
	if err := client.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// A handler that does not heed its context holds neither the call nor, for long, Close.
func TestStubbornHandler(t *testing.T) {
	release := make(chan struct{})
	tr := &transport{grace: 10 * time.Millisecond, handler: HandlerFunc(func(context.Context, []byte) []byte {
		<-release
		return nil
	})}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := tr.RoundTrip(ctx, 1, []byte("{}")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's error", err)
	}
	if err := tr.Close(); err == nil || !strings.Contains(err.Error(), "did not return within 10ms") {
		t.Errorf("Close gives %v", err)
	}
	close(release)
	tr.running.Wait()
}

func BenchmarkCall(b *testing.B) {
	client := New(HandlerFunc(echo))
	defer client.Close()
	for b.Loop() {
		if _, err := client.Map(b.Context(), ok); err != nil {
			b.Fatal(err)
		}
	}
}
