package judge

import (
	"fmt"
	"slices"
	"strings"

	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/target"
)

// carried holds what MCP carried the answer in against the rules. A carrier that
// is broken has no envelope to judge, and what else could be said of the answer
// only follows from that.
func carried(s *subject) (schemas.Finding, bool) {
	c := s.Answer.Carrier
	if c == nil {
		return schemas.Finding{}, false
	}
	broken := func(id, problem string) (schemas.Finding, bool) {
		if meant := s.Case.Judge["carrier"]; meant != "" {
			id = meant
		}
		return finding(id, "carrier", problem, nil, nil), true
	}
	switch {
	case c.Error != nil:
		return broken("CARRIER-05", fmt.Sprintf(
			"the call was answered with the JSON-RPC error %d (%s); an answer to the agent is a normal result, and such an error is for violations of the protocol",
			c.Error.Code, target.Excerpt([]byte(c.Error.Message))))
	case len(c.Blocks) == 0 && c.Structured:
		return broken("CARRIER-01", "the result has structuredContent and no content block; the envelope belongs into one text block")
	case len(c.Blocks) == 0:
		return broken("CARRIER-01", "the result has no content block; the envelope belongs into one text block")
	case !slices.Equal(c.Blocks, []string{"text"}):
		return broken("CARRIER-01", fmt.Sprintf("the result has %d content blocks (%s); the envelope belongs into one text block", len(c.Blocks), strings.Join(c.Blocks, ", ")))
	case s.broken != nil:
		return broken("CARRIER-01", fmt.Sprintf("the text block does not hold an envelope as JSON: %s", target.Excerpt(s.Answer.Envelope)))
	}
	return schemas.Finding{}, false
}
