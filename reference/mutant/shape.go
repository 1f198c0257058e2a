package mutant

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/reference/serve"
	"example.com/touchstone/schemas"
)

func shapeMutants() []Mutant {
	var all []Mutant
	add := func(ids []string, mutants ...Mutant) { all = append(all, group(ids, mutants...)...) }

	for _, shape := range []string{success, backendError, sdkError} {
		add(breaks("SHAPE-01"), mutant("shape-unknown-member-"+shape, "It adds a member that no schema knows.",
			emittingIn(shape, func(ms []member) []member { return set(ms, "requestId", `"r-7"`) })))
		add(breaks("SHAPE-03"), mutant("shape-is-error-"+shape, "It writes the carrier's flag into the envelope.",
			emittingIn(shape, func(ms []member) []member {
				flag := "true"
				if shape == success {
					flag = "false"
				}
				return set(ms, "isError", flag)
			})))
	}
	// A member that is absent is written as null.
	for shape, names := range map[string][]string{
		success:      {"contentType", "location"},
		backendError: {"fields", "retryAfterSeconds", "reference"},
		sdkError:     {"fields", "payload"},
	} {
		for _, name := range names {
			add(breaks("SHAPE-01"), mutant("shape-null-"+kebab(name)+"-"+shape, "It writes null for an absent "+name+".",
				emittingIn(shape, func(ms []member) []member {
					if get(ms, name) == "" {
						ms = set(ms, name, "null")
					}
					return ms
				})))
		}
	}
	add(breaks("SHAPE-01"),
		mutant("shape-empty-fields", "It writes an empty list for absent fields.", emittingIn(backendError, func(ms []member) []member {
			if get(ms, "fields") == "" {
				ms = set(ms, "fields", "[]")
			}
			return ms
		})),
		mutant("shape-null-name", "It writes null for the name of a field that has none.", emittingIn(backendError, func(ms []member) []member {
			return editFields(ms, func(f string) string {
				if !gjson.Get(f, "name").Exists() {
					f = `{"name":null,` + f[1:]
				}
				return f
			})
		})),
		mutant("shape-unknown-member-of-field", "It adds a member to the entries of fields.", emittingIn(backendError, func(ms []member) []member {
			return editFields(ms, func(f string) string { return `{"rule":"r",` + f[1:] })
		})),
	)
	add(breaks("SHAPE-02"),
		mutant("shape-status-on-sdk-error", "It gives a refusal the status 500.", emittingIn(sdkError, func(ms []member) []member { return set(ms, "status", "500") })),
		mutant("shape-no-status-on-backend-error", "It reports the backend's error without its status.", emittingIn(backendError, func(ms []member) []member { return drop(ms, "status") })),
		mutant("shape-no-status-on-success", "It reports a success without its status.", emittingIn(success, func(ms []member) []member { return drop(ms, "status") })),
		mutant("shape-status-class", "It reports the class of an error's status.", emittingIn(backendError, func(ms []member) []member {
			return set(ms, "status", get(ms, "status")[:1]+"00")
		})),
		mutant("shape-status-of-code", "It reports 404 for every not_found.", emittingIn(backendError, func(ms []member) []member {
			if get(ms, "error") == `"not_found"` {
				ms = set(ms, "status", "404")
			}
			return ms
		})),
	)
	for _, name := range []string{"error", "message", "retryable"} {
		add(breaks("SHAPE-04"), mutant("shape-no-"+name+"-on-backend-error", "It leaves "+name+" out of a backend's error.",
			emittingIn(backendError, func(ms []member) []member { return drop(ms, name) })))
		add(breaks("SHAPE-05"), mutant("shape-no-"+name+"-on-sdk-error", "It leaves "+name+" out of a refusal.",
			emittingIn(sdkError, func(ms []member) []member { return drop(ms, name) })))
	}
	add(breaks("SHAPE-04"),
		mutant("shape-retryable-text-on-error", "It writes an error's retryable as a string.", emittingIn(backendError, func(ms []member) []member {
			return set(ms, "retryable", `"`+get(ms, "retryable")+`"`)
		})),
		mutant("shape-status-text-on-error", "It writes an error's status as a string.", emittingIn(backendError, func(ms []member) []member {
			return set(ms, "status", `"`+get(ms, "status")+`"`)
		})),
		mutant("shape-retry-after-text", "It writes retryAfterSeconds as a string.", emittingIn(backendError, func(ms []member) []member {
			if seconds := get(ms, "retryAfterSeconds"); seconds != "" {
				ms = set(ms, "retryAfterSeconds", `"`+seconds+`"`)
			}
			return ms
		})),
		mutant("shape-empty-reference", "It writes an empty reference where there is none.", emittingIn(backendError, func(ms []member) []member {
			if get(ms, "reference") == "" && get(ms, "status") >= "500" {
				ms = set(ms, "reference", `""`)
			}
			return ms
		})),
	)
	add(breaks("SHAPE-05"), mutant("shape-retryable-text-on-sdk-error", "It writes a refusal's retryable as a string.",
		emittingIn(sdkError, func(ms []member) []member { return set(ms, "retryable", `"`+get(ms, "retryable")+`"`) })))
	add(breaks("SHAPE-03"),
		mutant("shape-status-text-on-success", "It writes a success's status as a string.", emittingIn(success, func(ms []member) []member {
			return set(ms, "status", `"`+get(ms, "status")+`"`)
		})),
		mutant("shape-empty-content-type", "It writes an empty contentType where there is none.", emittingIn(success, func(ms []member) []member {
			if get(ms, "contentType") == "" {
				ms = set(ms, "contentType", `""`)
			}
			return ms
		})),
		mutant("shape-empty-location", "It writes an empty location where there is none.", emittingIn(success, func(ms []member) []member {
			if get(ms, "location") == "" {
				ms = set(ms, "location", `""`)
			}
			return ms
		})),
	)
	add(breaks("SHAPE-06"),
		mutant("shape-code-invented", "It says rejected where the set has conflict.", miscoded(`"conflict"`, `"rejected"`)),
		mutant("shape-code-in-capitals", "It writes not_found in capitals.", miscoded(`"not_found"`, `"NOT_FOUND"`)),
		mutant("shape-sdk-code-on-backend-error", "It uses an SDK code for a backend's 403.", miscoded(`"forbidden"`, `"invalid_type"`)),
		mutant("shape-backend-code-on-sdk-error", "It uses a backend code for a refusal.", miscoded(`"unknown_tool"`, `"not_found"`)),
		mutant("shape-sdk-code-invented", "It says failed where the set has internal_error.", miscoded(`"header_injection"`, `"injection"`)),
	)
	for _, form := range []struct{ id, suffix string }{{"fraction", ".0"}, {"exponent", "e0"}} {
		for _, shape := range []string{success, backendError} {
			add(breaks("SHAPE-08"), mutant("shape-status-"+form.id+"-"+shape, "It writes the status with "+form.suffix+" behind it.",
				emittingIn(shape, func(ms []member) []member { return set(ms, "status", get(ms, "status")+form.suffix) })))
		}
		add(breaks("SHAPE-08"), mutant("shape-retry-after-"+form.id, "It writes retryAfterSeconds with "+form.suffix+" behind it.",
			emittingIn(backendError, func(ms []member) []member {
				if seconds := get(ms, "retryAfterSeconds"); seconds != "" {
					ms = set(ms, "retryAfterSeconds", seconds+form.suffix)
				}
				return ms
			})))
	}
	add(breaks("SHAPE-08"),
		mutant("shape-large-retry-after-float", "It reads a large Retry-After into a float and writes that.", retryAfterOverflow("1e+23")),
		mutant("shape-invalid-utf-8", "It hands on bytes that are not UTF-8.", func() serve.Reference {
			return serve.Reference{Emit: func(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\uFFFD"), []byte("\xff")) }}
		}),
	)
	add(breaks("SHAPE-01"), mutant("shape-large-retry-after-null", "It writes null for a Retry-After that is too large.", retryAfterOverflow("null")))
	return append(all, blankMutants()...)
}

// kebab writes a member's name as part of an id.
func kebab(name string) string {
	var out strings.Builder
	for _, r := range name {
		if 'A' <= r && r <= 'Z' {
			out.WriteByte('-')
			r += 'a' - 'A'
		}
		out.WriteRune(r)
	}
	return out.String()
}

// editFields changes each entry of fields.
func editFields(ms []member, edit func(entry string) string) []member {
	fields := get(ms, "fields")
	if fields == "" {
		return ms
	}
	var entries []string
	for _, entry := range gjson.Parse(fields).Array() {
		entries = append(entries, edit(entry.Raw))
	}
	return set(ms, "fields", "["+strings.Join(entries, ",")+"]")
}

// miscoded writes one code as another.
func miscoded(from, to string) func() serve.Reference {
	return emitting(func(ms []member) []member {
		if get(ms, "error") == from {
			ms = set(ms, "error", to)
		}
		return ms
	})
}

// overflowing is a backend's error with a retryAfterSeconds that no integer holds.
type overflowing struct {
	*schemas.BackendError
	RetryAfterSeconds json.RawMessage `json:"retryAfterSeconds"`
}

// retryAfterOverflow writes a Retry-After of more digits than an integer has as
// this JSON value.
func retryAfterOverflow(value string) func() serve.Reference {
	return around(func(m *envelope.Mapper, resp envelope.Response, fields envelope.FieldContext) schemas.Envelope {
		mapped := m.Map(resp, fields)
		e, ok := mapped.(*schemas.BackendError)
		if given := resp.Header.Get("Retry-After"); ok && len(given) > 19 && strings.Trim(given, "0123456789") == "" {
			return overflowing{e, json.RawMessage(value)}
		}
		return mapped
	})
}

// blankMutants forward a blank message from one carrier (SHAPE-07).
func blankMutants() []Mutant {
	blank := func(v gjson.Result) bool { return v.Type == gjson.String && strings.TrimSpace(v.Str) == "" }
	var all []Mutant
	for _, c := range []struct {
		id   string
		find func(body gjson.Result) gjson.Result
	}{
		{"detail", func(body gjson.Result) gjson.Result { return body.Get("detail") }},
		{"message", func(body gjson.Result) gjson.Result { return body.Get("message") }},
		{"json-string", func(body gjson.Result) gjson.Result { return body }},
		{"joined", func(body gjson.Result) gjson.Result { return body.Get("message.0") }},
	} {
		all = append(all, mutant("shape-blank-"+c.id, "It forwards a blank message from the carrier "+c.id+".",
			failing(func(resp envelope.Response, e *schemas.BackendError) {
				text := string(resp.Body)
				if !gjson.Valid(text) || len(e.Fields) > 0 {
					return
				}
				if found := c.find(gjson.Parse(text)); blank(found) {
					e.Message = found.Str
				}
			})))
	}
	for _, c := range []struct{ id, path string }{{"field", "errors.item"}, {"list-entry", "message"}} {
		all = append(all, mutant("shape-blank-"+c.id, "It forwards a blank field message.",
			failing(func(resp envelope.Response, e *schemas.BackendError) {
				for _, v := range gjson.GetBytes(resp.Body, c.path).Array() {
					if blank(v) && len(e.Fields) > 0 {
						e.Fields = append(e.Fields, schemas.FieldError{Message: v.Str})
					}
				}
			})))
	}
	all = append(all,
		mutant("shape-blank-plain", "It forwards a text of blanks.", failing(func(resp envelope.Response, e *schemas.BackendError) {
			if text := string(resp.Body); text != "" && strings.TrimSpace(text) == "" {
				e.Message = text
			}
		})),
		mutant("shape-blank-standard", "It has no standard messages.", mapping(func(m *envelope.Mapper) {
			was := m.Screen
			m.Screen = func(c envelope.Carrier, raw string) (string, bool) {
				text, ok := was(c, raw)
				return text, ok || text == "" && c != envelope.FromFieldName
			}
		})),
		mutant("shape-blank-host", "It forwards what a recogniser of the host gives, blank or not.", mapping(func(m *envelope.Mapper) {
			was := m.Screen
			m.Screen = func(c envelope.Carrier, raw string) (string, bool) {
				text, ok := was(c, raw)
				return text, ok || text == "" && raw != "" && c == envelope.FromHost
			}
		})),
		mutant("shape-blank-refusal", "It says nothing for an internal_error that it withholds.", mapping(func(m *envelope.Mapper) { m.Refusals.WithheldInternal = " " })),
	)
	return group(breaks("SHAPE-07"), all...)
}
