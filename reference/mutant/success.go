package mutant

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/reference/serve"
	"example.com/touchstone/schemas"
)

func successMutants() []Mutant {
	return slices.Concat(
		successStatusMutants(), successBodyMutants(), successHTMLMutants(), locationMutants(), exactMutants(),
	)
}

// successStatusMutants take a success for an error.
func successStatusMutants() []Mutant {
	failed := func(id, doc string, when func(status int) bool) Mutant {
		return mutant(id, doc, around(func(m *envelope.Mapper, resp envelope.Response, fields envelope.FieldContext) schemas.Envelope {
			if !when(resp.Status) || resp.Status >= 400 {
				return m.Map(resp, fields)
			}
			return &schemas.BackendError{Error: schemas.BadRequest, Message: fmt.Sprintf("Unexpected status %d.", resp.Status), Status: resp.Status}
		}))
	}
	var all []Mutant
	for _, status := range []int{201, 204, 250, 299, 304, 308, 399} {
		all = append(all, failed(fmt.Sprintf("success-%d-failed", status), fmt.Sprintf("It takes %d for an error.", status), func(s int) bool { return s == status }))
	}
	return group(breaks("SUCCESS-01"), append(all,
		failed("success-redirects-failed", "It takes every 3xx for an error.", func(s int) bool { return s >= 300 }),
		failed("success-unregistered-failed", "It takes a 2xx that nobody registered for an error.", func(s int) bool { return s > 226 && s < 300 }),
	)...)
}

// parsing replaces what a success parses as JSON.
func parsing(as func(was func(string) bool) func(mediaType string) bool) func() serve.Reference {
	return mappingWhen(isSuccess, func(m *envelope.Mapper) { m.ParsesAsJSON = as(m.ParsesAsJSON) })
}

// declared does not parse a success where the content type, as it was given,
// is one of these.
func declared(unknown func(contentType string) bool) func() serve.Reference {
	return around(func(m *envelope.Mapper, resp envelope.Response, fields envelope.FieldContext) schemas.Envelope {
		if isSuccess(resp.Status) && unknown(resp.Header.Get("Content-Type")) {
			other := *m
			other.ParsesAsJSON = func(string) bool { return false }
			m = &other
		}
		return m.Map(resp, fields)
	})
}

