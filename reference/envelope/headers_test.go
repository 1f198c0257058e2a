package envelope_test

import (
	"net/http"
	"strings"
	"testing"

	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/schemas"
)

func TestRetryAfter(t *testing.T) {
	const sentence = "The backend is rate-limiting this caller (429)."
	seconds := func(n int64) *int64 { return &n }
	for _, test := range []struct {
		value string
		want  *int64
		text  string
	}{
		{"30", seconds(30), " Retry after 30 seconds."},
		{" 30\t", seconds(30), " Retry after 30 seconds."},
		{"0", seconds(0), " Retry after 0 seconds."},
		{"007", seconds(7), " Retry after 7 seconds."},
		{"2147483647", seconds(2147483647), " Retry after 2147483647 seconds."},
		{"2147483648", nil, ""},
		{"99999999999999999999", nil, ""},
		{"Fri, 31 Dec 1999 23:59:59 GMT", nil, ""},
		{"+1", nil, ""},
		{"-1", nil, ""},
		{"1.5", nil, ""},
		{"1e3", nil, ""},
		{"1 2", nil, ""},
		{"soon", nil, ""},
		{"٣", nil, ""},
		{"", nil, ""},
		{" ", nil, ""},
	} {
		resp := envelope.Response{Status: 429, Header: http.Header{"Retry-After": {test.value}}}
		want := &schemas.BackendError{Error: "rate_limited", Message: sentence + test.text, Status: 429, Retryable: true, RetryAfterSeconds: test.want}
		equal(t, schemas.Envelope(want), mapped(t, envelope.NewMapper(), resp, schemas.FieldContext{}))
	}

	forwarded := response(429, "text/plain", "Slow down.")
	forwarded.Header.Set("Retry-After", "9")
	equal(t, schemas.Envelope(&schemas.BackendError{Error: "rate_limited", Message: "Slow down.", Status: 429, Retryable: true, RetryAfterSeconds: seconds(9)}),
		mapped(t, envelope.NewMapper(), forwarded, schemas.FieldContext{}))
	for _, status := range []int{400, 408, 503} {
		resp := envelope.Response{Status: status, Header: http.Header{"Retry-After": {"9"}}}
		if e := mapped(t, envelope.NewMapper(), resp, schemas.FieldContext{}).(*schemas.BackendError); e.RetryAfterSeconds != nil {
			t.Errorf("%d has retryAfterSeconds %d", status, *e.RetryAfterSeconds)
		}
	}
}

func TestTraceIDIsStrictByItself(t *testing.T) {
	accepts := envelope.NewMapper().TraceID
	for value, want := range map[string]bool{"": false, "a": true, "a\n": false, "\na": false, "a\x00": false} {
		if got := accepts(value); got != want {
			t.Errorf("TraceID(%q) = %v", value, got)
		}
	}
}

func TestReference(t *testing.T) {
	const body = `{"traceId":"trace-1","message":"no"}`
	hundred := strings.Repeat("x", 100)
	for _, test := range []struct {
		name, body string
		header     http.Header
		want       string
	}{
		{"nothing", "", nil, ""},
		{"correlation first", body, http.Header{"X-Trace-Id": {"4"}, "Request-Id": {"3"}, "X-Request-Id": {"2"}, "X-Correlation-Id": {"1"}}, "1"},
		{"x-request-id", body, http.Header{"X-Trace-Id": {"4"}, "Request-Id": {"3"}, "X-Request-Id": {"2"}}, "2"},
		{"request-id", body, http.Header{"X-Trace-Id": {"4"}, "Request-Id": {"3"}}, "3"},
		{"x-trace-id", body, http.Header{"X-Trace-Id": {"4"}}, "4"},
		{"blank is none", body, http.Header{"X-Correlation-Id": {" "}, "X-Request-Id": {"", " 2 "}}, "2"},
		{"other headers", "", http.Header{"Traceparent": {"1"}, "Server": {"2"}, "X-Amzn-Trace-Id": {"3"}}, ""},
		{"any characters", "", http.Header{"X-Request-Id": {`a b/{reference}é"`}}, `a b/{reference}é"`},
		{"invalid UTF-8", "", http.Header{"X-Request-Id": {"a\xff"}}, "a\uFFFD"},
		{"a leak", body, http.Header{"X-Correlation-Id": {leaky}, "X-Request-Id": {"2"}}, ""},
		{"a control character", body, http.Header{"X-Correlation-Id": {"a\tb"}, "X-Request-Id": {"2"}}, ""},
		{"a control character of C1", body, http.Header{"X-Correlation-Id": {"a\u0085b"}}, ""},
		{"too long", body, http.Header{"X-Correlation-Id": {strings.Repeat("x", 1001)}}, ""},
		{"traceId", body, nil, "trace-1"},
		{"traceId, all characters", `{"traceId":"AZaz09:_.-"}`, nil, "AZaz09:_.-"},
		{"traceId of 100", `{"traceId":"` + hundred + `"}`, nil, hundred},
		{"traceId of 101", `{"traceId":"` + hundred + `x"}`, nil, ""},
		{"empty traceId", `{"traceId":""}`, nil, ""},
		{"traceId with a line end", `{"traceId":"trace-1\n"}`, nil, ""},
		{"traceId with a blank", `{"traceId":" trace-1"}`, nil, ""},
		{"traceId with a slash", `{"traceId":"a/b"}`, nil, ""},
		{"traceId with a letter beyond ASCII", `{"traceId":"é"}`, nil, ""},
		{"traceId that is a number", `{"traceId":1}`, nil, ""},
		{"traceId that leaks", `{"traceId":"a.IOException"}`, nil, ""},
		{"traceId in another case", `{"traceID":"1"}`, nil, ""},
		{"traceId not at the top", `{"error":{"traceId":"1"}}`, nil, ""},
		{"traceId in a list", `[{"traceId":"1"}]`, nil, ""},
		{"traceId in a page", body, http.Header{"Content-Type": {"text/html"}}, ""},
		{"traceId in text", body, http.Header{"Content-Type": {"text/plain"}}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			want := &schemas.BackendError{Error: "backend_error", Message: failed, Status: 500, Reference: test.want}
			if test.want != "" {
				want.Message += " Reference: " + test.want + "."
			}
			resp := envelope.Response{Status: 500, Header: test.header, Body: []byte(test.body)}
			equal(t, schemas.Envelope(want), mapped(t, envelope.NewMapper(), resp, schemas.FieldContext{}))
		})
	}
	for status := 400; status < 600; status++ {
		resp := envelope.Response{Status: status, Header: http.Header{"X-Request-Id": {"2"}}, Body: []byte(body)}
		e := mapped(t, envelope.NewMapper(), resp, schemas.FieldContext{}).(*schemas.BackendError)
		if got := e.Reference == "2"; got != (status >= 500) {
			t.Errorf("%d has the reference %q", status, e.Reference)
		}
		if status >= 502 && status <= 504 && strings.Contains(e.Message, "Reference") {
			t.Errorf("%d: the message is %q", status, e.Message)
		}
	}
}
