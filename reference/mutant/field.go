package mutant

import (
	"slices"
	"strings"

	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/reference/leak"
	"example.com/touchstone/reference/serve"
	"example.com/touchstone/schemas"
)

// naming changes how reported fields are named.
func naming(edit func(p *envelope.FieldPolicy)) func() serve.Reference {
	return mapping(func(m *envelope.Mapper) { edit(&m.Fields) })
}

// rewritten changes the list of fields after it is made.
func rewritten(edit func(fields []schemas.FieldError) []schemas.FieldError) func() serve.Reference {
	return failing(func(_ envelope.Response, e *schemas.BackendError) {
		if e.Fields != nil {
			e.Fields = edit(e.Fields)
		}
	})
}

func fieldMutants() []Mutant {
	return slices.Concat(
		group(breaks("FIELD-01"),
			mutant("field-prefix-kept", "It keeps a leading `$.`.", naming(func(p *envelope.FieldPolicy) { p.Prefix = "\x00" })),
			mutant("field-prefix-dollar", "It takes off a dollar sign without its full stop.", naming(func(p *envelope.FieldPolicy) {
				p.Names = append([]envelope.Lookup{func(_ envelope.FieldContext, name string) (string, bool) {
					return strings.TrimPrefix(name, "$"), strings.HasPrefix(name, "$")
				}}, p.Names...)
			})),
			mutant("field-prefix-anywhere", "It takes `$.` out of the middle of a name too.", naming(func(p *envelope.FieldPolicy) {
				p.Names = append([]envelope.Lookup{func(_ envelope.FieldContext, name string) (string, bool) {
					return strings.ReplaceAll(name, "$.", ""), strings.Contains(name, "$.")
				}}, p.Names...)
			})),
			mutant("field-path-cut", "It keeps the last part of a path only.", naming(func(p *envelope.FieldPolicy) {
				p.Names = append(p.Names, func(_ envelope.FieldContext, name string) (string, bool) {
					return name[strings.LastIndexByte(name, '.')+1:], strings.Contains(name, "$")
				})
			})),
		),
		group(breaks("FIELD-02"),
			mutant("field-case-sensitive", "It compares names with published ones with case.", naming(func(p *envelope.FieldPolicy) { p.Names[0] = exactlyPublished })),
			mutant("field-backend-spelling", "It keeps the backend's spelling of a published name.", naming(func(p *envelope.FieldPolicy) {
				p.Names[0] = func(c envelope.FieldContext, name string) (string, bool) {
					_, ok := envelope.Published(c, name)
					return name, ok
				}
			})),
			mutant("field-lower-case", "It writes names in lower case.", naming(func(p *envelope.FieldPolicy) {
				p.Names = append([]envelope.Lookup{func(c envelope.FieldContext, name string) (string, bool) {
					to, ok := envelope.Published(c, name)
					return strings.ToLower(to), ok
				}}, p.Names...)
			})),
			mutant("field-unknown-lost", "It drops a name that is not published where any is.", naming(func(p *envelope.FieldPolicy) {
				p.Names = append(p.Names, func(c envelope.FieldContext, _ string) (string, bool) {
					_, ok := envelope.Published(c, "item")
					return "", ok
				})
			})),
			mutant("field-unknown-lower-case", "It writes unknown names in lower case.", naming(func(p *envelope.FieldPolicy) {
				p.Names = append(p.Names, func(_ envelope.FieldContext, name string) (string, bool) {
					if name == "" || strings.Contains(name, " ") {
						return "", false
					}
					return strings.ToLower(name[:1]) + name[1:], true
				})
			})),
			mutant("field-by-beginning", "It takes a name that begins like a published one for it.", naming(func(p *envelope.FieldPolicy) {
				p.Names = append(p.Names, func(c envelope.FieldContext, name string) (string, bool) {
					if len(name) > 4 {
						return envelope.Published(c, name[:4])
					}
					return "", false
				})
			})),
		),
		group(breaks("FIELD-03"),
			mutant("field-alias-off", "It reports a renamed field under its wire name.", naming(func(p *envelope.FieldPolicy) { p.Names = []envelope.Lookup{envelope.Published, envelope.Hidden} })),
			mutant("field-alias-first", "It tries renamed names before published ones.", naming(func(p *envelope.FieldPolicy) {
				p.Names = []envelope.Lookup{envelope.Renamed, envelope.Published, envelope.Hidden}
			})),
		),
		group(breaks("FIELD-04"),
			mutant("field-hidden-named", "It names hidden fields.", naming(func(p *envelope.FieldPolicy) { p.Names = []envelope.Lookup{envelope.Published, envelope.Renamed} })),
			mutant("field-hidden-case-sensitive", "It knows hidden fields in their own case only.", naming(func(p *envelope.FieldPolicy) {
				p.Names[2] = func(c envelope.FieldContext, name string) (string, bool) {
					_, ok := envelope.Hidden(c, name)
					return "", ok && name == "tenantId"
				}
			})),
			mutant("field-hidden-dropped", "It drops entries about hidden fields.", droppedWhenHidden()),
		),
		guessMutants(),
		group(breaks("FIELD-06"),
			mutant("field-once", "It lists a field once.", rewritten(func(fields []schemas.FieldError) []schemas.FieldError {
				var out []schemas.FieldError
				for _, f := range fields {
					if f.Name == "" || !slices.ContainsFunc(out, func(o schemas.FieldError) bool { return o.Name == f.Name }) {
						out = append(out, f)
					}
				}
				return out
			})),
			mutant("field-last-wins", "It lists the last message of a field.", rewritten(func(fields []schemas.FieldError) []schemas.FieldError {
				var out []schemas.FieldError
				for _, f := range fields {
					if f.Name != "" {
						out = slices.DeleteFunc(out, func(o schemas.FieldError) bool { return o.Name == f.Name })
					}
					out = append(out, f)
				}
				return out
			})),
			mutant("field-same-once", "It lists an entry once.", rewritten(func(fields []schemas.FieldError) []schemas.FieldError {
				var out []schemas.FieldError
				for _, f := range fields {
					if !slices.Contains(out, f) {
						out = append(out, f)
					}
				}
				return out
			})),
			mutant("field-grouped", "It groups entries by field.", rewritten(func(fields []schemas.FieldError) []schemas.FieldError {
				var out []schemas.FieldError
				for _, f := range fields {
					at := len(out)
					for i, o := range out {
						if o.Name == f.Name && f.Name != "" {
							at = i + 1
						}
					}
					out = slices.Insert(out, at, f)
				}
				return out
			})),
			mutant("field-messages-joined", "It joins the messages of a field.", rewritten(func(fields []schemas.FieldError) []schemas.FieldError {
				var out []schemas.FieldError
				for _, f := range fields {
					at := slices.IndexFunc(out, func(o schemas.FieldError) bool { return o.Name == f.Name && f.Name != "" })
					if at < 0 {
						out = append(out, f)
						continue
					}
					out[at].Message += "; " + f.Message
				}
				return out
			})),
		),
		withheldFieldMutants(),
		group(breaks("FIELD-09"),
			mutant("field-empty-name", "It writes an empty name for an entry without one.", emittingIn(backendError, func(ms []member) []member {
				return editFields(ms, func(f string) string {
					if !strings.Contains(f, `"name"`) {
						f = `{"name":"",` + f[1:]
					}
					return f
				})
			})),
			mutant("field-empty-dropped", "It drops entries under an empty name.", recognizing("field dictionary", func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
				seen, _ := was(m, doc)
				seen.Fields = slices.DeleteFunc(seen.Fields, func(f schemas.FieldError) bool { return strings.TrimPrefix(f.Name, "$.") == "" })
				return seen, len(seen.Fields) > 0
			})),
			mutant("field-empty-placeholder", "It names an entry under an empty name $.", naming(func(p *envelope.FieldPolicy) {
				p.Names = append(p.Names, func(_ envelope.FieldContext, name string) (string, bool) { return "$", name == "" })
			})),
		),
	)
}

