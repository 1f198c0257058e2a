package mockbackend_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/touchstone/mockbackend"
	"example.com/touchstone/schemas"
)

// benchBody is what all the servers of the benchmark answer.
const benchBody = `{"id":1,"item":"mechanical keyboard","quantity":2,"owner":"alice"}`

// roleVariable tells a child process of the tests which server it is: "bare",
// or a number of stubs.
const roleVariable = "TOUCHSTONE_TEST_SERVER"

// beServer serves until standard input ends. On the way out it says how much
// memory it has: in use on the heap, and from the operating system in all.
func beServer(role string) error {
	url := ""
	if role == "bare" {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, benchBody)
		}))
		defer srv.Close()
		url = srv.URL
	} else {
		n, err := strconv.Atoi(role)
		if err != nil {
			return err
		}
		srv, err := mockbackend.Start(mockbackend.Options{})
		if err != nil {
			return err
		}
		defer srv.Close()
		for i := range n {
			if _, err := srv.Add(benchStub(i)); err != nil {
				return err
			}
		}
		url = srv.URL()
	}
	fmt.Println(url)
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Println(m.HeapInuse, m.Sys-m.HeapReleased)
	return nil
}

func benchStub(i int) schemas.Stub {
	return schemas.Stub{
		Match:   schemas.StubMatch{Method: "GET", Path: fmt.Sprintf("/bench/%d", i)},
		Respond: &schemas.StubResponse{JSON: []byte(benchBody)},
	}
}

// A child is a server in a process of its own, so that no server pays for the
// garbage of another or of the client.
type child struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	stdout *bufio.Reader
	addr   string
	// next is the stub that comes next: all of them get their turn.
	stubs, next int
	conns       []*benchConn
}

func startChild(b testing.TB, role string, stubs, conns int) *child {
	b.Helper()
	c := &child{cmd: exec.Command(os.Args[0]), stubs: stubs}
	c.cmd.Env = append(os.Environ(), roleVariable+"="+role)
	c.cmd.Stderr = os.Stderr
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	c.stdin, c.stdout = stdin, bufio.NewReader(stdout)
	if err := c.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	line, err := c.stdout.ReadString('\n')
	if err != nil {
		b.Fatalf("the server %s does not start: %v", role, err)
	}
	c.addr = strings.TrimPrefix(strings.TrimSpace(line), "http://")
	for range conns {
		c.conns = append(c.conns, dialBench(b, c.addr))
	}
	return c
}

// stop gives the memory in use on the heap, and from the operating system.
func (c *child) stop(b testing.TB) (heap, system int) {
	for _, conn := range c.conns {
		conn.conn.Close()
	}
	c.stdin.Close()
	if _, err := fmt.Fscan(c.stdout, &heap, &system); err != nil {
		b.Errorf("reading the memory of the server: %v", err)
	}
	if err := c.cmd.Wait(); err != nil {
		b.Error(err)
	}
	return heap, system
}

// run makes n requests, spread over the connections, and gives the time.
func (c *child) run(b testing.TB, n int) time.Duration {
	var wg sync.WaitGroup
	begin := time.Now()
	for i, conn := range c.conns {
		wg.Go(func() {
			for k := i; k < n; k += len(c.conns) {
				if err := conn.get((c.next + k) % c.stubs); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	c.next += n
	return time.Since(begin)
}

// A benchConn is as small a client as can be: it keeps the connection, writes
// bytes made before, and does not read the answer, of which it knows the length,
// beyond its status.
type benchConn struct {
	conn   net.Conn
	answer []byte
	text   []byte
}

func dialBench(b testing.TB, addr string) *benchConn {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	// The first answer tells how long all are.
	if _, err := fmt.Fprintf(conn, benchRequest, 0); err != nil {
		b.Fatal(err)
	}
	r := bufio.NewReader(conn)
	length := len(readHead(b, r)) + len(benchBody)
	if _, err := io.CopyN(io.Discard, r, int64(len(benchBody))); err != nil || r.Buffered() > 0 {
		b.Fatalf("%d bytes too many, %v", r.Buffered(), err)
	}
	return &benchConn{conn: conn, answer: make([]byte, length)}
}

const benchRequest = "GET /bench/%d HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n"

func (c *benchConn) get(stub int) error {
	c.text = fmt.Appendf(c.text[:0], benchRequest, stub)
	if _, err := c.conn.Write(c.text); err != nil {
		return err
	}
	if _, err := io.ReadFull(c.conn, c.answer); err != nil {
		return err
	}
	if !bytes.HasPrefix(c.answer, []byte("HTTP/1.1 200 ")) || !bytes.HasSuffix(c.answer, []byte(benchBody)) {
		return fmt.Errorf("stub %d: got %q", stub, c.answer)
	}
	return nil
}

// BenchmarkThroughput compares requests per second, journal on, with a bare
// net/http handler that gives the same answer: with one stub, and with 10 000,
// each of which is called. The three take turns; the figures are medians over
// the rounds, of the ratios too, so that a busy moment of the machine does not
// count for one of them.
//
//	go test -run '^$' -bench Throughput -benchtime 10s ./mockbackend
func BenchmarkThroughput(b *testing.B) {
	const conns, turn = 32, 1000
	roles := []struct {
		name  string
		stubs int
	}{{"bare", 1}, {"1", 1}, {"10000", 10_000}}
	var children []*child
	for _, role := range roles {
		c := startChild(b, role.name, role.stubs, conns)
		c.run(b, 20_000) // warm: the journal is full
		children = append(children, c)
	}
	var rates [3][]float64
	var oneToBare, manyToOne []float64
	round := 0
	for b.Loop() {
		var rate [3]float64
		for i := range children {
			at := (round + i) % len(children) // nobody is always the first
			rate[at] = turn / children[at].run(b, turn).Seconds()
		}
		for i := range rate {
			rates[i] = append(rates[i], rate[i])
		}
		oneToBare = append(oneToBare, rate[1]/rate[0])
		manyToOne = append(manyToOne, rate[2]/rate[1])
		round++
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(rates[0]), "bare-req/s")
	b.ReportMetric(median(rates[1]), "1-stub-req/s")
	b.ReportMetric(median(rates[2]), "10000-stubs-req/s")
	b.ReportMetric(median(oneToBare), "1-stub/bare")
	b.ReportMetric(median(manyToOne), "10000-stubs/1-stub")
	for _, c := range children {
		c.stop(b)
	}
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// BenchmarkMillionRequests is the memory after a million requests, journal on.
//
//	go test -run '^$' -bench MillionRequests -benchtime 1x ./mockbackend
func BenchmarkMillionRequests(b *testing.B) {
	for b.Loop() {
		c := startChild(b, "1", 1, 32)
		c.run(b, 1_000_000)
		heap, system := c.stop(b)
		b.ReportMetric(float64(heap)/(1<<20), "heap-MiB")
		b.ReportMetric(float64(system)/(1<<20), "system-MiB")
	}
}
