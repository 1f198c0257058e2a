package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/report"
)

// tellAgentCase tells a case about agents as what happens, one line for each turn
// of a model, each run and each claim.
func tellAgentCase(w io.Writer, k fixtures.Case) {
	var in schemas.AgentInput
	if err := json.Unmarshal(k.Input, &in); err != nil {
		fmt.Fprintf(w, "%s\n", indented(k.Input)) // the corpus is linted; a broken case is shown as it is
		return
	}
	for _, name := range slices.Sorted(maps.Keys(in.Models)) {
		fmt.Fprintf(w, "\nmodel %s\n", name)
		for i, turn := range in.Models[name].Turns {
			fmt.Fprintf(w, "  answer %d: %s\n", i+1, tellTurn(turn))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(in.Objects)) {
		tellObject(w, "object "+name, in.Objects[name])
	}
	if len(in.Runs) > 0 {
		fmt.Fprint(w, "\nwhat happens\n")
	}
	for i, run := range in.Runs {
		tellRun(w, i+1, run)
	}
	if len(in.Journal)+len(in.Comparisons) > 0 {
		fmt.Fprint(w, "\nand then\n")
	}
	for _, claim := range in.Journal {
		fmt.Fprintf(w, "  %s\n", tellClaim(claim))
	}
	for _, c := range in.Comparisons {
		not := "equal"
		if !c.Equal {
			not = "not equal"
		}
		fmt.Fprintf(w, "  the errors %s and %s are %s\n", compactJSON(c.Errors[0]), compactJSON(c.Errors[1]), not)
	}
	fmt.Fprintln(w)
}

func tellTurn(t schemas.ModelTurn) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if t.DelayMs > 0 {
		add("after %d ms", t.DelayMs)
	}
	switch t.Hold {
	case "":
	case "never":
		add("nothing, for as long as it takes; it would be")
	default:
		add("when the run %q has ended", t.Hold)
	}
	if t.Status != 0 {
		add("HTTP %d", t.Status)
	}
	if t.Malformed {
		add("JSON that breaks off")
	}
	if t.Drop {
		add("the connection is closed")
	}
	if t.Text != nil {
		add("the text %q", *t.Text)
	}
	if t.Refusal != nil {
		add("the refusal %q", *t.Refusal)
	}
	for _, call := range t.Calls {
		arguments := string(call.Arguments)
		if call.RawArguments != nil {
			arguments = *call.RawArguments + " (not JSON)"
		}
		add("calls %s %s", call.Name, arguments)
	}
	if t.Repeat {
		add("from now on")
	}
	return strings.Join(parts, ", ")
}

func tellObject(w io.Writer, what string, d schemas.AgentDefinition) {
	if d.Unavailable {
		fmt.Fprintf(w, "\n%s has no agent\n", what)
		return
	}
	fmt.Fprintf(w, "\n%s asks the model %s\n", what, d.Model)
	for _, tool := range d.Tools {
		fmt.Fprintf(w, "  tool %s: %s\n", tool.Name, compactJSON(tool.Calls))
	}
	for _, hook := range d.OnInvoke {
		fmt.Fprintf(w, "  on_invoke hook: %s\n", compactJSON(hook))
	}
	for _, hook := range d.SystemPrompt {
		fmt.Fprintf(w, "  system prompt hook: %s\n", compactJSON(hook))
	}
	for _, name := range slices.Sorted(maps.Keys(d.SubAgents)) {
		tellObject(w, "sub-agent "+name, d.SubAgents[name])
	}
}

func tellRun(w io.Writer, n int, run schemas.AgentRun) {
	fmt.Fprintf(w, "  %d. ", n)
	if run.Start != nil {
		fmt.Fprintf(w, "Meanwhile, when the model %s has had %s, a", run.Start.Model, report.Count(run.Start.Requests, "request"))
	} else {
		fmt.Fprint(w, "A")
	}
	fmt.Fprintf(w, " call: %q", run.Prompt)
	if run.Name != "" {
		fmt.Fprintf(w, ", named %q", run.Name)
	}
	if run.Session != "" {
		fmt.Fprintf(w, ", on session %q", run.Session)
	}
	if run.OutputSchema != nil {
		fmt.Fprintf(w, ", asking for %s", run.OutputSchema)
	}
	if run.Limits != nil {
		fmt.Fprintf(w, ", with the limits %s", run.Limits)
	}
	var outcomes []string
	for _, e := range run.Expected {
		outcomes = append(outcomes, compactJSON(e))
	}
	fmt.Fprintf(w, "\n     gives %s\n", strings.Join(outcomes, " or "))
	if run.MinMs > 0 {
		fmt.Fprintf(w, "     after %d ms at least\n", run.MinMs)
	}
	if run.MaxMs > 0 {
		fmt.Fprintf(w, "     within %d ms\n", run.MaxMs)
	}
}

func tellClaim(c schemas.ModelClaim) string {
	if c.Requests != nil {
		return fmt.Sprintf("the model %s was asked %s", c.Model, report.Count(*c.Requests, "time"))
	}
	text := fmt.Sprintf("request %d to the model %s", c.Request, c.Model)
	if c.ToolResult != "" {
		text += fmt.Sprintf(" holds a result of the tool call %s", c.ToolResult)
	}
	if c.Reminder {
		text += " ends with a reminder"
	}
	for _, part := range c.Contains {
		text += fmt.Sprintf(", with %q", part)
	}
	for _, part := range c.Lacks {
		text += fmt.Sprintf(", without %q", part)
	}
	for _, tool := range c.Tools {
		text += ", offering " + tool
	}
	if c.Stream {
		text += " asks for a streamed answer exactly where the case is run that way"
	}
	return text
}

// compactJSON is for values of our own, which have an encoding.
func compactJSON(v any) string {
	out, _ := json.Marshal(v)
	return string(out)
}
