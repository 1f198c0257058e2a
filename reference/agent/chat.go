package agent

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// The roles of a message.
const (
	RoleSystem    = "system"
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// Message is a message of a conversation. The assistant's may have calls; the
// tool's answers one.
type Message struct {
	Role       string
	Content    string
	ToolCalls  []ToolCall
	ToolCallID string
}

// ToolCall is a call that the model makes. Arguments is the text it gave, JSON
// or not.
type ToolCall struct{ ID, Name, Arguments string }

// Model completes a conversation with one message of the assistant.
type Model interface {
	Complete(ctx context.Context, messages []Message, tools []Tool) (Message, error)
}

// ChatModel is a [Model] behind an OpenAI-compatible endpoint for chat
// completions. It does not retry.
type ChatModel struct {
	// BaseURL ends before /chat/completions.
	BaseURL string
	Name    string
	// Stream asks for the answer in chunks.
	Stream bool
	// Client sends the requests; nil is [http.DefaultClient].
	Client *http.Client
}

// The wire format.
type (
	chatMessage struct {
		Role       string         `json:"role"`
		Content    *string        `json:"content"`
		ToolCalls  []chatToolCall `json:"tool_calls,omitempty"`
		ToolCallID string         `json:"tool_call_id,omitempty"`
	}
	chatToolCall struct {
		Index    int    `json:"index,omitempty"` // in chunks only
		ID       string `json:"id,omitempty"`
		Type     string `json:"type,omitempty"`
		Function struct {
			Name      string `json:"name,omitempty"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	}
	chatTool struct {
		Type     string       `json:"type"`
		Function chatFunction `json:"function"`
	}
	chatFunction struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	chatRequest struct {
		Model    string        `json:"model"`
		Messages []chatMessage `json:"messages"`
		Tools    []chatTool    `json:"tools,omitempty"`
		Stream   bool          `json:"stream,omitempty"`
	}
	// chatChoices is an answer, or a chunk of one: Delta is then in the place of
	// Message.
	chatChoices struct {
		Choices []struct {
			Index   int
			Message *chatMessage
			Delta   *chatMessage
		}
	}
)

// Complete implements [Model]. Any answer but a whole chat completion is an error.
func (m *ChatModel) Complete(ctx context.Context, messages []Message, tools []Tool) (Message, error) {
	body, err := json.Marshal(m.request(messages, tools))
	if err != nil {
		return Message{}, fmt.Errorf("writing the request: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(m.BaseURL, "/")+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return Message{}, fmt.Errorf("making the request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	client := m.Client
	if client == nil {
		client = http.DefaultClient
	}
	response, err := client.Do(request)
	if err != nil {
		return Message{}, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1000)) // it only explains the status
		return Message{}, fmt.Errorf("the endpoint answered %s: %s", response.Status, text)
	}
	if m.Stream {
		return readStream(response.Body)
	}
	return readAnswer(response.Body)
}

func (m *ChatModel) request(messages []Message, tools []Tool) chatRequest {
	request := chatRequest{Model: m.Name, Stream: m.Stream}
	for _, message := range messages {
		out := chatMessage{Role: message.Role, Content: &message.Content, ToolCallID: message.ToolCallID}
		for _, call := range message.ToolCalls {
			made := chatToolCall{ID: call.ID, Type: "function"}
			made.Function.Name, made.Function.Arguments = call.Name, call.Arguments
			out.ToolCalls = append(out.ToolCalls, made)
		}
		request.Messages = append(request.Messages, out)
	}
	for _, tool := range tools {
		parameters := tool.Parameters
		if parameters == nil {
			parameters = json.RawMessage(`{"type":"object"}`)
		}
		request.Tools = append(request.Tools, chatTool{"function", chatFunction{tool.Name, tool.Description, parameters}})
	}
	return request
}

func readAnswer(body io.Reader) (Message, error) {
	var answer chatChoices
	text, err := io.ReadAll(body)
	if err != nil {
		return Message{}, fmt.Errorf("reading the answer: %w", err)
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return Message{}, fmt.Errorf("reading the answer: %w", err)
	}
	if len(answer.Choices) == 0 || answer.Choices[0].Message == nil {
		return Message{}, errors.New("the answer has no message")
	}
	whole := answer.Choices[0].Message
	for i := range whole.ToolCalls {
		whole.ToolCalls[i].Index = i
	}
	var parts assembly
	parts.add(*whole)
	return parts.message(), nil
}

// readStream puts the chunks of an answer together. They come as server-sent
// events, and [DONE] says that there are no more.
func readStream(body io.Reader) (Message, error) {
	var parts assembly
	begun := false
	lines := bufio.NewReader(body)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return Message{}, fmt.Errorf("the stream broke off: %w", err)
		}
		data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:"))
		if !ok {
			continue // a blank line, a comment or another field
		}
		data = bytes.TrimSpace(data)
		if string(data) == "[DONE]" {
			if !begun {
				return Message{}, errors.New("the stream has no message")
			}
			return parts.message(), nil
		}
		var chunk chatChoices
		if err := json.Unmarshal(data, &chunk); err != nil {
			return Message{}, fmt.Errorf("reading a chunk: %w", err)
		}
		for _, choice := range chunk.Choices {
			if choice.Index == 0 && choice.Delta != nil {
				begun = true
				parts.add(*choice.Delta)
			}
		}
	}
}

// assembly is the assistant's message as it comes, in parts or in one.
type assembly struct {
	content strings.Builder
	calls   []*partialCall
}

type partialCall struct {
	id, name  string
	arguments strings.Builder
}

// add takes a part of the message, or all of it. The id and the name of a call
// come with its first part, the arguments in pieces.
func (a *assembly) add(part chatMessage) {
	if part.Content != nil {
		a.content.WriteString(*part.Content)
	}
	for _, call := range part.ToolCalls {
		at := min(max(call.Index, 0), len(a.calls)) // an index that leaves a gap is the next one
		if at == len(a.calls) {
			a.calls = append(a.calls, &partialCall{})
		}
		a.calls[at].id += call.ID
		a.calls[at].name += call.Function.Name
		a.calls[at].arguments.WriteString(call.Function.Arguments)
	}
}

func (a *assembly) message() Message {
	m := Message{Role: RoleAssistant, Content: a.content.String()}
	for _, call := range a.calls {
		m.ToolCalls = append(m.ToolCalls, ToolCall{call.id, call.name, call.arguments.String()})
	}
	return m
}
