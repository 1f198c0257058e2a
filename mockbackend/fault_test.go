package mockbackend_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/mockbackend"
)

// faultServer answers /f with the fault around the body "0123456789".
func faultServer(t *testing.T, fault string) (*mockbackend.Server, func() mockbackend.Sent) {
	srv := start(t, mockbackend.Options{})
	id := add(t, srv, `{"match":{"path":"/f"},"respond":{"text":"0123456789","omit":["Date","Content-Type"],"fault":`+fault+`}}`)
	return srv, func() mockbackend.Sent {
		return wait(t, srv, mockbackend.Filter{Stub: id, Done: true}, 1)[0].Sent
	}
}

func checkSent(t *testing.T, got mockbackend.Sent, status int, bodyBytes int64, phase string, clientEnded bool) {
	t.Helper()
	if got.Status != status || got.BodyBytes != bodyBytes || got.Phase != phase || got.ClientEnded != clientEnded {
		t.Errorf("the journal says %+v; want status %d, %d bytes, phase %s, client ended %t", got, status, bodyBytes, phase, clientEnded)
	}
}

func TestStallBeforeHeaders(t *testing.T) {
	srv, sent := faultServer(t, `{"kind":"stall-before-headers"}`)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		// The request is in when its entry is.
		_, _ = srv.Wait(ctx, mockbackend.Filter{Path: "/f"}, 1)
		cancel()
	}()
	req, err := http.NewRequestWithContext(ctx, "GET", srv.URL()+"/f", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newClient(t).Do(req); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want the cancellation", err)
	}
	checkSent(t, sent(), 0, 0, mockbackend.PhaseBeforeStatus, true)
}

func TestStallEndsByItself(t *testing.T) {
	srv, sent := faultServer(t, `{"kind":"stall-before-headers","durationMs":1}`)
	if got := rawGet(t, srv, "/f"); got != "" {
		t.Errorf("got %q, want a close without a byte", got)
	}
	checkSent(t, sent(), 0, 0, mockbackend.PhaseBeforeStatus, false)
}

func TestStallInBody(t *testing.T) {
	srv, sent := faultServer(t, `{"kind":"stall-in-body","afterBytes":3}`)
	conn := dial(t, srv, get("/f"))
	r := bufio.NewReader(conn)
	if head := readHead(t, r); head != "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\n" {
		t.Errorf("head %q", head)
	}
	got := make([]byte, 3)
	if _, err := io.ReadFull(r, got); err != nil || string(got) != "012" {
		t.Fatalf("got %q, %v", got, err)
	}
	if e := srv.Journal().Entries(mockbackend.Filter{Path: "/f"}); len(e) != 1 || e[0].Done {
		t.Errorf("the journal does not show the request in flight: %+v", e)
	}
	if err := conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := r.Read(got); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("%d more bytes or an end (%v) in place of a stall", n, err)
	}
	conn.Close()
	checkSent(t, sent(), 200, 3, mockbackend.PhaseBody, true)
}

func TestDrip(t *testing.T) {
	srv, sent := faultServer(t, `{"kind":"drip","bytes":4,"intervalMs":20}`)
	if got := call(t, newClient(t), "GET", srv.URL()+"/f", ""); got.body != "0123456789" {
		t.Errorf("got %q", got.body)
	}
	checkSent(t, sent(), 200, 10, mockbackend.PhaseComplete, false)
	// Three pieces, two intervals.
	if took := srv.Journal().Entries(mockbackend.Filter{Path: "/f"})[0].Duration; took < 40*time.Millisecond {
		t.Errorf("took %v, want two intervals of 20 ms", took)
	}
}

// What breaks off, and where, byte by byte.
func TestBrokenOffAnswers(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\n"
	const chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
	for _, tt := range []struct {
		fault, got, phase string
		status            int
		body              int64
	}{
		{`{"kind":"half-status-line"}`, "HTTP/1.1 2", mockbackend.PhaseHead, 0, 0},
		{`{"kind":"half-headers"}`, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnecti", mockbackend.PhaseHead, 0, 0},
		{`{"kind":"stall-after-headers","durationMs":1}`, head, mockbackend.PhaseHeadSent, 200, 0},
		{`{"kind":"stall-in-body","afterBytes":4,"durationMs":1}`, head + "0123", mockbackend.PhaseBody, 200, 4},
		{`{"kind":"stall-in-chunk-header","afterBytes":4,"durationMs":1}`, chunks + "4\r\n0123\r\n1", mockbackend.PhaseBody, 200, 4},
		{`{"kind":"truncated-body","afterBytes":9}`, head + "012345678", mockbackend.PhaseBody, 200, 9},
		{`{"kind":"missing-last-chunk"}`, chunks + "a\r\n0123456789\r\n", mockbackend.PhaseBody, 200, 10},
		{`{"kind":"malformed-chunk"}`, chunks + "5\r\n01234\r\nzz\r\nnot a chunk\r\n", mockbackend.PhaseBody, 200, 5},
		{`{"kind":"content-length-too-long","bytes":3}`, strings.Replace(head, "10", "13", 1) + "0123456789", mockbackend.PhaseComplete, 200, 10},
		{`{"kind":"content-length-too-short"}`, strings.Replace(head, "10", "5", 1) + "0123456789", mockbackend.PhaseComplete, 200, 10},
		{`{"kind":"content-length-twice"}`, strings.Replace(head, "10\r\n", "10\r\nContent-Length: 11\r\n", 1) + "0123456789", mockbackend.PhaseComplete, 200, 10},
	} {
		srv, sent := faultServer(t, tt.fault)
		if diff := cmp.Diff(tt.got, rawGet(t, srv, "/f")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.fault, diff)
		}
		checkSent(t, sent(), tt.status, tt.body, tt.phase, false)
	}
}

