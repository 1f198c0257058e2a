package agent_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/reference/agent"
)

// TestAnswers: what the endpoint may send, and what is no answer.
func TestAnswers(t *testing.T) {
	events := func(data ...string) string {
		var out strings.Builder
		for _, d := range data {
			fmt.Fprintf(&out, "data: %s\n\n", d)
		}
		return out.String()
	}
	call := agent.Message{Role: "assistant", ToolCalls: []agent.ToolCall{{"a", "f", `{"x":1}`}, {"b", "g", ``}}}
	for _, tt := range []struct {
		name   string
		stream bool
		body   string
		want   agent.Message
		wrong  string
	}{
		{"text", false, `{"choices":[{"message":{"role":"assistant","content":"hi"}}]}`, agent.Message{Role: "assistant", Content: "hi"}, ""},
		{"null content", false, `{"choices":[{"message":{"role":"assistant","content":null}}]}`, agent.Message{Role: "assistant"}, ""},
		{"calls", false, `{"choices":[{"message":{"content":null,"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}},{"id":"b","function":{"name":"g","arguments":""}}]}}]}`, call, ""},
		{"no choices", false, `{"choices":[]}`, agent.Message{}, "no message"},
		{"another document", false, `{"object":"list"}`, agent.Message{}, "no message"},
		{"not JSON", false, `{"choices":[`, agent.Message{}, "unexpected end"},
		{"more than JSON", false, `{"choices":[{"message":{"content":"hi"}}]} trailing`, agent.Message{}, "invalid character"},

		{"streamed text", true, ": hello\r\nevent: x\r\n" + events(`{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`, `{"choices":[{"index":0,"delta":{"content":"h"}}]}`, `{"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"i"}}]}`, `{"choices":[]}`, `[DONE]`), agent.Message{Role: "assistant", Content: "hi"}, ""},
		{"streamed calls", true, events(
			`{"choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\""}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":""}},{"index":0,"function":{"arguments":":1}"}}]}}]}`,
			`[DONE]`), call, ""},
		{"no end", true, events(`{"choices":[{"index":0,"delta":{"content":"h"}}]}`), agent.Message{}, "broke off"},
		{"only an end", true, events(`[DONE]`), agent.Message{}, "no message"},
		{"a broken chunk", true, events(`{"choices":[`, `[DONE]`), agent.Message{}, "chunk"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, tt.body) }))
		model := &agent.ChatModel{BaseURL: server.URL + "/", Name: "m", Stream: tt.stream, Client: server.Client()}
		got, err := model.Complete(t.Context(), []agent.Message{{Role: "user", Content: "?"}}, nil)
		server.Close()
		if tt.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("%s: got %v, want an error with %q", tt.name, err, tt.wrong)
			}
			continue
		}
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, err, diff)
		}
	}
}
