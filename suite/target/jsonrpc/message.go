package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/target"
)

// Message is a JSON-RPC 2.0 response, and the bytes it came as.
type Message struct {
	Raw []byte
	// Response has an ID, never nil, when [Decode] found no fault.
	Response schemas.Response
}

// Decode reads a response. Its error is a [*target.ProtocolError] with the
// fault Garbage, AnsweredTwice or BadMessage; the ID is then set where it could
// be read, so that the fault reaches the call it belongs to.
func Decode(raw []byte) (Message, error) {
	m := Message{Raw: raw}
	if !utf8.Valid(raw) {
		return m, m.fault(target.Garbage, "it is not UTF-8 (RFC 8259, section 8.1)")
	}
	if !json.Valid(raw) {
		return m, m.invalid()
	}
	// A map tells "id" from "ID", which a struct does not.
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return m, m.fault(target.BadMessage, "a response is an object, and batches are not part of the protocol")
	}
	var id *int64
	if err := json.Unmarshal(members["id"], &id); err == nil { // else it is reported below
		m.Response.ID = id
	}
	if method, ok := members["method"]; ok {
		return m, m.fault(target.BadMessage, "it is a request or a notification (method %s), and a target only answers", method)
	}
	if err := m.exactlyOne("a response", members, "result", "error"); err != nil {
		return m, err
	}
	if err := m.check(schemas.ResponseSchema, raw, ""); err != nil {
		return m, err
	}
	m.Response.JSONRPC = "2.0"
	m.Response.Result = members["result"]
	if object, ok := members["error"]; ok {
		if err := json.Unmarshal(object, &m.Response.Error); err != nil {
			return m, m.fault(target.BadMessage, "/error: %v", err)
		}
	}
	if m.Response.ID == nil {
		if e := m.Response.Error; e != nil {
			return m, m.fault(target.BadMessage, "its id is %s and not the request's; the error it reports is %d: %s", members["id"], e.Code, e.Message)
		}
		return m, m.fault(target.BadMessage, "its id is %s and not the request's", members["id"])
	}
	return m, nil
}

// invalid says why the message is not one JSON value.
func (m Message) invalid() error {
	var v any
	reason := json.Unmarshal(m.Raw, &v)
	if len(bytes.TrimSpace(m.Raw)) == 0 {
		return m.fault(target.Garbage, "the message is empty")
	}
	var ids []int64
	dec := json.NewDecoder(bytes.NewReader(m.Raw))
	for {
		var value struct{ ID int64 }
		err := dec.Decode(&value)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return m.fault(target.Garbage, "%v", reason)
		}
		ids = append(ids, value.ID)
	}
	if ids[0] == ids[1] { // one value would have been valid
		return m.fault(target.AnsweredTwice, "id %d, in one message", ids[0])
	}
	return m.fault(target.Garbage, "%d JSON values where one message belongs", len(ids))
}

// alternatives are the members of a result of which it has exactly one.
var alternatives = map[schemas.Ref][2]string{
	schemas.AnswerSchema:        {"text", "envelope"},
	schemas.ComposeResultSchema: {"request", "refusal"},
}

// result checks the result against its schema and reads it.
func (m Message) result(ref schemas.Ref, into any) error {
	if either, ok := alternatives[ref]; ok {
		var members map[string]json.RawMessage
		if json.Unmarshal(m.Response.Result, &members) == nil && members != nil {
			if err := m.exactlyOne("/result", members, either[0], either[1]); err != nil {
				return err
			}
		}
	}
	if err := m.check(ref, m.Response.Result, "/result"); err != nil {
		return err
	}
	if err := json.Unmarshal(m.Response.Result, into); err != nil {
		return m.fault(target.BadMessage, "/result: %v", err)
	}
	return nil
}

// exactlyOne replaces the schema's "must validate one and only one schema".
func (m Message) exactlyOne(what string, members map[string]json.RawMessage, a, b string) error {
	_, hasA := members[a]
	_, hasB := members[b]
	if hasA != hasB {
		return nil
	}
	has := "neither"
	if hasA {
		has = "both"
	}
	return m.fault(target.BadMessage, "%s has either %q or %q, this one has %s", what, a, b, has)
}

// check checks a part of the message, which stands at the JSON Pointer at.
func (m Message) check(ref schemas.Ref, part []byte, at string) error {
	violations, err := schemas.Validate(ref, part)
	if err != nil {
		return m.fault(target.BadMessage, "%v", err)
	}
	if len(violations) == 0 {
		return nil
	}
	const shown = 5
	lines := make([]string, 0, shown+1)
	for i, v := range violations {
		if i == shown {
			lines = append(lines, fmt.Sprintf("and %d more", len(violations)-shown))
			break
		}
		v.Pointer = at + v.Pointer
		lines = append(lines, v.String())
	}
	return m.fault(target.BadMessage, "%s", strings.Join(lines, "; "))
}

func (m Message) fault(kind target.Fault, format string, args ...any) error {
	return &target.ProtocolError{
		Fault:    kind,
		Detail:   target.Excerpt(fmt.Appendf(nil, format, args...)), // it quotes the message
		Received: target.Excerpt(m.Raw),
	}
}
