// Package mutant holds implementations whose verdict is known beforehand: the
// reference with exactly one thing broken, the reference in its correct
// variants, and targets that do no mapping at all. They show that the suite
// fails what is wrong, under the rule that is broken, and nothing else.
package mutant

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/reference/leak"
	"example.com/touchstone/reference/serve"
	"example.com/touchstone/schemas"
)

// Mutant is the reference in another variant, for better or worse.
type Mutant struct {
	// ID is in kebab case and never changes meaning.
	ID string
	// Doc says in one sentence what it does otherwise than the reference.
	Doc string
	// Breaks are the requirements that it fails, all of them; none for a
	// variant that conforms.
	Breaks []string
	// OverTheWire is set where the difference shows in a call over HTTP only.
	OverTheWire bool
	// Calls is set where it shows in cases of calls: what is refused before, and
	// guarded after, the backend is asked.
	Calls bool
	// New gives the implementation.
	New func() serve.Reference
}

// All gives the mutants: each breaks what it says.
func All() []Mutant {
	return slices.Concat(
		shapeMutants(), statusMutants(), successMutants(), forwardMutants(),
		fieldMutants(), headerMutants(), leakMutants(), carrierMutants(), wireMutants(), sdkMutants(),
	)
}

// group is a list of mutants that break the same requirements.
func group(breaks []string, mutants ...Mutant) []Mutant {
	for i := range mutants {
		mutants[i].Breaks = breaks
	}
	return mutants
}

// breaks is a list of requirements.
func breaks(ids ...string) []string { return ids }

// mutant makes one; its requirements come from its group.
func mutant(id, doc string, build func() serve.Reference) Mutant {
	return Mutant{ID: id, Doc: doc, New: build}
}

// mapping changes a policy of the mapper.
func mapping(edit func(m *envelope.Mapper)) func() serve.Reference {
	return func() serve.Reference {
		m := envelope.NewMapper()
		edit(m)
		return serve.Reference{Mapper: m}
	}
}

// filtering changes a rule of the leak filter.
func filtering(edit func(f *leak.Filter)) func() serve.Reference {
	return func() serve.Reference {
		f := leak.Default()
		edit(&f)
		return serve.Reference{Mapper: envelope.NewMapperWith(f)}
	}
}

// responding changes the response before it is mapped.
func responding(edit func(resp *envelope.Response)) func() serve.Reference {
	return around(func(m *envelope.Mapper, resp envelope.Response, fields envelope.FieldContext) schemas.Envelope {
		resp.Header = resp.Header.Clone()
		edit(&resp)
		return m.Map(resp, fields)
	})
}

// around stands in for the mapper's Map.
func around(do func(m *envelope.Mapper, resp envelope.Response, fields envelope.FieldContext) schemas.Envelope) func() serve.Reference {
	return func() serve.Reference { return serve.Reference{Map: do} }
}

// failing changes an error envelope after it is mapped.
func failing(edit func(resp envelope.Response, e *schemas.BackendError)) func() serve.Reference {
	return around(func(m *envelope.Mapper, resp envelope.Response, fields envelope.FieldContext) schemas.Envelope {
		mapped := m.Map(resp, fields)
		if e, ok := mapped.(*schemas.BackendError); ok {
			edit(resp, e)
		}
		return mapped
	})
}

// succeeding changes a success envelope after it is mapped.
func succeeding(edit func(resp envelope.Response, e *schemas.Success)) func() serve.Reference {
	return around(func(m *envelope.Mapper, resp envelope.Response, fields envelope.FieldContext) schemas.Envelope {
		mapped := m.Map(resp, fields)
		if e, ok := mapped.(*schemas.Success); ok {
			edit(resp, e)
		}
		return mapped
	})
}

// mappingWhen changes policies of the mapper for some responses only.
func mappingWhen(when func(status int) bool, edit func(m *envelope.Mapper)) func() serve.Reference {
	return around(func(m *envelope.Mapper, resp envelope.Response, fields envelope.FieldContext) schemas.Envelope {
		if when(resp.Status) {
			other := *m
			edit(&other)
			m = &other
		}
		return m.Map(resp, fields)
	})
}

func isSuccess(status int) bool { return status < 400 }
func isError(status int) bool   { return status >= 400 }

func isClientError(status int) bool { return isError(status) && status < 500 }

// recognizing replaces the recogniser with this name.
func recognizing(name string, with func(was func(*envelope.Mapper, *envelope.Document) (envelope.Recognition, bool), m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool)) func() serve.Reference {
	return mapping(func(m *envelope.Mapper) {
		for i, r := range m.Recognizers {
			if r.Name == name {
				m.Recognizers[i].Recognize = func(m *envelope.Mapper, doc *envelope.Document) (envelope.Recognition, bool) {
					return with(r.Recognize, m, doc)
				}
			}
		}
	})
}

// member is one member of an emitted envelope.
type member struct {
	name  string
	value string // JSON
}

// emitting changes the members of an envelope as it is written.
func emitting(edit func(ms []member) []member) func() serve.Reference {
	return func() serve.Reference {
		return serve.Reference{Emit: func(text []byte) []byte {
			var ms []member
			gjson.ParseBytes(text).ForEach(func(name, value gjson.Result) bool {
				ms = append(ms, member{name.Str, value.Raw})
				return true
			})
			return write(edit(ms))
		}}
	}
}

func write(ms []member) []byte {
	out := []byte{'{'}
	for i, m := range ms {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, quote(m.name)...)
		out = append(out, ':')
		out = append(out, m.value...)
	}
	return append(out, '}')
}

func quote(text string) string {
	quoted, _ := json.Marshal(text) // a string always has an encoding
	return string(quoted)
}

// get gives the value of a member, "" where there is none.
func get(ms []member, name string) string {
	for _, m := range ms {
		if m.name == name {
			return m.value
		}
	}
	return ""
}

// set gives the members with one of them changed, or added at the end.
func set(ms []member, name, value string) []member {
	out := slices.Clone(ms)
	for i := range out {
		if out[i].name == name {
			out[i].value = value
			return out
		}
	}
	return append(out, member{name, value})
}

// drop gives the members without one of them.
func drop(ms []member, name string) []member {
	return slices.DeleteFunc(slices.Clone(ms), func(m member) bool { return m.name == name })
}

// The three shapes of an envelope, by what tells them apart.
const (
	success      = "success"
	backendError = "backend-error"
	sdkError     = "sdk-error"
)

func shapeOf(ms []member) string {
	switch {
	case get(ms, "error") == "":
		return success
	case get(ms, "status") == "":
		return sdkError
	}
	return backendError
}

// emittingIn is emitting for the envelopes of one shape.
func emittingIn(shape string, edit func(ms []member) []member) func() serve.Reference {
	return emitting(func(ms []member) []member {
		if shapeOf(ms) != shape {
			return ms
		}
		return edit(ms)
	})
}
