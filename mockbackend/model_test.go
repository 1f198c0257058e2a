package mockbackend_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go"
	"github.com/openai/openai-go/option"
	"github.com/openai/openai-go/packages/ssestream"

	"example.com/touchstone/mockbackend"
	"example.com/touchstone/schemas"
)

// modelScope gives a scope of its own with a script.
func modelScope(t *testing.T, srv *mockbackend.Server, script string) *mockbackend.Scope {
	t.Helper()
	var s schemas.ModelScript
	if err := json.Unmarshal([]byte(script), &s); err != nil {
		t.Fatal(err)
	}
	if err := schemas.Check(schemas.ModelScriptSchema, []byte(script)); err != nil {
		t.Fatal(err)
	}
	scope := srv.Scope(strings.ReplaceAll(t.Name(), "/", "-"))
	if err := scope.SetModel(s); err != nil {
		t.Fatal(err)
	}
	return scope
}

func modelClient(t *testing.T, scope *mockbackend.Scope) openai.Client {
	return openai.NewClient(
		option.WithBaseURL(scope.ModelURL()), option.WithAPIKey("none"), option.WithMaxRetries(0), option.WithHTTPClient(newClient(t)),
	)
}

func question(text string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:    mockbackend.ModelName,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)},
		Tools: []openai.ChatCompletionToolParam{
			{Function: openai.FunctionDefinitionParam{Name: "get_order"}}, {Function: openai.FunctionDefinitionParam{Name: "weather"}},
		},
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
}

// ask asks plain or streamed; both ways end in one completion.
func ask(ctx context.Context, client openai.Client, stream bool, params openai.ChatCompletionNewParams) (*openai.ChatCompletion, error) {
	if !stream {
		params.StreamOptions = openai.ChatCompletionStreamOptionsParam{}
		return client.Chat.Completions.New(ctx, params)
	}
	var sum openai.ChatCompletionAccumulator
	var events *ssestream.Stream[openai.ChatCompletionChunk] = client.Chat.Completions.NewStreaming(ctx, params)
	defer events.Close()
	for events.Next() {
		if !sum.AddChunk(events.Current()) {
			return nil, errors.New("the chunks do not fit together")
		}
	}
	return &sum.ChatCompletion, events.Err()
}

func bothWays(t *testing.T, test func(t *testing.T, stream bool)) {
	t.Run("plain", func(t *testing.T) { test(t, false) })
	t.Run("streamed", func(t *testing.T) { test(t, true) })
}

