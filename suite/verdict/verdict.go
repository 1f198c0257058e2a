// Package verdict turns the results of cases into the state of requirements
// and profiles, the verdict of the run and its certificate. It decides nothing
// about single answers: that is what judges do.
package verdict

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/judge"
)

// Exit codes of a run. Usage and configuration errors, found before anything
// is started, are 2.
const (
	Certified    = 0
	NotCertified = 1
	Usage        = 2
	TargetBroke  = 3
	NothingRan   = 4
	SuiteFailed  = 5
	Interrupted  = 130
)

// Run is everything a verdict is made from.
type Run struct {
	Corpus *fixtures.Corpus
	// Selected are the cases that were to run.
	Selected []fixtures.Case
	// Profiles are the profiles to certify.
	Profiles []string
	// Narrowed says that the cases are not all there are for the profiles: a
	// selection, or a corpus that is not the suite's own.
	Narrowed bool
	Strict   bool
	Results  []schemas.CaseResult
	// Broke, Interrupted and Failed say what ended the run early: the target,
	// the user, or the suite.
	Broke       error
	Interrupted bool
	Failed      error
}

// Fill writes the outcome of a run into a certificate.
func Fill(c *schemas.Certificate, run Run) {
	done := make(map[string]schemas.CaseResult, len(run.Results))
	for _, r := range run.Results {
		done[r.ID] = r
	}
	c.Cases = make([]schemas.CaseResult, 0, len(run.Selected))
	for _, k := range run.Selected {
		r, ok := done[k.ID]
		if !ok {
			r = schemas.CaseResult{ID: k.ID, Status: schemas.NotRun, Reason: "the run ended before it", Runs: []schemas.RunResult{}}
		}
		c.Cases = append(c.Cases, r)
	}
	c.Requirements = requirements(run, done)
	c.Profiles = profiles(run, c.Requirements, done)
	c.Verdict = decide(run, c)
	c.Digests.Corpus = run.Corpus.Digest
	c.Digests.Settings = digest(c.Settings)
}

