package invoke

import (
	"bytes"
	"encoding/json"
	"strings"

	"example.com/touchstone/reference/compose"
	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/schemas"
)

// Draft is an answer before its size is known: an envelope or a document.
type Draft struct {
	Envelope schemas.Envelope
	Document json.RawMessage
	// Response is what the envelope was mapped from, if anything.
	Response *Response
	// Narrowing are the arguments of the call, from which a refusal for size
	// picks those that narrow.
	Narrowing []compose.Argument
}

// cut reports that the backend's body has more than was read.
func (d Draft) cut() bool { return d.Response != nil && d.Response.Cut }

func (d Draft) encode() ([]byte, error) {
	if d.Envelope == nil {
		return d.Document, nil
	}
	return envelope.Encode(d.Envelope)
}

// answer is the one place where an answer is made. It is written, then measured,
// so that what is measured is what an agent would get (GUARD-01).
func (l *Layer) answer(d Draft) Answer {
	text, err := d.encode()
	if err != nil {
		return l.internal(err.Error())
	}
	size := l.Policy.Measure(text)
	over := size > l.Limits.MaxResponseBytes
	if _, success := d.Envelope.(*schemas.Success); success && d.cut() {
		size, over = max(size, int64(len(d.Response.Body))), true
	}
	if over && l.Policy.Gated(d) {
		d = l.Policy.Refuse(l, d, size)
		if text, err = d.encode(); err != nil {
			return l.internal(err.Error())
		}
	}
	return Answer{Text: text, Envelope: d.Envelope}
}

// internal is the answer of a layer that failed (SDK-19). It is within any
// sensible budget, and so never gated.
func (l *Layer) internal(text string) Answer {
	e := l.Mapper.Refuse(schemas.RefuseParams{Error: schemas.InternalError, Message: text})
	written, _ := envelope.Encode(e) // texts and booleans always have an encoding
	return Answer{Text: written, Envelope: e}
}

// RefuseOversize is the answer in the place of one over the budget (GUARD-01 to
// GUARD-05): its measures, and the arguments that narrow the call.
func RefuseOversize(l *Layer, d Draft, size int64) Draft {
	var fields []schemas.FieldError
	for _, a := range l.Policy.Narrowing.Choose(d.Narrowing) {
		fields = append(fields, schemas.FieldError{Name: a.Name, Message: a.Description})
	}
	return Draft{Envelope: l.Mapper.Refuse(schemas.RefuseParams{
		Error:     schemas.ResponseTooLarge,
		Bytes:     &size,
		Limit:     &l.Limits.MaxResponseBytes,
		Payload:   d.body(),
		Narrowing: fields,
	})}
}

// body is the value whose shape a refusal tells: the backend's body, or else the
// whole answer. It is nil for a body that was not read to its end.
func (d Draft) body() json.RawMessage {
	switch e := d.Envelope.(type) {
	case *schemas.Success:
		if d.cut() {
			return nil
		}
		return e.Body
	case *schemas.BackendError:
		if body := bytes.TrimSpace(d.Response.Body); json.Valid(body) {
			return body
		}
		text, _ := json.Marshal(strings.ToValidUTF8(string(d.Response.Body), "\uFFFD")) // a string always has an encoding
		return text
	}
	written, err := d.encode()
	if err != nil {
		return nil
	}
	return written
}
