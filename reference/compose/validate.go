package compose

import (
	"errors"
	"fmt"
	"math"
	"mime"
	"net/url"
	"slices"
	"strings"
)

// Validate reports everything in the template that Compose cannot honour, so
// that a host learns of it when it loads its operations and not from a call.
// The error joins one error for each problem.
func (t *Template) Validate() error {
	c := checker{template: t}
	c.route()
	c.parameters()
	c.names()
	c.body()
	for _, source := range t.FileSources {
		if !slices.Contains([]string{SourceText, SourceBase64, SourceRef}, source) {
			c.add("fileSources: %q is not text, base64 or ref", source)
		}
	}
	return errors.Join(c.problems...)
}

type checker struct {
	template *Template
	problems []error
}

func (c *checker) add(format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf(format, args...))
}

// token is the syntax of methods, header names and cookie names (RFC 9110, 5.6.2).
func token(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7F || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// notPath is the complement of what a path is made of (RFC 3986, 3.3).
func notPath(r rune) bool {
	return r >= 0x7F || !unreserved(byte(r)) && !strings.ContainsRune("!$&'()*+,;=:@/%", r)
}

// route checks that the placeholders and the path parameters are the same.
func (c *checker) route() {
	t := c.template
	if !token(t.Method) {
		c.add("method %q is not a token", t.Method)
	}
	var placeholders []string
	path, rest := "", t.Route
	for {
		literal, after, found := strings.Cut(rest, "{")
		path += literal
		if !found {
			break
		}
		name, after, closed := strings.Cut(after, "}")
		if !closed {
			c.add("route %q has a { without }", t.Route)
		}
		placeholders = append(placeholders, name)
		rest = after
	}
	if _, err := url.PathUnescape(path); err != nil || !strings.HasPrefix(path, "/") || strings.ContainsFunc(path, notPath) {
		c.add("route %q is not an encoded path", t.Route)
	}
	for i := range t.Parameters {
		if p := &t.Parameters[i]; p.In == InPath && !slices.Contains(placeholders, p.Name) {
			c.add("parameter %q is not in route %q", p.Name, t.Route)
		}
	}
	for _, name := range placeholders {
		if !slices.ContainsFunc(t.Parameters, func(p Parameter) bool { return p.In == InPath && p.Name == name }) {
			c.add("route %q needs a path parameter %q", t.Route, name)
		}
	}
}

// names checks that no two arguments share a name, and every fill.
func (c *checker) names() {
	seen := map[string]bool{}
	for s := range c.template.slots() {
		if s.wire == "" {
			c.add("an argument has no name")
		}
		if seen[s.agentName()] {
			c.add("two arguments are called %q", s.agentName())
		}
		seen[s.agentName()] = true
		if s.fill == nil {
			continue
		}
		switch _, valid := parse(s.fill.Value); {
		case s.fill.Kind == FillConstant && !valid:
			c.add("the constant of %q is not JSON", s.wire)
		case s.fill.Kind == FillDeferred && s.fill.Source == "":
			c.add("the deferred fill of %q has no source", s.wire)
		case s.fill.Kind != FillConstant && s.fill.Kind != FillDeferred:
			c.add("the fill of %q has the unknown kind %q", s.wire, s.fill.Kind)
		}
	}
}

func (c *checker) parameters() {
	styles := map[string][]string{
		InPath:   {"", StyleSimple},
		InQuery:  {"", StyleForm, StylePipeDelimited, StyleSpaceDelimited},
		InHeader: {"", StyleSimple, StyleForm},
		InCookie: {"", StyleForm, StyleCookie},
	}
	seen := map[string]bool{}
	for i := range c.template.Parameters {
		p := &c.template.Parameters[i]
		where := fmt.Sprintf("%s parameter %q", p.In, p.Name)
		allowed, known := styles[p.In]
		if !known {
			c.add("%s: in is not path, query, header or cookie", where)
			continue
		}
		if p.Type == TypeObject && p.In == InQuery {
			allowed = []string{"", StyleDeepObject}
		}
		if !slices.Contains(allowed, p.Style) {
			c.add("%s: style %q is not supported there", where, p.Style)
		}
		c.field(where, &p.Field, p.In == InQuery, false)
		c.notation(where, p.Notation)
		key := p.In + " " + p.Name
		if p.In == InHeader {
			key = strings.ToLower(key)
		}
		if seen[key] {
			c.add("%s is declared twice", where)
		}
		seen[key] = true
		if (p.In == InHeader || p.In == InCookie) && !token(p.Name) {
			c.add("%s: the name is not a token", where)
		}
		if reserved := []string{"cookie", "content-type", "content-length", "host", "transfer-encoding"}; p.In == InHeader &&
			slices.Contains(reserved, strings.ToLower(p.Name)) {
			c.add("%s: the header is made from the rest of the request", where)
		}
		c.constant(where, p)
	}
}

// constant writes the constant of a parameter as a call would.
func (c *checker) constant(where string, p *Parameter) {
	if p.Fill == nil || p.Fill.Kind != FillConstant {
		return
	}
	v, ok := parse(p.Fill.Value)
	if !ok {
		return // names reports it
	}
	try := composition{template: c.template, path: map[string]string{}}
	if err := try.parameter(p, v); err != nil {
		c.add("%s: its constant cannot be sent: %w", where, err)
	}
}

// field checks a type where objects or files may be allowed.
func (c *checker) field(where string, f *Field, objects, files bool) {
	switch f.Type {
	case "", TypeString, TypeInteger, TypeNumber, TypeBoolean:
	case TypeObject:
		if !objects || f.Array {
			c.add("%s: objects are not supported there", where)
		}
		seen := map[string]bool{}
		for i := range f.Members {
			m := &f.Members[i]
			c.field(fmt.Sprintf("%s, member %q", where, m.Name), m, false, false)
			if m.Name == "" || seen[m.Name] {
				c.add("%s: member %q has no name of its own", where, m.Name)
			}
			seen[m.Name] = true
		}
	case TypeFile:
		if !files {
			c.add("%s: files are not supported there", where)
		}
	default:
		c.add("%s: unknown type %q", where, f.Type)
	}
}

func (c *checker) notation(where, notation string) {
	if !slices.Contains([]string{"", NotationBracket, NotationDot}, notation) {
		c.add("%s: unknown notation %q", where, notation)
	}
}

func (c *checker) body() {
	t := c.template
	kind := bodyKindOf(t.ContentType)
	isForm := kind == bodyURLEncoded || kind == bodyMultipart
	if t.ContentType != "" {
		media, _, err := mime.ParseMediaType(t.ContentType)
		if err != nil || !strings.Contains(media, "/") || strings.Contains(media, "*") ||
			strings.HasPrefix(media, "multipart/") && kind != bodyMultipart {
			c.add("contentType %q cannot be sent", t.ContentType)
		}
	}
	if isForm != (t.Form != nil) {
		c.add("contentType %q and form do not go together", t.ContentType)
	}
	switch {
	case t.Body != nil && t.BodyRoot != "":
		c.add("body and bodyRoot exclude each other")
	case t.RootFill != nil && t.BodyRoot == "":
		c.add("rootFill needs bodyRoot")
	case t.Body != nil:
		c.properties(kind, isForm)
	case t.BodyRoot == "" && t.ContentType != "":
		c.add("contentType %q needs body or bodyRoot", t.ContentType)
	}
	if t.Form != nil {
		c.notation("form", t.Form.Notation)
		seen := map[string]bool{}
		for i := range t.Form.Fields {
			f := &t.Form.Fields[i]
			where := fmt.Sprintf("form field %q", f.Name)
			c.field(where, f, true, kind == bodyMultipart)
			if f.Name == "" || seen[f.Name] {
				c.add("%s has no name of its own", where)
			}
			seen[f.Name] = true
		}
	}
	if len(c.problems) == 0 {
		c.bodyConstants()
	}
}

func (c *checker) properties(kind bodyKind, isForm bool) {
	t := c.template
	if kind == bodyText || kind == bodyFile {
		c.add("contentType %q needs bodyRoot", t.ContentType)
	}
	if t.Body.AdditionalProperties && kind != bodyJSON {
		c.add("additionalProperties needs a JSON body")
	}
	seen := map[string]bool{}
	for _, cur := range t.Body.Curation {
		if !slices.Contains(t.Body.Properties, cur.Name) || seen[cur.Name] {
			c.add("curation of %q does not belong to a property of its own", cur.Name)
		}
		seen[cur.Name] = true
	}
	if !isForm || t.Form == nil {
		return
	}
	var fields []string
	for i := range t.Form.Fields {
		fields = append(fields, t.Form.Fields[i].Name)
	}
	if !slices.Equal(slices.Sorted(slices.Values(fields)), slices.Sorted(slices.Values(t.Body.Properties))) {
		c.add("form fields %q and body properties %q differ", fields, t.Body.Properties)
	}
}

// bodyConstants writes a body of nothing but its constants.
func (c *checker) bodyConstants() {
	try := composition{template: c.template, call: Call{MaxInlineFileBytes: math.MaxInt64}}
	if err := try.body(&Request{}); err != nil {
		c.add("a constant of the body cannot be sent as %q", c.template.ContentType)
	}
}
