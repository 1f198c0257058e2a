package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/touchstone/reference/catalog"
	"example.com/touchstone/reference/invoke"
	"example.com/touchstone/schemas"
)

// MCPOptions are what a [MCPServer] is made of.
type MCPOptions struct {
	// Document is the OpenAPI 3.x document of the backend, in JSON or YAML.
	Document []byte
	// BackendURL is where the paths of the document begin.
	BackendURL string
	// Limits are taken as they are; [invoke.DefaultLimits] is where to start from.
	Limits invoke.Limits
}

// MCPServer is a reference as an MCP server: an agent finds the operations of an
// OpenAPI document with search_tools, reads one with load_tool, and calls it with
// invoke_tool.
type MCPServer struct {
	handler *Handler
	server  *mcp.Server
	// Diagnostics tell the host which operations and arguments could not be taken
	// over, and why.
	Diagnostics []string
}

// Carry makes a result of tools/call of an answer (CARRIER-01 to CARRIER-05).
// Its error becomes a JSON-RPC error.
type Carry func(tool string, arguments json.RawMessage, answer schemas.AnswerResult) (*mcp.CallToolResult, error)

// NewMCP makes a reference an MCP server.
func NewMCP(r Reference, o MCPOptions) (*MCPServer, error) {
	operations, err := catalog.FromOpenAPI(o.Document, catalog.Options{})
	if err != nil {
		return nil, err
	}
	held, err := catalog.New(operations)
	if err != nil {
		return nil, err
	}
	h := New(r)
	layer := invoke.New(invoke.Config{
		Catalog: held, BackendURL: o.BackendURL, Limits: o.Limits,
		Mapper: h.reference.Mapper, Transport: h.transport, Policy: h.policy, Questions: &h.questions,
	})
	s := &MCPServer{handler: h, server: mcp.NewServer(&mcp.Implementation{Name: h.reference.Name, Version: h.reference.Version}, &mcp.ServerOptions{
		Instructions: "Find an operation with search_tools, read it with load_tool, call it with invoke_tool.",
	})}
	for _, op := range operations {
		for _, text := range op.Diagnostics {
			s.Diagnostics = append(s.Diagnostics, op.Name+": "+text)
		}
	}
	carry := h.reference.Carry
	if carry == nil {
		carry = CarryText
	}
	add := func(tool invoke.MetaTool, description string, call func(context.Context, json.RawMessage) invoke.Answer) {
		s.server.AddTool(&mcp.Tool{Name: tool.Name, Description: description, InputSchema: metaSchema(tool)},
			func(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return carry(tool.Name, request.Params.Arguments, h.result(call(ctx, request.Params.Arguments)))
			})
	}
	add(h.policy.SearchTools, "Find operations of the backend by what they do.", layer.SearchTools)
	add(h.policy.LoadTool, "Read one operation: its arguments as JSON Schema, and its version.", layer.LoadTool)
	add(h.policy.InvokeTool, "Call one operation and get what the backend answered, or why it was not asked.", layer.InvokeTool)
	return s, nil
}

// CarryText puts an answer into one text block. A flag that is not set is absent.
func CarryText(_ string, _ json.RawMessage, answer schemas.AnswerResult) (*mcp.CallToolResult, error) {
	text := string(answer.Envelope)
	if answer.Text != nil {
		text = *answer.Text
	}
	return &mcp.CallToolResult{
		Content: []mcp.Content{&mcp.TextContent{Text: text}},
		IsError: answer.IsError != nil && *answer.IsError,
	}, nil
}

// metaSchema publishes the arguments of a meta-tool. The layer checks them itself
// (CARRIER-06): the SDK is given the schema to tell agents, not to judge by.
func metaSchema(tool invoke.MetaTool) json.RawMessage {
	types := map[string]string{invoke.KindString: "string", invoke.KindCount: "integer", invoke.KindObject: "object"}
	properties, required := map[string]any{}, []string{}
	for _, a := range tool.Arguments {
		property := map[string]any{"type": types[a.Kind], "description": a.Description}
		if a.Kind == invoke.KindCount {
			property["minimum"] = 1
		}
		properties[a.Name] = property
		if a.Required {
			required = append(required, a.Name)
		}
	}
	schema, _ := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": required}) // of strings and numbers
	return schema
}

// ServeStdio serves one client on standard input and output, until it goes or ctx ends.
func (s *MCPServer) ServeStdio(ctx context.Context) error {
	return s.Serve(ctx, &mcp.StdioTransport{})
}

// Serve serves one client over a transport, until it goes or ctx ends.
func (s *MCPServer) Serve(ctx context.Context, transport mcp.Transport) error {
	defer s.handler.Close()
	if err := s.server.Run(ctx, transport); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serving MCP: %w", err)
	}
	return nil
}

// HTTPHandler serves any number of clients over streamable HTTP. Sessions are not
// kept: every request stands for itself.
func (s *MCPServer) HTTPHandler() http.Handler {
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.server }, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxMessage, PropagateRequestCancellation: true,
	})
}

// Close waits, after the last call, for what the calls have given up on.
func (s *MCPServer) Close() { s.handler.Close() }
