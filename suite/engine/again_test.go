package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/target"
)

func TestMayBeLate(t *testing.T) {
	of := func(members ...string) (list []schemas.Finding) {
		for _, m := range members {
			name, follows, _ := strings.Cut(m, "<")
			f := schemas.Finding{Member: name, Follows: follows, Problem: "p"}
			if count, got, is := strings.Cut(name, ":"); is {
				f.Member, f.Expected, f.Actual = count, json.RawMessage("1"), json.RawMessage(got)
			}
			list = append(list, f)
		}
		return list
	}
	kase := func(kind, input string) (k fixtures.Case) {
		k.Kind, k.Input = kind, json.RawMessage(input)
		return k
	}
	deadline := kase(schemas.KindCalls, `{"settings":{"timeoutMs":200},"calls":[]}`)
	none := kase(schemas.KindCalls, `{"settings":{"maxResponseBytes":200},"calls":[]}`)
	agent := kase(schemas.KindAgent, `{}`)
	for _, tt := range []struct {
		name     string
		k        fixtures.Case
		findings []schemas.Finding
		want     bool
	}{
		{"nothing", deadline, nil, false},
		{"late", none, of("time"), true},
		{"another error without a deadline", none, of("error"), false},
		{"late and wrong", none, of("time", "body"), false},
		{"given up", deadline, of("status", "body<status", "requests:0<status"), true},
		{"not given up", deadline, of("error", "time"), true},
		{"nothing got out", deadline, of("requests:0"), true},
		{"sent twice", deadline, of("requests:2"), false},
		{"sent twice and given up", deadline, of("status", "requests:2<status"), false},
		{"another call's answer", deadline, of("body"), false},
		{"two answers that differ", deadline, of("same"), false},
		{"another message", deadline, of("message"), false},
		{"no answer", deadline, of(""), false},
		{"an agent, late", agent, of("outcome", "time"), true},
		{"an agent, wrong", agent, of("outcome"), false},
	} {
		if got := mayBeLate(tt.k, tt.findings); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestFlaky: what goes away at another attempt is forgiven and counted where
// time may be why, and not where it cannot be.
func TestFlaky(t *testing.T) {
	const text = `{"kind":"calls","id":"flaky","description":"d","requirements":["GUARD-07"],"judge":{"requests":"GUARD-07"},"input":{"settings":{"timeoutMs":5000},
		"backend":[{"match":{"path":"/orders/1"},"respond":{"json":{"id":1}}}],
		"calls":[{"invoke":{"name":"get_order","arguments":{"id":1}},"expected":{"status":200,"body":{"id":1}},"requests":1}]}}`
	for _, tt := range []struct {
		name     string
		first    string // answer
		requests int    // of the first call
		attempts int
		want     []string
	}{
		{"late once", `{"error":"invoke_timeout","message":"m","retryable":true}`, 1, 2, nil},
		{"sent twice once", `{"status":200,"body":{"id":1}}`, 2, 0, []string{"calls GUARD-07 requests"}},
	} {
		calls := 0
		f := &fake{features: []string{schemas.FeatureLimits}, invoked: func(ctx context.Context, backend string, _ schemas.InvokeParams) (target.Answer, error) {
			requests, answer := 1, `{"status":200,"body":{"id":1}}`
			if calls++; calls == 1 {
				requests, answer = tt.requests, tt.first
			}
			for range requests {
				if status, body, err := ask(ctx, backend+"/orders/1"); err != nil || status != http.StatusOK {
					return target.Answer{}, fmt.Errorf("%d %s: %w", status, body, err)
				}
			}
			return answered(answer)
		}}
		e, corpus := newEngine(t, f, Options{}, text)
		result := run(t, e, corpus, "flaky")
		if diff := cmp.Diff(tt.want, placed(result)); diff != "" || result.Runs[0].Attempts != tt.attempts {
			t.Errorf("%s: after %d attempts (-want +got):\n%s", tt.name, result.Runs[0].Attempts, diff)
		}
	}
}
