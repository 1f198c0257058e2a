package envelope

import (
	"strconv"
	"strings"

	"example.com/touchstone/schemas"
)

// StandardMessage is the message of a code. {status}, {retryAfterSeconds} and
// {reference} stand for values of the envelope. With is appended where the
// envelope has the value it names (MESSAGE-02).
type StandardMessage struct {
	Text string
	With string
}

func standardMessages() map[schemas.BackendCode]StandardMessage {
	return map[schemas.BackendCode]StandardMessage{
		schemas.ValidationFailed: {
			Text: "The backend rejected one or more arguments. Fix the listed fields and call the operation again.",
		},
		schemas.BadRequest: {
			Text: "The backend rejected the request ({status}) without usable details. " +
				"Check the arguments against the input schema.",
		},
		schemas.Unauthenticated: {
			Text: "The backend did not accept the caller's identity (401). The MCP session's credentials were " +
				"forwarded unchanged; retrying with the same session will not help.",
		},
		schemas.Forbidden: {
			Text: "The caller is authenticated but not permitted to perform this operation (403).",
		},
		schemas.NotFound: {
			Text: "No resource matched these arguments (404). The operation exists; check identifier arguments.",
		},
		schemas.Conflict: {
			Text: "The request conflicts with the current state of the resource ({status}). " +
				"Re-read the resource before retrying.",
		},
		schemas.RateLimited: {
			Text: "The backend is rate-limiting this caller (429).",
			With: " Retry after {retryAfterSeconds} seconds.",
		},
		schemas.BackendFailed: {
			Text: "The backend failed while handling the call ({status}). Details were withheld.",
			With: " Reference: {reference}.",
		},
		schemas.BackendUnavailable: {
			Text: "The backend is temporarily unavailable ({status}). Retry later.",
		},
	}
}

func (s StandardMessage) render(e *schemas.BackendError) string {
	var buffer [256]byte
	b, _ := appendFilled(buffer[:0], s.Text, e)
	if with, ok := appendFilled(b, s.With, e); ok {
		b = with
	}
	return string(b)
}

// appendFilled appends a text with the values of e in it, and reports whether e
// has them all. A value is written as it is: braces in it stay.
func appendFilled(b []byte, text string, e *schemas.BackendError) (filled []byte, complete bool) {
	for {
		before, rest, found := strings.Cut(text, "{")
		b = append(b, before...)
		if !found {
			return b, true
		}
		name, after, _ := strings.Cut(rest, "}")
		switch {
		case name == "status":
			b = strconv.AppendInt(b, int64(e.Status), 10)
		case name == "retryAfterSeconds" && e.RetryAfterSeconds != nil:
			b = strconv.AppendInt(b, *e.RetryAfterSeconds, 10)
		case name == "reference" && e.Reference != "":
			b = append(b, e.Reference...)
		default:
			return b, false
		}
		text = after
	}
}
