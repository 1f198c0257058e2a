package mockbackend_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/mockbackend"
	"example.com/touchstone/schemas"
)

// clientFor trusts the server, and speaks HTTP/2 or HTTP/1.1 to it.
func clientFor(t *testing.T, srv *mockbackend.Server, http2 bool) *http.Client {
	transport := srv.Client().Transport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	if !http2 {
		transport.ForceAttemptHTTP2 = false
		transport.TLSClientConfig.NextProtos = nil
	}
	return &http.Client{Transport: transport, Timeout: patience}
}

func TestTLS(t *testing.T) {
	srv := start(t, mockbackend.Options{TLS: true})
	if !strings.HasPrefix(srv.URL(), "https://127.0.0.1:") {
		t.Errorf("URL %s", srv.URL())
	}
	add(t, srv, `{"match":{"method":"POST","path":"/a"},"respond":{"status":201,"text":"hello","headers":[["X-A","1"],["X-A","2"]]}}`)
	for _, http2 := range []bool{true, false} {
		client := clientFor(t, srv, http2)
		got := call(t, client, "POST", srv.URL()+"/a?x=1", "body", "x-tag", "1")
		if got.status != 201 || got.body != "hello" || strings.Join(got.header["X-A"], " ") != "1 2" {
			t.Errorf("HTTP/2 %t: got %+v", http2, got)
		}
	}
	entries := wait(t, srv, mockbackend.Filter{Done: true}, 2)
	for i, want := range []struct {
		proto  string
		header schemas.StubHeaders
	}{
		{"HTTP/2.0", schemas.StubHeaders{{Name: "Host", Value: strings.TrimPrefix(srv.URL(), "https://")}, {Name: "Accept-Encoding", Value: "gzip"},
			{Name: "Content-Length", Value: "4"}, {Name: "User-Agent", Value: "Go-http-client/2.0"}, {Name: "X-Tag", Value: "1"}}},
		{"HTTP/1.1", schemas.StubHeaders{{Name: "Host", Value: strings.TrimPrefix(srv.URL(), "https://")}, {Name: "User-Agent", Value: "Go-http-client/1.1"},
			{Name: "Content-Length", Value: "4"}, {Name: "X-Tag", Value: "1"}, {Name: "Accept-Encoding", Value: "gzip"}}},
	} {
		e := entries[i]
		if diff := cmp.Diff(want.header, e.Header); diff != "" || e.Proto != want.proto || e.Target != "/a?x=1" || string(e.Body) != "body" {
			t.Errorf("%s %s %q, headers (-want +got):\n%s", e.Proto, e.Target, e.Body, diff)
		}
		if want := (mockbackend.Sent{Status: 201, BodyBytes: 5, Phase: mockbackend.PhaseComplete}); e.Sent != want {
			t.Errorf("sent %+v", e.Sent)
		}
	}
}

