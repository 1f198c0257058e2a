package mutant

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"example.com/touchstone/reference/envelope"
)

func messageKeyMutants() []Mutant {
	const name = "message envelope"
	keys := envelope.NewMapper().MessageKeys
	var all []Mutant
	for i, key := range keys {
		id := strings.ReplaceAll(key, "_", "-")
		all = append(all, mutant("key-"+id+"-lost", fmt.Sprintf("It does not know the key %s.", key), mapping(func(m *envelope.Mapper) {
			m.MessageKeys = slices.DeleteFunc(m.MessageKeys, func(k string) bool { return k == key })
		})))
		all = append(all, mutant("key-"+id+"-case-sensitive", fmt.Sprintf("It knows the key %s in lower case only.", key),
			recognizing(name, func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
				if !doc.Value.Get(key).Exists() && strings.Contains(strings.ToLower(doc.Text), `"`+key+`"`) {
					return envelope.Recognition{}, false
				}
				return was(m, doc)
			})))
		if i+1 < len(keys) {
			all = append(all, mutant("key-"+id+"-after-"+strings.ReplaceAll(keys[i+1], "_", "-"), fmt.Sprintf("It prefers the key %s to %s.", keys[i+1], key),
				mapping(func(m *envelope.Mapper) { m.MessageKeys[i], m.MessageKeys[i+1] = m.MessageKeys[i+1], m.MessageKeys[i] })))
		}
	}
	first := func(id, doc string, find func(doc *envelope.Document) string) Mutant {
		return mutant(id, doc, recognizing(name, func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			seen, ok := was(m, doc)
			if !ok {
				return saying(find(doc), envelope.FromMessageKey)
			}
			return seen, ok
		}))
	}
	return append(group(breaks("FORWARD-04"), append(all,
		mutant("key-document-order", "It takes the first key of the document.", recognizing(name, func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			found := ""
			if doc.Value.IsObject() {
				doc.Value.ForEach(func(name, value gjson.Result) bool {
					if value.Type == gjson.String && slices.Contains(m.MessageKeys, strings.ToLower(name.Str)) {
						found = value.Str
					}
					return found == ""
				})
			}
			if found != "" {
				return saying(found, envelope.FromMessageKey)
			}
			return was(m, doc)
		})),
		mutant("key-stops-at-number", "It stops at a key whose value is no string.", recognizing(name, func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			seen, ok := was(m, doc)
			if doc.Value.Get("message").Type == gjson.Number {
				return envelope.Recognition{}, false
			}
			return seen, ok
		})),
		mutant("key-stops-at-empty", "It stops at a key whose value is empty.", recognizing(name, func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			seen, ok := was(m, doc)
			if doc.Value.Get("message").Raw == `""` {
				return envelope.Recognition{}, false
			}
			return seen, ok
		})),
		mutant("key-json-string-lost", "It does not forward a body that is one JSON string.", recognizing(name, func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			if doc.Value.Type == gjson.String {
				return envelope.Recognition{}, false
			}
			return was(m, doc)
		})),
		first("key-nested", "It looks for a message inside other objects.", func(doc *envelope.Document) string {
			return child(doc, func(v gjson.Result) string { return v.Get("message").Str })
		}),
		first("key-any", "It forwards a string under any key.", func(doc *envelope.Document) string {
			return child(doc, func(v gjson.Result) string { return v.Str })
		}),
		first("key-of-list", "It forwards the first string of a list.", func(doc *envelope.Document) string {
			if doc.Value.IsArray() {
				return doc.Value.Get("0").Str
			}
			return ""
		}),
		first("key-number", "It forwards a JSON number.", func(doc *envelope.Document) string {
			if doc.Value.Type == gjson.Number {
				return doc.Value.Raw
			}
			return ""
		}),
		first("key-null", "It forwards the word null.", func(doc *envelope.Document) string {
			if doc.Kind == envelope.JSON && doc.Value.Type == gjson.Null {
				return "null"
			}
			return ""
		}),
		mutant("key-json-text", "It forwards the JSON of a body that it does not know.", recognizing("plain text", func(was recognizer, m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
			if child(doc, func(v gjson.Result) string { return strings.TrimSpace(v.Str) }) != "" {
				return saying(doc.Text, envelope.FromPlainText)
			}
			return was(m, doc)
		})),
	)...), group(breaks("FORWARD-04"),
		mutant("key-envelope-off", "It does not know message envelopes.", recognizing(name, off)))...)
}

// child gives the first text that is found in the members of an object.
func child(doc *envelope.Document, find func(v gjson.Result) string) string {
	found := ""
	if doc.Value.IsObject() {
		doc.Value.ForEach(func(_, v gjson.Result) bool {
			found = find(v)
			return found == ""
		})
	}
	return found
}
