package mockbackend_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/mockbackend"
	"example.com/touchstone/schemas"
)

func TestJournalRecordsTheRequest(t *testing.T) {
	srv := start(t, mockbackend.Options{BodyBytes: 4})
	id := add(t, srv, `{"match":{"path":"/a b"},"respond":{"status":202,"text":"hello"}}`)
	conn := dial(t, srv,
		"POST /a%20b?x=1&x=%32 HTTP/1.1\r\nhost: mock\r\nX-Z: 1\r\nx-a:  2 \r\nX-z: 3\r\nContent-Length: 10\r\n\r\n0123456789"+
			"PUT /a%20b HTTP/1.1\r\nHost: mock\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: 1\r\n\r\n"+
			"GET /a%20b HTTP/1.1\r\nHost: mock\r\nLast: 1\r\n\r\n")
	defer conn.Close()
	got := wait(t, srv, mockbackend.Filter{Stub: id, Done: true}, 3)
	for i := range got {
		if got[i].Time.IsZero() || got[i].Duration <= 0 {
			t.Errorf("entry %d has no time", i)
		}
		got[i].Time, got[i].Duration = time.Time{}, 0
	}
	sent := mockbackend.Sent{Status: 202, BodyBytes: 5, Phase: mockbackend.PhaseComplete}
	h := func(pairs ...string) (list schemas.StubHeaders) {
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, schemas.StubHeader{Name: pairs[i], Value: pairs[i+1]})
		}
		return list
	}
	want := []mockbackend.Entry{
		{Seq: 1, Method: "POST", Target: "/a%20b?x=1&x=%32", Path: "/a b", Proto: "HTTP/1.1", Stub: id, Done: true, Sent: sent,
			Header: h("host", "mock", "X-Z", "1", "x-a", "2", "X-z", "3", "Content-Length", "10"), Body: []byte("0123"), BodyBytes: 10},
		{Seq: 2, Method: "PUT", Target: "/a%20b", Path: "/a b", Proto: "HTTP/1.1", Stub: id, Done: true, Sent: sent,
			Header: h("Host", "mock", "Transfer-Encoding", "chunked"), Body: []byte("abcd"), BodyBytes: 5},
		{Seq: 3, Method: "GET", Target: "/a%20b", Path: "/a b", Proto: "HTTP/1.1", Stub: id, Done: true, Sent: sent,
			Header: h("Host", "mock", "Last", "1")},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func TestJournalFilters(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	client := newClient(t)
	id := add(t, srv, `{"match":{"path":"/a/1"},"respond":{}}`)
	for _, req := range []string{"GET /a/1", "PUT /a/1", "GET /a/2", "GET /status/204", "GET /a/1"} {
		method, path, _ := strings.Cut(req, " ")
		call(t, client, method, srv.URL()+path, "")
	}
	wait(t, srv, mockbackend.Filter{Done: true}, 5)
	for _, tt := range []struct {
		filter mockbackend.Filter
		want   []uint64
	}{
		{mockbackend.Filter{}, []uint64{1, 2, 3, 4, 5}},
		{mockbackend.Filter{Stub: id}, []uint64{1, 2, 5}},
		{mockbackend.Filter{Stub: id, Method: "PUT"}, []uint64{2}},
		{mockbackend.Filter{Stub: "none"}, nil},
		{mockbackend.Filter{Path: "/a/1", After: 1}, []uint64{2, 5}},
		{mockbackend.Filter{Path: "/a/*"}, []uint64{1, 2, 3, 5}},
		{mockbackend.Filter{Missed: true}, []uint64{3}},
		{mockbackend.Filter{ClientEnded: true}, nil},
	} {
		var got []uint64
		for _, e := range srv.Journal().Entries(tt.filter) {
			got = append(got, e.Seq)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.filter, diff)
		}
	}
	miss := srv.Journal().Entries(mockbackend.Filter{Missed: true})[0]
	if diff := cmp.Diff([]mockbackend.NearStub{{Stub: id, Reason: "path is /a/2, not /a/1"}}, miss.Near); diff != "" {
		t.Errorf("near stubs (-want +got):\n%s", diff)
	}
}

