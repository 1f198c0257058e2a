package envelope_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/schemas"
)

// The texts that the contract pins, once more by hand.
const (
	validation   = "The backend rejected one or more arguments. Fix the listed fields and call the operation again."
	badRequest   = "The backend rejected the request (400) without usable details. Check the arguments against the input schema."
	unauthorised = "The backend did not accept the caller's identity (401). The MCP session's credentials were forwarded unchanged; retrying with the same session will not help."
	forbidden    = "The caller is authenticated but not permitted to perform this operation (403)."
	notFound     = "No resource matched these arguments (404). The operation exists; check identifier arguments."
	conflict     = "The request conflicts with the current state of the resource (409). Re-read the resource before retrying."
	failed       = "The backend failed while handling the call (500). Details were withheld."
	withheld     = "The value was rejected; details were withheld."
)

// leaky trips the filter by a rule that white space does not matter to.
const leaky = "cannot open /etc/shop.conf"

func response(status int, contentType, body string) envelope.Response {
	resp := envelope.Response{Status: status, Header: http.Header{}, Body: []byte(body)}
	if contentType != "" {
		resp.Header.Set("Content-Type", contentType)
	}
	return resp
}

func mapped(t *testing.T, m *envelope.Mapper, resp envelope.Response, fields schemas.FieldContext) schemas.Envelope {
	t.Helper()
	e := m.Map(resp, envelope.NewFieldContext(fields))
	valid(t, e)
	return e
}

// valid checks that an envelope fits the schema of its shape.
func valid(t interface {
	Helper()
	Errorf(string, ...any)
}, e schemas.Envelope) {
	t.Helper()
	ref := schemas.SDKErrorSchema
	switch e.(type) {
	case *schemas.Success:
		ref = schemas.SuccessSchema
	case *schemas.BackendError:
		ref = schemas.BackendErrorSchema
	}
	data, err := envelope.Encode(e)
	if err != nil {
		t.Errorf("%v", err)
		return
	}
	if err := schemas.Check(ref, data); err != nil {
		t.Errorf("%s is not valid: %v", data, err)
	}
}

// message maps an error and gives its message.
func message(t *testing.T, m *envelope.Mapper, resp envelope.Response) string {
	t.Helper()
	return mapped(t, m, resp, schemas.FieldContext{}).(*schemas.BackendError).Message
}

func equal(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(text)
}
