package envelope_test

import (
	"fmt"
	"strings"
	"testing"

	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/schemas"
)

func TestEveryErrorStatus(t *testing.T) {
	m := envelope.NewMapper()
	for status := 400; status <= 599; status++ {
		want := &schemas.BackendError{Status: status}
		switch status {
		case 401:
			want.Error, want.Message = "unauthenticated", unauthorised
		case 403:
			want.Error, want.Message = "forbidden", forbidden
		case 404, 410:
			want.Error, want.Message = "not_found", notFound
		case 409, 412, 428:
			want.Error, want.Message = "conflict", strings.Replace(conflict, "409", fmt.Sprint(status), 1)
		case 429:
			want.Error, want.Message, want.Retryable = "rate_limited", "The backend is rate-limiting this caller (429).", true
		case 408, 502, 503, 504:
			want.Error, want.Retryable = "backend_unavailable", true
			want.Message = fmt.Sprintf("The backend is temporarily unavailable (%d). Retry later.", status)
		default:
			want.Error, want.Message = "bad_request", strings.Replace(badRequest, "400", fmt.Sprint(status), 1)
			if status >= 500 {
				want.Error, want.Message = "backend_error", strings.Replace(failed, "500", fmt.Sprint(status), 1)
			}
		}
		for _, body := range []string{"", " \r\n"} {
			equal(t, schemas.Envelope(want), mapped(t, m, response(status, "", body), schemas.FieldContext{}))
		}
	}
}

func TestFieldErrorsChangeTheCodeOf400And422Only(t *testing.T) {
	m := envelope.NewMapper()
	for status, code := range map[int]schemas.BackendCode{
		400: "validation_failed", 422: "validation_failed",
		403: "forbidden", 404: "not_found", 409: "conflict", 418: "bad_request", 429: "rate_limited", 408: "backend_unavailable",
	} {
		e := mapped(t, m, response(status, "application/json", `{"errors":{"item":"Say what."}}`), schemas.FieldContext{}).(*schemas.BackendError)
		equal(t, []schemas.FieldError{{Name: "item", Message: "Say what."}}, e.Fields)
		equal(t, code, e.Error)
		plain := mapped(t, m, response(status, "", ""), schemas.FieldContext{}).(*schemas.BackendError)
		if want := plain.Message; status != 400 && status != 422 && e.Message != want {
			t.Errorf("%d: the message is %q, want %q", status, e.Message, want)
		}
	}
	equal(t, validation, message(t, m, response(422, "", `{"errors":{"item":"Say what."}}`)))
}

func TestMappersAreIndependent(t *testing.T) {
	m := envelope.NewMapper()
	clear(m.Codes)
	clear(m.Messages)
	clear(m.Retryable)
	clear(m.Validating)
	clear(m.MessageKeys)
	clear(m.Recognizers)
	clear(m.ReferenceHeaders)
	clear(m.HTML.Starts)
	clear(m.Refusals.Shapes)
	equal(t, "Say what.", message(t, envelope.NewMapper(), response(404, "application/json", `{"reason":"Say what."}`)))
	TestEveryErrorStatus(t)
}
