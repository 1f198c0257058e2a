package judge

import "example.com/touchstone/fixtures"

// Observe describes what became of a text that no rule names (FORWARD-12,
// LEAK-11): where its canary arrived.
func Observe(x *Exchange) string {
	needles := needlesOf(x.Canary)
	ms, err := members(x.Answer.Envelope)
	if err != nil {
		return "not an envelope"
	}
	in := func(name string) bool {
		value, ok := find(ms, name)
		return ok && search(needles, name, decodedText(value)) != ""
	}
	switch {
	case in("fields"):
		return "fields recognised"
	case in("message"):
		return "message only"
	}
	return "withheld"
}

// Subject is the requirement a case is about.
func Subject(k fixtures.Case) string { return requirement(k, "") }
