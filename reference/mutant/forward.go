package mutant

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/reference/leak"
	"example.com/touchstone/reference/serve"
	"example.com/touchstone/schemas"
)

func forwardMutants() []Mutant {
	return slices.Concat(
		dictionaryMutants(), problemMutants(), nestMutants(), messageKeyMutants(), plainMutants(),
		declaredMutants(), whiteSpaceMutants(), withheldStatusMutants(), verbatimMutants(), decidingMutants(),
	)
}

type recognizer = func(*envelope.Mapper, *envelope.Document) (envelope.Recognition, bool)

// off is a recogniser that takes nothing.
func off(recognizer, *envelope.Mapper, *envelope.Document) (envelope.Recognition, bool) {
	return envelope.Recognition{}, false
}

// swapped exchanges a recogniser with the one that follows it.
func swapped(name string) func() serve.Reference {
	return mapping(func(m *envelope.Mapper) {
		at := slices.IndexFunc(m.Recognizers, func(r envelope.BodyRecognizer) bool { return r.Name == name })
		m.Recognizers[at], m.Recognizers[at+1] = m.Recognizers[at+1], m.Recognizers[at]
	})
}

// saying is a recognition of a message.
func saying(text string, c envelope.Carrier) (envelope.Recognition, bool) {
	return envelope.Recognition{Message: text, Carrier: c}, text != ""
}

func dictionaryMutants() []Mutant {
	const name = "field dictionary"
	// only takes a dictionary that passes a test.
	only := func(id, doc string, fits func(errors gjson.Result) bool) Mutant {
		return mutant(id, doc, recognizing(name, func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			if !fits(doc.Value.Get("errors")) {
				return envelope.Recognition{}, false
			}
			return was(m, doc)
		}))
	}
	anyMessage := func(errors gjson.Result, is func(gjson.Result) bool) bool {
		found := false
		errors.ForEach(func(_, v gjson.Result) bool { found = found || is(v); return !found })
		return found
	}
	edited := func(id, doc string, edit func(seen *envelope.Recognition, doc *envelope.Document)) Mutant {
		return mutant(id, doc, recognizing(name, func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			seen, ok := was(m, doc)
			if ok {
				edit(&seen, doc)
			}
			return seen, ok
		}))
	}
	return group(breaks("FORWARD-01"),
		mutant("dictionary-off", "It does not know the field dictionary.", recognizing(name, off)),
		mutant("dictionary-after-problem", "It looks for problem details before a field dictionary.", swapped(name)),
		only("dictionary-lists-only", "It takes dictionaries of lists only.", func(errors gjson.Result) bool {
			return !anyMessage(errors, func(v gjson.Result) bool { return v.Type == gjson.String })
		}),
		only("dictionary-strings-only", "It takes dictionaries of strings only.", func(errors gjson.Result) bool {
			return !anyMessage(errors, gjson.Result.IsArray)
		}),
		only("dictionary-all-strings", "It takes no dictionary that holds anything but strings.", func(errors gjson.Result) bool {
			return !anyMessage(errors, func(v gjson.Result) bool { return v.Type == gjson.Number })
		}),
		edited("dictionary-sorted", "It sorts the entries of a field dictionary.", func(seen *envelope.Recognition, _ *envelope.Document) {
			slices.SortStableFunc(seen.Fields, func(a, b schemas.FieldError) int { return strings.Compare(a.Name, b.Name) })
		}),
		edited("dictionary-numbers", "It writes numbers in a field dictionary as text.", func(seen *envelope.Recognition, doc *envelope.Document) {
			doc.Value.Get("errors").ForEach(func(name, v gjson.Result) bool {
				if v.Type == gjson.Number {
					seen.Fields = append(seen.Fields, schemas.FieldError{Name: name.Str, Message: v.Raw})
				}
				return true
			})
		}),
		edited("dictionary-objects", "It takes objects in a field dictionary for lists.", func(seen *envelope.Recognition, doc *envelope.Document) {
			doc.Value.Get("errors.item").ForEach(func(_, v gjson.Result) bool {
				if v.IsObject() || v.IsArray() {
					seen.Fields = append(seen.Fields, schemas.FieldError{Name: "item", Message: v.Raw})
				}
				return true
			})
		}),
		edited("dictionary-message-beside", "It forwards a message that stands beside a field dictionary.", func(seen *envelope.Recognition, doc *envelope.Document) {
			for _, key := range []string{"detail", "title", "message"} {
				if v := doc.Value.Get(key); v.Type == gjson.String && seen.Message == "" {
					seen.Message = v.Str
				}
			}
		}),
		mutant("dictionary-decides-empty", "It stops at a field dictionary with nothing in it.", recognizing(name, func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			seen, ok := was(m, doc)
			return seen, ok || doc.Value.Get("errors").IsObject()
		})),
		mutant("dictionary-of-list", "It takes a list under errors for field errors.", recognizing(name, func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			seen, ok := was(m, doc)
			if list := doc.Value.Get("errors"); !ok && list.IsArray() && list.Get("0").Type == gjson.String {
				for _, v := range list.Array() {
					seen.Fields = append(seen.Fields, schemas.FieldError{Message: v.Str})
				}
				ok = true
			}
			return seen, ok
		})),
		mutant("dictionary-of-text", "It takes a string under errors for the message.", recognizing(name, func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			if text := doc.Value.Get("errors"); text.Type == gjson.String {
				return saying(text.Str, envelope.FromMessageKey)
			}
			return was(m, doc)
		})),
		mutant("dictionary-undeclared", "It takes a field dictionary only where a content type is given.", recognizing(name, func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			if doc.MediaType == "" {
				return envelope.Recognition{}, false
			}
			return was(m, doc)
		})),
	)
}

