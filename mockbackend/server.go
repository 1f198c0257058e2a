package mockbackend

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"

	"example.com/touchstone/schemas"
)

// Options set up a server. The zero value is a server on a free loopback port
// with the ready-made routes and the sample API.
type Options struct {
	// Addr is the address to listen on; "127.0.0.1:0" by default.
	Addr string
	// TLS makes the server speak HTTPS, HTTP/2 with it, with a certificate of
	// its own making; see [Server.Client] and [Server.CAPEM].
	TLS bool
	// JournalEntries is how many requests each scope remembers; 10 000 by
	// default.
	JournalEntries int
	// JournalBytes is how many bytes of heads and bodies each scope remembers;
	// 16 MiB by default.
	JournalBytes int64
	// BodyBytes is how much of one request body is remembered and matched;
	// 1 MiB by default. The true length is counted beyond it.
	BodyBytes int64
	// Observe, when not nil, is told of every request of every scope: when it
	// arrives, when it is decided what answers it, and when the answer has come
	// to its end ([Entry.Done]). It is called from the goroutine that answers,
	// which waits for it.
	Observe func(Entry)
	// ErrorLog, when not nil, is told of TLS handshakes that come to nothing. Of
	// requests that net/http answers itself, as they cannot be read, nobody is.
	ErrorLog *log.Logger
	// AdminToken is what a request to the admin API at /__mock/ has to show;
	// empty asks for nothing.
	AdminToken string
	// StubsOnly leaves out the ready-made routes and the sample API.
	StubsOnly bool
	// Files is the directory of file bodies. Without one they are refused, as
	// a stub may come over the network.
	Files string
	// Stubs are files that [Start] loads, as [Server.LoadFiles] does, before it
	// listens: nobody is answered without them. [New] leaves them alone.
	Stubs []string
}

// A Server is a mock backend. It is safe for concurrent use.
type Server struct {
	opts       Options
	root       *Scope // the default one
	scopes     scopes
	admin      http.Handler
	socketless atomic.Bool

	ctx      context.Context // ends when the server closes
	cancel   context.CancelFunc
	draining context.Context // ends before, when the server shuts down
	drain    context.CancelFunc

	url       string
	addr      net.Addr // that it listens on; nil of one that does not
	http      *http.Server
	cert      *tls.Certificate // nil without TLS
	authority func() *authority
	client    func() *http.Client
	faulty    faulty
	serving   sync.WaitGroup // accept loops
	serveErr  atomic.Pointer[error]
	conns     connSet
	closing   sync.Once
}

// New gives a server that listens nowhere: it is an [http.Handler], and answers
// through [Server.Transport]. Its Close ends what stalls.
func New(opts Options) *Server {
	if opts.Addr == "" {
		opts.Addr = "127.0.0.1:0"
	}
	if opts.JournalEntries <= 0 {
		opts.JournalEntries = 10_000
	}
	if opts.JournalBytes <= 0 {
		opts.JournalBytes = 16 << 20
	}
	if opts.BodyBytes <= 0 {
		opts.BodyBytes = 1 << 20
	}
	if opts.ErrorLog == nil {
		// Clients that break off are what this server is for.
		opts.ErrorLog = log.New(io.Discard, "", 0)
	}
	s := &Server{opts: opts}
	s.authority = sync.OnceValue(newAuthority)
	s.client = sync.OnceValue(s.newClient)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.draining, s.drain = context.WithCancel(s.ctx)
	s.root = newScope(s, "")
	s.admin = s.adminHandler()
	return s
}

// Start gives a server that listens. The caller closes it.
func Start(opts Options) (*Server, error) {
	s := New(opts)
	if _, err := s.LoadFiles(s.opts.Stubs...); err != nil {
		s.cancel()
		return nil, err
	}
	listener, err := net.Listen(networkOf(s.opts.Addr), s.opts.Addr)
	if err != nil {
		s.cancel()
		return nil, fmt.Errorf("starting the mock backend: %w", err)
	}
	s.http = &http.Server{
		Handler: s,
		// OPTIONS * is a request like any other here.
		DisableGeneralOptionsHandler: true,
		BaseContext:                  func(net.Listener) context.Context { return s.ctx },
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, conn)
		},
		ConnState: func(conn net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				s.conns.came(conn)
			case http.StateActive:
				s.conns.asked(conn)
			case http.StateClosed:
				s.conns.release(conn)
			}
		},
		ErrorLog: s.opts.ErrorLog,
	}
	s.http.RegisterOnShutdown(s.conns.cutFresh)
	d := &door{Listener: listener}
	s.addr, s.url = listener.Addr(), "http://"+listener.Addr().String()
	if s.opts.TLS {
		cert := s.goodCert()
		s.cert, d.tls = &cert, tlsConfig(cert)
		s.url = "https://" + listener.Addr().String()
	}
	s.serve(d)
	return s, nil
}

// networkOf is the network of an address: "tcp" would take 0.0.0.0 for all
// addresses of IPv6 too.
func networkOf(addr string) string {
	if at, err := netip.ParseAddrPort(addr); err == nil && at.Addr().Is4() {
		return "tcp4"
	}
	return "tcp"
}

// URL is the base URL, without a trailing slash; empty for a server that does
// not listen.
func (s *Server) URL() string { return s.url }

// Close ends all that is being answered, closes the connections and waits for
// every goroutine of the server.
func (s *Server) Close() error {
	var err error
	s.closing.Do(func() {
		s.cancel()
		if s.http == nil {
			return
		}
		s.faulty.mu.Lock()
		s.faulty.closed = true
		s.faulty.mu.Unlock()
		s.conns.cut()
		err = s.http.Close()
		s.serving.Wait()
		// A connection accepted just now is not among those cut or closed.
		s.conns.cut()
		err = errors.Join(err, s.conns.wait(context.Background()))
		s.client().CloseIdleConnections()
		if failed := s.serveErr.Load(); failed != nil {
			err = errors.Join(err, *failed)
		}
	})
	return err
}

// Shutdown stops listening and waits until what is being answered has come to
// its end, or the context to its. Then it is as Close.
func (s *Server) Shutdown(ctx context.Context) error {
	s.drain()
	if s.http == nil {
		return s.Close()
	}
	err := s.http.Shutdown(ctx)
	if err == nil {
		err = s.conns.wait(ctx) // those taken over
	}
	return errors.Join(err, s.Close())
}

// Add is [Scope.Add] on the default scope.
func (s *Server) Add(in schemas.Stub) (string, error) { return s.root.Add(in) }

// Remove is [Scope.Remove] on the default scope.
func (s *Server) Remove(id string) bool { return s.root.Remove(id) }

// Stubs is [Scope.Stubs] on the default scope.
func (s *Server) Stubs() []schemas.Stub { return s.root.Stubs() }

// Reset is [Scope.Reset] on the default scope; the others stay as they are.
func (s *Server) Reset() { s.root.Reset() }

// Journal is [Scope.Journal] of the default scope.
func (s *Server) Journal() *Journal { return s.root.journal }

// Wait is [Scope.Wait] on the default scope.
func (s *Server) Wait(ctx context.Context, f Filter, n int) ([]Entry, error) {
	return s.root.Wait(ctx, f, n)
}

// readFile reads a file body below the directory of file bodies.
func (s *Server) readFile(name string) ([]byte, error) {
	if s.opts.Files == "" {
		return nil, errors.New("no directory of file bodies is set; give the body as text or base64")
	}
	f, err := os.OpenInRoot(s.opts.Files, name)
	if err != nil {
		return nil, fmt.Errorf("reading a file body: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("reading a file body: %w", err)
	}
	return data, nil
}