// The official Go client reads every kind of turn.
func TestModelWithGoClient(t *testing.T) {
	const long = "Grüße 🌍, this is a text of some length, so that it takes several chunks."
	srv := start(t, mockbackend.Options{})
	bothWays(t, func(t *testing.T, stream bool) {
		scope := modelScope(t, srv, `{"turns":[
			{"text":"`+long+`"},
			{"calls":[{"name":"get_order","arguments":{"id":7}},{"id":"mine","name":"weather","rawArguments":"{\"city\": \"Zürich"}]},
			{"text":"cut","finish":"length"},
			{"refusal":"I will not."}]}`)
		client := modelClient(t, scope)
		type answer struct {
			Text, Refusal, Finish string
			Calls                 [][3]string
		}
		want := []answer{
			{Text: long, Finish: "stop"},
			{Finish: "tool_calls", Calls: [][3]string{{"call_1", "get_order", `{"id":7}`}, {"mine", "weather", `{"city": "Zürich`}}},
			{Text: "cut", Finish: "length"},
			{Refusal: "I will not.", Finish: "stop"},
			{Text: "The script of this model has ended.", Finish: "stop"},
		}
		var got []answer
		for range want {
			completion, err := ask(t.Context(), client, stream, question("Where is order 7?"))
			if err != nil {
				t.Fatal(err)
			}
			choice := completion.Choices[0]
			a := answer{Text: choice.Message.Content, Refusal: choice.Message.Refusal, Finish: choice.FinishReason}
			for _, call := range choice.Message.ToolCalls {
				a.Calls = append(a.Calls, [3]string{call.ID, call.Function.Name, call.Function.Arguments})
			}
			got = append(got, a)
			if completion.Usage.TotalTokens != 2 {
				t.Errorf("the usage is %+v", completion.Usage)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
		requests := scope.ModelRequests()
		if len(requests) != len(want) {
			t.Fatalf("%d requests are known, want %d", len(requests), len(want))
		}
		wantRequest := mockbackend.ChatRequest{
			Model: "scripted", Stream: stream, WithUsage: stream, Tools: []string{"get_order", "weather"},
			Messages: []mockbackend.ChatMessage{{Role: "user", Text: "Where is order 7?"}},
		}
		if diff := cmp.Diff(wantRequest, requests[0]); diff != "" {
			t.Errorf("the first request (-want +got):\n%s", diff)
		}
	})
}

// Failures reach the client as what they are.
func TestModelFailures(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	bothWays(t, func(t *testing.T, stream bool) {
		scope := modelScope(t, srv, `{"turns":[{"status":500},{"status":429},{"malformed":true},{"drop":true},{"drop":true,"within":true,"text":"long enough to be cut"}]}`)
		client := modelClient(t, scope)
		for _, status := range []int{500, 429} {
			_, err := ask(t.Context(), client, stream, question("?"))
			var failure *openai.Error
			if !errors.As(err, &failure) || failure.StatusCode != status || failure.Message == "" {
				t.Errorf("want HTTP %d with a message, got %v", status, err)
			}
		}
		for _, what := range []string{"malformed", "dropped before", "dropped within"} {
			if completion, err := ask(t.Context(), client, stream, question("?")); err == nil {
				t.Errorf("%s: the client got %+v", what, completion)
			}
		}
	})
}

// A turn that holds waits until it is released, before the answer or within it.
func TestModelHolds(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	bothWays(t, func(t *testing.T, stream bool) {
		scope := modelScope(t, srv, `{"turns":[{"hold":"a","text":"first"},{"hold":"b","within":true,"text":"second"}]}`)
		client := modelClient(t, scope)
		for i, hold := range []string{"a", "b"} {
			answered := make(chan error, 1)
			go func() {
				_, err := ask(t.Context(), client, stream, question("?"))
				answered <- err
			}()
			phase := map[bool]string{true: mockbackend.PhaseBody, false: mockbackend.PhaseBeforeStatus}[hold == "b"]
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			for { // until it holds
				entries, err := scope.Wait(ctx, mockbackend.Filter{Path: mockbackend.ModelPath, InFlight: true}, 1)
				if err != nil {
					t.Fatalf("request %d does not hold: %v", i+1, err)
				}
				if entries[0].Sent.Phase == phase {
					break
				}
			}
			cancel()
			select {
			case err := <-answered:
				t.Fatalf("request %d was answered before %s was released: %v", i+1, hold, err)
			default:
			}
			if !scope.ReleaseModel(hold) || scope.ReleaseModel("nobody") {
				t.Error("what can be released and what cannot is mixed up")
			}
			if err := <-answered; err != nil {
				t.Error(err)
			}
		}
	})
}

// A client that leaves is noticed, and does not keep the server from closing.
func TestModelClientLeaves(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	bothWays(t, func(t *testing.T, stream bool) {
		scope := modelScope(t, srv, `{"turns":[{"hold":"never","text":"x"}]}`)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		patient, done := context.WithTimeout(t.Context(), patience)
		defer done()
		left := make(chan error, 1)
		go func() {
			_, err := ask(ctx, modelClient(t, scope), stream, question("?"))
			left <- err
		}()
		if _, err := scope.Wait(patient, mockbackend.Filter{Path: mockbackend.ModelPath}, 1); err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("the client ended with %v", err)
		}
		if _, err := scope.Wait(patient, mockbackend.Filter{Path: mockbackend.ModelPath, ClientEnded: true}, 1); err != nil {
			t.Error(err)
		}
	})
}

// Requests that a real server refuses are refused, and take no turn.
func TestModelRefuses(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	scope := modelScope(t, srv, `{"turns":[{"text":"fine"}]}`)
	client := newClient(t)
	for _, tt := range []struct {
		name, body string
		status     int
		part       string
	}{
		{"no JSON", `{`, 400, "no chat completion request"},
		{"no model", `{"messages":[{"role":"user","content":"?"}]}`, 400, "model"},
		{"no messages", `{"model":"m"}`, 400, "messages"},
		{"a call without its result", `{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{}},{"id":"b","function":{}}]},{"role":"tool","tool_call_id":"a","content":""},{"role":"user","content":"?"}]}`, 400, "none for b"},
		{"a result without its call", `{"model":"m","messages":[{"role":"tool","tool_call_id":"a","content":""}]}`, 400, `tool_call_id`},
		{"answered calls", `{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{}},{"id":"b","function":{}}]},{"role":"tool","tool_call_id":"b","content":""},{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"x"}]}]}`, 200, "fine"},
	} {
		got := call(t, client, "POST", scope.URL()+mockbackend.ModelPath, tt.body)
		if got.status != tt.status || !strings.Contains(got.body, tt.part) {
			t.Errorf("%s: %d %s; want %d with %q", tt.name, got.status, got.body, tt.status, tt.part)
		}
	}
	if got := call(t, client, "GET", scope.URL()+"/v1/models", ""); got.status != 200 || !strings.Contains(got.body, `"id":"scripted"`) {
		t.Errorf("the models: %d %s", got.status, got.body)
	}
	if got := call(t, client, "GET", scope.URL()+mockbackend.ModelPath, ""); got.status != 405 {
		t.Errorf("GET: %d", got.status)
	}
}

// Scripts that cannot be played are refused with the turn.
func TestModelScriptRefused(t *testing.T) {
	scope := mockbackend.New(mockbackend.Options{}).Scope("x")
	for script, part := range map[string]string{
		`{"turns":[{"text":"a"},{"status":200}]}`:                               "turn 2",
		`{"turns":[{"status":500,"text":"a"}]}`:                                 "turn 1",
		`{"turns":[{"hold":"x"}]}`:                                              "says nothing",
		`{"turns":[{"refusal":"r","calls":[{"name":"x"}]}]}`:                    "refuses",
		`{"turns":[{"calls":[{"name":"x","arguments":1,"rawArguments":"1"}]}]}`: "not both",
		`{"turns":[{"text":"a","delayMs":-1}]}`:                                 "delay",
	} {
		var s schemas.ModelScript
		if err := json.Unmarshal([]byte(script), &s); err != nil {
			t.Fatal(err)
		}
		if err := scope.SetModel(s); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: got %v, want an error with %q", script, err, part)
		}
	}
}

