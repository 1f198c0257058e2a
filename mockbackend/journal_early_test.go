package mockbackend_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"example.com/touchstone/mockbackend"
)

// TestObserveToTheEnd: an observer hears of the end of a request that the
// journal no longer holds: it has made room, or was cleared away.
func TestObserveToTheEnd(t *testing.T) {
	for name, forget := range map[string]func(t *testing.T, srv *mockbackend.Server){
		"full":    func(t *testing.T, srv *mockbackend.Server) { call(t, newClient(t), "GET", srv.URL()+"/status/204", "") },
		"cleared": func(_ *testing.T, srv *mockbackend.Server) { srv.Journal().Clear() },
		"reset": func(t *testing.T, srv *mockbackend.Server) {
			call(t, newClient(t), "POST", srv.URL()+"/__mock/reset", "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			seen := make(chan string, 10)
			srv := start(t, mockbackend.Options{JournalEntries: 1, Observe: func(e mockbackend.Entry) {
				if e.Path == "/orders" {
					seen <- fmt.Sprintf("%s %q %s %s %t", e.Method, e.Body, e.Route, e.Sent.Phase, e.Done)
				}
			}})
			conn := dial(t, srv, "POST /orders HTTP/1.1\r\nHost: mock\r\nContent-Length: 2\r\n\r\n")
			expect := func(want string) {
				t.Helper()
				select {
				case got := <-seen:
					if got != want {
						t.Errorf("got  %s\nwant %s", got, want)
					}
				case <-time.After(patience):
					t.Fatalf("nothing is said of %s", want)
				}
			}
			expect(`POST ""  receiving false`)
			forget(t, srv)
			if _, err := conn.Write([]byte("{}")); err != nil {
				t.Fatal(err)
			}
			expect(`POST "{}" orders before-status false`)
			expect(`POST "{}" orders complete true`)
		})
	}
}

// TestWaitSaysWhatMadeRoom: more requests came than the journal holds, so that
// the wait for them is in vain, and says why.
func TestWaitSaysWhatMadeRoom(t *testing.T) {
	srv := start(t, mockbackend.Options{JournalEntries: 10, JournalBytes: 2000})
	body := strings.Repeat("x", 700)
	for range 4 {
		call(t, newClient(t), "POST", srv.URL()+"/status/204", body)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	list, err := srv.Wait(ctx, mockbackend.Filter{}, 4)
	if err == nil || len(list) != 2 || !strings.Contains(err.Error(), "waiting for 4 requests, have 2 (2 of all have made room for later ones: the journal holds 10 requests and 2000 bytes)") {
		t.Errorf("%d requests, %v", len(list), err)
	}
}

// TestAfterEverything: nothing comes after the last number that there is.
func TestAfterEverything(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	call(t, newClient(t), "GET", srv.URL()+"/status/204", "")
	if list := srv.Journal().Entries(mockbackend.Filter{After: math.MaxUint64}); len(list) != 0 {
		t.Errorf("%d entries", len(list))
	}
}
