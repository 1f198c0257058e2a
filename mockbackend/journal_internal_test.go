package mockbackend

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The journal against a plain list of what was received.
func TestJournalAgainstAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.SampledFrom([]int{300, 65, 7, 2, 1}).Draw(t, "entries")
		maxBytes := rapid.SampledFrom([]int{1 << 20, 10_000}).Draw(t, "bytes")
		j := newJournal("", Options{JournalEntries: limit, JournalBytes: int64(maxBytes)})
		type received struct {
			seq  uint64
			stub string
			size int
			done bool
		}
		var list []received
		// waiting are requests whose body is still to come.
		type arrived struct {
			seq uint64
			q   *request
			d   *decision
		}
		var waiting []arrived
		// bound drops what has no room, up to the entry with a number.
		bound := func(upTo uint64) {
			for len(list) > 0 && list[0].seq < upTo {
				total := 0
				for _, r := range list {
					total += r.size
				}
				if len(list) <= limit && total <= maxBytes {
					return
				}
				list = list[1:]
			}
		}
		seq := uint64(0)
		for range rapid.SampledFrom([]int{400, 50, 5}).Draw(t, "steps") {
			switch rapid.IntRange(0, 100).Draw(t, "step") {
			case 100:
				j.Clear()
				list = nil
			case 10, 20, 30, 40, 50, 60, 70, 80, 90:
				if len(list) > 0 {
					i := rapid.IntRange(0, len(list)-1).Draw(t, "finished")
					list[i].done = true
					j.finish(list[i].seq, Sent{Phase: PhaseComplete})
				}
			default:
				stub := rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "stub")
				body := make([]byte, rapid.SampledFrom([]int{0, 0, 0, 10, 600, 4000}).Draw(t, "body"))
				q := &request{path: "/", head: []byte("GET / HTTP/1.1\r\n"), body: body}
				d := &decision{stub: stub, hash: hashID(stub), route: "r"}
				seq++
				if rapid.Bool().Draw(t, "at once") {
					j.begin(q, d)
					list = append(list, received{seq, stub, 17 + len(body), false})
					bound(seq + 1)
					break
				}
				begun := *q
				begun.body = nil
				waiting = append(waiting, arrived{j.begin(&begun, nil), q, d})
				list = append(list, received{seq, "", 17, false})
				bound(seq + 1)
			}
			for len(waiting) > 0 && rapid.Bool().Draw(t, "decided") {
				i := rapid.IntRange(0, len(waiting)-1).Draw(t, "which")
				w := waiting[i]
				waiting = slices.Delete(waiting, i, i+1)
				j.decided(w.seq, w.q, w.d)
				for i := range list {
					if list[i].seq == w.seq {
						list[i].stub, list[i].size = w.d.stub, 17+len(w.q.body)
						bound(w.seq)
						break
					}
				}
			}
			if first := j.Entries(Filter{}); len(first) != len(list) || len(list) > 0 && first[0].Seq != list[0].seq {
				t.Fatalf("after request %d the journal has %d entries, not %d", seq, len(first), len(list))
			}
		}
		for _, f := range []Filter{{}, {Stub: "a"}, {Stub: "c", Done: true}, {InFlight: true}, {Stub: "b", After: seq / 2}, {Method: "GE"}} {
			var want, got []uint64
			for _, r := range list {
				if (f.Stub == "" || f.Stub == r.stub) && (!f.Done || r.done) && (!f.InFlight || !r.done) && r.seq > f.After && f.Method == "" {
					want = append(want, r.seq)
				}
			}
			for _, e := range j.Entries(f) {
				got = append(got, e.Seq)
				if i := slices.IndexFunc(list, func(r received) bool { return r.seq == e.Seq }); i < 0 || len(e.Body) != list[i].size-17 || e.Stub != list[i].stub {
					t.Errorf("entry %d is %+v", e.Seq, e)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%+v (-want +got):\n%s", f, diff)
			}
		}
	})
}

// What large bodies took is given back when small ones come, and when they are
// dropped.
func TestJournalGivesMemoryBack(t *testing.T) {
	const entries, limit = 1000, 1 << 20
	j := newJournal("", Options{JournalEntries: entries, JournalBytes: limit})
	kept := func() (n int) {
		for _, s := range j.slots {
			n += cap(s.blob)
		}
		return n
	}
	for _, size := range []int{100_000, 10, 300, 10_000, 0} {
		for i := range 2 * entries {
			q := &request{path: fmt.Sprintf("/%d", i), head: []byte("GET / HTTP/1.1\r\n"), body: make([]byte, size)}
			j.begin(q, &decision{})
		}
		if got := kept(); got > limit+entries*keepBlob {
			t.Errorf("after bodies of %d bytes the journal keeps %d", size, got)
		}
	}
}

// Who waits hears of an answer that goes on.
func TestWaitHearsOfProgress(t *testing.T) {
	j := newJournal("", Options{JournalEntries: 10, JournalBytes: 1000})
	seq := j.begin(&request{head: []byte("GET / HTTP/1.1\r\n")}, &decision{})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	failed := make(chan error, 1)
	go func() {
		_, err := j.Wait(ctx, Filter{Status: 200, InFlight: true}, 1)
		failed <- err
	}()
	for waits := false; !waits; runtime.Gosched() {
		j.mu.Lock()
		waits = j.changed != nil
		j.mu.Unlock()
	}
	j.progress(seq, Sent{Status: 200, Phase: PhaseBody})
	if err := <-failed; err != nil {
		t.Error(err)
	}
}