func problemMutants() []Mutant {
	const name = "problem details"
	text := func(doc *envelope.Document, key string) string {
		if v := doc.Value.Get(key); doc.Value.IsObject() && v.Type == gjson.String && !leak.Blank(v.Str) {
			return v.Str
		}
		return ""
	}
	isProblem := func(doc *envelope.Document) bool {
		return doc.MediaType == "application/problem+json" || doc.Value.IsObject() && doc.Value.Get("status").Type == gjson.Number
	}
	only := func(id, doc string, fits func(doc *envelope.Document) bool) Mutant {
		return mutant(id, doc, recognizing(name, func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			if !fits(doc) {
				return envelope.Recognition{}, false
			}
			return was(m, doc)
		}))
	}
	return append(group(breaks("FORWARD-02"),
		mutant("problem-off", "It does not know problem details.", recognizing(name, off)),
		mutant("problem-after-nest", "It looks for a Nest body before problem details.", swapped(name)),
		only("problem-by-type-only", "It knows problem details by the media type only.", func(doc *envelope.Document) bool { return doc.MediaType == "application/problem+json" }),
		only("problem-by-members-only", "It knows problem details by their members only.", func(doc *envelope.Document) bool { return doc.Value.Get("status").Type == gjson.Number }),
		only("problem-needs-detail", "It knows problem details by a detail only.", func(doc *envelope.Document) bool { return text(doc, "detail") != "" }),
		only("problem-needs-title", "It knows problem details by a title only.", func(doc *envelope.Document) bool { return text(doc, "title") != "" }),
		mutant("problem-title-first", "It prefers the title to the detail.", recognizing(name, func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			if title := text(doc, "title"); title != "" && isProblem(doc) {
				return saying(title, envelope.FromProblemTitle)
			}
			return was(m, doc)
		})),
		mutant("problem-decides-empty", "It stops at problem details with neither detail nor title.", recognizing(name, func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			seen, ok := was(m, doc)
			return seen, ok || isProblem(doc)
		})),
		mutant("problem-detail-number", "It writes a detail that is a number as text.", recognizing(name, func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			if detail := doc.Value.Get("detail"); isProblem(doc) && detail.Type == gjson.Number {
				return saying(detail.Raw, envelope.FromProblemDetail)
			}
			return was(m, doc)
		})),
		mutant("problem-status-text", "It takes a status that is a string for the one of problem details.", recognizing(name, func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			if doc.Value.Get("status").Type == gjson.String {
				return saying(text(doc, "title"), envelope.FromProblemTitle)
			}
			return was(m, doc)
		})),
		mutant("problem-type-exact", "It knows the media type of problem details in lower case and without parameters only.", responding(func(resp *envelope.Response) {
			if given := resp.Header.Get("Content-Type"); isError(resp.Status) && strings.Contains(strings.ToLower(given), "problem+json") && given != "application/problem+json" {
				resp.Header.Set("Content-Type", "application/json")
			}
		})),
	), group(breaks("FORWARD-02"), mutant("problem-without-status", "It takes any object with a title or a detail for problem details.",
		recognizing(name, func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			if detail := text(doc, "detail"); detail != "" {
				return saying(detail, envelope.FromProblemDetail)
			}
			return saying(text(doc, "title"), envelope.FromProblemTitle)
		})))...)
}

