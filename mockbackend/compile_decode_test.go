package mockbackend_test

import (
	"errors"
	"strings"
	"testing"

	"example.com/touchstone/mockbackend"
)

// What is wrong in the text of a stub is said with its place and the way out.
func TestDecodeStubSaysTheWayOut(t *testing.T) {
	const (
		condition = "give a string, a list of two or more strings, or exactly one of contains, matches and absent"
		digits    = "write a whole number in digits alone"
	)
	for _, tt := range []struct{ doc, pointer, says string }{
		{`{"match":{}}`, "", "give respond or sequence (got"},
		{`{"match":{},"respond":{},"sequence":{"responses":[{}]}}`, "", "give respond or sequence, not both"},
		{`{"respond":{}}`, "", "match is required"},
		{`{"match":{"query":{"a/b":7}},"respond":{}}`, "/match/query/a~1b", condition},
		{`{"match":{"headers":{"f":["a"]}},"respond":{}}`, "/match/headers/f", condition},
		{`{"match":{"cookies":{"f":{"contains":"x","absent":true}}},"respond":{}}`, "/match/cookies/f", condition},
		{`{"match":{"cookies":{"f":{"is":"x"}}},"respond":{}}`, "/match/cookies/f/is", "not allowed"},
		{`{"match":{"body":{"text":7}},"respond":{}}`, "/match/body/text", condition},
		{`{"match":{},"respond":{"json":1,"text":"a"}}`, "/respond", "give one of json, text, base64 and file"},
		{`{"match":{},"sequence":{"responses":[{"base64":"","file":"a"}]}}`, "/sequence/responses/0", "give one of json, text"},
		{`{"match":{},"respond":{"delay":{"seed":1}}}`, "/respond/delay", "give one of ms, uniform and lognormal"},
		{`{"match":{},"respond":{"delay":{"ms":1,"seed":1}}}`, "/respond/delay", "give one of ms, uniform and lognormal"},
		{`{"match":{},"respond":{"headers":7}}`, "/respond/headers", "give a list of [name, value] pairs, or an object"},
		{`{"match":{},"respond":{"headers":{"A":7}}}`, "/respond/headers/A", "give a string or a list of strings"},
		{`{"match":{},"respond":{"headers":[["A"]]}}`, "/respond/headers/0", "give [name, value]"},
		{`{"match":{},"respond":{"headers":[["A","*","base64"]]}}`, "/respond/headers/0", "value in base64"},
		{`{"match":{},"respond":{"interim":[{"status":103,"headers":["A: b"]}]}}`, "/respond/interim/0/headers/0", "give [name, value]"},
		{`{"match":{},"respond":{"interim":[{"status":101}]}}`, "/respond/interim/0/status", "101, which ends HTTP"},
		{`{"match":{},"respond":{"base64":"*"}}`, "/respond/base64", "is not base64"},
		{`{"match":{},"respond":{"status":200.0}}`, "/respond/status", "is 200.0; " + digits},
		{`{"match":{},"priority":1e30,"respond":{}}`, "/priority", "is 1e30; " + digits},
		{`{"match":{},"priority":99999999999999999999,"respond":{}}`, "/priority", "which is too large"},
		{`{"match":{},"sequence":{"responses":[{"status":200},{"delay":{"uniform":{"minMs":1.0,"maxMs":2}}}]}}`,
			"/sequence/responses/1/delay/uniform/minMs", "is 1.0; " + digits},
		{`{"match":{},"sequence":{"responses":[{"fault":{"kind":"drip","afterBytes":1.0}}]}}`, "/sequence/responses/0/fault/afterBytes", digits},
	} {
		_, err := mockbackend.DecodeStub([]byte(tt.doc))
		bad, ok := errors.AsType[*mockbackend.InvalidStubError](err)
		if !ok || bad.Pointer != tt.pointer || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s:\n got %v\nwant one at %q that says %q", tt.doc, err, tt.pointer, tt.says)
		}
	}
}
