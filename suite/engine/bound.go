package engine

import (
	"encoding/json"

	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/target"
)

// maxKept is how much a run keeps of an answer, and of what a finding quotes of
// it: a target that answers megabytes does so in each of its cases.
const maxKept = 64 << 10

// bound cuts what a run keeps. A value that is cut is no JSON any more, and
// becomes a string.
func bound(run *schemas.RunResult) {
	run.Answer = target.Cut(run.Answer, maxKept)
	for i := range run.Findings {
		f := &run.Findings[i]
		f.Problem = target.Cut(f.Problem, maxKept)
		if len(f.Actual) > maxKept {
			f.Actual, _ = json.Marshal(target.Cut(string(f.Actual), maxKept)) // a string always encodes
		}
	}
}
