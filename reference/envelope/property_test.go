package envelope_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/schemas"
)

// bodies draws bodies of every kind: shapes the recognisers know, with values
// of any type in them, and bytes.
func bodies() *rapid.Generator[[]byte] {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", " ", leaky, "item is bad", "at x(", "\ufeff", "<html>", "trace-1"}))
	scalar := rapid.OneOf(
		rapid.Map(text, func(s string) any { return s }),
		rapid.Map(rapid.Int(), func(n int) any { return n }),
		rapid.SampledFrom([]any{nil, true, 1.5, []any{}, map[string]any{}}),
	)
	list := rapid.Map(rapid.SliceOfN(scalar, 0, 4), func(l []any) any { return l })
	names := rapid.SampledFrom([]string{"item", "$.Item", "tenantId", "q", "", "/etc/x", "é"})
	dictionary := rapid.Map(rapid.MapOfN(names, rapid.OneOf(scalar, list), 0, 4), func(m map[string]any) any { return m })
	keys := rapid.SampledFrom([]string{"errors", "title", "detail", "status", "statusCode", "message", "error", "reason", "traceId", "MESSAGE"})
	object := rapid.Map(rapid.MapOfN(keys, rapid.OneOf(scalar, list, dictionary), 0, 6), func(m map[string]any) any { return m })
	document := rapid.Map(rapid.OneOf(object, object, list, scalar), func(v any) []byte {
		data, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return data
	})
	raw := rapid.Map(text, func(s string) []byte { return []byte(s) })
	return rapid.OneOf(document, document, raw, rapid.SliceOf(rapid.Byte()))
}

func TestEveryResponseGivesAValidEnvelope(t *testing.T) {
	m := envelope.NewMapper()
	fields := envelope.NewFieldContext(published)
	values := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.SampledFrom([]string{"", " ", "7", leaky, "text/html", jsonType, problemType, "text/plain", "https://a:b@c"}))
	names := rapid.SampledFrom([]string{"Content-Type", "Content-Type", "Retry-After", "Location", "X-Request-Id", "X-Trace-Id", "Server"})
	rapid.Check(t, func(t *rapid.T) {
		resp := envelope.Response{
			Status: rapid.IntRange(100, 599).Draw(t, "status"),
			Header: http.Header(rapid.MapOfN(names, rapid.SliceOfN(values, 0, 2), 0, 4).Draw(t, "header")),
			Body:   bodies().Draw(t, "body"),
		}
		if rapid.Bool().Draw(t, "host") {
			m := *m
			m.Hosts = []envelope.Recognizer{host{Message: values.Draw(t, "message"), Fields: []schemas.FieldError{{Name: values.Draw(t, "name"), Message: values.Draw(t, "text")}}}}
			judge(t, &m, resp, fields)
		}
		judge(t, m, resp, fields)
	})
}

// judge checks what holds of every envelope.
func judge(t interface {
	Helper()
	Errorf(string, ...any)
}, m *envelope.Mapper, resp envelope.Response, fields envelope.FieldContext) {
	t.Helper()
	e := m.Map(resp, fields)
	valid(t, e)
	data, err := envelope.Encode(e)
	if err != nil || !utf8.Valid(data) || strings.Contains(string(data), "\n") {
		t.Errorf("encoded as %q, %v", data, err)
	}
	switch e := e.(type) {
	case *schemas.Success:
		if resp.Status >= 400 {
			t.Errorf("%d is a success", resp.Status)
		}
	case *schemas.BackendError:
		if resp.Status < 400 {
			t.Errorf("%d is an error", resp.Status)
		}
		texts := []string{e.Message, e.Reference}
		for _, field := range e.Fields {
			texts = append(texts, field.Name, field.Message)
		}
		for _, text := range texts {
			if strings.Contains(text, leaky) || strings.Contains(text, "/etc/x") || strings.TrimSpace(text) != text {
				t.Errorf("%q is in the envelope of %+v", text, resp)
			}
		}
	}
}

func TestEveryRefusalOfAnyFactsIsValid(t *testing.T) {
	codes := rapid.SampledFrom([]schemas.SDKCode{"response_too_large", "invoke_timeout", "tool_changed", "file_unresolved", "file_too_large", "unknown_tool", "internal_error", "invalid_type"})
	number := rapid.Ptr(rapid.Int64Min(0), true)
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", " ", "\xff", "{bytes}", "unavailable", leaky}))
	rapid.Check(t, func(t *rapid.T) {
		valid(t, envelope.NewMapper().Refuse(schemas.RefuseParams{
			Error: codes.Draw(t, "error"), Message: text.Draw(t, "message"), Tool: text.Draw(t, "tool"),
			Field: text.Draw(t, "field"), Reason: text.Draw(t, "reason"), LimitMs: number.Draw(t, "limitMs"),
			Bytes: number.Draw(t, "bytes"), Limit: number.Draw(t, "limit"), Payload: bodies().Draw(t, "payload"),
			Narrowing: []schemas.FieldError{{Name: text.Draw(t, "name"), Message: text.Draw(t, "description")}},
		}))
	})
}

func FuzzMap(f *testing.F) {
	f.Add(404, problemType, `{"status":404,"title":"a","detail":"b"}`, "")
	f.Add(400, jsonType, `{"errors":{"$.item":["b","/etc/x"]}}`, "")
	f.Add(422, jsonType, `{"statusCode":422,"message":["item is bad"]}`, "")
	f.Add(500, "", `{"traceId":"a"}`, "7")
	f.Add(302, "text/plain", "\xff", "https://a:b@c")
	m := envelope.NewMapper()
	fields := envelope.NewFieldContext(published)
	f.Fuzz(func(t *testing.T, status int, contentType, body, header string) {
		if status < 100 || status > 599 {
			t.Skip("no HTTP status")
		}
		judge(t, m, envelope.Response{Status: status, Body: []byte(body), Header: http.Header{
			"Content-Type": {contentType}, "Retry-After": {header}, "Location": {header}, "X-Request-Id": {header},
		}}, fields)
	})
}