// The admin API programs the model of a scope.
func TestModelAdmin(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	doc, client := adminDoc(t), newClient(t)
	const request = `{"model":"m","messages":[{"role":"user","content":"?"}]}`
	for _, step := range []struct {
		method, target, body string
		status               int
		part                 string
	}{
		{"POST", "/v1/chat/completions", request, 200, "no script"},
		{"PUT", "/__mock/model", `{"turns":[{"text":"one"},{"text":"two","hold":"h"}]}`, 204, ""},
		{"POST", "/v1/chat/completions", request, 200, `"one"`},
		{"GET", "/__mock/model", "", 200, `"played":1`},
		{"POST", "/__mock/model/release?hold=h", "", 204, ""},
		{"POST", "/v1/chat/completions", request, 200, `"two"`},
		{"POST", "/__mock/model/release?hold=x", "", 400, `"hold"`},
		{"PUT", "/__mock/model", `{"turns":[{"txt":"one"}]}`, 422, "txt"},
		{"PUT", "/__mock/model", `{"turns":[{"status":1}]}`, 422, "turn 1"},
		{"DELETE", "/__mock/model", "", 204, ""},
		{"POST", "/v1/chat/completions", request, 200, "no script"},
	} {
		got := call(t, client, step.method, srv.URL()+step.target, step.body)
		if got.status != step.status || !strings.Contains(got.body, step.part) {
			t.Errorf("%s %s: %d %s; want %d with %q", step.method, step.target, got.status, got.body, step.status, step.part)
		}
		if strings.HasPrefix(step.target, "/__mock/") {
			checkDescribed(t, doc, step.method, step.target, got)
		}
	}
	if got := srv.Journal().Entries(mockbackend.Filter{Path: mockbackend.ModelPath}); len(got) != 4 || got[0].Route != "model" || string(got[0].Body) != request {
		t.Errorf("the journal has %+v", got)
	}
	call(t, client, "PUT", srv.URL()+"/__mock/model", `{"turns":[{"text":"one"}]}`)
	srv.Reset()
	if got := call(t, client, "GET", srv.URL()+"/__mock/model", ""); !strings.Contains(got.body, `"turns":[]`) || got.status != http.StatusOK {
		t.Errorf("after the reset: %s", got.body)
	}
}
