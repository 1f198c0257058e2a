package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/target"
	"example.com/touchstone/suite/target/mcp"
)

// misanswer is a server that does not answer invoke_tool as it should.
type misanswer string

// messages are what it sends for a message.
func (m misanswer) messages(message []byte) []string {
	right, wanted := fake{"invoke_tool": `"result":{"content":[{"type":"text","text":"{\"right\":true}"}]}`}.answer(message)
	if !wanted {
		return nil
	}
	id := gjson.GetBytes(message, "id").Raw
	if gjson.GetBytes(message, "params.name").Str != "invoke_tool" {
		return []string{right}
	}
	again := strings.Replace(right, "right", "second", 1)
	foreign := strings.Replace(right, `"id":`+id, `"id":1`+id, 1)
	switch m {
	case "another id":
		return []string{foreign}
	case "another id first":
		return []string{foreign, right}
	case "an id as text":
		return []string{strings.Replace(right, `"id":`+id, `"id":"`+id+`"`, 1)}
	case "twice":
		return []string{right, again}
	case "no result":
		return []string{fmt.Sprintf(`{"jsonrpc":"2.0","id":%s}`, id)}
	case "no id":
		return []string{`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"cannot parse"}}`}
	case "a log":
		return append(chatter(), "DEBUG cache refreshed", right)
	case "a log in brackets":
		return append(chatter(), "[INFO] cache refreshed", right)
	case "a log as JSON":
		return append(chatter(), `{"level":"info","msg":"cache refreshed"}`, right)
	case "a flood":
		return append(chatter(), `{"jsonrpc":"2.0","method":"`+strings.Repeat("x", 33<<20)+`"}`, right)
	}
	return []string{right}
}

// chatter is more than a report shows, and nothing wrong.
func chatter() []string {
	return slices.Repeat([]string{`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}`}, 40)
}

func (m misanswer) serve(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		for _, message := range m.messages(lines.Bytes()) {
			message = strings.NewReplacer("\n", " ", "\t", " ").Replace(message)
			if m == "half a message" && strings.Contains(message, "right") {
				_, err := io.WriteString(out, message[:len(message)/2])
				return err // and ends
			}
			fmt.Fprintln(out, message)
		}
	}
	return lines.Err()
}

// over serves it over HTTP, as JSON or as events, which are flushed one by one
// where a server would.
func (m misanswer) over(contentType string, flushed bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a broken request has no method
		messages := m.messages(body)
		if messages == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", contentType)
		if contentType == "application/json" {
			_, _ = io.WriteString(w, messages[0])
			return
		}
		for _, message := range messages {
			fmt.Fprintf(w, "event: message\r\ndata: %s\r\n\r\n", strings.ReplaceAll(message, "\n", " "))
			if flushed {
				w.(http.Flusher).Flush()
			}
		}
	})
}

