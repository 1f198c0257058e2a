package mutant

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/reference/leak"
	"example.com/touchstone/reference/serve"
	"example.com/touchstone/schemas"
)

func headerMutants() []Mutant {
	return slices.Concat(
		otherHeaderMutants(), retryAfterMutants(), referenceMutants(), traceIDMutants(), withheldReferenceMutants(), locationSecretMutants(),
	)
}

// otherHeaderMutants read headers that are none of their business, or do not
// read those that are.
func otherHeaderMutants() []Mutant {
	var all []Mutant
	for _, name := range []string{
		"Set-Cookie", "Server", "Via", "X-Powered-By", "Traceparent", "X-Trace", "Correlation-Id", "X-Amzn-Requestid",
	} {
		id := strings.ToLower(name)
		all = append(all, mutant("header-"+id+"-as-reference", "It takes "+name+" for a reference.", mapping(func(m *envelope.Mapper) {
			m.ReferenceHeaders = append(m.ReferenceHeaders, name)
		})))
	}
	for _, name := range []string{"Www-Authenticate", "Set-Cookie", "Server"} {
		all = append(all, mutant("header-"+strings.ToLower(name)+"-as-message", "It quotes "+name+" where there is no body.", failing(func(resp envelope.Response, e *schemas.BackendError) {
			if value := resp.Header.Get(name); value != "" && len(resp.Body) == 0 {
				e.Message = value
			}
		})))
	}
	all = append(all, mutant("header-content-location", "It takes Content-Location for Location.", succeeding(func(resp envelope.Response, e *schemas.Success) {
		if value := resp.Header.Get("Content-Location"); value != "" && e.Location == "" {
			e.Location = value
		}
	})))
	all = append(all, mutant("header-etag-as-body", "It gives a success without a body its entity tag.", succeeding(func(resp envelope.Response, e *schemas.Success) {
		if value := resp.Header.Get("Etag"); value != "" && e.Body == nil {
			e.Body = []byte(quote(value))
		}
	})))
	for _, name := range []string{"X-Correlation-Id", "Retry-After", "Location"} {
		all = append(all, mutant("header-"+strings.ToLower(name)+"-case-sensitive", "It knows "+name+" in one spelling only.", func() serve.Reference {
			return serve.Reference{HeaderName: func(given string) string {
				if http.CanonicalHeaderKey(given) == name {
					return given
				}
				return http.CanonicalHeaderKey(given)
			}}
		}))
	}
	all = append(all, mutant("header-lower-case-lost", "It does not know header names in lower case, as HTTP/2 has them.", func() serve.Reference {
		return serve.Reference{HeaderName: func(given string) string {
			if given == strings.ToLower(given) {
				return given
			}
			return http.CanonicalHeaderKey(given)
		}}
	}))
	return group(breaks("HEADER-01"), all...)
}

