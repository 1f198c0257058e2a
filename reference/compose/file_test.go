package compose_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"example.com/touchstone/reference/compose"
	"github.com/google/go-cmp/cmp"
)

func upload(more string) string {
	return `{"method":"POST","route":"/b","contentType":"multipart/form-data","body":{"properties":["doc","docs"]},
		"form":{"fields":[{"name":"doc","type":"file"},{"name":"docs","type":"file","array":true}]}` + more + `}`
}

func TestInvalidFileArgument(t *testing.T) {
	inline, withRef := upload(``), upload(`,"fileSources":["text","base64","ref"]`)
	const (
		notObject = "must be an object, not "
		unknown   = "has an unknown member. Allowed: text, base64, name, mediaType."
		noSource  = "must have exactly one of: text, base64."
		base64    = "must have padded base64 of the standard alphabet, without white space."
		filename  = "must have a name that is not empty, without quotes, slashes, backslashes or line breaks."
		mediaType = "must have a mediaType of the form type/subtype."
	)
	tests := []struct{ value, message string }{
		{`"text"`, notObject + "a string."},
		{`5`, notObject + "a number."},
		{`true`, notObject + "a boolean."},
		{`[]`, notObject + "an array."},

		{`{}`, noSource},
		{`{"name":"a.txt"}`, noSource},
		{`{"text":"a","base64":"AA=="}`, noSource},
		{`{"text":"a","text":"b"}`, noSource},
		{`{"text":null}`, "must have a string as its text."},
		{`{"text":5}`, "must have a string as its text."},
		{`{"base64":["AA=="]}`, "must have a string as its base64."},
		{`{"text":"a","name":1}`, "must have a string as its name."},
		{`{"text":"a","mediaType":{}}`, "must have a string as its mediaType."},

		{`{"text":"a","size":1}`, unknown},
		{`{"text":"a","Name":"b"}`, unknown},
		{`{"text":"a","filename":"b"}`, unknown},
		{`{"ref":"r-1"}`, unknown},
		{`{"ref":""}`, unknown},
		{`{"ref":7}`, unknown},
		{`{"text":"a","ref":"r-1"}`, unknown},

		{`{"base64":"-_8="}`, base64},  // URL-safe alphabet
		{`{"base64":"AQI"}`, base64},   // no padding
		{`{"base64":"AQ="}`, base64},   // half of it
		{`{"base64":"AQI=="}`, base64}, // too much
		{`{"base64":"AQID\nAQID"}`, base64},
		{`{"base64":"AQID\r\n"}`, base64},
		{`{"base64":" AQID"}`, base64},
		{`{"base64":"AQ ID"}`, base64},
		{`{"base64":"AQ\tID"}`, base64},
		{`{"base64":"data:;base64,AQID"}`, base64},
		{`{"base64":"="}`, base64},
		{`{"base64":"é==="}`, base64},

		{`{"text":"a","name":""}`, filename},
		{`{"text":"a","name":"a\"b"}`, filename},
		{`{"text":"a","name":"a\rb"}`, filename},
		{`{"text":"a","name":"a\nb"}`, filename},
		{`{"text":"a","name":"a\u0000b"}`, filename},
		{`{"text":"a","name":"../a"}`, filename},
		{`{"text":"a","name":"a\\b"}`, filename},

		{`{"text":"a","mediaType":""}`, mediaType},
		{`{"text":"a","mediaType":"text"}`, mediaType},
		{`{"text":"a","mediaType":"/plain"}`, mediaType},
		{`{"text":"a","mediaType":"text/"}`, mediaType},
		{`{"text":"a","mediaType":"text/a/b"}`, mediaType},
		{`{"text":"a","mediaType":"te xt/plain"}`, mediaType},
		{`{"text":"a","mediaType":"text/plain; charset"}`, mediaType},
		{`{"text":"a","mediaType":"text/plain\r\nX-A: 1"}`, mediaType},
		{`{"text":"a","mediaType":"text/plain;\r\n a=b"}`, mediaType},
	}
	for _, tt := range tests {
		want := compose.Refusal{Code: "invalid_file_argument", Field: "doc", Message: "File argument 'doc' " + tt.message}
		if strings.Contains(want.Message, "ref") {
			t.Errorf("%s: the text speaks of ref, and no resolver is bound", tt.value)
		}
		checkRefused(t, inline, call(`{"doc":`+tt.value+`}`), want)
	}
	const withRefSources = "must have exactly one of: text, base64, ref."
	for value, message := range map[string]string{
		`{"ref":""}`:               "must not have an empty ref.",
		`{"ref":1}`:                "must have a string as its ref.",
		`{"ref":"a","text":"b"}`:   withRefSources,
		`{"ref":"a","base64":""}`:  withRefSources,
		`{"mediaType":"a/b"}`:      withRefSources,
		`{"ref":"a","url":"b"}`:    "has an unknown member. Allowed: text, base64, ref, name, mediaType.",
		`{"ref":"a","name":"b/c"}`: filename,
	} {
		checkRefused(t, withRef, call(`{"doc":`+value+`}`),
			compose.Refusal{Code: "invalid_file_argument", Field: "doc", Message: "File argument 'doc' " + message})
	}
	checkRefused(t, inline, call(`{"docs":[{"text":"a"},"b"]}`),
		compose.Refusal{Code: "invalid_file_argument", Field: "docs", Message: "File argument 'docs' must be an object, not a string."})
	checkRefused(t, inline, call(`{"docs":[{"text":"a"},null]}`),
		compose.Refusal{Code: "null_not_allowed", Field: "docs", Message: "Argument 'docs' must not be null. Leave it out instead."})
}

