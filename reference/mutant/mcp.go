package mutant

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"example.com/touchstone/reference/serve"
	"example.com/touchstone/schemas"
)

// MCP gives the mutants of the carrier: they show only over MCP, in what an
// answer is put into.
func MCP() []Mutant {
	return slices.Concat(
		group(breaks("CARRIER-03"), mutant("mcp-success-flagged", "It flags a success as an error.", carrying(func(c carriage) {
			c.result.IsError = true
		}))),
		group(breaks("CARRIER-02"), mutant("mcp-error-unflagged", "It does not flag an error.", carrying(func(c carriage) {
			c.result.IsError = false
		}))),
		group(breaks("CARRIER-01"),
			mutant("mcp-structured-only", "It puts the envelope into structuredContent alone.", carrying(func(c carriage) {
				c.result.StructuredContent, c.result.Content = json.RawMessage(c.text), []mcp.Content{}
			})),
			mutant("mcp-two-blocks", "It adds a block of prose.", carrying(func(c carriage) {
				c.result.Content = append(c.result.Content, &mcp.TextContent{Text: "The call is done."})
			})),
			mutant("mcp-resource-block", "It carries the envelope in an embedded resource.", carrying(func(c carriage) {
				c.result.Content = []mcp.Content{&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "call:result", MIMEType: "application/json", Text: c.text}}}
			})),
			mutant("mcp-exception-text", "It answers a failure of the backend with the text of an exception.", carrying(func(c carriage) {
				if status := gjson.Get(c.text, "status").Int(); status >= 500 {
					c.result.Content = []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("Error: Request failed with status code %d", status)}}
				}
			})),
			mutant("mcp-double-encoded", "It writes the envelope as JSON twice.", carrying(func(c carriage) {
				c.result.Content = []mcp.Content{&mcp.TextContent{Text: quote(c.text)}}
			})),
		),
		group(breaks("CARRIER-05"),
			mutant("mcp-bad-request-as-rpc-error", "It answers a backend's 400 with a JSON-RPC error.", failingToCarry(jsonrpc.CodeInvalidParams, func(c carriage) bool {
				return gjson.Get(c.text, "status").Int() == 400
			})),
			mutant("mcp-refusal-as-rpc-error", "It answers a call of an unknown operation with a JSON-RPC error.", failingToCarry(jsonrpc.CodeMethodNotFound, func(c carriage) bool {
				return gjson.Get(c.text, "error").Str == string(schemas.UnknownTool)
			})),
		),
		group(breaks("CARRIER-06"),
			mutant("mcp-framework-validation", "It leaves a meta-tool's arguments to the framework, which answers in prose.", carrying(func(c carriage) {
				if c.misused() {
					c.result.Content = []mcp.Content{&mcp.TextContent{Text: "MCP error -32602: Input validation error: Invalid arguments for tool " + c.tool}}
				}
			})),
			mutant("mcp-validation-as-rpc-error", "It answers a meta-tool's wrong arguments with a JSON-RPC error.", failingToCarry(jsonrpc.CodeInvalidParams, carriage.misused)),
		),
	)
}

// carriage is an answer and the result that carries it.
type carriage struct {
	tool      string
	arguments json.RawMessage
	text      string
	result    *mcp.CallToolResult
}

// misused says whether the meta-tool's own arguments are wrong, as a schema would
// see it; the arguments of the operation may be anything.
func (c carriage) misused() bool {
	allowed := map[string][]string{"search_tools": {"query", "limit"}, "load_tool": {"name"}, "invoke_tool": {"name", "arguments", "version"}}[c.tool]
	given := gjson.ParseBytes(c.arguments)
	for name, value := range given.ForEach {
		if !slices.Contains(allowed, name.Str) || (name.Str == "name" || name.Str == "version") && value.Type != gjson.String {
			return true
		}
	}
	return !given.Get(allowed[0]).Exists() || c.tool == "invoke_tool" && !given.Get("arguments").Exists()
}

// carrying changes the result that carries an answer.
func carrying(edit func(c carriage)) func() serve.Reference {
	return func() serve.Reference {
		return serve.Reference{Carry: func(tool string, arguments json.RawMessage, answer schemas.AnswerResult) (*mcp.CallToolResult, error) {
			result, err := serve.CarryText(tool, arguments, answer)
			if err == nil {
				edit(carriage{tool, arguments, *answer.Text, result})
			}
			return result, err
		}}
	}
}

// failingToCarry answers some calls with a JSON-RPC error.
func failingToCarry(code int64, when func(c carriage) bool) func() serve.Reference {
	return func() serve.Reference {
		return serve.Reference{Carry: func(tool string, arguments json.RawMessage, answer schemas.AnswerResult) (*mcp.CallToolResult, error) {
			result, err := serve.CarryText(tool, arguments, answer)
			if err == nil && when(carriage{tool, arguments, *answer.Text, result}) {
				return nil, &jsonrpc.Error{Code: code, Message: "the call failed"}
			}
			return result, err
		}}
	}
}
