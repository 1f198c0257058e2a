package envelope

import (
	"bytes"
	"encoding/json"
	"fmt"

	"example.com/touchstone/schemas"
)

// Encode writes an envelope as JSON on one line. The characters < > & stay as
// they are. It fails on a Success whose Body is not JSON, which Map does not make.
func Encode(e schemas.Envelope) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return nil, fmt.Errorf("encoding an envelope: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// quote writes a text as a JSON string.
func quote(text string) json.RawMessage {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string always has an encoding
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}
