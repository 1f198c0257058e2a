package mutant

import (
	"encoding/json"
	"fmt"
	"strings"

	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/schemas"
)

func locationMutants() []Mutant {
	locating := func(id, doc string, with func(was func(int, string) string) func(int, string) string) Mutant {
		return mutant(id, doc, mapping(func(m *envelope.Mapper) { m.Location = with(m.Location) }))
	}
	var all []Mutant
	for _, status := range []int{300, 301, 302, 303, 307, 308, 399} {
		all = append(all, locating(fmt.Sprintf("location-%d-lost", status), fmt.Sprintf("It does not report the Location of a %d.", status),
			func(was func(int, string) string) func(int, string) string {
				return func(s int, value string) string {
					if s == status {
						return ""
					}
					return was(s, value)
				}
			}))
	}
	for _, status := range []int{200, 201, 202} {
		all = append(all, locating(fmt.Sprintf("location-%d-added", status), fmt.Sprintf("It reports the Location of a %d.", status),
			func(was func(int, string) string) func(int, string) string {
				return func(s int, value string) string {
					if s == status {
						return value
					}
					return was(s, value)
				}
			}))
	}
	return append(group(breaks("SUCCESS-07"), append(all,
		locating("location-path-only", "It reports the path of a Location only.", func(was func(int, string) string) func(int, string) string {
			return func(s int, value string) string {
				return strings.TrimPrefix(was(s, value), "https://shop.example")
			}
		}),
		locating("location-without-query", "It cuts the query off a Location.", func(was func(int, string) string) func(int, string) string {
			return func(s int, value string) string {
				path, _, _ := strings.Cut(was(s, value), "?")
				return path
			}
		}),
		mutant("location-as-body", "It gives a redirect without a body its Location as the body.", succeeding(func(_ envelope.Response, e *schemas.Success) {
			if e.Location != "" && e.Body == nil {
				e.Body = json.RawMessage(quote(e.Location))
			}
		})),
	)...), group(breaks("SHAPE-01"),
		mutant("location-on-error", "It reports the Location of an error.", around(func(m *envelope.Mapper, resp envelope.Response, fields envelope.FieldContext) schemas.Envelope {
			mapped := m.Map(resp, fields)
			if e, ok := mapped.(*schemas.BackendError); ok && resp.Header.Get("Location") != "" {
				return located{e, resp.Header.Get("Location")}
			}
			return mapped
		})),
	)...)
}

// located is a backend's error with a location, which it must not have.
type located struct {
	*schemas.BackendError
	Location string `json:"location"`
}