func nestMutants() []Mutant {
	const name = "nest"
	list := func(doc *envelope.Document) []string {
		var texts []string
		if message := doc.Value.Get("message"); doc.Value.IsObject() && message.IsArray() {
			for _, v := range message.Array() {
				if v.Type == gjson.String {
					texts = append(texts, v.Str)
				}
			}
		}
		return texts
	}
	fields := func(texts []string) (envelope.Recognition, bool) {
		seen := envelope.Recognition{Carrier: envelope.FromNestEntry, GuessNames: true}
		for _, text := range texts {
			seen.Fields = append(seen.Fields, schemas.FieldError{Message: text})
		}
		return seen, len(texts) > 0
	}
	with := func(id, doc string, with func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool)) Mutant {
		return mutant(id, doc, recognizing(name, with))
	}
	joined := func(id, doc, separator string) Mutant {
		return with(id, doc, func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			seen, ok := was(m, doc)
			if seen.Carrier == envelope.FromNestJoined {
				seen.Message = strings.Join(list(doc), separator)
			}
			return seen, ok
		})
	}
	return group(breaks("FORWARD-03"),
		with("nest-off", "It does not know the Nest shape.", off),
		joined("nest-joined-by-comma", "It joins a Nest list with commas.", ", "),
		joined("nest-joined-by-line", "It joins a Nest list with line breaks.", "\n"),
		with("nest-joined-on-422", "It joins a Nest list on a 422 too.", func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			if doc.Status == 422 {
				return saying(strings.Join(list(doc), "; "), envelope.FromNestJoined)
			}
			return was(m, doc)
		}),
		with("nest-fields-everywhere", "It makes field errors of a Nest list whatever the status.", func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			seen, ok := was(m, doc)
			if seen.Carrier == envelope.FromNestJoined {
				return fields(list(doc))
			}
			return seen, ok
		}),
		with("nest-first-of-list", "It forwards the first entry of a Nest list only.", func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			seen, ok := was(m, doc)
			if seen.Carrier == envelope.FromNestJoined {
				seen.Message = list(doc)[0]
			}
			return seen, ok
		}),
		with("nest-code-text", "It takes a statusCode that is a string.", func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			if doc.Value.Get("statusCode").Type == gjson.String {
				return fields(list(doc))
			}
			return was(m, doc)
		}),
		with("nest-without-code", "It takes a list under message for the Nest shape, statusCode or not.", func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			if doc.Value.Get("statusCode").Type == gjson.Null {
				if seen, ok := fields(list(doc)); ok {
					return seen, ok
				}
			}
			return was(m, doc)
		}),
		with("nest-decides-empty", "It stops at a Nest body with an empty list.", func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			seen, ok := was(m, doc)
			return seen, ok || doc.Value.Get("message").Raw == "[]"
		}),
		with("nest-mixed-list", "It takes the strings of a mixed Nest list.", func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			seen, ok := was(m, doc)
			if texts := list(doc); !ok && doc.Value.Get("statusCode").Type == gjson.Number && len(texts) > 0 && strings.TrimSpace(texts[0]) != "" {
				return fields(texts)
			}
			return seen, ok
		}),
		with("nest-decides-object", "It stops at a Nest body whose message is an object.", func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			seen, ok := was(m, doc)
			return seen, ok || doc.Value.Get("message").IsObject()
		}),
		with("nest-decides-blank", "It stops at a Nest body with an empty message.", func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			seen, ok := was(m, doc)
			return seen, ok || doc.Value.Get("statusCode").Type == gjson.Number && doc.Value.Get("message").Raw == `""`
		}),
		mutant("nest-after-envelope", "It looks for a message envelope before the Nest shape.", swapped(name)),
		with("nest-error-first", "It prefers the error member of a Nest body to its message.", func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			seen, ok := was(m, doc)
			if short := doc.Value.Get("error").Str; short != "" && seen.Carrier == envelope.FromNestMessage {
				seen.Message = short
			}
			return seen, ok
		}),
	)
}

func plainMutants() []Mutant {
	const name = "plain text"
	except := func(id, doc string, withholds func(doc *envelope.Document) bool) Mutant {
		return mutant(id, doc, recognizing(name, func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			if withholds(doc) {
				return envelope.Recognition{}, false
			}
			return was(m, doc)
		}))
	}
	return group(breaks("FORWARD-05"),
		except("plain-undeclared-lost", "It withholds a text without a content type.", func(doc *envelope.Document) bool { return doc.MediaType == "" }),
		except("plain-xml-lost", "It withholds XML.", func(doc *envelope.Document) bool { return strings.HasSuffix(doc.MediaType, "xml") }),
		except("plain-csv-lost", "It forwards text/plain only.", func(doc *envelope.Document) bool {
			return doc.MediaType == "text/csv" && !gjson.Valid(doc.Text)
		}),
		except("plain-markup-lost", "It withholds whatever begins with a tag.", func(doc *envelope.Document) bool { return strings.HasPrefix(doc.Text, "<error>") }),
		except("plain-broken-json-lost", "It withholds what was declared as JSON and is none.", func(doc *envelope.Document) bool {
			return strings.HasSuffix(doc.MediaType, "json")
		}),
		except("plain-broken-object-lost", "It withholds broken JSON that begins like an object.", func(doc *envelope.Document) bool {
			return strings.HasSuffix(doc.MediaType, "json") && strings.HasPrefix(doc.Text, "{")
		}),
		mutant("plain-off", "It does not forward text.", recognizing(name, off)),
	)
}