func TestJournalIsBounded(t *testing.T) {
	srv := start(t, mockbackend.Options{JournalEntries: 3, JournalBytes: 10_000})
	client := newClient(t)
	a := add(t, srv, `{"match":{"path":"/a"},"respond":{}}`)
	b := add(t, srv, `{"match":{"path":"/b"},"respond":{}}`)
	check := func(wantA, wantB int, dropped uint64) {
		t.Helper()
		gotA := len(srv.Journal().Entries(mockbackend.Filter{Stub: a}))
		gotB := len(srv.Journal().Entries(mockbackend.Filter{Stub: b}))
		all := len(srv.Journal().Entries(mockbackend.Filter{}))
		if gotA != wantA || gotB != wantB || all != wantA+wantB || srv.Journal().Dropped() != dropped {
			t.Errorf("%d of a, %d of b, %d in all, %d dropped; want %d, %d and %d", gotA, gotB, all, srv.Journal().Dropped(), wantA, wantB, dropped)
		}
	}
	for range 2 {
		call(t, client, "GET", srv.URL()+"/a", "")
	}
	check(2, 0, 0)
	for range 2 {
		call(t, client, "GET", srv.URL()+"/b", "")
	}
	check(1, 2, 1)
	call(t, client, "POST", srv.URL()+"/b", strings.Repeat("8", 8000))
	check(0, 3, 2)
	call(t, client, "POST", srv.URL()+"/a", strings.Repeat("3", 3000))
	check(1, 0, 5)
	call(t, client, "POST", srv.URL()+"/b", strings.Repeat("7", 6000))
	check(1, 1, 5)
	srv.Journal().Clear()
	check(0, 0, 0)
}

func TestWaitGivesUp(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	call(t, newClient(t), "GET", srv.URL()+"/status/204", "")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	entries, err := srv.Wait(ctx, mockbackend.Filter{Path: "/status/204"}, 2)
	if len(entries) != 1 || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "waiting for 2 requests, have 1") {
		t.Errorf("got %d entries, %v", len(entries), err)
	}
}

// Cases that own a path, or a body, side by side see only their own.
func TestCasesSideBySide(t *testing.T) {
	srv := start(t, mockbackend.Options{JournalEntries: 200})
	client := newClient(t)
	var wg sync.WaitGroup
	for worker := range 16 {
		wg.Go(func() {
			for i := range 10 {
				n := 100000 + worker*1000 + i
				body := fmt.Sprintf(`{"item":"ts-%d"}`, n)
				for _, c := range []struct{ match, method, path, body string }{
					{fmt.Sprintf(`{"path":"/orders/%d"}`, n), "GET", fmt.Sprintf("/orders/%d", n), ""},
					{`{"method":"POST","path":"/orders","body":{"subset":` + body + `}}`, "POST", "/orders", body},
				} {
					id := add(t, srv, fmt.Sprintf(`{"match":%s,"respond":{"text":"for %d"}}`, c.match, n))
					if got := call(t, client, c.method, srv.URL()+c.path, c.body); got.body != fmt.Sprintf("for %d", n) {
						t.Errorf("case %d got %q", n, got.body)
					}
					if e := srv.Journal().Entries(mockbackend.Filter{Stub: id}); len(e) != 1 || e[0].Path != c.path || string(e[0].Body) != c.body {
						t.Errorf("case %d: the journal has %+v", n, e)
					}
					srv.Remove(id)
				}
			}
		})
	}
	wg.Wait()
	if got := srv.Journal().Dropped(); got != 120 {
		t.Errorf("dropped %d, want 120 of 320", got)
	}
}

