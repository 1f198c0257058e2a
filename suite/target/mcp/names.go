package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"

	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/target"
)

// names are the server's names for operations of the sample API, by ours. An
// operation that the server does not have is not there.
type names map[string]string

// known are the operations the server has, by our names, in one order.
func (n names) known() []string {
	list := []string{}
	for _, name := range schemas.SampleOperations() {
		if _, ok := n[name]; ok {
			list = append(list, name)
		}
	}
	return list
}

// theirs translates a name for the server. A name of no operation stays.
func (n names) theirs(name string) string {
	if theirs, ok := n[name]; ok {
		return theirs
	}
	return name
}

// ours translates an answer back, where the server's names stand in quotes.
func (n names) ours(answer []byte) []byte {
	if answer == nil {
		return nil
	}
	text := string(answer)
	for _, ours := range slices.Sorted(maps.Keys(n)) {
		if theirs := n[ours]; theirs != ours {
			text = strings.NewReplacer(`"`+theirs+`"`, `"`+ours+`"`, `'`+theirs+`'`, `'`+ours+`'`).Replace(text)
		}
	}
	return []byte(text)
}

// findNames asks the server for the operations of the sample API: by the name
// that was given, by ours, and else by what search_tools finds for it.
func (t *Target) findNames(ctx context.Context, given map[string]string) (names, error) {
	found := names{}
	for _, name := range schemas.SampleOperations() {
		candidate := name
		if theirs, ok := given[name]; ok {
			candidate = theirs
		}
		has, err := t.has(ctx, candidate)
		if err != nil {
			return nil, err
		}
		if !has && candidate == name {
			if candidate, err = t.search(ctx, name); err != nil {
				return nil, err
			}
			has = candidate != ""
		}
		if has {
			found[name] = candidate
		}
	}
	return found, nil
}

// ask is call while the session is opened: there, no case is judged for an answer
// that does not come.
func (t *Target) ask(ctx context.Context, tool string, params any) (target.Answer, error) {
	answer, err := t.call(ctx, tool, params)
	if errors.Is(err, context.DeadlineExceeded) && context.Cause(ctx) == errSlow {
		err = t.link.explain("tools/call "+tool, err)
	}
	return answer, err
}

// has says whether load_tool knows an operation. Whatever else is wrong with
// the answer is for the judges.
func (t *Target) has(ctx context.Context, name string) (bool, error) {
	answer, err := t.ask(ctx, LoadTool, schemas.LoadParams{Name: name})
	if err != nil {
		return false, err
	}
	refused := answer.Carrier.Error != nil || answer.IsError != nil && *answer.IsError ||
		gjson.GetBytes(answer.Envelope, "error").Exists()
	return !refused, nil
}

// search gives the one operation that search_tools finds whose name has all the
// words of ours: orders_getOrder for get_order. "" where there is none, or more.
func (t *Target) search(ctx context.Context, name string) (string, error) {
	wanted := wordsOf(name)
	answer, err := t.ask(ctx, SearchTools, schemas.SearchParams{Query: strings.Join(wanted, " ")})
	if err != nil {
		return "", err
	}
	var fitting []string
	for _, candidate := range namesIn(answer.Envelope) {
		words := wordsOf(candidate)
		if !slices.ContainsFunc(wanted, func(word string) bool { return !slices.Contains(words, word) }) && !slices.Contains(fitting, candidate) {
			fitting = append(fitting, candidate)
		}
	}
	if len(fitting) != 1 {
		return "", nil
	}
	return fitting[0], nil
}

// namesIn gives every string member called name, wherever it stands: what a
// search answers has no pinned shape.
func namesIn(document []byte) []string {
	var value any
	if json.Unmarshal(document, &value) != nil {
		return nil
	}
	var list []string
	var visit func(v any)
	visit = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, one := range v {
				visit(one)
			}
		case map[string]any:
			if name, ok := v["name"].(string); ok {
				list = append(list, name)
			}
			for _, key := range slices.Sorted(maps.Keys(v)) {
				visit(v[key])
			}
		}
	}
	visit(value)
	return list
}

// wordsOf cuts a name at case changes and at what is no letter.
func wordsOf(name string) []string {
	var spaced strings.Builder
	last := ' '
	for _, r := range name {
		if unicode.IsUpper(r) && unicode.IsLower(last) {
			spaced.WriteByte(' ')
		}
		spaced.WriteRune(r)
		last = r
	}
	return strings.FieldsFunc(strings.ToLower(spaced.String()), func(r rune) bool { return !unicode.IsLetter(r) })
}

// several writes a list, cut where it gets long.
func several(list []string, most int) string {
	slices.Sort(list)
	switch {
	case len(list) == 0:
		return "no tool at all"
	case len(list) > most:
		return strings.Join(list[:most], ", ") + ", …"
	}
	return strings.Join(list, ", ")
}
