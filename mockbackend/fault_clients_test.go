package mockbackend_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/touchstone/mockbackend"
)

// stallPatience is how long curl and Node wait before they call it a stall.
const stallPatience = 3 * time.Second

// A sight is what a client saw.
type sight struct {
	status int // 0: no answer
	body   int // bytes of it
	err    string
}

// anyBody is for clients that hand out what came before an error or do not, as
// the pieces happen to arrive.
const anyBody = -1

// matches compares with what was wanted, whose err is a part of the text.
func (s sight) matches(want sight) bool {
	return s.status == want.status && (s.body == want.body || want.body == anyBody) && strings.Contains(s.err, want.err) && (s.err == "") == (want.err == "")
}

// A faultCase is a fault and what clients see of it. The body behind the fault
// is "0123456789".
type faultCase struct {
	name  string
	fault string // of a stub; empty for the listener of that name
	http2 bool   // over HTTP/2, else HTTP/1.1
	tls   bool
	// stalls tells that a client has to give up.
	stalls      bool
	endless     bool // what a client has to give up on goes on
	labelled    bool // the media type stands in the place of an error
	fetch       bool // Node's fetch in place of node:http
	goes        sight
	curl        int // exit status
	curls, node sight
}

var (
	timedOut = sight{0, 0, "timeout"}
	curl28   = "timed out"
)

