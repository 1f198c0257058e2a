package target_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/target"
)

func TestExcerpt(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 128) // 2048 bytes
	for _, tc := range []struct{ name, message, want string }{
		{"empty", "", ""},
		{"text", "{\"a\":\"ü\"}\n\tb", "{\"a\":\"ü\"}\n\tb"},
		{"control characters", "a\x1b[31mb\rc\x00", `a\x1b[31mb\x0dc\x00`},
		{"C1 and bidirectional control", "a\u009bb\u202ec", `a\u009bb\u202ec`},
		{"not UTF-8", "a\xff\xfeb", `a\xff\xfeb`},
		{"at the limit", long, long},
		{"over the limit", long + "z", long + "… [cut: 2048 of 2049 bytes]"},
		{"cut inside a character", long[:2047] + "üz", long[:2047] + "… [cut: 2047 of 2050 bytes]"},
	} {
		if diff := cmp.Diff(tc.want, target.Excerpt([]byte(tc.message))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// TestUncut: what was cut says how long it was, and what was not is as it is.
func TestUncut(t *testing.T) {
	for _, tc := range []struct {
		text, start string
		total       int
	}{
		{"", "", 0},
		{"abc", "abc", 3},
		{target.Cut("abcdef", 3), "abc", 6},
		{target.Cut(strings.Repeat("ü", 100), 99), strings.Repeat("ü", 49), 200},
		{target.Cut("abcdef", 3) + "\n", target.Cut("abcdef", 3) + "\n", 27},
		{"… [cut: 1 of 99999999999999999999 bytes]", "… [cut: 1 of 99999999999999999999 bytes]", 42},
	} {
		if start, total := target.Uncut(tc.text); start != tc.start || total != tc.total {
			t.Errorf("%q: %q of %d bytes", tc.text, start, total)
		}
	}
}

func TestTail(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 128) // 2048 bytes
	for _, tc := range []struct {
		name, log string
		dropped   int64
		want      string
	}{
		{"empty", "", 0, ""},
		{"text", "a\nb\x1b\n", 0, "a\nb\\x1b\n"},
		{"at the limit", long, 0, long},
		{"over the limit", "ab" + long, 0, "[cut: 2 earlier bytes] …" + long},
		{"bytes are gone already", "end", 7, "[cut: 7 earlier bytes] …end"},
		{"cut inside a character", "ü" + long[1:], 5, "[cut: 7 earlier bytes] …" + long[1:]},
	} {
		if diff := cmp.Diff(tc.want, target.Tail([]byte(tc.log), tc.dropped)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

func TestErrorTexts(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want string
	}{
		{&target.ProtocolError{Fault: target.Unreachable}, "the target could not be reached"},
		{
			&target.ProtocolError{Fault: target.Died, Method: "map", Detail: "exit status 3", Received: "{", Stderr: "oops\n"},
			"the target ended before it answered (during \"map\"): exit status 3\nit sent: {\nits stderr ends with:\noops\n",
		},
		{
			&target.RPCError{Method: "invoke", Object: schemas.RPCError{Code: -32603, Message: "a\x1bb"}},
			`the target answered "invoke" with the JSON-RPC error -32603: a\x1bb`,
		},
	} {
		if diff := cmp.Diff(tc.want, tc.err.Error()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestEnviron(t *testing.T) {
	none, limit := int64(0), int64(5)
	got := target.Environ(schemas.ConfigureParams{
		BackendURL: "http://127.0.0.1:1", OpenAPIURL: "http://127.0.0.1:1/openapi.json", TimeoutMs: 1500, MaxResponseBytes: 1 << 20,
		MaxInlineFileBytes: &none, MaxFileBytes: &limit,
	})
	want := []string{
		"TOUCHSTONE_BACKEND_URL=http://127.0.0.1:1",
		"TOUCHSTONE_OPENAPI_URL=http://127.0.0.1:1/openapi.json",
		"TOUCHSTONE_TIMEOUT_MS=1500",
		"TOUCHSTONE_MAX_RESPONSE_BYTES=1048576",
		"TOUCHSTONE_MAX_INLINE_FILE_BYTES=0",
		"TOUCHSTONE_MAX_FILE_BYTES=5",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := target.Environ(schemas.ConfigureParams{}); got != nil {
		t.Errorf("without settings: %q", got)
	}
}