func TestFileNearMisses(t *testing.T) {
	withRef := upload(`,"fileSources":["text","base64","ref"]`)
	for value, file := range map[string]string{
		`{"text":""}`:                             `"filename":"doc","mediaType":"text/plain; charset=utf-8","text":""`,
		`{"base64":""}`:                           `"base64":"","byteLength":0,"filename":"doc","mediaType":"application/octet-stream"`,
		`{"base64":"+/8="}`:                       `"base64":"+/8=","byteLength":2,"filename":"doc","mediaType":"application/octet-stream"`,
		`{"base64":"AA=="}`:                       `"base64":"AA==","byteLength":1,"filename":"doc","mediaType":"application/octet-stream"`,
		`{"text":"a","name":"v1.2.tar.gz"}`:       `"filename":"v1.2.tar.gz","mediaType":"text/plain; charset=utf-8","text":"a"`,
		`{"text":"a","name":".env"}`:              `"filename":".env","mediaType":"text/plain; charset=utf-8","text":"a"`,
		`{"text":"a","name":"my plan's (ü).txt"}`: `"filename":"my plan's (ü).txt","mediaType":"text/plain; charset=utf-8","text":"a"`,
		`{"text":"a","mediaType":"application/vnd.x+json;v=\"1 2\""}`: `"filename":"doc","mediaType":"application/vnd.x+json;v=\"1 2\"","text":"a"`,
		`{"ref":"../r 1\""}`:                       `"ref":"../r 1\""`,
		`{"ref":"r","name":"n","mediaType":"a/b"}`: `"filename":"n","mediaType":"a/b","ref":"r"`,
	} {
		checkComposed(t, withRef, call(`{"doc":`+value+`}`),
			`{"method":"POST","pathAndQuery":"/b","contentType":"multipart/form-data","bodyParts":[{"name":"doc","file":{`+file+`}}]}`)
	}
}

func TestDeclaredMediaType(t *testing.T) {
	for declared, want := range map[string][2]string{ // of text, of base64
		"":                         {"text/plain; charset=utf-8", "application/octet-stream"},
		"image/*":                  {"text/plain; charset=utf-8", "application/octet-stream"},
		"*/*":                      {"text/plain; charset=utf-8", "application/octet-stream"},
		"Application/Octet-Stream": {"text/plain; charset=utf-8", "application/octet-stream"},
		"text/csv; header=present": {"text/csv; header=present", "text/csv; header=present"},
	} {
		template := `{"method":"POST","route":"/b","contentType":"multipart/form-data","body":{"properties":["d"]},
			"form":{"fields":[{"name":"d","type":"file","array":true,"mediaType":"` + declared + `"}]}}`
		checkComposed(t, template, call(`{"d":[{"text":"a"},{"base64":"AA=="},{"text":"a","mediaType":"x/y"}]}`),
			`{"method":"POST","pathAndQuery":"/b","contentType":"multipart/form-data","bodyParts":[`+
				`{"name":"d","file":{"filename":"d","mediaType":"`+want[0]+`","text":"a"}},`+
				`{"name":"d","file":{"base64":"AA==","byteLength":1,"filename":"d","mediaType":"`+want[1]+`"}},`+
				`{"name":"d","file":{"filename":"d","mediaType":"x/y","text":"a"}}]}`)
	}
}

