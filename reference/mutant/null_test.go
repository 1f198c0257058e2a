package mutant

import (
	"encoding/json"
	"path"
	"reflect"
	"strings"
	"testing"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/suite/gate"
	"example.com/touchstone/suite/target"
)

func TestNulls(t *testing.T) {
	c := corpus(t)
	var all []gate.Specimen
	for _, n := range Nulls() {
		all = append(all, gate.Specimen{ID: n.ID, Doc: n.Doc, Null: true, Open: func() target.Target { return gate.Direct(n) }})
	}
	if len(all) != 5 {
		t.Errorf("%d null targets, want 5", len(all))
	}
	for i, o := range pass(t, all) {
		wrongly := 0
		for _, id := range o.Passed {
			k, _ := c.Case(id)
			if deserved(t, Nulls()[i], k) || isFree(t, o.Specimen.ID, id) || k.Observe {
				continue
			}
			if wrongly++; wrongly <= 20 {
				t.Errorf("%s passes %s:\n  expected %s%s\n  asserted %v", o.Specimen.ID, id, k.Expected, k.ExpectedAnyOf, k.Assert)
			}
		}
		t.Logf("%s passes %d cases", o.Specimen.ID, len(o.Passed))
	}
}

// free are cases that claim only part of an answer, and a part that the null
// target gets right: it has the status, and what is asserted besides is absent
// or the standard message of that status.
var free = map[string][]string{
	"always-success": {"header/reference/not-on-success", "shape/success/is-error"},
	"always-error": {
		"retry/retry-after/404", "shape/error/is-error", "shape/integers/status", "status/404/opening", "success/location/error",
	},
	"always-withheld": {
		// Nothing is to be forwarded, or nothing was sent.
		"leak/*/internal-error", "status/*/opening", "retry/*", "shape/sdk-code/*", "shape/status/*", "shape/refusal/no-status",
		"shape/integers/status", "shape/integers/large-retry-after", "shape/error/*", "success/location/error",
		"shape/success/is-error", "header/reference/not-on-success",
		"shape/blank/field-alone", "shape/blank/host", "shape/blank/host-field", "shape/blank/nest-list-joined", "shape/blank/refusal",
		// What becomes of text that is not Unicode is not pinned.
		"shape/surrogate", "shape/utf-8/json", "shape/utf-8/plain",
	},
}

// isFree matches a case against the list; a star stands for any part of an id.
func isFree(t *testing.T, null, id string) bool {
	for _, pattern := range free[null] {
		matches, err := path.Match(pattern, id)
		if err != nil {
			t.Fatal(err)
		}
		if matches || strings.HasSuffix(pattern, "/*") && strings.HasPrefix(id, strings.TrimSuffix(pattern, "*")) {
			return true
		}
	}
	return false
}

// deserved says whether the null target's answer is one that the case expects,
// by the case's own data.
func deserved(t *testing.T, n Null, k fixtures.Case) bool {
	in, err := k.Facts()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(n.answer(nullCall{status: in.Status, code: in.SDKError}))
	if err != nil {
		t.Fatal(err)
	}
	answer := decoded(t, text)
	for _, expected := range append(k.ExpectedAnyOf, k.Expected) {
		if expected != nil && reflect.DeepEqual(answer, decoded(t, expected)) {
			return true
		}
	}
	return false
}

func decoded(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	if err := json.NewDecoder(strings.NewReader(string(text))).Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}
