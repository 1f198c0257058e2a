package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Ranker finds the operations that fit a query. It gives their names, the best
// first, each once; an operation that does not fit is left out.
type Ranker interface {
	Rank(ctx context.Context, query string, c *Catalog) ([]string, error)
}

// RankerFunc is a function as a [Ranker].
type RankerFunc func(ctx context.Context, query string, c *Catalog) ([]string, error)

// Rank calls f.
func (f RankerFunc) Rank(ctx context.Context, query string, c *Catalog) ([]string, error) {
	return f(ctx, query, c)
}

// Check reports what in the answer of a ranker cannot be: names that are not in
// the catalog, and names that come twice.
func (c *Catalog) Check(ranked []string) error {
	seen := make(map[string]bool, len(ranked))
	for _, name := range ranked {
		switch _, known := c.byName[name]; {
		case !known:
			return fmt.Errorf("the ranker named %q, which is not in the catalog", name)
		case seen[name]:
			return fmt.Errorf("the ranker named %q twice", name)
		}
		seen[name] = true
	}
	return nil
}

// Weights of a word of the query, by where it is found. A word that only begins
// like it counts half.
const (
	inName        = 8
	inPath        = 4
	inArguments   = 2
	inDescription = 2
)

// words are the words of an operation with the weight of each.
type words map[string]int

func (op *Operation) index() words {
	w := words{}
	add := func(text string, weight int) {
		for _, word := range split(text) {
			w[word] = max(w[word], weight)
		}
	}
	add(op.Name, inName)
	add(op.Path, inPath)
	for _, a := range op.Arguments {
		add(a.Name, inArguments)
	}
	add(op.Summary, inDescription)
	add(op.Description, inDescription)
	return w
}

// match gives the weight of the best match of one word.
func (w words) match(word string) int {
	best := w[word]
	if len(word) < 3 {
		return best // too short to be the beginning of anything in particular
	}
	for known, weight := range w {
		if weight/2 > best && strings.HasPrefix(known, word) {
			best = weight / 2
		}
	}
	return best
}

// WordRanker ranks by the words of the query that are in an operation's name,
// path, arguments and description. Equal ranks keep the order of the catalog,
// and so does a query without a word, which fits all.
type WordRanker struct{}

// Rank implements [Ranker]. Its error is the context's.
func (WordRanker) Rank(ctx context.Context, query string, c *Catalog) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, errors.Join(err, context.Cause(ctx))
	}
	type ranked struct {
		name  string
		score int
	}
	wanted := split(query)
	var list []ranked
	for _, op := range c.operations {
		score := 0
		for _, word := range wanted {
			score += c.words[op].match(word)
		}
		if strings.EqualFold(strings.TrimSpace(query), op.Name) {
			score += inName * (len(wanted) + 1)
		}
		if score > 0 || len(wanted) == 0 {
			list = append(list, ranked{op.Name, score})
		}
	}
	slices.SortStableFunc(list, func(a, b ranked) int { return cmp.Compare(b.score, a.score) })
	names := make([]string, len(list))
	for i, r := range list {
		names[i] = r.name
	}
	return names, nil
}

// split gives the words of a text in lower case, split where letters and digits
// end and where a capital follows a small letter, without a plural s, each once.
func split(text string) []string {
	var spaced strings.Builder
	var last rune
	for _, r := range text {
		if unicode.IsUpper(r) && unicode.IsLower(last) {
			spaced.WriteByte(' ')
		}
		spaced.WriteRune(r)
		last = r
	}
	var list []string
	for word := range strings.FieldsFuncSeq(strings.ToLower(spaced.String()), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		if len(word) > 3 {
			word = strings.TrimSuffix(word, "s")
		}
		if !slices.Contains(list, word) {
			list = append(list, word)
		}
	}
	return list
}
