package judge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/mockbackend"
	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/target"
)

// AgentExchange is the record of a case about agents.
type AgentExchange struct {
	Case  fixtures.Case
	Input schemas.AgentInput
	// Streamed says that the model was to be asked for streamed answers.
	Streamed bool
	Runs     []AgentRun
	// Asked is what each model was asked, in order.
	Asked map[string][]mockbackend.ChatRequest
	// Equal is the target's answer to each comparison.
	Equal []bool
}

// AgentRun is one run with what came of it.
type AgentRun struct {
	Spec    schemas.AgentRun
	Answer  []byte
	Elapsed time.Duration
	// NoAnswer says why there is no answer to judge; "" where there is one.
	NoAnswer string
}

// NamesCause is the requirement about a cause or a kind that is left out.
const NamesCause = "AGENT-20"

// Agents judges a case about agents: its runs in order, then the claims about
// what the models were asked, then the comparisons. What is found after a run
// went wrong only follows from that, and is placed under its requirement: the
// script is then at another turn than the case thinks. The answer is the one
// that the first finding is about.
func Agents(x *AgentExchange) (findings []schemas.Finding, answer string, err error) {
	checked := 0
	root := "" // the requirement of the first run that went wrong
	place := func(under string, found []schemas.Finding) {
		for _, f := range found {
			if f.Requirement == "" {
				f.Requirement = under
			}
			if root != "" && f.Requirement != NamesCause {
				f.Requirement = root
			}
			findings = append(findings, f)
		}
	}
	for i, run := range x.Runs {
		under := run.Spec.Requirement
		if under == "" {
			under = Subject(x.Case)
		}
		found := judgeRun(run)
		for j := range found {
			if len(x.Runs) > 1 {
				found[j].Problem = fmt.Sprintf("run %d: %s", i+1, found[j].Problem)
			}
		}
		place(under, found)
		if answer == "" && len(found) > 0 {
			answer = string(run.Answer)
		}
		if root == "" && slices.ContainsFunc(found, func(f schemas.Finding) bool { return f.Member != "time" && f.Requirement != NamesCause }) {
			root = under
		}
		checked++
	}
	for _, claim := range x.Input.Journal {
		under := claim.Requirement
		if under == "" {
			under = Subject(x.Case)
		}
		place(under, x.judgeClaim(claim))
		checked++
	}
	for i, c := range x.Input.Comparisons {
		if x.Equal[i] != c.Equal {
			place(Subject(x.Case), []schemas.Finding{finding("", "equal", fmt.Sprintf("two errors with the messages %q and %q: equal is %t, and should be %t",
				c.Errors[0].Message, c.Errors[1].Message, x.Equal[i], c.Equal), boolean(c.Equal), boolean(x.Equal[i]))})
		}
		checked++
	}
	if checked == 0 {
		return nil, "", fmt.Errorf("case %s: the judge of agents had nothing to check", x.Case.ID)
	}
	return findings, answer, nil
}

func boolean(b bool) json.RawMessage { return json.RawMessage(fmt.Sprint(b)) }

// outcomeSchemas are the branches of an outcome by their discriminator.
var outcomeSchemas = map[string]schemas.Ref{
	schemas.OutcomeResult: schemas.AgentResultSchema, schemas.OutcomeError: schemas.AgentErrorSchema, schemas.OutcomeException: schemas.AgentExceptionSchema,
}

// judgeRun judges the outcome of a run and its time.
func judgeRun(run AgentRun) []schemas.Finding {
	if run.NoAnswer != "" {
		return []schemas.Finding{finding("", "outcome", run.NoAnswer, expectedOutcomes(run.Spec), nil)}
	}
	findings := judgeOutcome(run)
	took := run.Elapsed.Milliseconds()
	switch {
	case run.Spec.MinMs > 0 && took < run.Spec.MinMs:
		findings = append(findings, finding("", "time", fmt.Sprintf("the outcome came after %d ms, before its time of %d ms", took, run.Spec.MinMs), number(int(run.Spec.MinMs)), number(int(took))))
	case run.Spec.MaxMs > 0 && took > run.Spec.MaxMs:
		findings = append(findings, finding("", "time", fmt.Sprintf("the outcome came after %d ms; %d ms are allowed", took, run.Spec.MaxMs), number(int(run.Spec.MaxMs)), number(int(took))))
	}
	return findings
}

// expectedOutcomes is what a run expects, for reports.
func expectedOutcomes(spec schemas.AgentRun) json.RawMessage {
	var v any = spec.Expected
	if len(spec.Expected) == 1 {
		v = spec.Expected[0]
	}
	raw, _ := json.Marshal(v) // outcomes have an encoding
	return raw
}

