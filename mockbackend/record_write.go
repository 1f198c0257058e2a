package mockbackend

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

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
	var out bytes.Buffer
	for line := range strings.Lines(comment) {
		out.WriteString("# " + strings.TrimRight(line, "\r\n") + "\n")
	}
	y := &yamlWriter{in: jsonReader{doc: doc.Bytes()}}
	y.block(0)
	out.Write(y.out.Bytes())
	return out.Bytes(), nil
}

// isPlainText tells whether a text can be written as it is, in lines: that
// loses what is not a letter, a sign, a blank or a line's end.
func isPlainText(s string) bool {
	if strings.HasPrefix(s, " ") || strings.HasPrefix(s, "\n") {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' && r != '\n' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\u2028' || r == '\u2029' || r == '\ufeff' || r == '\ufffd'
	})
}
