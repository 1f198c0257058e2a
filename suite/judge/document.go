package judge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"strings"
)

// member is one member of a JSON object, in its place.
type member struct {
	name  string
	value json.RawMessage
}

// members reads a JSON object in order. Of a name that stands twice the last
// value counts, as in most parsers.
func members(raw []byte) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	tok, err := dec.Token()
	if err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if tok != json.Delim('{') {
		return nil, fmt.Errorf("not a JSON object")
	}
	var out []member
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("not JSON: %w", err)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, fmt.Errorf("not JSON: %w", err)
		}
		name := key.(string) // an object's keys are strings, or Token has failed
		replaced := false
		for i := range out {
			if out[i].name == name {
				out[i].value, replaced = value, true
			}
		}
		if !replaced {
			out = append(out, member{name, value})
		}
	}
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("not one JSON object: something follows it")
	}
	return out, nil
}

func find(ms []member, name string) (json.RawMessage, bool) {
	for _, m := range ms {
		if m.name == name {
			return m.value, true
		}
	}
	return nil, false
}

// equal says whether two JSON texts hold the same value: member order, white
// space and escapes do not matter, and numbers are compared exactly. With
// ordered, the order of members matters too.
func equal(a, b json.RawMessage, ordered bool) bool {
	if bytes.Equal(a, b) {
		return true
	}
	a, b = bytes.TrimSpace(a), bytes.TrimSpace(b)
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	switch {
	case a[0] == '{' && b[0] == '{':
		return equalObjects(a, b, ordered)
	case a[0] == '[' && b[0] == '[':
		var x, y []json.RawMessage
		if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !equal(x[i], y[i], ordered) {
				return false
			}
		}
		return true
	case a[0] == '"' && b[0] == '"':
		var x, y string
		return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && x == y
	case isNumber(a) && isNumber(b):
		return decimal(string(a)) == decimal(string(b))
	}
	return bytes.Equal(a, b) // true, false and null
}

func equalObjects(a, b json.RawMessage, ordered bool) bool {
	x, errX := members(a)
	y, errY := members(b)
	if errX != nil || errY != nil || len(x) != len(y) {
		return false
	}
	for i, m := range x {
		other, ok := find(y, m.name)
		if !ok || ordered && y[i].name != m.name || !equal(m.value, other, ordered) {
			return false
		}
	}
	return true
}

func isNumber(raw json.RawMessage) bool {
	return len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}

// decimal gives the one spelling of a JSON number's value: digits without
// zeros at their ends, and a power of ten. It never expands the exponent, which
// may be absurd.
func decimal(literal string) string {
	sign := ""
	if rest, ok := strings.CutPrefix(literal, "-"); ok {
		sign, literal = "-", rest
	}
	mantissa, exponent, _ := strings.Cut(strings.ToLower(literal), "e")
	power := new(big.Int)
	if exponent != "" {
		power.SetString(strings.TrimPrefix(exponent, "+"), 10)
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	power.Sub(power, big.NewInt(int64(len(fraction))))
	digits := strings.TrimLeft(whole+fraction, "0")
	trimmed := strings.TrimRight(digits, "0")
	power.Add(power, big.NewInt(int64(len(digits)-len(trimmed))))
	if trimmed == "" {
		return "0"
	}
	return sign + trimmed + "e" + power.String()
}
