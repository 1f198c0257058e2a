package mockbackend_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/mockbackend"
)

// Two hundred tests share a server: stubs with the same id and path, a
// scenario, counters, orders and journals, half of them named by the path and
// half by the header.
func TestScopesStayApart(t *testing.T) {
	const scopes, rounds = 200, 3
	srv := start(t, mockbackend.Options{})
	client := newClient(t)
	var wg sync.WaitGroup
	for n := range scopes {
		wg.Go(func() {
			scope := srv.Scope(fmt.Sprintf("test %d", n))
			base, headers := scope.URL(), []string(nil)
			if n%2 == 1 {
				base, headers = srv.URL(), []string{mockbackend.ScopeHeader, scope.Key()}
			}
			get := func(path, want string) {
				t.Helper()
				if got := call(t, client, "GET", base+path, "", headers...); got.body != want {
					t.Errorf("scope %d: %s answers %q, want %q", n, path, got.body, want)
				}
			}
			for round := range rounds {
				for _, stub := range []string{
					fmt.Sprintf(`{"id":"a","match":{"path":"/a"},"respond":{"text":"%d"}}`, n),
					`{"id":"seq","match":{"path":"/seq"},"sequence":{"responses":[{"text":"1"},{"text":"2"},{"text":"3"}]}}`,
					`{"id":"closed","match":{"path":"/door"},"scenario":{"name":"door","state":"started","next":"open"},"respond":{"text":"closed"}}`,
					`{"id":"open","match":{"path":"/door"},"scenario":{"name":"door","state":"open"},"respond":{"text":"open"}}`,
				} {
					s, err := mockbackend.DecodeStub([]byte(stub))
					if err != nil {
						t.Error(err)
						return
					}
					if _, err := scope.Add(s); err != nil {
						t.Error(err)
						return
					}
				}
				get("/a", fmt.Sprint(n))
				for _, want := range []string{"1", "2", "3"} {
					get("/seq", want)
				}
				get("/door", "closed")
				get("/door", "open")
				if got := call(t, client, "POST", base+"/orders", `{"item":"x","quantity":1}`, append(headers, "Content-Type", "application/json")...); !strings.HasPrefix(got.body, `{"id":4,`) {
					t.Errorf("scope %d: order %s", n, got.body)
				}
				if got := len(scope.Stubs()); got != 4 {
					t.Errorf("scope %d has %d stubs", n, got)
				}
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				entries, err := scope.Wait(ctx, mockbackend.Filter{Done: true, After: uint64(7 * round)}, 7)
				cancel()
				if err != nil || len(entries) != 7 || entries[0].Seq != uint64(7*round+1) {
					t.Errorf("scope %d: %d entries, %v", n, len(entries), err)
					return
				}
				for i, path := range []string{"/a", "/seq", "/seq", "/seq", "/door", "/door", "/orders"} {
					if entries[i].Path != path || entries[i].Scope != scope.Key() {
						t.Errorf("scope %d: entry %d is %s of scope %q", n, i, entries[i].Path, entries[i].Scope)
					}
				}
				scope.Reset()
			}
		})
	}
	wg.Wait()
	if got := len(srv.Scopes()); got != scopes {
		t.Errorf("%d scopes", got)
	}
	if got := srv.Journal().Last(); got != 0 {
		t.Errorf("%d requests in the default scope", got)
	}
	if got := call(t, client, "GET", srv.URL()+"/a", ""); got.status != http.StatusNotFound {
		t.Errorf("the default scope answers %d", got.status)
	}
}

