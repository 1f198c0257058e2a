package schemas

import (
	"encoding/json"
	"time"
)

// Status is the state of a requirement, a case or a profile after a run.
type Status string

// Pass and Fail decide; Warn is a failed SHOULD; Informed is an observation of
// an INFO requirement. NotApplicable needs a feature the target does not claim.
const (
	Pass          Status = "pass"
	Fail          Status = "fail"
	Warn          Status = "warn"
	Informed      Status = "info"
	NotApplicable Status = "not applicable"
	NotRun        Status = "not run"
)

// Certificate is the result of one run, complete enough to make every report from.
type Certificate struct {
	Schema       int                 `json:"schema"`
	Suite        SuiteInfo           `json:"suite"`
	Target       TargetInfo          `json:"target"`
	StartedAt    time.Time           `json:"startedAt"`
	DurationMs   float64             `json:"durationMs"`
	Settings     RunSettings         `json:"settings"`
	Digests      Digests             `json:"digests"`
	Verdict      Verdict             `json:"verdict"`
	Profiles     []ProfileResult     `json:"profiles"`
	Requirements []RequirementResult `json:"requirements"`
	Cases        []CaseResult        `json:"cases"`
}

// SuiteInfo names the suite that made a certificate.
type SuiteInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// TargetInfo names what was judged.
type TargetInfo struct {
	Spec     string   `json:"spec"`
	Name     string   `json:"name,omitempty"`
	Version  string   `json:"version,omitempty"`
	Features []string `json:"features,omitempty"`
}

// RunSettings are the choices that shaped a run.
type RunSettings struct {
	Profiles      []string `json:"profiles"`
	Requirements  []string `json:"requirements,omitempty"`
	Cases         []string `json:"cases,omitempty"`
	Strict        bool     `json:"strict"`
	CallTimeoutMs int64    `json:"callTimeoutMs"`
}

// Digests are SHA-256 sums in hexadecimal of what the run was made from.
type Digests struct {
	Corpus   string `json:"corpus"`
	Settings string `json:"settings"`
}

// Verdict is the outcome of a run; ExitCode is the process's.
type Verdict struct {
	Status   string `json:"status"`
	ExitCode int    `json:"exitCode"`
	Partial  bool   `json:"partial,omitempty"`
	Reason   string `json:"reason"`
}

// ProfileResult is the state of one claimed profile.
type ProfileResult struct {
	Name     string `json:"name"`
	Status   Status `json:"status"`
	CasesRun int    `json:"casesRun"`
}

// RequirementResult is the state of one requirement.
type RequirementResult struct {
	ID       string `json:"id"`
	Level    Level  `json:"level"`
	Profile  string `json:"profile"`
	Status   Status `json:"status"`
	CasesRun int    `json:"casesRun"`
	Findings int    `json:"findings"`
}

// CaseResult is the outcome of one case: a run for each way it was exercised.
type CaseResult struct {
	ID     string      `json:"id"`
	Status Status      `json:"status"`
	Reason string      `json:"reason,omitempty"`
	Runs   []RunResult `json:"runs"`
}

// RunResult is one exercise of a case, through "map", "refuse" or "invoke".
type RunResult struct {
	Via        string  `json:"via"`
	DurationMs float64 `json:"durationMs"`
	// Attempts is how many times it was run, if more than once: findings that a
	// busy machine may have made have to come again.
	Attempts    int       `json:"attempts,omitempty"`
	Observation string    `json:"observation,omitempty"`
	Findings    []Finding `json:"findings,omitempty"`
	// Answer is the envelope that the findings are about.
	Answer string `json:"answer,omitempty"`
}

// Finding is one mismatch, placed under the one requirement it shows broken.
type Finding struct {
	Requirement string          `json:"requirement"`
	Member      string          `json:"member"`
	Problem     string          `json:"problem"`
	Expected    json.RawMessage `json:"expected,omitempty"`
	Actual      json.RawMessage `json:"actual,omitempty"`
	// Follows names the member whose mismatch this one only follows from, and
	// whose requirement it is placed under.
	Follows string `json:"follows,omitempty"`
	// Control names the control case that fails the same way and gave the requirement.
	Control string `json:"control,omitempty"`
}
