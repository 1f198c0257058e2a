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
	if p.live {
		if now := time.Now(); now.Sub(p.shown) >= refresh || done == total {
			p.shown = now
			fmt.Fprintf(p.out, "\r\x1b[K%d/%d cases, %d failed  %s", done, total, p.failed, result.ID)
		}
		return
	}
	if tenth := done * 10 / total; tenth > p.tenth {
		p.tenth = tenth
		fmt.Fprintf(p.out, "%d/%d cases, %d failed\n", done, total, p.failed)
	}
}

// done clears a live line.
func (p *progress) done() {
	if p.live {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
