package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/target"
)

func TestSortOut(t *testing.T) {
	// of gives a finding for each member: member<what it follows, member:count.
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
		name          string
		k             fixtures.Case
		late, certain []schemas.Finding
	}{
		{"nothing", deadline, nil, nil},
		{"late", none, of("time"), nil},
		{"another error without a deadline", none, nil, of("error")},
		{"late and wrong", none, of("time"), of("body")},
		{"given up", deadline, of("status", "body<status", "requests:0<status"), nil},
		{"not given up", deadline, of("error", "time"), nil},
		{"nothing got out", deadline, of("requests:0"), nil},
		{"sent twice", deadline, nil, of("requests:2")},
		{"sent twice and given up", deadline, of("status"), of("requests:2<status")},
		{"another call's answer", deadline, nil, of("body")},
		{"two answers that differ", deadline, nil, of("same")},
		{"another message", deadline, nil, of("message")},
		{"no answer", deadline, nil, of("")},
		{"an agent, late", agent, of("outcome", "time"), nil},
		{"an agent, wrong", agent, nil, of("outcome")},
	} {
		late, certain := sortOut(tt.k, append(slices.Clone(tt.late), tt.certain...))
		if diff := cmp.Diff([][]schemas.Finding{tt.late, tt.certain}, [][]schemas.Finding{late, certain}); diff != "" {
			t.Errorf("%s: late and certain (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestFlaky: what goes away at another attempt is forgiven and counted where
// time may be why, and not where it cannot be.
func TestFlaky(t *testing.T) {
	const text = `{"kind":"calls","id":"flaky","description":"d","requirements":["GUARD-07"],"judge":{"requests":"GUARD-07"},"input":{"settings":{"timeoutMs":5000},
		"backend":[{"match":{"path":"/orders/1"},"respond":{"json":{"id":1}}}],
		"calls":[{"invoke":{"name":"get_order","arguments":{"id":1}},"expected":{"status":200,"body":{"id":1}},"requests":1}]}}`
	const late, right = `{"error":"invoke_timeout","message":"m","retryable":true}`, `{"status":200,"body":{"id":1}}`
	for _, tt := range []struct {
		name     string
		first    string // answer
		requests int    // of the first call
		attempts int
		want     []string
	}{
		{"late once", late, 1, 2, nil},
		{"sent twice once", right, 2, 0, []string{"calls GUARD-07 requests"}},
		{"late and sent twice once", late, 2, 2, []string{"calls GUARD-07 requests"}},
	} {
		calls := 0
		f := &fake{features: []string{schemas.FeatureLimits}, invoked: func(ctx context.Context, backend string, _ schemas.InvokeParams) (target.Answer, error) {
			requests, answer := 1, right
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
