package main

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/term"

	"example.com/touchstone/schemas"
)

// progress shows how far a run is: one line that lives on a terminal, a line
// for each tenth elsewhere.
type progress struct {
	out    *os.File
	live   bool
	failed int
	shown  time.Time
	tenth  int
}

func newProgress(out *os.File) *progress {
	return &progress{out: out, live: term.IsTerminal(int(out.Fd()))}
}

// refresh is how often a live line changes; more only costs time.
const refresh = 50 * time.Millisecond

func (p *progress) show(done, total int, result schemas.CaseResult) {
	if result.Status == schemas.Fail {
		p.failed++
	}
	what := fmt.Sprintf("cases, %d failed", p.failed)
	if p.live {
		what += "  " + result.ID
	}
	p.line(done, total, what)
}

// line shows how many of something are done.
func (p *progress) line(done, total int, what string) {
	if p.live {
		if now := time.Now(); now.Sub(p.shown) >= refresh || done == total {
			p.shown = now
			fmt.Fprintf(p.out, "\r\x1b[K%d/%d %s", done, total, what)
		}
		return
	}
	if tenth := done * 10 / total; tenth > p.tenth {
		p.tenth = tenth
		fmt.Fprintf(p.out, "%d/%d %s\n", done, total, what)
	}
}

// done clears a live line.
func (p *progress) done() {
	if p.live {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