// The certificate is good for whoever trusts the authority, under each name of
// this machine's loopback, and for nobody else.
func TestCertificate(t *testing.T) {
	srv := start(t, mockbackend.Options{TLS: true})
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(srv.CAPEM()) {
		t.Fatal("the authority is not PEM")
	}
	block, rest := pem.Decode(srv.CertPEM())
	if block == nil || len(rest) == 0 {
		t.Fatal("the certificate is not a chain in PEM")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"localhost", "127.0.0.1", "::1"} {
		if _, err := cert.Verify(x509.VerifyOptions{DNSName: name, Roots: roots}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := cert.Verify(x509.VerifyOptions{DNSName: "example.com", Roots: roots}); err == nil {
		t.Error("good for example.com")
	}
	if _, err := http.Get(srv.URL()); !errors.As(err, new(*tls.CertificateVerificationError)) {
		t.Errorf("without the authority: %v", err)
	}
	plain := start(t, mockbackend.Options{})
	if plain.CertPEM() != nil {
		t.Error("a certificate without TLS")
	}
	if got := call(t, plain.Client(), "GET", plain.URL()+"/status/200", ""); got.status != 200 {
		t.Errorf("the client of a plain server: %d", got.status)
	}
}

// What a version of HTTP cannot do is refused by name, when the stub is added
// where that is known, else when the request comes.
func TestProtocolRefusals(t *testing.T) {
	srv := start(t, mockbackend.Options{TLS: true})
	for _, tt := range []struct {
		respond string
		http2   bool
		says    string
	}{
		{`{"raw":true}`, true, "/respond/raw), which needs HTTP/1.1"},
		{`{"status":204,"text":"x"}`, true, "the answer 204 has a body (/respond/status)"},
		{`{"headers":[["A","\u0007"]]}`, true, "A has a value that RFC 9110 does not allow (/respond/headers/0)"},
		{`{"fault":{"kind":"reset"}}`, true, "the fault reset needs HTTP/1.1"},
		{`{"fault":{"kind":"malformed-chunk"}}`, true, "the fault malformed-chunk needs HTTP/1.1"},
		{`{"fault":{"kind":"http2-goaway"}}`, false, "the fault http2-goaway needs HTTP/2"},
		{`{"fault":{"kind":"http2-reset-stream"}}`, false, "the fault http2-reset-stream needs HTTP/2"},
	} {
		id := add(t, srv, `{"match":{"path":"/a"},"respond":`+tt.respond+`}`)
		got := call(t, clientFor(t, srv, tt.http2), "GET", srv.URL()+"/a", "")
		if got.status != http.StatusHTTPVersionNotSupported || !strings.Contains(got.body, tt.says) {
			t.Errorf("%s: %d %s, want %s", tt.respond, got.status, got.body, tt.says)
		}
		if e := wait(t, srv, mockbackend.Filter{Stub: id, Done: true}, 1)[0]; e.Sent.Status != 505 || e.Sent.Fault != "" || !strings.Contains(e.Sent.Error, tt.says) {
			t.Errorf("%s: the journal says %+v", tt.respond, e.Sent)
		}
		srv.Remove(id)
	}
	plain := start(t, mockbackend.Options{})
	socketless := mockbackend.New(mockbackend.Options{})
	defer socketless.Close()
	if _, err := socketless.Transport(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		srv           *mockbackend.Server
		kind, at, say string
	}{
		{plain, "http2-goaway", "/respond/fault/kind", "start it with TLS"},
		{plain, "http2-reset-stream", "/respond/fault/kind", "start it with TLS"},
		{plain, "tls-expired", "/respond/fault/kind", "/fault/tls-expired"},
		{plain, "refuse", "/respond/fault/kind", "before a request"},
		{socketless, "http2-goaway", "/respond/fault", "needs a connection"},
		{socketless, "stall-in-body", "/respond/fault", "needs a connection"},
	} {
		_, err := tt.srv.Add(schemas.Stub{Respond: &schemas.StubResponse{Fault: &schemas.StubFault{Kind: tt.kind}}})
		bad, ok := errors.AsType[*mockbackend.InvalidStubError](err)
		if !ok || bad.Pointer != tt.at || !strings.Contains(err.Error(), tt.say) {
			t.Errorf("%s: %v", tt.kind, err)
		}
	}
}

// Interim answers, delays and polite faults go over HTTP/2 too.
func TestHTTP2Journal(t *testing.T) {
	srv := start(t, mockbackend.Options{TLS: true})
	client := clientFor(t, srv, true)
	add(t, srv, `{"match":{"path":"/endless"},"respond":{"fault":{"kind":"endless-body","bytes":1000}}}`)
	add(t, srv, `{"match":{"path":"/drip"},"respond":{"text":"0123456789","delay":{"ms":1},"interim":[{"status":103}],"fault":{"kind":"drip","intervalMs":1}}}`)
	resp, err := client.Get(srv.URL() + "/endless")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.CopyN(io.Discard, resp.Body, 1<<20); err != nil {
		t.Errorf("the body ends after %d bytes: %v", n, err)
	}
	resp.Body.Close()
	if e := wait(t, srv, mockbackend.Filter{Path: "/endless", Done: true}, 1)[0]; e.Sent.BodyBytes < 1<<20 || !e.Sent.ClientEnded || e.Sent.Phase != mockbackend.PhaseBody {
		t.Errorf("the journal says %+v", e.Sent)
	}
	if got := call(t, client, "GET", srv.URL()+"/drip", ""); got.body != "0123456789" {
		t.Errorf("got %+v", got)
	}
	e := wait(t, srv, mockbackend.Filter{Path: "/drip", Done: true}, 1)[0]
	if want := (mockbackend.Sent{Status: 200, BodyBytes: 10, Phase: mockbackend.PhaseComplete, Fault: "drip"}); e.Sent != want {
		t.Errorf("the journal says %+v", e.Sent)
	}
}

// Close ends what stalls inside TLS, and in a handshake.
func TestCloseEndsTLS(t *testing.T) {
	srv, err := mockbackend.Start(mockbackend.Options{TLS: true})
	if err != nil {
		t.Fatal(err)
	}
	add(t, srv, `{"match":{"path":"/stall"},"respond":{"text":"x","fault":{"kind":"stall-after-headers"}}}`)
	slow, err := srv.FaultyURL("tls-slow-handshake")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	failed := make(chan error, 3)
	for _, c := range []struct {
		client *http.Client
		url    string
	}{
		{clientFor(t, srv, true), srv.URL() + "/stall"},
		{clientFor(t, srv, false), srv.URL() + "/stall"},
		{clientFor(t, srv, false), slow},
	} {
		go func() {
			req, err := http.NewRequestWithContext(ctx, "GET", c.url, nil)
			if err != nil {
				failed <- err
				return
			}
			resp, err := c.client.Do(req)
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			failed <- err
		}()
	}
	wait(t, srv, mockbackend.Filter{Path: "/stall", Status: 200}, 2)
	if err := srv.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
	for range 3 {
		if err := <-failed; err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after Close a client sees %v", err)
		}
	}
	for _, e := range srv.Journal().Entries(mockbackend.Filter{}) {
		if e.Sent.ClientEnded || e.Sent.Phase != mockbackend.PhaseHeadSent {
			t.Errorf("%s: %+v", e.Proto, e.Sent)
		}
	}
	if _, err := srv.FaultyURL("tls-expired"); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("a listener of a closed server: %v", err)
	}
}

