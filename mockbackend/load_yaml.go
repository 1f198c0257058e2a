package mockbackend

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxAliased bounds what the aliases of a small document can grow to, in nodes.
const maxAliased = 200_000

// maxYAMLDepth is the depth up to which encoding/json reads too.
const maxYAMLDepth = 10_000

// A yamlReader turns YAML into JSON. Unlike decoding into maps it keeps the
// order of members and the text of numbers, which a JSON body is sent with, and
// the line of every value.
type yamlReader struct {
	out   bytes.Buffer
	lines map[string]int // by JSON Pointer
	// aliases is how many are being filled in, aliased the nodes this has made.
	aliases, aliased int
	open             []*yaml.Node // lists and objects that are being written
}

// A yamlError is a mistake on a line of a YAML document.
type yamlError struct {
	line    int
	pointer string
	err     error
}

func (e *yamlError) Error() string { return e.err.Error() }
func (e *yamlError) Unwrap() error { return e.err }

// yamlToJSON gives a document as JSON, and the line of each JSON Pointer.
func yamlToJSON(data []byte) ([]byte, map[string]int, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, next yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if err == io.EOF {
			err = errors.New("the file is empty")
		}
		return nil, nil, err
	}
	if err := dec.Decode(&next); err != io.EOF {
		if err == nil {
			err = errors.New("a second document starts here; give one, with a list of stubs")
		}
		return nil, nil, &yamlError{line: max(next.Line, 1), err: err}
	}
	y := &yamlReader{lines: map[string]int{}}
	if err := y.value(doc.Content[0], "", 0); err != nil {
		return nil, nil, err
	}
	return y.out.Bytes(), y.lines, nil
}

func (y *yamlReader) value(n *yaml.Node, at string, depth int) error {
	fail := func(format string, args ...any) error {
		return &yamlError{n.Line, at, fmt.Errorf(format, args...)}
	}
	if err := y.bound(n, at, depth); err != nil {
		return err
	}
	y.lines[at] = n.Line
	if slices.Contains(y.open, n) {
		return fail("the alias &%s refers to what it stands in", n.Anchor)
	}
	if n.Kind != yaml.ScalarNode {
		y.open = append(y.open, n)
		defer func() { y.open = y.open[:len(y.open)-1] }()
	}
	switch n.Kind {
	case yaml.AliasNode:
		return y.filledIn(n.Alias, at, depth+1)
	case yaml.SequenceNode:
		y.out.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				y.out.WriteByte(',')
			}
			if err := y.value(item, at+"/"+strconv.Itoa(i), depth+1); err != nil {
				return err
			}
		}
		y.out.WriteByte(']')
		return nil
	case yaml.MappingNode:
		members, err := y.members(n, at, depth)
		if err != nil {
			return err
		}
		y.out.WriteByte('{')
		for i, m := range members {
			if i > 0 {
				y.out.WriteByte(',')
			}
			y.text(m.name)
			y.out.WriteByte(':')
			pointer := at + "/" + pointerEscaper.Replace(m.name)
			write := y.value
			if m.merged {
				write = y.filledIn
			}
			if err := write(m.value, pointer, depth+1); err != nil {
				return err
			}
			// Of a member that is missing or wrong as such, the name is the place.
			y.lines[pointer] = m.line
		}
		y.out.WriteByte('}')
		return nil
	}
	switch tag := n.ShortTag(); tag {
	case "!!null":
		y.out.WriteString("null")
	case "!!bool":
		var b bool
		if err := n.Decode(&b); err != nil {
			return fail("%w", err)
		}
		y.out.WriteString(strconv.FormatBool(b))
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			y.out.WriteString(n.Value)
			break
		}
		var number any
		if err := n.Decode(&number); err != nil {
			return fail("%w", err)
		}
		text, err := json.Marshal(number)
		if err != nil {
			return fail("%s has no form in JSON", n.Value)
		}
		y.out.Write(text)
	case "!!str", "!!timestamp":
		y.text(n.Value)
	case "!!binary":
		y.text(strings.Join(strings.Fields(n.Value), ""))
	default:
		return fail("the tag %s has no meaning here", tag)
	}
	return nil
}

// filledIn writes a value that stands elsewhere in the document.
func (y *yamlReader) filledIn(n *yaml.Node, at string, depth int) error {
	y.aliases++
	defer func() { y.aliases-- }()
	return y.value(n, at, depth)
}

// bound ends a document that grows beyond bounds.
func (y *yamlReader) bound(n *yaml.Node, at string, depth int) error {
	if y.aliases > 0 {
		y.aliased++
	}
	if y.aliased > maxAliased || depth > maxYAMLDepth {
		return &yamlError{n.Line, at, errors.New("the document is too large or too deep once its aliases are filled in")}
	}
	return nil
}

// text writes a string as it is: an escaped < would change a body.
func (y *yamlReader) text(s string) {
	enc := json.NewEncoder(&y.out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic("mockbackend: writing to memory: " + err.Error())
	}
	y.out.Truncate(y.out.Len() - 1) // the newline
}

type yamlMember struct {
	name   string
	line   int
	value  *yaml.Node
	merged bool // it stands elsewhere
}

// members gives the members of a mapping with those that a merge key (<<)
// brings in and that it does not have itself.
func (y *yamlReader) members(n *yaml.Node, at string, depth int) ([]yamlMember, error) {
	var members, merged []yamlMember
	index := map[string]int{}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			return nil, &yamlError{key.Line, at, errors.New("the name of a member is not a scalar")}
		}
		if key.ShortTag() == "!!merge" {
			more, err := y.merge(value, at, depth)
			if err != nil {
				return nil, err
			}
			merged = append(merged, more...)
			continue
		}
		if first, twice := index[key.Value]; twice {
			return nil, &yamlError{n.Content[i].Line, at + "/" + pointerEscaper.Replace(key.Value), fmt.Errorf("%q stands here a second time, first on line %d", key.Value, members[first].line)}
		}
		index[key.Value] = len(members)
		members = append(members, yamlMember{name: key.Value, line: n.Content[i].Line, value: value})
	}
	for _, m := range merged {
		if _, have := index[m.name]; !have {
			index[m.name] = len(members)
			m.merged = true
			members = append(members, m)
		}
	}
	return members, nil
}

// merge gives the members that the value of a merge key brings in.
func (y *yamlReader) merge(value *yaml.Node, at string, depth int) ([]yamlMember, error) {
	y.aliases++
	defer func() { y.aliases-- }()
	if err := y.bound(value, at, depth); err != nil {
		return nil, err
	}
	if value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	switch value.Kind {
	case yaml.MappingNode:
		return y.members(value, at, depth+1)
	case yaml.SequenceNode:
		var all []yamlMember
		for _, item := range value.Content {
			more, err := y.merge(item, at, depth+1)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
		}
		return all, nil
	}
	return nil, &yamlError{value.Line, at, errors.New("<< takes a mapping, or a list of mappings")}
}
