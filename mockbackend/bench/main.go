// Command bench measures how many requests a second the mock backend answers,
// beside a bare net/http handler and beside other mock servers, in one run:
//
//	go run ./mockbackend/bench
//	go run ./mockbackend/bench -peers DIR
//
// Every server is a process of its own and gives the same body. They take
// turns, so that what else the machine does falls on all of them. DIR holds the
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
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	serve := flag.String("serve", "", "be one of the servers: bare or mock (for the command itself)")
	stubs := flag.Int("stubs", 1, "number of stubs of -serve mock")
	peers := flag.String("peers", "", "directory of the other servers")
	load := load{}
	flag.IntVar(&load.conns, "conns", 16, "connections, each with one request at a time")
	flag.DurationVar(&load.length, "length", 2*time.Second, "length of a round")
	rounds := flag.Int("rounds", 5, "rounds, of which the median counts")
	flag.Parse()
	if *serve != "" {
		if err := serveUntil(ctx, *serve, *stubs); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if err := compare(ctx, os.Stdout, candidates(*peers), load, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// A row is what was measured of one server.
type row struct {
	*server
	rates []float64 // requests a second, by round
	p99   []time.Duration
}

func compare(ctx context.Context, out io.Writer, servers []*server, l load, rounds int) error {
	var rows []*row
	for _, s := range servers {
		if s.missing != "" {
			fmt.Fprintf(os.Stderr, "%s is left out: %s\n", s.name, s.missing)
			continue
		}
		fmt.Fprintln(os.Stderr, "starting", s.name)
		if err := s.start(ctx); err != nil {
			return fmt.Errorf("starting %s: %w", s.name, err)
		}
		defer s.stop()
		rows = append(rows, &row{server: s})
	}
	for round := range rounds + 1 {
		for _, r := range rows {
			if err := ctx.Err(); err != nil {
				return err
			}
			rate, p99, err := l.run(ctx, r.server)
			if err != nil {
				return fmt.Errorf("calling %s: %w", r.name, err)
			}
			if round == 0 {
				continue // to warm up
			}
			fmt.Fprintf(os.Stderr, "round %d: %s: %.0f requests/s\n", round, r.name, rate)
			r.rates, r.p99 = append(r.rates, rate), append(r.p99, p99)
		}
	}
	fmt.Fprintf(out, "%s, %s/%s, %d CPUs, %d connections, median of %d rounds of %s\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), l.conns, rounds, l.length)
	fmt.Fprintf(out, "| server | requests/s | of bare | 99th percentile | start | peak memory |\n|---|---:|---:|---:|---:|---:|\n")
	bare := median(rows[0].rates)
	for _, r := range rows {
		rate := median(r.rates)
		fmt.Fprintf(out, "| %s | %.0f | %.2f | %s | %d ms | %s |\n", r.name, rate, rate/bare, median(r.p99).Round(10*time.Microsecond), r.took.Milliseconds(), peakMemory(r.process.Process.Pid))
	}
	return nil
}

func median[T cmp.Ordered](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
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
