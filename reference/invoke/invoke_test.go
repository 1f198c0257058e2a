package invoke_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/mockbackend"
	"example.com/touchstone/reference/compose"
	"example.com/touchstone/reference/invoke"
	"example.com/touchstone/schemas"
)

// host plays every part of a host that answers at once.
type host struct {
	cookies  string
	fails    error
	values   map[string]json.RawMessage
	contents map[string]string
	errors   map[string]error
}

func (h host) Cookies(context.Context) (string, error) { return h.cookies, h.fails }

func (h host) Value(_ context.Context, source string) (json.RawMessage, error) {
	return h.values[source], h.errors[source]
}

func (h host) OpenFile(_ context.Context, ref string) (*compose.OpenedFile, error) {
	if err := h.errors[ref]; err != nil {
		return nil, err
	}
	return &compose.OpenedFile{Name: ref + ".txt", MediaType: "text/x-note", Content: io.NopCloser(strings.NewReader(h.contents[ref]))}, nil
}

func (h host) bind(c *invoke.Config) {
	c.Host.Identity, c.Host.Deferred, c.Host.Files = h, h, h
}

func TestCalls(t *testing.T) {
	mock := startMock(t)
	respond(t, mock, "GET", "/tenants/{tenant}/report", `{"json":{"orders":2}}`)
	l := newLayer(t, mock.URL(), host{cookies: "sid=s7", values: map[string]json.RawMessage{"tenant": json.RawMessage(`"ac/me"`)}}.bind)
	for _, test := range []struct{ name, arguments, want string }{
		{"get_order", `{"id":1}`, `{"status":200,"body":{"id":1,"item":"mechanical keyboard","quantity":2,"owner":"alice"}}`},
		{"get_order", `"{\"id\": 1.0}"`, `{"status":200,"body":{"id":1,"item":"mechanical keyboard","quantity":2,"owner":"alice"}}`},
		{"get_order", `{"id":99}`, `{"error":"not_found","message":"There is no order 99.","status":404,"retryable":false}`},
		{"create_order", `{"item":"pen","quantity":500}`, `{"error":"validation_failed","message":"The backend rejected one or more arguments. Fix the listed fields and call the operation again.","status":400,"retryable":false,"fields":[{"name":"quantity","message":"The field quantity must be between 1 and 100."}]}`},
		{"get_session", `{}`, `{"status":200,"body":{"sid":"s7","user":"alice"}}`},
		{"tenant_report", `null`, `{"status":200,"body":{"orders":2}}`},
	} {
		wantText(t, call(t.Context(), l, test.name, test.arguments), test.want)
	}
	want := []string{"GET /orders/1", "GET /orders/1", "GET /orders/99", "POST /orders", "GET /session", "GET /tenants/ac%2Fme/report"}
	if diff := cmp.Diff(want, received(mock)); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestRefusals has the refusals that come before dispatch.
func TestRefusals(t *testing.T) {
	mock := startMock(t)
	missing := errors.New("no such tenant")
	for _, test := range []struct {
		name, arguments string
		host            host
		code            schemas.SDKCode
		message         string
	}{
		{"nope", `{}`, host{}, "unknown_tool", "No operation named 'nope'. Use search_tools to find the exact name."},
		{"legacy_report", `{}`, host{}, "not_invocable", "The operation 'legacy_report' is listed but cannot be invoked: this host has no request template for it."},
		{"get_order", `{"id":1,"bogus":1}`, host{}, "unknown_argument", "Unknown argument(s): bogus. Allowed: id, X-Trace-Tag, expand, include[]."},
		{"tenant_report", `{"tenantId":"x"}`, host{}, "unknown_argument", "Unknown argument(s): tenantId. Allowed: none."},
		{"get_order", `{}`, host{}, "missing_path_parameter", "Argument 'id' is required and must not be empty."},
		{"get_order", `{"id":"x"}`, host{}, "invalid_path_type", "Argument 'id' must be of type integer."},
		{"get_order", `7`, host{}, "invalid_type", "The arguments must be a JSON object, not a number."},
		{"tagged", `{"n":1.5}`, host{}, "invalid_type", "Argument 'n' must be of type integer: without a fraction, and at most 9007199254740991 in magnitude."},
		{"get_order", `{"id":1,"expand":null}`, host{}, "null_not_allowed", "Argument 'expand' must not be null. Leave it out instead."},
		{"get_order", `{"id":1,"X-Trace-Tag":"a\r\nb"}`, host{}, "header_injection", "Argument 'X-Trace-Tag' must not contain a line break or another control character."},
		{"tagged", `{"raw":"a b"}`, host{}, "invalid_cookie_value", "Argument 'raw' cannot be sent in a cookie: it has a character that is not printable ASCII, or a space, a quote, a comma, a semicolon or a backslash."},
		{"get_session", `{"sid":"x"}`, host{cookies: "sid=y"}, "cookie_carrier_collision", "Argument 'sid' is sent as a cookie that the caller's identity already uses. Leave it out."},
		{"tenant_report", `{}`, host{}, "deferred_value_missing", "A value that the host supplies for this operation is not available. Retrying will not help."},
		{"tenant_report", `{}`, host{errors: map[string]error{"tenant": missing}}, "deferred_value_missing", "A value that the host supplies for this operation is not available. Retrying will not help."},
		{"tenant_report", `{}`, host{values: map[string]json.RawMessage{"tenant": json.RawMessage(`{}`)}}, "deferred_value_invalid", "A value that the host supplies for this operation cannot be used. Retrying will not help."},
		{"attach_file", `{"id":1,"file":{}}`, host{}, "invalid_file_argument", "File argument 'file' must have exactly one of: text, base64, ref."},
		{"attach_file", `{"id":1,"file":{"base64":"MTIzNDU2Nzg5"}}`, host{}, "file_too_large", "File argument 'file' takes the inline files of this call over the limit of 8 bytes in all."},
		{"attach_file", `{"id":1,"file":{"ref":"r"}}`, host{contents: map[string]string{"r": "123456789"}}, "file_too_large", "File argument 'file' is over the limit of 8 bytes and was not sent."},
		{"attach_file", `{"id":1,"file":{"ref":"r"}}`, host{errors: map[string]error{"r": compose.ErrFileNotFound}}, "file_unresolved", "File argument 'file' names a ref that could not be resolved. Retrying with the same ref will not help."},
		{"attach_file", `{"id":1,"file":{"ref":"r"}}`, host{errors: map[string]error{"r": compose.ErrFileForbidden}}, "file_unresolved", "File argument 'file' names a ref that could not be resolved. Retrying with the same ref will not help."},
		{"get_order", `{"id":1}`, host{fails: errors.New("the session store is away")}, "internal_error", "the session store is away"},
		{"get_order", `{"id":1}`, host{fails: errors.New("cannot read /srv/shop/key")}, "internal_error", "The call failed inside the tool layer. Details were withheld."},
	} {
		t.Run(test.name+" "+test.arguments, func(t *testing.T) {
			l := newLayer(t, mock.URL(), func(c *invoke.Config) {
				test.host.bind(c)
				c.Limits.MaxInlineFileBytes, c.Limits.MaxFileBytes = 8, 8
			})
			wantRefusal(t, call(t.Context(), l, test.name, test.arguments), test.code, test.message)
		})
	}
	if got := received(mock); got != nil {
		t.Errorf("the backend has seen %q", got)
	}
}

func TestUnavailableFile(t *testing.T) {
	mock := startMock(t)
	l := newLayer(t, mock.URL(), host{errors: map[string]error{"r": compose.ErrFileUnavailable}}.bind)
	wantText(t, call(t.Context(), l, "attach_file", `{"id":1,"file":{"ref":"r"}}`),
		`{"error":"file_unresolved","message":"File argument 'file' could not be resolved right now. Retry the call.","retryable":true}`)
}

// TestWithoutResolver mentions no ref, and refuses one like any other member.
func TestWithoutResolver(t *testing.T) {
	l := newLayer(t, startMock(t).URL(), nil)
	wantRefusal(t, call(t.Context(), l, "attach_file", `{"id":1,"file":{"ref":"r"}}`), "invalid_file_argument",
		"File argument 'file' has an unknown member. Allowed: text, base64, name, mediaType.")
}

func TestFiles(t *testing.T) {
	mock := startMock(t)
	l := newLayer(t, mock.URL(), func(c *invoke.Config) {
		host{contents: map[string]string{"note": "12345678"}}.bind(c)
		c.Limits.MaxFileBytes = 8
	})
	wantText(t, call(t.Context(), l, "attach_file", `{"id":1,"file":{"ref":"note"},"caption":"c"}`),
		`{"status":201,"body":{"orderId":1,"files":[{"field":"file","filename":"note.txt","contentType":"text/x-note","bytes":8}],"fields":{"caption":"c"}}}`)
}

func TestVersions(t *testing.T) {
	mock := startMock(t)
	l := newLayer(t, mock.URL(), nil)
	op, _ := l.Catalog.Lookup("get_order")
	invokeWith := func(name, arguments, version string) invoke.Answer {
		return l.InvokeTool(t.Context(), json.RawMessage(`{"name":"`+name+`","arguments":`+arguments+`,"version":`+version+`}`))
	}
	changed := func(name string) string {
		return "The tool '" + name + "' changed after it was loaded, so the call was refused before reaching the backend. Load it again with load_tool and retry with the new version."
	}
	wantRefusal(t, invokeWith("get_order", `{"id":1}`, `"old"`), "tool_changed", changed("get_order"))
	wantRefusal(t, invokeWith("get_order", `{"id":1}`, `""`), "tool_changed", changed("get_order"))
	wantRefusal(t, invokeWith("get_order", `{"bogus":1}`, `"old"`), "tool_changed", changed("get_order"))
	wantRefusal(t, invokeWith("legacy_report", `{}`, `"old"`), "tool_changed", changed("legacy_report"))
	wantRefusal(t, invokeWith("nope", `{}`, `"old"`), "unknown_tool", "No operation named 'nope'. Use search_tools to find the exact name.")
	if got := received(mock); got != nil {
		t.Errorf("the backend has seen %q", got)
	}
	for _, version := range []string{`"` + op.Version + `"`, `null`} {
		if a := invokeWith("get_order", `{"id":1}`, version); a.IsError() {
			t.Errorf("pinned to %s: %s", version, a.Text)
		}
	}
}

// TestResponsesAsTheyCome has what an HTTP client would like to take care of.
func TestResponsesAsTheyCome(t *testing.T) {
	mock := startMock(t)
	for path, response := range map[string]string{
		"/orders/1": `{"status":302,"headers":[["Location","/orders/2"]]}`,
		"/orders/3": `{"status":302,"headers":[["Location","http://[::1"]]}`,
		"/orders/4": `{"status":401,"headers":[["WWW-Authenticate","Basic"]]}`,
		"/orders/5": `{"status":200,"headers":[["Content-Encoding","gzip"],["Content-Type","text/plain"]],"base64":"H4t4"}`,
		"/orders/6": `{"status":503,"headers":[["Retry-After","0"]]}`,
		"/orders/7": `{"status":200,"interim":[{"status":103}],"json":{"a":1}}`,
	} {
		respond(t, mock, "GET", path, response)
	}
	l := newLayer(t, mock.URL(), nil)
	for _, test := range []struct{ arguments, want string }{
		{`{"id":1}`, `{"status":302,"location":"/orders/2"}`},
		{`{"id":3}`, `{"status":302,"location":"http://[::1"}`},
		{`{"id":4}`, `{"error":"unauthenticated","message":"The backend did not accept the caller's identity (401). The MCP session's credentials were forwarded unchanged; retrying with the same session will not help.","status":401,"retryable":false}`},
		{`{"id":5}`, "{\"status\":200,\"body\":\"\\u001f\uFFFDx\",\"contentType\":\"text/plain\"}"},
		{`{"id":6}`, `{"error":"backend_unavailable","message":"The backend is temporarily unavailable (503). Retry later.","status":503,"retryable":true}`},
		{`{"id":7}`, `{"status":200,"body":{"a":1}}`},
	} {
		wantText(t, call(t.Context(), l, "get_order", test.arguments), test.want)
	}
	entries := mock.Journal().Entries(mockbackend.Filter{})
	if len(entries) != 6 {
		t.Errorf("6 calls made the requests %q", received(mock))
	}
	for _, h := range entries[0].Header {
		if strings.EqualFold(h.Name, "Accept-Encoding") {
			t.Errorf("the layer asks for %s", h.Value)
		}
	}
}
