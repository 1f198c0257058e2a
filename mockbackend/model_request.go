package mockbackend

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A ChatRequest is a request for a chat completion, as far as the mock looks at
// it.
type ChatRequest struct {
	Model    string
	Stream   bool
	Messages []ChatMessage
	// Tools are the names of the tools offered.
	Tools []string
	// WithUsage asks for the usage at the end of a stream.
	WithUsage bool
	// Err is why the body is no such request.
	Err error
}

// A ChatMessage is a message of a conversation. Text is its content, the parts
// of it put together.
type ChatMessage struct {
	Role string
	Text string
	// ToolCallID is the call that a message of the role "tool" answers.
	ToolCallID string
	// Calls are the ids of the calls that a message of the assistant makes.
	Calls []string
}

// ParseChatRequest reads the body of a request for a chat completion.
func ParseChatRequest(body []byte) ChatRequest {
	var in struct {
		Model         string
		Stream        bool
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
		Messages []struct {
			Role       string
			Content    json.RawMessage
			ToolCallID string         `json:"tool_call_id"`
			ToolCalls  []chatToolCall `json:"tool_calls"`
		}
		Tools []struct{ Function struct{ Name string } }
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return ChatRequest{Err: fmt.Errorf("the body is no chat completion request: %w", err)}
	}
	out := ChatRequest{Model: in.Model, Stream: in.Stream, WithUsage: in.StreamOptions.IncludeUsage}
	for _, m := range in.Messages {
		message := ChatMessage{Role: m.Role, Text: contentText(m.Content), ToolCallID: m.ToolCallID}
		for _, call := range m.ToolCalls {
			message.Calls = append(message.Calls, call.ID)
		}
		out.Messages = append(out.Messages, message)
	}
	for _, tool := range in.Tools {
		out.Tools = append(out.Tools, tool.Function.Name)
	}
	return out
}

// contentText gives a content, which is a string or a list of parts.
func contentText(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct{ Text string }
	_ = json.Unmarshal(content, &parts) // null, or parts without text, are empty
	var out strings.Builder
	for _, part := range parts {
		out.WriteString(part.Text)
	}
	return out.String()
}

// check refuses what real servers refuse: every tool call must be answered
// before the conversation goes on, and nothing else may be.
func (r ChatRequest) check() error {
	switch {
	case r.Err != nil:
		return r.Err
	case r.Model == "":
		return errors.New("you must provide a model parameter")
	case len(r.Messages) == 0:
		return errors.New("messages must not be empty")
	}
	var open []string // calls without an answer
	for i, m := range r.Messages {
		if m.Role == "tool" {
			at := slices.Index(open, m.ToolCallID)
			if at < 0 {
				return fmt.Errorf("messages[%d] has the role tool, and answers no tool call before it: tool_call_id %q", i, m.ToolCallID)
			}
			open = slices.Delete(open, at, at+1)
			continue
		}
		if len(open) > 0 {
			break
		}
		open = slices.Clone(m.Calls)
	}
	if len(open) > 0 {
		return fmt.Errorf("an assistant message with tool_calls must be followed by tool messages for each tool_call_id; there are none for %s", strings.Join(open, ", "))
	}
	return nil
}
