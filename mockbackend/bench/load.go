package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// A turn is what was measured of a server while the others waited.
type turn struct {
	requests int
	took     time.Duration
	p99      time.Duration
}

func (t turn) rate() float64 { return float64(t.requests) / t.took.Seconds() }

// serveTurn calls a server over some connections for a time, each with one
// request at a time. The connections are opened before: between two turns some
// servers would close them.
func (s *server) serveTurn(ctx context.Context, connections int, length time.Duration) (turn, error) {
	open := make([]*connection, connections)
	for i := range open {
		c, err := dial(s.address)
		if err != nil {
			return turn{}, err
		}
		defer c.conn.Close()
		if err := c.check(s.address, s.path(s.stubs-1)); err != nil {
			return turn{}, err
		}
		open[i] = c
	}
	times := make([][]time.Duration, connections)
	errs := make([]error, connections)
	began := time.Now()
	var wg sync.WaitGroup
	for i, c := range open {
		wg.Go(func() {
			defer context.AfterFunc(ctx, func() { c.conn.Close() })()
			times[i], errs[i] = c.repeat(s, began.Add(length))
		})
	}
	wg.Wait()
	took := time.Since(began)
	if err := errors.Join(errs...); err != nil {
		return turn{}, err
	}
	all := slices.Concat(times...)
	slices.Sort(all)
	return turn{len(all), took, all[len(all)*99/100]}, nil
}

// A connection talks HTTP with as little as it can: what the client costs is
// taken from the server, with which it shares the machine.
type connection struct {
	conn    net.Conn
	answers *bufio.Reader
	request []byte
}

func dial(address string) (*connection, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &connection{conn: conn, answers: bufio.NewReader(conn)}, nil
}

// repeat calls stubs at random until the end, and gives the time that each took.
func (c *connection) repeat(s *server, end time.Time) ([]time.Duration, error) {
	var times []time.Duration
	for began := time.Now(); began.Before(end); {
		path := s.path(rand.IntN(s.stubs))
		if err := c.send(s.address, path); err != nil {
			return nil, fmt.Errorf("GET %s: %w", path, err)
		}
		if err := c.receive(); err != nil {
			return nil, fmt.Errorf("GET %s: %w", path, err)
		}
		now := time.Now()
		times = append(times, now.Sub(began))
		began = now
	}
	return times, nil
}

func (c *connection) send(address, path string) error {
	c.request = fmt.Appendf(c.request[:0], "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, address)
	_, err := c.conn.Write(c.request)
	return err
}

// check makes one call and reads the answer with care: later ones are known by
// their size.
func (c *connection) check(address, path string) error {
	if err := c.send(address, path); err != nil {
		return err
	}
	answer, err := http.ReadResponse(c.answers, nil)
	if err != nil {
		return err
	}
	got, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK || !sameJSON(got, []byte(body)) {
		return fmt.Errorf("GET %s: %s with %q", path, answer.Status, got)
	}
	return nil
}

// receive reads an answer to its end and holds it to be a 200 with a body that
// is large enough.
func (c *connection) receive() error {
	status, err := c.answers.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(status, []byte("HTTP/1.1 200")) {
		return fmt.Errorf("answered %q", status)
	}
	length := -1
	for {
		line, err := c.answers.ReadSlice('\n')
		if err != nil {
			return err
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			break
		}
		const name = "content-length:"
		if len(line) > len(name) && bytes.EqualFold(line[:len(name)], []byte(name)) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(line[len(name):]))); err != nil {
				return err
			}
		}
	}
	if length < 0 {
		length, err = c.skipChunks()
	} else {
		_, err = c.answers.Discard(length)
	}
	if err == nil && length < len(body) {
		err = fmt.Errorf("a body of %d bytes", length)
	}
	return err
}

// skipChunks reads a chunked body (RFC 9112, section 7.1) and gives its length.
func (c *connection) skipChunks() (int, error) {
	for total := 0; ; {
		line, err := c.answers.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		size, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 32)
		if err != nil {
			return 0, err
		}
		if _, err := c.answers.Discard(int(size) + len("\r\n")); err != nil {
			return 0, err
		}
		if size == 0 {
			return total, nil
		}
		total += int(size)
	}
}
