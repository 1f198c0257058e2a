package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/judge"
	"example.com/touchstone/suite/target"
)

// plainCases gives n cases plain0, plain1 and so on.
func plainCases(n int) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = strings.Replace(plainCase, `"plain"`, fmt.Sprintf(`"plain%d"`, i), 1)
	}
	return texts
}

// TestSilent: a target that does not answer fails its cases, and has broken with
// the third in a row if it does not describe itself any more.
func TestSilent(t *testing.T) {
	texts := plainCases(4)
	for _, gone := range []bool{false, true} {
		f := &fake{mapped: silent}
		e, corpus := newEngine(t, f, Options{CallTimeout: callTimeout}, texts...)
		f.gone = gone
		for i := range texts {
			k, _ := corpus.Case(fmt.Sprintf("plain%d", i))
			result, err := e.Run(t.Context(), k)
			if i == 2 && gone {
				var broken *BrokenError
				if !errors.As(err, &broken) || !strings.Contains(err.Error(), "like the 2 cases before it") {
					t.Errorf("the third case: got %v, want a BrokenError", err)
				}
				if result.Status != schemas.NotRun {
					t.Errorf("the third case is %q, want not run", result.Status)
				}
				break
			}
			if err != nil || result.Status != schemas.Fail || len(result.Runs) != 1 || len(result.Runs[0].Findings) != 1 || result.Runs[0].Attempts != 0 {
				t.Fatalf("case %d: got %+v, %v, want one finding at the first attempt", i+1, result, err)
			}
			one := result.Runs[0].Findings[0]
			if one.Requirement != "FORWARD-05" || !strings.Contains(one.Problem, "no answer within 50ms") {
				t.Errorf("case %d: the finding is %+v", i+1, one)
			}
		}
	}
}

// TestSilentNow: an answer in between, even a refusal to answer, starts the
// count anew.
func TestSilentNow(t *testing.T) {
	calls := 0
	f := &fake{mapped: func(ctx context.Context, params schemas.MapParams) (target.Answer, error) {
		switch calls++; calls {
		case 3:
			return failed("bad_request", "Lane closed.")
		case 6:
			return target.Answer{}, &target.RPCError{Method: "map", Object: schemas.RPCError{Code: -32603, Message: "no"}}
		}
		return silent(ctx, params)
	}}
	e, corpus := newEngine(t, f, Options{CallTimeout: callTimeout}, plainCases(8)...)
	f.gone = true
	for i := range 8 {
		run(t, e, corpus, fmt.Sprintf("plain%d", i)) // fails the test where the engine gives up
	}
}

// TestRPCError: a JSON-RPC error object is an answer, and a wrong one.
func TestRPCError(t *testing.T) {
	f := &fake{mapped: func(context.Context, schemas.MapParams) (target.Answer, error) {
		return target.Answer{}, fmt.Errorf("map: %w", &target.RPCError{Method: "map", Object: schemas.RPCError{Code: -32603, Message: "null pointer"}})
	}}
	e, corpus := newEngine(t, f, Options{}, plainCase, benignCase)
	for id, want := range map[string]string{"plain": "FORWARD-05", "benign": "LEAK-09"} {
		result := run(t, e, corpus, id)
		f := result.Runs[0].Findings[0]
		if result.Status != schemas.Fail || f.Requirement != want || !strings.Contains(f.Problem, "null pointer") {
			t.Errorf("%s: got %q and %+v, want a finding under %s that quotes the error", id, result.Status, f, want)
		}
	}
}

