package mockbackend

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/theory/jsonpath"

	"example.com/touchstone/schemas"
)

// A condition is one thing a stub asks of a request besides its path: it gives
// "" when the request meets it, else the reason why not, in words.
type condition func(*request) string

// compileMatch turns a match into its conditions, the method left out.
func compileMatch(m schemas.StubMatch) ([]condition, error) {
	var conds []condition
	type part struct {
		what, pointer string
		texts         map[string]schemas.StubText
		values        func(q *request, name string) []string
	}
	for _, p := range []part{
		{"query parameter", "/match/query", m.Query, func(q *request, name string) []string { return q.queryValues()[name] }},
		{"header", "/match/headers", m.Headers, headerValues},
		{"cookie", "/match/cookies", m.Cookies, func(q *request, name string) []string {
			var values []string
			for _, c := range q.CookiesNamed(name) {
				values = append(values, c.Value)
			}
			return values
		}},
	} {
		for _, name := range slices.Sorted(maps.Keys(p.texts)) {
			check, err := compileText(p.texts[name])
			if err != nil {
				return nil, invalid(p.pointer+"/"+pointerEscaper.Replace(name), "%w", err)
			}
			conds = append(conds, func(q *request) string {
				if why := check(p.values(q, name)); why != "" {
					return fmt.Sprintf("%s %s %s", p.what, name, why)
				}
				return ""
			})
		}
	}
	if m.ContentType != "" {
		conds = append(conds, func(q *request) string {
			got, _, _ := mime.ParseMediaType(q.Header.Get("Content-Type"))
			if !strings.EqualFold(got, m.ContentType) {
				return fmt.Sprintf("content type is %q, not %q", got, m.ContentType)
			}
			return ""
		})
	}
	if m.Body != nil {
		body, err := compileBody(*m.Body)
		if err != nil {
			return nil, err
		}
		conds = append(conds, body...)
	}
	return conds, nil
}

// headerValues reads Host too, which net/http keeps apart.
func headerValues(q *request, name string) []string {
	if strings.EqualFold(name, "Host") {
		return []string{q.Host}
	}
	return q.Header[http.CanonicalHeaderKey(name)]
}

// compileText gives a check of a list of values, which answers like a condition.
func compileText(t schemas.StubText) (func([]string) string, error) {
	var expr *regexp.Regexp
	given := 0
	for _, is := range []bool{t.Equals != nil, t.Contains != "", t.Matches != "", t.Absent != nil} {
		if is {
			given++
		}
	}
	if given != 1 {
		return nil, fmt.Errorf("wants exactly one of a value, contains, matches and absent; has %d", given)
	}
	if t.Matches != "" {
		var err error
		if expr, err = regexp.Compile(t.Matches); err != nil {
			return nil, fmt.Errorf("matches is not a regular expression: %w", err)
		}
	}
	return func(values []string) string {
		switch {
		case t.Absent != nil:
			if *t.Absent != (len(values) == 0) {
				return fmt.Sprintf("should be absent: %t", *t.Absent)
			}
		case len(values) == 0:
			return "is absent"
		case t.Equals != nil:
			if !slices.Equal(values, t.Equals) {
				return fmt.Sprintf("is %s, not %s", quoteAll(values), quoteAll(t.Equals))
			}
		case expr != nil:
			if !slices.ContainsFunc(values, expr.MatchString) {
				return fmt.Sprintf("is %s, which does not match %s", quoteAll(values), expr)
			}
		default:
			if !slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, t.Contains) }) {
				return fmt.Sprintf("is %s, which does not contain %q", quoteAll(values), t.Contains)
			}
		}
		return ""
	}, nil
}

func quoteAll(values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		if len(v) > 80 {
			v = v[:80] + "…"
		}
		quoted[i] = fmt.Sprintf("%q", v)
	}
	return strings.Join(quoted, ", ")
}

