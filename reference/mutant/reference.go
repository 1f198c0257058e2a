package mutant

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/reference/leak"
	"example.com/touchstone/reference/serve"
	"example.com/touchstone/schemas"
)

func referenceMutants() []Mutant {
	names := envelope.NewMapper().ReferenceHeaders
	var all []Mutant
	for i, name := range names {
		id := strings.ToLower(name)
		all = append(all, mutant("reference-"+id+"-lost", "It does not read "+name+".", mapping(func(m *envelope.Mapper) {
			m.ReferenceHeaders = slices.DeleteFunc(m.ReferenceHeaders, func(n string) bool { return n == name })
		})))
		if i+1 < len(names) {
			all = append(all, mutant("reference-"+id+"-after-"+strings.ToLower(names[i+1]), "It prefers "+names[i+1]+" to "+name+".", mapping(func(m *envelope.Mapper) {
				m.ReferenceHeaders[i], m.ReferenceHeaders[i+1] = m.ReferenceHeaders[i+1], m.ReferenceHeaders[i]
			})))
		}
	}
	for _, status := range []int{500, 501, 502, 503, 504, 520} {
		all = append(all, mutant(fmt.Sprintf("reference-not-on-%d", status), fmt.Sprintf("It gives a %d no reference from a header.", status), failing(func(resp envelope.Response, e *schemas.BackendError) {
			if e.Status == status && len(resp.Body) == 0 && e.Reference != "" {
				e.Message = strings.ReplaceAll(e.Message, " Reference: "+e.Reference+".", "")
				e.Reference = ""
			}
		})))
	}
	for _, status := range []int{400, 404, 408, 429} {
		all = append(all, mutant(fmt.Sprintf("reference-on-%d", status), fmt.Sprintf("It gives a %d a reference.", status), mapping(func(m *envelope.Mapper) {
			was := m.Referenced
			m.Referenced = func(s int) bool { return s == status || was(s) }
		})))
	}
	return group(breaks("HEADER-04"), append(all,
		mutant("reference-blank-decides", "It stops at a reference header that is blank.", responding(func(resp *envelope.Response) {
			for _, name := range names {
				if values := resp.Header[name]; len(values) > 0 {
					if strings.TrimSpace(values[0]) == "" {
						for _, later := range names {
							resp.Header.Del(later)
						}
					}
					return
				}
			}
		})),
		mutant("reference-not-trimmed", "It does not trim a reference.", failing(func(resp envelope.Response, e *schemas.BackendError) {
			if value := resp.Header.Get("X-Request-Id"); e.Reference != "" && strings.TrimSpace(value) == e.Reference && value != e.Reference {
				e.Message = strings.ReplaceAll(e.Message, e.Reference, value)
				e.Reference = value
			}
		})),
		mutant("reference-without-blanks", "It does not take a reference with a blank in it.", mapping(func(m *envelope.Mapper) {
			was := m.Screen
			m.Screen = func(c envelope.Carrier, raw string) (string, bool) {
				text, ok := was(c, raw)
				return text, ok && (c != envelope.FromReferenceHeader || !strings.Contains(text, " "))
			}
		})),
	)...)
}