// TestBroken: a target that breaks the protocol, or a defect of the suite, ends
// the run.
func TestBroken(t *testing.T) {
	for _, tt := range []struct {
		name  string
		err   error
		broke bool
	}{
		{"protocol", &target.ProtocolError{Fault: target.Garbage, Received: "Hello!"}, true},
		{"anything else", errors.New("not implemented"), false},
	} {
		f := &fake{mapped: func(context.Context, schemas.MapParams) (target.Answer, error) { return target.Answer{}, tt.err }}
		e, corpus := newEngine(t, f, Options{}, plainCase)
		k, _ := corpus.Case("plain")
		_, err := e.Run(t.Context(), k)
		var broken *BrokenError
		if errors.As(err, &broken) != tt.broke || !errors.Is(err, tt.err) || !strings.Contains(err.Error(), "case plain via map") {
			t.Errorf("%s: got %v; a BrokenError: %v", tt.name, err, tt.broke)
		}
	}
}

// TestCancelled: the caller's context ends the run, and is nobody's fault.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := &fake{mapped: func(ctx context.Context, params schemas.MapParams) (target.Answer, error) {
		cancel()
		return silent(ctx, params)
	}}
	e, corpus := newEngine(t, f, Options{}, plainCase)
	k, _ := corpus.Case("plain")
	result, err := e.Run(ctx, k)
	var broken *BrokenError
	if !errors.Is(err, context.Canceled) || errors.As(err, &broken) || result.Status != schemas.NotRun {
		t.Errorf("got %q and %v, want not run and the context's error", result.Status, err)
	}
}

// TestCanaries: each run has a token of its own, in every place the case has,
// that needs no escape in JSON, in a URL, in a header or in HTML.
func TestCanaries(t *testing.T) {
	const secret = `{"id":"secret","description":"d","requirements":["LEAK-03"],"judge":{"canary":"LEAK-03"},
		"input":{"status":400,"contentType":"application/json","headers":{"X-Request-Id":"${canary}"},"body":{"message":"in /home/${canary}/x","detail":"${canary}"}},
		"expected":{"error":"bad_request","message":"` + standard + `","status":400,"retryable":false}}`
	seen := map[string]bool{}
	shape := regexp.MustCompile(`^[a-z][a-z0-9]{20,40}$`)
	leak := false
	f := &fake{mapped: func(_ context.Context, params schemas.MapParams) (target.Answer, error) {
		var body struct{ Message, Detail string }
		if err := json.Unmarshal([]byte(params.Response.Body), &body); err != nil {
			t.Error(err)
		}
		token := body.Detail
		if header := params.Response.Headers[1][1]; !shape.MatchString(token) || seen[token] || header != token || body.Message != "in /home/"+token+"/x" {
			t.Errorf("the tokens are %q, %q and %q", token, header, body.Message)
		}
		seen[token] = true
		if leak {
			return failed("bad_request", body.Message)
		}
		return failed("bad_request", standard)
	}}
	e, corpus := newEngine(t, f, Options{}, secret)
	for range 5 {
		if got := placed(run(t, e, corpus, "secret")); got != nil {
			t.Errorf("a message that holds nothing back: %v", got)
		}
	}
	leak = true
	want := []string{"map LEAK-03 message", "map LEAK-03 canary"}
	if diff := cmp.Diff(want, placed(run(t, e, corpus, "secret"))); diff != "" {
		t.Errorf("findings of a leak (-want +got):\n%s", diff)
	}
	if len(seen) != 6 {
		t.Errorf("%d tokens in 6 runs", len(seen))
	}
	k, _ := corpus.Case("secret")
	if !strings.Contains(string(k.Input), "${canary}") {
		t.Error("the corpus was changed")
	}
}

