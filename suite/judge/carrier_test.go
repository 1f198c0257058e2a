package judge

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/target"
)

// TestCarried: what MCP carried an answer in is judged first, and a carrier that
// is broken is the one finding there is.
func TestCarried(t *testing.T) {
	const (
		plain   = `{"requirements":["SUCCESS-01"],"expected":{"status":200}}`
		ofMeta  = `{"requirements":["CARRIER-06"],"judge":{"carrier":"CARRIER-06"},"assert":[{"member":"error","is":"present"}]}`
		success = `{"status":200}`
	)
	text := []string{"text"}
	for _, tc := range []struct {
		name, of, answer string
		carrier          *target.Carrier
		want             []string
	}{
		{"no MCP", plain, success, nil, nil},
		{"one text block", plain, success, &target.Carrier{Blocks: text}, nil},
		{"structured content besides", plain, success, &target.Carrier{Blocks: text, Structured: true}, nil},
		{"no block", plain, "", &target.Carrier{}, []string{"CARRIER-01 carrier"}},
		{"structured content alone", plain, "", &target.Carrier{Structured: true}, []string{"CARRIER-01 carrier"}},
		{"two blocks", plain, success, &target.Carrier{Blocks: []string{"text", "text"}}, []string{"CARRIER-01 carrier"}},
		{"an image", plain, "", &target.Carrier{Blocks: []string{"image"}}, []string{"CARRIER-01 carrier"}},
		{"prose", plain, "It worked.", &target.Carrier{Blocks: text}, []string{"CARRIER-01 carrier"}},
		{"a JSON string", plain, `"{\"status\":200}"`, &target.Carrier{Blocks: text}, []string{"CARRIER-01 carrier"}},
		{"a JSON-RPC error", plain, "", &target.Carrier{Error: &schemas.RPCError{Code: -32602}}, []string{"CARRIER-05 carrier"}},
		{"a JSON-RPC error for a meta-tool's arguments", ofMeta, "", &target.Carrier{Error: &schemas.RPCError{Code: -32602}}, []string{"CARRIER-06 carrier"}},
		{"prose for a meta-tool's arguments", ofMeta, "Invalid arguments", &target.Carrier{Blocks: text}, []string{"CARRIER-06 carrier"}},
	} {
		x := exchange(t, tc.of, tc.answer)
		x.Answer.Carrier = tc.carrier
		if diff := cmp.Diff(tc.want, found(t, x)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}