func TestInlineLimit(t *testing.T) {
	tests := []struct {
		arguments string
		limit     int64
		refused   string // the argument
	}{
		{`{"doc":{"base64":"AAAA"}}`, 3, ""},
		{`{"doc":{"base64":"AAAA"}}`, 2, "doc"},
		{`{"doc":{"base64":"AAA="}}`, 2, ""}, // decoded bytes count, not characters
		{`{"doc":{"base64":"AAAA"},"docs":[{"base64":"AAAA"},{"base64":"AA=="}]}`, 7, ""},
		{`{"doc":{"base64":"AAAA"},"docs":[{"base64":"AAAA"},{"base64":"AA=="}]}`, 6, "docs"},
		{`{"doc":{"base64":"AAAA"},"docs":[{"base64":"AAAA"},{"base64":"AA=="}]}`, 2, "doc"},
		{`{"doc":{"text":"much longer"},"docs":[{"base64":""}]}`, 0, ""}, // text does not count
		{`{"doc":{"base64":"AA=="}}`, 0, "doc"},
	}
	for _, tt := range tests {
		c := call(tt.arguments)
		c.MaxInlineFileBytes = tt.limit
		if tt.refused != "" {
			checkRefused(t, upload(``), c, compose.Refusal{Code: "file_too_large", Field: tt.refused,
				Message: fmt.Sprintf("File argument '%s' takes the inline files of this call over the limit of %d bytes in all.",
					tt.refused, tt.limit)})
		} else if _, err := compose.Compose(parseTemplate(t, upload(``)), c); err != nil {
			t.Errorf("Compose(%s) with limit %d: %v", tt.arguments, tt.limit, err)
		}
	}
}

// store is a resolver with one answer.
type store struct {
	file compose.OpenedFile
	err  error
	asks []string
}

func (s *store) OpenFile(_ context.Context, ref string) (*compose.OpenedFile, error) {
	s.asks = append(s.asks, ref)
	if s.err != nil {
		return nil, s.err
	}
	return &s.file, nil
}

// content is a file that reports when it is closed.
type content struct {
	io.Reader
	closed bool
}

func (c *content) Close() error { c.closed = true; return nil }

