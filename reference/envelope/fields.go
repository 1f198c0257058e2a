package envelope

import (
	"maps"
	"slices"
	"strings"

	"example.com/touchstone/reference/leak"
	"example.com/touchstone/schemas"
)

// FieldContext is what an operation publishes about its arguments, prepared for
// look-up. It is made once for an operation; the zero value knows nothing.
type FieldContext struct {
	published map[string]string // to the published spelling
	aliases   map[string]string // to the agent's name
	hidden    map[string]string // to nothing
}

// NewFieldContext prepares what an operation publishes.
func NewFieldContext(c schemas.FieldContext) FieldContext {
	same := make(map[string]string, len(c.Known))
	for _, name := range c.Known {
		same[name] = name
	}
	none := make(map[string]string, len(c.Hidden))
	for _, name := range c.Hidden {
		none[name] = ""
	}
	return FieldContext{foldKeys(same), foldKeys(c.Aliases), foldKeys(none)}
}

// foldKeys makes the keys of a map match without case. A key that matches
// exactly wins over one that matches folded.
func foldKeys(names map[string]string) map[string]string {
	folded := make(map[string]string, 2*len(names))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		key := string(appendFolded(nil, name))
		if _, taken := folded[key]; !taken {
			folded[key] = names[name]
		}
	}
	maps.Copy(folded, names)
	return folded
}

// find looks a name up in a map made by foldKeys.
func find(folded map[string]string, name string) (string, bool) {
	if to, ok := folded[name]; ok {
		return to, true
	}
	var buffer [64]byte
	to, ok := folded[string(appendFolded(buffer[:0], name))]
	return to, ok
}

// appendFolded appends s with ASCII letters in lower case.
func appendFolded(b []byte, s string) []byte {
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		b = append(b, c)
	}
	return b
}

// Lookup gives the name to report for a name of the backend's, "" where the
// agent must not see one. It reports false for a name it does not know.
type Lookup func(c FieldContext, name string) (reported string, known bool)

// Published finds the arguments of the agent, in published spelling (FIELD-02).
func Published(c FieldContext, name string) (string, bool) { return find(c.published, name) }

// Renamed finds wire names the agent knows by another name (FIELD-03).
func Renamed(c FieldContext, name string) (string, bool) { return find(c.aliases, name) }

// Hidden finds names the agent cannot set (FIELD-04).
func Hidden(c FieldContext, name string) (string, bool) { return find(c.hidden, name) }

// FieldPolicy says how a reported field is named.
type FieldPolicy struct {
	// Prefix is stripped from reported names (FIELD-01).
	Prefix string
	// Names are tried in order; a name that none knows is kept as it is.
	Names []Lookup
	// Subject gives the name that a message may begin with, and Guesses are
	// tried in order for that name (FIELD-05).
	Subject func(message string) string
	Guesses []Lookup
}

func defaultFieldPolicy() FieldPolicy {
	return FieldPolicy{
		Prefix:  "$.",
		Names:   []Lookup{Published, Renamed, Hidden},
		Subject: leadingIdentifier,
		Guesses: []Lookup{Published, Renamed},
	}
}

// fieldErrors gives the fields of an envelope. One that has a message always
// stays; its name, or the text of its message, may not (FIELD-04, FIELD-07).
func (m *Mapper) fieldErrors(seen Recognition, c FieldContext) []schemas.FieldError {
	var out []schemas.FieldError
	for _, field := range seen.Fields {
		if leak.Blank(field.Message) {
			continue
		}
		message, ok := m.Screen(seen.Carrier, field.Message)
		if !ok {
			message = m.WithheldField
		}
		name := ""
		if seen.GuessNames {
			name = m.Fields.guess(c, field.Message)
		} else {
			name = m.Fields.name(c, field.Name)
		}
		// A blank name is no name (FIELD-09), nor is a withheld one (FIELD-08).
		if name, ok = m.Screen(FromFieldName, name); !ok {
			name = ""
		}
		if out == nil {
			out = make([]schemas.FieldError, 0, len(seen.Fields))
		}
		out = append(out, schemas.FieldError{Name: name, Message: message})
	}
	return out
}

func (p *FieldPolicy) name(c FieldContext, reported string) string {
	name := strings.TrimPrefix(reported, p.Prefix)
	for _, lookup := range p.Names {
		if to, ok := lookup(c, name); ok {
			return to
		}
	}
	return name
}

func (p *FieldPolicy) guess(c FieldContext, message string) string {
	if len(c.published) == 0 {
		return ""
	}
	subject := p.Subject(message)
	for _, lookup := range p.Guesses {
		if to, ok := lookup(c, subject); ok {
			return to
		}
	}
	return ""
}

// leadingIdentifier gives the ASCII letters, digits, `_` and `$` that a message
// begins with.
func leadingIdentifier(message string) string {
	message = strings.TrimSpace(message)
	end := strings.IndexFunc(message, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '$')
	})
	if end < 0 {
		return message
	}
	return message[:end]
}
