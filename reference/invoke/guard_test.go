package invoke_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/mockbackend"
	"example.com/touchstone/reference/catalog"
	"example.com/touchstone/reference/compose"
	"example.com/touchstone/reference/invoke"
	"example.com/touchstone/schemas"
)

// tooLarge is the refusal of an answer over a limit of 300 bytes.
func tooLarge(bytes int64, shape schemas.PayloadShape, shapeText, advice string, fields ...schemas.FieldError) *schemas.SDKError {
	return &schemas.SDKError{
		Error:   schemas.ResponseTooLarge,
		Message: fmt.Sprintf("The response is %d bytes; the limit is 300 bytes. It is refused, not truncated: no part of the body was returned. %s %s", bytes, shapeText, advice),
		Fields:  fields,
		Payload: &schemas.Payload{Bytes: bytes, Limit: 300, Shape: shape},
	}
}

func count(n int64) *int64 { return &n }

func TestSize(t *testing.T) {
	const none = "No argument of this call narrows the response."
	letters := func(n int) string { return strings.Repeat("x", n) }
	for _, test := range []struct {
		name, response string
		want           *schemas.SDKError // nil: the answer passes
	}{
		// {"status":200,"body":""} is 24 bytes.
		{"JSON string at the limit", `{"json":"` + letters(276) + `"}`, nil},
		{"JSON string over it", `{"json":"` + letters(277) + `"}`, tooLarge(301, schemas.PayloadShape{Kind: "text", Count: count(277)}, "The body is a text value of 277 characters.", none)},
		{"characters of two bytes", `{"json":"` + strings.Repeat("é", 139) + `"}`, tooLarge(302, schemas.PayloadShape{Kind: "text", Count: count(139)}, "The body is a text value of 139 characters.", none)},
		{"characters of two units", `{"json":"` + strings.Repeat("📦", 70) + `"}`, tooLarge(304, schemas.PayloadShape{Kind: "text", Count: count(140)}, "The body is a text value of 140 characters.", none)},
		{"array", `{"json":[` + strings.Repeat(`"xxxxxxxx",`, 29) + `{"a":[1,2]}]}`, tooLarge(354, schemas.PayloadShape{Kind: "array", Count: count(30)}, "The body is an array of 30 items.", none)},
		{"object", `{"json":{"a":"` + letters(300) + `","b":[1,2,3]}}`, tooLarge(342, schemas.PayloadShape{Kind: "object", Count: count(2)}, "The body is an object with 2 properties.", none)},
		{"number", `{"headers":[["Content-Type","application/json"]],"text":"` + strings.Repeat("7", 300) + `"}`, tooLarge(322, schemas.PayloadShape{Kind: "text"}, "The body is not a JSON array or object.", none)},
		{"text", `{"text":"` + letters(250) + `"}`, tooLarge(316, schemas.PayloadShape{Kind: "text", Count: count(250)}, "The body is a text value of 250 characters.", none)},
		{"white space that is not forwarded", `{"headers":[["Content-Type","application/json"]],"text":"[` + strings.Repeat(" ", 1000) + `]"}`, nil},
		{"error", `{"status":400,"json":{"errors":{"a":"` + letters(300) + `"}}}`,
			tooLarge(505, schemas.PayloadShape{Kind: "object", Count: count(1)}, "The body is an object with 1 properties.", none)},
		{"error in text", `{"status":404,"text":"` + letters(300) + `"}`,
			tooLarge(365, schemas.PayloadShape{Kind: "text", Count: count(300)}, "The body is a text value of 300 characters.", none)},
		{"error that is withheld", `{"status":404,"text":"` + letters(1001) + `"}`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			mock := startMock(t)
			respond(t, mock, "GET", "/orders/1", test.response)
			l := newLayer(t, mock.URL(), func(c *invoke.Config) { c.Limits.MaxResponseBytes = 300 })
			a := call(t.Context(), l, "get_order", `{"id":1}`)
			checkShape(t, a)
			if test.want == nil {
				if e, refused := a.Envelope.(*schemas.SDKError); refused {
					t.Errorf("refused: %s", e.Message)
				}
				return
			}
			if diff := cmp.Diff(schemas.Envelope(test.want), a.Envelope); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNarrowing(t *testing.T) {
	mock := startMock(t)
	respond(t, mock, "GET", "/orders", `{"json":["`+strings.Repeat("x", 300)+`"]}`)
	l := newLayer(t, mock.URL(), func(c *invoke.Config) { c.Limits.MaxResponseBytes = 300 })
	want := tooLarge(326, schemas.PayloadShape{Kind: "array", Count: count(1)}, "The body is an array of 1 items.", "Narrow it and call again: limit, offset, status, filter.",
		schemas.FieldError{Name: "limit", Message: "Most orders to return."},
		schemas.FieldError{Name: "offset", Message: "Orders to leave out before the first one returned."},
		schemas.FieldError{Name: "status", Message: "Only orders in this state."},
		schemas.FieldError{Name: "filter", Message: "Only orders with these values."})
	if diff := cmp.Diff(schemas.Envelope(want), call(t.Context(), l, "list_orders", `{"offset":0}`).Envelope); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSizeOfOtherAnswers has answers that no backend made.
func TestSizeOfOtherAnswers(t *testing.T) {
	var operations []catalog.Operation
	for i := range 10 {
		operations = append(operations, catalog.Operation{
			Name: fmt.Sprintf("op_%d", i), Summary: "Does something.", Description: strings.TrimSpace(strings.Repeat("Does something. ", 20)),
			Template: &compose.Template{Method: "GET", Route: "/"},
		})
	}
	c, err := catalog.New(operations)
	if err != nil {
		t.Fatal(err)
	}
	l := newLayer(t, "http://127.0.0.1:1", func(config *invoke.Config) { config.Catalog, config.Limits.MaxResponseBytes = c, 300 })
	const none = "No argument of this call narrows the response."
	for _, test := range []struct {
		name   string
		answer invoke.Answer
		want   *schemas.SDKError
	}{
		{"search_tools", l.SearchTools(t.Context(), json.RawMessage(`{"query":""}`)),
			tooLarge(491, schemas.PayloadShape{Kind: "object", Count: count(1)}, "The body is an object with 1 properties.", "Narrow it and call again: limit, query.",
				schemas.FieldError{Name: "limit", Message: "Most operations to return."}, schemas.FieldError{Name: "query", Message: "What the operation should do, in words."})},
		{"load_tool", l.LoadTool(t.Context(), json.RawMessage(`{"name":"op_0"}`)),
			tooLarge(457, schemas.PayloadShape{Kind: "object", Count: count(4)}, "The body is an object with 4 properties.", none)},
		{"refusal", call(t.Context(), l, "op_0", `{"`+strings.Repeat("x", 300)+`":1}`),
			tooLarge(396, schemas.PayloadShape{Kind: "object", Count: count(3)}, "The body is an object with 3 properties.", none)},
	} {
		checkShape(t, test.answer)
		if diff := cmp.Diff(schemas.Envelope(test.want), test.answer.Envelope); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestEndlessBody needs the layer to stop by itself: there is no deadline.
func TestEndlessBody(t *testing.T) {
	mock := startMock(t)
	respond(t, mock, "GET", "/orders/1", `{"json":[1],"fault":{"kind":"endless-body"}}`)
	respond(t, mock, "GET", "/orders/2", `{"status":500,"json":[1],"fault":{"kind":"endless-body"}}`)
	l := newLayer(t, mock.URL(), func(c *invoke.Config) { c.Limits.Timeout = 0 })
	a := call(t.Context(), l, "get_order", `{"id":1}`)
	checkShape(t, a)
	e, ok := a.Envelope.(*schemas.SDKError)
	if !ok || e.Error != schemas.ResponseTooLarge || e.Payload.Bytes < 16<<20 || e.Payload.Bytes > 17<<20 || !cmp.Equal(e.Payload.Shape, schemas.PayloadShape{Kind: "text"}) {
		t.Errorf("got %.500s", a.Text)
	}
	wantText(t, call(t.Context(), l, "get_order", `{"id":2}`),
		`{"error":"backend_error","message":"The backend failed while handling the call (500). Details were withheld.","status":500,"retryable":false}`)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := mock.Wait(ctx, mockbackend.Filter{ClientEnded: true}, 2); err != nil {
		t.Errorf("the backend goes on sending: %v", err)
	}
}

// TestEndlessBlanks maps to no body at all, as far as it is read.
func TestEndlessBlanks(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		blanks := []byte(strings.Repeat(" ", 1<<16))
		for r.Context().Err() == nil {
			if _, err := w.Write(blanks); err != nil {
				return
			}
		}
	}))
	defer backend.Close()
	a := call(t.Context(), newLayer(t, backend.URL, nil), "get_order", `{"id":1}`)
	want := &schemas.Payload{Bytes: 16 << 20, Limit: 262144, Shape: schemas.PayloadShape{Kind: "text"}}
	if e, ok := a.Envelope.(*schemas.SDKError); !ok || !cmp.Equal(e.Payload, want) {
		t.Errorf("got %.500s", a.Text)
	}
}

// TestRequestsAreNotRepeated has a backend that closes the connection of the
// second request, as one that has been kept for too long.
func TestRequestsAreNotRepeated(t *testing.T) {
	var requests atomic.Int64
	backend := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if requests.Add(1) == 2 {
			panic(http.ErrAbortHandler)
		}
	}))
	defer backend.Close()
	l := newLayer(t, backend.URL, nil)
	wantText(t, call(t.Context(), l, "get_order", `{"id":1}`), `{"status":200}`)
	if a := call(t.Context(), l, "get_order", `{"id":1}`); !a.IsError() || requests.Load() != 2 {
		t.Errorf("got %s after %d requests", a.Text, requests.Load())
	}
}

