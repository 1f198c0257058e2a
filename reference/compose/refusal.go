package compose

import (
	"errors"
	"fmt"
	"strings"
)

// The codes with which Compose and Request.Resolve refuse a call.
const (
	CodeUnknownArgument        = "unknown_argument"
	CodeInvalidPathType        = "invalid_path_type"
	CodeMissingPathParameter   = "missing_path_parameter"
	CodeHeaderInjection        = "header_injection"
	CodeNullNotAllowed         = "null_not_allowed"
	CodeInvalidType            = "invalid_type"
	CodeDeferredValueMissing   = "deferred_value_missing"
	CodeDeferredValueInvalid   = "deferred_value_invalid"
	CodeInvalidCookieValue     = "invalid_cookie_value"
	CodeCookieCarrierCollision = "cookie_carrier_collision"
	CodeInvalidFileArgument    = "invalid_file_argument"
	CodeFileTooLarge           = "file_too_large"
	CodeFileUnresolved         = "file_unresolved"
	// CodeInternalError means that the template is at fault, not the call.
	CodeInternalError = "internal_error"
)

// Refusal is why a request was not made. Its text is for the agent: it never
// holds the name or the value of anything that is hidden from it.
type Refusal struct {
	Code    string
	Message string
	// Field is the argument at fault as the agent spells it, with a dot before
	// the member of an object. It is empty when there is no single one, and
	// when the one at fault is hidden.
	Field string
	// Retryable reports that the identical call may succeed later: true only
	// for a file whose store is unavailable (SDK-14).
	Retryable bool
}

func (r *Refusal) Error() string { return r.Code + ": " + r.Message }

// refuse makes the refusal of one argument. The format's first verb takes its name.
func refuse(code, field, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Field: field, Message: fmt.Sprintf(format, append([]any{field}, args...)...)}
}

func unknownArguments(names, allowed []string) *Refusal {
	list := "none"
	if len(allowed) > 0 {
		list = strings.Join(allowed, ", ")
	}
	r := &Refusal{
		Code:    CodeUnknownArgument,
		Message: fmt.Sprintf("Unknown argument(s): %s. Allowed: %s.", strings.Join(names, ", "), list),
	}
	if len(names) == 1 {
		r.Field = names[0]
	}
	return r
}

func nullNotAllowed(field string) *Refusal {
	return refuse(CodeNullNotAllowed, field, "Argument '%s' must not be null. Leave it out instead.")
}

// misconfigured is the answer to a template that Validate rejects: the agent
// can do nothing about it and learns nothing of it.
func misconfigured() *Refusal {
	return &Refusal{
		Code:    CodeInternalError,
		Message: "The operation is set up incorrectly and was not called. Details were withheld.",
	}
}

// conceal replaces the refusal of a filled value: what is wrong with it names
// things the agent must not see and could not repair (SDK-11).
func conceal(fill *Fill, err error) error {
	switch {
	case err == nil || fill == nil:
		return err
	case fill.Kind == FillDeferred:
		return &Refusal{
			Code:    CodeDeferredValueInvalid,
			Message: "A value that the host supplies for this operation cannot be used. Retrying will not help.",
		}
	case isRefusal(err, CodeCookieCarrierCollision):
		// The constant is sound: this caller's identity is what it collides with.
		return &Refusal{
			Code:    CodeCookieCarrierCollision,
			Message: "This operation sends a cookie that the caller's identity already uses. No argument changes that.",
		}
	default:
		return misconfigured()
	}
}

func isRefusal(err error, code string) bool {
	var r *Refusal
	return errors.As(err, &r) && r.Code == code
}

// missing is the refusal of a path parameter without a value.
func (s slot) missing() *Refusal {
	switch {
	case s.fill == nil:
		return refuse(CodeMissingPathParameter, s.agentName(), "Argument '%s' is required and must not be empty.")
	case s.fill.Kind == FillDeferred:
		return &Refusal{
			Code:    CodeDeferredValueMissing,
			Message: "A value that the host supplies for this operation is not available. Retrying will not help.",
		}
	default:
		return misconfigured()
	}
}