func faultCases() []faultCase {
	return []faultCase{
		{name: "stall-before-headers", fault: `{"kind":"stall-before-headers"}`, stalls: true,
			curl: 28, curls: sight{0, 0, "0 bytes received"}, node: timedOut},
		{name: "stall-after-headers", fault: `{"kind":"stall-after-headers"}`, stalls: true,
			goes: sight{200, 0, ""}, curl: 28, curls: sight{200, 0, "0 out of 10 bytes received"}, node: sight{200, 0, "timeout"}},
		{name: "stall-in-body", fault: `{"kind":"stall-in-body","afterBytes":3}`, stalls: true,
			goes: sight{200, 3, ""}, curl: 28, curls: sight{200, 3, "3 out of 10 bytes received"}, node: sight{200, 3, "timeout"}},
		{name: "stall-in-chunk-header", fault: `{"kind":"stall-in-chunk-header","afterBytes":3}`, stalls: true,
			goes: sight{200, 3, ""}, curl: 28, curls: sight{200, 3, "3 bytes received"}, node: sight{200, 3, "timeout"}},
		{name: "drip", fault: `{"kind":"drip","bytes":4,"intervalMs":5}`,
			goes: sight{200, 10, ""}, curls: sight{200, 10, ""}, node: sight{200, 10, ""}},
		{name: "close-before-headers", fault: `{"kind":"close-before-headers"}`,
			goes: sight{0, 0, "EOF"}, curl: 52, curls: sight{0, 0, "Empty reply from server"}, node: sight{0, 0, "ECONNRESET: socket hang up"}},
		{name: "half-status-line", fault: `{"kind":"half-status-line"}`,
			goes: sight{0, 0, `malformed HTTP status code "2"`}, curl: 52, curls: sight{0, 0, "Empty reply from server"}, node: sight{0, 0, "ECONNRESET: socket hang up"}},
		{name: "half-headers", fault: `{"kind":"half-headers"}`,
			goes: sight{0, 0, `missing colon: "Connecti"`}, curl: 18, curls: sight{200, 0, "transfer closed"}, node: sight{0, 0, "ECONNRESET: socket hang up"}},
		{name: "reset", fault: `{"kind":"reset"}`,
			goes: sight{0, 0, "connection reset by peer"}, curl: 56, curls: sight{0, 0, "Connection reset by peer"}, node: sight{0, 0, "ECONNRESET"}},
		{name: "reset in the body", fault: `{"kind":"reset","afterBytes":62}`,
			goes: sight{200, 4, "connection reset by peer"}, curl: 56, curls: sight{200, 4, "Connection reset by peer"}, node: sight{200, 4, "ECONNRESET"}},
		{name: "truncated-body", fault: `{"kind":"truncated-body"}`,
			goes: sight{200, 5, "unexpected EOF"}, curl: 18, curls: sight{200, 5, "5 bytes remaining"}, node: sight{200, 5, "ECONNRESET: aborted"}},
		{name: "content-length-too-long", fault: `{"kind":"content-length-too-long"}`,
			goes: sight{200, 10, "unexpected EOF"}, curl: 18, curls: sight{200, 10, "10 bytes remaining"}, node: sight{200, 10, "ECONNRESET: aborted"}},
		{name: "content-length-too-short", fault: `{"kind":"content-length-too-short","bytes":4}`, fetch: true,
			goes: sight{200, 6, ""}, curls: sight{200, 6, ""}, node: sight{200, 6, ""}},
		{name: "content-length-twice", fault: `{"kind":"content-length-twice"}`,
			goes: sight{0, 0, `multiple Content-Length headers; got ["10" "11"]`}, curl: 18, curls: sight{200, 10, "1 bytes remaining"}, node: sight{0, 0, "HPE_UNEXPECTED_CONTENT_LENGTH"}},
		{name: "malformed-chunk", fault: `{"kind":"malformed-chunk"}`,
			goes: sight{200, 5, "invalid byte in chunk length"}, curl: 56, curls: sight{200, anyBody, "hexadecimal"}, node: sight{200, anyBody, "HPE_INVALID_CHUNK_SIZE"}},
		{name: "missing-last-chunk", fault: `{"kind":"missing-last-chunk"}`,
			goes: sight{200, 10, "unexpected EOF"}, curl: 18, curls: sight{200, 10, "outstanding read data remaining"}, node: sight{200, 10, "ECONNRESET: aborted"}},
		{name: "garbage", fault: `{"kind":"garbage"}`,
			goes: sight{0, 0, "malformed HTTP response"}, curl: 1, curls: sight{0, 0, "HTTP/0.9"}, node: sight{0, 0, "HPE_INVALID_CONSTANT"}},
		{name: "wrong-encoding", fault: `{"kind":"wrong-encoding"}`, fetch: true,
			goes: sight{200, 0, "gzip: invalid header"}, curl: 61, curls: sight{200, 10, "incorrect header check"}, node: sight{200, 0, "Z_DATA_ERROR"}},
		{name: "compressed-bomb", fault: `{"kind":"compressed-bomb","bytes":20000000}`, fetch: true,
			goes: sight{200, 20_000_000, ""}, curls: sight{200, 20_000_000, ""}, node: sight{200, 20_000_000, ""}},
		{name: "endless-body", fault: `{"kind":"endless-body","bytes":1000,"intervalMs":1}`, stalls: true, endless: true,
			goes: sight{200, 50_000, ""}, curl: 28, curls: sight{200, anyBody, "bytes received"}, node: sight{200, anyBody, "timeout"}},
		{name: "wrong-content-type", fault: `{"kind":"wrong-content-type"}`, labelled: true, fetch: true,
			goes: sight{200, 10, "application/json"}, curls: sight{200, 10, "application/json"}, node: sight{200, 10, "application/json"}},
		{name: "redirect-loop", fault: `{"kind":"redirect-loop"}`, fetch: true,
			goes: sight{0, 0, "stopped after 10 redirects"}, curl: 47, curls: sight{302, 0, "redirects followed"}, node: sight{0, 0, "redirect count exceeded"}},

		// HTTP/1.1 over TLS: the same bytes, inside.
		{name: "reset over TLS", fault: `{"kind":"reset","afterBytes":62}`, tls: true,
			goes: sight{200, 4, "connection reset by peer"}, curl: 56, curls: sight{200, 4, "reset"}, node: sight{200, 4, "ECONNRESET"}},
		{name: "truncated-body over TLS", fault: `{"kind":"truncated-body"}`, tls: true,
			goes: sight{200, 5, "unexpected EOF"}, curl: 18, curls: sight{200, 5, "5 bytes remaining"}, node: sight{200, 5, "ECONNRESET: aborted"}},

		{name: "http2-reset-stream", fault: `{"kind":"http2-reset-stream"}`, http2: true,
			goes: sight{0, 0, "stream error: stream ID 1; INTERNAL_ERROR; received from peer"}, curl: 92, curls: sight{0, 0, "INTERNAL_ERROR (err 2)"}, node: sight{0, 0, "ERR_HTTP2_STREAM_ERROR: Stream closed with error code NGHTTP2_INTERNAL_ERROR"}},
		{name: "http2-reset-stream in the body", fault: `{"kind":"http2-reset-stream","afterBytes":3}`, http2: true,
			goes: sight{200, 3, "stream error: stream ID 1; INTERNAL_ERROR; received from peer"}, curl: 92, curls: sight{200, 3, "INTERNAL_ERROR (err 2)"}, node: sight{200, 3, "ERR_HTTP2_STREAM_ERROR: Stream closed with error code NGHTTP2_INTERNAL_ERROR"}},
		{name: "http2-goaway", fault: `{"kind":"http2-goaway"}`, http2: true,
			goes: sight{0, 0, "server sent GOAWAY and closed the connection"}, curl: 18, curls: sight{0, 0, "was not closed cleanly"}, node: sight{0, 0, "ERR_HTTP2_SESSION_ERROR: Session closed with error code 2"}},
		{name: "stall-in-body over HTTP/2", fault: `{"kind":"stall-in-body","afterBytes":3}`, http2: true, stalls: true,
			goes: sight{200, 3, ""}, curl: 28, curls: sight{200, 3, "3 out of 10 bytes received"}, node: sight{200, 3, "timeout"}},
		{name: "drip over HTTP/2", fault: `{"kind":"drip","bytes":4,"intervalMs":5}`, http2: true,
			goes: sight{200, 10, ""}, curls: sight{200, 10, ""}, node: sight{200, 10, ""}},

		{name: "refuse",
			goes: sight{0, 0, "connection refused"}, curl: 7, curls: sight{0, 0, "Couldn't connect"}, node: sight{0, 0, "ECONNREFUSED"}},
		{name: "silent", stalls: true,
			curl: 28, curls: sight{0, 0, "0 bytes received"}, node: timedOut},
		{name: "tls-slow-handshake", stalls: true,
			curl: 28, curls: sight{0, 0, curl28}, node: timedOut},
		{name: "tls-expired",
			goes: sight{0, 0, "certificate has expired"}, curl: 60, curls: sight{0, 0, "certificate has expired"}, node: sight{0, 0, "CERT_HAS_EXPIRED"}},
		{name: "tls-wrong-name",
			goes: sight{0, 0, "cannot validate certificate for 127.0.0.1"}, curl: 60, curls: sight{0, 0, "no alternative certificate subject name matches"}, node: sight{0, 0, "ERR_TLS_CERT_ALTNAME_INVALID"}},
	}
}