// The faults of a listener are a redirect away, in whatever scope.
func TestListenerFaultRoutes(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	for kind := range mockbackend.ListenerKinds() {
		url, err := srv.FaultyURL(kind)
		if err != nil {
			t.Fatal(err)
		}
		for _, base := range []string{"", "/__scope/a"} {
			got := call(t, newClient(t), "GET", srv.URL()+base+"/fault/"+kind, "")
			if got.status != http.StatusTemporaryRedirect || got.header.Get("Location") != url+base+"/status/200" {
				t.Errorf("%s: %d, %s", kind, got.status, got.header.Get("Location"))
			}
		}
	}
	// A listener that lets a request through serves the same stubs.
	add(t, srv, `{"match":{"path":"/a"},"respond":{"text":"hi"}}`)
	url, err := srv.FaultyURL("tls-expired")
	if err != nil {
		t.Fatal(err)
	}
	client := clientFor(t, srv, true)
	client.Transport.(*http.Transport).TLSClientConfig.InsecureSkipVerify = true
	if got := call(t, client, "GET", url+"/a", ""); got.body != "hi" {
		t.Errorf("got %+v", got)
	}
	mock := mockbackend.New(mockbackend.Options{})
	defer mock.Close()
	if _, err := mock.FaultyURL("refuse"); err == nil || !strings.Contains(err.Error(), "handler only") {
		t.Errorf("a handler gives %v", err)
	}
}

// A drip is seen piece by piece: the first is there while the rest is not.
func TestDripComesInPieces(t *testing.T) {
	srv, sent := faultServer(t, `{"kind":"drip","bytes":4,"intervalMs":3600000}`)
	resp, err := newClient(t).Get(srv.URL() + "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	first := make([]byte, 4)
	if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != "0123" {
		t.Fatalf("got %q, %v", first, err)
	}
	resp.Body.Close()
	checkSent(t, sent(), 200, 4, mockbackend.PhaseBody, true)
}

func TestCloseBeforeHeaders(t *testing.T) {
	srv, sent := faultServer(t, `{"kind":"close-before-headers"}`)
	if got := rawGet(t, srv, "/f"); got != "" {
		t.Errorf("got %q", got)
	}
	if _, err := newClient(t).Get(srv.URL() + "/f"); !errors.Is(err, io.EOF) {
		t.Errorf("net/http says %v, want EOF", err)
	}
	checkSent(t, sent(), 0, 0, mockbackend.PhaseBeforeStatus, false)
}

func TestReset(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\n"
	for _, tt := range []struct {
		fault, phase, got string
		status            int
		body              int64
	}{
		{`{"kind":"reset"}`, mockbackend.PhaseBeforeStatus, "", 0, 0},
		{`{"kind":"reset","afterBytes":9}`, mockbackend.PhaseHead, "HTTP/1.1 ", 0, 0},
		{`{"kind":"reset","afterBytes":62}`, mockbackend.PhaseBody, head + "0123", 200, 4},
	} {
		srv, sent := faultServer(t, tt.fault)
		data, err := io.ReadAll(dial(t, srv, get("/f")))
		if !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: reading ends with %v, want a reset", tt.fault, err)
		}
		// What a reset overtakes on its way is lost.
		if !strings.HasPrefix(tt.got, string(data)) {
			t.Errorf("%s: got %q", tt.fault, data)
		}
		checkSent(t, sent(), tt.status, tt.body, tt.phase, false)
	}
}

func TestTruncatedBody(t *testing.T) {
	srv, sent := faultServer(t, `{"kind":"truncated-body"}`)
	resp, err := newClient(t).Get(srv.URL() + "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if string(body) != "01234" || !errors.Is(err, io.ErrUnexpectedEOF) || resp.ContentLength != 10 {
		t.Errorf("got %q of %d, %v", body, resp.ContentLength, err)
	}
	checkSent(t, sent(), 200, 5, mockbackend.PhaseBody, false)
}

func TestMalformedChunk(t *testing.T) {
	srv, sent := faultServer(t, `{"kind":"malformed-chunk"}`)
	resp, err := newClient(t).Get(srv.URL() + "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if string(body) != "01234" || err == nil || !strings.Contains(err.Error(), "invalid byte in chunk length") {
		t.Errorf("got %q, %v", body, err)
	}
	// The client closes when it sees the bad size, which may be before we do.
	got := sent()
	checkSent(t, got, 200, 5, mockbackend.PhaseBody, got.ClientEnded)
}

