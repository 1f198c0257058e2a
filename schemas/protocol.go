package schemas

import "encoding/json"

// ProtocolVersion is the version of the target protocol these types describe.
const ProtocolVersion = 1

// Features a target can claim in [DescribeResult].
const (
	FeatureMap             = "map"
	FeatureRefuse          = "refuse"
	FeatureInvoke          = "invoke"
	FeatureHostRecognisers = "host-recognisers"
	FeatureCompose         = "compose"
	FeatureMetaTools       = "meta-tools"
	FeatureVersionPin      = "version-pin"
	FeatureLimits          = "limits"
	FeatureCookies         = "cookies"
	FeatureFiles           = "files"
	FeatureFileRefs        = "file-refs"
	FeatureDeferred        = "deferred"
	FeatureSearchRanker    = "search-ranker"
	FeatureNotInvocable    = "not-invocable"
	FeatureInternalFault   = "internal-fault"
	FeatureErrorFlag       = "error-flag"
	// FeatureMCP is claimed by the MCP driver alone: answers are judged as
	// results of tools/call.
	FeatureMCP = "mcp"
)

// Request is a JSON-RPC 2.0 request of the target protocol. IDs are positive
// integers, never reused in a run.
type Request struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      int64           `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params,omitempty"`
}

// Response is a JSON-RPC 2.0 response: a Result or an Error, never both. ID is
// nil only in an error about a request that could not be read.
type Response struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      *int64          `json:"id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *RPCError       `json:"error,omitempty"`
}

// RPCError is the error object of JSON-RPC 2.0, section 5.1.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error codes of JSON-RPC 2.0.
const (
	ParseError     = -32700
	InvalidRequest = -32600
	MethodNotFound = -32601
	InvalidParams  = -32602
	RPCInternal    = -32603
)

// DescribeParams are the params of "describe", the first call of a run.
type DescribeParams struct {
	Protocol int `json:"protocol"`
}

// DescribeResult says what a target is and can do.
type DescribeResult struct {
	Protocol int    `json:"protocol"`
	Name     string `json:"name"`
	Version  string `json:"version"`
	// Profiles the target wants to be certified for; empty means all that its features reach.
	Profiles []string `json:"profiles,omitempty"`
	Features []string `json:"features"`
	// Operations are the operations of the sample API that the target exposes;
	// nil means all of them.
	Operations []string `json:"operations,omitempty"`
}

// ConfigureParams are the settings of a run, sent before the first case, and
// again around cases that need others. Each replaces all that was set before.
type ConfigureParams struct {
	// BackendURL is the mock backend's base URL, without a trailing slash.
	BackendURL string `json:"backendUrl"`
	OpenAPIURL string `json:"openapiUrl,omitempty"`
	// TimeoutMs is the deadline of one backend call in milliseconds; 0 means none.
	TimeoutMs int64 `json:"timeoutMs"`
	// MaxResponseBytes is the budget of one serialised answer in UTF-8 bytes (GUARD-01); 0 leaves the target's own.
	MaxResponseBytes int64 `json:"maxResponseBytes,omitempty"`
	// MaxInlineFileBytes and MaxFileBytes are the budgets of SDK-13 in bytes; nil leaves the target's own.
	MaxInlineFileBytes *int64 `json:"maxInlineFileBytes,omitempty"`
	MaxFileBytes       *int64 `json:"maxFileBytes,omitempty"`
	// IdentityCookies is the Cookie header that the caller's identity carries (SDK-10).
	IdentityCookies string `json:"identityCookies,omitempty"`
	// Deferred are the values the host fills, by source (SDK-11).
	Deferred map[string]json.RawMessage `json:"deferred,omitempty"`
	// Files is what a bound resolver answers for each ref (SDK-14); nil binds none.
	Files map[string]ResolvedFile `json:"files,omitempty"`
	// Ranker binds a search ranker (SDK-18).
	Ranker *RankerSetting `json:"ranker,omitempty"`
	// InternalFault makes the layer fail in each call of "invoke", with this text (SDK-19).
	InternalFault string `json:"internalFault,omitempty"`
}

// ResolvedFile is a resolver's answer: content as Text or Base64, or an Error,
// "not_found", "forbidden" or "unavailable".
type ResolvedFile struct {
	Text      *string `json:"text,omitempty"`
	Base64    *string `json:"base64,omitempty"`
	Name      string  `json:"name,omitempty"`
	MediaType string  `json:"mediaType,omitempty"`
	Error     string  `json:"error,omitempty"`
}

// RankerSetting is a search ranker's Behaviour ("answers", "fails", "hangs" or
// "nonsense") and what the layer does OnFailure ("refuse" or "fallback").
type RankerSetting struct {
	Behaviour string `json:"behaviour"`
	OnFailure string `json:"onFailure"`
}

// MapParams are the params of "map": a backend's answer, and what the
// operation publishes.
type MapParams struct {
	Response       BackendResponse `json:"response"`
	Fields         *FieldContext   `json:"fields,omitempty"`
	HostRecognises *HostRecognised `json:"hostRecognises,omitempty"`
}

// BackendResponse is an HTTP response as the layer received it.
type BackendResponse struct {
	Status int `json:"status"`
	// Headers are [name, value] pairs in order, with case and repeats.
	Headers [][2]string `json:"headers"`
	// Body is the body as text; BodyBase64 is used instead when it is not UTF-8.
	Body       string `json:"body,omitempty"`
	BodyBase64 string `json:"bodyBase64,omitempty"`
}

// FieldContext is what an operation publishes about its arguments (FIELD rules).
type FieldContext struct {
	// Known are the names the agent sees, in published spelling.
	Known []string `json:"known,omitempty"`
	// Aliases map a wire name to the name the agent knows it by.
	Aliases map[string]string `json:"aliases,omitempty"`
	// Hidden are wire names the agent cannot set.
	Hidden []string `json:"hidden,omitempty"`
}

// HostRecognised is what a recogniser of the host makes of a response.
type HostRecognised struct {
	Message string       `json:"message,omitempty"`
	Fields  []FieldError `json:"fields,omitempty"`
}

// RefuseParams are the params of "refuse": the facts of a refusal.
type RefuseParams struct {
	Error     SDKCode         `json:"error"`
	Message   string          `json:"message,omitempty"`
	Tool      string          `json:"tool,omitempty"`
	Field     string          `json:"field,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	LimitMs   *int64          `json:"limitMs,omitempty"`
	Bytes     *int64          `json:"bytes,omitempty"`
	Limit     *int64          `json:"limit,omitempty"`
	Payload   json.RawMessage `json:"payload,omitempty"`
	Narrowing []FieldError    `json:"narrowing,omitempty"`
}

