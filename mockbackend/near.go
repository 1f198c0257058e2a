package mockbackend

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// maxNear is how many near stubs a miss tells of.
const maxNear = 3

// nearPaths gives the stubs whose paths are the least different from the
// request's, and do not match it.
func (x *index) nearPaths(q *request, limit int) []NearStub {
	if limit <= 0 {
		return nil
	}
	type near struct {
		stub   *stub
		differ float64
	}
	var best []near
	path := strings.Split(strings.TrimPrefix(plainSegment(q.path), "/"), "/")
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, s := range x.byID {
		differ := s.pathDifference(path)
		if differ > maxDiffer || s.fits(q.path) {
			continue // it has nothing to do with it, or matched by path
		}
		i, _ := slices.BinarySearchFunc(best, near{s, differ}, func(a, b near) int {
			return cmp.Or(cmp.Compare(a.differ, b.differ), cmp.Compare(a.stub.order, b.stub.order))
		})
		if i < limit {
			best = slices.Insert(best, i, near{s, differ})
			best = best[:min(limit, len(best))]
		}
	}
	var list []NearStub
	for _, n := range best {
		list = append(list, NearStub{n.stub.ID, fmt.Sprintf("path is %s, not %s", shorten(q.path), shorten(n.stub.shownPath()))})
	}
	return list
}

// maxDiffer is the part of its segments in which a path may differ from one that
// it is near.
const maxDiffer = 0.5

// shownPath is the path as a request's is shown, where that says the same.
func (s *stub) shownPath() string {
	if s.pattern != nil || strings.ContainsAny(s.path, "{}") {
		return s.Match.Path
	}
	return s.path
}

// fits tells whether a canonical path is the stub's, as the index does.
func (s *stub) fits(path string) bool {
	if s.pattern == nil {
		return path == s.path
	}
	rest, more := strings.TrimPrefix(path, "/"), true
	for _, want := range s.pattern {
		if want.kind == tailSegment {
			return true
		}
		if !more {
			return false
		}
		var have string
		have, rest, more = strings.Cut(rest, "/")
		if want.kind == literalSegment && have != want.text || want.kind == anySegment && have == "" {
			return false
		}
	}
	return !more
}

// pathDifference gives the part, 0 to 1, of the segments in which a path differs
// from the stub's. A slash of either counts, encoded or not.
func (s *stub) pathDifference(path []string) float64 {
	differ, count := 0.0, 0
	compare := func(want string, wild bool) {
		switch {
		case count >= len(path), wild && path[count] == "":
			differ++
		case !wild:
			differ += segmentDifference(path[count], want)
		}
		count++
	}
	if s.pattern == nil {
		for want := range strings.SplitSeq(plainSegment(s.path[1:]), "/") {
			compare(want, false)
		}
	}
	for _, want := range s.pattern {
		if want.kind == tailSegment {
			return differ / float64(max(count, 1)) // the rest fits, and says nothing
		}
		compare(plainSegment(want.text), want.kind == anySegment)
	}
	if more := len(path) - count; more > 0 {
		differ, count = differ+float64(more), len(path)
	}
	return differ / float64(max(count, 1))
}

// segmentDifference is 0 for the same text, at most 0.5 for one that may be a
// slip of the keys, and 1 for another one.
func segmentDifference(a, b string) float64 {
	shorter, longer := min(len(a), len(b)), max(len(a), len(b))
	if a == b {
		return 0
	}
	allowed := max(longer/3, 1)
	if shorter == 0 || longer > 64 || longer-shorter > allowed {
		return 1
	}
	distance := levenshtein.ComputeDistance(a, b)
	if distance > allowed {
		return 1
	}
	return min(float64(distance)/float64(longer), 0.5)
}

// problem is an answer in the form of RFC 9457. more are extension members.
func problem(status int, detail string, more map[string]any) *reply {
	doc := map[string]any{"type": "about:blank", "title": http.StatusText(status), "status": status, "detail": detail}
	for name, value := range more {
		doc[name] = value
	}
	body, err := json.Marshal(doc)
	if err != nil {
		panic("mockbackend: problem details: " + err.Error()) // our own literals
	}
	return newReply(status, "application/problem+json", body)
}

// missReply is the 404 that says which stubs were near, and why they did not
// match.
func missReply(q *request, near []NearStub) *reply {
	detail := fmt.Sprintf("No stub and no route answers %s %s.", shorten(q.Method), shorten(q.path))
	if len(near) == 0 {
		return problem(http.StatusNotFound, detail+" No stub is near it.", nil)
	}
	var reasons []string
	for _, n := range near {
		reasons = append(reasons, n.Stub+": "+n.Reason)
	}
	return problem(http.StatusNotFound, detail+" Near: "+strings.Join(reasons, "; ")+".", map[string]any{"near": near})
}

// maxShown bounds what a reason repeats of a request, in bytes.
const maxShown = 200

// shorten gives the start of a text that is too long to repeat.
func shorten(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + "…"
}
