package invoke

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"example.com/touchstone/reference/compose"
	"example.com/touchstone/schemas"
)

// Kinds of the arguments of meta-tools.
const (
	KindString = "a string"
	KindCount  = "an integer of at least 1"
	// KindObject is the kind of an operation's arguments. What does not fit is
	// refused with them, not here (CARRIER-07).
	KindObject = "an object"
)

// MetaTool is one of the tools that an agent calls the layer with.
type MetaTool struct {
	Name      string
	Arguments []MetaArgument
}

// MetaArgument is an argument of a meta-tool.
type MetaArgument struct {
	Name        string
	Kind        string
	Required    bool
	Description string
}

// read reads the arguments of a call of the meta-tool. What is wrong with them is
// refused with the name of the argument expected (CARRIER-06). A null is no
// argument, but for one of KindObject.
func (m MetaTool) read(raw json.RawMessage) (map[string]gjson.Result, error) {
	if text := bytes.TrimSpace(raw); len(text) == 0 || string(text) == "null" {
		raw = json.RawMessage("{}")
	}
	// encoding/json validates, since it bounds the nesting of what gjson reads.
	var value gjson.Result
	if json.Valid(raw) {
		value = gjson.ParseBytes(bytes.ToValidUTF8(raw, []byte("\uFFFD")))
	}
	if !value.IsObject() {
		return nil, m.refuse("The arguments of %s must be an object with: %s.", m.Name, m.names())
	}
	given := map[string]gjson.Result{}
	var unknown []string
	for name, v := range value.ForEach {
		if i := m.find(name.Str); i < 0 {
			unknown = append(unknown, name.Str)
		} else if v.Type != gjson.Null || m.Arguments[i].Kind == KindObject {
			given[name.Str] = v
		}
	}
	if len(unknown) > 0 {
		return nil, m.refuse("Unknown argument(s): %s. Allowed: %s.", strings.Join(unknown, ", "), m.names())
	}
	for _, a := range m.Arguments {
		v, ok := given[a.Name]
		switch {
		case !ok && a.Required:
			return nil, m.refuse("Argument '%s' of %s is missing: %s.", a.Name, m.Name, a.Kind)
		case ok && !a.fits(v):
			return nil, m.refuse("Argument '%s' of %s must be %s.", a.Name, m.Name, a.Kind)
		}
	}
	return given, nil
}

func (m MetaTool) refuse(format string, args ...any) *Refusal {
	return refuse(schemas.UnknownArgument, fmt.Sprintf(format, args...))
}

func (m MetaTool) find(name string) int {
	return slices.IndexFunc(m.Arguments, func(a MetaArgument) bool { return a.Name == name })
}

func (m MetaTool) names() string {
	names := make([]string, len(m.Arguments))
	for i, a := range m.Arguments {
		names[i] = a.Name
	}
	return strings.Join(names, ", ")
}

func (a MetaArgument) fits(v gjson.Result) bool {
	switch a.Kind {
	case KindString:
		return v.Type == gjson.String
	case KindCount:
		return v.Type == gjson.Number && v.Num >= 1 && v.Num == float64(int64(v.Num))
	}
	return true
}

// document drafts an answer of the meta-tool that is not an envelope.
func (m MetaTool) document(v any) (Draft, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return Draft{}, fmt.Errorf("writing the answer of %s: %w", m.Name, err)
	}
	d := Draft{Document: bytes.TrimSuffix(out.Bytes(), []byte("\n"))}
	for _, a := range m.Arguments {
		d.Narrowing = append(d.Narrowing, compose.Argument{Name: a.Name, Description: a.Description})
	}
	return d, nil
}
