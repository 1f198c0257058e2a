package mutant

import (
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"

	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/reference/leak"
	"example.com/touchstone/reference/serve"
	"example.com/touchstone/schemas"
)

// declaredMutants take the content type of an error for something else (FORWARD-06).
func declaredMutants() []Mutant {
	parsed := func(id, doc, mediaType string) Mutant {
		return mutant(id, doc, mappingWhen(isClientError, func(m *envelope.Mapper) {
			was := m.ParsesAsJSON
			m.ParsesAsJSON = func(given string) bool { return given == mediaType || was(given) }
		}))
	}
	return group(breaks("FORWARD-06"),
		parsed("declared-plain-parsed", "It parses text/plain as JSON.", "text/plain"),
		parsed("declared-csv-parsed", "It parses text/csv as JSON.", "text/csv"),
		mutant("declared-text-json-lost", "It takes text/json for text.", mappingWhen(isError, func(m *envelope.Mapper) {
			was := m.ParsesAsJSON
			m.ParsesAsJSON = func(given string) bool { return given != "text/json" && was(given) }
		})),
		mutant("declared-json-before-html", "It looks for HTML only where a body is not declared as JSON.", htmlAfterJSON(isError)),
		mutant("declared-json-as-html", "It parses JSON that was declared as HTML.", jsonAsHTML(isError)),
	)
}

// screening changes what happens to a text before and after the filter.
func screening(with func(filter leak.Filter) envelope.Screen) func() serve.Reference {
	return mapping(func(m *envelope.Mapper) { m.Screen = with(leak.Default()) })
}

// laidOut filters as ever and lays the text out in another way.
func laidOut(layout func(raw string) string) func() serve.Reference {
	return screening(func(filter leak.Filter) envelope.Screen {
		return func(_ envelope.Carrier, raw string) (string, bool) {
			text := leak.Normalize(raw)
			if text == "" || filter.Withholds(text) {
				return text, false
			}
			return layout(raw), true
		}
	})
}

func whiteSpaceMutants() []Mutant {
	return group(breaks("FORWARD-07"),
		mutant("space-kept", "It forwards white space as it is.", laidOut(func(raw string) string { return raw })),
		mutant("space-trimmed-only", "It only trims the ends.", laidOut(strings.TrimSpace)),
		mutant("space-not-trimmed", "It does not trim the ends.", laidOut(func(raw string) string {
			text := leak.Normalize(raw)
			if unicode.IsSpace(rune(raw[0])) {
				text = " " + text
			}
			return text
		})),
		mutant("space-lines-kept", "It keeps line breaks.", laidOut(func(raw string) string {
			var lines []string
			for line := range strings.SplitSeq(strings.TrimSpace(raw), "\n") {
				lines = append(lines, strings.Join(strings.Fields(line), " "))
			}
			return strings.Join(lines, "\n")
		})),
		mutant("space-single-kept", "It replaces runs of white space only, not single characters.", laidOut(func(raw string) string {
			raw = strings.TrimSpace(raw)
			if leak.Normalize(raw) == strings.NewReplacer("\n", " ", "\t", " ").Replace(raw) {
				return raw
			}
			return leak.Normalize(raw)
		})),
		mutant("space-removed", "It removes line breaks.", laidOut(func(raw string) string {
			return leak.Normalize(strings.NewReplacer("\r\n", "", "\n", "").Replace(raw))
		})),
	)
}

