package jsonrpc_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/suite/target"
	"example.com/touchstone/suite/target/jsonrpc"
)

func TestDecodeFaults(t *testing.T) {
	id := int64(4)
	for _, tc := range []struct {
		message string
		fault   target.Fault
		id      *int64
		want    string
	}{
		{"", target.Garbage, nil, "the message is empty"},
		{" \n", target.Garbage, nil, "the message is empty"},
		{"hello", target.Garbage, nil, "invalid character 'h'"},
		{`{"jsonrpc":"2.0"`, target.Garbage, nil, "unexpected end of JSON input"},
		{"{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":\"\xff\"}", target.Garbage, nil, "not UTF-8"},
		{"\xef\xbb\xbf{}", target.Garbage, nil, "invalid character"},
		{strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), target.Garbage, nil, "exceeded max depth"},
		{`{"jsonrpc":"2.0","id":4,"result":{}}{"jsonrpc":"2.0","id":4,"result":{}}`, target.AnsweredTwice, nil, "id 4"},
		{`{"jsonrpc":"2.0","id":4,"result":{}} {"jsonrpc":"2.0","id":5,"result":{}}`, target.Garbage, nil, "2 JSON values"},
		{`{"jsonrpc":"2.0","id":4,"result":{}} trailing`, target.Garbage, nil, "invalid character 't' after top-level value"},
		{`7`, target.BadMessage, nil, "a response is an object"},
		{`null`, target.BadMessage, nil, "a response is an object"},
		{`[{"jsonrpc":"2.0","id":4,"result":{}}]`, target.BadMessage, nil, "batches are not part"},
		{`{"jsonrpc":"2.0","id":4,"method":"map"}`, target.BadMessage, &id, `(method "map")`},
		{`{"jsonrpc":"2.0","id":4}`, target.BadMessage, &id, `either "result" or "error", this one has neither`},
		{`{"jsonrpc":"2.0","id":4,"result":{},"error":null}`, target.BadMessage, &id, `this one has both`},
		{`{"jsonrpc":"2.0","id":4,"error":null}`, target.BadMessage, &id, "/error: Invalid type. Expected: object, given: null"},
		{`{"jsonrpc":"2.0","id":4,"error":"no"}`, target.BadMessage, &id, "/error: Invalid type. Expected: object, given: string"},
		{`{"jsonrpc":"2.0","id":4,"error":{"code":1e30,"message":"x"}}`, target.BadMessage, &id, "/error: "},
		{`{"jsonrpc":"2.0","id":4,"error":{"code":1}}`, target.BadMessage, &id, "/error: message is required"},
		{`{"id":4,"result":{}}`, target.BadMessage, &id, "/: jsonrpc is required"},
		{`{"jsonrpc":"1.0","id":4,"result":{}}`, target.BadMessage, &id, "/jsonrpc: "},
		{`{"jsonrpc":"2.0","id":4,"result":{},"extra":1}`, target.BadMessage, &id, "/: Additional property extra is not allowed"},
		{`{"jsonrpc":"2.0","ID":4,"result":{}}`, target.BadMessage, nil, "id is required"},
		{`{"jsonrpc":"2.0","result":{}}`, target.BadMessage, nil, "id is required"},
		{`{"jsonrpc":"2.0","id":"4","result":{}}`, target.BadMessage, nil, "/id: Invalid type. Expected: [integer,null], given: string"},
		{`{"jsonrpc":"2.0","id":4.0,"result":{}}`, target.BadMessage, nil, "its id is 4.0"},
		{`{"jsonrpc":"2.0","id":99999999999999999999,"result":{}}`, target.BadMessage, nil, "its id is 99999999999999999999"},
		{`{"jsonrpc":"2.0","id":null,"result":{}}`, target.BadMessage, nil, "its id is null"},
		{`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"cannot \u001b parse"}}`, target.BadMessage, nil, `the error it reports is -32700: cannot \x1b parse`},
	} {
		m, err := jsonrpc.Decode([]byte(tc.message))
		fault, ok := errors.AsType[*target.ProtocolError](err)
		if !ok || fault.Fault != tc.fault || !strings.Contains(fault.Detail, tc.want) {
			t.Errorf("%.80q: got %v, want the fault %q with %q", tc.message, err, tc.fault, tc.want)
			continue
		}
		if want := target.Excerpt([]byte(tc.message)); fault.Received != want {
			t.Errorf("%.80q: received %q", tc.message, fault.Received)
		}
		if diff := cmp.Diff(tc.id, m.Response.ID); diff != "" {
			t.Errorf("%.80q: id (-want +got):\n%s", tc.message, diff)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"jsonrpc":"2.0","id":1,"result":{"text":"{}"}}`, `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}`, `[]`, `{}{}`, "\xff", `{"id":1e999999999}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		m, err := jsonrpc.Decode(message)
		if err == nil && (m.Response.ID == nil || (m.Response.Result == nil) == (m.Response.Error == nil)) {
			t.Errorf("%q was read as %+v", message, m.Response)
		}
		if _, ok := errors.AsType[*target.ProtocolError](err); err != nil && !ok {
			t.Errorf("%q gives the error %v", message, err)
		}
		if !bytes.Equal(m.Raw, message) {
			t.Errorf("%q was kept as %q", message, m.Raw)
		}
	})
}