func TestGarbage(t *testing.T) {
	srv, sent := faultServer(t, `{"kind":"garbage","bytes":100}`)
	if got := rawGet(t, srv, "/f"); len(got) != 100 || !strings.HasPrefix(got, "\x00\xff") {
		t.Errorf("got %q", got)
	}
	if _, err := newClient(t).Get(srv.URL() + "/f"); err == nil || !strings.Contains(err.Error(), "malformed HTTP") {
		t.Errorf("net/http says %v", err)
	}
	checkSent(t, sent(), 0, 0, mockbackend.PhaseBeforeStatus, false)
}

func TestEndlessBody(t *testing.T) {
	srv, sent := faultServer(t, `{"kind":"endless-body","bytes":1000}`)
	resp, err := newClient(t).Get(srv.URL() + "/f")
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.CopyN(io.Discard, resp.Body, 1<<20)
	if err != nil {
		t.Errorf("the body ends after %d bytes: %v", n, err)
	}
	resp.Body.Close()
	got := sent()
	if got.BodyBytes < 1<<20 || got.Phase != mockbackend.PhaseBody || !got.ClientEnded || !strings.HasPrefix(got.Error, "fault endless-body: ") {
		t.Errorf("the journal says %+v", got)
	}
}

func TestRedirectLoop(t *testing.T) {
	srv, sent := faultServer(t, `{"kind":"redirect-loop"}`)
	client := newClient(t)
	client.CheckRedirect = nil
	_, err := client.Get(srv.URL() + "/f?a=b")
	if err == nil || !strings.Contains(err.Error(), "stopped after 10 redirects") {
		t.Errorf("net/http says %v", err)
	}
	if got := call(t, newClient(t), "GET", srv.URL()+"/f?a=b&hop=4", ""); got.status != 302 || got.header.Get("Location") != "/f?a=b&hop=5" {
		t.Errorf("got %+v", got)
	}
	if got := sent(); got.Fault != "redirect-loop" || got.Phase != mockbackend.PhaseComplete {
		t.Errorf("the journal says %+v", got)
	}
}

func TestWrongContentType(t *testing.T) {
	srv, _ := faultServer(t, `{"kind":"wrong-content-type"}`)
	// A number with a leading zero is not JSON.
	if got := call(t, newClient(t), "GET", srv.URL()+"/f", ""); got.header.Get("Content-Type") != "application/json" || got.body != "0123456789" {
		t.Errorf("got %+v", got)
	}
	if got := call(t, newClient(t), "GET", srv.URL()+"/fault/wrong-content-type", ""); got.header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("got %+v", got)
	}
}

func TestDelay(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	id := add(t, srv, `{"match":{"path":"/slow"},"respond":{"delay":{"ms":30},"text":"hi"}}`)
	begin := time.Now()
	if got := call(t, newClient(t), "GET", srv.URL()+"/slow", ""); got.body != "hi" || time.Since(begin) < 30*time.Millisecond {
		t.Errorf("got %q after %v", got.body, time.Since(begin))
	}
	if e := srv.Journal().Entries(mockbackend.Filter{Stub: id}); e[0].Time.Before(begin) {
		t.Errorf("received at %v, sent at %v", e[0].Time, begin)
	}
}

// A client that leaves ends the delay, and so does the server.
func TestDelayEnds(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	id := add(t, srv, `{"match":{"path":"/slow"},"respond":{"delay":{"ms":3600000},"text":"hi"}}`)
	conn := dial(t, srv, get("/slow"))
	wait(t, srv, mockbackend.Filter{Stub: id}, 1)
	conn.Close()
	e := wait(t, srv, mockbackend.Filter{Stub: id, Done: true}, 1)[0]
	checkSent(t, e.Sent, 0, 0, mockbackend.PhaseBeforeStatus, true)
}

// Close ends everything at once, whatever is being answered.
func TestCloseEndsAll(t *testing.T) {
	srv, err := mockbackend.Start(mockbackend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{"/delay/3600000", "/fault/stall-before-headers", "/fault/stall-in-body", "/fault/drip?intervalMs=3600000", "/fault/endless-body"}
	for _, path := range paths {
		dial(t, srv, get(path)) // which does not read
	}
	dial(t, srv, "") // idle
	dial(t, srv, "GET / HT")
	wait(t, srv, mockbackend.Filter{}, len(paths))
	closed := make(chan error, 1)
	go func() { closed <- srv.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Errorf("closing: %v", err)
		}
	case <-time.After(patience):
		t.Fatal("Close hangs")
	}
	for _, e := range srv.Journal().Entries(mockbackend.Filter{}) {
		if !e.Done || e.Sent.ClientEnded {
			t.Errorf("%s after Close: %+v", e.Target, e.Sent)
		}
	}
	if err := srv.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
}
