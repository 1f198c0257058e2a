package judge

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/target"
)

// exchange is what was exchanged for a case, given as JSON, with this answer.
func exchange(t *testing.T, text, answer string) *Exchange {
	t.Helper()
	k := fixtures.Case{}
	if err := json.Unmarshal([]byte(text), &k.Case); err != nil {
		t.Fatalf("the case %s: %v", text, err)
	}
	k.ID, k.Kind = "a/case", schemas.KindErrorMapping
	return &Exchange{Case: k, Via: schemas.FeatureMap, Answer: target.Answer{Envelope: []byte(answer), Raw: []byte(answer)}}
}

// found gives the findings as "requirement member" and, after an arrow, what
// they follow from.
func found(t *testing.T, x *Exchange) []string {
	t.Helper()
	findings, err := All(x)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range findings {
		if strings.TrimSpace(f.Problem) == "" {
			t.Errorf("the finding %+v says nothing", f)
		}
		s := f.Requirement + " " + f.Member
		if f.Follows != "" {
			s += " <- " + f.Follows
		}
		out = append(out, strings.TrimSpace(s))
	}
	return out
}

const (
	conflict = `{"requirements":["FORWARD-04"],"input":{"status":409,"body":{"message":"taken"}},
		"expected":{"error":"conflict","message":"taken","status":409,"retryable":false}}`
	fields = `{"requirements":["FORWARD-01","MESSAGE-01"],"judge":{"message":"MESSAGE-01"},"input":{"status":400},
		"expected":{"error":"validation_failed","message":"Fix them.","status":400,"retryable":false,"fields":[{"name":"item","message":"is missing"}]}}`
	failure = `{"requirements":["HEADER-04","MESSAGE-01"],"judge":{"message":"MESSAGE-01"},"input":{"status":500},
		"expected":{"error":"backend_error","message":"Failed. Reference: r-7.","status":500,"retryable":false,"reference":"r-7"}}`
	limited = `{"requirements":["HEADER-02"],"input":{"status":429},
		"expected":{"error":"rate_limited","message":"Slow. Retry after 9 seconds.","status":429,"retryable":true,"retryAfterSeconds":9}}`
	success200 = `{"requirements":["SUCCESS-02"],"input":{"status":200},"expected":{"status":200,"body":{"id":1,"total":1.50}}}`
	redirect   = `{"requirements":["SUCCESS-07"],"input":{"status":302},"expected":{"status":302,"location":"/orders/5"}}`
	refusal    = `{"requirements":["SHAPE-05"],"input":{"sdkError":"unknown_tool"},"expected":{"error":"unknown_tool","message":"No.","retryable":false}}`
	partial    = `{"requirements":["SHAPE-07"],"input":{"status":404},"assert":[{"member":"message","is":"prefix","value":"No resource"}]}`
	either     = `{"requirements":["SUCCESS-05"],"input":{"status":200},"expectedAnyOf":[{"status":200},{"status":200,"body":null}]}`
	bad        = `{"requirements":["FORWARD-02"],"input":{"status":400},"expected":{"error":"bad_request","message":"m","status":400,"retryable":false}}`
	elsewhere  = `{"requirements":["FIELD-07"],"input":{"status":403},
		"expected":{"error":"forbidden","message":"m","status":403,"retryable":false,"fields":[{"message":"x"}]}}`
)

