package envelope_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/schemas"
)

func TestSuccess(t *testing.T) {
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	for _, test := range []struct {
		name        string
		status      int
		contentType string
		body        string
		want        schemas.Success // Status aside
	}{
		{"no body", 204, "", "", schemas.Success{}},
		{"interim status", 100, "", "", schemas.Success{}},
		{"white space only", 200, "text/plain", " \r\n\t", schemas.Success{}},
		{"object", 200, "application/json", `{"id":1}`, schemas.Success{Body: []byte(`{"id":1}`)}},
		{"last success", 399, "application/json", `[]`, schemas.Success{Body: []byte(`[]`)}},
		{"parameters and case", 200, "Application/JSON ; charset=utf-8", `true`, schemas.Success{Body: []byte(`true`)}},
		{"text/json", 200, "text/json", `1`, schemas.Success{Body: []byte(`1`)}},
		{"suffix", 200, "application/vnd.shop+JSON", `"x"`, schemas.Success{Body: []byte(`"x"`)}},
		{"no content type", 200, "", `[1, 2]`, schemas.Success{Body: []byte(`[1, 2]`)}},
		{"blank content type", 200, "  ", `[1]`, schemas.Success{Body: []byte(`[1]`)}},
		{"white space around", 200, "application/json", "\r\n {} \n", schemas.Success{Body: []byte(`{}`)}},
		{"byte-order mark", 200, "application/json", "\ufeff{}", schemas.Success{Body: []byte(`{}`)}},
		{"null", 200, "application/json", "null", schemas.Success{}},
		{"big integer, decimals, order, escapes", 200, "application/json",
			`{"z":9007199254740993,"a":1.10,"e":1E400,"s":"\u00e9\/<&>"}`,
			schemas.Success{Body: []byte(`{"z":9007199254740993,"a":1.10,"e":1E400,"s":"\u00e9\/<&>"}`)}},
		{"lone surrogate", 200, "application/json", `"\ud800"`, schemas.Success{Body: []byte(`"\ud800"`)}},
		{"invalid UTF-8 in JSON", 200, "application/json", "\"a\xff\"", schemas.Success{Body: []byte(`"a` + "\uFFFD" + `"`)}},
		{"depth of 100", 200, "application/json", deep, schemas.Success{Body: []byte(deep)}},
		{"text", 200, "text/plain", "ready <b>", schemas.Success{Body: []byte(`"ready <b>"`), ContentType: "text/plain"}},
		{"content type as sent", 200, "Text/Plain; Charset=UTF-8", "ready", schemas.Success{Body: []byte(`"ready"`), ContentType: "Text/Plain; Charset=UTF-8"}},
		{"JSON as text", 200, "text/plain", `{"id":1}`, schemas.Success{Body: []byte(`"{\"id\":1}"`), ContentType: "text/plain"}},
		{"not JSON at all", 200, "application/json", "{id:1}", schemas.Success{Body: []byte(`"{id:1}"`), ContentType: "application/json"}},
		{"text without a type", 200, "", "ready", schemas.Success{Body: []byte(`"ready"`)}},
		{"invalid UTF-8", 200, "text/plain", "a\xff", schemas.Success{Body: []byte(`"a` + "\uFFFD" + `"`), ContentType: "text/plain"}},
		{"leaks are not filtered", 200, "text/plain", leaky, schemas.Success{Body: []byte(`"` + leaky + `"`), ContentType: "text/plain"}},
		{"page", 200, "text/html; charset=utf-8", "ready", schemas.Success{}},
		{"page in disguise", 200, "text/plain", " \n<!DocType html><p>", schemas.Success{}},
		{"page as JSON", 200, "application/json", "<HTML lang=en>", schemas.Success{}},
		{"not quite a page", 200, "text/plain", "<htm>", schemas.Success{Body: []byte(`"<htm>"`), ContentType: "text/plain"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.want.Status = test.status
			got := mapped(t, envelope.NewMapper(), response(test.status, test.contentType, test.body), schemas.FieldContext{})
			equal(t, schemas.Envelope(&test.want), got)
		})
	}
}

func TestEncode(t *testing.T) {
	data, err := envelope.Encode(mapped(t, envelope.NewMapper(), response(200, "text/plain", "a<b>&c"), schemas.FieldContext{}))
	if want := `{"status":200,"body":"a<b>&c","contentType":"text/plain"}`; string(data) != want || err != nil {
		t.Errorf("got %s, %v", data, err)
	}
	if data, err := envelope.Encode(&schemas.Success{Status: 200, Body: json.RawMessage("{")}); err == nil {
		t.Errorf("a body that is not JSON is encoded as %s", data)
	}
}

func TestNestingIsBounded(t *testing.T) {
	m := envelope.NewMapper()
	for depth, isJSON := range map[int]bool{1000: true, 1001: false, 5_000_000: false} {
		body := strings.Repeat("[", depth) + strings.Repeat("]", depth)
		e := m.Map(response(200, "application/json", body), envelope.FieldContext{}).(*schemas.Success)
		if got := e.ContentType == ""; got != isJSON {
			t.Errorf("depth %d taken for JSON: %v", depth, got)
		}
		if !json.Valid(e.Body) {
			t.Errorf("depth %d: the body is not JSON", depth)
		}
	}
	flat := `["` + strings.Repeat(`[\"`, 2000) + `"` + strings.Repeat(",[]", 2000) + `]`
	e := mapped(t, m, response(200, "application/json", flat), schemas.FieldContext{}).(*schemas.Success)
	equal(t, flat, string(e.Body))
}

func TestLocation(t *testing.T) {
	const jwt = "eyJhbGci.eyJzdWIi.c2ln"
	for _, test := range []struct {
		status      int
		value, want string
	}{
		{301, "/orders/42", "/orders/42"},
		{302, " https://shop.example/app/orders/5?x=1#top ", "https://shop.example/app/orders/5?x=1#top"},
		{399, "?page=2", "?page=2"},
		{302, "//cdn.example/x", "//cdn.example/x"},
		{302, "/a//b@c", "/a//b@c"},
		{302, "mailto:ann@shop.example", "mailto:ann@shop.example"},
		{302, "https://shop.example/@ann", "https://shop.example/@ann"},
		{302, "https://shop.example?to=ann@shop.example", "https://shop.example?to=ann@shop.example"},
		{302, "/a b%zz", "/a b%zz"},
		{201, "/orders/42", ""},
		{200, "/orders/42", ""},
		{302, "", ""},
		{302, " ", ""},
		{302, "https://ann@shop.example/", ""},
		{302, "https://ann:x@shop.example", ""},
		{302, "//ann:x@shop.example", ""},
		{302, "/login?next=https://ann:x@shop.example", ""},
		{302, "/login?next=https%3A%2F%2Fann%3Ax%40shop.example", ""},
		{302, "/cb?token=" + jwt, ""},
		{302, "/cb?x=%zz&token=" + jwt, ""},
		{302, "/cb?auth=Bearer+abcd1234", ""},
		{302, "/cb?auth=bearer%20abcd1234", ""},
	} {
		resp := envelope.Response{Status: test.status, Header: http.Header{"Location": {test.value}}}
		got := mapped(t, envelope.NewMapper(), resp, schemas.FieldContext{})
		equal(t, schemas.Envelope(&schemas.Success{Status: test.status, Location: test.want}), got)
	}
	resp := envelope.Response{Status: 404, Header: http.Header{"Location": {"/orders"}}}
	equal(t, notFound, message(t, envelope.NewMapper(), resp))
}
