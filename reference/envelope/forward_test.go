package envelope_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/schemas"
)

const (
	jsonType    = "application/json"
	problemType = "application/problem+json"
)

func TestForwardedMessage(t *testing.T) {
	for _, test := range []struct {
		name, contentType, body string
		want                    string // "" is the standard message
	}{
		{"problem: detail", problemType, `{"title":"Locked","status":400,"detail":"The order is locked."}`, "The order is locked."},
		{"problem: title", problemType, `{"title":"Locked"}`, "Locked"},
		{"problem: empty detail", problemType, `{"title":"Locked","detail":""}`, "Locked"},
		{"problem: blank detail", problemType, `{"title":"Locked","detail":" \n"}`, "Locked"},
		{"problem: detail of another type", problemType, `{"title":"Locked","detail":7}`, "Locked"},
		{"problem: neither", problemType, `{"message":"The order is locked."}`, "The order is locked."},
		{"problem: withheld detail", problemType, `{"title":"Locked","detail":"` + leaky + `"}`, ""},
		{"problem: withheld title", problemType, `{"title":"` + leaky + `","message":"Locked"}`, ""},
		{"problem: not JSON", problemType, "The order is locked.", "The order is locked."},
		{"problem: a string", problemType, `"The order is locked."`, "The order is locked."},
		{"problem: by its members", jsonType, `{"status":400,"title":"Locked","reason":"It is."}`, "Locked"},
		{"problem: detail by its members", "", `{"status":400,"detail":"The order is locked.","message":"no"}`, "The order is locked."},
		{"problem: status is no number", jsonType, `{"status":"400","title":"Locked","message":"It is."}`, "It is."},
		{"problem: before nest", jsonType, `{"status":400,"statusCode":400,"title":"Locked","message":"no"}`, "Locked"},

		{"nest: string", jsonType, `{"statusCode":400,"message":"It is locked.","error":"Bad Request"}`, "It is locked."},
		{"nest: before keys of the envelope", jsonType, `{"statusCode":400,"message":" ","error":"Bad Request"}`, "Bad Request"},
		{"nest: no number", jsonType, `{"statusCode":"400","message":["a"],"error":"Bad Request"}`, "Bad Request"},
		{"nest: empty array", jsonType, `{"statusCode":400,"message":[],"error":"Bad Request"}`, "Bad Request"},
		{"nest: blank array", jsonType, `{"statusCode":400,"message":[""," "],"error":"Bad Request"}`, "Bad Request"},
		{"nest: mixed array", jsonType, `{"statusCode":400,"message":["a",1],"error":"Bad Request"}`, "Bad Request"},
		{"nest: mixed array, string last", jsonType, `{"statusCode":400,"message":[1,"a"],"error":"Bad Request"}`, "Bad Request"},
		{"nest: object", jsonType, `{"statusCode":400,"message":{"a":"b"},"error":"Bad Request"}`, "Bad Request"},
		{"nest: withheld", jsonType, `{"statusCode":400,"message":"` + leaky + `","error":"Bad Request"}`, ""},

		{"envelope: message", jsonType, `{"reason":"6","title":"5","error":"4","error_description":"3","detail":"2","message":"1"}`, "1"},
		{"envelope: detail", jsonType, `{"reason":"6","title":"5","error":"4","error_description":"3","detail":"2"}`, "2"},
		{"envelope: error_description", jsonType, `{"reason":"6","title":"5","error":"4","error_description":"3"}`, "3"},
		{"envelope: error", jsonType, `{"reason":"6","title":"5","error":"4"}`, "4"},
		{"envelope: title", jsonType, `{"reason":"6","title":"5"}`, "5"},
		{"envelope: reason", jsonType, `{"reason":"6"}`, "6"},
		{"envelope: a later key with a lower rank", jsonType, `{"reason":"6","detail":"2","title":"5"}`, "2"},
		{"envelope: keys without case", jsonType, `{"Succeeded":false,"MESSAGE":"It is locked."}`, "It is locked."},
		{"envelope: escaped key", jsonType, `{"mess\u0061ge":"It is locked."}`, "It is locked."},
		{"envelope: empty value is skipped", jsonType, `{"message":"","Error":"It is locked."}`, "It is locked."},
		{"envelope: blank value is skipped", jsonType, `{"message":"\t","error":"It is locked."}`, "It is locked."},
		{"envelope: other types are skipped", jsonType, `{"message":{"text":"no"},"detail":7,"error":["no"],"title":null,"reason":"It is locked."}`, "It is locked."},
		{"envelope: none", jsonType, `{"msg":"It is locked.","ok":false}`, ""},
		{"envelope: the first decides", jsonType, `{"message":"` + leaky + `","error":"It is locked."}`, ""},
		{"string literal", jsonType, `"It is locked."`, "It is locked."},
		{"blank string literal", jsonType, `"  "`, ""},
		{"withheld string literal", jsonType, `"` + leaky + `"`, ""},
		{"number", jsonType, `7`, ""},
		{"array", jsonType, `["It is locked."]`, ""},
		{"null", jsonType, `null`, ""},

		{"text", "text/plain", "It is locked.", "It is locked."},
		{"text: JSON is not parsed", "text/plain", `{"message":"It is locked."}`, `{"message":"It is locked."}`},
		{"text: any type", "application/xml", "<e>It is locked.</e>", "<e>It is locked.</e>"},
		{"text: declared as JSON", jsonType, "It is locked.", "It is locked."},
		{"text: no type", "", "It is locked.", "It is locked."},
		{"text: withheld", "text/plain", leaky, ""},
		{"text: invalid UTF-8", "text/plain", "It is \xfflocked.", "It is \uFFFDlocked."},
		{"text: too long", "text/plain", strings.Repeat("x", 1001), ""},
		{"text: just short enough", "text/plain", strings.Repeat("x", 1000), strings.Repeat("x", 1000)},
		{"white space", "text/plain", "\r\n It \t is\u00a0 locked. \n", "It is locked."},
		{"split leak", jsonType, `{"message":"failed\n\tat\r\n Shop.Add (x)"}`, ""},
		{"other scripts", jsonType, `{"hata":"","message":"数量必须大于零 — größer als \"0\" \ud83d\ude00"}`, `数量必须大于零 — größer als "0" 😀`},
		{"lone surrogate", jsonType, `{"message":"It is \ud800\u006cocked."}`, "It is \uFFFDlocked."},

		{"page", "text/html", "It is locked.", ""},
		{"page: parameters and case", "Text/HTML; charset=utf-8", "It is locked.", ""},
		{"page: JSON served as HTML", "text/html", `{"message":"It is locked."}`, ""},
		{"page: doctype", "text/plain", "<!DOCTYPE html><p>It is locked.", ""},
		{"page: html", "text/plain", "<HTML><p>It is locked.", ""},
		{"page: as JSON", jsonType, "\n\t <html><p>It is locked.", ""},
		{"page: as problem", problemType, "<html>", ""},
		{"page: no type", "", "<!doctype html>", ""},
		{"page: byte-order mark", "text/plain", "\ufeff<html>", ""},
		{"page: two byte-order marks", "text/plain", "\ufeff \ufeff<html>", ""},
		{"page: comment", "text/plain", "<!-- a > b --> <!---->\n<!--> <html>", ""},
		{"page: declaration", "text/plain", `<?xml version="1.0"?><!-- x --><!DOCTYPE html>`, ""},
		{"no page: comment alone", "text/plain", "<!-- <html>", "<!-- <html>"},
		{"no page: another element", "text/plain", "<p>It is <html> locked.", "<p>It is <html> locked."},
	} {
		t.Run(test.name, func(t *testing.T) {
			want := test.want
			if want == "" {
				want = badRequest
			}
			e := mapped(t, envelope.NewMapper(), response(400, test.contentType, test.body), schemas.FieldContext{}).(*schemas.BackendError)
			equal(t, &schemas.BackendError{Error: "bad_request", Message: want, Status: 400}, e)
		})
	}
}

