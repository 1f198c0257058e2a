package mutant

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/tidwall/gjson"

	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/reference/leak"
	"example.com/touchstone/reference/serve"
	"example.com/touchstone/schemas"
)

// Equivalents gives variants that conform: they differ from the reference where
// the rules leave room, and must certify.
func Equivalents() []Mutant {
	return append(spellings(), readings()...)
}

// rewriting changes the text of an envelope.
func rewriting(edit func(text []byte) []byte) func() serve.Reference {
	return func() serve.Reference { return serve.Reference{Emit: edit} }
}

// inStrings rewrites the characters inside of the string literals of a JSON text.
func inStrings(text []byte, write func(out *bytes.Buffer, r rune)) []byte {
	var out bytes.Buffer
	inside, escaped := false, false
	for _, r := range string(text) {
		switch {
		case !inside || escaped || r == '\\' || r == '"':
			if r == '"' && !escaped {
				inside = !inside
			}
			escaped = inside && r == '\\' && !escaped
			out.WriteRune(r)
		default:
			write(&out, r)
		}
	}
	return out.Bytes()
}

// escape writes a character as \u escapes, a surrogate pair where it needs one.
func escape(out *bytes.Buffer, r rune, format string) {
	if hi, lo := utf16.EncodeRune(r); hi != unicode.ReplacementChar {
		fmt.Fprintf(out, format+format, hi, lo)
		return
	}
	fmt.Fprintf(out, format, r)
}

// spellings write the same envelope in other bytes.
func spellings() []Mutant {
	escaping := func(id, doc, format string, which func(r rune) bool) Mutant {
		return mutant(id, doc, rewriting(func(text []byte) []byte {
			return inStrings(text, func(out *bytes.Buffer, r rune) {
				if which(r) {
					escape(out, r, format)
					return
				}
				out.WriteRune(r)
			})
		}))
	}
	indented := func(prefix, indent string) func() serve.Reference {
		return rewriting(func(text []byte) []byte {
			var out bytes.Buffer
			_ = json.Indent(&out, text, prefix, indent) // the reference emits JSON
			return out.Bytes()
		})
	}
	return []Mutant{
		mutant("order-reversed", "It writes the members in reverse.", emitting(func(ms []member) []member {
			var out []member
			for i := range ms {
				out = append(out, ms[len(ms)-1-i])
			}
			return out
		})),
		mutant("order-by-name", "It writes the members in the order of their names.", emitting(func(ms []member) []member {
			var out []member
			for _, name := range []string{"body", "contentType", "error", "fields", "location", "message", "payload", "reference", "retryAfterSeconds", "retryable", "status"} {
				if value := get(ms, name); value != "" {
					out = append(out, member{name, value})
				}
			}
			return out
		})),
		mutant("order-of-field", "It writes the message of a field before its name.", emitting(func(ms []member) []member {
			return editFields(ms, func(f string) string {
				name, message := gjson.Get(f, "name"), gjson.Get(f, "message")
				if !name.Exists() {
					return f
				}
				return `{"message":` + message.Raw + `,"name":` + name.Raw + `}`
			})
		})),
		mutant("indented", "It indents.", indented("", "  ")),
		mutant("indented-with-tabs", "It indents with tabs.", indented("\t", "\t")),
		mutant("blanks-around", "It writes white space around the envelope.", rewriting(func(text []byte) []byte { return []byte("\r\n " + string(text) + "\t\n") })),
		mutant("line-feed-at-end", "It ends the envelope with a line feed.", rewriting(func(text []byte) []byte { return append(text, '\n') })),
		escaping("escapes-beyond-ascii", "It escapes all but ASCII.", `\u%04x`, func(r rune) bool { return r > unicode.MaxASCII }),
		escaping("escapes-in-capitals", "It escapes all but ASCII in upper-case digits.", `\u%04X`, func(r rune) bool { return r > unicode.MaxASCII }),
		escaping("escapes-for-html", "It escapes < > and &.", `\u%04x`, func(r rune) bool { return strings.ContainsRune("<>&", r) }),
		escaping("escapes-quotes", "It escapes ' and + as some frameworks do.", `\u%04X`, func(r rune) bool { return strings.ContainsRune("'+`", r) }),
		escaping("escapes-letters", "It escapes every letter.", `\u%04x`, unicode.IsLetter),
		mutant("escapes-slashes", "It writes slashes with a backslash.", rewriting(func(text []byte) []byte {
			return inStrings(text, func(out *bytes.Buffer, r rune) {
				if r == '/' {
					out.WriteByte('\\')
				}
				out.WriteRune(r)
			})
		})),
		mutant("envelope-as-value", "It answers with the envelope as a value.", func() serve.Reference {
			return serve.Reference{Answer: func(r schemas.AnswerResult) schemas.AnswerResult {
				return schemas.AnswerResult{Envelope: json.RawMessage(*r.Text), IsError: r.IsError}
			}}
		}),
		mutant("flag-false", "It says that a success is no error.", func() serve.Reference {
			return serve.Reference{Answer: func(r schemas.AnswerResult) schemas.AnswerResult {
				if r.IsError == nil {
					r.IsError = new(bool)
				}
				return r
			}}
		}),
		mutant("no-flag", "Its carrier has no flag for errors.", func() serve.Reference {
			return serve.Reference{Answer: func(r schemas.AnswerResult) schemas.AnswerResult {
				r.IsError = nil
				return r
			}}
		}),
		mutant("another-name", "It has another name and version.", func() serve.Reference {
			return serve.Reference{Name: "Another layer", Version: "2026.1-beta"}
		}),
	}
}

