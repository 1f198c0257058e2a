package mockbackend

import (
	"context"
	"crypto/tls"
	"errors"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

type connKey struct{}

// A door is a listener of the server. It wraps the connections and tracks them,
// and shakes hands where there is TLS, before net/http sees them: so the tap is
// on the plain side.
type door struct {
	net.Listener
	conns *connSet
	// tls is nil for plain connections.
	tls *tls.Config
	// patience is how long a handshake is put off.
	patience time.Duration
	// mute doors accept, and never answer.
	mute bool

	log   *log.Logger
	ctx   context.Context // ends when the server drains: here nothing is answered yet
	ready chan net.Conn   // connections whose handshake is done
	done  chan struct{}   // closed when no more are accepted
	work  sync.WaitGroup
}

// handshakeTime is how long a client may take for a TLS handshake.
const handshakeTime = 30 * time.Second

// acceptPause is the time between two tries to accept a connection.
const acceptPause = 10 * time.Millisecond

// open starts what a door does besides Accept.
func (d *door) open() {
	if d.tls == nil && !d.mute {
		return
	}
	d.ready, d.done = make(chan net.Conn), make(chan struct{})
	d.work.Go(func() {
		defer close(d.done)
		for {
			conn, err := d.Listener.Accept()
			switch {
			case errors.Is(err, net.ErrClosed):
				return
			case err != nil: // no more files, perhaps, until somebody closes one
				if sleep(d.ctx, acceptPause) != nil {
					return
				}
				continue
			}
			d.conns.add(conn)
			d.work.Go(func() { d.admit(conn) })
		}
	})
}

// admit shakes hands and hands the connection on.
func (d *door) admit(conn net.Conn) {
	if d.mute {
		d.hold(conn)
		return
	}
	secured := tls.Server(conn, d.tls)
	err := sleep(d.ctx, d.patience)
	if err == nil {
		ctx, cancel := context.WithTimeout(d.ctx, handshakeTime)
		err = secured.HandshakeContext(ctx)
		cancel()
	}
	if err != nil { // a client that does not like our certificate
		if d.ctx.Err() == nil {
			d.log.Printf("TLS handshake error from %s: %v", conn.RemoteAddr(), err)
		}
		_ = conn.Close()
		d.conns.release(conn)
		return
	}
	var made net.Conn = secured
	if state := secured.ConnectionState(); state.NegotiatedProtocol != "h2" {
		made = &tapConn{Conn: secured, tls: &state}
	}
	d.conns.replace(conn, made)
	select {
	case d.ready <- made:
	case <-d.done:
		_ = made.Close()
		d.conns.release(made)
	}
}

func (d *door) Accept() (net.Conn, error) {
	if d.ready != nil {
		select {
		case conn := <-d.ready:
			return conn, nil
		case <-d.done:
			return nil, net.ErrClosed
		}
	}
	conn, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	tapped := &tapConn{Conn: conn}
	d.conns.add(tapped)
	return tapped, nil
}

// A connSet is what uses connections: the connections themselves, also those
// taken over, which net/http does not know of any more, and the handlers of
// HTTP/2, for which net/http does not wait.
type connSet struct {
	mu       sync.Mutex
	open     map[net.Conn]struct{}
	fresh    map[net.Conn]struct{} // on which nothing has come yet
	handlers int
	idle     chan struct{} // closed when there is nothing left, for who waits
}

func (s *connSet) add(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[net.Conn]struct{}{}
	}
	s.open[conn] = struct{}{}
}

// came tells of a connection on which nothing has been asked, and asked that
// something now is.
func (s *connSet) came(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fresh == nil {
		s.fresh = map[net.Conn]struct{}{}
	}
	s.fresh[conn] = struct{}{}
}

func (s *connSet) asked(conn net.Conn) {
	if tapped, ok := conn.(*tapConn); ok {
		if tapped.asked { // of its own goroutine, which tells of each request
			return
		}
		tapped.asked = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.fresh, conn)
}

// cutFresh closes the connections on which nothing has come, for which net/http
// would wait a while.
func (s *connSet) cutFresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.fresh {
		_ = conn.Close()
	}
}

// replace puts a connection in the place of the one that it wraps.
func (s *connSet) replace(old, made net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, old)
	s.open[made] = struct{}{}
}

// release tells that nothing uses a connection any more.
func (s *connSet) release(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, conn)
	delete(s.fresh, conn)
	s.tell()
}

func (s *connSet) enter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers++
}

func (s *connSet) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers--
	s.tell()
}

func (s *connSet) empty() bool { return len(s.open) == 0 && s.handlers == 0 }

func (s *connSet) tell() {
	if s.idle != nil && s.empty() {
		close(s.idle)
		s.idle = nil
	}
}

// wait waits until nothing is left.
func (s *connSet) wait(ctx context.Context) error {
	for {
		s.mu.Lock()
		if s.empty() {
			s.mu.Unlock()
			return nil
		}
		if s.idle == nil {
			s.idle = make(chan struct{})
		}
		idle := s.idle
		s.mu.Unlock()
		select {
		case <-idle:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// cut closes what is open, without a word to the client.
func (s *connSet) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.open {
		_ = bare(conn).Close()
	}
}

// bare is the connection below the tap and TLS, which would say goodbye to a
// client that may not listen.
func bare(conn net.Conn) net.Conn {
	if tapped, ok := conn.(*tapConn); ok {
		conn = tapped.Conn
	}
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	return conn
}

// serve answers on a door until the server closes.
func (s *Server) serve(d *door) {
	d.log, d.conns, d.ctx = s.opts.ErrorLog, &s.conns, s.draining
	d.open()
	s.serving.Go(func() {
		err := s.http.Serve(d)
		if !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			s.serveErr.CompareAndSwap(nil, &err)
		}
		d.work.Wait()
	})
}