func compileBody(b schemas.StubBodyMatch) ([]condition, error) {
	var conds []condition
	onJSON := func(check func(any) string) {
		conds = append(conds, func(q *request) string {
			v, err := q.bodyJSON()
			if err != nil {
				return fmt.Sprintf("body is not usable as JSON: %v", err)
			}
			return check(v)
		})
	}
	if b.Equals != nil {
		want, err := decodeJSON(b.Equals)
		if err != nil {
			return nil, invalid("/match/body/equals", "is not JSON: %w", err)
		}
		onJSON(func(got any) string { return differs("", want, got, false) })
	}
	if b.Subset != nil {
		want, err := decodeJSON(b.Subset)
		if err != nil {
			return nil, invalid("/match/body/subset", "is not JSON: %w", err)
		}
		onJSON(func(got any) string { return differs("", want, got, true) })
	}
	for _, query := range slices.Sorted(maps.Keys(b.JSONPath)) {
		at := "/match/body/jsonPath/" + pointerEscaper.Replace(query)
		path, err := jsonpath.Parse(query)
		if err != nil {
			return nil, invalid(at, "is not an RFC 9535 JSONPath: %w", err)
		}
		want, err := decodeJSON(b.JSONPath[query])
		if err != nil {
			return nil, invalid(at, "is not JSON: %w", err)
		}
		onJSON(func(got any) string {
			for _, node := range path.Select(got) {
				if differs("", want, node, false) == "" {
					return ""
				}
			}
			return fmt.Sprintf("body has no %s equal to %s", query, jsonText(want))
		})
	}
	if b.Text != nil {
		check, err := compileText(*b.Text)
		if err != nil {
			return nil, invalid("/match/body/text", "%w", err)
		}
		conds = append(conds, func(q *request) string {
			var values []string
			if q.bodyBytes > 0 {
				values = []string{string(q.body)}
			}
			if why := check(values); why != "" {
				return "body " + why
			}
			return ""
		})
	}
	if len(conds) == 0 {
		return nil, invalid("/match/body", "has no condition")
	}
	return conds, nil
}

// differs compares two decoded JSON values and says where they part, or "".
// Numbers are compared by value. With subset, objects may have more members
// than wanted.
func differs(at string, want, got any, subset bool) string {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			break
		}
		for _, name := range slices.Sorted(maps.Keys(want)) {
			value, ok := object[name]
			if !ok {
				return fmt.Sprintf("body has no %s/%s", at, pointerEscaper.Replace(name))
			}
			if why := differs(at+"/"+pointerEscaper.Replace(name), want[name], value, subset); why != "" {
				return why
			}
		}
		if !subset && len(object) > len(want) {
			return fmt.Sprintf("body has more members at %q than the stub", at)
		}
		return ""
	case []any:
		list, ok := got.([]any)
		if !ok {
			break
		}
		if len(list) != len(want) {
			return fmt.Sprintf("body has %d elements at %q, not %d", len(list), at, len(want))
		}
		for i := range want {
			if why := differs(fmt.Sprintf("%s/%d", at, i), want[i], list[i], subset); why != "" {
				return why
			}
		}
		return ""
	case json.Number:
		if number, ok := got.(json.Number); ok && sameNumber(want, number) {
			return ""
		}
	default:
		if want == got {
			return ""
		}
	}
	return fmt.Sprintf("body at %q is %s, not %s", at, jsonText(got), jsonText(want))
}

func sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	// A huge exponent would make an exact comparison as huge.
	if len(a) > 400 || len(b) > 400 || strings.ContainsAny(string(a+b), "eE") {
		x, errX := a.Float64()
		y, errY := b.Float64()
		return errX == nil && errY == nil && x == y
	}
	x, okX := new(big.Rat).SetString(string(a))
	y, okY := new(big.Rat).SetString(string(b))
	return okX && okY && x.Cmp(y) == 0
}

func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(text) > 80 {
		text = append(bytes.ToValidUTF8(text[:80], nil), "…"...)
	}
	return string(text)
}
