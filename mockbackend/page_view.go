package mockbackend

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"example.com/touchstone/schemas"
)

// What the page shows at most.
const (
	pageEntries = 100
	pageStubs   = 200
	pageBody    = 4 << 10 // bytes of a text
	pageDump    = 256     // bytes of another body
)

// A page is what the template shows.
type page struct {
	CSS template.CSS
	JS  template.JS

	Base, Prefix, Scope string
	Tries               []try
	Links               []string
	StubCurl            string

	Locked, WrongToken bool
	Filter             Filter
	FilterError        string
	Filtered           bool
	Counts, StubCounts string
	Entries            []pageEntry
	Stubs              []pageStub
}

func (s *Server) pageOf(q *request, query url.Values) page {
	base := q.origin()
	curl := curlFor(base)
	p := page{
		CSS: template.CSS(pageCSS), JS: template.JS(pageJS),
		Base: base, Prefix: q.base, Scope: q.scope.Key(),
		Tries:    tries(),
		Links:    []string{"/orders", "/orders/1", "/export", "/tenants/acme/report", "/bytes/64"},
		Locked:   !s.authorized(q.Request),
		StubCurl: curl + " " + shellQuote(base+"/__mock/stubs") + " -d '" + sampleStub + "'\n" + curl + " " + shellQuote(base+"/hi"),
	}
	for i := range p.Tries {
		call := curl
		if p.Tries[i].Name == "fault" {
			call = http1(curl, base)
		}
		p.Tries[i].Curl = call + " " + shellQuote(base+p.Tries[i].Sample)
	}
	if p.Locked {
		p.WrongToken = query.Has("token")
		return p
	}
	p.showJournal(q.scope.Journal(), query)
	p.showStubs(q.scope.Stubs())
	return p
}

func (p *page) showJournal(journal *Journal, query url.Values) {
	asked := parameters{query: query, form: true}
	p.Filter = asked.filter()
	if asked.err != nil {
		p.FilterError = "No filter: " + asked.err.text + "."
		p.Filter = Filter{}
	}
	p.Filtered = p.Filter != Filter{}
	last := journal.Last()
	wanted := p.Filter
	if !p.Filtered && last > pageEntries {
		wanted.After = last - pageEntries - 1 // one more, to know that there are more
	}
	entries := journal.Entries(wanted)
	p.Counts = fmt.Sprintf("%s received", count(int(last), "request"))
	if dropped := journal.Dropped(); dropped > 0 {
		p.Counts += fmt.Sprintf(", %d no longer kept", dropped)
	}
	if p.Filtered {
		p.Counts += fmt.Sprintf("; %d pass the filter", len(entries))
	}
	p.Counts += "."
	for _, e := range slices.Backward(entries) {
		if len(p.Entries) == pageEntries {
			p.Counts += fmt.Sprintf(" The latest %d are shown.", pageEntries)
			break
		}
		p.Entries = append(p.Entries, viewEntry(e))
	}
}

func (p *page) showStubs(stubs []schemas.Stub) {
	p.StubCounts = count(len(stubs), "stub") + ". What no stub takes goes to the routes above."
	if len(stubs) > pageStubs {
		p.StubCounts += fmt.Sprintf(" The latest %d are shown.", pageStubs)
	}
	for _, s := range slices.Backward(stubs[max(0, len(stubs)-pageStubs):]) {
		p.Stubs = append(p.Stubs, viewStub(s))
	}
}

func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// A pageEntry is a journal entry in words.
type pageEntry struct {
	Seq                                       uint64
	Clock, Method, Target, Outcome, Class, By string
	Took, Head, BodyText, BodyNote, Sent      string
	Binary                                    bool // BodyText is a dump
	Near                                      []NearStub
}

func viewEntry(e Entry) pageEntry {
	v := pageEntry{
		Seq: e.Seq, Clock: e.Time.Format("15:04:05.000"), Method: e.Method, Target: e.Target, Near: e.Near,
		Outcome: outcome(e), By: answeredBy(e), Class: "good",
	}
	switch {
	case !e.Done || e.Missed() || e.Sent.Status >= 400:
		v.Class = "warn"
	}
	if e.Done {
		v.Took = e.Duration.Round(10 * time.Microsecond).String()
		if e.Sent.Phase != PhaseComplete || e.Sent.Status >= 500 {
			v.Class = "bad"
		}
	}
	var head strings.Builder
	fmt.Fprintf(&head, "%s %s %s", e.Method, e.Target, e.Proto)
	for _, h := range e.Header {
		fmt.Fprintf(&head, "\n%s: %s", h.Name, h.Value)
	}
	v.Head = head.String()
	v.showBody(e)
	v.Sent = describeSent(e)
	return v
}

func (v *pageEntry) showBody(e Entry) {
	if e.BodyBytes == 0 {
		return
	}
	v.BodyNote = count(int(e.BodyBytes), "byte") + " of body"
	limit := pageBody
	if v.Binary = !utf8.Valid(e.Body); v.Binary {
		limit = pageDump
		v.BodyNote += ", which are no text"
	}
	body := e.Body
	if len(body) > limit {
		body = body[:limit]
		v.BodyNote += fmt.Sprintf(", the first %d shown", limit)
	}
	if v.BodyText = string(bytes.ToValidUTF8(body, nil)); v.Binary {
		v.BodyText = hex.Dump(body)
	}
}

