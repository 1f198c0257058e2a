package mockbackend

import (
	"context"
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
	query := r.URL.Query()
	limit, err := number(query, "limit", math.MaxInt32, 1, math.MaxInt32)
	if err != nil {
		writeReply(w, parameterRefusal(err))
		return
	}
	f, err := parseFilter(query)
	if err != nil {
		writeReply(w, parameterRefusal(err))
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
	if err == nil && seq > 0 {
		journal := scopeFrom(r).Journal()
		for _, e := range journal.Entries(Filter{After: seq - 1}) {
			if e.Seq == seq {
				writeReply(w, jsonReply(http.StatusOK, shown(e)))
				return
			}
			break
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
	query := r.URL.Query()
	n, err := number(query, "n", 1, 1, int64(s.opts.JournalEntries))
	if err != nil {
		writeReply(w, parameterRefusal(err))
		return
	}
	timeout, err := number(query, "timeoutMs", defaultWait.Milliseconds(), 1, maxWait.Milliseconds())
	if err != nil {
		writeReply(w, parameterRefusal(err))
		return
	}
	f, err := parseFilter(query)
	if err != nil {
		writeReply(w, parameterRefusal(err))
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

// A parameterError is a query parameter that cannot be used.
type parameterError struct{ name, text string }

func (e *parameterError) Error() string { return e.text }

func parameterRefusal(err error) *reply {
	more := map[string]any{}
	if bad, ok := err.(*parameterError); ok {
		more["parameter"] = bad.name
	}
	return refusal(problemParameter, err.Error(), more)
}

// number takes a number out of a query.
func number(query url.Values, name string, otherwise, low, high int64) (int64, error) {
	text := query.Get(name)
	query.Del(name)
	if text == "" {
		return otherwise, nil
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || v < low || v > high {
		return 0, &parameterError{name, fmt.Sprintf("%s is %q; give a number from %d to %d", name, text, low, high)}
	}
	return v, nil
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
	"done":        func(f *Filter, v string) (err error) { f.Done, err = strconv.ParseBool(v); return err },
	"inFlight":    func(f *Filter, v string) (err error) { f.InFlight, err = strconv.ParseBool(v); return err },
	"clientEnded": func(f *Filter, v string) (err error) { f.ClientEnded, err = strconv.ParseBool(v); return err },
	"missed":      func(f *Filter, v string) (err error) { f.Missed, err = strconv.ParseBool(v); return err },
}

// parseFilter reads a filter from a query; what it does not know is an error. An
// empty value, as a form sends it, is no condition.
func parseFilter(query url.Values) (Filter, error) {
	var f Filter
	for name, values := range query {
		set, known := filterParameters[name]
		switch {
		case !known:
			return f, &parameterError{name, fmt.Sprintf("the filter %q is not known; known are %s", name, strings.Join(slices.Sorted(maps.Keys(filterParameters)), ", "))}
		case values[0] == "":
			continue
		}
		if err := set(&f, values[0]); err != nil {
			return f, &parameterError{name, fmt.Sprintf("the filter %s cannot be %q", name, values[0])}
		}
	}
	return f, nil
}