const timedOut = "The backend did not answer within %d ms and the call was abandoned. The operation may already have been applied; re-read before retrying."

func TestDeadline(t *testing.T) {
	for _, fault := range []string{
		`{"kind":"stall-before-headers"}`,
		`{"kind":"stall-in-body"}`,
		`{"kind":"drip","intervalMs":10}`,
	} {
		t.Run(fault, func(t *testing.T) {
			mock := startMock(t)
			respond(t, mock, "POST", "/orders", `{"text":"`+strings.Repeat("x", 100_000)+`","fault":`+fault+`}`)
			l := newLayer(t, mock.URL(), func(c *invoke.Config) { c.Limits.Timeout = 150 * time.Millisecond })
			start := time.Now()
			a := call(t.Context(), l, "create_order", `{"item":"pen","quantity":1}`)
			if took := time.Since(start); took < 150*time.Millisecond || took > patience {
				t.Errorf("answered after %v", took)
			}
			wantText(t, a, fmt.Sprintf(`{"error":"invoke_timeout","message":%q,"retryable":true}`, fmt.Sprintf(timedOut, 150)))

			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if _, err := mock.Wait(ctx, mockbackend.Filter{ClientEnded: true}, 1); err != nil {
				t.Errorf("the backend has not seen the request end: %v", err)
			}
			if got := received(mock); len(got) != 1 {
				t.Errorf("one call made the requests %q", got)
			}
		})
	}
}