func composeRef(t *testing.T, file string) *compose.Request {
	t.Helper()
	r, err := compose.Compose(parseTemplate(t, upload(`,"fileSources":["ref","text"]`)), call(`{"doc":`+file+`}`))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestResolve(t *testing.T) {
	tests := []struct {
		argument        string
		name, mediaType string // the resolver's
		want            string
	}{
		{`{"ref":"r"}`, "n.pdf", "application/pdf", `{"filename":"n.pdf","mediaType":"application/pdf","ref":"r"}`},
		{`{"ref":"r"}`, "", "", `{"filename":"doc","mediaType":"application/octet-stream","ref":"r"}`},
		{`{"ref":"r","name":"mine","mediaType":"a/b"}`, "n.pdf", "application/pdf", `{"filename":"mine","mediaType":"a/b","ref":"r"}`},
		{`{"ref":"r"}`, "a\"\r\nb", "x", `{"filename":"doc","mediaType":"application/octet-stream","ref":"r"}`},
	}
	for _, tt := range tests {
		r := composeRef(t, tt.argument)
		if _, _, err := r.Payload(); err == nil {
			t.Errorf("%s: Payload encoded a file that is not there yet", tt.argument)
		}
		body := &content{Reader: strings.NewReader("12345")}
		s := &store{file: compose.OpenedFile{Name: tt.name, MediaType: tt.mediaType, Content: body}}
		for range 2 { // the second time there is nothing left to do
			if err := r.Resolve(t.Context(), s, 5); err != nil {
				t.Fatalf("Resolve(%s) = %v", tt.argument, err)
			}
		}
		got, err := json.Marshal(r.BodyParts[0].File)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != tt.want {
			t.Errorf("Resolve(%s) gave %s, want %s", tt.argument, got, tt.want)
		}
		if _, payload, err := r.Payload(); err != nil || !strings.Contains(string(payload), "\r\n\r\n12345\r\n") {
			t.Errorf("Resolve(%s): payload %q, %v", tt.argument, payload, err)
		}
		if diff := cmp.Diff([]string{"r"}, s.asks); diff != "" || !body.closed {
			t.Errorf("Resolve(%s): asks %s, closed %t", tt.argument, diff, body.closed)
		}
	}
	inline := composeRef(t, `{"text":"a"}`)
	if err := inline.Resolve(t.Context(), nil, 0); err != nil {
		t.Errorf("Resolve of inline content = %v", err)
	}
}

func TestResolveRefusals(t *testing.T) {
	const (
		gone     = "File argument 'doc' names a ref that could not be resolved. Retrying with the same ref will not help."
		later    = "File argument 'doc' could not be resolved right now. Retry the call."
		tooLarge = "File argument 'doc' is over the limit of 4 bytes and was not sent."
	)
	reading := func(r io.Reader) *store {
		return &store{file: compose.OpenedFile{Content: io.NopCloser(r)}}
	}
	failing := func(err error) io.Reader {
		return io.MultiReader(strings.NewReader("123"), iotest.ErrReader(err))
	}
	tests := []struct {
		name      string
		store     *store
		code      string
		message   string
		retryable bool
	}{
		{"not found", &store{err: compose.ErrFileNotFound}, "file_unresolved", gone, false},
		{"forbidden", &store{err: fmt.Errorf("acl: %w", compose.ErrFileForbidden)}, "file_unresolved", gone, false},
		{"anything else", &store{err: errors.New("disk /var/x on fire")}, "file_unresolved", gone, false},
		{"unavailable", &store{err: fmt.Errorf("s3: %w", compose.ErrFileUnavailable)}, "file_unresolved", later, true},
		{"unavailable half way", reading(failing(compose.ErrFileUnavailable)), "file_unresolved", later, true},
		{"broken half way", reading(failing(io.ErrUnexpectedEOF)), "file_unresolved", gone, false},
		{"too large, says the store", &store{err: compose.ErrFileTooLarge}, "file_too_large", tooLarge, false},
		{"too large, by count", reading(strings.NewReader("12345")), "file_too_large", tooLarge, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := composeRef(t, `{"ref":"r"}`).Resolve(t.Context(), tt.store, 4)
			var got *compose.Refusal
			if !errors.As(err, &got) {
				t.Fatalf("Resolve = %v, want a refusal", err)
			}
			want := compose.Refusal{Code: tt.code, Message: tt.message, Field: "doc", Retryable: tt.retryable}
			if diff := cmp.Diff(&want, got); diff != "" {
				t.Errorf("Resolve (-want +got):\n%s", diff)
			}
		})
	}
	for _, limit := range []int64{4, math.MaxInt64} {
		r := composeRef(t, `{"ref":"r"}`)
		if err := r.Resolve(t.Context(), reading(strings.NewReader("1234")), limit); err != nil {
			t.Errorf("Resolve of a file within the limit of %d = %v", limit, err)
		}
		if _, payload, err := r.Payload(); err != nil || !strings.Contains(string(payload), "\r\n\r\n1234\r\n") {
			t.Errorf("limit %d: payload %q, %v", limit, payload, err)
		}
	}
	t.Run("abandoned", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := composeRef(t, `{"ref":"r"}`).Resolve(ctx, &store{err: compose.ErrFileUnavailable}, 4)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Resolve = %v, want context.Canceled", err)
		}
	})
	t.Run("no resolver", func(t *testing.T) {
		err := composeRef(t, `{"ref":"r"}`).Resolve(t.Context(), nil, 4)
		if refusal := (*compose.Refusal)(nil); err == nil || errors.As(err, &refusal) {
			t.Errorf("Resolve = %v, want an error that is no refusal", err)
		}
	})
	t.Run("hidden", func(t *testing.T) {
		template := parseTemplate(t, `{"method":"POST","route":"/b","bodyRoot":"doc","contentType":"image/png",
			"fileSources":["ref"],"rootFill":{"kind":"deferred","source":"logo"}}`)
		c := call(`{}`)
		c.Deferred = map[string]json.RawMessage{"logo": json.RawMessage(`{"ref":"r"}`)}
		r, err := compose.Compose(template, c)
		if err != nil {
			t.Fatal(err)
		}
		var got *compose.Refusal
		err = r.Resolve(t.Context(), &store{err: compose.ErrFileUnavailable}, 4)
		if !errors.As(err, &got) || got.Code != "deferred_value_invalid" || got.Message != deferredInvalid || got.Field != "" {
			t.Errorf("Resolve = %v, want deferred_value_invalid", err)
		}
	})
}
