package mockbackend

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"example.com/touchstone/schemas"
)

// An InvalidStubError says what in a stub cannot be done and where it is.
type InvalidStubError struct {
	// Pointer is the JSON Pointer (RFC 6901) of the member.
	Pointer string
	Err     error
}

func (e *InvalidStubError) Error() string {
	if e.Pointer == "" {
		return fmt.Sprintf("stub: %v", e.Err)
	}
	return fmt.Sprintf("stub %s: %v", e.Pointer, e.Err)
}

func (e *InvalidStubError) Unwrap() error { return e.Err }

func invalid(pointer, format string, args ...any) error {
	return &InvalidStubError{Pointer: pointer, Err: fmt.Errorf(format, args...)}
}

// pointerEscaper escapes one reference token of a JSON Pointer.
var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// A stub is a schemas.Stub made ready to answer. What each request needs comes
// first and lies together: of ten thousand stubs, none is in the processor's
// cache.
type stub struct {
	schemas.Stub
	idHash  uint64 // of its id, for the journal
	prev    *stub  // in the index, of those with the same literal path, as next
	next    *stub
	conds   []condition
	limit   int64 // how many requests it answers; 0 is any number
	served  atomic.Int64
	cycles  bool
	ends    bool     // with the 404, whatever else would answer but another stub
	replies []*reply // those of a sequence
	only    reply    // the one reply of a stub without a sequence

	path    string    // canonical; of a stub without a pattern
	pattern []segment // nil: the path is literal
	rank    int       // 0 literal, 1 pattern, 2 pattern with a tail
	order   uint64    // of addition
}

type segmentKind int

const (
	literalSegment segmentKind = iota
	anySegment
	tailSegment
)

type segment struct {
	kind segmentKind
	text string // the literal, or the name
}

// compileStub checks a stub and prepares it. files opens file bodies.
func compileStub(in schemas.Stub, files fileReader) (*stub, error) {
	s := &stub{Stub: in, limit: int64(in.Times)}
	if in.Times < 0 {
		return nil, invalid("/times", "is %d; give 1 or more, or leave it out for any number", in.Times)
	}
	if in.Scenario != nil && in.Scenario.Name == "" {
		return nil, invalid("/scenario/name", "is empty")
	}
	if err := checkMethod(in.Match.Method); err != nil {
		return nil, err
	}
	if err := s.compilePath(); err != nil {
		return nil, err
	}
	var err error
	if s.conds, err = compileMatch(in.Match); err != nil {
		return nil, err
	}
	switch {
	case in.Respond != nil && in.Sequence != nil:
		return nil, invalid("/sequence", "cannot stand beside respond; give one of them")
	case in.Respond != nil:
		if err := s.only.compile(*in.Respond, "/respond", s.names(), files); err != nil {
			return nil, err
		}
	case in.Sequence != nil:
		if len(in.Sequence.Responses) == 0 {
			return nil, invalid("/sequence/responses", "is empty")
		}
		switch in.Sequence.Then {
		case "", thenRepeat, thenCycle, thenNotFound:
		default:
			return nil, invalid("/sequence/then", "is %q; give %s, %s or %s", in.Sequence.Then, thenRepeat, thenCycle, thenNotFound)
		}
		s.cycles, s.ends = in.Sequence.Then == thenCycle, in.Sequence.Then == thenNotFound
		if n := int64(len(in.Sequence.Responses)); in.Sequence.Then == thenNotFound && (s.limit == 0 || s.limit > n) {
			s.limit = n
		}
		for i, response := range in.Sequence.Responses {
			r := &reply{}
			if err := r.compile(response, fmt.Sprintf("/sequence/responses/%d", i), s.names(), files); err != nil {
				return nil, err
			}
			s.replies = append(s.replies, r)
		}
	default:
		return nil, invalid("/respond", "is missing; give respond or sequence")
	}
	return s, nil
}

// eachReply calls check with each reply and its JSON Pointer, until an error.
func (s *stub) eachReply(check func(r *reply, at string) error) error {
	if s.replies == nil {
		return check(&s.only, "/respond")
	}
	for i, r := range s.replies {
		if err := check(r, fmt.Sprintf("/sequence/responses/%d", i)); err != nil {
			return err
		}
	}
	return nil
}