// TestApplicable: a case is run in the ways that the target claims and the case
// allows, and not run at all with a reason.
func TestApplicable(t *testing.T) {
	const (
		hosted  = `{"id":"hosted","description":"d","requirements":["LEAK-08"],"needs":["host-recognisers"],"input":{"status":400,"hostRecognises":{"message":"m"}},"assert":[{"member":"message","is":"present"}]}`
		refused = `{"id":"refused","description":"d","requirements":["SHAPE-05"],"input":{"sdkError":"internal_error"},"assert":[{"member":"message","is":"present"}]}`
		interim = `{"id":"interim","description":"d","requirements":["SUCCESS-01"],"via":["invoke"],"input":{"status":200,"interim":[103]},"expected":{"status":200}}`
		empty   = `{"id":"empty-type","description":"d","requirements":["SHAPE-01"],"input":{"status":200,"contentType":""},"assert":[{"member":"status","is":"present"}]}`
		foreign = `{"id":"foreign-names","description":"d","requirements":["FIELD-02"],"input":{"status":400,"knownFields":["keyword"]},"assert":[{"member":"status","is":"present"}]}`
		ours    = `{"id":"our-names","description":"d","requirements":["FIELD-02"],"input":{"status":400,"knownFields":["note","item","quantity"]},"assert":[{"member":"status","is":"present"}]}`
	)
	mapped := func(context.Context, schemas.MapParams) (target.Answer, error) { return answered(`{}`) }
	invoked := func(context.Context, string, schemas.InvokeParams) (target.Answer, error) { return answered(`{}`) }
	both := []string{schemas.FeatureMap, schemas.FeatureInvoke}
	only := []string{schemas.FeatureMap}
	for _, tt := range []struct {
		id      string
		f       *fake
		options Options
		want    []string
		reason  string
	}{
		{"plain", &fake{mapped: mapped, invoked: invoked}, Options{}, both, ""},
		{"plain", &fake{mapped: mapped, invoked: invoked}, Options{WithoutInvoke: true}, only, ""},
		{"plain", &fake{mapped: mapped}, Options{}, only, ""},
		{"plain", &fake{features: []string{"refuse"}}, Options{}, nil, `needs the feature "map" or "invoke"`},
		{"hosted", &fake{mapped: mapped}, Options{}, nil, `needs the feature "host-recognisers"`},
		{"hosted", &fake{mapped: mapped, invoked: invoked, features: []string{"host-recognisers"}}, Options{}, only, ""},
		{"refused", &fake{mapped: mapped}, Options{}, nil, `needs the feature "refuse"`},
		{"refused", &fake{mapped: mapped, features: []string{"refuse"}}, Options{}, []string{schemas.FeatureRefuse}, ""},
		{"interim", &fake{mapped: mapped}, Options{}, nil, `needs the feature "invoke"`},
		{"interim", &fake{mapped: mapped, invoked: invoked}, Options{}, []string{schemas.FeatureInvoke}, ""},
		{"empty-type", &fake{mapped: mapped, invoked: invoked}, Options{}, only, ""},
		{"foreign-names", &fake{mapped: mapped, invoked: invoked}, Options{}, only, ""},
		{"our-names", &fake{mapped: mapped, invoked: invoked}, Options{}, both, ""},
	} {
		e, corpus := newEngine(t, tt.f, tt.options, plainCase, hosted, refused, interim, empty, foreign, ours)
		k, _ := corpus.Case(tt.id)
		ways, reason := e.Applicable(k)
		if diff := cmp.Diff(tt.want, ways); diff != "" || !strings.Contains(reason, tt.reason) {
			t.Errorf("%s: the reason is %q, the ways (-want +got):\n%s", tt.id, reason, diff)
		}
		if tt.want == nil {
			if result := run(t, e, corpus, tt.id); result.Status != schemas.NotApplicable || result.Reason != reason || len(result.Runs) > 0 {
				t.Errorf("%s: got %+v, want not applicable", tt.id, result)
			}
		}
	}
}

