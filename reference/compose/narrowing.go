package compose

import (
	"slices"
	"strings"
	"unicode"
)

// Argument is one published argument of an operation.
type Argument struct {
	Name        string
	Description string
}

// NarrowingPolicy says which arguments of an operation make its response
// smaller, judged by their names (GUARD-03).
type NarrowingPolicy struct {
	Cardinality []string // words that say how much comes back
	Selection   []string // words that say which part comes back
	Cap         int      // how many arguments are named at most
	// Fallback describes an argument that has no description of its own.
	Fallback string
}

// DefaultNarrowing is the policy of the envelope.
func DefaultNarrowing() NarrowingPolicy {
	return NarrowingPolicy{
		Cardinality: []string{"limit", "top", "take", "max", "count", "size", "page", "per"},
		Selection: []string{
			"offset", "skip", "cursor", "after", "before", "filter", "query",
			"search", "field", "select", "since", "from", "until", "status",
		},
		Cap:      8,
		Fallback: "Constrains the result set.",
	}
}

// Choose picks the narrowing arguments of an operation from its published ones,
// given in schema order: those that bound the count first, then those that
// select, each group in the order given. Blank descriptions become the fallback.
func (p NarrowingPolicy) Choose(arguments []Argument) []Argument {
	var cardinality, selection []Argument
	for _, a := range arguments {
		if strings.TrimSpace(a.Description) == "" {
			a.Description = p.Fallback
		}
		words := nameWords(a.Name)
		switch {
		case slices.ContainsFunc(words, in(p.Cardinality)):
			cardinality = append(cardinality, a)
		case slices.ContainsFunc(words, in(p.Selection)), slices.Contains(p.Selection, a.Name):
			// The whole name counts too: "status" loses its s as a word.
			selection = append(selection, a)
		}
	}
	chosen := append(cardinality, selection...)
	return chosen[:min(len(chosen), p.Cap)]
}

func in(list []string) func(string) bool {
	return func(s string) bool { return slices.Contains(list, s) }
}

// nameWords splits a name at case changes and at everything that is neither a
// letter nor a digit, into lower-case words. A plural s is dropped from words
// of more than three letters: maxResults is max and result, HTTPPages is http
// and page.
func nameWords(name string) []string {
	runes := []rune(name)
	var words []string
	start := 0
	flush := func(end int) {
		if end > start {
			word := strings.ToLower(string(runes[start:end]))
			if end-start > 3 {
				word = strings.TrimSuffix(word, "s")
			}
			words = append(words, word)
		}
		start = end
	}
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush(i)
			start = i + 1
		case i > start && unicode.IsUpper(r) &&
			(!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			// A capital opens a word after anything but a capital, and as the
			// last of a run of capitals.
			flush(i)
		}
	}
	flush(len(runes))
	return words
}
