package gate

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/schemas"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// outcome makes one by hand: killers of a requirement are cases c1, c2, and so on.
func outcome(id string, breaks, failed []string, cases int) Outcome {
	o := Outcome{Specimen: Specimen{ID: id, Doc: "It is " + id + ".", Breaks: breaks}, Failed: failed, Killers: map[string][]string{}}
	for _, r := range failed {
		for i := range cases {
			o.Killers[r] = append(o.Killers[r], "c"+string(rune('1'+i)))
		}
	}
	return o
}

func matrix(outcomes ...Outcome) Report {
	corpus := &fixtures.Corpus{Requirements: []schemas.Requirement{
		{ID: "LEAK-01", Level: schemas.Must}, {ID: "LEAK-02", Level: schemas.Must}, {ID: "LEAK-10", Level: schemas.Should}, {ID: "CODE-01", Level: schemas.Must},
	}}
	return NewReport(corpus, outcomes, []string{"LEAK-02"})
}

func TestReport(t *testing.T) {
	one, many := outcome("lost", []string{"LEAK-01"}, []string{"LEAK-01"}, 1), outcome("off", []string{"LEAK-01"}, []string{"LEAK-01"}, 7)
	null := Outcome{Specimen: Specimen{ID: "empty", Null: true}, Refused: true}
	for _, tt := range []struct {
		name     string
		outcomes []Outcome
		green    bool
		want     []string
	}{
		{"green", []Outcome{many, one, outcome("another-order", nil, nil, 0), null}, true,
			[]string{"LEAK-01      MUST    0      2        2      lost: 1", "sections without mutants: CODE", "the mutants of LEAK-02 are run by", "2 mutants, 1 conforming variants, 1 null targets: the gate is green"}},
		{"fails something else too", []Outcome{one, outcome("wide", []string{"LEAK-01"}, []string{"CODE-01", "LEAK-01"}, 5)}, false,
			[]string{"not as it must be: wide: It is wide.", "CODE-01 by c1, c2, c3 and 2 more", "1      lost: 1", "RED: 1 specimens, 0 requirements"}},
		{"survives", []Outcome{outcome("lost", []string{"LEAK-01"}, nil, 0)}, false, []string{"should fail [LEAK-01]", "failed      []"}},
		{"an equivalent fails", []Outcome{one, outcome("indented", nil, []string{"CODE-01"}, 1)}, false, []string{"not as it must be: indented", "CODE-01 by c1"}},
		{"a null target passes", []Outcome{one, {Specimen: Specimen{ID: "empty", Null: true}}}, false, []string{"not as it must be: empty"}},
		{"a MUST without a mutant", []Outcome{outcome("slow", []string{"LEAK-10"}, []string{"LEAK-10"}, 1)}, false, []string{"no mutant breaks LEAK-01", "RED: 0 specimens, 1 requirements"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			report := matrix(tt.outcomes...)
			var out strings.Builder
			if err := report.Write(&out, false); err != nil {
				t.Fatal(err)
			}
			if report.Green() != tt.green {
				t.Errorf("green is %v:\n%s", report.Green(), &out)
			}
			for _, want := range tt.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("the report lacks %q:\n%s", want, &out)
				}
			}
		})
	}
}

func TestVerboseReport(t *testing.T) {
	var out strings.Builder
	if err := matrix(outcome("off", []string{"LEAK-01"}, []string{"LEAK-01"}, 7)).Write(&out, true); err != nil {
		t.Fatal(err)
	}
	if want := "\nLEAK-01\n  off: It is off.\n    caught by c1, c2, c3, c4, c5 and 2 more\n"; !strings.Contains(out.String(), want) {
		t.Errorf("the report lacks %q:\n%s", want, &out)
	}
}