// exactlyPublished finds published names in their own case.
func exactlyPublished(c envelope.FieldContext, name string) (string, bool) {
	to, ok := envelope.Published(c, name)
	return to, ok && to == name
}

// droppedWhenHidden drops entries that lost their name for being hidden.
func droppedWhenHidden() func() serve.Reference {
	const mark = "\x00hidden"
	return func() serve.Reference {
		m := envelope.NewMapper()
		m.Fields.Names[2] = func(c envelope.FieldContext, name string) (string, bool) {
			_, ok := envelope.Hidden(c, name)
			return mark, ok
		}
		return serve.Reference{Mapper: m, Map: func(m *envelope.Mapper, resp envelope.Response, fields envelope.FieldContext) schemas.Envelope {
			mapped := m.Map(resp, fields)
			if e, ok := mapped.(*schemas.BackendError); ok {
				e.Fields = slices.DeleteFunc(e.Fields, func(f schemas.FieldError) bool { return f.Name == mark })
			}
			return mapped
		}}
	}
}

func guessMutants() []Mutant {
	identifier := func(also string) func(message string) string {
		return func(message string) string {
			end := strings.IndexFunc(message, func(r rune) bool {
				return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune(also, r))
			})
			if end < 0 {
				return message
			}
			return message[:end]
		}
	}
	return group(breaks("FIELD-05"),
		mutant("guess-off", "It names no unnamed message.", naming(func(p *envelope.FieldPolicy) { p.Guesses = nil })),
		mutant("guess-published-only", "It does not guess renamed fields.", naming(func(p *envelope.FieldPolicy) { p.Guesses = []envelope.Lookup{envelope.Published} })),
		mutant("guess-wire-name", "It guesses the wire name of a renamed field.", naming(func(p *envelope.FieldPolicy) {
			p.Guesses[1] = func(c envelope.FieldContext, name string) (string, bool) {
				_, ok := envelope.Renamed(c, name)
				return name, ok
			}
		})),
		mutant("guess-hidden", "It guesses hidden fields.", naming(func(p *envelope.FieldPolicy) {
			p.Guesses = append(p.Guesses, func(c envelope.FieldContext, name string) (string, bool) {
				_, ok := envelope.Hidden(c, name)
				return name, ok
			})
		})),
		mutant("guess-first-word", "It guesses the first word, up to a blank.", naming(func(p *envelope.FieldPolicy) {
			p.Subject = func(message string) string {
				word, _, _ := strings.Cut(message, " ")
				return word
			}
		})),
		mutant("guess-any-word", "It guesses the second word too.", naming(func(p *envelope.FieldPolicy) {
			was := p.Subject
			p.Subject = func(message string) string {
				if rest, ok := strings.CutPrefix(message, "the "); ok {
					message = rest
				}
				return was(message)
			}
		})),
		mutant("guess-by-beginning", "It takes a word that begins like a published name for it.", naming(func(p *envelope.FieldPolicy) {
			p.Guesses = append(p.Guesses, func(c envelope.FieldContext, name string) (string, bool) {
				if len(name) > 4 {
					return envelope.Published(c, name[:4])
				}
				return "", false
			})
		})),
		mutant("guess-unknown", "It names a message after its first word where any name is published.", naming(func(p *envelope.FieldPolicy) {
			p.Guesses = append(p.Guesses, func(_ envelope.FieldContext, name string) (string, bool) { return name, true })
		})),
		mutant("guess-without-dollar", "An identifier has no dollar signs for it.", naming(func(p *envelope.FieldPolicy) { p.Subject = identifier("_") })),
		mutant("guess-without-underscore", "An identifier has no underscores for it.", naming(func(p *envelope.FieldPolicy) { p.Subject = identifier("$") })),
		mutant("guess-with-dots", "An identifier has dots for it.", naming(func(p *envelope.FieldPolicy) { p.Subject = identifier("_$.") })),
		mutant("guess-letters-only", "An identifier has no digits for it.", naming(func(p *envelope.FieldPolicy) {
			p.Subject = func(message string) string {
				return strings.TrimRight(identifier("_$")(message), "0123456789")
			}
		})),
	)
}