// TestFaultsAsClientsSeeThem asserts what a fault is: what Go, curl and Node say
// of it.
func TestFaultsAsClientsSeeThem(t *testing.T) {
	plain, secure := start(t, mockbackend.Options{}), start(t, mockbackend.Options{TLS: true})
	cases := faultCases()
	urls := make([]string, len(cases))
	covered := map[string]bool{}
	for i, c := range cases {
		srv := plain
		if c.tls || c.http2 {
			srv = secure
		}
		path := "/" + strconv.Itoa(i)
		if c.fault != "" {
			add(t, srv, `{"match":{"path":"`+path+`"},"respond":{"text":"0123456789","omit":["Date","Content-Type"],"fault":`+c.fault+`}}`)
			urls[i] = srv.URL() + path
		} else {
			base, err := srv.FaultyURL(c.name)
			if err != nil {
				t.Fatal(err)
			}
			urls[i] = base + path
		}
		kind, _, _ := strings.Cut(c.name, " ")
		covered[kind] = true
	}
	for kind := range mockbackend.FaultKinds() {
		if !covered[kind] {
			t.Errorf("the fault %s is not among the cases", kind)
		}
	}
	for kind := range mockbackend.ListenerKinds() {
		if !covered[kind] {
			t.Errorf("the listener %s is not among the cases", kind)
		}
	}
	t.Run("go", func(t *testing.T) {
		for i, c := range cases {
			srv := plain
			if c.tls || c.http2 {
				srv = secure
			}
			if got := seeWithGo(t, srv, c, urls[i]); !got.matches(c.goes) {
				t.Errorf("%s: got %+v, want %+v", c.name, got, c.goes)
			}
		}
	})
	ca := filepath.Join(t.TempDir(), "ca.pem")
	// One bundle: the listeners of the plain server have that one's authority.
	if err := os.WriteFile(ca, append(plain.CAPEM(), secure.CAPEM()...), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("curl", func(t *testing.T) {
		need(t, "curl")
		var wg sync.WaitGroup
		for i, c := range cases {
			wg.Go(func() {
				got, exit := seeWithCurl(t, c, urls[i], ca)
				if !got.matches(c.curls) || exit != c.curl {
					t.Errorf("%s: exit %d, %+v; want exit %d, %+v", c.name, exit, got, c.curl, c.curls)
				}
			})
		}
		wg.Wait()
	})
	t.Run("node", func(t *testing.T) {
		need(t, "node")
		for name, got := range seeWithNode(t, cases, urls, ca) {
			for _, c := range cases {
				if c.name == name && !got.matches(c.node) {
					t.Errorf("%s: got %+v, want %+v", name, got, c.node)
				}
			}
		}
	})
}

func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not here, so what it sees is not tested", program)
	}
}