// What follows the last response of a sequence.
const (
	thenRepeat   = "repeat-last"
	thenCycle    = "cycle"
	thenNotFound = "not-found"
)

// standardMethods are those of RFC 9110, section 9.3, and of RFC 5789.
var standardMethods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete,
	http.MethodConnect, http.MethodOptions, http.MethodTrace, http.MethodPatch,
}

// checkMethod refuses a method that no client sends by that spelling.
func checkMethod(method string) error {
	if upper := strings.ToUpper(method); upper != method && slices.Contains(standardMethods, upper) {
		return invalid("/match/method", "%q is not %s: methods are case-sensitive (RFC 9110, section 9.1); give %[2]s", method, upper)
	}
	return nil
}

func (s *stub) compilePath() error {
	path := s.Match.Path
	if path == "" {
		s.pattern, s.rank = []segment{{kind: tailSegment}}, 2
		return nil
	}
	if !strings.HasPrefix(path, "/") {
		return invalid("/match/path", "%q does not start with a slash", path)
	}
	if strings.ContainsAny(path, "?#") {
		return invalid("/match/path", "%q holds ? or #; conditions on the query go into match.query", path)
	}
	s.path = canonicalPath(path)
	for _, own := range []string{adminPrefix, scopePrefix} {
		if strings.HasPrefix(s.path, own) {
			return invalid("/match/path", "%q is below %s, which is the mock backend's own and reaches no stub; give another path", path, own)
		}
	}
	if !strings.ContainsAny(path, "{}") {
		return nil
	}
	// As written: an escaped brace is a character of the path.
	parts := strings.Split(path, "/")[1:]
	for i, part := range parts {
		name, isName := strings.CutPrefix(part, "{")
		name, closed := strings.CutSuffix(name, "}")
		tail := strings.HasSuffix(name, "...")
		switch {
		case !strings.ContainsAny(part, "{}"):
			s.pattern = append(s.pattern, segment{literalSegment, canonicalPath(part)})
		case !isName || !closed || strings.TrimSuffix(name, "...") == "" || strings.ContainsAny(name, "{}"):
			return invalid("/match/path", "segment %q: braces hold the name of a whole segment, as in /orders/{id}; those of the path itself are written %%7B and %%7D", part)
		case tail && i < len(parts)-1:
			return invalid("/match/path", "segment %q: only the last one can stand for many", part)
		case tail:
			s.pattern, s.rank = append(s.pattern, segment{tailSegment, strings.TrimSuffix(name, "...")}), 2
		default:
			s.pattern, s.rank = append(s.pattern, segment{anySegment, name}), max(s.rank, 1)
		}
	}
	return nil
}

// names gives the segments that the path names.
func (s *stub) names() []string {
	var names []string
	for _, segment := range s.pattern {
		if segment.text != "" && segment.kind != literalSegment {
			names = append(names, segment.text)
		}
	}
	return names
}

// rejects gives the reason why the stub does not take the request, or "", as a
// condition does. The path has been compared before; whether the stub still
// answers is another question.
func (s *stub) rejects(q *request, scenarios *scenarios, tell bool) string {
	if want := s.Match.Method; want != "" && want != q.Method {
		if !tell {
			return unmet
		}
		return fmt.Sprintf("method is %s, not %s", shorten(q.Method), want)
	}
	for _, cond := range s.conds {
		if why := cond(q, tell); why != "" {
			return why
		}
	}
	if s.Scenario != nil && s.Scenario.State != "" {
		if state := scenarios.state(s.Scenario.Name); state != s.Scenario.State {
			if !tell {
				return unmet
			}
			return fmt.Sprintf("scenario %s is in state %q, not %q", s.Scenario.Name, state, s.Scenario.State)
		}
	}
	return ""
}

func (s *stub) spent() bool { return s.limit > 0 && s.served.Load() >= s.limit }

// claim counts one request and gives the reply to it with its number, or nil
// when another request has taken the last one meanwhile.
func (s *stub) claim() (*reply, int64) {
	n := s.served.Add(1)
	if s.limit > 0 && n > s.limit {
		s.served.Add(-1)
		return nil, 0
	}
	if s.replies == nil {
		return &s.only, n
	}
	i, last := n-1, int64(len(s.replies)-1)
	switch {
	case i <= last:
	case s.cycles:
		i %= last + 1
	default:
		i = last
	}
	return s.replies[i], n
}
