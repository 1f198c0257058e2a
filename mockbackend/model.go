package mockbackend

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"example.com/touchstone/schemas"
)

// The paths of the scripted model in a scope, as OpenAI-compatible clients call
// them with the base URL [Scope.ModelURL].
const (
	ModelPath     = "/v1/chat/completions"
	modelListPath = "/v1/models"
)

// ModelName is the model that GET /v1/models lists. Requests may name any.
const ModelName = "scripted"

// A model is the scripted model of a scope. Its zero value has no script.
type model struct {
	mu       sync.Mutex
	turns    []modelTurn
	next     int                      // the coming turn
	requests int                      // answered so far
	latches  map[string]chan struct{} // closed when released
}

// A modelTurn is a turn made ready: its calls have ids and their arguments are
// text.
type modelTurn struct {
	schemas.ModelTurn
	calls []chatToolCall
	held  <-chan struct{} // nil: not held
}

// ModelURL is the base URL of the scope's model, as OpenAI-compatible clients
// take it. It is empty for a server that does not listen.
func (c *Scope) ModelURL() string {
	if c.server.url == "" {
		return ""
	}
	return c.URL() + strings.TrimSuffix(ModelPath, "/chat/completions")
}

// SetModel gives the model another script, which it plays from the start: a
// turn for each request, in the order they arrive. The error names the turn
// that cannot be played.
func (c *Scope) SetModel(script schemas.ModelScript) error {
	turns := make([]modelTurn, len(script.Turns))
	latches := map[string]chan struct{}{}
	calls := 0
	for i, in := range script.Turns {
		turn := modelTurn{ModelTurn: in}
		if problem := contradiction(in); problem != "" {
			return fmt.Errorf("turn %d of the script: %s", i+1, problem)
		}
		for _, call := range in.Calls {
			calls++
			made, err := newToolCall(call, calls)
			if err != nil {
				return fmt.Errorf("turn %d of the script: %w", i+1, err)
			}
			turn.calls = append(turn.calls, made)
		}
		if in.Hold != "" {
			if latches[in.Hold] == nil {
				latches[in.Hold] = make(chan struct{})
			}
			turn.held = latches[in.Hold]
		}
		turns[i] = turn
	}
	c.model.set(turns, latches)
	return nil
}

// set replaces the script. What the old one holds back goes on.
func (m *model) set(turns []modelTurn, latches map[string]chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range m.latches {
		m.release(name)
	}
	m.turns, m.latches, m.next, m.requests = turns, latches, 0, 0
}

// release opens a latch. The caller has the lock.
func (m *model) release(name string) {
	select {
	case <-m.latches[name]: // it is open
	default:
		close(m.latches[name])
	}
}

// contradiction says what in a turn cannot be meant.
func contradiction(t schemas.ModelTurn) string {
	says := t.Text != nil || t.Refusal != nil || len(t.Calls) > 0
	switch {
	case t.Status != 0 && (t.Status < 400 || t.Status > 599):
		return fmt.Sprintf("the status %d is none of an error; give 400 to 599", t.Status)
	case t.Status != 0 && (says || t.Malformed):
		return "an HTTP error has no text, refusal, calls or malformed body"
	case t.Refusal != nil && len(t.Calls) > 0:
		return "a model that refuses makes no calls"
	case !says && t.Status == 0 && !t.Malformed && !t.Drop:
		return "it says nothing; give text, refusal, calls, status, malformed or drop"
	case t.DelayMs < 0 || t.DelayMs > maxDelay.Milliseconds():
		return fmt.Sprintf("the delay of %d ms is not between 0 and %d", t.DelayMs, maxDelay.Milliseconds())
	}
	return ""
}

// ReleaseModel lets the turns go on that hold until this name is released, now
// and later. It tells whether the script has such a turn.
func (c *Scope) ReleaseModel(hold string) bool {
	c.model.mu.Lock()
	defer c.model.mu.Unlock()
	_, known := c.model.latches[hold]
	if known {
		c.model.release(hold)
	}
	return known
}

// ModelRequests gives what the model was asked, oldest first. A request that
// is no chat completion has an error in the place of its messages.
func (c *Scope) ModelRequests() []ChatRequest {
	var list []ChatRequest
	for _, e := range c.Journal().Entries(Filter{Path: ModelPath, Method: http.MethodPost}) {
		list = append(list, ParseChatRequest(e.Body))
	}
	return list
}

var (
	scriptEnded = "The script of this model has ended."
	noScript    = "This model has no script. Give it one with PUT " + adminPrefix + "model."
)

// take gives the turn that answers the coming request.
func (m *model) take() (turn modelTurn, number int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests++
	switch {
	case m.turns == nil:
		turn.Text = &noScript
	case m.next == len(m.turns):
		turn.Text = &scriptEnded
	default:
		turn = m.turns[m.next]
		if !turn.Repeat {
			m.next++
		}
	}
	return turn, m.requests
}

// routeModel answers from the scope's model; nil when the path is not its own.
func routeModel(q *request) *reply {
	switch q.path {
	case modelListPath:
		return jsonReply(http.StatusOK, ordered{{"object", "list"}, {"data", []ordered{
			{{"id", ModelName}, {"object", "model"}, {"created", 0}, {"owned_by", "touchstone"}},
		}}})
	case ModelPath:
		if q.Method != http.MethodPost {
			return modelError(http.StatusMethodNotAllowed, fmt.Sprintf("Use POST on %s.", ModelPath))
		}
		if q.bodyBytes > int64(len(q.body)) {
			return modelError(http.StatusRequestEntityTooLarge, fmt.Sprintf("The mock reads the first %d bytes of a request.", len(q.body)))
		}
		asked := ParseChatRequest(q.body)
		if err := asked.check(); err != nil {
			return modelError(http.StatusBadRequest, err.Error())
		}
		turn, number := q.scope.model.take()
		return turn.reply(asked, number)
	}
	return nil
}

// modelError is an error as OpenAI-compatible servers send it.
func modelError(status int, message string) *reply {
	kind := "invalid_request_error"
	switch {
	case status == http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case status >= 500:
		kind = "server_error"
	}
	return jsonReply(status, ordered{{"error", ordered{{"message", message}, {"type", kind}, {"param", nil}, {"code", nil}}}})
}

// newToolCall makes the n-th call of a script ready.
func newToolCall(in schemas.ModelCall, n int) (chatToolCall, error) {
	call := chatToolCall{ID: in.ID, Type: "function", Function: chatFunction{Name: in.Name, Arguments: "{}"}}
	if call.ID == "" {
		call.ID = fmt.Sprintf("call_%d", n)
	}
	switch {
	case in.RawArguments != nil && in.Arguments != nil:
		return call, errors.New("a call has arguments or rawArguments, not both")
	case in.RawArguments != nil:
		call.Function.Arguments = *in.RawArguments
	case in.Arguments != nil:
		if !json.Valid(in.Arguments) {
			return call, errors.New("the arguments of a call are not JSON; give a broken text as rawArguments")
		}
		call.Function.Arguments = string(in.Arguments)
	}
	return call, nil
}
