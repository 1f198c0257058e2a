package jsonrpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/target"
	"example.com/touchstone/suite/target/jsonrpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is a transport that keeps requests and answers them with a function.
type script struct {
	answer func(ctx context.Context, id int64) (string, error)
	log    string
	onEnd  error

	mu       sync.Mutex
	requests []string
	closed   int
}

func (s *script) RoundTrip(ctx context.Context, id int64, request []byte) (jsonrpc.Message, error) {
	s.mu.Lock()
	s.requests = append(s.requests, string(request))
	s.mu.Unlock()
	text, err := s.answer(ctx, id)
	if err != nil {
		return jsonrpc.Message{}, err
	}
	return jsonrpc.Decode([]byte(text))
}

func (s *script) Close() error {
	s.closed++
	return s.onEnd
}

func (s *script) LogTail() string { return s.log }

// with answers every request with this result.
func with(result string) *script {
	return &script{answer: func(_ context.Context, id int64) (string, error) {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, id, result), nil
	}}
}

func TestRequests(t *testing.T) {
	s := with(`{"text":"{}"}`)
	client := jsonrpc.NewClient(s)
	ctx := t.Context()
	body := schemas.BackendResponse{Status: 503, Headers: [][2]string{{"Retry-After", "1"}, {"X", "ü"}}, Body: "a\nb"}
	for _, call := range []func() error{
		func() error { _, err := client.Map(ctx, schemas.MapParams{Response: body}); return err },
		func() error {
			_, err := client.Map(ctx, schemas.MapParams{Response: schemas.BackendResponse{Status: 204}})
			return err
		},
		func() error {
			_, err := client.Refuse(ctx, schemas.RefuseParams{Error: schemas.UnknownTool, Tool: "x"})
			return err
		},
		func() error {
			_, err := client.Invoke(ctx, schemas.InvokeParams{Name: "get_order", Arguments: json.RawMessage(" {\"id\" :\n 1.0} ")})
			return err
		},
	} {
		if err := call(); err != nil {
			t.Fatal(err)
		}
	}
	s.answer = with(`{"protocol":1,"name":"n","version":"1","features":["map"]}`).answer
	if _, err := client.Describe(ctx); err != nil {
		t.Fatal(err)
	}
	s.answer = with(`{}`).answer
	if err := client.Configure(ctx, schemas.ConfigureParams{BackendURL: "http://127.0.0.1:1", TimeoutMs: 0}); err != nil {
		t.Fatal(err)
	}
	s.answer = with(`{"refusal":{"error":"unknown_argument"}}`).answer
	composed, err := client.Compose(ctx, schemas.ComposeParams{Template: json.RawMessage(`{"method":"GET","route":"/"}`), Arguments: json.RawMessage(`{}`)})
	if err != nil || composed.Request != nil || string(composed.Refusal) != `{"error":"unknown_argument"}` {
		t.Errorf("composed %+v (%v)", composed, err)
	}
	s.answer = with(`{"text":"{}"}`).answer
	if _, err := client.Search(ctx, schemas.SearchParams{Query: "orders"}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Load(ctx, schemas.LoadParams{Name: "get_order"}); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"jsonrpc":"2.0","id":1,"method":"map","params":{"response":{"status":503,"headers":[["Retry-After","1"],["X","ü"]],"body":"a\nb"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"map","params":{"response":{"status":204,"headers":[]}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"refuse","params":{"error":"unknown_tool","tool":"x"}}`,
		`{"jsonrpc":"2.0","id":4,"method":"invoke","params":{"name":"get_order","arguments":{"id":1.0}}}`,
		`{"jsonrpc":"2.0","id":5,"method":"describe","params":{"protocol":1}}`,
		`{"jsonrpc":"2.0","id":6,"method":"configure","params":{"backendUrl":"http://127.0.0.1:1","timeoutMs":0}}`,
		`{"jsonrpc":"2.0","id":7,"method":"compose","params":{"template":{"method":"GET","route":"/"},"arguments":{}}}`,
		`{"jsonrpc":"2.0","id":8,"method":"search","params":{"query":"orders"}}`,
		`{"jsonrpc":"2.0","id":9,"method":"load","params":{"name":"get_order"}}`,
	}
	if diff := cmp.Diff(want, s.requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// A request that breaks the contract is the suite's mistake and is not sent.
func TestBadRequestsAreNotSent(t *testing.T) {
	s := with(`{"text":"{}"}`)
	client := jsonrpc.NewClient(s)
	for want, params := range map[string]schemas.MapParams{
		"/response/status: Must be less than or equal to 599": {Response: schemas.BackendResponse{Status: 600}},
		`a\xe4 is not UTF-8`: {Response: schemas.BackendResponse{Status: 200, Headers: [][2]string{{"X", "a\xe4"}}}},
		`b\xff is not UTF-8`: {Response: schemas.BackendResponse{Status: 200, Body: "b\xff"}},
	} {
		_, err := client.Map(t.Context(), params)
		if _, ok := errors.AsType[*target.ProtocolError](err); ok || err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `"map"`) {
			t.Errorf("got %v, want a plain error with %q", err, want)
		}
	}
	if _, err := client.Invoke(t.Context(), schemas.InvokeParams{Name: "x", Arguments: []byte("{")}); err == nil {
		t.Error("arguments that are not JSON were sent")
	}
	if len(s.requests) != 0 {
		t.Errorf("these were sent: %q", s.requests)
	}
}

func TestDescription(t *testing.T) {
	client := jsonrpc.NewClient(with(`{"protocol":1,"name":"n","version":"0.1","profiles":["envelope-core"],"features":["map","invoke"]}`))
	got, err := client.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := schemas.DescribeResult{Protocol: 1, Name: "n", Version: "0.1", Profiles: []string{"envelope-core"}, Features: []string{"map", "invoke"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEnvelopeIsKeptAsSent(t *testing.T) {
	yes := true
	for _, tc := range []struct {
		result, envelope string
		isError          *bool
	}{
		{`{"text":"{\"status\":200 }\n"}`, "{\"status\":200 }\n", nil},
		{`{"text":""}`, "", nil},
		{`{"isError":true,"envelope" :  {"b":1.50e2, "a":"\u00e9é\/"} }`, `{"b":1.50e2, "a":"\u00e9é\/"}`, &yes},
		{`{"envelope":12345678901234567890123456789}`, "12345678901234567890123456789", nil},
		{`{"envelope":null}`, "null", nil},
		{`{"envelope":{"a":1,"a":2}}`, `{"a":1,"a":2}`, nil},
	} {
		raw := ` {"result": ` + tc.result + `, "id":1,"jsonrpc":"2.0"} `
		client := jsonrpc.NewClient(&script{answer: func(context.Context, int64) (string, error) { return raw, nil }})
		got, err := client.Map(t.Context(), schemas.MapParams{Response: schemas.BackendResponse{Status: 200}})
		if err != nil {
			t.Errorf("%s: %v", tc.result, err)
			continue
		}
		want := target.Answer{Envelope: []byte(tc.envelope), IsError: tc.isError, Raw: []byte(raw)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.result, diff)
		}
	}
}

func TestBadResults(t *testing.T) {
	answers := func(c *jsonrpc.Client) error {
		_, err := c.Invoke(context.Background(), schemas.InvokeParams{Name: "x", Arguments: []byte(`{}`)})
		return err
	}
	composes := func(c *jsonrpc.Client) error {
		_, err := c.Compose(context.Background(), schemas.ComposeParams{Template: json.RawMessage(`{"method":"GET","route":"/"}`)})
		return err
	}
	describes := func(c *jsonrpc.Client) error { _, err := c.Describe(context.Background()); return err }
	configures := func(c *jsonrpc.Client) error {
		return c.Configure(context.Background(), schemas.ConfigureParams{BackendURL: "http://127.0.0.1:1"})
	}
	for _, tc := range []struct {
		call         func(*jsonrpc.Client) error
		method       string
		result, want string
	}{
		{answers, "invoke", `{}`, `/result has either "text" or "envelope", this one has neither`},
		{answers, "invoke", `{"text":"{}","envelope":{}}`, `/result has either "text" or "envelope", this one has both`},
		{answers, "invoke", `{"text":null}`, "/result/text: Invalid type. Expected: string, given: null"},
		{answers, "invoke", `{"Text":"{}"}`, `this one has neither`},
		{answers, "invoke", `{"text":"{}","IsError":true}`, "/result: Additional property IsError is not allowed"},
		{answers, "invoke", `{"text":"{}","isError":null}`, "/result/isError: Invalid type. Expected: boolean, given: null"},
		{answers, "invoke", `"text"`, "/result: Invalid type. Expected: object, given: string"},
		{answers, "invoke", `null`, "/result: Invalid type. Expected: object, given: null"},
		{answers, "invoke", `[]`, "/result: Invalid type. Expected: object, given: array"},
		{answers, "invoke", `{"text":"{}","isError":1` + strings.Repeat("0", 2_000_000) + `}`, "a number of 2000001 characters"},
		{answers, "invoke", `{"text":"{}","a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1}`, "and 2 more"},
		{describes, "describe", `{"protocol":2,"name":"n","version":"1","features":["map"]}`, "/result/protocol: "},
		{describes, "describe", `{"protocol":1,"name":"n","version":"1","features":["fly"]}`, "/result/features/0: "},
		{describes, "describe", `{"protocol":1,"name":"n","version":"1","features":[]}`, "/result/features: Array must have at least 1 items"},
		{describes, "describe", `{"protocol":1,"version":"1","features":["map"]}`, "/result: name is required"},
		{composes, "compose", `{}`, `/result has either "request" or "refusal", this one has neither`},
		{composes, "compose", `{"request":{"method":"GET","pathAndQuery":"/"},"refusal":{}}`, `this one has both`},
		{composes, "compose", `{"request":{"method":"GET"}}`, "/result/request: pathAndQuery is required"},
		{configures, "configure", `null`, "/result: Invalid type. Expected: object, given: null"},
		{configures, "configure", `{"ok":true}`, "/result: Additional property ok is not allowed"},
	} {
		s := with(tc.result)
		s.log = "the log"
		err := tc.call(jsonrpc.NewClient(s))
		fault, ok := errors.AsType[*target.ProtocolError](err)
		if !ok || fault.Fault != target.BadMessage || fault.Method != tc.method || fault.Stderr != "the log" {
			t.Errorf("%.60s: got %v, want a bad message", tc.result, err)
			continue
		}
		if !strings.Contains(fault.Detail, tc.want) {
			t.Errorf("%.60s: detail %q, want it to hold %q", tc.result, fault.Detail, tc.want)
		}
		if !strings.HasPrefix(fault.Received, `{"jsonrpc":"2.0","id":1,"result":`) {
			t.Errorf("%.60s: received %q", tc.result, fault.Received)
		}
	}
}

func TestWrongIDAndRPCError(t *testing.T) {
	s := &script{answer: func(context.Context, int64) (string, error) {
		return `{"jsonrpc":"2.0","id":17,"result":{}}`, nil
	}}
	client := jsonrpc.NewClient(s)
	err := client.Configure(t.Context(), schemas.ConfigureParams{BackendURL: "http://127.0.0.1:1"})
	if fault, ok := errors.AsType[*target.ProtocolError](err); !ok || fault.Fault != target.WrongID || fault.Detail != "id 17, asked was 1" || fault.Method != "configure" {
		t.Errorf("got %v, want the wrong id", err)
	}
	s.answer = func(_ context.Context, id int64) (string, error) {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32602,"message":"no","data":[1]}}`, id), nil
	}
	err = client.Configure(t.Context(), schemas.ConfigureParams{BackendURL: "http://127.0.0.1:1"})
	want := &target.RPCError{Method: "configure", Object: schemas.RPCError{Code: -32602, Message: "no", Data: []byte("[1]")}}
	if got, _ := errors.AsType[*target.RPCError](err); !cmp.Equal(want, got) {
		t.Errorf("got %v, want %v", err, want)
	}
}

// Two calls may be given one fault; each names its own method.
func TestSharedFault(t *testing.T) {
	shared := &target.ProtocolError{Fault: target.Died}
	client := jsonrpc.NewClient(&script{answer: func(context.Context, int64) (string, error) { return "", shared }})
	_, first := client.Describe(t.Context())
	_, second := client.Map(t.Context(), schemas.MapParams{Response: schemas.BackendResponse{Status: 200}})
	a, _ := errors.AsType[*target.ProtocolError](first)
	b, _ := errors.AsType[*target.ProtocolError](second)
	if a.Method != "describe" || b.Method != "map" || shared.Method != "" {
		t.Errorf("methods are %q, %q and, shared, %q", a.Method, b.Method, shared.Method)
	}
}

func TestEndOfContextAndClose(t *testing.T) {
	asked := make(chan struct{}, 1)
	s := &script{answer: func(ctx context.Context, _ int64) (string, error) {
		asked <- struct{}{}
		<-ctx.Done()
		return "", fmt.Errorf("waiting: %w", ctx.Err())
	}}
	client := jsonrpc.NewClient(s)
	settings := schemas.ConfigureParams{BackendURL: "http://127.0.0.1:1"}

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := client.Configure(ended, settings); !errors.Is(err, context.Canceled) || err.Error() != `calling "configure": before it was sent: context canceled` {
		t.Errorf("with a context that has ended: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- client.Configure(ctx, settings) }()
	<-asked
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) || err.Error() != `calling "configure": waiting: context canceled` {
		t.Errorf("with a context that ends: %v", err)
	}

	go func() { result <- client.Configure(t.Context(), settings) }()
	<-asked
	s.onEnd = &target.ProtocolError{Fault: target.AnsweredTwice, Detail: "id 1"}
	if err := client.Close(); err == nil || err.Error() != "the target answered the same id twice: id 1" {
		t.Errorf("Close gives %v, want what the transport found", err)
	}
	if err := <-result; !errors.Is(err, target.ErrClosed) {
		t.Errorf("a call that waits at Close: %v", err)
	}
	if err := client.Configure(t.Context(), settings); !errors.Is(err, target.ErrClosed) {
		t.Errorf("a call after Close: %v", err)
	}
	if err := client.Close(); err != nil || s.closed != 1 {
		t.Errorf("the second Close gives %v; the transport was closed %d times", err, s.closed)
	}
	if len(s.requests) != 2 {
		t.Errorf("requests: %q", s.requests)
	}
}

// A transport may free what its calls use: they are over when it is closed.
func TestTransportIsClosedAfterItsCalls(t *testing.T) {
	s := &slowToEnd{asked: make(chan struct{}), closed: make(chan struct{})}
	client := jsonrpc.NewClient(s)
	result := make(chan error, 1)
	go func() {
		result <- client.Configure(t.Context(), schemas.ConfigureParams{BackendURL: "http://127.0.0.1:1"})
	}()
	<-s.asked
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	if err := <-result; !errors.Is(err, target.ErrClosed) {
		t.Errorf("the call: %v", err)
	}
}

// slowToEnd is a transport whose call takes its time after its context has ended.
type slowToEnd struct{ asked, closed chan struct{} }

func (s *slowToEnd) RoundTrip(ctx context.Context, _ int64, _ []byte) (jsonrpc.Message, error) {
	close(s.asked)
	<-ctx.Done()
	select {
	case <-s.closed:
		return jsonrpc.Message{}, errors.New("closed during a call")
	case <-time.After(50 * time.Millisecond):
		return jsonrpc.Message{}, ctx.Err()
	}
}

func (s *slowToEnd) Close() error {
	close(s.closed)
	return nil
}