func TestFindings(t *testing.T) {
	tests := []struct {
		name, text, answer string
		want               []string
	}{
		{"equal", conflict, `{"error":"conflict","message":"taken","status":409,"retryable":false}`, nil},
		{"another order, layout and spelling", conflict, "\n{ \"retryable\" : false,\"status\":409, \"message\":\"t\\u0061ken\",\"error\":\"conflict\" } ", nil},

		// A member is judged under its own rule, or the case's subject.
		{"code", conflict, `{"error":"forbidden","message":"taken","status":409,"retryable":false}`, []string{"CODE-05 error"}},
		{"message", conflict, `{"error":"conflict","message":"other","status":409,"retryable":false}`, []string{"FORWARD-04 message"}},
		{"retryable", conflict, `{"error":"conflict","message":"taken","status":409,"retryable":true}`, []string{"RETRY-01 retryable"}},
		{"several at once", conflict, `{"error":"conflict","message":"other","status":409,"retryable":true,"reference":"r-9"}`, []string{"FORWARD-04 message", "RETRY-01 retryable", "FORWARD-04 reference"}},
		{"a member too many", conflict, `{"error":"conflict","message":"taken","status":409,"retryable":false,"retryAfterSeconds":1}`, []string{"FORWARD-04 retryAfterSeconds"}},
		{"judged elsewhere", fields, `{"error":"validation_failed","message":"Fix it.","status":400,"retryable":false,"fields":[{"name":"item","message":"is missing"}]}`, []string{"MESSAGE-01 message"}},
		{"order of fields", fields, `{"error":"validation_failed","message":"Fix them.","status":400,"retryable":false,"fields":[{"name":"note","message":"is missing"}]}`, []string{"FORWARD-01 fields"}},
		{"bad_request for validation_failed", fields, `{"error":"bad_request","message":"Fix them.","status":400,"retryable":false,"fields":[{"name":"item","message":"is missing"}]}`, []string{"CODE-01 error"}},
		{"validation_failed for bad_request", bad, `{"error":"validation_failed","message":"m","status":400,"retryable":false}`, []string{"CODE-10 error"}},
		{"fields change a code", elsewhere, `{"error":"validation_failed","message":"m","status":403,"retryable":false,"fields":[{"message":"x"}]}`, []string{"CODE-10 error"}},

		// What only follows from another mismatch goes where that goes.
		{"no fields, so another code and message", fields, `{"error":"bad_request","message":"Check.","status":400,"retryable":false}`, []string{"FORWARD-01 error <- fields", "FORWARD-01 message <- fields", "FORWARD-01 fields"}},
		{"another code, so another message", conflict, `{"error":"forbidden","message":"No.","status":409,"retryable":false}`, []string{"CODE-05 error", "CODE-05 message <- error"}},
		{"no reference, so none in the message", failure, `{"error":"backend_error","message":"Failed.","status":500,"retryable":false}`, []string{"HEADER-04 message <- reference", "HEADER-04 reference"}},
		{"a reference, but not in the message", failure, `{"error":"backend_error","message":"Failed.","status":500,"retryable":false,"reference":"r-7"}`, []string{"MESSAGE-01 message"}},
		{"no seconds, so none in the message", limited, `{"error":"rate_limited","message":"Slow.","status":429,"retryable":true}`, []string{"HEADER-02 message <- retryAfterSeconds", "HEADER-02 retryAfterSeconds"}},
		{"another status, so another answer", conflict, `{"error":"not_found","message":"gone","status":404,"retryable":false}`, []string{"SHAPE-02 error <- status", "SHAPE-02 message <- status", "SHAPE-02 status"}},
		{"another success", redirect, `{"status":200,"body":{"id":5}}`, []string{"SUCCESS-01 status", "SUCCESS-01 location <- status", "SUCCESS-01 body <- status"}},

		// The shapes.
		{"success for an error", conflict, `{"status":200}`, []string{"CODE-05 error"}},
		{"error for a success", success200, `{"error":"not_found","message":"m","status":404,"retryable":false}`, []string{"SUCCESS-01 status"}},
		{"refusal for an error", conflict, `{"error":"conflict","message":"taken","retryable":false}`, []string{"SHAPE-02 status"}},
		{"refusal with a status", refusal, `{"error":"unknown_tool","message":"No.","retryable":false,"status":500}`, []string{"SHAPE-02 status"}},
		{"success without a status", success200, `{"body":{"id":1,"total":1.5}}`, []string{"SHAPE-02 status"}},
		{"unknown member", conflict, `{"error":"conflict","message":"taken","status":409,"retryable":false,"trace":"x"}`, []string{"SHAPE-01 trace"}},
		{"null member", conflict, `{"error":"conflict","message":"taken","status":409,"retryable":false,"fields":null}`, []string{"SHAPE-01 fields"}},
		{"empty list of fields", conflict, `{"error":"conflict","message":"taken","status":409,"retryable":false,"fields":[]}`, []string{"SHAPE-01 fields"}},
		{"flag on success", success200, `{"status":200,"body":{"id":1,"total":1.5},"isError":false}`, []string{"SHAPE-03 isError"}},
		{"flag on error", conflict, `{"error":"conflict","message":"taken","status":409,"retryable":false,"isError":true}`, []string{"SHAPE-03 isError"}},
		{"no error", conflict, `{"message":"taken","status":409,"retryable":false}`, []string{"SHAPE-04 error"}},
		{"no message", conflict, `{"error":"conflict","status":409,"retryable":false}`, []string{"SHAPE-04 message"}},
		{"no retryable", conflict, `{"error":"conflict","message":"taken","status":409}`, []string{"SHAPE-04 retryable"}},
		{"no message on a refusal", refusal, `{"error":"unknown_tool","retryable":false}`, []string{"SHAPE-05 message"}},
		{"a code of nobody's", conflict, `{"error":"rejected","message":"taken","status":409,"retryable":false}`, []string{"SHAPE-06 error"}},
		{"an SDK code on a backend's error", conflict, `{"error":"invalid_type","message":"taken","status":409,"retryable":false}`, []string{"SHAPE-06 error"}},
		{"a backend code on a refusal", refusal, `{"error":"not_found","message":"No.","retryable":false}`, []string{"SHAPE-06 error"}},
		{"blank message", conflict, `{"error":"conflict","message":" \t\n","status":409,"retryable":false}`, []string{"SHAPE-07 message"}},
		{"empty message", conflict, `{"error":"conflict","message":"","status":409,"retryable":false}`, []string{"SHAPE-07 message"}},
		{"message of wide blanks", conflict, `{"error":"conflict","message":"\u3000\u00a0","status":409,"retryable":false}`, []string{"SHAPE-07 message"}},
		{"blank field message", fields, `{"error":"validation_failed","message":"Fix them.","status":400,"retryable":false,"fields":[{"name":"item","message":" "}]}`, []string{"SHAPE-07 fields"}},
		{"field message of wide blanks", fields, `{"error":"validation_failed","message":"Fix them.","status":400,"retryable":false,"fields":[{"name":"item","message":"\u2003"}]}`, []string{"SHAPE-07 fields"}},
		{"empty name", fields, `{"error":"validation_failed","message":"Fix them.","status":400,"retryable":false,"fields":[{"name":"","message":"is missing"}]}`, []string{"FIELD-09 fields"}},
		{"status with a fraction", conflict, `{"error":"conflict","message":"taken","status":409.0,"retryable":false}`, []string{"SHAPE-08 status"}},
		{"status with an exponent", conflict, `{"error":"conflict","message":"taken","status":409e0,"retryable":false}`, []string{"SHAPE-08 status"}},
		{"status as text", conflict, `{"error":"conflict","message":"taken","status":"409","retryable":false}`, []string{"SHAPE-04 status"}},
		{"seconds with a fraction", limited, `{"error":"rate_limited","message":"Slow. Retry after 9 seconds.","status":429,"retryable":true,"retryAfterSeconds":9.0}`, []string{"SHAPE-08 retryAfterSeconds"}},
		{"not UTF-8", conflict, "{\"error\":\"conflict\",\"message\":\"taken\",\"status\":409,\"retryable\":false,\"reference\":\"\xff\"}", []string{"SHAPE-08", "FORWARD-04 reference"}},
		{"no JSON", conflict, `oops`, []string{"SHAPE-01"}},
		{"a list", conflict, `[]`, []string{"SHAPE-01"}},
		{"two objects", conflict, `{"status":200} {}`, []string{"SHAPE-01"}},
		{"a bracket too many", conflict, `{"error":"conflict","message":"taken","status":409,"retryable":false}}`, []string{"SHAPE-01"}},
		{"an endless number", conflict, `{"error":"conflict","message":"taken","status":409,"retryable":false,"x":` + strings.Repeat("1", 1001) + `}`, []string{"SHAPE-01"}},
		{"nothing", conflict, ``, []string{"SHAPE-01"}},

		// Where several answers would do.
		{"the first of two", either, `{"status":200}`, nil},
		{"the second of two", either, `{"status":200,"body":null}`, nil},
		{"neither", either, `{"status":200,"body":""}`, []string{"SUCCESS-05 body"}},

		// A case that claims only part still claims the status.
		{"part", partial, `{"error":"not_found","message":"No resource matched.","status":404,"retryable":false}`, nil},
		{"part wrong", partial, `{"error":"not_found","message":"Gone.","status":404,"retryable":false}`, []string{"SHAPE-07 message"}},
		{"part of another status", partial, `{"error":"not_found","message":"Gone.","status":410,"retryable":false}`, []string{"SHAPE-02 status", "SHAPE-02 message <- status"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, found(t, exchange(t, tt.text, tt.answer))); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAssertions(t *testing.T) {
	const answer = `{"status":200,"body":{"b":1,"a":[1.50]},"location":"/orders/5"}`
	tests := []struct {
		assertion string
		holds     bool
	}{
		{`{"member":"location","is":"equal","value":"/orders/5"}`, true},
		{`{"member":"location","is":"equal","value":"/orders/6"}`, false},
		{`{"member":"body","is":"equal","value":{"a":[1.5],"b":1.0}}`, true},
		{`{"member":"body","is":"identical","value":{"b":1,"a":[1.5]}}`, true},
		{`{"member":"body","is":"identical","value":{"a":[1.5],"b":1}}`, false},
		{`{"member":"location","is":"absent"}`, false},
		{`{"member":"contentType","is":"absent"}`, true},
		{`{"member":"location","is":"present"}`, true},
		{`{"member":"contentType","is":"present"}`, false},
		{`{"member":"contentType","is":"equal","value":"x"}`, false},
		{`{"member":"location","is":"prefix","value":"/orders"}`, true},
		{`{"member":"location","is":"prefix","value":"orders"}`, false},
		{`{"member":"location","is":"contains","value":"ders"}`, true},
		{`{"member":"location","is":"contains","value":"six"}`, false},
		{`{"member":"body","is":"contains","value":"a"}`, false},
		{`{"member":"location","is":"lacks","value":"six"}`, true},
		{`{"member":"location","is":"lacks","value":"5"}`, false},
		{`{"member":"contentType","is":"lacks","value":"5"}`, true},
	}
	for _, tt := range tests {
		text := `{"requirements":["SUCCESS-02"],"input":{"status":200},"assert":[` + tt.assertion + `]}`
		got := found(t, exchange(t, text, answer))
		if holds := len(got) == 0; holds != tt.holds {
			t.Errorf("%s against %s: found %v", tt.assertion, answer, got)
		}
		if !tt.holds && (len(got) != 1 || !strings.HasPrefix(got[0], "SUCCESS-02 ")) {
			t.Errorf("%s: found %v, want one under SUCCESS-02", tt.assertion, got)
		}
	}
}

func TestTime(t *testing.T) {
	const text = `{"requirements":["LEAK-10"],"maxMs":1000,"input":{"status":409},
		"expected":{"error":"conflict","message":"taken","status":409,"retryable":false}}`
	for elapsed, want := range map[time.Duration][]string{
		999 * time.Millisecond: nil, time.Second: nil, 1001 * time.Millisecond: {"LEAK-10 time"},
	} {
		x := exchange(t, text, `{"error":"conflict","message":"taken","status":409,"retryable":false}`)
		x.Elapsed = elapsed
		if diff := cmp.Diff(want, found(t, x)); diff != "" {
			t.Errorf("after %v (-want +got):\n%s", elapsed, diff)
		}
	}
}

// TestInvented: an answer with a status reports a backend that was asked. What
// else is wrong with an invented answer is not listed.
func TestInvented(t *testing.T) {
	right := `{"error":"conflict","message":"taken","status":409,"retryable":false}`
	for _, tt := range []struct {
		name, via, answer string
		requests          int
		want              []string
	}{
		{"asked", "invoke", right, 1, nil},
		{"not asked", "invoke", right, 0, []string{"SHAPE-02 status"}},
		{"not asked, and wrong", "invoke", `{"status":200}`, 0, []string{"SHAPE-02 status"}},
		{"not asked, and said so", "invoke", `{"error":"internal_error","message":"m","retryable":false}`, 0, []string{"SHAPE-02 status"}},
		{"nobody to ask", "map", right, 0, nil},
	} {
		x := exchange(t, conflict, tt.answer)
		x.Via, x.Requests = tt.via, tt.requests
		if diff := cmp.Diff(tt.want, found(t, x)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestNothingToCheck: a judge that checks nothing is a defect, not a pass.
func TestNothingToCheck(t *testing.T) {
	was := judges
	t.Cleanup(func() { judges = was })
	judges = append(judges[:len(judges):len(judges)], judge{"nothing", func(*subject) bool { return true }, func(*subject) (int, []schemas.Finding) { return 0, nil }})
	_, err := All(exchange(t, conflict, `{}`))
	if err == nil || !strings.Contains(err.Error(), "judge of nothing had nothing to check") {
		t.Errorf("a judge that checked nothing: got %v", err)
	}
}

func TestServes(t *testing.T) {
	for text, want := range map[string][]string{
		conflict:   {"FORWARD-04", "CODE-05", "RETRY-01", "SHAPE-02"},
		fields:     {"FORWARD-01", "MESSAGE-01", "CODE-01", "RETRY-01", "SHAPE-02"},
		bad:        {"FORWARD-02", "CODE-10", "RETRY-01", "SHAPE-02"},
		success200: {"SUCCESS-02", "SUCCESS-01"},
		partial:    {"SHAPE-07", "SHAPE-02"},
	} {
		if diff := cmp.Diff(want, Serves(exchange(t, text, "").Case)); diff != "" {
			t.Errorf("what %s serves (-want +got):\n%s", text, diff)
		}
	}
}
