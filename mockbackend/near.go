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
	want := strings.Split(q.path, "/")
	for _, s := range x.all() {
		have := strings.Split(s.Match.Path, "/")
		differ := pathDifference(want, have)
		if differ == 0 || differ > len(want)/2+1 {
			continue // it matched by path, or has nothing to do with it
		}
		best = append(best, near{s, differ})
	}
	slices.SortStableFunc(best, func(a, b near) int { return cmp.Compare(a.differ, b.differ) })
	var list []NearStub
	for _, n := range best[:min(max(limit, 0), len(best))] {
		list = append(list, NearStub{n.stub.ID, fmt.Sprintf("path is %s, not %s", q.path, n.stub.Match.Path)})
	}
	return list
}

// pathDifference counts the segments in which a path differs from a pattern.
func pathDifference(path, pattern []string) int {
	differ := 0
	for i := range max(len(path), len(pattern)) {
		switch {
		case i < len(pattern) && strings.HasSuffix(pattern[i], "...}"):
			return differ
		case i >= len(path) || i >= len(pattern):
			differ++
		case path[i] != pattern[i] && !strings.HasPrefix(pattern[i], "{"):
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
