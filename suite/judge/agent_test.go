package judge

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/mockbackend"
	"example.com/touchstone/schemas"
)

// agentCase gives a case about agents that is judged under AGENT-01.
func agentCase(t *testing.T, input string) (fixtures.Case, schemas.AgentInput) {
	t.Helper()
	k := fixtures.Case{Case: schemas.Case{Kind: schemas.KindAgent, ID: "x", Requirements: []string{"AGENT-01"}, Input: json.RawMessage(input)}}
	in, err := k.AgentInput()
	if err != nil {
		t.Fatal(err)
	}
	return k, in
}

// TestAgentOutcomes: what is wrong with one run, and under which id.
func TestAgentOutcomes(t *testing.T) {
	result := `{"expected":[{"outcome":"result","value":null}]}`
	failure := `{"expected":[{"outcome":"error","message":"no","cause":"produce_error"}]}`
	raised := `{"requirement":"AGENT-10","expected":[{"outcome":"exception","kind":"tool_failure"}]}`
	either := `{"expected":[{"outcome":"result","value":1},{"outcome":"exception","kind":"internal"}]}`
	for _, tt := range []struct {
		name, run, answer string
		want              []string // requirement and member
	}{
		{"null is a value", result, `{"outcome":"result","value":null}`, nil},
		{"another value", result, `{"outcome":"result","value":0}`, []string{"AGENT-01 value"}},
		{"no value", result, `{"outcome":"result"}`, []string{"AGENT-01 outcome"}},
		{"another outcome", result, `{"outcome":"error","message":"","cause":"timeout"}`, []string{"AGENT-01 outcome"}},
		{"no such outcome", result, `{"outcome":"failure"}`, []string{"AGENT-01 outcome"}},
		{"no outcome", result, `[]`, []string{"AGENT-01 outcome"}},
		{"a member too many", result, `{"outcome":"result","value":null,"message":"x"}`, []string{"AGENT-01 outcome"}},
		{"as expected", failure, `{"outcome":"error","message":"no","cause":"produce_error"}`, nil},
		{"without a cause", failure, `{"outcome":"error","message":"no"}`, []string{"AGENT-20 cause"}},
		{"with another cause", failure, `{"outcome":"error","message":"no","cause":"timeout"}`, []string{"AGENT-01 outcome"}},
		{"with no cause there is", failure, `{"outcome":"error","message":"no","cause":"bad luck"}`, []string{"AGENT-01 outcome"}},
		{"another message", failure, `{"outcome":"error","message":"No","cause":"produce_error"}`, []string{"AGENT-01 message"}},
		{"no message", failure, `{"outcome":"error","cause":"produce_error"}`, []string{"AGENT-01 outcome"}},
		{"two things wrong", failure, `{"outcome":"error","message":"No"}`, []string{"AGENT-01 message", "AGENT-20 cause"}},
		{"under its own id", raised, `{"outcome":"result","value":1}`, []string{"AGENT-10 outcome"}},
		{"any message will do", raised, `{"outcome":"exception","message":"boom","kind":"tool_failure"}`, nil},
		{"another kind", raised, `{"outcome":"exception","message":"boom","kind":"internal"}`, []string{"AGENT-10 outcome"}},
		{"without a kind", raised, `{"outcome":"exception","message":"boom"}`, []string{"AGENT-20 cause"}},
		{"the second of two", either, `{"outcome":"exception","message":"","kind":"internal"}`, nil},
		{"none of two", either, `{"outcome":"result","value":2}`, []string{"AGENT-01 value"}},
	} {
		k, in := agentCase(t, `{"runs":[`+tt.run+`]}`)
		x := &AgentExchange{Case: k, Input: in, Runs: []AgentRun{{Spec: in.Runs[0], Answer: []byte(tt.answer)}}}
		findings, answer, err := Agents(x)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, places(findings)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if len(findings) > 0 && answer != tt.answer {
			t.Errorf("%s: the answer shown is %q", tt.name, answer)
		}
	}
}

func places(findings []schemas.Finding) []string {
	var out []string
	for _, f := range findings {
		out = append(out, f.Requirement+" "+f.Member)
	}
	return out
}

// TestAgentTime: the window of a run, both ends included, and no answer at all.
func TestAgentTime(t *testing.T) {
	k, in := agentCase(t, `{"runs":[{"expected":[{"outcome":"error"}],"minMs":100,"maxMs":200}]}`)
	for elapsed, want := range map[time.Duration][]string{
		99 * time.Millisecond: {"AGENT-01 time"}, 100 * time.Millisecond: nil, 200 * time.Millisecond: nil, 201 * time.Millisecond: {"AGENT-01 time"},
	} {
		run := AgentRun{Spec: in.Runs[0], Answer: []byte(`{"outcome":"error","message":"","cause":"timeout"}`), Elapsed: elapsed}
		findings, _, err := Agents(&AgentExchange{Case: k, Input: in, Runs: []AgentRun{run}})
		if diff := cmp.Diff(want, places(findings)); err != nil || diff != "" {
			t.Errorf("after %v: %v (-want +got):\n%s", elapsed, err, diff)
		}
	}
	findings, _, err := Agents(&AgentExchange{Case: k, Input: in, Runs: []AgentRun{{Spec: in.Runs[0], NoAnswer: "it hangs"}}})
	if err != nil || len(findings) != 1 || findings[0].Problem != "it hangs" {
		t.Errorf("without an answer: %v, %v", findings, err)
	}
}

