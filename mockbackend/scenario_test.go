package mockbackend_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"example.com/touchstone/mockbackend"
	"example.com/touchstone/schemas"
)

// TestScenarioTogether: of two stubs for the two states of a scenario one always
// answers, however many ask at once, and a sequence gives each of its answers
// once and in turn.
func TestScenarioTogether(t *testing.T) {
	const askers, each = 8, 200
	srv := start(t, mockbackend.Options{StubsOnly: true})
	var responses []schemas.StubResponse
	for i := range askers * each / 2 {
		responses = append(responses, *text(fmt.Sprint(i)))
	}
	for _, stub := range []schemas.Stub{
		{Priority: 1, Match: schemas.StubMatch{Path: "/a"}, Scenario: &schemas.StubScenario{Name: "n", State: "started", Next: "two"}, Sequence: &schemas.StubSequence{Responses: responses, Then: "not-found"}},
		{Match: schemas.StubMatch{Path: "/a"}, Scenario: &schemas.StubScenario{Name: "n", State: "two", Next: "started"}, Respond: text("between")},
	} {
		if _, err := srv.Add(stub); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	answers := map[string]int{}
	var asking sync.WaitGroup
	for range askers {
		client := newClient(t)
		asking.Go(func() {
			for range each {
				got := call(t, client, "GET", srv.URL()+"/a", "")
				mu.Lock()
				answers[got.body]++
				mu.Unlock()
			}
		})
	}
	asking.Wait()
	if answers["between"] != askers*each/2 || len(answers) != askers*each/2+1 {
		t.Errorf("%d answers of the second stub, %d different ones in all: %v", answers["between"], len(answers), answers)
	}
}

// TestSequenceThenNotFound: the end of a sequence is the 404, on the path of a
// ready-made route too; another stub comes before it.
func TestSequenceThenNotFound(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	client := newClient(t)
	add(t, srv, `{"id":"once","match":{"method":"GET","path":"/orders/1"},"sequence":{"responses":[{"status":503}],"then":"not-found"}}`)
	add(t, srv, `{"match":{"path":"/orders/2"},"times":1,"respond":{"status":503}}`)
	for _, tc := range []struct {
		method, path string
		status       int
		says         string
	}{
		{"GET", "/orders/1", 503, ""},
		{"GET", "/orders/1", 404, "once: has answered its last request"},
		{"GET", "/orders/1", 404, "once"},
		{"HEAD", "/orders/1", 200, ""}, // is none of the sequence's
		{"GET", "/orders/2", 503, ""},
		{"GET", "/orders/2", 200, ""}, // times ends the stub, not the path
	} {
		got := call(t, client, tc.method, srv.URL()+tc.path, "")
		if got.status != tc.status || !strings.Contains(got.body, tc.says) {
			t.Errorf("%s %s: %d %s, want %d with %q", tc.method, tc.path, got.status, got.body, tc.status, tc.says)
		}
	}
	add(t, srv, `{"priority":-1,"match":{"path":"/orders/1"},"respond":{"status":202}}`)
	if got := call(t, client, http.MethodGet, srv.URL()+"/orders/1", ""); got.status != http.StatusAccepted {
		t.Errorf("with another stub: %d", got.status)
	}
}
