package judge

import (
	"encoding/json"
	"testing"
)

func TestEqual(t *testing.T) {
	const ignored, kept = false, true
	tests := []struct {
		a, b    string
		ordered bool
		want    bool
	}{
		{`1.50`, `1.5`, ignored, true},
		{`1e2`, `100`, ignored, true},
		{`1E+2`, `100.0`, ignored, true},
		{`0.01`, `1e-2`, ignored, true},
		{`-0`, `0`, ignored, true},
		{`0e5`, `0.000`, ignored, true},
		{`-1.5`, `1.5`, ignored, false},
		{`9007199254740993`, `9007199254740992`, ignored, false},
		{`9007199254740993`, `9007199254740993.0`, ignored, true},
		{`0.1`, `0.1000000000000000055`, ignored, false},
		{`1e400`, `1e401`, ignored, false},
		{`1e999999999999`, `10e999999999998`, ignored, true},
		{`1`, `"1"`, ignored, false},
		{`1`, `true`, ignored, false},
		{`null`, `null`, ignored, true},
		{`null`, `false`, ignored, false},
		{`true`, ` true `, ignored, true},
		{`"a\u00e9"`, `"aé"`, ignored, true},
		{`"a"`, `"A"`, ignored, false},
		{`"\/"`, `"/"`, ignored, true},
		{`"\ud83d\ude42"`, `"🙂"`, ignored, true},
		{`{"a":1,"b":2}`, ` { "b" : 2.0 , "a" : 1 } `, ignored, true},
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, kept, false},
		{`{"a":1,"b":{"c":1,"d":2}}`, `{"a":1,"b":{"d":2,"c":1}}`, kept, false},
		{`{"a":1,"b":2}`, `{"a":1.0,"b":2}`, kept, true},
		{`{"a":1}`, `{"a":1,"b":null}`, ignored, false},
		{`{"a":1,"b":2}`, `{"a":1,"c":2}`, ignored, false},
		{`{}`, `[]`, ignored, false},
		{`[]`, `[]`, ignored, true},
		{`[1,2]`, `[2,1]`, ignored, false},
		{`[1,2]`, `[1]`, ignored, false},
		{`[[{"a":[1e1]}]]`, `[[{"a":[10]}]]`, ignored, true},
		{``, ``, ignored, true},
		{``, `1`, ignored, false},
	}
	for _, tt := range tests {
		if got := equal(json.RawMessage(tt.a), json.RawMessage(tt.b), tt.ordered); got != tt.want {
			t.Errorf("equal(%s, %s, ordered %v) = %v", tt.a, tt.b, tt.ordered, got)
		}
		if got := equal(json.RawMessage(tt.b), json.RawMessage(tt.a), tt.ordered); got != tt.want {
			t.Errorf("equal(%s, %s, ordered %v) = %v, the other way round it is not", tt.b, tt.a, tt.ordered, got)
		}
	}
}

func TestMembers(t *testing.T) {
	got, err := members([]byte(` {"b":1,"a":{"x":[1, 2]},"b":3} `))
	if err != nil || len(got) != 2 || got[0].name != "b" || string(got[0].value) != "3" || string(got[1].value) != `{"x":[1, 2]}` {
		t.Errorf("members are %v, %v: want them in order, the last of two alike", got, err)
	}
	for _, text := range []string{``, `1`, `[]`, `null`, `{`, `{"a"}`, `{"a":1`, `{"a":1} x`, `{"a":1}{}`, `{"a":1}}`, `{"a":1}]`, `{"a":01}`} {
		if got, err := members([]byte(text)); err == nil {
			t.Errorf("members(%s) = %v, want an error", text, got)
		}
	}
}