// withheldFieldMutants deal otherwise with what the filter withholds in fields.
func withheldFieldMutants() []Mutant {
	filter := leak.Default()
	// on replaces the screen for one carrier.
	on := func(carrier envelope.Carrier, with func(raw string) (string, bool)) func() serve.Reference {
		return mapping(func(m *envelope.Mapper) {
			was := m.Screen
			m.Screen = func(c envelope.Carrier, raw string) (string, bool) {
				if c == carrier {
					return with(raw)
				}
				return was(c, raw)
			}
		})
	}
	const withheld = "The value was rejected; details were withheld."
	messages := group(breaks("FIELD-07"),
		mutant("field-withheld-wording", "It has other words for a withheld field message.", mapping(func(m *envelope.Mapper) { m.WithheldField = "The value was rejected." })),
		mutant("field-withheld-dropped", "It drops an entry whose message is withheld.", rewritten(func(fields []schemas.FieldError) []schemas.FieldError {
			return slices.DeleteFunc(fields, func(f schemas.FieldError) bool { return f.Message == withheld })
		})),
		mutant("field-withheld-nameless", "It drops the name of an entry whose message is withheld.", rewritten(func(fields []schemas.FieldError) []schemas.FieldError {
			for i, f := range fields {
				if f.Message == withheld {
					fields[i].Name = ""
				}
			}
			return fields
		})),
		mutant("field-withheld-all", "It withholds every field message where it withholds one.", rewritten(func(fields []schemas.FieldError) []schemas.FieldError {
			if slices.ContainsFunc(fields, func(f schemas.FieldError) bool { return f.Message == withheld }) {
				for i := range fields {
					fields[i].Message = withheld
				}
			}
			return fields
		})),
		mutant("field-withheld-first", "It filters the first field message only.", around(func(m *envelope.Mapper, resp envelope.Response, fields envelope.FieldContext) schemas.Envelope {
			other, seen := *m, 0
			other.Screen = func(c envelope.Carrier, raw string) (string, bool) {
				if c == envelope.FromFieldMessage || c == envelope.FromNestEntry {
					if seen++; seen > 1 && raw != "" {
						return leak.Normalize(raw), true
					}
				}
				return m.Screen(c, raw)
			}
			return other.Map(resp, fields)
		})),
	)
	names := group(breaks("FIELD-08"),
		mutant("field-name-unfiltered", "It does not filter names.", on(envelope.FromFieldName, func(raw string) (string, bool) { return raw, true })),
		mutant("field-name-replaced", "It writes a placeholder for a withheld name.", on(envelope.FromFieldName, func(raw string) (string, bool) {
			if filter.Withholds(raw) {
				return "withheld", true
			}
			return raw, true
		})),
		mutant("field-name-drops-entry", "It drops an entry whose name is withheld.", recognizing("field dictionary", func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			seen, _ := was(m, doc)
			seen.Fields = slices.DeleteFunc(seen.Fields, func(f schemas.FieldError) bool { return filter.Withholds(f.Name) })
			return seen, len(seen.Fields) > 0
		})),
		mutant("field-name-withholds-message", "It withholds a message with the name that is.", recognizing("field dictionary", func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			seen, ok := was(m, doc)
			for i, f := range seen.Fields {
				if filter.Withholds(f.Name) {
					seen.Fields[i].Message = withheld
				}
			}
			return seen, ok
		})),
	)
	return append(messages, names...)
}
