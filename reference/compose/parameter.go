package compose

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"
)

// parameters writes everything that goes outside of the body.
func (c *composition) parameters() error {
	for i := range c.template.Parameters {
		p := &c.template.Parameters[i]
		v, ok, err := c.writtenValue(p.slot())
		switch {
		case err != nil:
			return err
		case ok:
			if err := conceal(p.Fill, c.parameter(p, v)); err != nil {
				return err
			}
		case p.In == InPath:
			return p.slot().missing()
		}
	}
	return nil
}

// parameter writes one value to where the parameter lives.
func (c *composition) parameter(p *Parameter, v gjson.Result) error {
	label := p.slot().agentName()
	switch p.In {
	case InPath:
		return c.pathParameter(p, v, label)
	case InQuery:
		pairs, err := p.queryPairs(v, label)
		c.query = append(c.query, pairs...)
		return err
	case InHeader:
		return c.headerParameter(p, v, label)
	case InCookie:
		return c.cookieParameter(p, v, label)
	default:
		return misconfigured()
	}
}

// pathParameter writes a path segment (SDK-04, SDK-05). Encoding keeps a value
// in its segment, with two exceptions that it cannot express: nothing at all,
// and the dot segments, which every URL library resolves (RFC 3986, 5.2.4).
func (c *composition) pathParameter(p *Parameter, v gjson.Result, label string) error {
	list, err := texts(&p.Field, v, label)
	if err != nil {
		typ := p.Type
		switch {
		case p.Array && typ == "":
			typ = "array"
		case p.Array:
			typ = "array of " + typ
		case typ == "":
			return refuse(CodeInvalidPathType, label, "Argument '%s' must be a single value.")
		}
		return refuse(CodeInvalidPathType, label, "Argument '%s' must be of type %s.", typ)
	}
	segment := joinEscaped(list, ",")
	switch segment {
	case "":
		return p.slot().missing()
	case ".", "..":
		return refuse(CodeInvalidPathType, label, "Argument '%s' must not be '.' or '..'.")
	}
	c.path[p.Name] = segment
	return nil
}

// queryPairs writes a query parameter. A list without elements writes nothing.
func (p *Parameter) queryPairs(v gjson.Result, label string) ([]string, error) {
	delimiter, explode := ",", true
	switch p.Style {
	case StylePipeDelimited:
		delimiter, explode = "|", false
	case StyleSpaceDelimited:
		delimiter, explode = "%20", false
	}
	if p.Explode != nil {
		explode = *p.Explode
	}
	if !p.Array || explode {
		parts, err := flatten(&p.Field, v, label, p.Notation, Escape)
		return joinPairs(parts), err
	}
	list, err := texts(&p.Field, v, label)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return []string{Escape(p.Name) + "=" + joinEscaped(list, delimiter)}, nil
}

// headerParameter writes a header, an array folded on a comma (SDK-08). A
// header value is not encoded, so what would end it is refused, together with
// the control characters that no HTTP client sends (RFC 9110, 5.5). A tab passes.
func (c *composition) headerParameter(p *Parameter, v gjson.Result, label string) error {
	list, err := texts(&p.Field, v, label)
	if err != nil {
		return err
	}
	for _, s := range list {
		if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7F }) {
			return refuse(CodeHeaderInjection, label,
				"Argument '%s' must not contain a line break or another control character.")
		}
	}
	if len(list) > 0 {
		c.headers = append(c.headers, Header{p.Name, strings.Join(list, ",")})
	}
	return nil
}

// cookieParameter writes a cookie, an array folded on a comma (SDK-09, SDK-10).
func (c *composition) cookieParameter(p *Parameter, v gjson.Result, label string) error {
	list, err := texts(&p.Field, v, label)
	if err != nil || len(list) == 0 {
		return err
	}
	text := joinEscaped(list, ",")
	if p.Style == StyleCookie {
		for _, s := range list {
			if strings.ContainsFunc(s, notCookieOctet) {
				return refuse(CodeInvalidCookieValue, label, "Argument '%s' cannot be sent in a cookie: it has a character "+
					"that is not printable ASCII, or a space, a quote, a comma, a semicolon or a backslash.")
			}
		}
		text = strings.Join(list, ",")
	}
	if c.carries(p.Name) {
		return refuse(CodeCookieCarrierCollision, label,
			"Argument '%s' is sent as a cookie that the caller's identity already uses. Leave it out.")
	}
	c.cookies = append(c.cookies, p.Name+"="+text)
	return nil
}

