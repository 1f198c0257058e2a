// Package compose turns an operation's template and the arguments of an agent
// into the HTTP request that would be sent, or into a refusal (SDK-03 to
// SDK-14, CARRIER-07).
//
// Compose is a dry run: it opens nothing and sends nothing. What it returns is
// exact, so that everything that can be refused is refused before a backend
// sees a byte. Request.Resolve then fetches the files that were passed by
// reference, and Request.HTTPRequest makes the request to dispatch.
//
// Composing is strict on purpose. Values are percent-encoded down to the
// unreserved characters of RFC 3986, so that no value can leave its place; an
// argument nobody declared is refused rather than dropped; and everything is
// written in the order of the template, so that equal arguments give equal bytes.
package compose

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// Default limits of file arguments, in bytes.
const (
	DefaultMaxInlineFileBytes = 1 << 20  // for Call.MaxInlineFileBytes
	DefaultMaxFileBytes       = 16 << 20 // for Request.Resolve
)

// Call is what one invocation brings to a template.
type Call struct {
	// Arguments is the agent's JSON. Empty and null are the empty object, and
	// a string that holds an object is that object (CARRIER-07).
	Arguments json.RawMessage
	// CarrierCookies is the Cookie header of the caller's identity. It leads
	// the one that is sent.
	CarrierCookies string
	// Deferred holds the values of deferred fills by their source. A source
	// without a value, or with null, is missing.
	Deferred map[string]json.RawMessage
	// MaxInlineFileBytes limits the decoded base64 content of all files of the
	// call together. Zero allows none. Text content does not count.
	MaxInlineFileBytes int64
}

// Compose makes the request of a call. Its error is always a *Refusal.
//
// The template must have passed Validate: with one that has not, Compose still
// does not panic, but what it composes is not specified.
func Compose(t *Template, call Call) (*Request, error) {
	args, err := readArguments(call.Arguments)
	if err != nil {
		return nil, err
	}
	if err := t.checkNames(args); err != nil {
		return nil, err
	}
	c := composition{template: t, call: call, args: args, path: map[string]string{}}
	if err := c.parameters(); err != nil {
		return nil, err
	}
	r := &Request{Method: t.Method, Headers: c.headers}
	if r.PathAndQuery, err = c.target(); err != nil {
		return nil, err
	}
	if cookie := c.cookieHeader(); cookie != "" {
		r.Headers = append(r.Headers, Header{"cookie", cookie})
	}
	if err := c.body(r); err != nil {
		return nil, err
	}
	return r, nil
}

// composition is one request in the making.
type composition struct {
	template *Template
	call     Call
	args     object

	path    map[string]string // by parameter name, encoded
	query   []string          // finished key=value pairs
	headers Headers
	cookies []string // finished name=value pairs

	inlineBytes int64 // decoded from base64 so far
}

// object is a JSON object with its order.
type object struct {
	names  []string
	values map[string]gjson.Result
}

// readObject reads the members of a JSON object. Of two members with one name
// the last one counts, as in most decoders.
func readObject(v gjson.Result) object {
	o := object{values: map[string]gjson.Result{}}
	for key, value := range v.ForEach {
		if _, ok := o.values[key.Str]; !ok {
			o.names = append(o.names, key.Str)
		}
		o.values[key.Str] = value
	}
	return o
}

// parse reads one JSON value, and reports whether it is one. The values of
// gjson keep their source text, and so every digit and the order of members.
func parse(raw []byte) (gjson.Result, bool) {
	// encoding/json does the validating because it bounds the nesting;
	// gjson.Valid recurses until the stack overflows, which nothing recovers.
	if !json.Valid(raw) {
		return gjson.Result{}, false
	}
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	return gjson.ParseBytes(bytes.TrimSpace(raw)), true
}

// readArguments reads the arguments of a call (CARRIER-07).
func readArguments(raw json.RawMessage) (object, error) {
	if len(raw) == 0 {
		return object{}, nil
	}
	v, ok := parse(raw)
	if !ok {
		return object{}, &Refusal{
			Code:    CodeInvalidType,
			Message: "The arguments must be a JSON object; what arrived is not valid JSON.",
		}
	}
	if v.Type == gjson.Null {
		return object{}, nil
	}
	arrived := kind(v)
	if v.Type == gjson.String {
		if inner, ok := parse([]byte(v.Str)); ok {
			v = inner
		}
	}
	if !v.IsObject() {
		return object{}, &Refusal{
			Code:    CodeInvalidType,
			Message: "The arguments must be a JSON object, not " + arrived + ".",
		}
	}
	return readObject(v), nil
}

// checkNames refuses arguments that the template does not publish (SDK-03).
// The name of a hidden argument and the wire name of a renamed one are unknown
// like any other, even where additional properties are welcome: let through,
// they would end up in the body next to the value they imitate.
func (t *Template) checkNames(args object) error {
	allowed := t.Arguments()
	closed := map[string]bool{}
	for s := range t.slots() {
		if s.fill != nil {
			closed[s.wire], closed[s.agentName()] = true, true
		} else if s.as != "" {
			closed[s.wire] = true
		}
	}
	var unknown []string
	for _, name := range args.names {
		if slices.Contains(allowed, name) || t.open() && !closed[name] {
			continue
		}
		unknown = append(unknown, name)
	}
	if len(unknown) > 0 {
		return unknownArguments(unknown, allowed)
	}
	return nil
}

// open reports whether undeclared arguments go into the body.
func (t *Template) open() bool { return t.Body != nil && t.Body.AdditionalProperties }

// value is what goes into a slot, if anything does.
func (c *composition) value(s slot) (v gjson.Result, ok bool, err error) {
	if s.fill == nil {
		v, ok = c.args.values[s.agentName()]
		return v, ok, nil
	}
	raw := s.fill.Value
	if s.fill.Kind == FillDeferred {
		if raw, ok = c.call.Deferred[s.fill.Source]; !ok {
			return v, false, nil
		}
	}
	if v, ok = parse(raw); !ok {
		return v, false, conceal(s.fill, misconfigured())
	}
	return v, true, nil
}

// writtenValue is value for the slots that cannot hold null. A fill's null is
// absent there: to be told to leave it out helps an agent with its own
// argument only.
func (c *composition) writtenValue(s slot) (gjson.Result, bool, error) {
	v, ok, err := c.value(s)
	if s.fill != nil && v.Type == gjson.Null {
		ok = false
	}
	return v, ok, err
}

// target is the path with its parameters, and the query.
func (c *composition) target() (string, error) {
	var b strings.Builder
	rest := c.template.Route
	for {
		literal, after, found := strings.Cut(rest, "{")
		b.WriteString(literal)
		if !found {
			break
		}
		name, after, _ := strings.Cut(after, "}")
		text, ok := c.path[name]
		if !ok {
			return "", misconfigured()
		}
		b.WriteString(text)
		rest = after
	}
	if len(c.query) > 0 {
		b.WriteByte('?')
		b.WriteString(strings.Join(c.query, "&"))
	}
	return b.String(), nil
}
