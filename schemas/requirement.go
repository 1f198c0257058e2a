package schemas

// Level says what a failed requirement does to the verdict.
type Level string

// MUST decides certification, SHOULD is a warning, INFO never counts.
const (
	Must   Level = "MUST"
	Should Level = "SHOULD"
	Info   Level = "INFO"
)

// Requirement is one rule of the catalogue. Its ID never changes meaning.
type Requirement struct {
	ID      string `json:"id"`
	Level   Level  `json:"level"`
	Profile string `json:"profile"`
	// Rule is what an implementation has to do; Why is what goes wrong otherwise.
	Rule string `json:"rule"`
	Why  string `json:"why,omitempty"`
	// Source is where the rule comes from: a document of the envelope, or an RFC.
	Source string `json:"source"`
}

// RequirementFile is one section of the catalogue.
type RequirementFile struct {
	Kind         string        `json:"kind"`
	Section      string        `json:"section"`
	About        string        `json:"about"`
	Requirements []Requirement `json:"requirements"`
}