// TestOverTheWire: the mock backend plays the case's answer, and its journal
// tells a target that asked from one that did not.
func TestOverTheWire(t *testing.T) {
	const wire = `{"id":"wire","description":"d","requirements":["FORWARD-05"],"input":{"status":418,"contentType":"text/plain","body":"short and stout"},
		"expected":{"error":"bad_request","message":"short and stout","status":418,"retryable":false}}`
	const right = `{"error":"bad_request","message":"short and stout","status":418,"retryable":false}`
	asks := func(ctx context.Context, backend string, params schemas.InvokeParams) (target.Answer, error) {
		var args struct{ ID int64 }
		if err := json.Unmarshal(params.Arguments, &args); err != nil || params.Name != "get_order" {
			t.Errorf("asked to invoke %s with %s", params.Name, params.Arguments)
		}
		status, body, err := ask(ctx, fmt.Sprintf("%s/orders/%d", backend, args.ID))
		if err != nil {
			return target.Answer{}, err
		}
		return answered(fmt.Sprintf(`{"error":"bad_request","message":%q,"status":%d,"retryable":false}`, body, status))
	}
	for _, tt := range []struct {
		name    string
		invoked func(context.Context, string, schemas.InvokeParams) (target.Answer, error)
		want    []string
	}{
		{"asks", asks, nil},
		{"invents the right answer", func(context.Context, string, schemas.InvokeParams) (target.Answer, error) { return answered(right) }, []string{"invoke SHAPE-02 status"}},
		{"asks for another order", func(ctx context.Context, backend string, _ schemas.InvokeParams) (target.Answer, error) {
			if _, _, err := ask(ctx, backend+"/orders/1"); err != nil {
				return target.Answer{}, err
			}
			return answered(right)
		}, []string{"invoke SHAPE-02 status"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, corpus := newEngine(t, &fake{invoked: tt.invoked}, Options{}, wire)
			for range 2 { // each run has an order of its own
				if diff := cmp.Diff(tt.want, placed(run(t, e, corpus, "wire"))); diff != "" {
					t.Errorf("findings (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// TestLevels: the status of a case is that of the worst of its findings.
func TestLevels(t *testing.T) {
	const (
		should   = `{"id":"should","description":"d","requirements":["FORWARD-14"],"input":{"status":400},"expected":{"error":"bad_request","message":"x","status":400,"retryable":false}}`
		must     = `{"id":"must","description":"d","requirements":["FORWARD-05"],"input":{"status":400},"expected":{"error":"bad_request","message":"x","status":400,"retryable":false}}`
		observed = `{"id":"observed","description":"d","requirements":["LEAK-11"],"input":{"status":400,"body":{"message":"key ${canary}"}},"observe":true}`
	)
	f := &fake{mapped: func(context.Context, schemas.MapParams) (target.Answer, error) {
		return failed("bad_request", standard)
	}}
	e, corpus := newEngine(t, f, Options{}, should, must, observed)
	for id, want := range map[string]schemas.Status{"should": schemas.Warn, "must": schemas.Fail, "observed": schemas.Informed} {
		result := run(t, e, corpus, id)
		if result.Status != want {
			t.Errorf("%s: %q, want %q", id, result.Status, want)
		}
		if id == "observed" && result.Runs[0].Observation != "withheld" {
			t.Errorf("observed %q, want withheld", result.Runs[0].Observation)
		}
	}
}

// TestOtherJudge: an engine judges with what it is given, calls too.
func TestOtherJudge(t *testing.T) {
	judged := 0
	options := Options{Judge: func(x *judge.Exchange) ([]schemas.Finding, error) {
		judged++
		return judge.All(x)
	}}
	f := forwarding(func(string) bool { return true })
	f.invoked = func(context.Context, string, schemas.InvokeParams) (target.Answer, error) {
		return answered(`{"status":200,"body":{}}`)
	}
	options.WithoutInvoke = true
	e, corpus := newEngine(t, f, options, plainCase, `{"kind":"calls","id":"one","description":"d","requirements":["SDK-01"],
		"input":{"calls":[{"invoke":{"name":"get_order","arguments":{}},"expected":{"status":200,"body":{}}}]}}`)
	for i, id := range []string{"plain", "one"} {
		if run(t, e, corpus, id); judged != i+1 {
			t.Errorf("after %s the judge was asked %d times, want %d", id, judged, i+1)
		}
	}
}
