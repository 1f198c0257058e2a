package mockbackend

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A listenerKind is a fault that happens before there is a request, and so is
// one of a listener.
type listenerKind struct {
	about  string
	scheme string
	// listen gives the address. What it starts ends when the server closes.
	listen func(s *Server) (net.Addr, error)
}

const (
	// slowHandshake is how long the listener of that name lets a client wait.
	slowHandshake = 10 * time.Second
	// wrongName is the only name in the certificate of the listener of that name.
	wrongName = "wrong-name.test"
)

var listenerKinds = map[string]listenerKind{
	"refuse": {
		about:  "Refuses the connection: nothing listens on the port, which no other program can take.",
		scheme: "http",
		listen: (*Server).holdPort,
	},
	"silent": {
		about:  "Accepts the connection and says nothing, not even in a TLS handshake.",
		scheme: "http",
		listen: func(s *Server) (net.Addr, error) { return s.listenFaulty(&door{mute: true}) },
	},
	"tls-slow-handshake": {
		about:  "Puts the TLS handshake off for 10 seconds.",
		scheme: "https",
		listen: func(s *Server) (net.Addr, error) {
			return s.listenFaulty(&door{tls: tlsConfig(s.goodCert()), patience: slowHandshake})
		},
	},
	"tls-expired": {
		about:  "Shows a certificate that expired yesterday.",
		scheme: "https",
		listen: func(s *Server) (net.Addr, error) {
			yesterday := time.Now().Add(-24 * time.Hour)
			cert := s.authority().issue(yesterday.Add(-validAfter), yesterday, localHosts(s.addr)...)
			return s.listenFaulty(&door{tls: tlsConfig(cert)})
		},
	},
	"tls-wrong-name": {
		about:  "Shows a certificate for " + wrongName + " alone.",
		scheme: "https",
		listen: func(s *Server) (net.Addr, error) {
			now := time.Now()
			cert := s.authority().issue(now.Add(-validBefore), now.Add(validAfter), wrongName)
			return s.listenFaulty(&door{tls: tlsConfig(cert)})
		},
	},
}

// ListenerKinds gives the faults of [Server.FaultyURL], each with what it does
// in a sentence.
func ListenerKinds() map[string]string {
	kinds := make(map[string]string, len(listenerKinds))
	for kind, k := range listenerKinds {
		kinds[kind] = k.about
	}
	return kinds
}

// faulty are the listeners of [Server.FaultyURL], opened with their first use.
type faulty struct {
	mu     sync.Mutex
	urls   map[string]string
	closed bool
}

// FaultyURL gives the base URL of a listener that fails before there is a
// request, as [ListenerKinds] says. One that lets a request through answers it
// like the server itself. The listener is opened with the first use, on a free
// port of the address that the server listens on, and closed with the server. Of
// all addresses, the URL names the loopback one.
func (s *Server) FaultyURL(kind string) (string, error) {
	k, ok := listenerKinds[kind]
	if !ok {
		return "", fmt.Errorf("the listener fault %q is not known; known are %s", kind, strings.Join(slices.Sorted(maps.Keys(listenerKinds)), ", "))
	}
	if s.http == nil {
		return "", fmt.Errorf("the listener fault %s needs a server that listens; this one is a handler only", kind)
	}
	s.faulty.mu.Lock()
	defer s.faulty.mu.Unlock()
	if url, ok := s.faulty.urls[kind]; ok {
		return url, nil
	}
	if s.faulty.closed {
		return "", errors.New("the server is closed")
	}
	addr, err := k.listen(s)
	if err != nil {
		return "", fmt.Errorf("opening the listener %s: %w", kind, err)
	}
	if s.faulty.urls == nil {
		s.faulty.urls = map[string]string{}
	}
	s.faulty.urls[kind] = k.scheme + "://" + reachable(addr)
	return s.faulty.urls[kind], nil
}

// reachable is an address at which this machine reaches a listener.
func reachable(addr net.Addr) string {
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
	}
	return addr.String()
}

// towards is a URL of this server with the host that a client called: of a
// server on all addresses, each client knows one.
func towards(base, host string) string {
	u, err := url.Parse(base)
	called, callErr := url.Parse("//" + host)
	if err != nil || callErr != nil || called.Hostname() == "" {
		return base
	}
	u.Host = net.JoinHostPort(called.Hostname(), u.Port())
	return u.String()
}

// listenFaulty opens a door on a free port.
func (s *Server) listenFaulty(d *door) (net.Addr, error) {
	host, _, err := net.SplitHostPort(s.opts.Addr)
	if err != nil {
		return nil, err
	}
	at := net.JoinHostPort(host, "0")
	listener, err := net.Listen(networkOf(at), at)
	if err != nil {
		return nil, err
	}
	d.Listener = listener
	s.serve(d)
	return listener.Addr(), nil
}

// holdPort gives an address on which nothing listens and nothing can: it is the
// client's end of a connection that is kept open.
func (s *Server) holdPort() (net.Addr, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	near, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		return nil, err
	}
	far, err := listener.Accept()
	if err != nil {
		return nil, errors.Join(err, near.Close())
	}
	// The one who closes first keeps the port for a while, which is not the one
	// that others may get.
	context.AfterFunc(s.ctx, func() {
		_ = far.Close()
		_ = near.Close()
	})
	return near.LocalAddr(), nil
}

// hold keeps a connection of a mute door until the client leaves or the server
// closes.
func (d *door) hold(conn net.Conn) {
	defer context.AfterFunc(d.ctx, func() { _ = conn.Close() })()
	_, _ = io.Copy(io.Discard, conn)
	_ = conn.Close()
	d.conns.release(conn)
}
