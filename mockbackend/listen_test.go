package mockbackend

import (
	"io"
	"net/http"
	"testing"
	"time"
)

// A handshake that is put off comes in the end, and the request is answered.
func TestSlowHandshakeEnds(t *testing.T) {
	const patience = 50 * time.Millisecond
	srv, err := Start(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	addr, err := srv.listenFaulty(&door{tls: tlsConfig(srv.goodCert()), patience: patience})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	resp, err := srv.Client().Get("https://" + addr.String() + "/status/200?body=empty")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK || time.Since(begin) < patience {
		t.Errorf("%d after %v, %v", resp.StatusCode, time.Since(begin), err)
	}
}