func retryAfterMutants() []Mutant {
	// reading takes a value for seconds that the reference does not.
	reading := func(id, doc string, read func(value string) (int64, bool)) Mutant {
		return mutant("retry-after-"+id, doc, mapping(func(m *envelope.Mapper) {
			was := m.RetryAfter
			m.RetryAfter = func(status int, value string) (int64, bool) {
				if seconds, ok := was(status, value); ok || status != 429 {
					return seconds, ok
				}
				return read(value)
			}
		}))
	}
	prefixed := func(prefix string) func(value string) (int64, bool) {
		return func(value string) (int64, bool) {
			rest, ok := strings.CutPrefix(value, prefix)
			seconds, err := strconv.ParseInt(rest, 10, 64)
			return seconds, ok && err == nil
		}
	}
	number := func(value string) (int64, bool) {
		f, err := strconv.ParseFloat(value, 64)
		return int64(f), err == nil && f >= 0 && f < 1e9
	}
	// refusing does not take a value that the reference takes.
	refusing := func(id, doc string, refuse func(value string, seconds int64) bool) Mutant {
		return mutant("retry-after-"+id, doc, mapping(func(m *envelope.Mapper) {
			was := m.RetryAfter
			m.RetryAfter = func(status int, value string) (int64, bool) {
				seconds, ok := was(status, value)
				return seconds, ok && !refuse(value, seconds)
			}
		}))
	}
	return append(group(breaks("HEADER-02"),
		reading("plus", "It takes a plus sign.", prefixed("+")),
		reading("minus", "It takes a minus sign for none.", prefixed("-")),
		reading("fraction", "It rounds a fraction down.", func(value string) (int64, bool) {
			if !strings.Contains(value, ".") {
				return 0, false
			}
			return number(value)
		}),
		reading("exponent", "It takes an exponent.", func(value string) (int64, bool) {
			if !strings.Contains(value, "e") {
				return 0, false
			}
			return number(value)
		}),
		reading("hexadecimal", "It takes hexadecimal digits.", func(value string) (int64, bool) {
			seconds, err := strconv.ParseInt(value, 0, 64)
			return seconds, err == nil && strings.HasPrefix(value, "0x")
		}),
		reading("underscore", "It takes underscores between digits.", func(value string) (int64, bool) {
			seconds, err := strconv.ParseInt(strings.ReplaceAll(value, "_", ""), 10, 64)
			return seconds, err == nil && strings.Contains(value, "_") && seconds < 1e9
		}),
		reading("leading-digits", "It takes the digits that a value begins with.", func(value string) (int64, bool) {
			end := strings.IndexFunc(value, func(r rune) bool { return r < '0' || r > '9' })
			if end < 1 || end > 9 {
				return 0, false
			}
			seconds, err := strconv.ParseInt(value[:end], 10, 64)
			return seconds, err == nil
		}),
		reading("date", "It takes a date.", func(value string) (int64, bool) {
			_, err := http.ParseTime(value)
			return 60, err == nil
		}),
		reading("text", "It takes text for a minute.", func(value string) (int64, bool) { return 60, value == "soon" }),
		mutant("retry-after-empty", "It takes an empty value for 0.", failing(func(resp envelope.Response, e *schemas.BackendError) {
			if values, given := resp.Header["Retry-After"]; given && values[0] == "" && e.Status == 429 {
				e.RetryAfterSeconds = new(int64)
			}
		})),
		refusing("zero-lost", "It drops a 0.", func(_ string, seconds int64) bool { return seconds == 0 }),
		refusing("day-lost", "It drops what is longer than an hour.", func(_ string, seconds int64) bool { return seconds > 3600 }),
		refusing("16-bit", "It drops what is over 16 bits.", func(_ string, seconds int64) bool { return seconds > 65535 }),
		refusing("31-bit", "It drops the largest 32-bit integer.", func(_ string, seconds int64) bool { return seconds > 2147483646 }),
		mutant("retry-after-blanks", "It does not trim the value.", func() serve.Reference {
			return serve.Reference{Map: func(m *envelope.Mapper, resp envelope.Response, fields envelope.FieldContext) schemas.Envelope {
				if value := resp.Header.Get("Retry-After"); value != strings.TrimSpace(value) {
					resp.Header = resp.Header.Clone()
					resp.Header.Del("Retry-After")
				}
				return m.Map(resp, fields)
			}}
		}),
		mutant("retry-after-off", "It does not read Retry-After.", mapping(func(m *envelope.Mapper) {
			m.RetryAfter = func(int, string) (int64, bool) { return 0, false }
		})),
		mutant("retry-after-milliseconds", "It reports milliseconds.", failing(func(_ envelope.Response, e *schemas.BackendError) {
			if e.RetryAfterSeconds != nil {
				*e.RetryAfterSeconds *= 1000
			}
		})),
		mutant("retry-after-message-only", "It puts the seconds into the message only.", failing(func(_ envelope.Response, e *schemas.BackendError) { e.RetryAfterSeconds = nil })),
		mutant("retry-after-not-beside-message", "It drops the seconds where a message is forwarded.", failing(func(_ envelope.Response, e *schemas.BackendError) {
			if !strings.HasPrefix(e.Message, "The backend is rate-limiting") {
				e.RetryAfterSeconds = nil
			}
		})),
	), group(breaks("HEADER-03"),
		mutant("retry-after-not-in-message", "The standard message does not name the seconds.", mapping(func(m *envelope.Mapper) {
			s := m.Messages[schemas.RateLimited]
			s.With = ""
			m.Messages[schemas.RateLimited] = s
		})),
		mutant("retry-after-minutes-in-message", "The standard message names minutes.", failing(func(_ envelope.Response, e *schemas.BackendError) {
			if e.RetryAfterSeconds != nil && strings.HasSuffix(e.Message, " seconds.") {
				e.Message = fmt.Sprintf("The backend is rate-limiting this caller (429). Retry after %d minutes.", *e.RetryAfterSeconds/60)
			}
		})),
		mutant("retry-after-replaces-message", "The standard message replaces a forwarded one where there are seconds.", failing(func(_ envelope.Response, e *schemas.BackendError) {
			if e.RetryAfterSeconds != nil {
				e.Message = fmt.Sprintf("The backend is rate-limiting this caller (429). Retry after %d seconds.", *e.RetryAfterSeconds)
			}
		})),
		mutant("retry-after-appended", "It appends the seconds to a forwarded message.", failing(func(_ envelope.Response, e *schemas.BackendError) {
			if e.RetryAfterSeconds != nil && !strings.HasSuffix(e.Message, " seconds.") {
				e.Message += fmt.Sprintf(" Retry after %d seconds.", *e.RetryAfterSeconds)
			}
		})),
	)...)
}

// unfiltered lets one carrier past the filter.
func unfiltered(carrier envelope.Carrier) func() serve.Reference {
	return mapping(func(m *envelope.Mapper) {
		was := m.Screen
		m.Screen = func(c envelope.Carrier, raw string) (string, bool) {
			text, ok := was(c, raw)
			return text, ok || c == carrier && text != ""
		}
	})
}

func locationSecretMutants() []Mutant {
	return group(breaks("HEADER-07"),
		mutant("location-unfiltered", "It reports any Location.", mapping(func(m *envelope.Mapper) {
			m.Location = func(status int, value string) string {
				if status < 300 {
					return ""
				}
				return value
			}
		})),
		mutant("location-fully-filtered", "It filters a Location like a message.", mapping(func(m *envelope.Mapper) {
			was, filter := m.Location, leak.Default()
			m.Location = func(status int, value string) string {
				if filter.Withholds(value) {
					return ""
				}
				return was(status, value)
			}
		})),
		mutant("location-user-reported", "It withholds a Location only where a password stands behind the user.", mapping(func(m *envelope.Mapper) {
			was, filter := m.Location, leak.Default()
			m.Location = func(status int, value string) string {
				if strings.Contains(value, "@") && !filter.Withholds(value) {
					return value
				}
				return was(status, value)
			}
		})),
		mutant("location-at-sign", "It withholds a Location with an at sign anywhere.", mapping(func(m *envelope.Mapper) {
			was := m.Location
			m.Location = func(status int, value string) string {
				if strings.Contains(value, "@") {
					return ""
				}
				return was(status, value)
			}
		})),
	)
}