// A request is in the journal when its head is, and stays in flight while its
// body stalls.
func TestJournalShowsWhatArrives(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	id := add(t, srv, `{"match":{"path":"/a","body":{"text":"0123456789"}},"respond":{"text":"hi"}}`)
	conn := dial(t, srv, "POST /a HTTP/1.1\r\nHost: mock\r\nContent-Length: 10\r\n\r\n012")
	e := wait(t, srv, mockbackend.Filter{InFlight: true, Path: "/a"}, 1)[0]
	if e.Method != "POST" || len(e.Header) != 2 || e.Sent.Phase != mockbackend.PhaseReceiving || e.Missed() || e.Stub != "" {
		t.Errorf("on arrival: %+v", e)
	}
	if got := srv.Journal().Entries(mockbackend.Filter{Missed: true}); len(got) != 0 {
		t.Errorf("a miss before it is decided: %+v", got)
	}
	if _, err := io.WriteString(conn, "3456789"); err != nil {
		t.Fatal(err)
	}
	e = wait(t, srv, mockbackend.Filter{Stub: id, Done: true}, 1)[0]
	if string(e.Body) != "0123456789" || e.BodyBytes != 10 || e.Sent.Phase != mockbackend.PhaseComplete || e.BodyError != "" {
		t.Errorf("in the end: %+v", e)
	}
	if got := srv.Journal().Entries(mockbackend.Filter{InFlight: true}); len(got) != 0 {
		t.Errorf("still in flight: %+v", got)
	}
}

func TestJournalTellsWhyABodyEnds(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	conn := dial(t, srv, "POST /status/200 HTTP/1.1\r\nHost: mock\r\nContent-Length: 10\r\n\r\n012")
	wait(t, srv, mockbackend.Filter{InFlight: true}, 1)
	conn.Close()
	e := wait(t, srv, mockbackend.Filter{Done: true}, 1)[0]
	if string(e.Body) != "012" || e.BodyBytes != 3 || e.BodyError != "unexpected EOF" || !e.Sent.ClientEnded {
		t.Errorf("the journal has %+v", e)
	}
}

// A client that does not read is seen: the answer is in its body.
func TestJournalShowsASlowReader(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	conn := dial(t, srv, get("/bytes/50000000"))
	e := wait(t, srv, mockbackend.Filter{InFlight: true, Status: 200}, 1)[0]
	if e.Sent.Phase != mockbackend.PhaseBody {
		t.Errorf("the journal has %+v", e.Sent)
	}
	conn.Close()
	e = wait(t, srv, mockbackend.Filter{Done: true}, 1)[0]
	if !e.Sent.ClientEnded || e.Sent.Phase != mockbackend.PhaseBody || e.Sent.BodyBytes >= 50_000_000 {
		t.Errorf("the journal has %+v", e.Sent)
	}
}

// The observer is told of each step, may use the journal, and sees every scope.
func TestObserve(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	var srv *mockbackend.Server
	srv = start(t, mockbackend.Options{Observe: func(e mockbackend.Entry) {
		srv.Journal().Last()
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, fmt.Sprintf("%s %s %s %s %t", e.Scope, e.Method, e.Path, e.Sent.Phase, e.Done))
	}})
	call(t, newClient(t), "GET", srv.URL()+"/status/204", "")
	wait(t, srv, mockbackend.Filter{Done: true}, 1)
	scope := srv.Scope("s")
	call(t, newClient(t), "POST", scope.URL()+"/orders", "{}")
	wait(t, scope, mockbackend.Filter{Done: true}, 1)
	want := []string{
		" GET /status/204 before-status false", " GET /status/204 complete true",
		"s POST /orders receiving false", "s POST /orders before-status false", "s POST /orders complete true",
	}
	// The last call may still be under way.
	for done := false; !done; runtime.Gosched() {
		mu.Lock()
		done = len(seen) >= len(want) || t.Context().Err() != nil
		mu.Unlock()
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("the observer saw (-want +got):\n%s", diff)
	}
}

// An entry that had to make room while its answer is on its way is not an other
// one's when the answer ends.
func TestJournalDropsWhatIsInFlight(t *testing.T) {
	srv := start(t, mockbackend.Options{JournalEntries: 2})
	client := newClient(t)
	conn := dial(t, srv, get("/fault/stall-before-headers"))
	wait(t, srv, mockbackend.Filter{Path: "/fault/*"}, 1)
	for range 2 {
		call(t, client, "GET", srv.URL()+"/status/204", "")
	}
	conn.Close()
	call(t, client, "GET", srv.URL()+"/status/200", "")
	entries := wait(t, srv, mockbackend.Filter{Done: true}, 2)
	if len(entries) != 2 || entries[0].Sent.Status != 204 || entries[1].Sent.Status != 200 || srv.Journal().Dropped() != 2 {
		t.Errorf("%d dropped, left are %+v", srv.Journal().Dropped(), entries)
	}
}
