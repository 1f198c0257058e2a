package compose

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

const (
	// maxInteger is 2^53-1: every JSON implementation reads integers up to it
	// exactly (RFC 8259, 6).
	maxInteger = 1<<53 - 1
	// maxMagnitude bounds the decimal exponent of a number, and so the length
	// of its text. No double lies beyond it.
	maxMagnitude = 324
)

// texts gives the canonical text of a value, or of each element of an array.
func texts(f *Field, v gjson.Result, label string) ([]string, error) {
	if !f.Array {
		s, err := scalar(f.Type, v, label)
		if err != nil {
			return nil, err
		}
		return []string{s}, nil
	}
	elements, err := elementsOf(v, label)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, element := range elements {
		s, err := scalar(f.Type, element, label)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// elementsOf gives the elements of an array.
func elementsOf(v gjson.Result, label string) ([]gjson.Result, error) {
	switch {
	case v.Type == gjson.Null:
		return nil, nullNotAllowed(label)
	case !v.IsArray():
		return nil, refuse(CodeInvalidType, label, "Argument '%s' must be an array, not %s.", kind(v))
	}
	return v.Array(), nil
}

// scalar gives the canonical text of a value of the given type: strings as
// they are, true and false, numbers in their shortest form without an exponent.
func scalar(typ string, v gjson.Result, label string) (string, error) {
	switch {
	case v.Type == gjson.Null:
		return "", nullNotAllowed(label)
	case v.Type == gjson.String && (typ == TypeString || typ == ""):
		return v.Str, nil
	case v.IsBool() && (typ == TypeBoolean || typ == ""):
		return v.Raw, nil
	case v.Type == gjson.Number && (typ == TypeInteger || typ == TypeNumber || typ == ""):
		d := parseDecimal(v.Raw)
		if typ == TypeInteger && !d.safeInteger() {
			return "", refuse(CodeInvalidType, label,
				"Argument '%s' must be of type integer: without a fraction, and at most %d in magnitude.", maxInteger)
		}
		if !d.writable() {
			return "", refuse(CodeInvalidType, label, "Argument '%s' is outside the range of numbers.")
		}
		return d.String(), nil
	case typ == "":
		return "", refuse(CodeInvalidType, label, "Argument '%s' must be a single value, not %s.", kind(v))
	default:
		return "", refuse(CodeInvalidType, label, "Argument '%s' must be of type %s, not %s.", typ, kind(v))
	}
}

// kind names the JSON kind of a value, with its article.
func kind(v gjson.Result) string {
	switch {
	case v.Type == gjson.Null:
		return "null"
	case v.Type == gjson.String:
		return "a string"
	case v.Type == gjson.Number:
		return "a number"
	case v.IsBool():
		return "a boolean"
	case v.IsArray():
		return "an array"
	default:
		return "an object"
	}
}

// decimal is a JSON number without loss: 0.digits times ten to the power of
// point. Digits has no zero at either end, so equal numbers are equal decimals.
type decimal struct {
	negative bool
	digits   string
	point    int
}

// parseDecimal takes a valid JSON number apart. It never expands an exponent:
// 1e999999999 costs no more than 1.
func parseDecimal(raw string) decimal {
	var d decimal
	raw, d.negative = strings.CutPrefix(raw, "-")
	if i := strings.IndexAny(raw, "eE"); i >= 0 {
		// Out of range, Atoi gives the nearest integer: too large in magnitude
		// to be written, even if the addition below wraps it around.
		d.point, _ = strconv.Atoi(raw[i+1:])
		raw = raw[:i]
	}
	whole, fraction, _ := strings.Cut(raw, ".")
	significant := strings.TrimLeft(whole+fraction, "0")
	d.point += len(significant) - len(fraction)
	d.digits = strings.TrimRight(significant, "0")
	if d.digits == "" {
		return decimal{}
	}
	return d
}

// safeInteger reports an integer of at most 2^53-1 in magnitude. 1.0 and 1e0 are integers.
func (d decimal) safeInteger() bool {
	if d.digits == "" {
		return true
	}
	if len(d.digits) > d.point || d.point > len("9007199254740991") {
		return false
	}
	n, err := strconv.ParseInt(d.digits+strings.Repeat("0", d.point-len(d.digits)), 10, 64)
	return err == nil && n <= maxInteger
}

func (d decimal) writable() bool { return d.point >= -maxMagnitude && d.point <= maxMagnitude }

// String is the shortest form without an exponent: 1.50 is 1.5, 1e3 is 1000, -0.0 is 0.
func (d decimal) String() string {
	var text string
	switch {
	case d.digits == "":
		return "0"
	case d.point <= 0:
		text = "0." + strings.Repeat("0", -d.point) + d.digits
	case d.point >= len(d.digits):
		text = d.digits + strings.Repeat("0", d.point-len(d.digits))
	default:
		text = d.digits[:d.point] + "." + d.digits[d.point:]
	}
	if d.negative {
		return "-" + text
	}
	return text
}

const upperHex = "0123456789ABCDEF"

// Escape percent-encodes every byte that is not unreserved (RFC 3986, 2.3).
// The escapers of net/url keep more, and write a space as "+" in queries.
func Escape(s string) string {
	escapes := 0
	for i := range len(s) {
		if !unreserved(s[i]) {
			escapes++
		}
	}
	if escapes == 0 {
		return s
	}
	out := make([]byte, 0, len(s)+2*escapes)
	for i := range len(s) {
		if c := s[i]; unreserved(c) {
			out = append(out, c)
		} else {
			out = append(out, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return string(out)
}

func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c == '-' || c == '.' || c == '_' || c == '~'
}
