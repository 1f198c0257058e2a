package mockbackend

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"example.com/touchstone/schemas"
)

// DecodeStub reads a stub from JSON. What the schema does not allow is an
// [*InvalidStubError].
func DecodeStub(data []byte) (schemas.Stub, error) {
	var s schemas.Stub
	violations, err := schemas.Validate(schemas.StubSchema, data)
	if err != nil {
		return s, invalid("", "%w", err)
	}
	if twice, ok := errors.AsType[*schemas.DuplicateError](schemas.CheckUnique(data)); ok {
		return s, invalid(twice.Pointer, "%w", twice)
	}
	if len(violations) > 0 {
		worst := violations[0]
		for _, v := range violations[1:] {
			if tellsMore(v, worst) {
				worst = v
			}
		}
		rule := wayOut(worst)
		if rule == "" {
			rule = worst.Rule
		}
		return s, invalid(worst.Place(), "%s (got %s)", rule, jsonText(worst.Value))
	}
	if err := json.Unmarshal(data, &s); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return s, wrongNumber(data, wrong)
		}
		return s, invalid("", "%w", err)
	}
	return s, nil
}

// tellsMore compares two violations of one document. A branch that failed says
// less than the reason it failed for, which is deeper in the document; of those
// at one place, a way out of our own says the most.
func tellsMore(a, b schemas.Violation) bool {
	if len(a.Place()) != len(b.Place()) {
		return len(a.Place()) > len(b.Place())
	}
	rank := func(v schemas.Violation) int {
		switch {
		case wayOut(v) != "":
			return 2
		case isBranch(v.Keyword):
			return 0
		}
		return 1
	}
	return rank(a) > rank(b)
}

// isBranch tells the keywords whose violations say no more than that there is one.
func isBranch(keyword string) bool {
	switch keyword {
	case "number_one_of", "number_any_of", "number_all_of", "number_not":
		return true
	}
	return false
}

var (
	conditionPlace = regexp.MustCompile(`^/match/(?:(?:query|headers|cookies)/[^/]*|body/text)$`)
	responsePlace  = regexp.MustCompile(`^(?:/respond|/sequence/responses/[0-9]+)(/.*)?$`)
	headersPlace   = regexp.MustCompile(`^(?:/interim/[0-9]+)?/headers(/.*)?$`)
	interimPlace   = regexp.MustCompile(`^/interim/[0-9]+/status$`)
)

// wayOut says what to write instead, where the schema's own words do not; else
// it gives "".
func wayOut(v schemas.Violation) string {
	switch {
	case v.Keyword == "number_one_of" && v.Pointer == "":
		object, _ := v.Value.(map[string]any)
		_, respond := object["respond"]
		if _, sequence := object["sequence"]; respond && sequence {
			return "give respond or sequence, not both"
		}
		return "give respond or sequence"
	case isBranch(v.Keyword) && conditionPlace.MatchString(v.Pointer):
		return "give a string, a list of two or more strings, or exactly one of contains, matches and absent"
	}
	below := responsePlace.FindStringSubmatch(v.Pointer)
	if below == nil {
		return ""
	}
	switch at := below[1]; {
	case at == "" && v.Keyword == "number_not":
		return "give one of json, text, base64 and file"
	case at == "/delay" && isBranch(v.Keyword):
		return "give one of ms, uniform and lognormal; seed is for the last two only"
	case interimPlace.MatchString(at) && v.Keyword == "number_not":
		return "give 100 to 199, but not 101, which ends HTTP"
	case v.Keyword == "pattern": // no other place below has one
		return "is not base64 (RFC 4648, section 4)"
	case isBranch(v.Keyword) && headersPlace.MatchString(at):
		switch field := headersPlace.FindStringSubmatch(at)[1]; {
		case field == "":
			return "give a list of [name, value] pairs, or an object of strings and lists of strings"
		case isNatural(json.Number(field[1:])):
			return `give [name, value], or [name, value in base64, "base64"]`
		default:
			return "give a string or a list of strings"
		}
	}
	return ""
}

// wrongNumber places a number that the schema takes and a Go integer does not.
func wrongNumber(data []byte, wrong *json.UnmarshalTypeError) error {
	number, _ := strings.CutPrefix(wrong.Value, "number ")
	rule := fmt.Errorf("is %s, which is too large", number)
	if strings.ContainsAny(number, ".eE") {
		rule = fmt.Errorf("is %s; write a whole number in digits alone, without point and exponent", number)
	}
	doc, err := decodeJSON(data)
	if err != nil {
		return invalid("", "%w", err)
	}
	return &InvalidStubError{Pointer: placeOf(doc, strings.Split(wrong.Field, "."), number), Err: rule}
}

// placeOf gives the JSON Pointer of the first number of that text on a way of
// member names, which passes over the elements of lists.
func placeOf(v any, names []string, number string) string {
	switch v := v.(type) {
	case map[string]any:
		if len(names) == 0 {
			return ""
		}
		if below := placeOf(v[names[0]], names[1:], number); below != "" || v[names[0]] == json.Number(number) {
			return "/" + pointerEscaper.Replace(names[0]) + below
		}
	case []any:
		for i, element := range v {
			if below := placeOf(element, names, number); below != "" {
				return "/" + strconv.Itoa(i) + below
			}
		}
	}
	return ""
}
