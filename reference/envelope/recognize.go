package envelope

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"example.com/touchstone/reference/leak"
	"example.com/touchstone/schemas"
)

// Recognition is what a recogniser read from an error: a message, field errors
// or both, as the backend wrote them. Without a message the standard one is used.
type Recognition struct {
	Message string
	Fields  []schemas.FieldError
	// Carrier says where Message and the messages of Fields come from.
	Carrier Carrier
	// GuessNames asks for the names of unnamed fields (FIELD-05).
	GuessNames bool
}

// Recognizer is a host's own reader of error responses. It reports false for
// those it leaves to the others. What it gives is filtered like any text of a
// backend.
type Recognizer interface {
	Recognize(resp Response) (Recognition, bool)
}

// BodyRecognizer reads one shape of error bodies, and reports false for others.
type BodyRecognizer struct {
	Name      string
	Recognize func(*Mapper, *Document) (Recognition, bool)
}

// fieldDictionary is FORWARD-01: `{"errors": {"name": "message" or ["message", …]}}`.
func (m *Mapper) fieldDictionary(doc *Document) (Recognition, bool) {
	errors := doc.member("errors")
	if !errors.IsObject() {
		return Recognition{}, false
	}
	fields := make([]schemas.FieldError, 0, 4)
	errors.ForEach(func(name, messages gjson.Result) bool {
		// ForEach gives a string as if it were a list of one.
		if !messages.IsObject() {
			messages.ForEach(func(_, message gjson.Result) bool {
				if text, ok := sentence(message); ok {
					fields = append(fields, schemas.FieldError{Name: name.Str, Message: text})
				}
				return true
			})
		}
		return true
	})
	return Recognition{Fields: fields, Carrier: FromFieldMessage}, len(fields) > 0
}

// problemDetails is FORWARD-02: RFC 9457, declared or by its members.
func (m *Mapper) problemDetails(doc *Document) (Recognition, bool) {
	if doc.MediaType != "application/problem+json" && doc.member("status").Type != gjson.Number {
		return Recognition{}, false
	}
	if detail, ok := sentence(doc.member("detail")); ok {
		return Recognition{Message: detail, Carrier: FromProblemDetail}, true
	}
	title, ok := sentence(doc.member("title"))
	return Recognition{Message: title, Carrier: FromProblemTitle}, ok
}

// nest is FORWARD-03: the exceptions of NestJS.
func (m *Mapper) nest(doc *Document) (Recognition, bool) {
	if doc.member("statusCode").Type != gjson.Number {
		return Recognition{}, false
	}
	message := doc.member("message")
	if text, ok := sentence(message); ok {
		return Recognition{Message: text, Carrier: FromNestMessage}, true
	}
	if !message.IsArray() {
		return Recognition{}, false
	}
	var texts []string
	allStrings := true
	message.ForEach(func(_, entry gjson.Result) bool {
		if text, ok := sentence(entry); ok {
			texts = append(texts, text)
		}
		allStrings = entry.Type == gjson.String
		return allStrings
	})
	if len(texts) == 0 || !allStrings {
		return Recognition{}, false
	}
	if slices.Contains(m.Validating, doc.Status) {
		fields := make([]schemas.FieldError, len(texts))
		for i, text := range texts {
			fields[i].Message = text
		}
		return Recognition{Fields: fields, Carrier: FromNestEntry, GuessNames: true}, true
	}
	for i := range texts {
		texts[i] = leak.Normalize(texts[i]) // so that no blank stands before a semicolon
	}
	return Recognition{Message: strings.Join(texts, "; "), Carrier: FromNestJoined}, true
}

// messageEnvelope is FORWARD-04: a member with a usual name, or one JSON string.
func (m *Mapper) messageEnvelope(doc *Document) (Recognition, bool) {
	if text, ok := sentence(doc.Value); ok {
		return Recognition{Message: text, Carrier: FromJSONString}, true
	}
	if !doc.Value.IsObject() {
		return Recognition{}, false
	}
	message, rank := "", len(m.MessageKeys)
	doc.Value.ForEach(func(name, value gjson.Result) bool {
		for i, key := range m.MessageKeys[:rank] {
			if !strings.EqualFold(name.Str, key) {
				continue
			}
			if text, ok := sentence(value); ok {
				message, rank = text, i
			}
			break
		}
		return rank > 0
	})
	return Recognition{Message: message, Carrier: FromMessageKey}, message != ""
}

// plainText is FORWARD-05.
func (m *Mapper) plainText(doc *Document) (Recognition, bool) {
	return Recognition{Message: doc.Text, Carrier: FromPlainText}, doc.Kind == Text
}

// sentence gives the text of a JSON string that is not blank.
func sentence(v gjson.Result) (string, bool) {
	if v.Type != gjson.String || leak.Blank(v.Str) {
		return "", false
	}
	return v.Str, true
}