// seeWithGo gives up a stall once what should come before it has come.
func seeWithGo(t *testing.T, srv *mockbackend.Server, c faultCase, url string) sight {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	transport := srv.Client().Transport.(*http.Transport).Clone()
	defer transport.CloseIdleConnections()
	if !c.http2 {
		transport.ForceAttemptHTTP2 = false
		transport.TLSClientConfig.NextProtos = nil
	}
	if c.stalls && c.goes.status == 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, 50*time.Millisecond)
		defer stop()
	}
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		if c.stalls && errors.Is(err, context.DeadlineExceeded) {
			return sight{}
		}
		return sight{err: err.Error()}
	}
	defer resp.Body.Close()
	if c.http2 != (resp.ProtoMajor == 2) {
		t.Errorf("%s: over %s", c.name, resp.Proto)
	}
	if c.stalls {
		n, err := io.ReadFull(resp.Body, make([]byte, c.goes.body))
		if err != nil {
			return sight{resp.StatusCode, n, err.Error()}
		}
		cancel()
		if c.endless {
			if _, err := io.Copy(io.Discard, resp.Body); !errors.Is(err, context.Canceled) {
				return sight{resp.StatusCode, n, fmt.Sprint(err)}
			}
		} else if n, err := resp.Body.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
			return sight{resp.StatusCode, c.goes.body + n, fmt.Sprint(err)}
		}
		return sight{resp.StatusCode, n, ""}
	}
	n, err := io.Copy(io.Discard, resp.Body)
	got := sight{resp.StatusCode, int(n), ""}
	switch {
	case err != nil:
		got.err = err.Error()
	case c.labelled:
		got.err = resp.Header.Get("Content-Type")
	}
	return got
}

func seeWithCurl(t *testing.T, c faultCase, url, ca string) (sight, int) {
	limit := patience
	if c.stalls {
		limit = stallPatience
	}
	args := []string{"-sS", "-L", "--noproxy", "*", "--compressed", "--cacert", ca, "-m", fmt.Sprint(limit.Seconds()), "-w", "%{stderr}\n%{http_code} %{size_download} %{content_type}", url}
	if !c.http2 {
		args = append(args, "--http1.1")
	}
	cmd := exec.CommandContext(t.Context(), "curl", args...)
	var body, report bytes.Buffer
	cmd.Stdout, cmd.Stderr = &body, &report
	err := cmd.Run()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if err != nil && !ok {
		t.Error(err)
		return sight{}, -1
	}
	lines := strings.Split(strings.TrimSpace(report.String()), "\n")
	var got sight
	if _, err := fmt.Sscan(lines[len(lines)-1], &got.status, &got.body); err != nil {
		t.Errorf("%s: reading curl's report %q: %v", c.name, &report, err)
	}
	got.err = strings.Join(lines[:len(lines)-1], " ")
	if fields := strings.Fields(lines[len(lines)-1]); c.labelled && len(fields) > 2 {
		got.err += fields[2]
	}
	if exit == nil {
		got.body = body.Len() // unpacked
		return got, 0
	}
	return got, exit.ExitCode()
}

func seeWithNode(t *testing.T, cases []faultCase, urls []string, ca string) map[string]sight {
	type call struct {
		Name string `json:"name"`
		URL  string `json:"url"`
		Way  string `json:"way"`
		Ms   int64  `json:"ms"`
	}
	trusted, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	input := struct {
		CA    string `json:"ca"`
		Calls []call `json:"calls"`
	}{CA: string(trusted)}
	for i, c := range cases {
		one := call{c.name, urls[i], "http1", patience.Milliseconds()}
		switch {
		case c.http2:
			one.Way = "http2"
		case c.fetch:
			one.Way = "fetch"
		}
		if c.stalls {
			one.Ms = stallPatience.Milliseconds()
		}
		input.Calls = append(input.Calls, one)
	}
	text, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join("testdata", "client.mjs"))
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(text), &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v\n%s", err, &stderr)
	}
	var results map[string]struct {
		Status, Body int
		Error, Label string
	}
	if err := json.Unmarshal(out, &results); err != nil {
		t.Fatalf("node printed %q: %v", out, err)
	}
	if len(results) != len(cases) {
		t.Errorf("node reports %d of %d cases", len(results), len(cases))
	}
	sights := map[string]sight{}
	for name, r := range results {
		sights[name] = sight{r.Status, r.Body, r.Error}
	}
	for _, c := range cases {
		if r := results[c.name]; c.labelled && r.Error == "" {
			sights[c.name] = sight{r.Status, r.Body, r.Label}
		}
	}
	return sights
}
