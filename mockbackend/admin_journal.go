package mockbackend

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// shownEntry is an entry as the admin API gives it: a body that is text can be
// read without decoding it.
type shownEntry struct {
	Entry
	BodyText string `json:"bodyText,omitempty"`
}

func shown(e Entry) shownEntry {
	s := shownEntry{Entry: e}
	if utf8.Valid(e.Body) {
		s.BodyText = string(e.Body)
	}
	return s
}

func listEntries(_ *Server, w http.ResponseWriter, r *http.Request) {
	p := parametersOf(r)
	limit := p.number("limit", math.MaxInt32, 1, math.MaxInt32)
	f := p.filter()
	if p.refused(w) {
		return
	}
	journal := scopeFrom(r).Journal()
	entries := journal.Entries(f)
	entries = entries[max(0, len(entries)-int(limit)):]
	writeReply(w, jsonReply(http.StatusOK, entriesDoc(journal, entries)))
}

func entriesDoc(journal *Journal, entries []Entry) map[string]any {
	list := make([]shownEntry, len(entries))
	for i, e := range entries {
		list[i] = shown(e)
	}
	return map[string]any{"entries": list, "dropped": journal.Dropped()}
}

func getEntry(_ *Server, w http.ResponseWriter, r *http.Request) {
	seq, err := strconv.ParseUint(r.PathValue("seq"), 10, 64)
	if err == nil {
		if e, kept := scopeFrom(r).Journal().Entry(seq); kept {
			writeReply(w, jsonReply(http.StatusOK, shown(e)))
			return
		}
	}
	writeReply(w, refusal(problemNoEntry, fmt.Sprintf("The journal has no entry %s, or no longer.", r.PathValue("seq")), nil))
}

func clearJournal(_ *Server, w http.ResponseWriter, r *http.Request) {
	scopeFrom(r).Journal().Clear()
	noContent(w)
}

const (
	defaultWait = 10 * time.Second
	maxWait     = 10 * time.Minute
)

// waitForEntries answers once n requests match, or 408 with those that do.
func waitForEntries(s *Server, w http.ResponseWriter, r *http.Request) {
	p := parametersOf(r)
	n := p.number("n", 1, 1, int64(s.opts.JournalEntries))
	timeout := p.number("timeoutMs", defaultWait.Milliseconds(), 1, maxWait.Milliseconds())
	f := p.filter()
	if p.refused(w) {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), milliseconds(int(timeout)))
	defer cancel()
	defer context.AfterFunc(s.draining, cancel)()
	scope := scopeFrom(r)
	entries, err := scope.Wait(ctx, f, int(n))
	doc := entriesDoc(scope.Journal(), entries)
	if err != nil {
		writeReply(w, refusal(problemTimeout, err.Error(), doc))
		return
	}
	writeReply(w, jsonReply(http.StatusOK, doc))
}

// parameters takes the parameters out of a query, and keeps the first that
// cannot be used.
type parameters struct {
	query url.Values
	// form says that a form sends them, with a name for each field that is left
	// empty. From a program an empty value is a mistake: a variable without one.
	form  bool
	known []string // besides those of a filter
	err   *struct{ name, text string }
}

// parametersOf gives those of a request, of which none is left out because it
// cannot be decoded.
func parametersOf(r *http.Request) parameters {
	return parameters{query: parseQuery(r.URL.RawQuery)}
}

// refused answers a request with a parameter that cannot be used.
func (p *parameters) refused(w http.ResponseWriter) bool {
	if p.err == nil {
		return false
	}
	writeReply(w, refusal(problemParameter, p.err.text, map[string]any{"parameter": p.err.name}))
	return true
}

func (p *parameters) fail(name, format string, args ...any) {
	if p.err == nil {
		p.err = &struct{ name, text string }{name, fmt.Sprintf(format, args...)}
	}
}

func (p *parameters) number(name string, otherwise, low, high int64) int64 {
	text, given := p.query.Get(name), p.query.Has(name)
	p.once(name)
	p.query.Del(name)
	p.known = append(p.known, name)
	if !given {
		return otherwise
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || v < low || v > high {
		p.fail(name, "%s is %q; give a number from %d to %d", name, text, low, high)
	}
	return v
}

// once refuses a parameter that comes several times.
func (p *parameters) once(name string) {
	if values := p.query[name]; len(values) > 1 {
		p.fail(name, "%s comes %d times, as %q; give it once", name, len(values), values)
	}
}

// filterParameters are the query parameters of a filter and what each sets.
var filterParameters = map[string]func(*Filter, string) error{
	"stub":   func(f *Filter, v string) error { f.Stub = v; return nil },
	"method": func(f *Filter, v string) error { f.Method = strings.ToUpper(v); return nil },
	"path":   func(f *Filter, v string) error { f.Path = v; return nil },
	"after": func(f *Filter, v string) (err error) {
		f.After, err = strconv.ParseUint(v, 10, 64)
		return err
	},
	"status":      func(f *Filter, v string) (err error) { f.Status, err = strconv.Atoi(v); return err },
	"done":        onlyTrue(func(f *Filter) { f.Done = true }),
	"inFlight":    onlyTrue(func(f *Filter) { f.InFlight = true }),
	"clientEnded": onlyTrue(func(f *Filter) { f.ClientEnded = true }),
	"missed":      onlyTrue(func(f *Filter) { f.Missed = true }),
}

// onlyTrue is a condition that can be set: a filter knows no opposite of it.
func onlyTrue(set func(*Filter)) func(*Filter, string) error {
	return func(f *Filter, v string) error {
		yes, err := strconv.ParseBool(v)
		if err == nil && !yes {
			err = errors.New("give true, or leave it out")
		}
		set(f)
		return err
	}
}

// filter reads what is left as a filter; what it does not know is an error.
func (p *parameters) filter() Filter {
	var f Filter
	for _, name := range slices.Sorted(maps.Keys(p.query)) {
		value := p.query.Get(name)
		set, known := filterParameters[name]
		switch p.once(name); {
		case !known:
			p.unknown(name, append(slices.Collect(maps.Keys(filterParameters)), p.known...))
		case value == "" && p.form:
		case value == "":
			p.fail(name, "the filter %s is empty; give a value, or leave it out", name)
		default:
			if err := set(&f, value); err != nil {
				p.fail(name, "the filter %s cannot be %q: %v", name, value, plainNumber(err))
			}
		}
	}
	return f
}

func (p *parameters) unknown(name string, known []string) {
	if len(known) == 0 {
		p.fail(name, "the parameter %q is not known; there are none here", name)
		return
	}
	slices.Sort(known)
	p.fail(name, "the parameter %q is not known; known are %s", name, strings.Join(known, ", "))
}

// only refuses all parameters but those named.
func (p *parameters) only(known ...string) {
	for _, name := range slices.Sorted(maps.Keys(p.query)) {
		if p.once(name); !slices.Contains(known, name) {
			p.unknown(name, known)
		}
	}
}

// plainNumber says what is wrong with a number without the name of a Go function.
func plainNumber(err error) error {
	if bad, ok := errors.AsType[*strconv.NumError](err); ok {
		return bad.Err
	}
	return err
}
