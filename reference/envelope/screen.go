package envelope

import "example.com/touchstone/reference/leak"

// Carrier says where a string that may be forwarded comes from (LEAK-08).
type Carrier string

// The carriers.
const (
	FromProblemDetail   Carrier = "problem detail"
	FromProblemTitle    Carrier = "problem title"
	FromNestMessage     Carrier = "nest message"
	FromNestJoined      Carrier = "nest messages, joined"
	FromNestEntry       Carrier = "nest message of a field"
	FromMessageKey      Carrier = "message envelope"
	FromJSONString      Carrier = "JSON string"
	FromPlainText       Carrier = "plain text"
	FromFieldMessage    Carrier = "field message"
	FromFieldName       Carrier = "field name"
	FromHost            Carrier = "host recogniser"
	FromReferenceHeader Carrier = "reference header"
	FromTraceID         Carrier = "traceId"
	FromInternalError   Carrier = "internal error"
)

// Screen decides about one string: it gives the text to forward, or reports
// false where the string is blank or withheld. Every forwarded string passes
// here, so there is no carrier that the filter does not see.
type Screen func(c Carrier, raw string) (text string, ok bool)

// ScreenWith gives a Screen that normalises white space first and filters then,
// in that order: a leak split over lines is a leak (LEAK-07).
func ScreenWith(filter leak.Filter) Screen {
	return func(_ Carrier, raw string) (string, bool) {
		text := leak.Normalize(raw)
		return text, text != "" && !filter.Withholds(text)
	}
}