// InvokeParams are the params of "invoke": one call of an operation.
type InvokeParams struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Version   string          `json:"version,omitempty"`
}

// ComposeParams are the params of "compose": a template and arguments.
type ComposeParams struct {
	Template           json.RawMessage            `json:"template"`
	Arguments          json.RawMessage            `json:"arguments"`
	CarrierCookies     string                     `json:"carrierCookies,omitempty"`
	Deferred           map[string]json.RawMessage `json:"deferred,omitempty"`
	MaxInlineFileBytes *int64                     `json:"maxInlineFileBytes,omitempty"`
}

// ComposeResult is the result of "compose": the request that would be sent, or
// the SdkError that refuses it.
type ComposeResult struct {
	Request json.RawMessage `json:"request,omitempty"`
	Refusal json.RawMessage `json:"refusal,omitempty"`
}

// SearchParams are the params of "search", the meta-tool search_tools. Limit is
// how many operations to give at most; 0 leaves it to the target.
type SearchParams struct {
	Query string `json:"query"`
	Limit int    `json:"limit,omitempty"`
}

// LoadParams are the params of "load", the meta-tool load_tool.
type LoadParams struct {
	Name string `json:"name"`
}

// SampleOperations are the operations of the sample API that cases call.
func SampleOperations() []string {
	return []string{
		"list_orders", "create_order", "search_orders", "get_order", "update_order", "delete_order",
		"attach_file", "get_session", "tenant_report", "export_orders",
	}
}

// ToolCall is a call of one of the meta-tools as MCP's tools/call carries it.
type ToolCall struct {
	// Name is search_tools, load_tool or invoke_tool.
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// AnswerResult is the result of "map", "refuse", "search", "load" and "invoke":
// what the agent would get. Exactly one of Text and Envelope is set.
type AnswerResult struct {
	// Text is the serialised envelope, byte for byte.
	Text *string `json:"text,omitempty"`
	// Envelope is the envelope as a JSON value.
	Envelope json.RawMessage `json:"envelope,omitempty"`
	// IsError is the carrier's error flag, nil where the target has none.
	IsError *bool `json:"isError,omitempty"`
}