func TestStatusesThatForward(t *testing.T) {
	m := envelope.NewMapper()
	for status := 400; status < 600; status++ {
		got := message(t, m, response(status, jsonType, `{"message":"It is locked."}`))
		if forwards := got == "It is locked."; forwards != (status < 500 && status != 401) {
			t.Errorf("%d: the message is %q", status, got)
		}
	}
}

func TestNestArrayOnOtherStatuses(t *testing.T) {
	m := envelope.NewMapper()
	for body, want := range map[string]string{
		`{"statusCode":409,"message":["It is locked."]}`:               "It is locked.",
		`{"statusCode":409,"message":[" It is locked ",""," \n","b"]}`: "It is locked; b",
		`{"statusCode":409,"message":["Server=db1","b"]}`:              conflict, // a leak once it is joined
		`{"statusCode":409,"message":["a","` + leaky + `"]}`:           conflict,
		`{"statusCode":409,"message":["a",null],"error":"Conflict"}`:   "Conflict",
	} {
		e := mapped(t, m, response(409, jsonType, body), schemas.FieldContext{}).(*schemas.BackendError)
		equal(t, &schemas.BackendError{Error: "conflict", Message: want, Status: 409}, e)
	}
}

// host takes the responses that have its header.
type host envelope.Recognition