// TestAgentFollows: what is found after a run went wrong is placed with it, but
// not after one that only was slow, or did not say why.
func TestAgentFollows(t *testing.T) {
	const input = `{"runs":[
		{"requirement":"AGENT-10","expected":[{"outcome":"exception"}],"maxMs":1000},
		{"requirement":"AGENT-16","expected":[{"outcome":"result","value":1}]}],
		"journal":[{"model":"main","requests":2}]}`
	k, in := agentCase(t, input)
	for _, tt := range []struct {
		name, first string
		elapsed     time.Duration
		want        []string
	}{
		{"right", `{"outcome":"exception","message":"","kind":"internal"}`, 0, []string{"AGENT-16 value", "AGENT-16 requests"}},
		{"wrong", `{"outcome":"result","value":1}`, 0, []string{"AGENT-10 outcome", "AGENT-10 value", "AGENT-10 requests"}},
		{"slow", `{"outcome":"exception","message":"","kind":"internal"}`, 2 * time.Second, []string{"AGENT-10 time", "AGENT-16 value", "AGENT-16 requests"}},
		{"silent", `{"outcome":"exception","message":""}`, 0, []string{"AGENT-20 cause", "AGENT-16 value", "AGENT-16 requests"}},
	} {
		runs := []AgentRun{{Spec: in.Runs[0], Answer: []byte(tt.first), Elapsed: tt.elapsed}, {Spec: in.Runs[1], Answer: []byte(`{"outcome":"result","value":2}`)}}
		findings, _, err := Agents(&AgentExchange{Case: k, Input: in, Runs: runs})
		if diff := cmp.Diff(tt.want, places(findings)); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, err, diff)
		}
	}
}

// TestAgentClaims: claims about what a model was asked.
func TestAgentClaims(t *testing.T) {
	message := func(role, text, id string) mockbackend.ChatMessage {
		return mockbackend.ChatMessage{Role: role, Text: text, ToolCallID: id}
	}
	asked := []mockbackend.ChatRequest{
		{Stream: true, Tools: []string{"a", "b"}, Messages: []mockbackend.ChatMessage{message("system", "Be brief.", ""), message("user", "Count.", "")}},
		{Messages: []mockbackend.ChatMessage{message("user", "Count.", ""), message("assistant", "Hm.", ""), message("user", "Go on.", "")}},
		{Messages: []mockbackend.ChatMessage{message("assistant", "", ""), message("tool", "seven", "call_1"), message("tool", "eight", "call_2")}},
		{Err: errors.New("no request")},
	}
	for _, tt := range []struct{ claim, problem string }{
		{`{"requests":4}`, ""},
		{`{"requests":0}`, "asked 4 times, should have been asked 0 times"},
		{`{"request":5,"contains":["x"]}`, "should have had a request 5"},
		{`{"request":1,"contains":["Count.","brief"],"lacks":["Hm"]}`, ""},
		{`{"request":1,"contains":["Hm"]}`, `should hold "Hm"`},
		{`{"request":1,"lacks":["brief"]}`, `should not hold "brief"`},
		{`{"request":1,"tools":["b","a"]}`, ""},
		{`{"request":1,"tools":["c"]}`, "offer the tool c"},
		{`{"request":1,"stream":true}`, ""},
		{`{"request":2,"stream":true}`, "stream is false"},
		{`{"request":2,"reminder":true}`, ""},
		{`{"request":1,"reminder":true}`, "reminder"},
		{`{"request":3,"reminder":true}`, "reminder"},
		{`{"request":3,"toolResult":"call_1","contains":["seven"],"lacks":["eight"]}`, ""},
		{`{"request":3,"toolResult":"call_3"}`, "0 tool results for call_3"},
		{`{"request":4,"contains":["x"]}`, "no request"},
	} {
		k, in := agentCase(t, `{"journal":[{"model":"main",`+strings.TrimPrefix(tt.claim, "{")+`]}`)
		findings, _, err := Agents(&AgentExchange{Case: k, Input: in, Streamed: true, Asked: map[string][]mockbackend.ChatRequest{"main": asked}})
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case tt.problem == "" && len(findings) > 0:
			t.Errorf("%s: %s", tt.claim, findings[0].Problem)
		case tt.problem != "" && (len(findings) != 1 || !strings.Contains(findings[0].Problem, tt.problem)):
			t.Errorf("%s: got %v, want one with %q", tt.claim, findings, tt.problem)
		}
	}
}

// TestAgentComparisons: the target's equality is held against the expected one,
// and a case without anything to check is an error of the suite.
func TestAgentComparisons(t *testing.T) {
	k, in := agentCase(t, `{"comparisons":[{"errors":[{"message":"a"},{"message":"a"}],"equal":true},{"errors":[{"message":"a"},{"message":"b"}],"equal":false}]}`)
	findings, _, err := Agents(&AgentExchange{Case: k, Input: in, Equal: []bool{true, true}})
	if diff := cmp.Diff([]string{"AGENT-01 equal"}, places(findings)); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	k, in = agentCase(t, `{}`)
	if _, _, err := Agents(&AgentExchange{Case: k, Input: in}); err == nil {
		t.Error("a case that claims nothing was judged")
	}
}

// TestBrief: what a sentence quotes is short, and drives no terminal.
func TestBrief(t *testing.T) {
	for text, want := range map[string]string{
		"{}":                        "{}",
		"\x1b[2Jü\r\u202e":          `\x1b[2Jü\x0d\u202e`,
		strings.Repeat("\x07", 161): strings.Repeat(`\x07`, 160) + "… [cut: 160 of 161 bytes]",
	} {
		if got := brief([]byte(text)); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
}
