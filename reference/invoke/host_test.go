package invoke_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"example.com/touchstone/reference/compose"
	"example.com/touchstone/reference/invoke"
	"example.com/touchstone/schemas"
)

// stuckHost answers no question until it is released, whatever the context says.
type stuckHost struct{ released chan struct{} }

func (h stuckHost) Cookies(context.Context) (string, error) {
	<-h.released
	return "", nil
}

func (h stuckHost) Value(context.Context, string) (json.RawMessage, error) {
	<-h.released
	return json.RawMessage(`"late"`), nil
}

func (h stuckHost) OpenFile(_ context.Context, ref string) (*compose.OpenedFile, error) {
	if ref == "slow" { // opens, and stalls in the content
		return &compose.OpenedFile{Content: io.NopCloser(io.MultiReader(strings.NewReader("x"), stuckReader(h)))}, nil
	}
	<-h.released
	return nil, compose.ErrFileNotFound
}

type stuckReader stuckHost

func (r stuckReader) Read([]byte) (int, error) {
	<-r.released
	return 0, io.EOF
}

func TestHostThatIsStuck(t *testing.T) {
	mock := startMock(t)
	const unavailable = "File argument 'file' could not be resolved right now. Retry the call."
	for _, test := range []struct {
		name, arguments string
		bind            func(*invoke.Host, stuckHost)
		want            schemas.SDKError
	}{
		{"get_order", `{"id":1}`, func(h *invoke.Host, stuck stuckHost) { h.Identity = stuck },
			schemas.SDKError{Error: "internal_error", Message: "context deadline exceeded"}},
		{"tenant_report", `{}`, func(h *invoke.Host, stuck stuckHost) { h.Deferred = stuck },
			schemas.SDKError{Error: "deferred_value_missing", Message: "A value that the host supplies for this operation is not available. Retrying will not help."}},
		{"attach_file", `{"id":1,"file":{"ref":"r"}}`, func(h *invoke.Host, stuck stuckHost) { h.Files = stuck },
			schemas.SDKError{Error: "file_unresolved", Message: unavailable, Retryable: true}},
		{"attach_file", `{"id":1,"file":{"ref":"slow"}}`, func(h *invoke.Host, stuck stuckHost) { h.Files = stuck },
			schemas.SDKError{Error: "file_unresolved", Message: unavailable, Retryable: true}},
	} {
		stuck := stuckHost{make(chan struct{})}
		l := newLayer(t, mock.URL(), func(c *invoke.Config) {
			test.bind(&c.Host, stuck)
			c.Limits.HostTimeout = 20 * time.Millisecond
		})
		a := call(t.Context(), l, test.name, test.arguments)
		if got, ok := a.Envelope.(*schemas.SDKError); !ok || got.Error != test.want.Error || got.Message != test.want.Message || got.Retryable != test.want.Retryable {
			t.Errorf("%s %s: got %s", test.name, test.arguments, a.Text)
		}
		close(stuck.released)
		l.Close()
	}
	if got := received(mock); got != nil {
		t.Errorf("the backend has seen %q", got)
	}
}

// brokenHost panics, and its files break while they are read.
type brokenHost struct{}

func (brokenHost) Cookies(context.Context) (string, error) { panic("no store") }

func (brokenHost) OpenFile(_ context.Context, ref string) (*compose.OpenedFile, error) {
	switch ref {
	case "panics":
		panic("no store")
	case "odd":
		return nil, errors.New("shard 7 of 10.0.0.3 is odd")
	}
	return &compose.OpenedFile{Content: io.NopCloser(io.MultiReader(strings.NewReader("x"), brokenReader{}))}, nil
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("shard 7 is gone") }

func TestHostThatIsBroken(t *testing.T) {
	mock := startMock(t)
	wantRefusal(t, call(t.Context(), newLayer(t, mock.URL(), func(c *invoke.Config) { c.Host.Identity = brokenHost{} }), "get_order", `{"id":1}`),
		"internal_error", "no store")
	l := newLayer(t, mock.URL(), func(c *invoke.Config) { c.Host.Files = brokenHost{} })
	wantRefusal(t, call(t.Context(), l, "attach_file", `{"id":1,"file":{"ref":"panics"}}`), "internal_error", "no store")
	wantRefusal(t, call(t.Context(), l, "attach_file", `{"id":1,"file":{"ref":"odd"}}`), "file_unresolved",
		"File argument 'file' names a ref that could not be resolved. Retrying with the same ref will not help.")
	wantText(t, call(t.Context(), l, "attach_file", `{"id":1,"file":{"ref":"breaks"}}`),
		`{"error":"file_unresolved","message":"File argument 'file' could not be resolved right now. Retry the call.","retryable":true}`)
}