// TestNoDeadline ends a call by its caller.
func TestNoDeadline(t *testing.T) {
	arrived := make(chan struct{})
	backend := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
	}))
	defer backend.Close()
	l := newLayer(t, backend.URL, func(c *invoke.Config) { c.Limits.Timeout = 0 })
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	wantRefusal(t, call(ctx, l, "get_order", `{"id":1}`), "internal_error",
		"The backend's response could not be read. The operation may already have been applied; re-read before retrying.")
}

// TestLateAnswers holds answers back until their calls have been abandoned.
func TestLateAnswers(t *testing.T) {
	release, released := make(chan struct{}), make(chan struct{})
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/orders/1" {
			<-release
			defer close(released)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"path":%q}`, r.URL.Path)
	}))
	defer backend.Close()
	late := newLayer(t, backend.URL, func(c *invoke.Config) { c.Limits.Timeout = 20 * time.Millisecond })
	wantText(t, call(t.Context(), late, "get_order", `{"id":1}`), fmt.Sprintf(`{"error":"invoke_timeout","message":%q,"retryable":true}`, fmt.Sprintf(timedOut, 20)))
	late.Limits.Timeout = patience
	wantText(t, call(t.Context(), late, "get_order", `{"id":2}`), `{"status":200,"body":{"path":"/orders/2"}}`)
	close(release)
	<-released
	wantText(t, call(t.Context(), late, "get_order", `{"id":3}`), `{"status":200,"body":{"path":"/orders/3"}}`)
}

func TestCallsSideBySide(t *testing.T) {
	const calls = 64
	var arrived sync.WaitGroup
	arrived.Add(calls)
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived.Done()
		arrived.Wait() // all of them are in flight
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"path":%q}`, r.URL.Path)
	}))
	defer backend.Close()
	l := newLayer(t, backend.URL, nil)
	var flight sync.WaitGroup
	for i := range calls {
		flight.Go(func() {
			wantText(t, call(t.Context(), l, "get_order", fmt.Sprintf(`{"id":%d}`, i)), fmt.Sprintf(`{"status":200,"body":{"path":"/orders/%d"}}`, i))
		})
	}
	flight.Wait()
}

func TestWireFaults(t *testing.T) {
	const (
		reached = "The backend's response could not be read. The operation may already have been applied; re-read before retrying."
		never   = "The backend could not be reached. The operation was not applied."
	)
	mock := startMock(t)
	l := newLayer(t, mock.URL(), nil)
	for i, fault := range []string{
		"close-before-headers", "reset", "truncated-body", "malformed-chunk", "garbage",
	} {
		path := fmt.Sprintf("/orders/%d", i)
		respond(t, mock, "GET", path, `{"text":"`+strings.Repeat("x", 1000)+`","fault":{"kind":"`+fault+`"}}`)
		a := call(t.Context(), l, "get_order", fmt.Sprintf(`{"id":%d}`, i))
		t.Log(fault)
		wantRefusal(t, a, "internal_error", reached)
		if n := len(mock.Journal().Entries(mockbackend.Filter{Path: path})); n != 1 {
			t.Errorf("%s: one call made %d requests", fault, n)
		}
	}
	respond(t, mock, "GET", "/orders/100", `{"status":999}`)
	wantRefusal(t, call(t.Context(), l, "get_order", `{"id":100}`), "internal_error", reached)

	for _, backend := range []string{"http://127.0.0.1:1", "http://127.0.0.1:1/%zz"} {
		wantRefusal(t, call(t.Context(), newLayer(t, backend, nil), "get_order", `{"id":1}`), "internal_error", never)
	}
}

// TestSwitchedProtocol has no body, and is not waited for.
func TestSwitchedProtocol(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = buffered.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nnot a body")
		_ = buffered.Flush()
		_, _ = io.Copy(io.Discard, conn)
	}))
	defer backend.Close()
	wantText(t, call(t.Context(), newLayer(t, backend.URL, nil), "get_order", `{"id":1}`), `{"status":101}`)
}