func judgeOutcome(run AgentRun) []schemas.Finding {
	var got schemas.AgentOutcome
	if err := json.Unmarshal(run.Answer, &got); err != nil {
		return []schemas.Finding{finding("", "outcome", "the answer is no outcome: "+err.Error(), expectedOutcomes(run.Spec), run.Answer)}
	}
	ref, known := outcomeSchemas[got.Outcome]
	if !known {
		return []schemas.Finding{finding("", "outcome", fmt.Sprintf("the outcome is %q, and none of result, error and exception", got.Outcome), expectedOutcomes(run.Spec), run.Answer)}
	}
	if err := schemas.Check(ref, run.Answer); err != nil {
		return []schemas.Finding{finding("", "outcome", "the answer breaks its schema: "+err.Error(), expectedOutcomes(run.Spec), run.Answer)}
	}
	var best []schemas.Finding
	for i, want := range run.Spec.Expected {
		found := compareOutcome(run, want, got)
		if i == 0 || len(found) < len(best) {
			best = found
		}
	}
	if got.Outcome == schemas.OutcomeError && got.Cause == "" || got.Outcome == schemas.OutcomeException && got.Kind == "" {
		best = append(best, finding(NamesCause, "cause", "the outcome does not say why", nil, run.Answer))
	}
	return best
}

// compareOutcome compares what an expected outcome has. A cause or a kind that
// is left out is not wrong.
func compareOutcome(run AgentRun, want, got schemas.AgentOutcome) []schemas.Finding {
	expected, _ := json.Marshal(want) // an outcome has an encoding
	differs := func(member, problem string) []schemas.Finding {
		return []schemas.Finding{finding("", member, fmt.Sprintf("%s: expected %s, got %s", problem, brief(expected), brief(run.Answer)), expected, run.Answer)}
	}
	switch {
	case want.Outcome != got.Outcome:
		return differs("outcome", "the outcome differs")
	case want.Value != nil && !equal(want.Value, got.Value, false):
		return differs("value", "the value differs")
	case want.Message != nil && *want.Message != *got.Message:
		return differs("message", "the message differs")
	case want.Cause != "" && got.Cause != "" && want.Cause != got.Cause:
		return differs("outcome", "the cause differs")
	case want.Kind != "" && got.Kind != "" && want.Kind != got.Kind:
		return differs("outcome", "the kind differs")
	}
	return nil
}

// brief cuts a long value for a sentence, and escapes what drives a terminal.
func brief(raw []byte) string { return target.Printable(target.Cut(string(raw), 160)) }

// judgeClaim judges a claim about what a model was asked.
func (x *AgentExchange) judgeClaim(claim schemas.ModelClaim) []schemas.Finding {
	asked := x.Asked[claim.Model]
	wrong := func(member, format string, args ...any) []schemas.Finding {
		return []schemas.Finding{finding("", member, fmt.Sprintf("model %s, ", claim.Model)+fmt.Sprintf(format, args...), nil, nil)}
	}
	if claim.Requests != nil {
		if len(asked) != *claim.Requests {
			return wrong("requests", "which was asked %d times, should have been asked %d times", len(asked), *claim.Requests)
		}
		return nil
	}
	if len(asked) < claim.Request {
		return wrong("requests", "which was asked %d times, should have had a request %d", len(asked), claim.Request)
	}
	request := asked[claim.Request-1]
	texts, problem := claimTexts(claim, request)
	if problem != "" {
		return wrong("messages", "request %d: %s", claim.Request, problem)
	}
	for _, part := range claim.Contains {
		if !strings.Contains(texts, part) {
			return wrong("messages", "request %d should hold %q and does not: %s", claim.Request, part, brief([]byte(texts)))
		}
	}
	for _, part := range claim.Lacks {
		if strings.Contains(texts, part) {
			return wrong("messages", "request %d should not hold %q and does: %s", claim.Request, part, brief([]byte(texts)))
		}
	}
	for _, tool := range claim.Tools {
		if !slices.Contains(request.Tools, tool) {
			return wrong("messages", "request %d should offer the tool %s, and offers %v", claim.Request, tool, request.Tools)
		}
	}
	if claim.Stream && request.Stream != x.Streamed {
		return wrong("messages", "request %d: stream is %t, and should be %t", claim.Request, request.Stream, x.Streamed)
	}
	return nil
}

// reminds tells whether a conversation ends with something said to the model
// after its own message.
func reminds(messages []mockbackend.ChatMessage) bool {
	n := len(messages)
	if n < 2 || messages[n-2].Role != "assistant" {
		return false
	}
	last := messages[n-1]
	return last.Role != "assistant" && last.Role != "tool" && strings.TrimSpace(last.Text) != ""
}

// claimTexts gives the texts that a claim is about: the result of a tool call, or
// the contents of all messages.
func claimTexts(claim schemas.ModelClaim, request mockbackend.ChatRequest) (texts, problem string) {
	if request.Err != nil {
		return "", request.Err.Error()
	}
	if claim.Reminder && !reminds(request.Messages) {
		return "", "it should end with a reminder after the model's own message"
	}
	var all []string
	for _, m := range request.Messages {
		if claim.ToolResult == "" || m.Role == "tool" && m.ToolCallID == claim.ToolResult {
			all = append(all, m.Text)
		}
	}
	if claim.ToolResult != "" && len(all) != 1 {
		return "", fmt.Sprintf("it holds %d tool results for %s, and should hold one", len(all), claim.ToolResult)
	}
	return strings.Join(all, "\n"), ""
}