// TestMisanswers: only an answer with the request's id is judged, and only once;
// whatever else comes ends the run, as over the other drivers.
func TestMisanswers(t *testing.T) {
	const (
		pipe   = "pipe"
		plain  = "application/json"
		events = "text/event-stream"
		slow   = "text/event-stream, flushed"
	)
	for _, tc := range []struct {
		kind   string
		over   string
		fault  target.Fault
		detail string
	}{
		{"another id", plain, target.WrongID, "asked was "},
		{"another id", events, target.WrongID, "asked was "},
		{"another id", pipe, target.WrongID, "was not asked for"},
		{"another id first", events, target.WrongID, "asked was "},
		{"another id first", slow, target.WrongID, "asked was "},
		{"another id first", pipe, target.WrongID, "was not asked for"},
		{"an id as text", plain, target.WrongID, "asked was "},
		{"an id as text", pipe, target.WrongID, "was not asked for"},
		{"twice", events, target.AnsweredTwice, "id "},
		{"twice", slow, target.AnsweredTwice, "id "},
		{"twice", pipe, target.AnsweredTwice, "id "},
		{"no result", plain, target.BadMessage, "this one has neither"},
		{"no result", events, target.BadMessage, "this one has neither"},
		{"no result", pipe, target.BadMessage, "this one has neither"},
		{"a flood", events, target.Flooded, "over 33554432 bytes in the answer to one call"},
		{"no id", plain, target.BadMessage, "its id is null and not the request's; the error it reports is -32700: cannot parse"},
	} {
		t.Run(tc.kind+" over "+tc.over, func(t *testing.T) {
			var judged *mcp.Target
			if tc.over == pipe {
				var err error
				if judged, err = child(t, "misanswers "+tc.kind, mcp.Options{}); err != nil {
					t.Fatal(err)
				}
			} else {
				contentType, _, flushed := strings.Cut(tc.over, ",")
				judged = dial(t, misanswer(tc.kind).over(contentType, flushed), mcp.Options{})
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // an answer to nobody may look like none
			defer cancel()
			answer, err := judged.Invoke(ctx, schemas.InvokeParams{Name: "get_order", Arguments: json.RawMessage(`{}`)})
			closing := judged.Close()
			if err == nil { // the second answer came later
				if string(answer.Envelope) != `{"right":true}` {
					t.Errorf("judged was %s", answer.Raw)
				}
				err = closing
			} else if closing != nil {
				t.Errorf("a fault that was reported is reported again: %v", closing)
			}
			fault, ok := errors.AsType[*target.ProtocolError](err)
			if !ok || fault.Fault != tc.fault || !strings.Contains(fault.Detail, tc.detail) || fault.Received == "" {
				t.Errorf("got %v, want the fault %q with %q", err, tc.fault, tc.detail)
			}
		})
	}
}

// TestBrokenOutput: a server that was one until now is told what it sent, and
// only one that ended is said to have ended.
func TestBrokenOutput(t *testing.T) {
	for _, tc := range []struct {
		kind   string
		fault  target.Fault
		detail string
		sent   string
	}{
		{"a log", target.Garbage, "a log belongs on standard error", "DEBUG cache refreshed\n"},
		{"a log in brackets", target.Garbage, "a log belongs on standard error", "[INFO] cache refreshed\n"},
		{"a log as JSON", target.Garbage, "what it sent cannot be read: invalid message version tag", ""},
		{"a flood", target.Flooded, "over 33554432 bytes without the newline", `{"jsonrpc":"2.0","method":"xxx`},
		{"half a message", target.Died, "exit status 0", `{"jsonrpc":"2.0"`},
	} {
		t.Run(tc.kind, func(t *testing.T) {
			judged, err := child(t, "misanswers "+tc.kind, mcp.Options{Grace: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			_, err = judged.Invoke(t.Context(), schemas.InvokeParams{Name: "get_order", Arguments: json.RawMessage(`{}`)})
			fault, ok := errors.AsType[*target.ProtocolError](err)
			if !ok || fault.Fault != tc.fault || !strings.Contains(fault.Detail, tc.detail) || !strings.HasPrefix(fault.Received, tc.sent) {
				t.Errorf("got %v, want the fault %q with %q, and %q", err, tc.fault, tc.detail, tc.sent)
			}
			if err := judged.Close(); err != nil {
				t.Errorf("a fault that was reported is reported again: %v", err)
			}
		})
	}
}

// TestFaultLasts: what broke a connection is told to the calls after it.
func TestFaultLasts(t *testing.T) {
	judged := dial(t, misanswer("another id").over("application/json", false), mcp.Options{})
	for range 2 {
		_, err := judged.Invoke(t.Context(), schemas.InvokeParams{Name: "get_order", Arguments: json.RawMessage(`{}`)})
		if fault, ok := errors.AsType[*target.ProtocolError](err); !ok || fault.Fault != target.WrongID || fault.Method != "tools/call invoke_tool" {
			t.Errorf("%v", err)
		}
	}
}

// TestLateAnswer: a call whose context ran out has no answer, though the most
// of one came.
func TestLateAnswer(t *testing.T) {
	judged := dial(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if gjson.GetBytes(body, "params.name").Str != "invoke_tool" {
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			fake{}.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\n", misanswer("").messages(body)[0]) // the empty line is missing
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}), mcp.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond) // on a slow machine nothing came, which is as well
	defer cancel()
	answer, err := judged.Invoke(ctx, schemas.InvokeParams{Name: "get_order", Arguments: json.RawMessage(`{}`)})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%s, %v, want %v", answer.Raw, err, context.DeadlineExceeded)
	}
}
