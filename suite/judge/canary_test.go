package judge

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const token = "ca2zqh7w4mxk5dtrvb3ynpfs6g"

// leaking is an exchange whose canary must not come through.
func leaking(t *testing.T, answer string) *Exchange {
	t.Helper()
	x := exchange(t, `{"requirements":["LEAK-01","FORWARD-02"],"judge":{"canary":"LEAK-01"},"input":{"status":200},
		"assert":[{"member":"status","is":"equal","value":200}]}`, answer)
	x.Canary = token
	return x
}

func percent(text string) string {
	var out strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&out, "%%%02x", text[i])
	}
	return out.String()
}

func escapes(text string) string {
	var out strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&out, `\u%04x`, text[i])
	}
	return out.String()
}

func TestCanaryFound(t *testing.T) {
	std, raw := base64.StdEncoding.EncodeToString, base64.RawURLEncoding.EncodeToString
	tests := []struct{ name, body string }{
		{"as it is", `"failed at ` + token + `"`},
		{"in capitals", `"` + strings.ToUpper(token) + `"`},
		{"inside of a word", `"x` + token + `x"`},
		{"percent-encoded", `"` + percent(token) + `"`},
		{"percent-encoded in part", `"` + token[:5] + "%" + fmt.Sprintf("%X", token[5]) + token[6:] + `"`},
		{"percent-encoded twice", `"` + url.QueryEscape(percent(token)) + `"`},
		{"in base64, alone", `"` + std([]byte(token)) + `"`},
		{"in base64, first", `"` + std([]byte(token+": it failed")) + `"`},
		{"in base64, shifted by one", `"` + std([]byte("?"+token+"!")) + `"`},
		{"in base64, shifted by two", `"` + std([]byte("??"+token+"!!")) + `"`},
		{"in base64, shifted by three", `"` + std([]byte("???"+token+"!!!")) + `"`},
		{"in base64 for URLs, shifted by one", `"` + raw([]byte("\xff"+token+"\xfe\xff")) + `"`},
		{"in base64 for URLs, shifted by two", `"` + raw([]byte("\xff\xfe"+token+"\xff")) + `"`},
		{"in base64, percent-encoded", `"` + url.QueryEscape(std([]byte("??"+token+"!!"))) + `"`},
		{"in escapes", `"` + escapes(token) + `"`},
		{"in escapes, percent-encoded", `"` + escapes(percent(token)) + `"`},
		{"in a nested object", `{"a":[{"b":"` + escapes(token) + `"}]}`},
		{"in a member's name", `{"` + token + `":1}`},
		{"in a member's name, escaped", `{"` + escapes(token) + `":1}`},
		{"in JSON inside of a string", `"{\"a\":\"` + strings.ReplaceAll(escapes(token), `\`, `\\`) + `\"}"`},
		{"in a JSON string inside of a string", `"\"` + strings.ReplaceAll(escapes(token), `\`, `\\`) + `\""`},
		{"in a list inside of a string", `" [\"` + strings.ReplaceAll(escapes(token), `\`, `\\`) + `\"]"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := found(t, leaking(t, `{"status":200,"body":`+tt.body+`}`))
			if diff := cmp.Diff([]string{"LEAK-01 canary"}, got); diff != "" {
				t.Errorf("findings in %s (-want +got):\n%s", tt.body, diff)
			}
		})
	}
}

func TestCanaryNotFound(t *testing.T) {
	for _, body := range []string{
		`"nothing"`, `null`, `{"a":[1,true,"%zz%"]}`, `"` + token[:20] + `"`, `"` + token[1:] + `"`,
		`"` + token[:25] + `x"`, `"` + token[:10] + " " + token[10:] + `"`, `"` + base64.StdEncoding.EncodeToString([]byte(token[:20])) + `"`,
		`"ca2zqh7w4mxk5dtrvb3ynpfs7g"`,
	} {
		if got := found(t, leaking(t, `{"status":200,"body":`+body+`}`)); got != nil {
			t.Errorf("found %v in %s", got, body)
		}
	}
}

// TestCanaryBesideTheEnvelope: what a target sends around its envelope reaches
// an agent's log too.
func TestCanaryBesideTheEnvelope(t *testing.T) {
	x := leaking(t, `{"status":200}`)
	x.Answer.Raw = []byte(`{"jsonrpc":"2.0","id":1,"result":{"text":"{\"status\":200}","isError":false,"debug":"` + token + `"}}`)
	findings, err := All(x)
	if err != nil {
		t.Fatal(err)
	}
	if len(findings) != 1 || findings[0].Member != "canary" || !strings.Contains(findings[0].Problem, "the raw answer") {
		t.Errorf("a canary beside the envelope: found %+v", findings)
	}
}

// TestCanaryOnlyWhereJudged: a message that is to be forwarded holds the canary.
func TestCanaryOnlyWhereJudged(t *testing.T) {
	x := exchange(t, `{"requirements":["FORWARD-02"],"input":{"status":200},"assert":[{"member":"body","is":"equal","value":"`+token+`"}]}`, `{"status":200,"body":"`+token+`"}`)
	x.Canary = token
	if got := found(t, x); got != nil {
		t.Errorf("found %v", got)
	}
}

// TestLeakFollowed: a member that differs because it holds the canary goes
// where the canary goes; one that differs otherwise does not.
func TestLeakFollowed(t *testing.T) {
	x := exchange(t, `{"requirements":["FIELD-07","LEAK-03","MESSAGE-01"],"judge":{"canary":"LEAK-03","message":"MESSAGE-01"},"input":{"status":400},
		"expected":{"error":"validation_failed","message":"Fix them.","status":400,"retryable":false,"fields":[{"message":"withheld"}]}}`,
		`{"error":"validation_failed","message":"Fix it.","status":400,"retryable":false,"fields":[{"message":"in /home/`+token+`/x"}]}`)
	x.Canary = token
	want := []string{"MESSAGE-01 message", "LEAK-03 fields <- canary", "LEAK-03 canary"}
	if diff := cmp.Diff(want, found(t, x)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestObserve(t *testing.T) {
	for answer, want := range map[string]string{
		`{"error":"bad_request","message":"in ` + token + `","status":400,"retryable":false}`:                            "message only",
		`{"error":"bad_request","message":"m","status":400,"retryable":false,"fields":[{"message":"in ` + token + `"}]}`: "fields recognised",
		`{"error":"bad_request","message":"m","status":400,"retryable":false}`:                                           "withheld",
		`oops`: "not an envelope",
	} {
		x := exchange(t, `{"requirements":["LEAK-11"],"input":{"status":400},"observe":true}`, answer)
		x.Canary = token
		if got := Observe(x); got != want {
			t.Errorf("%s: observed %q, want %q", answer, got, want)
		}
	}
}
