package engine

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/mockbackend"
	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/judge"
)

// createFields are the names that create_order publishes: a case about field
// names can go over the wire when it is about exactly these.
var createFields = []string{"item", "note", "quantity"}

// waysOf gives the ways a case can be run at all.
func waysOf(k fixtures.Case) []string {
	in, err := k.Facts()
	if err != nil {
		return nil
	}
	if in.SDKError != "" {
		return []string{schemas.FeatureRefuse}
	}
	ways := []string{schemas.FeatureMap}
	if onTheWire(in) {
		ways = append(ways, schemas.FeatureInvoke)
	}
	if len(k.Via) > 0 {
		ways = slices.DeleteFunc(ways, func(way string) bool { return !slices.Contains(k.Via, way) })
	}
	return ways
}

// onTheWire says whether the mock backend can play the case: some inputs exist
// only for a mapper, such as a host's own names and recognisers, or an answer
// with a status that HTTP gives no body.
func onTheWire(in schemas.Input) bool {
	if in.Host != nil || len(in.Aliases) > 0 || len(in.Hidden) > 0 || in.Status < 200 {
		return false
	}
	if in.ContentType != nil && *in.ContentType == "" {
		return false
	}
	bodyless := in.Status == 204 || in.Status == 205 || in.Status == 304
	if bodyless && len(bodyOf(in)) > 0 {
		return false
	}
	return len(in.KnownFields) == 0 || publishesOrder(in)
}

func publishesOrder(in schemas.Input) bool {
	names := slices.Clone(in.KnownFields)
	slices.Sort(names)
	return slices.Equal(names, createFields)
}

// bodyOf gives the bytes of a backend's body.
func bodyOf(in schemas.Input) []byte {
	switch {
	case in.BodyBase64 != "":
		body, err := base64.StdEncoding.DecodeString(in.BodyBase64)
		if err != nil {
			return []byte(in.BodyBase64) // the schema lets no other text pass
		}
		return body
	case in.BodyRepeat != nil:
		r := in.BodyRepeat
		var out bytes.Buffer
		out.WriteString(r.Prefix)
		out.WriteString(strings.Repeat(r.Unit, r.Bytes/len(r.Unit)+1)[:r.Bytes])
		out.WriteString(r.Suffix)
		return out.Bytes()
	case in.Body == nil:
		return nil
	}
	var text string
	if json.Unmarshal(in.Body, &text) == nil {
		return []byte(text)
	}
	var out bytes.Buffer
	if json.Compact(&out, in.Body) != nil {
		return in.Body
	}
	return out.Bytes()
}

// headersOf gives the backend's headers with the content type first.
func headersOf(in schemas.Input) [][2]string {
	headers := make([][2]string, 0, len(in.Headers)+1)
	if in.ContentType != nil {
		headers = append(headers, [2]string{"Content-Type", *in.ContentType})
	}
	return append(headers, in.Headers...)
}

func mapParams(in schemas.Input) schemas.MapParams {
	params := schemas.MapParams{
		Response:       schemas.BackendResponse{Status: in.Status, Headers: headersOf(in)},
		HostRecognises: in.Host,
	}
	if body := bodyOf(in); utf8.Valid(body) {
		params.Response.Body = string(body)
	} else {
		params.Response.BodyBase64 = base64.StdEncoding.EncodeToString(body)
	}
	if len(in.KnownFields) > 0 || len(in.Aliases) > 0 || len(in.Hidden) > 0 {
		params.Fields = &schemas.FieldContext{Known: in.KnownFields, Aliases: in.Aliases, Hidden: in.Hidden}
	}
	return params
}

func refuseParams(in schemas.Input) schemas.RefuseParams {
	return schemas.RefuseParams{
		Error: in.SDKError, Message: in.Message, Tool: in.Tool, Field: in.Field, Reason: in.Reason,
		LimitMs: in.LimitMs, Bytes: in.Bytes, Limit: in.Limit, Payload: in.Payload, Narrowing: in.Narrowing,
	}
}

// overTheWire programs the mock backend with the case's answer at an order
// nobody else asks for, has the target call the operation, and reads the
// journal.
func (e *Engine) overTheWire(ctx context.Context, in schemas.Input, x *judge.Exchange) error {
	id := e.order.Add(1)
	match := schemas.StubMatch{Method: "GET", Path: fmt.Sprintf("/orders/%d", id)}
	params := schemas.InvokeParams{Name: "get_order", Arguments: json.RawMessage(fmt.Sprintf(`{"id":%d}`, id))}
	if len(in.KnownFields) > 0 {
		item := fmt.Sprintf("order-%d", id)
		match = schemas.StubMatch{Method: "POST", Path: "/orders", Body: &schemas.StubBodyMatch{Subset: json.RawMessage(fmt.Sprintf(`{"item":%q}`, item))}}
		params = schemas.InvokeParams{Name: "create_order", Arguments: json.RawMessage(fmt.Sprintf(`{"item":%q,"quantity":1}`, item))}
	}
	stub, err := e.backend.Add(schemas.Stub{Match: match, Respond: respondWith(in)})
	if err != nil {
		return fmt.Errorf("programming the mock backend: %w", err)
	}
	defer e.backend.Remove(stub)
	x.Answer, err = e.target.Invoke(ctx, params)
	x.Requests = len(e.backend.Journal().Entries(mockbackend.Filter{Stub: stub}))
	return err
}

func respondWith(in schemas.Input) *schemas.StubResponse {
	r := &schemas.StubResponse{Status: in.Status, Bytes: bodyOf(in)}
	for _, h := range headersOf(in) {
		r.Headers = append(r.Headers, schemas.StubHeader{Name: h[0], Value: h[1]})
	}
	if in.ContentType == nil {
		r.Omit = append(r.Omit, "Content-Type")
	}
	for _, status := range in.Interim {
		r.Interim = append(r.Interim, schemas.StubInterim{Status: status})
	}
	return r
}