// Shutdown waits for what is being answered, as long as it may.
func TestShutdown(t *testing.T) {
	srv, err := mockbackend.Start(mockbackend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	add(t, srv, `{"match":{"path":"/slow"},"respond":{"text":"done","delay":{"ms":50}}}`)
	add(t, srv, `{"match":{"path":"/drip"},"respond":{"text":"done","fault":{"kind":"drip","intervalMs":150}}}`)
	answers := make(chan string, 2)
	client := newClient(t)
	for _, path := range []string{"/slow", "/drip"} {
		go func() {
			resp, err := client.Get(srv.URL() + path)
			if err != nil {
				answers <- err.Error()
				return
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			answers <- fmt.Sprint(string(body), " ", err)
		}()
	}
	wait(t, srv, mockbackend.Filter{}, 2)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		t.Errorf("shutting down: %v", err)
	}
	for range 2 {
		if got := <-answers; got != "done <nil>" {
			t.Errorf("got %s", got)
		}
	}
	srv, err = mockbackend.Start(mockbackend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	conn := dial(t, srv, get("/fault/stall-before-headers"))
	wait(t, srv, mockbackend.Filter{}, 1)
	now, cancel := context.WithCancel(t.Context())
	cancel()
	if err := srv.Shutdown(now); !errors.Is(err, context.Canceled) {
		t.Errorf("shutting down at once: %v", err)
	}
	if n, err := conn.Read(make([]byte, 1)); err == nil {
		t.Errorf("%d bytes after the shutdown", n)
	}
}
