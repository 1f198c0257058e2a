package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"example.com/touchstone/mockbackend"
)

// longAnswer is how long an answer may take before a line says that it is under
// way: a client that waits for a stall should not look like one that never
// called.
const longAnswer = time.Second

// printEntries prints a line for each request that has been answered, and one
// before for each that takes long.
func printEntries(to io.Writer, long time.Duration) func(mockbackend.Entry) {
	type request struct {
		scope string
		seq   uint64
	}
	type pending struct {
		latest mockbackend.Entry
		timer  *time.Timer
	}
	var mu sync.Mutex
	waiting := map[request]*pending{}
	print := func(e mockbackend.Entry) {
		fmt.Fprintln(to, e.Time.Format("15:04:05.000"), e)
	}
	return func(e mockbackend.Entry) {
		mu.Lock()
		defer mu.Unlock()
		id := request{e.Scope, e.Seq}
		p := waiting[id]
		switch {
		case e.Done:
			if p != nil {
				p.timer.Stop()
				delete(waiting, id)
			}
			print(e)
		case p != nil:
			p.latest = e
		default:
			p = &pending{latest: e}
			p.timer = time.AfterFunc(long, func() {
				mu.Lock()
				defer mu.Unlock()
				if waiting[id] == p {
					print(p.latest)
				}
			})
			waiting[id] = p
		}
	}
}
