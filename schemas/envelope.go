package schemas

import "encoding/json"

// BackendCode is the `error` of a BackendError (SHAPE-06).
type BackendCode string

// The nine backend codes; CODE-01 to CODE-09 say which status gives which.
const (
	ValidationFailed   BackendCode = "validation_failed"
	Unauthenticated    BackendCode = "unauthenticated"
	Forbidden          BackendCode = "forbidden"
	NotFound           BackendCode = "not_found"
	Conflict           BackendCode = "conflict"
	RateLimited        BackendCode = "rate_limited"
	BackendUnavailable BackendCode = "backend_unavailable"
	BackendFailed      BackendCode = "backend_error"
	BadRequest         BackendCode = "bad_request"
)

// SDKCode is the `error` of an SDKError (SHAPE-06).
type SDKCode string

// The twenty SDK codes.
const (
	UnknownArgument         SDKCode = "unknown_argument"
	InvalidPathType         SDKCode = "invalid_path_type"
	MissingPathParameter    SDKCode = "missing_path_parameter"
	HeaderInjection         SDKCode = "header_injection"
	NullNotAllowed          SDKCode = "null_not_allowed"
	InvalidType             SDKCode = "invalid_type"
	DeferredValueMissing    SDKCode = "deferred_value_missing"
	DeferredValueInvalid    SDKCode = "deferred_value_invalid"
	InvalidCookieValue      SDKCode = "invalid_cookie_value"
	CookieCarrierCollision  SDKCode = "cookie_carrier_collision"
	InvalidFileArgument     SDKCode = "invalid_file_argument"
	FileTooLarge            SDKCode = "file_too_large"
	FileUnresolved          SDKCode = "file_unresolved"
	UnknownTool             SDKCode = "unknown_tool"
	NotInvocable            SDKCode = "not_invocable"
	ToolChanged             SDKCode = "tool_changed"
	ResponseTooLarge        SDKCode = "response_too_large"
	InvokeTimeout           SDKCode = "invoke_timeout"
	SearchRankerUnavailable SDKCode = "search_ranker_unavailable"
	InternalError           SDKCode = "internal_error"
)

// Envelope is one of [*Success], [*BackendError] and [*SDKError] (SHAPE-01).
type Envelope interface{ envelope() }

// Success reports a backend answer with a status below 400 (SHAPE-03).
type Success struct {
	Status int `json:"status"`
	// Body is the backend's JSON value unchanged, or a JSON string that holds
	// its text; nil when there was none.
	Body        json.RawMessage `json:"body,omitempty"`
	ContentType string          `json:"contentType,omitempty"`
	Location    string          `json:"location,omitempty"`
}

// BackendError reports a backend answer with a status of 400 or above (SHAPE-04).
type BackendError struct {
	Error     BackendCode  `json:"error"`
	Message   string       `json:"message"`
	Status    int          `json:"status"`
	Retryable bool         `json:"retryable"`
	Fields    []FieldError `json:"fields,omitempty"`
	// RetryAfterSeconds is nil when the backend gave no usable Retry-After; 0 is a value (HEADER-02).
	RetryAfterSeconds *int64 `json:"retryAfterSeconds,omitempty"`
	Reference         string `json:"reference,omitempty"`
}

// SDKError reports that the layer answered by itself (SHAPE-05).
type SDKError struct {
	Error     SDKCode      `json:"error"`
	Message   string       `json:"message"`
	Retryable bool         `json:"retryable"`
	Fields    []FieldError `json:"fields,omitempty"`
	Payload   *Payload     `json:"payload,omitempty"`
}

// FieldError is one failed rule of one field. Name is empty where the field is
// unknown to the agent (FIELD-04, FIELD-09).
type FieldError struct {
	Name    string `json:"name,omitempty"`
	Message string `json:"message"`
}

// Payload describes a refused body without any of its content (GUARD-02).
type Payload struct {
	Bytes int64        `json:"bytes"`
	Limit int64        `json:"limit"`
	Shape PayloadShape `json:"shape"`
}

// PayloadShape is the kind of a refused body, "array", "object" or "text", and
// its size: elements, properties or UTF-16 code units. Count is nil for a
// number, a boolean or null.
type PayloadShape struct {
	Kind  string `json:"kind"`
	Count *int64 `json:"count,omitempty"`
}

func (*Success) envelope()      {}
func (*BackendError) envelope() {}
func (*SDKError) envelope()     {}