func successBodyMutants() []Mutant {
	var json02 []Mutant
	for _, t := range []struct{ id, mediaType string }{{"application-json", "application/json"}, {"text-json", "text/json"}, {"undeclared", ""}} {
		json02 = append(json02, mutant("success-json-"+t.id+"-lost", fmt.Sprintf("It does not parse %q.", t.mediaType),
			parsing(func(was func(string) bool) func(string) bool {
				return func(mediaType string) bool { return mediaType != t.mediaType && was(mediaType) }
			})))
	}
	json02 = append(json02,
		mutant("success-json-suffix-lost", "It does not parse types that end in +json.", parsing(func(was func(string) bool) func(string) bool {
			return func(mediaType string) bool { return !strings.HasSuffix(mediaType, "+json") && was(mediaType) }
		})),
		mutant("success-json-vendor-lost", "Of the types that end in +json it parses problem details only.", parsing(func(was func(string) bool) func(string) bool {
			return func(mediaType string) bool {
				return (!strings.HasSuffix(mediaType, "+json") || mediaType == "application/problem+json") && was(mediaType)
			}
		})),
		mutant("success-json-case-sensitive", "It knows the JSON types in lower case only.", declared(func(given string) bool {
			mediaType, _, _ := strings.Cut(given, ";")
			return mediaType != strings.ToLower(mediaType)
		})),
		mutant("success-json-parameters", "It knows the JSON types without parameters only.", declared(func(given string) bool {
			return strings.Contains(given, ";")
		})),
		mutant("success-json-as-text", "It hands JSON on as a string.", succeeding(func(_ envelope.Response, e *schemas.Success) {
			if e.Body != nil && e.ContentType == "" && gjson.ParseBytes(e.Body).Type != gjson.String {
				e.Body = json.RawMessage(quote(string(e.Body)))
			}
		})),
		mutant("success-json-content-type", "It keeps the content type of parsed JSON.", succeeding(func(resp envelope.Response, e *schemas.Success) {
			if e.Body != nil && e.ContentType == "" {
				e.ContentType = resp.Header.Get("Content-Type")
			}
		})),
	)
	for _, falsy := range []string{"0", "false", "[]"} {
		json02 = append(json02, mutant("success-json-falsy-"+map[string]string{"0": "zero", "false": "false", "[]": "list"}[falsy], fmt.Sprintf("It takes a body of %s for none.", falsy),
			succeeding(func(_ envelope.Response, e *schemas.Success) {
				if string(e.Body) == falsy {
					e.Body = nil
				}
			})))
	}
	asText := func(id, doc string, edit func(resp envelope.Response, e *schemas.Success, text string)) Mutant {
		return mutant(id, doc, succeeding(func(resp envelope.Response, e *schemas.Success) {
			mediaType, _, _ := strings.Cut(strings.ToLower(resp.Header.Get("Content-Type")), ";")
			if v := gjson.ParseBytes(e.Body); v.Type == gjson.String && !strings.HasSuffix(mediaType, "json") && !gjson.ValidBytes(resp.Body) {
				edit(resp, e, v.Str)
			}
		}))
	}
	text03 := []Mutant{
		asText("success-text-content-type-lost", "It drops the content type of a text.", func(_ envelope.Response, e *schemas.Success, _ string) { e.ContentType = "" }),
		asText("success-text-content-type-short", "It drops the parameters of a text's content type.", func(_ envelope.Response, e *schemas.Success, _ string) {
			e.ContentType, _, _ = strings.Cut(e.ContentType, ";")
		}),
		asText("success-text-content-type-lower", "It writes a text's content type in lower case.", func(_ envelope.Response, e *schemas.Success, _ string) {
			e.ContentType = strings.ToLower(e.ContentType)
		}),
		asText("success-text-content-type-guessed", "It calls a text without a content type text/plain.", func(_ envelope.Response, e *schemas.Success, _ string) {
			if e.ContentType == "" {
				e.ContentType = "text/plain"
			}
		}),
		asText("success-text-folded", "It folds the lines of a text.", func(_ envelope.Response, e *schemas.Success, text string) {
			e.Body = json.RawMessage(quote(strings.Join(strings.Fields(text), " ")))
		}),
		asText("success-text-binary-lost", "It drops a body that is no text by its type.", func(resp envelope.Response, e *schemas.Success, _ string) {
			if resp.Header.Get("Content-Type") == "application/octet-stream" {
				e.Body, e.ContentType = nil, ""
			}
		}),
		mutant("success-text-undeclared-lost", "It drops a text without a content type.", succeeding(func(resp envelope.Response, e *schemas.Success) {
			if resp.Header.Get("Content-Type") == "" && !gjson.ValidBytes(resp.Body) {
				e.Body = nil
			}
		})),
		mutant("success-xml-lost", "It takes XML for HTML.", succeeding(func(resp envelope.Response, e *schemas.Success) {
			if strings.HasSuffix(resp.Header.Get("Content-Type"), "xml") {
				e.Body, e.ContentType = nil, ""
			}
		})),
		mutant("success-markup-lost", "It takes any text that begins with a tag for HTML.", succeeding(func(resp envelope.Response, e *schemas.Success) {
			if strings.HasPrefix(string(resp.Body), "<p>") {
				e.Body, e.ContentType = nil, ""
			}
		})),
	}
	for _, mediaType := range []string{"text/plain", "text/csv", "text/markdown", "application/xml", "application/yaml", "application/octet-stream", "application/json-seq"} {
		text03 = append(text03, mutant("success-parses-"+strings.ReplaceAll(mediaType, "/", "-"), fmt.Sprintf("It parses %s as JSON.", mediaType),
			parsing(func(was func(string) bool) func(string) bool {
				return func(given string) bool { return given == mediaType || was(given) }
			})))
	}
	text03 = append(text03, mutant("success-parses-anything", "It parses every body that is JSON.", parsing(func(func(string) bool) func(string) bool {
		return func(string) bool { return true }
	})))

	// What is declared as JSON and does not parse.
	broken := func(id, doc string, edit func(resp envelope.Response, e *schemas.Success)) Mutant {
		return mutant(id, doc, succeeding(func(resp envelope.Response, e *schemas.Success) {
			if e.ContentType != "" && strings.Contains(e.ContentType, "json") && !strings.Contains(e.ContentType, "json-seq") {
				edit(resp, e)
			}
		}))
	}
	trailingComma := regexp.MustCompile(`,([\]}])`)
	json04 := []Mutant{
		broken("success-broken-lost", "It drops a body that was declared as JSON and is none.", func(_ envelope.Response, e *schemas.Success) { e.Body, e.ContentType = nil, "" }),
		broken("success-broken-content-type-lost", "It drops the content type of JSON that does not parse.", func(_ envelope.Response, e *schemas.Success) { e.ContentType = "" }),
		broken("success-broken-first-value", "It takes the first of two JSON values.", func(resp envelope.Response, e *schemas.Success) {
			if string(resp.Body) == "{} {}" {
				e.Body, e.ContentType = json.RawMessage("{}"), ""
			}
		}),
		broken("success-broken-trailing-comma", "It parses JSON with a comma too many.", func(resp envelope.Response, e *schemas.Success) {
			if fixed := trailingComma.ReplaceAll(resp.Body, []byte("$1")); len(fixed) < len(resp.Body) && gjson.ValidBytes(fixed) {
				e.Body, e.ContentType = fixed, ""
			}
		}),
		broken("success-broken-single-quotes", "It parses JSON with single quotation marks.", func(resp envelope.Response, e *schemas.Success) {
			if fixed := strings.ReplaceAll(string(resp.Body), "'", `"`); gjson.Valid(fixed) {
				e.Body, e.ContentType = json.RawMessage(fixed), ""
			}
		}),
		mutant("success-broken-failed", "It answers JSON that does not parse as an error.", around(func(m *envelope.Mapper, resp envelope.Response, fields envelope.FieldContext) schemas.Envelope {
			mapped := m.Map(resp, fields)
			if e, ok := mapped.(*schemas.Success); ok && strings.Contains(e.ContentType, "json") && !strings.Contains(e.ContentType, "seq") {
				return &schemas.BackendError{Error: schemas.BackendFailed, Message: "The body is not JSON.", Status: e.Status}
			}
			return mapped
		})),
	}
	json05 := []Mutant{
		mutant("success-empty-string", "It gives an empty string for no body.", succeeding(func(resp envelope.Response, e *schemas.Success) {
			if len(resp.Body) == 0 {
				e.Body = json.RawMessage(`""`)
			}
		})),
		mutant("success-empty-null", "It gives null for no body.", succeeding(func(resp envelope.Response, e *schemas.Success) {
			if len(resp.Body) == 0 {
				e.Body = json.RawMessage("null")
			}
		})),
		mutant("success-empty-object", "It gives an empty object for no body.", succeeding(func(resp envelope.Response, e *schemas.Success) {
			if len(resp.Body) == 0 {
				e.Body = json.RawMessage("{}")
			}
		})),
		mutant("success-blank-kept", "It takes white space for a body.", succeeding(func(resp envelope.Response, e *schemas.Success) {
			if len(resp.Body) > 0 && strings.TrimSpace(string(resp.Body)) == "" {
				e.Body, e.ContentType = json.RawMessage(quote(string(resp.Body))), resp.Header.Get("Content-Type")
			}
		})),
		mutant("success-blank-content-type", "It reports the content type of a body of white space.", succeeding(func(resp envelope.Response, e *schemas.Success) {
			if len(resp.Body) > 0 && strings.TrimSpace(string(resp.Body)) == "" {
				e.ContentType = resp.Header.Get("Content-Type")
			}
		})),
		mutant("success-null-text", "It gives the word null for a JSON null.", succeeding(func(resp envelope.Response, e *schemas.Success) {
			if string(resp.Body) == "null" {
				e.Body = json.RawMessage(`"null"`)
			}
		})),
	}
	return slices.Concat(group(breaks("SUCCESS-02"), json02...), group(breaks("SUCCESS-03"), text03...),
		group(breaks("SUCCESS-04"), json04[:len(json04)-1]...), group(breaks("SUCCESS-01"), json04[len(json04)-1]), group(breaks("SUCCESS-05"), json05...))
}

