package envelope_test

import (
	"testing"

	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/schemas"
)

var published = schemas.FieldContext{
	Known:   []string{"item", "Quantity", "keyword", "note"},
	Aliases: map[string]string{"q": "keyword", "NoteText": "note", "Item": "elsewhere"},
	Hidden:  []string{"tenantId"},
}

func TestFieldNames(t *testing.T) {
	for _, test := range []struct{ reported, want string }{
		{"item", "item"},
		{"ITEM", "item"},
		{"Item", "item"}, // published names come before aliases
		{"quantity", "Quantity"},
		{"$.quantity", "Quantity"},
		{"$.Item", "item"},
		{"$.unknown", "unknown"},
		{"$.$.item", "$.item"},
		{"x$.item", "x$.item"},
		{"$", "$"},
		{"$item", "$item"},
		{"order.item", "order.item"},
		{"items[0].Item", "items[0].Item"},
		{"Unknown", "Unknown"},
		{"q", "keyword"},
		{"Q", "keyword"},
		{"$.q", "keyword"},
		{"notetext", "note"},
		{"tenantId", ""},
		{"TENANTID", ""},
		{"$.tenantid", ""},
		{"tenantIds", "tenantIds"},
		{"", ""},
		{" ", ""},
		{"$.", ""},
		{"a\n b", "a b"},
		{"/etc/passwd", ""},
		{"TypeError", ""},
		{"größe", "größe"},
	} {
		body := `{"errors":{` + quote(test.reported) + `:["bad"]}}`
		e := mapped(t, envelope.NewMapper(), response(400, jsonType, body), published).(*schemas.BackendError)
		want := []schemas.FieldError{{Name: test.want, Message: "bad"}}
		if test.want != e.Fields[0].Name {
			t.Errorf("%q:", test.reported)
		}
		equal(t, want, e.Fields)
	}
}

func TestGuessedNames(t *testing.T) {
	for _, test := range []struct {
		message string
		context schemas.FieldContext
		want    string
	}{
		{"item should not be empty", published, "item"},
		{"ITEM should not be empty", published, "item"},
		{" quantity: too small", published, "Quantity"},
		{"item", published, "item"},
		{"item.name is missing", published, "item"},
		{"items are missing", published, ""},
		{"the item is missing", published, ""},
		{"'item' is missing", published, ""},
		{"$.item is missing", published, ""},
		{"q must be a string", published, "keyword"},
		{"Item is gone", published, "item"},
		{"tenantId is unknown", published, ""},
		{"itemé is unknown", published, "item"},
		{"$item_1 is bad", schemas.FieldContext{Known: []string{"$item_1"}}, "$item_1"},
		{"item is bad", schemas.FieldContext{}, ""},
		{"q is bad", schemas.FieldContext{Aliases: map[string]string{"q": "keyword"}}, ""},
		{"elsewhere is bad", schemas.FieldContext{Known: []string{"item"}}, ""},
		{"(bad)", published, ""},
	} {
		body := `{"statusCode":400,"message":[` + quote(test.message) + `]}`
		e := mapped(t, envelope.NewMapper(), response(400, jsonType, body), test.context).(*schemas.BackendError)
		if got := e.Fields[0].Name; got != test.want {
			t.Errorf("%q is a message about %q, want %q", test.message, got, test.want)
		}
	}
}

func TestSpellingsThatDifferInCaseOnly(t *testing.T) {
	context := schemas.FieldContext{Known: []string{"Item", "ITEM"}, Aliases: map[string]string{"q": "one", "Q": "two"}}
	body := `{"errors":{"Item":"1","ITEM":"2","q":"3","Q":"4","item":"5"}}`
	e := mapped(t, envelope.NewMapper(), response(400, jsonType, body), context).(*schemas.BackendError)
	equal(t, []schemas.FieldError{
		{Name: "Item", Message: "1"}, {Name: "ITEM", Message: "2"}, {Name: "one", Message: "3"}, {Name: "two", Message: "4"},
		{Name: "ITEM", Message: "5"}, // neither is exact: the first in byte order, so that it is always the same
	}, e.Fields)
}

func TestFieldDictionary(t *testing.T) {
	for _, test := range []struct {
		name, body string
		want       []schemas.FieldError
		message    string
	}{
		{"order and repeats", `{"errors":{"z":["1","2"],"a":"3","z2":["4"]},"title":"no"}`,
			[]schemas.FieldError{{Name: "z", Message: "1"}, {Name: "z", Message: "2"}, {Name: "a", Message: "3"}, {Name: "z2", Message: "4"}}, validation},
		{"others are skipped", `{"errors":{"a":[null,7,"",{"b":"no"},["no"]," ","1"],"b":{"c":"no"},"c":true,"d":null,"e":[]}}`,
			[]schemas.FieldError{{Name: "a", Message: "1"}}, validation},
		{"white space", `{"errors":{"a":" one\n two "}}`, []schemas.FieldError{{Name: "a", Message: "one two"}}, validation},
		{"each message alone", `{"errors":{"a":["1","` + leaky + `","3"]}}`,
			[]schemas.FieldError{{Name: "a", Message: "1"}, {Name: "a", Message: withheld}, {Name: "a", Message: "3"}}, validation},
		{"escapes", `{"errors":{"\u0061":["\u00e9 \"x\""]}}`, []schemas.FieldError{{Name: "a", Message: `é "x"`}}, validation},
		{"none left", `{"errors":{"a":[""],"b":7},"message":"It is locked."}`, nil, "It is locked."},
		{"empty", `{"errors":{},"message":"It is locked."}`, nil, "It is locked."},
		{"an array", `{"errors":["a"],"message":"It is locked."}`, nil, "It is locked."},
		{"a string", `{"errors":"a","message":"It is locked."}`, nil, "It is locked."},
		{"another case", `{"Errors":{"a":"1"},"message":"It is locked."}`, nil, "It is locked."},
		{"not at the top", `{"data":{"errors":{"a":"1"}},"message":"It is locked."}`, nil, "It is locked."},
		{"not an object", `[{"errors":{"a":"1"}}]`, nil, badRequest},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := mapped(t, envelope.NewMapper(), response(400, problemType, test.body), schemas.FieldContext{}).(*schemas.BackendError)
			equal(t, test.want, e.Fields)
			equal(t, test.message, e.Message)
		})
	}
}

func TestNestArrayOfAValidatingStatus(t *testing.T) {
	body := `{"statusCode":422,"message":[" item  is empty ","","` + leaky + `","quantity ` + leaky + `"],"error":"Unprocessable Entity"}`
	e := mapped(t, envelope.NewMapper(), response(422, jsonType, body), published)
	equal(t, schemas.Envelope(&schemas.BackendError{Error: "validation_failed", Message: validation, Status: 422, Fields: []schemas.FieldError{
		{Name: "item", Message: "item is empty"}, {Message: withheld}, {Name: "Quantity", Message: withheld},
	}}), e)
}