// notCookieOctet is the complement of cookie-octet (RFC 6265, 4.1.1).
func notCookieOctet(r rune) bool {
	return r <= ' ' || r >= 0x7F || strings.ContainsRune(`",;\`, r)
}

// carries reports whether the caller's identity has a cookie of that name.
// Cookie names are case-sensitive (RFC 6265, 5.3).
func (c *composition) carries(name string) bool {
	for cookie := range strings.SplitSeq(c.call.CarrierCookies, ";") {
		carried, _, _ := strings.Cut(cookie, "=")
		if strings.TrimSpace(carried) == name {
			return true
		}
	}
	return false
}

// cookieHeader joins the identity's cookies and the arguments' into the one
// Cookie header that a request may have (RFC 6265, 5.4).
func (c *composition) cookieHeader() string {
	cookies := c.cookies
	if carried := strings.Trim(c.call.CarrierCookies, "; \t"); carried != "" {
		cookies = append([]string{carried}, cookies...)
	}
	return strings.Join(cookies, "; ")
}

// joinPairs writes parts as the pairs of a query or a urlencoded form.
func joinPairs(parts []Part) []string {
	pairs := make([]string, len(parts))
	for i, p := range parts {
		pairs[i] = p.Name + "=" + p.Value
	}
	return pairs
}

// joinEscaped escapes each text; the separator stays as it is.
func joinEscaped(list []string, separator string) string {
	escaped := make([]string, len(list))
	for i, s := range list {
		escaped[i] = Escape(s)
	}
	return strings.Join(escaped, separator)
}

// flatten writes a field as names and values: one part for a scalar, one for
// each element of an array, and an object as its members under names that join
// both. Names and values are encoded, the notation between them is not.
func flatten(f *Field, v gjson.Result, label, notation string, encode func(string) string) ([]Part, error) {
	key := encode(f.Name)
	if f.Type != TypeObject {
		return repeat(key, f, v, label, encode)
	}
	members, err := declaredMembers(v, f.Members, label)
	if err != nil {
		return nil, err
	}
	format := "%s[%s]"
	if notation == NotationDot {
		format = "%s.%s"
	}
	var parts []Part
	for i := range f.Members {
		m := &f.Members[i]
		value, ok := members.values[m.Name]
		if !ok {
			continue
		}
		more, err := repeat(fmt.Sprintf(format, key, encode(m.Name)), m, value, label+"."+m.Name, encode)
		if err != nil {
			return nil, err
		}
		parts = append(parts, more...)
	}
	return parts, nil
}

// repeat writes a scalar, or each element of an array, under one key.
func repeat(key string, f *Field, v gjson.Result, label string, encode func(string) string) ([]Part, error) {
	list, err := texts(f, v, label)
	if err != nil {
		return nil, err
	}
	parts := make([]Part, len(list))
	for i, s := range list {
		parts[i] = Part{Name: key, Value: encode(s)}
	}
	return parts, nil
}

// declaredMembers reads an object that may have the declared members only.
func declaredMembers(v gjson.Result, fields []Field, label string) (object, error) {
	switch {
	case v.Type == gjson.Null:
		return object{}, nullNotAllowed(label)
	case !v.IsObject():
		return object{}, refuse(CodeInvalidType, label, "Argument '%s' must be an object, not %s.", kind(v))
	}
	declared := map[string]bool{}
	var allowed, unknown []string
	for i := range fields {
		declared[fields[i].Name] = true
		allowed = append(allowed, label+"."+fields[i].Name)
	}
	members := readObject(v)
	for _, name := range members.names {
		if !declared[name] {
			unknown = append(unknown, label+"."+name)
		}
	}
	if len(unknown) > 0 {
		return object{}, unknownArguments(unknown, allowed)
	}
	return members, nil
}
