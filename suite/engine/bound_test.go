package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/target"
)

// TestBound: a long answer is judged whole, and kept in part.
func TestBound(t *testing.T) {
	long := strings.Repeat("0123456789", 100_000)
	answer := fmt.Sprintf(`{"error":"bad_request","message":%q,"status":400,"retryable":true}`, long)
	f := &fake{mapped: func(context.Context, schemas.MapParams) (target.Answer, error) { return answered(answer) }}
	e, corpus := newEngine(t, f, Options{}, plainCase)
	result := run(t, e, corpus, "plain").Runs[0]
	mark := fmt.Sprintf("… [cut: %d of %d bytes]", maxKept, len(answer))
	if want := answer[:maxKept] + mark; result.Answer != want {
		t.Errorf("%d bytes of the answer are kept, ending with %q; want %d and %q", len(result.Answer), result.Answer[max(0, len(result.Answer)-50):], len(want), mark)
	}
	members := map[string]bool{}
	for _, finding := range result.Findings {
		members[finding.Member] = true
		if len(finding.Actual) > maxKept+100 || !json.Valid(finding.Actual) {
			t.Errorf("the finding about %s keeps %d bytes of a value, JSON: %v", finding.Member, len(finding.Actual), json.Valid(finding.Actual))
		}
	}
	if !members["message"] || !members["retryable"] {
		t.Errorf("what stands behind the cut was not judged: the findings are about %v", members)
	}
}
