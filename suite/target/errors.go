package target

import (
	"errors"
	"fmt"
	"strings"

	"example.com/touchstone/schemas"
)

// Fault says how a target broke the protocol.
type Fault string

// The ways to break it.
const (
	Unreachable   Fault = "could not be reached"
	Died          Fault = "ended before it answered"
	HungUp        Fault = "closed its end of the conversation but did not end"
	Garbage       Fault = "answered something that is not a JSON-RPC message"
	BadMessage    Fault = "answered a message that breaks the target protocol"
	WrongID       Fault = "answered an id that was not asked for"
	AnsweredTwice Fault = "answered the same id twice"
	Unsolicited   Fault = "sent a message when nothing was asked"
	Flooded       Fault = "sent a message over the size limit"
	BadHTTP       Fault = "answered HTTP that is not the target protocol's"

	NotMCP      Fault = "is not an MCP server"
	NoMetaTools Fault = "is an MCP server without the meta-tools"
	RefusedMCP  Fault = "answered the MCP protocol with an error"
	Unanswered  Fault = "left a request without an answer"
)

// ErrClosed is the error of a call that is made, or still waits, when its
// target is closed.
var ErrClosed = errors.New("the target is closed")

// ProtocolError says that a target cannot be judged: it broke the contract or
// cannot be reached. It ends a run with exit code 3.
type ProtocolError struct {
	Fault  Fault
	Method string
	// Detail says what exactly: the violated rule, the exit status, the network error.
	Detail string
	// Received is the start of what the target sent, where it sent something; see [Excerpt].
	Received string
	// Stderr is the tail of a child's standard error; see [Tail].
	Stderr string
}

func (e *ProtocolError) Error() string {
	var s strings.Builder
	fmt.Fprintf(&s, "the target %s", e.Fault)
	if e.Method != "" {
		fmt.Fprintf(&s, " (during %q)", e.Method)
	}
	if e.Detail != "" {
		fmt.Fprintf(&s, ": %s", e.Detail)
	}
	if e.Received != "" {
		fmt.Fprintf(&s, "\nit sent: %s", e.Received)
	}
	if e.Stderr != "" {
		fmt.Fprintf(&s, "\nits stderr ends with:\n%s", e.Stderr)
	}
	return s.String()
}

// RPCError is a JSON-RPC error object that the target answered: within the
// protocol, but no answer.
type RPCError struct {
	Method string
	Object schemas.RPCError
}

func (e *RPCError) Error() string {
	return fmt.Sprintf("the target answered %q with the JSON-RPC error %d: %s", e.Method, e.Object.Code, Excerpt([]byte(e.Object.Message)))
}
