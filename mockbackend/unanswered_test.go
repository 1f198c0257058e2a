package mockbackend_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"example.com/touchstone/mockbackend"
)

// TestShutdownWithIdleConnections: a connection on which nothing was asked, no
// handshake made, or nothing will be answered, is none that is waited for.
func TestShutdownWithIdleConnections(t *testing.T) {
	for _, tls := range []bool{false, true} {
		srv := start(t, mockbackend.Options{TLS: tls})
		silent, err := srv.FaultyURL("silent")
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []string{srv.URL(), silent} {
			_, host, _ := strings.Cut(at, "://")
			conn, err := net.Dial("tcp", host)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
		}
		// A request of its own shows that the connections before it were accepted.
		resp, err := srv.Client().Get(srv.URL() + "/status/204")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		ctx, cancel := context.WithTimeout(t.Context(), patience/2)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil {
			t.Errorf("TLS %t: %v", tls, err)
		}
	}
}

// TestDropWhileBodyComes: a scope that is dropped waits for no body.
func TestDropWhileBodyComes(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	conn := dial(t, srv, "POST /__scope/x/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
	wait(t, srv.Scope("x"), mockbackend.Filter{InFlight: true}, 1)
	srv.DropScope("x")
	if _, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a scope that is gone gives %v", err)
	}
}

// TestBrokenBodyOfOneWhoStays: a client that sends what is no chunk, and reads the
// answer, has not left.
func TestBrokenBodyOfOneWhoStays(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	conn := dial(t, srv, "POST /here HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if e := wait(t, srv, mockbackend.Filter{Path: "/here", Done: true}, 1)[0]; e.Sent.ClientEnded {
		t.Errorf("the journal says %+v", e.Sent)
	}
	gone := dial(t, srv, "POST /gone HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
	wait(t, srv, mockbackend.Filter{Path: "/gone", InFlight: true}, 1)
	gone.Close()
	if e := wait(t, srv, mockbackend.Filter{Path: "/gone", Done: true}, 1)[0]; !e.Sent.ClientEnded {
		t.Errorf("the journal says %+v", e.Sent)
	}
}