func digest(v any) string {
	data, _ := json.Marshal(v) // settings are strings, numbers and booleans
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// tally counts what happened to the cases that serve one requirement.
type tally struct{ ran, notApplicable, notRun, findings, observed int }

func requirements(run Run, done map[string]schemas.CaseResult) []schemas.RequirementResult {
	tallies := map[string]*tally{}
	at := func(id string) *tally {
		if tallies[id] == nil {
			tallies[id] = &tally{}
		}
		return tallies[id]
	}
	for _, k := range run.Selected {
		r, ok := done[k.ID]
		for _, id := range judge.Serves(k) {
			t := at(id)
			switch {
			case !ok || r.Status == schemas.NotRun:
				t.notRun++
			case r.Status == schemas.NotApplicable:
				t.notApplicable++
			case r.Status == schemas.Informed:
				t.ran++
				t.observed++
			default:
				t.ran++
			}
		}
		for _, one := range r.Runs {
			for _, f := range one.Findings {
				at(f.Requirement).findings++
			}
		}
	}
	var out []schemas.RequirementResult
	for _, r := range run.Corpus.Requirements {
		t := tallies[r.ID]
		if t == nil {
			continue
		}
		out = append(out, schemas.RequirementResult{
			ID: r.ID, Level: r.Level, Profile: r.Profile, Status: t.status(r.Level, run.Strict), CasesRun: t.ran, Findings: t.findings,
		})
	}
	return out
}

func (t *tally) status(level schemas.Level, strict bool) schemas.Status {
	switch {
	case t.findings > 0 && (level == schemas.Must || level == schemas.Should && strict):
		return schemas.Fail
	case t.findings > 0 && level == schemas.Should:
		return schemas.Warn
	case t.ran == 0 && t.notRun > 0:
		return schemas.NotRun
	case t.ran == 0:
		return schemas.NotApplicable
	case level == schemas.Info:
		return schemas.Informed
	}
	return schemas.Pass
}

func profiles(run Run, reqs []schemas.RequirementResult, done map[string]schemas.CaseResult) []schemas.ProfileResult {
	out := make([]schemas.ProfileResult, 0, len(run.Profiles))
	for _, name := range run.Profiles {
		p := schemas.ProfileResult{Name: name, Status: schemas.NotRun}
		for _, k := range run.Selected {
			r, ok := done[k.ID]
			if ok && len(r.Runs) > 0 && ProfileOf(run.Corpus, k) == name {
				p.CasesRun++
			}
		}
		if p.CasesRun > 0 {
			p.Status = schemas.Pass
		}
		for _, r := range reqs {
			if r.Profile == name && r.Status == schemas.Fail {
				p.Status = schemas.Fail
			}
		}
		out = append(out, p)
	}
	return out
}

// ProfileOf is the profile of a case's subject.
func ProfileOf(corpus *fixtures.Corpus, k fixtures.Case) string {
	r, ok := corpus.Requirement(judge.Subject(k))
	if !ok {
		return ""
	}
	return r.Profile
}

func decide(run Run, c *schemas.Certificate) schemas.Verdict {
	ran, unfinished := 0, 0
	for _, r := range c.Cases {
		switch {
		case r.Status == schemas.NotRun:
			unfinished++
		case len(r.Runs) > 0:
			ran++
		}
	}
	v := schemas.Verdict{Partial: run.Narrowed || unfinished > 0}
	set := func(code int, status, reason string) schemas.Verdict {
		v.ExitCode, v.Status, v.Reason = code, status, reason
		return v
	}
	var failed, idle []string
	for _, r := range c.Requirements {
		if r.Status == schemas.Fail {
			failed = append(failed, r.ID)
		}
	}
	for _, p := range c.Profiles {
		if p.CasesRun == 0 {
			idle = append(idle, p.Name)
		}
	}
	switch {
	case run.Failed != nil:
		return set(SuiteFailed, "suite failed", "the suite itself failed: "+run.Failed.Error())
	case run.Broke != nil:
		return set(TargetBroke, "target broke", run.Broke.Error())
	case run.Interrupted:
		return set(Interrupted, "interrupted", fmt.Sprintf("interrupted; %d of %d cases ran", ran, len(c.Cases)))
	case len(run.Selected) == 0:
		return set(NothingRan, "nothing ran", "no case was selected")
	case ran == 0:
		return set(NothingRan, "nothing ran", fmt.Sprintf("none of the %d selected cases applies to the target: %s", len(c.Cases), c.Cases[0].Reason))
	case len(failed) > 0:
		return set(NotCertified, "not certified", fmt.Sprintf("%s failed: %s", count(len(failed), "requirement"), strings.Join(failed, ", ")))
	case unfinished > 0:
		return set(SuiteFailed, "suite failed", fmt.Sprintf("%s did not run, and nothing says why", count(unfinished, "case")))
	case len(idle) > 0 && !run.Narrowed:
		return set(NotCertified, "not certified", fmt.Sprintf("claimed, but no case of it ran: %s", strings.Join(idle, ", ")))
	case run.Narrowed:
		return set(Certified, "selection passed", fmt.Sprintf("%s passed; a selection certifies nothing", count(ran, "case")))
	}
	return set(Certified, "certified", fmt.Sprintf("every MUST of %s passed", strings.Join(run.Profiles, ", ")))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// reachedBy says which features reach a profile: a target that names no
// profiles claims those that its features reach.
var reachedBy = []struct {
	profile  string
	features []string
}{
	{"envelope-core", []string{schemas.FeatureMap, schemas.FeatureInvoke}},
	{"envelope-sdk", []string{schemas.FeatureRefuse, schemas.FeatureCompose, schemas.FeatureMetaTools}},
	// Guards can be judged only where their limits can be set.
	{"envelope-guards", []string{schemas.FeatureLimits}},
	{"agent-outcome", []string{schemas.FeatureAgent}},
	{"hardening", []string{schemas.FeatureMap, schemas.FeatureInvoke}},
}

// Claimed gives the profiles a target claims.
func Claimed(d schemas.DescribeResult) []string {
	if len(d.Profiles) > 0 {
		return d.Profiles
	}
	var out []string
	for _, r := range reachedBy {
		if slices.ContainsFunc(r.features, func(f string) bool { return slices.Contains(d.Features, f) }) {
			out = append(out, r.profile)
		}
	}
	return out
}