// readings differ in what they make of a response, where that is not pinned.
func readings() []Mutant {
	return []Mutant{
		mutant("null-body", "It gives a JSON null as a null body.", succeeding(func(resp envelope.Response, e *schemas.Success) {
			if strings.TrimSpace(string(resp.Body)) == "null" && e.ContentType == "" {
				e.Body = json.RawMessage("null")
			}
		})),
		mutant("text-trimmed", "It trims the text of a success.", succeeding(func(_ envelope.Response, e *schemas.Success) {
			if v := gjson.ParseBytes(e.Body); e.ContentType != "" && v.Type == gjson.String {
				e.Body = json.RawMessage(quote(strings.TrimSpace(v.Str)))
			}
		})),
		mutant("text-not-decoded", "It hands on the mark at the front of a text.", succeeding(func(resp envelope.Response, e *schemas.Success) {
			if bytes.HasPrefix(resp.Body, []byte("\uFEFF")) && e.ContentType != "" {
				e.Body = json.RawMessage(quote(string(resp.Body)))
			}
		})),
		mutant("title-for-blank-detail", "It gives the standard message where the detail is blank, title or not.", failing(func(resp envelope.Response, e *schemas.BackendError) {
			if detail := gjson.GetBytes(resp.Body, "detail"); detail.Type == gjson.String && detail.Str != "" && leak.Blank(detail.Str) && e.Status == 404 {
				e.Message = "No resource matched these arguments (404). The operation exists; check identifier arguments."
			}
		})),
		mutant("seconds-elsewhere", "It reports the seconds of any error that is worth a retry.", mapping(func(m *envelope.Mapper) {
			was := m.RetryAfter
			m.RetryAfter = func(status int, value string) (int64, bool) {
				if status == 408 || status >= 502 && status <= 504 {
					status = 429
				}
				return was(status, value)
			}
		})),
		mutant("seconds-clamped", "It takes a Retry-After beyond 32 bits for the largest one.", failing(func(resp envelope.Response, e *schemas.BackendError) {
			if value := strings.TrimSpace(resp.Header.Get("Retry-After")); e.Status == 429 && len(value) > 10 && strings.Trim(value, "0123456789") == "" {
				e.RetryAfterSeconds = new(int64(1<<31 - 1))
				e.Message = fmt.Sprintf("The backend is rate-limiting this caller (429). Retry after %d seconds.", *e.RetryAfterSeconds)
			}
		})),
		mutant("refusal-wording", "It has other words for what is withheld of an internal_error, and for a refusal without a text.", mapping(func(m *envelope.Mapper) {
			m.Refusals.WithheldInternal, m.Refusals.Unexplained = "Something went wrong in here.", "No."
		})),
		mutant("refusal-unknown-tool", "It has other words for an unknown tool.", mapping(func(m *envelope.Mapper) {
			was := m.Refusals.Text
			m.Refusals.Text = func(facts schemas.RefuseParams) string {
				if facts.Error == schemas.UnknownTool && facts.Message == "" {
					return "There is no tool '{tool}'."
				}
				return was(facts)
			}
		})),
		mutant("html-doctype-of-html", "It takes a doctype for HTML only where it is the one of HTML.", mapping(func(m *envelope.Mapper) { m.HTML.Starts[0] = "<!doctype html" })),
		mutant("html-other-types", "It takes XHTML for HTML too.", mapping(func(m *envelope.Mapper) {
			m.HTML.MediaTypes = append(m.HTML.MediaTypes, "application/xhtml+xml")
		})),
		mutant("blank-entries-withheld", "It replaces a blank field message and keeps the entry.", around(func(m *envelope.Mapper, resp envelope.Response, fields envelope.FieldContext) schemas.Envelope {
			mapped := m.Map(resp, fields)
			if e, ok := mapped.(*schemas.BackendError); ok && len(e.Fields) == 1 && gjson.GetBytes(resp.Body, "message.1").Str == "  " {
				e.Fields = append(e.Fields, schemas.FieldError{Message: "The value was rejected; details were withheld."})
			}
			return mapped
		})),
		mutant("names-folded-beyond-ascii", "It compares names without case in every script.", naming(func(p *envelope.FieldPolicy) {
			p.Names = append(p.Names, func(c envelope.FieldContext, name string) (string, bool) {
				return envelope.Published(c, strings.ToLower(name))
			})
		})),
		mutant("guess-renamed-first", "It guesses renamed fields before published ones.", naming(func(p *envelope.FieldPolicy) {
			p.Guesses = []envelope.Lookup{envelope.Renamed, envelope.Published}
		})),
		mutant("stricter-prose", "Its filter takes prose for a frame, as an expression does by accident.", screening(func(filter leak.Filter) envelope.Screen {
			was := envelope.ScreenWith(filter)
			return func(c envelope.Carrier, raw string) (string, bool) {
				text, ok := was(c, raw)
				return text, ok && !strings.Contains(text, "at home (") && !strings.Contains(text, " bearer certificates")
			}
		})),
		mutant("wider-white-space", "It does not take a byte-order mark for white space.", screening(func(filter leak.Filter) envelope.Screen {
			was := envelope.ScreenWith(filter)
			return func(c envelope.Carrier, raw string) (string, bool) {
				if strings.Contains(raw, "\uFEFF") && strings.Trim(raw, "\uFEFF \r\n\t") != "" {
					text := strings.Join(strings.Fields(raw), " ")
					return text, !filter.Withholds(text)
				}
				return was(c, raw)
			}
		})),
	}
}
