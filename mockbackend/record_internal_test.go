package mockbackend

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// headsOnly is a backend without bodies.
type headsOnly struct{ header http.Header }

func (h headsOnly) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: h.header, Body: http.NoBody, Request: r}, nil
}

// Exchanges without bodies fill a recording too, by their number and by their
// heads.
func TestRecordingIsBounded(t *testing.T) {
	for _, tt := range []struct {
		name        string
		header      http.Header
		room        int64
		least, most int
	}{
		{"number", http.Header{}, 100 << 10, 10, 100},
		{"heads", http.Header{"X-Long": {strings.Repeat("x", 8<<20)}}, maxRecordedBytes, 60, 64},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var last Recorded
			rec, err := NewRecorder("http://shop.test", RecorderOptions{KeepSecrets: true, Transport: headsOnly{tt.header}, Done: func(r Recorded) { last = r }})
			if err != nil {
				t.Fatal(err)
			}
			rec.room = tt.room
			n := 0
			for ; n <= tt.most && last.Skipped == nil; n++ {
				rec.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/a", nil))
				rec.queue.wait()
			}
			if last.Skipped == nil || !strings.Contains(last.Skipped.Error(), "full") || n <= tt.least {
				t.Errorf("after %d exchanges: %v", n, last.Skipped)
			}
		})
	}
}

// bigAnswers is a backend whose bodies fill a queue.
type bigAnswers struct{ size int }

func (b bigAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	body := io.NopCloser(strings.NewReader(strings.Repeat("x", b.size)))
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: body, Request: r}, nil
}

// No client waits for its exchange to be recorded, until too much of it waits.
func TestRecordingIsBehindTheAnswers(t *testing.T) {
	held, release := make(chan struct{}), make(chan struct{})
	var hold sync.Once
	rec, err := NewRecorder("http://shop.test", RecorderOptions{Transport: bigAnswers{1 << 10}, Done: func(Recorded) {
		hold.Do(func() { close(held); <-release })
	}})
	if err != nil {
		t.Fatal(err)
	}
	rec.queue.room = 10 << 10
	answered := make(chan int)
	const all = 30
	go func() {
		for i := range all {
			rec.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, fmt.Sprint("/", i), nil))
			answered <- i
		}
	}()
	<-held
	for i := range 10 {
		if got := <-answered; got != i {
			t.Fatalf("answer %d comes as %d", got, i)
		}
	}
	select {
	case n := <-answered:
		t.Errorf("answer %d does not wait, though the queue is full", n)
	default:
	}
	close(release)
	for range all - 10 {
		<-answered
	}
	stubs := rec.Stubs()
	for i, s := range stubs {
		if s.Match.Path != fmt.Sprint("/", i) {
			t.Errorf("stub %d is that of %s", i, s.Match.Path)
		}
	}
	if len(stubs) != all {
		t.Errorf("%d of %d are recorded when Stubs is called", len(stubs), all)
	}
}

// Texts that begin a form or a tag again and again take no longer than others: in
// a time that grows with the square, these would take hours.
func TestRecordingOfHostileTexts(t *testing.T) {
	s := newRedactor(nil)
	var secrets strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&secrets, "<password%d>\n", i)
	}
	for _, piece := range []string{secrets.String(), "pwd=[\n", "eyJ-", "eyJ.", "<a ", "host=", "?a", "://", "a://b", "bearer ", "-----BEGIN PRIVATE KEY-----", "<password>", "sk-", "=", "a:"} {
		if got := s.document(strings.Repeat(piece, 1+1<<20/len(piece))); got == "" {
			t.Errorf("%.9s: nothing is left", piece)
		}
	}
}

// What goes wrong when an exchange is recorded ends neither the process nor the
// recording.
func TestRecordingSurvivesPanics(t *testing.T) {
	var all []Recorded
	rec, err := NewRecorder("http://shop.test", RecorderOptions{Transport: bigAnswers{1}, Done: func(r Recorded) { all = append(all, r) }})
	if err != nil {
		t.Fatal(err)
	}
	byKey := rec.byKey
	for _, broken := range []bool{true, false} {
		if rec.byKey = byKey; broken {
			rec.byKey = nil
		}
		rec.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/a", nil))
		rec.queue.wait()
	}
	if len(all) != 2 || all[0].Skipped == nil || all[1].Skipped != nil || len(rec.Stubs()) != 1 {
		t.Errorf("exchanges %+v, stubs %+v", all, rec.Stubs())
	}
}
