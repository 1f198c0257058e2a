package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// A load is connections that each send one request after another.
type load struct {
	conns  int
	length time.Duration
}

// run gives the requests a second and the 99th percentile of their times.
func (l load) run(ctx context.Context, s *server) (float64, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, l.length+10*time.Second)
	defer cancel()
	times := make([][]time.Duration, l.conns)
	errs := make([]error, l.conns)
	began := time.Now()
	var wg sync.WaitGroup
	for i := range l.conns {
		wg.Go(func() { times[i], errs[i] = l.connection(ctx, s, began.Add(l.length)) })
	}
	wg.Wait()
	took := time.Since(began)
	for _, err := range errs {
		if err != nil {
			return 0, 0, err
		}
	}
	all := slices.Concat(times...)
	slices.Sort(all)
	return float64(len(all)) / took.Seconds(), all[len(all)*99/100], nil
}

// connection talks HTTP with as little as it can: what the client costs is taken
// from the server, with which it shares the machine.
func (l load) connection(ctx context.Context, s *server, end time.Time) ([]time.Duration, error) {
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	answers := bufio.NewReader(conn)
	var request []byte
	var times []time.Duration
	for began := time.Now(); began.Before(end); began = time.Now() {
		request = fmt.Appendf(request[:0], "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", s.path(rand.IntN(s.stubs)), s.address)
		if _, err := conn.Write(request); err != nil {
			return nil, err
		}
		answer, err := http.ReadResponse(answers, nil)
		if err != nil {
			return nil, err
		}
		n, err := io.Copy(io.Discard, answer.Body)
		if err != nil {
			return nil, err
		}
		if answer.StatusCode != http.StatusOK || n < int64(len(body))/2 {
			return nil, fmt.Errorf("GET %s: %s, %d bytes", s.path(0), answer.Status, n)
		}
		times = append(times, time.Since(began))
	}
	return times, nil
}
