package mockbackend

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/theory/jsonpath"

	"example.com/touchstone/schemas"
)

// A condition is one thing a stub asks of a request besides its path: it gives
// "" when the request meets it, else the reason why not, in words if they are
// wanted. Most are not: of many stubs on a path, all but one do not match.
type condition func(q *request, tell bool) string

// unmet is a reason that nobody wants to know.
const unmet = "does not match"

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
		{"cookie", "/match/cookies", m.Cookies, (*request).cookieValues},
	} {
		for _, name := range slices.Sorted(maps.Keys(p.texts)) {
			check, err := compileText(p.texts[name])
			if err != nil {
				return nil, invalid(p.pointer+"/"+pointerEscaper.Replace(name), "%w", err)
			}
			if p.what == "cookie" {
				check = quotedOrNot(check)
			}
			conds = append(conds, func(q *request, tell bool) string {
				why := check(p.values(q, name), tell)
				if why != "" && tell {
					why = fmt.Sprintf("%s %s %s", p.what, name, why)
				}
				return why
			})
		}
	}
	if m.ContentType != "" {
		if plain, _, err := mime.ParseMediaType(m.ContentType); err != nil && plain == "" {
			return nil, invalid("/match/contentType", "%q is not a media type, as application/json is", m.ContentType)
		} else if !strings.EqualFold(plain, m.ContentType) {
			return nil, invalid("/match/contentType", "%q is more than a media type; leave the parameters out, which are not compared: %s", m.ContentType, plain)
		}
		conds = append(conds, func(q *request, _ bool) string {
			got, _, _ := mime.ParseMediaType(q.Header.Get("Content-Type"))
			if !strings.EqualFold(got, m.ContentType) {
				return fmt.Sprintf("content type is %q, not %q", shorten(got), m.ContentType)
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

// A textCheck judges a list of values, and answers like a condition.
type textCheck func(values []string, tell bool) string

// quotedOrNot lets values meet a check without the quotes around them too.
func quotedOrNot(check textCheck) textCheck {
	return func(values []string, tell bool) string {
		why := check(values, tell)
		if why == "" || !slices.ContainsFunc(values, func(v string) bool { return unquoted(v) != v }) {
			return why
		}
		plain := make([]string, len(values))
		for i, v := range values {
			plain[i] = unquoted(v)
		}
		if check(plain, false) == "" {
			return ""
		}
		return why
	}
}

// compileText gives the check of a condition.
func compileText(t schemas.StubText) (textCheck, error) {
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
	if t.Equals != nil && len(t.Equals) == 0 {
		return nil, errors.New("wants no values; give absent for that")
	}
	if t.Matches != "" {
		var err error
		if expr, err = regexp.Compile(t.Matches); err != nil {
			return nil, fmt.Errorf("matches is not a regular expression: %w", err)
		}
	}
	meets := func(values []string) bool {
		switch {
		case t.Absent != nil:
			return *t.Absent == (len(values) == 0)
		case t.Equals != nil && len(values) > 0:
			return slices.Equal(values, t.Equals)
		case expr != nil:
			return slices.ContainsFunc(values, expr.MatchString)
		}
		return slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, t.Contains) })
	}
	return func(values []string, tell bool) string {
		switch {
		case meets(values):
			return ""
		case !tell:
			return unmet
		case t.Absent != nil:
			return fmt.Sprintf("should be absent: %t", *t.Absent)
		case len(values) == 0:
			return "is absent"
		case t.Equals != nil:
			return fmt.Sprintf("is %s, not %s", quoteAll(values), quoteAll(t.Equals))
		case expr != nil:
			return fmt.Sprintf("is %s, which does not match %s", quoteAll(values), expr)
		}
		return fmt.Sprintf("is %s, which does not contain %q", quoteAll(values), t.Contains)
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
	onJSON := func(check func(body any, tell bool) string) {
		conds = append(conds, func(q *request, tell bool) string {
			v, err := q.bodyJSON()
			switch {
			case err == nil:
				return check(v, tell)
			case !tell:
				return unmet
			}
			return fmt.Sprintf("body is not usable as JSON: %v", err)
		})
	}
	if b.Equals != nil {
		want, err := decodeJSON(b.Equals)
		if err != nil {
			return nil, invalid("/match/body/equals", "is not JSON: %w", err)
		}
		onJSON(func(got any, tell bool) string { return comparison{tell: tell}.differs("", want, got) })
	}
	if b.Subset != nil {
		want, err := decodeJSON(b.Subset)
		if err != nil {
			return nil, invalid("/match/body/subset", "is not JSON: %w", err)
		}
		onJSON(func(got any, tell bool) string { return comparison{subset: true, tell: tell}.differs("", want, got) })
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
		onJSON(func(got any, tell bool) string {
			for _, node := range path.Select(got) {
				if sameJSON(want, node) {
					return ""
				}
			}
			if !tell {
				return unmet
			}
			return fmt.Sprintf("body has no %s equal to %s", query, jsonText(want))
		})
	}
	if b.Text != nil {
		check, err := compileBodyText(*b.Text)
		if err != nil {
			return nil, invalid("/match/body/text", "%w", err)
		}
		conds = append(conds, check)
	}
	if len(conds) == 0 {
		return nil, invalid("/match/body", "has no condition")
	}
	return conds, nil
}

// compileBodyText gives the condition on a body as text. An empty body is absent
// and is the empty text.
func compileBodyText(t schemas.StubText) (condition, error) {
	check, err := compileText(t)
	switch {
	case err != nil:
		return nil, err
	case len(t.Equals) > 1:
		return nil, fmt.Errorf("has %d values; a body is one text", len(t.Equals))
	}
	return func(q *request, tell bool) string {
		text := []string{string(q.body)}
		cut := q.bodyBytes > int64(len(q.body))
		var why string
		switch {
		case q.bodyBytes == 0 && (t.Absent != nil || check(text, false) != ""):
			why = check(nil, tell)
		case cut && t.Absent == nil && (t.Contains == "" || check(text, false) != ""):
			// What its start contains, the whole does; nothing else is known of it.
			if why = unmet; tell {
				why = fmt.Sprintf("is not usable as text: %v", errBodyCut)
			}
		default:
			why = check(text, tell)
		}
		if why != "" && tell {
			why = "body " + why
		}
		return why
	}, nil
}

// A comparison is of two decoded JSON values; numbers are compared by value.
type comparison struct {
	// subset lets objects have more members than wanted.
	subset bool
	tell   bool
}

// sameJSON tells whether two decoded JSON values are equal.
func sameJSON(a, b any) bool { return comparison{}.differs("", a, b) == "" }

// differs says where two values part, or "". at is their JSON Pointer.
func (c comparison) differs(at string, want, got any) string {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			break
		}
		return c.membersDiffer(at, want, object)
	case []any:
		list, ok := got.([]any)
		if !ok {
			break
		}
		if len(list) != len(want) {
			return c.say("body has %d elements at %q, not %d", len(list), at, len(want))
		}
		for i := range want {
			if why := c.differs(c.below(at, strconv.Itoa(i)), want[i], list[i]); why != "" {
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
	if !c.tell {
		return unmet
	}
	return fmt.Sprintf("body at %q is %s, not %s", at, jsonText(got), jsonText(want))
}

func (c comparison) membersDiffer(at string, want, got map[string]any) string {
	names := maps.Keys(want)
	if c.tell { // the same reason each time
		names = slices.Values(slices.Sorted(names))
	}
	for name := range names {
		value, ok := got[name]
		if !ok {
			return c.say("body has no %s", c.below(at, name))
		}
		if why := c.differs(c.below(at, name), want[name], value); why != "" {
			return why
		}
	}
	if !c.subset && len(got) > len(want) {
		return c.say("body has more members at %q than the stub", at)
	}
	return ""
}

func (c comparison) below(at, name string) string {
	if !c.tell {
		return at
	}
	return at + "/" + pointerEscaper.Replace(name)
}

func (c comparison) say(format string, args ...any) string {
	if !c.tell {
		return unmet
	}
	return fmt.Sprintf(format, args...)
}

func sameNumber(a, b json.Number) bool {
	switch {
	case a == b:
		return true
	case isNatural(a) && isNatural(b): // written in one way only
		return false
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

func isNatural(n json.Number) bool {
	return !strings.ContainsFunc(string(n), func(r rune) bool { return r < '0' || r > '9' })
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
