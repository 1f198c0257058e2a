package invoke

import (
	"errors"

	"example.com/touchstone/reference/compose"
	"example.com/touchstone/schemas"
)

// Refusal is the error of a step that refuses a call.
type Refusal struct{ Facts schemas.RefuseParams }

func (r *Refusal) Error() string { return string(r.Facts.Error) + ": " + r.Facts.Message }

func refuse(code schemas.SDKCode, message string) *Refusal {
	return &Refusal{schemas.RefuseParams{Error: code, Message: message}}
}

func unknownTool(name string) *Refusal {
	return &Refusal{schemas.RefuseParams{Error: schemas.UnknownTool, Tool: name}}
}

// Facts gives the facts of a refusal. Any other error is a failure of the
// layer; the mapper filters its text.
func Facts(err error) schemas.RefuseParams {
	var refused *Refusal
	if errors.As(err, &refused) {
		return refused.Facts
	}
	var composed *compose.Refusal
	if errors.As(err, &composed) {
		facts := schemas.RefuseParams{Error: schemas.SDKCode(composed.Code), Message: composed.Message, Field: composed.Field}
		if composed.Retryable {
			facts.Reason = "unavailable"
		}
		return facts
	}
	return schemas.RefuseParams{Error: schemas.InternalError, Message: err.Error()}
}