// withheldStatusMutants forward the body of a status that has none to forward.
func withheldStatusMutants() []Mutant {
	reading := func(statuses func(int) bool) func() serve.Reference {
		return mapping(func(m *envelope.Mapper) {
			was := m.Unread
			m.Unread = func(status int) bool { return was(status) && !statuses(status) }
		})
	}
	// partly forwards one recogniser's part of the body.
	partly := func(statuses func(int) bool, names ...string) func() serve.Reference {
		return mappingWhen(statuses, func(m *envelope.Mapper) {
			m.Unread = func(int) bool { return false }
			m.Recognizers = slices.DeleteFunc(slices.Clone(m.Recognizers), func(r envelope.BodyRecognizer) bool { return !slices.Contains(names, r.Name) })
		})
	}
	is := func(status int) func(int) bool { return func(s int) bool { return s == status } }
	server := func(status int) bool { return status >= 500 }
	unauthenticated := []Mutant{mutant("unread-401-forwarded", "It forwards the body of a 401.", reading(is(401)))}
	failed := []Mutant{mutant("unread-5xx-forwarded", "It forwards the body of every 5xx.", reading(server))}
	for _, status := range []int{500, 501, 502, 503, 504, 520, 599} {
		failed = append(failed, mutant(fmt.Sprintf("unread-%d-forwarded", status), fmt.Sprintf("It forwards the body of a %d.", status), reading(is(status))))
	}
	for _, r := range envelope.NewMapper().Recognizers {
		id := strings.ReplaceAll(r.Name, " ", "-")
		unauthenticated = append(unauthenticated, mutant("unread-401-"+id, "It forwards the "+r.Name+" of a 401.", partly(is(401), r.Name)))
		failed = append(failed, mutant("unread-5xx-"+id, "It forwards the "+r.Name+" of a 5xx.", partly(server, r.Name)))
	}
	var pages []Mutant
	for _, form := range htmlForms() {
		pages = append(pages, mutant("html-"+form.id, "On errors it "+form.doc+".", htmlMutation(isError, form.id, form.edit)))
	}
	for _, status := range []int{403, 404, 409, 408, 429, 451} {
		pages = append(pages, mutant(fmt.Sprintf("html-%d", status), fmt.Sprintf("It forwards the HTML of a %d.", status),
			mappingWhen(is(status), func(m *envelope.Mapper) { m.HTML.MediaTypes, m.HTML.Starts = nil, nil })))
	}
	pages = append(pages, mutant("html-text", "It forwards the text of an HTML page without its tags.", failing(func(resp envelope.Response, e *schemas.BackendError) {
		if body := string(resp.Body); strings.HasPrefix(body, "<p>") && e.Status < 500 && e.Status != 401 {
			e.Message = strings.TrimSuffix(strings.TrimPrefix(body, "<p>"), "</p>")
		}
	})))
	var prefaced []Mutant
	for _, p := range []struct{ id, doc, prefix string }{
		{"comment", "begins with a comment", "<!--"}, {"prolog", "begins with an XML prolog", "<?"}, {"mark", "begins with a byte-order mark", "\uFEFF"},
	} {
		prefaced = append(prefaced, mutant("html-behind-"+p.id, "It does not know HTML that "+p.doc+".", around(func(m *envelope.Mapper, resp envelope.Response, fields envelope.FieldContext) schemas.Envelope {
			if strings.HasPrefix(string(resp.Body), p.prefix) {
				other := *m
				other.HTML.Starts = nil
				m = &other
			}
			return m.Map(resp, fields)
		})))
	}
	return slices.Concat(group(breaks("FORWARD-08"), unauthenticated...), group(breaks("FORWARD-09"), failed...),
		group(breaks("FORWARD-10"), pages...), group(breaks("FORWARD-14"), prefaced...))
}

