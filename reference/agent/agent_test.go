package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"example.com/touchstone/mockbackend"
	"example.com/touchstone/reference/agent"
	"example.com/touchstone/schemas"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scripted gives a scope with a script, and a model that asks it.
func scripted(t *testing.T, stream bool, script string) (*mockbackend.Scope, *agent.ChatModel) {
	t.Helper()
	srv, err := mockbackend.Start(mockbackend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
	})
	var s schemas.ModelScript
	if err := json.Unmarshal([]byte(script), &s); err != nil {
		t.Fatal(err)
	}
	scope := srv.Scope("agent")
	if err := scope.SetModel(s); err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return scope, &agent.ChatModel{BaseURL: scope.ModelURL(), Name: "m", Stream: stream, Client: &http.Client{Transport: transport}}
}

func request(prompt string) agent.Request {
	return agent.Request{Prompt: prompt, Limits: agent.DefaultLimits()}
}

// The three outcomes: a value, an Error that is a value too, and a Go error that
// leads back to what a tool returned.
func TestOutcomes(t *testing.T) {
	for _, stream := range []bool{false, true} {
		_, model := scripted(t, stream, `{"turns":[
			{"calls":[{"name":"produce_output","arguments":{"value":{"quantity":7}}}]},
			{"calls":[{"name":"produce_error","arguments":{"message":"Closed."}}]},{"text":"Sorry."},
			{"calls":[{"name":"lookup"}]}]}`)
		gone := errors.New("the index is gone")
		object := &agent.Object{Model: model, Tools: []agent.Tool{{Name: "lookup", Call: func(context.Context, json.RawMessage) (any, error) { return nil, gone }}}}

		r := request("Count.")
		r.OutputSchema = json.RawMessage(`{"type":"object","required":["quantity"]}`)
		outcome, err := object.Invoke(t.Context(), r)
		if diff := cmp.Diff(agent.Outcome{Value: json.RawMessage(`{"quantity":7}`)}, outcome); err != nil || diff != "" {
			t.Errorf("a result: %v (-want +got):\n%s", err, diff)
		}

		outcome, err = object.Invoke(t.Context(), request("Open the shop."))
		if err != nil || outcome.Error == nil || *outcome.Error != (agent.Error{Message: "Closed."}) || outcome.Cause != agent.ProduceError || outcome.Value != nil {
			t.Errorf("an error: %+v, %v", outcome, err)
		}

		outcome, err = object.Invoke(t.Context(), request("Look it up."))
		var broken *agent.Exception
		if !errors.As(err, &broken) || broken.Kind != agent.ToolFailure || !errors.Is(err, gone) || outcome.Error != nil {
			t.Errorf("an exception: %+v, %v", outcome, err)
		}
	}
}

// An Error is no Go error: nobody can return it where a failure belongs.
func TestErrorIsAValue(t *testing.T) {
	var value any = &agent.Error{}
	if _, ok := value.(error); ok {
		t.Error("*Error implements error")
	}
	value = agent.Error{}
	if _, ok := value.(error); ok {
		t.Error("Error implements error")
	}
}