// htmlForms are the ways to lose one of the signs of HTML.
func htmlForms() []struct {
	id, doc string
	edit    func(h *envelope.HTML)
} {
	without := func(start string) func(h *envelope.HTML) {
		return func(h *envelope.HTML) {
			h.Starts = slices.DeleteFunc(slices.Clone(h.Starts), func(s string) bool { return s == start })
		}
	}
	return []struct {
		id, doc string
		edit    func(h *envelope.HTML)
	}{
		{"media-type", "does not know the media type of HTML", func(h *envelope.HTML) { h.MediaTypes = nil }},
		{"doctype", "does not know the doctype of HTML", without("<!doctype")},
		{"tag", "does not know the tag of HTML", without("<html")},
		{"case", "knows HTML in lower case only", func(h *envelope.HTML) {
			h.Prelude = func(body string) string {
				if strings.HasPrefix(body, "<!D") || strings.HasPrefix(body, "<H") {
					return ""
				}
				return body
			}
		}},
		{"indented", "knows HTML at the very start only", func(h *envelope.HTML) {}},
	}
}

func successHTMLMutants() []Mutant {
	var all []Mutant
	for _, form := range htmlForms() {
		all = append(all, mutant("success-html-"+form.id, "On success it "+form.doc+".", htmlMutation(isSuccess, form.id, form.edit)))
	}
	return group(breaks("SUCCESS-06"), append(all,
		mutant("success-html-content-type", "It reports the content type of HTML.", succeeding(func(resp envelope.Response, e *schemas.Success) {
			if text := strings.TrimSpace(string(resp.Body)); e.Body == nil && text != "" && text != "null" {
				e.ContentType = resp.Header.Get("Content-Type")
			}
		})),
		mutant("success-html-json-first", "It looks for HTML only where a body is not declared as JSON.", htmlAfterJSON(isSuccess)),
		mutant("success-json-as-html", "It parses JSON that was declared as HTML.", jsonAsHTML(isSuccess)),
	)...)
}