// String is an entry on one line, for a person.
func (e Entry) String() string {
	var b strings.Builder
	if e.Scope != "" {
		fmt.Fprintf(&b, "[%s] ", e.Scope)
	}
	fmt.Fprintf(&b, "%s %s -> %s", e.Method, e.Target, outcome(e))
	if e.Done {
		fmt.Fprintf(&b, ", %s in %s", count(int(e.Sent.BodyBytes), "byte"), e.Duration.Round(10*time.Microsecond))
	}
	if by := answeredBy(e); by != "" {
		fmt.Fprintf(&b, " (%s)", by)
	}
	if e.Sent.ClientEnded {
		b.WriteString(", the client ended first")
	}
	for _, near := range e.Near {
		fmt.Fprintf(&b, "; near: %s: %s", near.Stub, near.Reason)
	}
	return onOneLine(b.String())
}

// onOneLine shows what a terminal would act upon instead of printing it.
func onOneLine(text string) string {
	if !strings.ContainsFunc(text, isUnprintable) && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if isUnprintable(r) {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isUnprintable(r rune) bool { return !strconv.IsPrint(r) }

// outcome says what the client got, in a few words.
func outcome(e Entry) string {
	switch {
	case !e.Done:
		return "under way: " + e.Sent.Phase
	case e.Sent.Status == 0:
		return "no answer"
	case e.Sent.Phase != PhaseComplete:
		return fmt.Sprintf("%d, broken off", e.Sent.Status)
	}
	return fmt.Sprint(e.Sent.Status)
}

func answeredBy(e Entry) string {
	var by string
	switch {
	case e.Stub != "":
		by = "stub " + e.Stub
	case e.Route != "":
		by = "route " + e.Route
	case e.Missed():
		by = "missed"
	}
	if e.Sent.Fault != "" {
		by += ", fault " + e.Sent.Fault
	}
	return by
}

func describeSent(e Entry) string {
	parts := []string{fmt.Sprintf("Status %d, %s of body, phase %s", e.Sent.Status, count(int(e.Sent.BodyBytes), "byte"), e.Sent.Phase)}
	if e.Sent.Status == 0 {
		parts[0] = "No status, phase " + e.Sent.Phase
	}
	if e.Sent.Fault != "" {
		parts = append(parts, "fault "+e.Sent.Fault)
	}
	if e.Sent.ClientEnded {
		parts = append(parts, "the client ended first")
	}
	if e.Sent.Error != "" {
		parts = append(parts, e.Sent.Error)
	}
	return strings.Join(parts, "; ") + "."
}

// A pageStub is a stub in words.
type pageStub struct{ ID, Method, Path, Answers, JSON string }

func viewStub(s schemas.Stub) pageStub {
	v := pageStub{ID: s.ID, Method: s.Match.Method, Path: s.Match.Path}
	if v.Method == "" {
		v.Method = "any method"
	}
	if v.Path == "" {
		v.Path = "any path"
	}
	switch {
	case s.Sequence != nil:
		v.Answers = count(len(s.Sequence.Responses), "answer") + " in turn"
	case s.Respond.Fault != nil:
		v.Answers = "fault " + s.Respond.Fault.Kind
	default:
		v.Answers = fmt.Sprint(max(s.Respond.Status, 200))
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(s); err != nil {
		v.JSON = err.Error()
		return v
	}
	v.JSON = strings.TrimSpace(text.String())
	return v
}

// A try is a form for one of the ready-made routes.
type try struct {
	Name, Title, About string
	Fields             []tryField
	Selected           string
	Details            []tryDetail
	Sample, Curl       string
}

// A tryDetail explains an option. What is none of the form has a link.
type tryDetail struct{ Name, About, Link string }

type tryField struct {
	Name, Label     string
	Options         []string
	Value, Min, Max int
}

// rest are the fields besides the argument in the path.
func (t try) rest(query url.Values) url.Values {
	rest := url.Values{}
	for _, f := range t.Fields {
		if f.Name != "arg" && query.Get(f.Name) != "" {
			rest.Set(f.Name, query.Get(f.Name))
		}
	}
	return rest
}

func tries() []try {
	leaks := make([]string, len(leakClasses))
	for i, class := range leakClasses {
		leaks[i] = class.slug
	}
	kinds := slices.Sorted(maps.Keys(faultKinds))
	faults := make([]tryDetail, len(kinds), len(kinds)+len(listenerKinds))
	for i, kind := range kinds {
		faults[i] = tryDetail{Name: kind, About: faultKinds[kind].about}
	}
	// These lead to another port, where the policy of the page lets no form go.
	for _, kind := range slices.Sorted(maps.Keys(listenerKinds)) {
		faults = append(faults, tryDetail{kind, listenerKinds[kind].about, "/fault/" + kind})
	}
	return []try{
		{Name: "status", Title: "A status", About: "Any final status, with a body in one of the usual shapes.", Selected: "problem", Sample: "/status/422?body=fields",
			Fields: []tryField{{Name: "arg", Label: "Status", Value: 404, Min: 200, Max: 999}, {Name: "body", Label: "Body", Options: slices.Sorted(maps.Keys(bodyStyles))}}},
		{Name: "leak", Title: "A leak", About: "A 400 whose detail shows what a client must not pass on.", Selected: "connection-string", Sample: "/leak/connection-string",
			Fields: []tryField{{Name: "arg", Label: "Class", Options: leaks}}},
		{Name: "delay", Title: "A delay", About: "An answer that takes its time.", Sample: "/delay/3000",
			Fields: []tryField{{Name: "arg", Label: "Milliseconds", Value: 3000, Min: 0, Max: int(maxRouteDelay.Milliseconds())}}},
		{Name: "fault", Title: "A fault", About: "Something that goes wrong on the wire.", Selected: "reset", Details: faults, Sample: "/fault/reset",
			Fields: []tryField{{Name: "arg", Label: "Kind", Options: kinds}}},
	}
}

func shellQuote(s string) string {
	if strings.ContainsFunc(s, isShellSpecial) {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}

func isShellSpecial(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_./:,=+@%", r)
}