// verbatimMutants change or withhold clean messages.
func verbatimMutants() []Mutant {
	said := func(id, doc string, edit func(text string) string) Mutant {
		return mutant(id, doc, laidOut(func(raw string) string { return edit(leak.Normalize(raw)) }))
	}
	mapped := func(id, doc string, edit func(r rune) rune) Mutant {
		return said(id, doc, func(text string) string { return strings.Map(edit, text) })
	}
	onlyIf := func(id, doc string, fits func(text string) bool) Mutant {
		return mutant(id, doc, screening(func(filter leak.Filter) envelope.Screen {
			was := envelope.ScreenWith(filter)
			return func(c envelope.Carrier, raw string) (string, bool) {
				text, ok := was(c, raw)
				return text, ok && fits(text)
			}
		}))
	}
	return group(breaks("FORWARD-11"),
		mapped("verbatim-ascii-question-marks", "It replaces what is not ASCII.", func(r rune) rune {
			if r > unicode.MaxASCII {
				return '?'
			}
			return r
		}),
		mapped("verbatim-combining-lost", "It drops combining marks.", func(r rune) rune {
			if unicode.Is(unicode.Mn, r) {
				return -1
			}
			return r
		}),
		mapped("verbatim-astral-lost", "It replaces characters beyond the basic plane.", func(r rune) rune {
			if r > 0xFFFF {
				return unicode.ReplacementChar
			}
			return r
		}),
		said("verbatim-html-escaped", "It writes characters that HTML reserves as HTML does.", html.EscapeString),
		said("verbatim-html-unescaped", "It resolves entities of HTML.", html.UnescapeString),
		said("verbatim-percent-decoded", "It decodes percent-encodings.", func(text string) string {
			if decoded, err := url.PathUnescape(text); err == nil {
				return decoded
			}
			return text
		}),
		onlyIf("verbatim-ascii-only", "It withholds what is not ASCII.", func(text string) bool {
			return strings.IndexFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) < 0
		}),
		onlyIf("verbatim-latin-only", "It withholds other scripts than the Latin one.", func(text string) bool {
			return strings.IndexFunc(text, func(r rune) bool { return unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) }) < 0
		}),
		mutant("verbatim-known-envelopes-only", "It withholds the message of an envelope with members in Pascal case.", failing(func(resp envelope.Response, e *schemas.BackendError) {
			if gjson.GetBytes(resp.Body, "Succeeded").Exists() {
				e.Message = "The request conflicts with the current state of the resource (409). Re-read the resource before retrying."
			}
		})),
	)
}

// decidingMutants look further where the first recogniser's text is withheld,
// or withhold what may be forwarded (FORWARD-13).
func decidingMutants() []Mutant {
	// instead replaces a withheld message of one recogniser.
	instead := func(id, doc, name, key string) Mutant {
		return mutant(id, doc, recognizing(name, func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			seen, ok := was(m, doc)
			if _, clean := m.Screen(seen.Carrier, seen.Message); ok && seen.Message != "" && !clean {
				if text := doc.Value.Get(key).Str; text != "" {
					return saying(text, seen.Carrier)
				}
			}
			return seen, ok
		}))
	}
	all := []Mutant{
		instead("decides-title", "It forwards the title where it withholds the detail.", "problem details", "title"),
		instead("decides-other-key", "It forwards the next key where it withholds the first.", "message envelope", "reason"),
		instead("decides-nest-error", "It forwards the error member where it withholds a Nest message.", "nest", "error"),
		instead("decides-next-recogniser", "It tries the next recogniser where it withholds problem details.", "problem details", "message"),
		mutant("decides-joined-rest", "It forwards the clean entries of a joined Nest list.", recognizing("nest", func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			seen, ok := was(m, doc)
			if seen.Carrier != envelope.FromNestJoined {
				return seen, ok
			}
			var clean []string
			for _, v := range doc.Value.Get("message").Array() {
				if text, fine := m.Screen(seen.Carrier, v.Str); fine {
					clean = append(clean, text)
				}
			}
			seen.Message = strings.Join(clean, "; ")
			return seen, ok
		})),
	}
	for _, status := range []int{408, 429} {
		all = append(all, mutant(fmt.Sprintf("decides-%d-withheld", status), fmt.Sprintf("It withholds the body of a %d.", status), failing(func(resp envelope.Response, e *schemas.BackendError) {
			if e.Status == status && e.RetryAfterSeconds == nil {
				e.Message = map[int]string{
					408: "The backend is temporarily unavailable (408). Retry later.",
					429: "The backend is rate-limiting this caller (429).",
				}[status]
			}
		})))
	}
	return group(breaks("FORWARD-13"), all...)
}
