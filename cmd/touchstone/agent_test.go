package main

import "testing"

// TestAgentProfile: the built-in agent certifies with nothing to configure.
func TestAgentProfile(t *testing.T) {
	touchstone(t, "certify", "--profile", "agent-outcome").want(t, 0, "CERTIFIED: ", "every MUST of agent-outcome passed", "AGENT-19", "agent, agent-streaming")
	touchstone(t, "certify", "--case", "agent/session/active").want(t, 0, "SELECTION PASSED", "1 passed")
}

// TestAgentExplained: a rule about agents is told as what happens.
func TestAgentExplained(t *testing.T) {
	touchstone(t, "explain", "AGENT-09").want(t, 0,
		"MUST, profile agent-outcome", "Why: ", "For example agent/session/active",
		`answer 1: when the run "second" has ended, calls produce_output {"value":"first"}`,
		`Meanwhile, when the model main has had 1 request, a call`,
		`gives {"outcome":"error","cause":"session_conflict"}`, "within 3000 ms")
	for id, part := range map[string]string{
		"agent/model/http-500":             "HTTP 500, from now on",
		"agent/sub-agent/error-is-a-value": `request 2 to the model main holds a result of the tool call call_1, with "an error value"`,
		"agent/hook/first-decides":         `on_invoke hook: [{"abort":"first"}]`,
		"agent/configuration/no-agent":     "has no agent",
		"agent/equality":                   "are not equal",
		"agent/timeout/silent-model":       "after 2980 ms at least",
	} {
		touchstone(t, "explain", id).want(t, 0, part)
	}
}
