package mockbackend

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// maxNear is how many near stubs a miss tells of.
const maxNear = 3

// nearPaths gives the stubs whose paths are the least different from the
// request's, and do not match it.
func (x *index) nearPaths(q *request, limit int) []NearStub {
	type near struct {
		stub   *stub
		differ int
	}
	var best []near
	most := (strings.Count(q.path, "/")+1)/2 + 1
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, s := range x.byID {
		differ := pathDifference(q.path, s.Match.Path)
		if differ == 0 || differ > most {
			continue // it matched by path, or has nothing to do with it
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
		list = append(list, NearStub{n.stub.ID, fmt.Sprintf("path is %s, not %s", q.path, n.stub.Match.Path)})
	}
	return list
}

// pathDifference counts the segments in which a path differs from a pattern.
func pathDifference(path, pattern string) int {
	differ := 0
	for morePath, morePattern := true, true; morePath || morePattern; {
		var have, want string
		onPath, onPattern := morePath, morePattern
		if morePath {
			have, path, morePath = strings.Cut(path, "/")
		}
		if morePattern {
			want, pattern, morePattern = strings.Cut(pattern, "/")
		}
		switch {
		case strings.HasSuffix(want, "...}"):
			return differ
		case onPath != onPattern, have != want && !strings.HasPrefix(want, "{"):
			differ++
		}
	}
	return differ
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
	detail := fmt.Sprintf("No stub and no route answers %s %s.", q.Method, q.path)
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