func (h host) Recognize(resp envelope.Response) (envelope.Recognition, bool) {
	return envelope.Recognition(h), resp.Header.Get("X-Host") != ""
}

func TestHostRecognisers(t *testing.T) {
	first := host{Message: "  the host\nsays "}
	second := host{Message: "never asked"}
	fields := host{Fields: []schemas.FieldError{{Name: "Item", Message: leaky}, {Message: "item  is gone"}, {Name: "x", Message: " "}}}
	for _, test := range []struct {
		name   string
		status int
		hosts  []envelope.Recognizer
		want   schemas.BackendError
	}{
		{"before 401", 401, []envelope.Recognizer{first, second}, schemas.BackendError{Error: "unauthenticated", Message: "the host says"}},
		{"before 5xx", 500, []envelope.Recognizer{first}, schemas.BackendError{Error: "backend_error", Message: "the host says"}},
		{"before the others", 404, []envelope.Recognizer{first}, schemas.BackendError{Error: "not_found", Message: "the host says"}},
		{"filtered", 404, []envelope.Recognizer{host{Message: leaky}}, schemas.BackendError{Error: "not_found", Message: notFound}},
		{"takes it and says nothing", 404, []envelope.Recognizer{host{}}, schemas.BackendError{Error: "not_found", Message: notFound}},
		{"fields", 400, []envelope.Recognizer{fields}, schemas.BackendError{Error: "validation_failed", Message: validation,
			Fields: []schemas.FieldError{{Name: "item", Message: withheld}, {Message: "item is gone"}}}},
		{"fields and a message", 400, []envelope.Recognizer{host{Message: "Fix it.", Fields: []schemas.FieldError{{Name: "item", Message: "bad"}}}},
			schemas.BackendError{Error: "validation_failed", Message: "Fix it.", Fields: []schemas.FieldError{{Name: "item", Message: "bad"}}}},
		{"blank fields", 400, []envelope.Recognizer{host{Fields: []schemas.FieldError{{Name: "item"}}}}, schemas.BackendError{Error: "bad_request", Message: badRequest}},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := envelope.NewMapper()
			m.Hosts = test.hosts
			resp := response(test.status, jsonType, `{"message":"the backend says"}`)
			resp.Header.Set("X-Host", "yes")
			test.want.Status = test.status
			equal(t, schemas.Envelope(&test.want), mapped(t, m, resp, schemas.FieldContext{Known: []string{"item"}}))
		})
	}
	// The host's own value is left alone.
	equal(t, []schemas.FieldError{{Name: "Item", Message: leaky}, {Message: "item  is gone"}, {Name: "x", Message: " "}}, fields.Fields)

	m := envelope.NewMapper()
	m.Hosts = []envelope.Recognizer{first}
	equal(t, "the backend says", message(t, m, response(404, jsonType, `{"message":"the backend says"}`)))
	ok := envelope.Response{Status: 204, Header: http.Header{"X-Host": {"yes"}}}
	equal(t, schemas.Envelope(&schemas.Success{Status: 204}), mapped(t, m, ok, schemas.FieldContext{}))
}

