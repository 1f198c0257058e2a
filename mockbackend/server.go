package mockbackend

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
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
	// JournalEntries is how many requests are remembered; 10 000 by default.
	JournalEntries int
	// JournalBytes is how many bytes of bodies are remembered in all; 64 MiB
	// by default.
	JournalBytes int64
	// BodyBytes is how much of one request body is remembered and matched;
	// 1 MiB by default. The true length is counted beyond it.
	BodyBytes int64
	// StubsOnly leaves out the ready-made routes and the sample API.
	StubsOnly bool
	// Files is the directory of file bodies. Without one they are refused, as
	// a stub may come over the network.
	Files string
}

// A Server is a mock backend. It is safe for concurrent use.
type Server struct {
	opts       Options
	index      *index
	scenarios  scenarios
	journal    *Journal
	orders     *orders
	admin      http.Handler
	socketless atomic.Bool

	ctx    context.Context // ends when the server closes
	cancel context.CancelFunc

	url      string
	http     *http.Server
	serving  chan struct{} // closed when the accept loop has ended
	serveErr error         // readable once serving is closed
	conns    connSet
	closing  sync.Once
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
		opts.JournalBytes = 64 << 20
	}
	if opts.BodyBytes <= 0 {
		opts.BodyBytes = 1 << 20
	}
	s := &Server{
		opts:    opts,
		index:   newIndex(),
		journal: newJournal(opts.JournalEntries, opts.JournalBytes),
		orders:  newOrders(),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.admin = s.adminHandler()
	return s
}

// Start gives a server that listens. The caller closes it.
func Start(opts Options) (*Server, error) {
	s := New(opts)
	listener, err := net.Listen("tcp", s.opts.Addr)
	if err != nil {
		s.cancel()
		return nil, fmt.Errorf("starting the mock backend: %w", err)
	}
	s.url = "http://" + listener.Addr().String()
	s.http = &http.Server{
		Handler: s,
		// OPTIONS * is a request like any other here.
		DisableGeneralOptionsHandler: true,
		BaseContext:                  func(net.Listener) context.Context { return s.ctx },
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, tapKey{}, conn)
		},
		ConnState: func(conn net.Conn, state http.ConnState) {
			if state == http.StateClosed {
				conn.(*tapConn).release()
			}
		},
		// Clients that break off are what this server is for.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	s.serving = make(chan struct{})
	go func() {
		defer close(s.serving)
		if err := s.http.Serve(tapListener{listener, &s.conns}); !errors.Is(err, http.ErrServerClosed) {
			s.serveErr = err
		}
	}()
	return s, nil
}

type tapKey struct{}

// tapListener wraps the connections and tracks them.
type tapListener struct {
	net.Listener
	conns *connSet
}

func (l tapListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.conns.add(conn), nil
}

// A connSet is the connections in use, also those taken over, which net/http
// does not know of any more.
type connSet struct {
	mu   sync.Mutex
	open map[*tapConn]struct{}
	wg   sync.WaitGroup
}

func (s *connSet) add(conn net.Conn) *tapConn {
	c := &tapConn{Conn: conn}
	s.wg.Add(1)
	c.release = sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, c)
		s.wg.Done()
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[*tapConn]struct{}{}
	}
	s.open[c] = struct{}{}
	return c
}

// close closes what is open and waits until nothing uses it any more. No
// connection may be added meanwhile.
func (s *connSet) close() {
	s.mu.Lock()
	for c := range s.open {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
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
		err = s.http.Close()
		<-s.serving
		// A connection accepted just now is not among those that net/http closed.
		s.conns.close()
		err = errors.Join(err, s.serveErr)
	})
	return err
}

// Add puts a stub in and gives its id. What the stub asks for and cannot be
// done is an [*InvalidStubError]. Of two stubs that match alike, the later one
// answers.
func (s *Server) Add(in schemas.Stub) (string, error) {
	c, err := compileStub(in, s.readFile)
	if err != nil {
		return "", err
	}
	if s.socketless.Load() {
		if err := checkSocketless(c); err != nil {
			return "", err
		}
	}
	if err := s.index.add(c); err != nil {
		return "", err
	}
	return c.ID, nil
}

// Remove takes a stub out and tells whether it was there. Its journal entries
// stay.
func (s *Server) Remove(id string) bool { return s.index.remove(id) }

// Stubs gives the stubs, oldest first.
func (s *Server) Stubs() []schemas.Stub {
	all := s.index.all()
	list := make([]schemas.Stub, len(all))
	for i, c := range all {
		list[i] = c.Stub
	}
	return list
}

// Reset brings the server back to its start: no stubs, no scenario states, an
// empty journal, the first orders.
func (s *Server) Reset() {
	s.index.clear()
	s.scenarios.reset()
	s.journal.Clear()
	s.orders.reset()
}

// Journal is the server's record of requests.
func (s *Server) Journal() *Journal { return s.journal }

// Wait is [Journal.Wait] on the server's journal.
func (s *Server) Wait(ctx context.Context, f Filter, n int) ([]Entry, error) {
	return s.journal.Wait(ctx, f, n)
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
