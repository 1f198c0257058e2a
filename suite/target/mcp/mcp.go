// Package mcp is the driver for a target that is an MCP server: it calls
// search_tools, load_tool and invoke_tool over the official Go SDK, as an agent
// would, and hands back what MCP carried the answer in.
//
// A server is certified as it is. What cannot be asked over MCP, such as to map
// a response without a backend, is not claimed, and the cases about it are not
// applicable.
package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/target"
)

// Names of the meta-tools.
const (
	SearchTools = "search_tools"
	LoadTool    = "load_tool"
	InvokeTool  = "invoke_tool"
)

// Options are the settings of the driver. The zero value is ready for use.
type Options struct {
	// Env is added to the environment of a launched server; see [target.Environ].
	Env []string
	// Settings fill the placeholders {backend}, {openapi}, {timeoutMs} and
	// {maxResponseBytes} of a command.
	Settings schemas.ConfigureParams
	// Header is sent with each request to a server over HTTP.
	Header http.Header
	// Operations give the server's names for operations of the sample API. A name
	// that is not here and that the server does not know is looked for with
	// search_tools.
	Operations map[string]string
	// ConnectTimeout is how long a server may take until it has listed its tools
	// and told which operations it has; 0 means 30 seconds.
	ConnectTimeout time.Duration
	// Grace is how long a launched server may take to end; 0 means 2 seconds.
	Grace time.Duration
}

func (o Options) withDefaults() Options {
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = 30 * time.Second
	}
	if o.Grace <= 0 {
		o.Grace = 2 * time.Second
	}
	return o
}

// Target is an MCP server under test. Calls may be made side by side.
type Target struct {
	session *mcp.ClientSession
	link    link
	names   names
	tools   map[string]*mcp.Tool
	about   *mcp.Implementation
}

var (
	_ target.Target     = (*Target)(nil)
	_ target.ToolCaller = (*Target)(nil)
)

// Describe implements [target.Target].
func (t *Target) Describe(context.Context) (schemas.DescribeResult, error) {
	d := schemas.DescribeResult{
		Protocol: schemas.ProtocolVersion,
		Name:     or(t.about.Name, "an MCP server that gives no name"),
		Version:  or(t.about.Version, "unknown"),
		Features: []string{
			schemas.FeatureInvoke, schemas.FeatureMetaTools, schemas.FeatureErrorFlag, schemas.FeatureMCP,
		},
		Operations: t.names.known(),
	}
	if slices.Contains(d.Operations, "attach_file") {
		d.Features = append(d.Features, schemas.FeatureFiles)
	}
	if t.takesVersion() {
		d.Features = append(d.Features, schemas.FeatureVersionPin)
	}
	return d, nil
}

func or(text, otherwise string) string {
	if strings.TrimSpace(text) == "" {
		return otherwise
	}
	return text
}

// takesVersion says whether invoke_tool publishes the argument that pins a
// version (SDK-15).
func (t *Target) takesVersion() bool {
	schema, err := json.Marshal(t.tools[InvokeTool].InputSchema)
	return err == nil && gjson.GetBytes(schema, "properties.version").Exists()
}

// Configure implements [target.Target]. A server was told its settings when it
// was started: there is nothing to do.
func (t *Target) Configure(context.Context, schemas.ConfigureParams) error { return nil }

// Search implements [target.Target].
func (t *Target) Search(ctx context.Context, params schemas.SearchParams) (target.Answer, error) {
	answer, err := t.call(ctx, SearchTools, params)
	answer.Envelope = t.names.ours(answer.Envelope)
	return answer, err
}

// Load implements [target.Target].
func (t *Target) Load(ctx context.Context, params schemas.LoadParams) (target.Answer, error) {
	params.Name = t.names.theirs(params.Name)
	answer, err := t.call(ctx, LoadTool, params)
	answer.Envelope = t.names.ours(answer.Envelope)
	return answer, err
}

