package mockbackend

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
	"unicode/utf8"

	"example.com/touchstone/schemas"
)

// The wire format of chat completions, whole and in chunks.
type (
	chatToolCall struct {
		Index    *int         `json:"index,omitempty"` // in chunks only
		ID       string       `json:"id,omitempty"`
		Type     string       `json:"type,omitempty"`
		Function chatFunction `json:"function"`
	}
	chatFunction struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	}
	chatAnswer struct {
		Role      string         `json:"role"`
		Content   *string        `json:"content"`
		Refusal   *string        `json:"refusal"`
		ToolCalls []chatToolCall `json:"tool_calls,omitempty"`
	}
	chatDelta struct {
		Role      string         `json:"role,omitempty"`
		Content   *string        `json:"content,omitempty"`
		Refusal   *string        `json:"refusal,omitempty"`
		ToolCalls []chatToolCall `json:"tool_calls,omitempty"`
	}
)

// reply makes the answer to a request, the number-th of the model.
func (t modelTurn) reply(asked ChatRequest, number int) *reply {
	if t.Status != 0 && t.held == nil && t.DelayMs == 0 {
		return modelError(t.Status, "The mock model was told to fail.")
	}
	pieces := t.whole(asked, number)
	contentType := "application/json"
	switch {
	case t.Status != 0:
		pieces = [][]byte{modelError(t.Status, "The mock model was told to fail.").body}
	case asked.Stream:
		pieces, contentType = t.stream(asked, number), "text/event-stream"
	}
	if t.Malformed {
		pieces = cutShort(pieces, asked.Stream)
	}
	r := newReply(max(t.Status, http.StatusOK), contentType, bytes.Join(pieces, nil))
	if asked.Stream || t.held != nil || t.DelayMs > 0 || t.Drop {
		r.play = func(ctx context.Context, w http.ResponseWriter, q *request) { t.play(ctx, w, q, r, pieces) }
	}
	return r
}

// finish is the reason why the model stopped.
func (t modelTurn) finish() string {
	switch {
	case t.Finish != "":
		return t.Finish
	case len(t.calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

func (t modelTurn) head(asked ChatRequest, number int, object string) ordered {
	return ordered{{"id", fmt.Sprintf("chatcmpl-%d", number)}, {"object", object}, {"created", time.Now().Unix()}, {"model", asked.Model}}
}

var modelUsage = ordered{{"prompt_tokens", 1}, {"completion_tokens", 1}, {"total_tokens", 2}}

// whole is the answer in one document, cut in two, so that one can wait within.
func (t modelTurn) whole(asked ChatRequest, number int) [][]byte {
	doc := mustJSON(append(t.head(asked, number, "chat.completion"), ordered{
		{"choices", []ordered{{
			{"index", 0},
			{"message", chatAnswer{Role: "assistant", Content: t.Text, Refusal: t.Refusal, ToolCalls: t.calls}},
			{"logprobs", nil},
			{"finish_reason", t.finish()},
		}}},
		{"usage", modelUsage},
	}...))
	return [][]byte{doc[:len(doc)/2], doc[len(doc)/2:]}
}

// stream is the answer as server-sent events: the role, the text piece by
// piece, for each call its id and name and then its arguments piece by piece,
// and the reason for the end.
func (t modelTurn) stream(asked ChatRequest, number int) [][]byte {
	var events [][]byte
	event := func(choices []ordered, more ordered) {
		doc := append(t.head(asked, number, "chat.completion.chunk"), ordered{{"choices", choices}}...)
		events = append(events, fmt.Appendf(nil, "data: %s\n\n", mustJSON(append(doc, more...))))
	}
	delta := func(d chatDelta, finish any) {
		event([]ordered{{{"index", 0}, {"delta", d}, {"logprobs", nil}, {"finish_reason", finish}}}, nil)
	}
	delta(chatDelta{Role: "assistant", Content: new(string)}, nil)
	if t.Text != nil {
		for _, part := range split(*t.Text) {
			delta(chatDelta{Content: &part}, nil)
		}
	}
	if t.Refusal != nil {
		for _, part := range split(*t.Refusal) {
			delta(chatDelta{Refusal: &part}, nil)
		}
	}
	for i, call := range t.calls {
		first := chatToolCall{Index: &i, ID: call.ID, Type: call.Type, Function: chatFunction{Name: call.Function.Name}}
		delta(chatDelta{ToolCalls: []chatToolCall{first}}, nil)
		for _, part := range split(call.Function.Arguments) {
			delta(chatDelta{ToolCalls: []chatToolCall{{Index: &i, Function: chatFunction{Arguments: part}}}}, nil)
		}
	}
	delta(chatDelta{}, t.finish())
	if asked.WithUsage {
		event([]ordered{}, ordered{{"usage", modelUsage}})
	}
	return append(events, []byte("data: [DONE]\n\n"))
}

// split cuts a text between characters into pieces as uneven as tokens are. Of
// a long text the pieces are long too, for the reader's sake.
func split(text string) []string {
	scale := 1 + len(text)/4096
	var parts []string
	for i := 0; text != ""; i++ {
		n := min(len(text), scale*[...]int{3, 1, 7, 2, 11, 5}[i%6])
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		parts = append(parts, text[:n])
		text = text[n:]
	}
	return parts
}

// cutShort breaks the JSON of an answer off.
func cutShort(pieces [][]byte, stream bool) [][]byte {
	first := pieces[0]
	if stream {
		return [][]byte{append(bytes.TrimSpace(first[:len(first)/2]), "\n\n"...)}
	}
	return [][]byte{first}
}

// play sends an answer that net/http cannot send in one go.
func (t modelTurn) play(ctx context.Context, w http.ResponseWriter, q *request, r *reply, pieces [][]byte) {
	leave := func(reason string) {
		q.sent.Error = reason
		q.sent.ClientEnded = !t.Drop && !q.scope.ended()
		panic(http.ErrAbortHandler)
	}
	pause := func() {
		if err := t.wait(ctx); err != nil {
			leave("waiting: " + err.Error())
		}
		if t.Drop {
			q.sent.Fault = "drop"
			leave("told to drop the connection")
		}
	}
	if !t.Within {
		pause()
	}
	r.fill(w)
	w.Header().Del("Content-Length")
	w.WriteHeader(r.status)
	q.sent.Status = r.status
	q.reach(PhaseBody)
	flush := http.NewResponseController(w).Flush
	for i, piece := range pieces {
		if t.Within && i == max(1, len(pieces)/2) {
			pause()
		}
		n, err := w.Write(piece)
		q.wrote(n)
		if err == nil {
			err = flush()
		}
		if err != nil {
			leave(err.Error())
		}
	}
	q.sent.Phase = PhaseComplete
}

// wait holds the answer back for as long as the script says.
func (t modelTurn) wait(ctx context.Context) error {
	if t.DelayMs > 0 {
		if err := sleep(ctx, time.Duration(t.DelayMs)*time.Millisecond); err != nil {
			return err
		}
	}
	if t.held == nil {
		return nil
	}
	select {
	case <-t.held:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// decodeScript reads a script as JSON.
func decodeScript(data []byte) (schemas.ModelScript, error) {
	var script schemas.ModelScript
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&script); err != nil {
		return script, fmt.Errorf("the body is no script: %w", err)
	}
	if script.Turns == nil {
		return script, errors.New("the body is no script: it has no turns; a list without any is [], and DELETE takes the script away")
	}
	return script, nil
}
