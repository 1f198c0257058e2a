package mockbackend

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"example.com/touchstone/schemas"
)

// MarshalStubs writes stubs as a file that [ReadStubs] reads: as JSON when the
// extension of name is .json, else as YAML with a comment at its head.
func MarshalStubs(name string, stubs []schemas.Stub, comment string) ([]byte, error) {
	var doc bytes.Buffer
	enc := json.NewEncoder(&doc)
	enc.SetEscapeHTML(false)
	if strings.EqualFold(filepath.Ext(name), ".json") {
		enc.SetIndent("", "  ")
	}
	if err := enc.Encode(map[string]any{"stubs": stubs}); err != nil {
		return nil, fmt.Errorf("writing stubs: %w", err)
	}
	if strings.EqualFold(filepath.Ext(name), ".json") {
		return doc.Bytes(), nil
	}
	dec := json.NewDecoder(&doc)
	dec.UseNumber()
	root, err := yamlNode(dec)
	if err != nil {
		return nil, fmt.Errorf("writing stubs: %w", err)
	}
	var out bytes.Buffer
	for line := range strings.Lines(comment) {
		out.WriteString("# " + strings.TrimRight(line, "\r\n") + "\n")
	}
	y := yaml.NewEncoder(&out)
	y.SetIndent(2)
	if err := y.Encode(root); err != nil {
		return nil, fmt.Errorf("writing stubs: %w", err)
	}
	if err := y.Close(); err != nil {
		return nil, fmt.Errorf("writing stubs: %w", err)
	}
	return out.Bytes(), nil
}

// yamlNode turns the next JSON value into YAML, members in their order.
func yamlNode(dec *json.Decoder) (*yaml.Node, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	scalar := func(tag, value string) (*yaml.Node, error) {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}, nil
	}
	switch token := token.(type) {
	case json.Delim:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		if token == '{' {
			n.Kind, n.Tag = yaml.MappingNode, "!!map"
		}
		for dec.More() {
			child, err := yamlNode(dec)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, child)
		}
		if isPair(n) {
			n.Style = yaml.FlowStyle
		}
		_, err := dec.Token()
		return n, err
	case string:
		n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: token}
		if !isPlainText(token) {
			n.Style = yaml.DoubleQuotedStyle
		}
		return n, nil
	case json.Number:
		if strings.ContainsAny(string(token), ".eE") {
			return scalar("!!float", string(token))
		}
		return scalar("!!int", string(token))
	case bool:
		return scalar("!!bool", fmt.Sprint(token))
	}
	return scalar("!!null", "null")
}

// isPair tells a header field, which reads best on one line.
func isPair(n *yaml.Node) bool {
	return n.Kind == yaml.SequenceNode && len(n.Content) == 2 &&
		n.Content[0].Tag == "!!str" && n.Content[1].Tag == "!!str" && len(n.Content[0].Value)+len(n.Content[1].Value) < 100
}

// isPlainText tells whether the encoder may choose the style: its block style
// loses what is not a letter, a sign, a blank or a line's end.
func isPlainText(s string) bool {
	if strings.HasPrefix(s, " ") || strings.HasPrefix(s, "\n") {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' && r != '\n' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\u2028' || r == '\u2029' || r == '\ufeff' || r == '\ufffd'
	})
}
