package engine

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/target"
)

// Cases about a plain text that is forwarded, one about a benign text that
// needs that, and one about that text in another status.
const (
	plainCase = `{"id":"plain","description":"d","requirements":["FORWARD-05"],"input":{"status":400,"contentType":"text/plain","body":"Lane closed."},
		"expected":{"error":"bad_request","message":"Lane closed.","status":400,"retryable":false}}`
	benignCase = `{"id":"benign","description":"d","requirements":["LEAK-09"],"controls":["plain"],"input":{"status":400,"contentType":"text/plain","body":"an exception was made"},
		"expected":{"error":"bad_request","message":"an exception was made","status":400,"retryable":false}}`
	deeperCase = `{"id":"deeper","description":"d","requirements":["FORWARD-11"],"controls":["benign"],"input":{"status":400,"contentType":"text/plain","body":"an exception wás made"},
		"expected":{"error":"bad_request","message":"an exception wás made","status":400,"retryable":false}}`
	standard = "The backend rejected the request."
)

// forwarding is a target that forwards what passes its filter.
func forwarding(passes func(text string) bool) *fake {
	return &fake{mapped: func(_ context.Context, params schemas.MapParams) (target.Answer, error) {
		if text := params.Response.Body; passes(text) {
			return failed("bad_request", text)
		}
		return failed("bad_request", standard)
	}}
}

// TestControl: a mismatch that a control shares is placed where the control's is.
func TestControl(t *testing.T) {
	for _, tt := range []struct {
		name   string
		passes func(text string) bool
		want   map[string][]string
	}{
		{"right", func(string) bool { return true }, map[string][]string{"plain": nil, "benign": nil, "deeper": nil}},
		{"an over-eager filter", func(text string) bool { return !strings.Contains(text, "exception") }, map[string][]string{
			"plain": nil, "benign": {"map LEAK-09 message"}, "deeper": {"map LEAK-09 message (benign)"},
		}},
		{"no plain text forwarded", func(string) bool { return false }, map[string][]string{
			"plain": {"map FORWARD-05 message"}, "benign": {"map FORWARD-05 message (plain)"}, "deeper": {"map FORWARD-05 message (benign)"},
		}},
		{"nothing beyond ASCII", func(text string) bool { return !strings.Contains(text, "á") }, map[string][]string{
			"plain": nil, "benign": nil, "deeper": {"map FORWARD-11 message"},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, corpus := newEngine(t, forwarding(tt.passes), Options{}, plainCase, benignCase, deeperCase)
			for id, want := range tt.want {
				if diff := cmp.Diff(want, placed(run(t, e, corpus, id))); diff != "" {
					t.Errorf("findings of %s (-want +got):\n%s", id, diff)
				}
			}
		})
	}
}

// TestControlMember: a control that fails on another member explains nothing.
func TestControlMember(t *testing.T) {
	f := &fake{mapped: func(_ context.Context, params schemas.MapParams) (target.Answer, error) {
		if params.Response.Body == "Lane closed." {
			return answered(`{"error":"bad_request","message":"Lane closed.","status":400,"retryable":true}`)
		}
		return failed("bad_request", standard)
	}}
	e, corpus := newEngine(t, f, Options{}, plainCase, benignCase)
	if diff := cmp.Diff([]string{"map LEAK-09 message"}, placed(run(t, e, corpus, "benign"))); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// TestControlRunsOnce: controls run after a failure only, and once.
func TestControlRunsOnce(t *testing.T) {
	f := forwarding(func(text string) bool { return !strings.Contains(text, "exception") })
	e, corpus := newEngine(t, f, Options{}, plainCase, benignCase, deeperCase)
	run(t, e, corpus, "plain")
	if n := f.asked("Lane closed."); n != 1 {
		t.Errorf("before any failure the control was asked %d times, want the case itself", n)
	}
	for range 3 {
		run(t, e, corpus, "benign")
		run(t, e, corpus, "deeper")
	}
	if n := f.asked("Lane closed."); n != 2 {
		t.Errorf("the control was asked %d times, want once for the case and once as a control", n)
	}
}

// TestFollowersGoAlong: what only follows from a member goes where a control
// sends that member, also where the control says nothing of the follower.
func TestFollowersGoAlong(t *testing.T) {
	const (
		dictionary = `{"id":"dictionary","description":"d","requirements":["FORWARD-01"],"input":{"status":403,"contentType":"application/json","body":{"errors":{"a":["x"]}}},
			"expected":{"error":"forbidden","message":"The caller is authenticated but not permitted to perform this operation (403).","status":403,"retryable":false,"fields":[{"name":"a","message":"x"}]}}`
		validation = `{"id":"validation","description":"d","requirements":["CODE-01"],"controls":["dictionary"],"input":{"status":400,"contentType":"application/json","body":{"errors":{"a":["x"]}}},
			"expected":{"error":"validation_failed","message":"Fix them.","status":400,"retryable":false,"fields":[{"name":"a","message":"x"}]}}`
	)
	f := &fake{mapped: func(_ context.Context, params schemas.MapParams) (target.Answer, error) {
		if params.Response.Status == 403 {
			return answered(`{"error":"forbidden","message":"The caller is authenticated but not permitted to perform this operation (403).","status":403,"retryable":false}`)
		}
		return failed("bad_request", standard)
	}}
	e, corpus := newEngine(t, f, Options{}, dictionary, validation)
	want := []string{"map FORWARD-01 error (dictionary)", "map FORWARD-01 message (dictionary)", "map FORWARD-01 fields (dictionary)"}
	if diff := cmp.Diff(want, placed(run(t, e, corpus, "validation"))); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// TestControlBreaks: a target that breaks while a control runs has broken.
func TestControlBreaks(t *testing.T) {
	f := &fake{mapped: func(_ context.Context, params schemas.MapParams) (target.Answer, error) {
		if params.Response.Body == "Lane closed." {
			return target.Answer{}, &target.ProtocolError{Fault: target.Died, Method: "map"}
		}
		return failed("bad_request", standard)
	}}
	e, corpus := newEngine(t, f, Options{}, plainCase, benignCase)
	k, _ := corpus.Case("benign")
	_, err := e.Run(t.Context(), k)
	var broken *BrokenError
	if !errors.As(err, &broken) || !strings.Contains(err.Error(), "case plain via map") {
		t.Errorf("got %v, want a BrokenError about the control", err)
	}
}