func traceIDMutants() []Mutant {
	fits := envelope.NewMapper().TraceID
	accepting := func(id, doc string, accept func(value string) bool) Mutant {
		return mutant("trace-id-"+id, doc, mapping(func(m *envelope.Mapper) {
			m.TraceID = func(value string) bool { return fits(value) || accept(value) }
		}))
	}
	refusing := func(id, doc string, refuse func(value string) bool) Mutant {
		return mutant("trace-id-"+id, doc, mapping(func(m *envelope.Mapper) {
			m.TraceID = func(value string) bool { return fits(value) && !refuse(value) }
		}))
	}
	var all []Mutant
	for _, extra := range []struct{ id, characters string }{{"blank", " "}, {"slash", "/"}, {"plus", "+"}, {"at-sign", "@"}, {"accent", "é"}} {
		all = append(all, accepting("with-"+extra.id, fmt.Sprintf("A traceId may hold %q for it.", extra.characters), func(value string) bool {
			return value == strings.TrimSpace(value) && strings.ContainsAny(value, extra.characters) && fits(strings.NewReplacer(extra.characters, "").Replace(value))
		}))
	}
	for _, lost := range []struct{ id, characters string }{{"colon", ":"}, {"underscore", "_"}, {"dot", "."}, {"hyphen", "-"}} {
		all = append(all, refusing("without-"+lost.id, fmt.Sprintf("A traceId must not hold %q for it.", lost.characters), func(value string) bool { return strings.ContainsAny(value, lost.characters) }))
	}
	// reported gives a 500 without a reference this one.
	reported := func(id, doc string, find func(resp envelope.Response) string) Mutant {
		return mutant("trace-id-"+id, doc, failing(func(resp envelope.Response, e *schemas.BackendError) {
			value := find(resp)
			if value == "" || e.Reference != "" {
				return
			}
			e.Reference = value
			if e.Error == schemas.BackendFailed {
				e.Message += " Reference: " + value + "."
			}
		}))
	}
	member := func(resp envelope.Response, path string) gjson.Result {
		if !gjson.ValidBytes(resp.Body) || !strings.HasSuffix(resp.Header.Get("Content-Type"), "json") {
			return gjson.Result{}
		}
		return gjson.GetBytes(resp.Body, path)
	}
	return group(breaks("HEADER-05"), append(all,
		mutant("trace-id-off", "It does not read a traceId.", mapping(func(m *envelope.Mapper) { m.TraceID = func(string) bool { return false } })),
		reported("line-feed", "It takes a traceId with a line feed at its end, as a dollar sign in an expression does, and trims it.", func(resp envelope.Response) string {
			if text, ok := strings.CutSuffix(member(resp, "traceId").Str, "\n"); ok && fits(text) {
				return text
			}
			return ""
		}),
		accepting("trimmed", "It takes a traceId with white space around it.", func(value string) bool { return fits(strings.TrimSpace(value)) }),
		accepting("long", "It takes a traceId of 101 characters.", func(value string) bool { return len(value) == 101 && fits(value[1:]) }),
		accepting("unbounded", "It takes a traceId of any length.", func(value string) bool { return len(value) > 100 && fits(value[:100]) }),
		refusing("short", "It takes a traceId of 99 characters at most.", func(value string) bool { return len(value) > 99 }),
		refusing("single", "It takes a traceId of two characters at least.", func(value string) bool { return len(value) < 2 }),
		refusing("upper", "It takes a traceId in lower case only.", func(value string) bool { return value != strings.ToLower(value) }),
		refusing("digits", "A traceId must not begin with a digit for it.", func(value string) bool { return '0' <= value[0] && value[0] <= '9' }),
		reported("number", "It takes a traceId that is a number.", func(resp envelope.Response) string {
			if v := member(resp, "traceId"); v.Type == gjson.Number && isServerError(resp.Status) {
				return v.Raw
			}
			return ""
		}),
		reported("of-list", "It takes the first entry of a traceId that is a list.", func(resp envelope.Response) string { return member(resp, "traceId.0").Str }),
		reported("of-object", "It takes the id of a traceId that is an object.", func(resp envelope.Response) string { return member(resp, "traceId.id").Str }),
		reported("nested", "It looks for a traceId inside other objects.", func(resp envelope.Response) string { return member(resp, "error.traceId").Str }),
		reported("in-list", "It looks for a traceId inside a list.", func(resp envelope.Response) string { return member(resp, "0.traceId").Str }),
		reported("on-401", "It gives a 401 its traceId.", func(resp envelope.Response) string {
			if resp.Status == 401 {
				return member(resp, "traceId").Str
			}
			return ""
		}),
		reported("declared-text", "It reads a traceId of JSON that was declared as text.", func(resp envelope.Response) string {
			if isServerError(resp.Status) && resp.Header.Get("Content-Type") == "text/plain" {
				return gjson.GetBytes(resp.Body, "traceId").Str
			}
			return ""
		}),
		mutant("trace-id-undeclared-lost", "It reads a traceId only where a content type is given.", responding(func(resp *envelope.Response) {
			if isServerError(resp.Status) && resp.Header.Get("Content-Type") == "" {
				resp.Body = nil
			}
		})),
		mutant("trace-id-not-on-503", "It reads the traceId of a 500 only.", mappingWhen(func(status int) bool { return status == 503 }, func(m *envelope.Mapper) {
			m.TraceID = func(string) bool { return false }
		})),
		mutant("trace-id-before-header", "It prefers a traceId to a reference header.", responding(func(resp *envelope.Response) {
			if fits(gjson.GetBytes(resp.Body, "traceId").Str) && isServerError(resp.Status) {
				resp.Header.Del("X-Trace-Id")
			}
		})),
	)...)
}

func isServerError(status int) bool { return status >= 500 }

func withheldReferenceMutants() []Mutant {
	filter := leak.Default()
	return group(breaks("HEADER-06"),
		mutant("reference-unfiltered", "It does not filter a reference header.", unfiltered(envelope.FromReferenceHeader)),
		mutant("reference-trace-id-unfiltered", "It does not filter a traceId.", unfiltered(envelope.FromTraceID)),
		mutant("reference-withheld-placeholder", "It says withheld for a reference that is.", mapping(func(m *envelope.Mapper) {
			was := m.Screen
			m.Screen = func(c envelope.Carrier, raw string) (string, bool) {
				text, ok := was(c, raw)
				return text, ok || c == envelope.FromReferenceHeader
			}
		})),
		mutant("reference-withheld-sentence", "It keeps the sentence about a reference that it withholds.", failing(func(resp envelope.Response, e *schemas.BackendError) {
			if value := resp.Header.Get("X-Request-Id"); e.Error == schemas.BackendFailed && e.Reference == "" && filter.Withholds(value) {
				e.Message += " Reference: withheld."
			}
		})),
		mutant("reference-control-characters", "It takes a reference with control characters.", failing(func(resp envelope.Response, e *schemas.BackendError) {
			value := strings.TrimSpace(resp.Header.Get("X-Request-Id"))
			if e.Error == schemas.BackendFailed && e.Reference == "" && value != "" && !filter.Withholds(leak.Normalize(value)) {
				e.Reference = value
				e.Message += " Reference: " + value + "."
			}
		})),
		mutant("reference-tab", "It takes a reference with a tab.", referenceWith("\t")),
		mutant("reference-line-break", "It takes a reference with a line break.", referenceWith("\r\n")),
		mutant("reference-delete", "It takes a reference with a delete character.", referenceWith("\x7f")),
		mutant("reference-escape", "It takes a reference with an escape sequence.", referenceWith("\x1b")),
		mutant("reference-control", "It takes a reference with another control character.", referenceWith("\x01")),
	)
}

// referenceWith takes a reference that holds these characters.
func referenceWith(characters string) func() serve.Reference {
	return failing(func(resp envelope.Response, e *schemas.BackendError) {
		value := strings.TrimSpace(resp.Header.Get("X-Request-Id"))
		if e.Error == schemas.BackendFailed && e.Reference == "" && strings.Contains(value, characters) {
			e.Reference = value
			e.Message += " Reference: " + value + "."
		}
	})
}