// htmlMutation loses a sign of HTML for the responses of some statuses.
func htmlMutation(when func(int) bool, id string, edit func(h *envelope.HTML)) func() serve.Reference {
	if id != "indented" {
		return mappingWhen(when, func(m *envelope.Mapper) { edit(&m.HTML) })
	}
	return around(func(m *envelope.Mapper, resp envelope.Response, fields envelope.FieldContext) schemas.Envelope {
		if text := string(resp.Body); when(resp.Status) && text != "" && text != strings.TrimLeft(text, " \t\r\n") {
			other := *m
			other.HTML.Starts = nil
			m = &other
		}
		return m.Map(resp, fields)
	})
}

// htmlAfterJSON looks for the start of HTML only where JSON was not declared.
func htmlAfterJSON(when func(int) bool) func() serve.Reference {
	return around(func(m *envelope.Mapper, resp envelope.Response, fields envelope.FieldContext) schemas.Envelope {
		if when(resp.Status) && resp.Header.Get("Content-Type") == "application/json" {
			other := *m
			other.HTML.Starts = nil
			m = &other
		}
		return m.Map(resp, fields)
	})
}

// jsonAsHTML reads JSON whatever it was declared as, HTML included.
func jsonAsHTML(when func(int) bool) func() serve.Reference {
	return responding(func(resp *envelope.Response) {
		if when(resp.Status) && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") && gjson.ValidBytes(resp.Body) {
			resp.Header.Set("Content-Type", "application/json")
		}
	})
}

// exactMutants change JSON values on their way.
func exactMutants() []Mutant {
	remade := func(id, doc string, remake func(body []byte) ([]byte, error)) Mutant {
		return mutant(id, doc, succeeding(func(_ envelope.Response, e *schemas.Success) {
			if e.Body == nil || e.ContentType != "" {
				return
			}
			if body, err := remake(e.Body); err == nil {
				e.Body = body
			}
		}))
	}
	integer := regexp.MustCompile(`\b\d{17,}\b`)
	decimal := regexp.MustCompile(`\d+\.\d+`)
	return group(breaks("SUCCESS-08"),
		remade("exact-floats", "It reads numbers as floats and sorts members.", func(body []byte) ([]byte, error) {
			var v any
			if err := json.Unmarshal(body, &v); err != nil {
				return nil, err
			}
			return json.Marshal(v)
		}),
		remade("exact-sorted", "It sorts the members of objects.", func(body []byte) ([]byte, error) {
			var v any
			dec := json.NewDecoder(strings.NewReader(string(body)))
			dec.UseNumber()
			if err := dec.Decode(&v); err != nil {
				return nil, err
			}
			return json.Marshal(v)
		}),
		remade("exact-integers-as-text", "It writes large integers as strings.", func(body []byte) ([]byte, error) {
			return integer.ReplaceAll(body, []byte(`"$0"`)), nil
		}),
		remade("exact-decimals-rounded", "It rounds decimals to two places.", func(body []byte) ([]byte, error) {
			return decimal.ReplaceAllFunc(body, func(number []byte) []byte {
				return []byte(string(number[:strings.IndexByte(string(number), '.')]) + ".79")
			}), nil
		}),
		remade("exact-depth", "It cuts JSON off at a depth of 32.", func(body []byte) ([]byte, error) {
			if strings.Count(string(body), "[") > 32 {
				return []byte(strings.Repeat("[", 32) + strings.Repeat("]", 32)), nil
			}
			return body, nil
		}),
	)
}
