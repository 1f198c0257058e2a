// Command bench measures how many requests a second "touchstone mock" answers,
// journal on, beside a bare net/http handler and beside other mock servers:
//
//	go run ./mockbackend/bench
//	go run ./mockbackend/bench -peers DIR
//
// Every server is a process of its own and gives the same body. They take short
// turns, in another order each round, so that what else the machine does falls
// on all of them; what is compared is compared round by round. DIR holds the
// others, as far as they are wanted:
//
//	npm install --prefix DIR mountebank @stoplight/prism-cli wiremock
//	GOBIN=DIR/bin go install github.com/mccutchen/go-httpbin/v2/cmd/go-httpbin@latest
//
// WireMock needs Java besides, the first two Node.js.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// plan is how the servers are measured.
type plan struct {
	connections, rounds, starts int
	length                      time.Duration // of a turn
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	bare := flag.String("bare", "", "be the bare handler, on this address (for the command itself)")
	touchstone := flag.String("touchstone", "", "the touchstone to measure; it is built when this is empty")
	peers := flag.String("peers", "", "directory of the other servers")
	p := plan{}
	flag.IntVar(&p.connections, "connections", 16, "connections, each with one request at a time")
	flag.DurationVar(&p.length, "length", 250*time.Millisecond, "length of a turn")
	flag.IntVar(&p.rounds, "rounds", 80, "rounds, of which the median counts")
	flag.IntVar(&p.starts, "starts", 5, "starts of each server, of which the median counts")
	flag.Parse()
	if err := run(ctx, *bare, *touchstone, *peers, p); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, bare, touchstone, peers string, p plan) error {
	if bare != "" {
		return serveBare(ctx, bare)
	}
	if p.connections < 1 || p.rounds < 1 || p.starts < 1 || p.length <= 0 {
		return errors.New("-connections, -rounds, -starts and -length must be positive")
	}
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if touchstone == "" {
		touchstone = filepath.Join(dir, "touchstone"+exe())
		build := exec.CommandContext(ctx, "go", "build", "-o", touchstone, "example.com/touchstone/cmd/touchstone")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("building touchstone: %w", err)
		}
	}
	list, err := candidates(dir, touchstone, peers)
	if err != nil {
		return err
	}
	return p.compare(ctx, os.Stdout, list)
}

// compare starts the servers, calls them in turns, and writes a table.
func (p plan) compare(ctx context.Context, out io.Writer, all []*server) error {
	var servers []*server
	for _, s := range all {
		if s.missing != "" {
			fmt.Fprintf(os.Stderr, "%s is left out: %s\n", s.name, s.missing)
			continue
		}
		fmt.Fprintln(os.Stderr, "starting", s.name)
		if err := s.start(ctx, p); err != nil {
			return fmt.Errorf("starting %s: %w", s.name, err)
		}
		defer s.stop()
		servers = append(servers, s)
	}
	for round := range p.rounds + 1 {
		for i := range servers {
			s := servers[(round+i)%len(servers)]
			length := p.length
			if round == 0 {
				length = max(length, 2*time.Second) // to warm up
			}
			got, err := s.serveTurn(ctx, p.connections, length)
			if err != nil {
				return fmt.Errorf("calling %s: %w", s.name, cmp.Or(ctx.Err(), err))
			}
			s.requests += got.requests
			if round > 0 {
				s.turns = append(s.turns, got)
			}
		}
		if round%10 == 0 {
			fmt.Fprintf(os.Stderr, "round %d of %d\n", round, p.rounds)
		}
	}
	p.print(out, servers)
	return nil
}

func (p plan) print(out io.Writer, servers []*server) {
	fmt.Fprintf(out, "%s, %s/%s, %d CPUs, %d connections, medians of %d rounds of %s\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), p.connections, p.rounds, p.length)
	fmt.Fprint(out, "| server | requests/s | of bare | 99th percentile | start | peak memory | after requests |\n|---|---:|---:|---:|---:|---:|---:|\n")
	for _, s := range servers {
		fmt.Fprintf(out, "| %s | %.0f | %.2f | %s | %d ms | %s | %d |\n", s.name,
			median(s.turns, turn.rate), median(ratios(s, servers[0]), identity), median(s.turns, func(t turn) time.Duration { return t.p99 }).Round(10*time.Microsecond),
			median(s.starts, time.Duration.Milliseconds), peakMemory(s.process.Process.Pid), s.requests)
	}
	fmt.Fprintf(out, "\n%s against %s: %.3f\n", servers[2].name, servers[1].name, median(ratios(servers[2], servers[1]), identity))
}

// ratios compares two servers round by round.
func ratios(s, other *server) []float64 {
	list := make([]float64, len(s.turns))
	for i := range list {
		list[i] = s.turns[i].rate() / other.turns[i].rate()
	}
	return list
}

func identity(v float64) float64 { return v }

func median[T any, V cmp.Ordered](list []T, of func(T) V) V {
	values := make([]V, len(list))
	for i, item := range list {
		values[i] = of(item)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// peakMemory reads what Linux says of a process; elsewhere it is not known.
func peakMemory(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return "?"
	}
	for line := range strings.Lines(string(data)) {
		var kilobytes int
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kilobytes); err == nil {
			return fmt.Sprintf("%d MiB", kilobytes>>10)
		}
	}
	return "?"
}