// Invoke implements [target.Target].
func (t *Target) Invoke(ctx context.Context, params schemas.InvokeParams) (target.Answer, error) {
	params.Name = t.names.theirs(params.Name)
	answer, err := t.call(ctx, InvokeTool, params)
	answer.Envelope = t.names.ours(answer.Envelope)
	return answer, err
}

// CallTool implements [target.ToolCaller].
func (t *Target) CallTool(ctx context.Context, call schemas.ToolCall) (target.Answer, error) {
	return t.call(ctx, call.Name, call.Arguments)
}

// call makes a tools/call. Its error is about a server that can no longer be
// judged, or about time; a JSON-RPC error is an answer, if a wrong one.
func (t *Target) call(ctx context.Context, tool string, arguments any) (target.Answer, error) {
	doing := "tools/call " + tool
	if err := t.link.fault(doing); err != nil {
		return target.Answer{}, err
	}
	var got tap
	result, err := t.session.CallTool(with(ctx, &got), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	late := ctx.Err() // what was answered after that is no answer
	raw, answered := got.message()
	if answered && late == nil {
		got.settle(ctx)
	}
	if fault := t.link.fault(doing); fault != nil {
		return target.Answer{}, fault
	}
	switch {
	case late != nil:
		return target.Answer{}, fmt.Errorf("calling %s: %w", tool, late)
	case answered:
		return answerOf(raw)
	case t.link.closed():
		return target.Answer{}, target.ErrClosed
	case err == nil: // the SDK takes an answer wherever it comes
		err = fmt.Errorf("the answer did not come in reply to the request: %v", result)
	}
	return target.Answer{}, t.link.explain(doing, err)
}

// answerOf reads a JSON-RPC response as it came. Its parts are not checked
// here: that is what the judges of CARRIER do.
func answerOf(raw []byte) (target.Answer, error) {
	a := target.Answer{Raw: raw, Carrier: &target.Carrier{}}
	if object := gjson.GetBytes(raw, "error"); object.Exists() {
		a.Carrier.Error = &schemas.RPCError{Code: int(object.Get("code").Int()), Message: object.Get("message").String()}
		return a, nil
	}
	result := gjson.GetBytes(raw, "result")
	a.Carrier.Structured = result.Get("structuredContent").Exists()
	for _, block := range result.Get("content").Array() {
		if text := block.Get("text"); a.Envelope == nil && text.Type == gjson.String {
			a.Envelope = []byte(text.Str)
		}
		a.Carrier.Blocks = append(a.Carrier.Blocks, block.Get("type").String())
	}
	switch flag := result.Get("isError"); flag.Type {
	case gjson.True, gjson.False:
		set := flag.Bool()
		a.IsError = &set
	}
	return a, nil
}

// Close implements [target.Target].
func (t *Target) Close() error {
	t.link.close()
	_ = t.session.Close() // a server may be gone already, and no call waits
	t.link.wait()
	return t.link.fault("")
}

// notOverMCP is the error of what no MCP server can be asked. It is not claimed,
// so nothing asks.
func notOverMCP(what string) error {
	return fmt.Errorf("%s cannot be asked of an MCP server", what)
}

// Map implements [target.Target]; it fails.
func (t *Target) Map(context.Context, schemas.MapParams) (target.Answer, error) {
	return target.Answer{}, notOverMCP("map")
}

// Refuse implements [target.Target]; it fails.
func (t *Target) Refuse(context.Context, schemas.RefuseParams) (target.Answer, error) {
	return target.Answer{}, notOverMCP("refuse")
}

// Compose implements [target.Target]; it fails.
func (t *Target) Compose(context.Context, schemas.ComposeParams) (schemas.ComposeResult, error) {
	return schemas.ComposeResult{}, notOverMCP("compose")
}

// RunAgent implements [target.Target]; it fails.
func (t *Target) RunAgent(context.Context, schemas.AgentRunParams) (target.Answer, error) {
	return target.Answer{}, notOverMCP("agent.run")
}

// EqualErrors implements [target.Target]; it fails.
func (t *Target) EqualErrors(context.Context, schemas.AgentEqualParams) (bool, error) {
	return false, notOverMCP("agent.equal")
}
