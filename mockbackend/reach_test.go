package mockbackend_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"example.com/touchstone/mockbackend"
)

// TestFaultyURLOfAllAddresses: whoever calls a server on all addresses by one of
// them is sent to a listener at the same one, with the fault that it asked for.
func TestFaultyURLOfAllAddresses(t *testing.T) {
	own := ownAddress(t)
	srv := start(t, mockbackend.Options{Addr: "0.0.0.0:0"})
	_, port, err := net.SplitHostPort(strings.TrimPrefix(srv.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(srv.CAPEM())
	client := newClient(t)
	client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots}
	client.CheckRedirect = nil
	for fault, want := range map[string]string{"tls-expired": "expired", "refuse": "refused", "tls-wrong-name": "cannot validate certificate"} {
		_, err := client.Get("http://" + net.JoinHostPort(own, port) + "/fault/" + fault)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), own) {
			t.Errorf("%s: %v, want %q of %s", fault, err, want, own)
		}
		if url, err := srv.FaultyURL(fault); err != nil || !strings.Contains(url, "://127.0.0.1:") {
			t.Errorf("%s: %s, %v", fault, url, err)
		}
	}
}

// ownAddress is an address of this machine that is no loopback one.
func ownAddress(t *testing.T) string {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && ip.IP.IsGlobalUnicast() {
			return ip.IP.String()
		}
	}
	t.Skip("this machine has a loopback address alone")
	return ""
}

// TestOwnURLsOverTLS: what the server says of itself over HTTPS begins with
// https, whatever the version of HTTP.
func TestOwnURLsOverTLS(t *testing.T) {
	srv := start(t, mockbackend.Options{TLS: true, AdminToken: "secret"})
	for _, http2 := range []bool{false, true} {
		transport := srv.Client().Transport.(*http.Transport).Clone()
		defer transport.CloseIdleConnections()
		if !http2 {
			transport.ForceAttemptHTTP2, transport.TLSClientConfig.NextProtos = false, nil
		}
		client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		for _, accept := range []string{"text/plain", "text/html"} {
			got := call(t, client, "GET", srv.URL()+"/", "", "Accept", accept)
			if !strings.Contains(got.body, srv.URL()+"/") || strings.Contains(got.body, "http://127.0.0.1") {
				t.Errorf("HTTP/2 %t, %s: %s", http2, accept, got.body)
			}
		}
		got := call(t, client, "GET", srv.URL()+"/?token=secret", "", "Accept", "text/html")
		if cookie := got.header.Get("Set-Cookie"); !strings.Contains(cookie, "; Secure") {
			t.Errorf("HTTP/2 %t: the cookie is %q", http2, cookie)
		}
	}
}

// closing is a body that tells that it was closed.
type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return nil
}

// TestTransportEnds: Close ends what waits in process too, and a body is closed,
// as [http.RoundTripper] has to.
func TestTransportEnds(t *testing.T) {
	srv := mockbackend.New(mockbackend.Options{})
	transport, err := srv.Transport()
	if err != nil {
		t.Fatal(err)
	}
	body := &closing{Reader: strings.NewReader("x")}
	req, err := http.NewRequest("POST", "http://mock/delay/3600000", body)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := transport.RoundTrip(req)
		ended <- err
	}()
	wait(t, srv, mockbackend.Filter{Path: "/delay/3600000", InFlight: true}, 1)
	if err := srv.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil || errors.Is(err, io.EOF) {
		t.Errorf("the delay ended with %v", err)
	}
	if !body.closed {
		t.Error("the body of the request was not closed")
	}
	if sent := srv.Journal().Entries(mockbackend.Filter{})[0].Sent; sent.ClientEnded {
		t.Errorf("the journal blames the client: %+v", sent)
	}
}