// A scope is found by its path before its header, and the rest of the path is
// what stubs see.
func TestScopeOfARequest(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	client := newClient(t)
	add(t, srv, `{"match":{"path":"/who"},"respond":{"text":"default"}}`)
	for key, text := range map[string]string{"a": "A", "b/c %": "B"} {
		if _, err := srv.Scope(key).Add(mustStub(t, `{"match":{"path":"/who"},"respond":{"text":"`+text+`"}}`)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ path, header, want string }{
		{"/who", "", "default"},
		{"/who", "a", "A"},
		{"/__scope/a/who", "", "A"},
		{"/__scope/a/who", "b/c %", "A"},
		{"/__scope/b%2Fc%20%25/who?x=1", "", "B"},
	} {
		var headers []string
		if tt.header != "" {
			headers = []string{mockbackend.ScopeHeader, tt.header}
		}
		if got := call(t, client, "GET", srv.URL()+tt.path, "", headers...); got.body != tt.want {
			t.Errorf("%s, header %q: %s, want %s", tt.path, tt.header, got.body, tt.want)
		}
	}
	entry := srv.Scope("b/c %").Journal().Entries(mockbackend.Filter{})[0]
	if entry.Target != "/__scope/b%2Fc%20%25/who?x=1" || entry.Path != "/who" {
		t.Errorf("the journal has %s as %s", entry.Target, entry.Path)
	}
	// What points back into the server stays in the scope.
	if got := call(t, client, "GET", srv.URL()+"/__scope/a/status/302", ""); got.header.Get("Location") != "/__scope/a/orders/1" {
		t.Errorf("a redirect leads to %s", got.header.Get("Location"))
	}
	for path, says := range map[string]string{
		"/__scope//x": "names no scope",
		"/__scope/" + strings.Repeat("k", 201) + "/": "at most 200",
	} {
		if got := call(t, client, "GET", srv.URL()+path, ""); got.status != 400 || !strings.Contains(got.body, says) {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	if got := srv.Scope("").Key(); got != "" || srv.Scope("").URL() != srv.URL() {
		t.Errorf("the empty key gives the scope %q", got)
	}
}

// Requests can make a thousand scopes; more would be a leak.
func TestScopesAreBounded(t *testing.T) {
	srv := mockbackend.New(mockbackend.Options{})
	defer srv.Close()
	transport, err := srv.Transport()
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: transport}
	for i := range 1000 {
		call(t, client, "GET", fmt.Sprintf("http://mock.test/__scope/%d/status/200", i), "")
	}
	if _, err := client.Get("http://mock.test/__scope/more/"); err == nil || !strings.Contains(err.Error(), "1000 scopes already; drop those") {
		t.Errorf("got %v", err)
	}
	if !srv.DropScope("7") || srv.DropScope("7") {
		t.Error("a scope is dropped once")
	}
	call(t, client, "GET", "http://mock.test/__scope/more/status/200", "")
}

// Dropping a scope ends what it is answering and waiting for, and a new one
// with its key is empty.
func TestDropScope(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	scope := srv.Scope("a")
	if _, err := scope.Add(mustStub(t, `{"match":{"path":"/stall"},"respond":{"fault":{"kind":"stall-before-headers"}}}`)); err != nil {
		t.Fatal(err)
	}
	conn := dial(t, srv, get("/__scope/a/stall"))
	wait(t, srv.Scope("a"), mockbackend.Filter{Path: "/stall"}, 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	failed := make(chan error, 1)
	go func() {
		_, err := scope.Wait(ctx, mockbackend.Filter{}, 2)
		failed <- err
	}()
	srv.DropScope("a")
	if n, err := conn.Read(make([]byte, 1)); err == nil {
		t.Errorf("%d bytes after the scope was dropped", n)
	}
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "the scope was dropped") {
		t.Errorf("waiting ends with %v", err)
	}
	e := wait(t, scope.Journal(), mockbackend.Filter{Done: true}, 1)[0]
	checkSent(t, e.Sent, 0, 0, mockbackend.PhaseBeforeStatus, false)
	if again := srv.Scope("a"); again == scope || len(again.Stubs()) != 0 || again.Journal().Last() != 0 {
		t.Error("the scope lives on")
	}
	if diff := cmp.Diff([]string{"a"}, keys(srv)); diff != "" {
		t.Errorf("scopes (-want +got):\n%s", diff)
	}
}

func keys(srv *mockbackend.Server) (list []string) {
	for _, c := range srv.Scopes() {
		list = append(list, c.Key())
	}
	return list
}

// TestScopeOfAnyKey: a key that is too long for a client to make a scope of may
// be one that a program has made.
func TestScopeOfAnyKey(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	key := strings.Repeat("k", 1000)
	if got := call(t, newClient(t), "GET", srv.URL()+"/__scope/"+key+"/status/204", ""); got.status != 400 || !strings.Contains(got.body, "at most") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := call(t, newClient(t), "GET", srv.Scope(key).URL()+"/status/204", ""); got.status != 204 {
		t.Errorf("%d %s", got.status, got.body)
	}
	client := newClient(t)
	client.CheckRedirect = nil
	for _, path := range []string{"/__mock", "/__mock/", "/__scope/k/__mock"} {
		if got := call(t, client, "GET", srv.URL()+path, ""); got.status != 200 || !strings.Contains(got.body, `"openapi"`) {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}