// A persistent session goes on where it ended, and is set up once.
func TestPersistentSession(t *testing.T) {
	scope, model := scripted(t, false, `{"turns":[
		{"calls":[{"name":"produce_output","arguments":{"value":1}}]},
		{"calls":[{"name":"produce_error","arguments":{"message":"no"}}]},{"text":"stopped"},
		{"calls":[{"name":"produce_output","arguments":{"value":3}}]}]}`)
	setUps := 0
	object := &agent.Object{Model: model, SystemPrompt: []agent.PromptHook{
		func(context.Context) (string, error) { setUps++; return "Be brief.", nil },
		func(context.Context) (string, error) { return "", nil },
		func(context.Context) (string, error) { return "Be kind.", nil },
	}}
	for _, prompt := range []string{"first", "second", "third"} {
		r := request(prompt)
		r.Session = "s"
		if _, err := object.Invoke(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if setUps != 1 {
		t.Errorf("the session was set up %d times", setUps)
	}
	type said struct{ Role, Text string }
	var got []said
	for _, m := range scope.ModelRequests()[3].Messages {
		if m.Role == "tool" {
			m.Text = "" // worded elsewhere
		}
		got = append(got, said{m.Role, m.Text})
	}
	want := []said{
		{"system", "Be brief.\n\nBe kind."}, {"user", "first"}, {"user", "second"}, {"assistant", ""}, {"tool", ""}, {"assistant", "stopped"}, {"user", "third"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the last request (-want +got):\n%s", diff)
	}
}

// The caller's own context is no timeout of the agent.
func TestCancelled(t *testing.T) {
	scope, model := scripted(t, true, `{"turns":[{"text":"x","hold":"never"}]}`)
	object := &agent.Object{Model: model}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := object.Invoke(ctx, request("Wait."))
		ended <- err
	}()
	if _, err := scope.Wait(t.Context(), mockbackend.Filter{Path: mockbackend.ModelPath}, 1); err != nil {
		t.Fatal(err)
	}
	cancel()
	var broken *agent.Exception
	if err := <-ended; !errors.As(err, &broken) || broken.Kind != agent.Internal || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := object.Invoke(ctx, request("Wait.")); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

// A tool that panics, or gives what is no JSON, has failed like one that returns
// an error.
func TestToolFailures(t *testing.T) {
	for name, call := range map[string]func(context.Context, json.RawMessage) (any, error){
		"panic":    func(context.Context, json.RawMessage) (any, error) { panic("boom") },
		"not JSON": func(context.Context, json.RawMessage) (any, error) { return make(chan int), nil },
	} {
		_, model := scripted(t, false, `{"turns":[{"calls":[{"name":"lookup"}]}]}`)
		object := &agent.Object{Model: model, Tools: []agent.Tool{{Name: "lookup", Call: call}}}
		var broken *agent.Exception
		if _, err := object.Invoke(t.Context(), request("Look.")); !errors.As(err, &broken) || broken.Kind != agent.ToolFailure {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What cannot be run is refused, and the model is not asked.
func TestConfiguration(t *testing.T) {
	scope, model := scripted(t, false, `{"turns":[]}`)
	tool := agent.Tool{Name: "lookup", Call: func(context.Context, json.RawMessage) (any, error) { return nil, nil }}
	own := tool
	own.Name = "produce_output"
	limits := func(edit func(l *agent.Limits)) agent.Request {
		r := request("x")
		edit(&r.Limits)
		return r
	}
	schema := func(text string) agent.Request {
		r := request("x")
		r.OutputSchema = json.RawMessage(text)
		return r
	}
	for _, tt := range []struct {
		name   string
		object *agent.Object
		r      agent.Request
		part   string
	}{
		{"no model", &agent.Object{}, request("x"), "no agent"},
		{"two tools of a name", &agent.Object{Model: model, Tools: []agent.Tool{tool, tool}}, request("x"), `"lookup"`},
		{"a tool of a name that is taken", &agent.Object{Model: model, Tools: []agent.Tool{own}}, request("x"), `"produce_output"`},
		{"turns", &agent.Object{Model: model}, limits(func(l *agent.Limits) { l.MaxTurns = -1 }), "turns"},
		{"attempts", &agent.Object{Model: model}, limits(func(l *agent.Limits) { l.OutputAttempts = 0 }), "attempts"},
		{"timeout", &agent.Object{Model: model}, limits(func(l *agent.Limits) { l.Timeout = 0 }), "timeouts"},
		{"lock timeout", &agent.Object{Model: model}, limits(func(l *agent.Limits) { l.LockTimeout = -time.Second }), "timeouts"},
		{"no schema", &agent.Object{Model: model}, schema(`7`), "schema"},
		{"broken schema", &agent.Object{Model: model}, schema(`{"type":"strnig"}`), "schema"},
		{"foreign schema", &agent.Object{Model: model}, schema(`{"properties":{"a":{"items":[{"$ref":"http://127.0.0.1:1/x.json"}]}}}`), "fetched"},
	} {
		var broken *agent.Exception
		_, err := tt.object.Invoke(t.Context(), tt.r)
		if !errors.As(err, &broken) || broken.Kind != agent.InvalidConfiguration || !strings.Contains(err.Error(), tt.part) {
			t.Errorf("%s: got %v, want an error with %q", tt.name, err, tt.part)
		}
	}
	if n := len(scope.ModelRequests()); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
}

// A schema may refer to its own parts.
func TestSchemaRefersToItself(t *testing.T) {
	_, model := scripted(t, false, `{"turns":[
		{"calls":[{"name":"produce_output","arguments":{"value":{"a":"x"}}}]},
		{"calls":[{"name":"produce_output","arguments":{"value":{"a":1}}}]}]}`)
	r := request("x")
	r.OutputSchema = json.RawMessage(`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"$ref":"#/definitions/n"}},"definitions":{"n":{"type":"integer"}}}`)
	outcome, err := (&agent.Object{Model: model}).Invoke(t.Context(), r)
	if err != nil || string(outcome.Value) != `{"a":1}` {
		t.Errorf("got %+v, %v", outcome, err)
	}
}