// TestEveryCarrierIsScreened lets one carrier after the other past the filter
// and sees its text, and no other, come through.
func TestEveryCarrierIsScreened(t *testing.T) {
	const name = "/etc/x"
	field := func(m *envelope.Mapper, body string) func(*testing.T) string {
		return func(t *testing.T) string {
			f := mapped(t, m, response(400, jsonType, body), schemas.FieldContext{}).(*schemas.BackendError).Fields[0]
			return f.Name + "|" + f.Message
		}
	}
	for _, test := range []struct {
		carrier           envelope.Carrier
		run               func(m *envelope.Mapper) func(*testing.T) string
		screened, exposed string
	}{
		{envelope.FromProblemDetail, body400(problemType, `{"detail":"`+leaky+`"}`), badRequest, leaky},
		{envelope.FromProblemTitle, body400(problemType, `{"title":"`+leaky+`"}`), badRequest, leaky},
		{envelope.FromNestMessage, body400(jsonType, `{"statusCode":400,"message":"`+leaky+`"}`), badRequest, leaky},
		{envelope.FromMessageKey, body400(jsonType, `{"message":"`+leaky+`"}`), badRequest, leaky},
		{envelope.FromJSONString, body400(jsonType, `"`+leaky+`"`), badRequest, leaky},
		{envelope.FromPlainText, body400("text/plain", leaky), badRequest, leaky},
		{envelope.FromNestJoined, func(m *envelope.Mapper) func(*testing.T) string {
			return func(t *testing.T) string {
				return message(t, m, response(409, jsonType, `{"statusCode":409,"message":["`+leaky+`"]}`))
			}
		}, conflict, leaky},
		{envelope.FromNestEntry, func(m *envelope.Mapper) func(*testing.T) string {
			return field(m, `{"statusCode":400,"message":["`+leaky+`"]}`)
		}, "|" + withheld, "|" + leaky},
		{envelope.FromFieldMessage, func(m *envelope.Mapper) func(*testing.T) string {
			return field(m, `{"errors":{"a":"`+leaky+`"}}`)
		}, "a|" + withheld, "a|" + leaky},
		{envelope.FromFieldName, func(m *envelope.Mapper) func(*testing.T) string {
			return field(m, `{"errors":{"`+name+`":"bad"}}`)
		}, "|bad", name + "|bad"},
		{envelope.FromHost, func(m *envelope.Mapper) func(*testing.T) string {
			m.Hosts = []envelope.Recognizer{host{Message: leaky}}
			return func(t *testing.T) string {
				return message(t, m, envelope.Response{Status: 404, Header: http.Header{"X-Host": {"yes"}}})
			}
		}, notFound, leaky},
		{envelope.FromReferenceHeader, func(m *envelope.Mapper) func(*testing.T) string {
			return func(t *testing.T) string {
				return message(t, m, envelope.Response{Status: 500, Header: http.Header{"X-Request-Id": {leaky}}})
			}
		}, failed, failed + " Reference: " + leaky + "."},
		{envelope.FromTraceID, func(m *envelope.Mapper) func(*testing.T) string {
			return func(t *testing.T) string { return message(t, m, response(500, jsonType, `{"traceId":"IOException"}`)) }
		}, failed, failed + " Reference: IOException."},
		{envelope.FromInternalError, func(m *envelope.Mapper) func(*testing.T) string {
			return func(*testing.T) string {
				return m.Refuse(schemas.RefuseParams{Error: schemas.InternalError, Message: leaky}).Message
			}
		}, "The call failed inside the tool layer. Details were withheld.", leaky},
	} {
		t.Run(string(test.carrier), func(t *testing.T) {
			equal(t, test.screened, test.run(envelope.NewMapper())(t))
			for _, other := range []bool{false, true} {
				m := envelope.NewMapper()
				screen := m.Screen
				m.Screen = func(c envelope.Carrier, raw string) (string, bool) {
					text, ok := screen(c, raw)
					return text, ok || (c == test.carrier) != other && text != ""
				}
				want := test.exposed
				if other {
					want = test.screened
				}
				equal(t, want, test.run(m)(t))
			}
		})
	}
}

func body400(contentType, body string) func(*envelope.Mapper) func(*testing.T) string {
	return func(m *envelope.Mapper) func(*testing.T) string {
		return func(t *testing.T) string { return message(t, m, response(400, contentType, body)) }
	}
}

// TestRecognisersStandAlone takes out one recogniser after the other.
func TestRecognisersStandAlone(t *testing.T) {
	for name, resp := range map[string]envelope.Response{
		"field dictionary": response(400, jsonType, `{"errors":{"a":"b"}}`),
		"problem details":  response(400, jsonType, `{"status":400,"detail":"b","title":"c","message":"a"}`),
		"nest":             response(400, jsonType, `{"statusCode":400,"message":["a"]}`),
		"message envelope": response(400, jsonType, `{"message":"a"}`),
		"plain text":       response(400, "text/plain", `a`),
	} {
		m := envelope.NewMapper()
		all := m.Map(resp, envelope.FieldContext{}).(*schemas.BackendError)
		before := len(m.Recognizers)
		m.Recognizers = slices.DeleteFunc(m.Recognizers, func(r envelope.BodyRecognizer) bool { return r.Name == name })
		if len(m.Recognizers) != before-1 {
			t.Fatalf("there is no recogniser %q", name)
		}
		rest := mapped(t, m, resp, schemas.FieldContext{}).(*schemas.BackendError)
		if all.Message == rest.Message && len(all.Fields) == len(rest.Fields) {
			t.Errorf("%s: the same envelope without it: %+v", name, rest)
		}
	}
}
