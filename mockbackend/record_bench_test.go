package mockbackend

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"example.com/touchstone/schemas"
)

// slowBodies are what a recording took seconds for once.
func slowBodies() map[string]string {
	var list strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&list, `,{"id": %d, "name": "item number %d", "sku": "SKU-%05d", "tags": ["red", "blue"], "price": 12.50, "note": "ships in 3 days", "x": true}`, i, i, i)
	}
	line := "2026-11-02T10:11:12Z INFO request 12345: GET https://shop.test/orders/77 took 12 ms, status=200 bytes=5120\n"
	return map[string]string{
		"json":  "[" + list.String()[1:] + "]",
		"prose": strings.Repeat("The quick brown fox jumps over the lazy dog, again and again. ", 15<<20/62),
		"log":   strings.Repeat(line, 15<<20/len(line)),
		"xml":   "<r>" + strings.Repeat(`<item id="1"><name>a lamp</name><price>12.50</price></item>`, 4<<20/60) + "</r>",
	}
}

func BenchmarkRecordRedaction(b *testing.B) {
	r := &Recorder{secrets: newRedactor(nil)}
	for name, body := range slowBodies() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if _, err := r.redactBody("text/plain", []byte(body)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRecordMarshal(b *testing.B) {
	bodies := slowBodies()
	text := bodies["log"]
	stubs := []schemas.Stub{
		{ID: "json", Respond: &schemas.StubResponse{JSON: json.RawMessage(bodies["json"])}},
		{ID: "text", Respond: &schemas.StubResponse{Text: &text}},
	}
	for _, name := range []string{"a.yaml", "a.json"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				out, err := MarshalStubs(name, stubs, "")
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(out)))
			}
		})
	}
}
