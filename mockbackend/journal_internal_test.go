package mockbackend

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The journal against a plain list of what was received.
func TestJournalAgainstAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 200).Draw(t, "entries")
		j := newJournal("", Options{JournalEntries: limit, JournalBytes: 10_000})
		type received struct {
			seq  uint64
			stub string
			size int
			done bool
		}
		var list []received
		seq := uint64(0)
		for range rapid.IntRange(0, 500).Draw(t, "steps") {
			switch rapid.IntRange(0, 20).Draw(t, "step") {
			case 0:
				j.Clear()
				list = nil
			case 1, 2, 3, 4:
				if len(list) > 0 {
					i := rapid.IntRange(0, len(list)-1).Draw(t, "finished")
					list[i].done = true
					j.finish(list[i].seq, Sent{Phase: PhaseComplete})
				}
			default:
				stub := rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "stub")
				body := make([]byte, rapid.SampledFrom([]int{0, 0, 0, 10, 600, 4000}).Draw(t, "body"))
				q := &request{path: "/", head: []byte("GET / HTTP/1.1\r\n"), body: body}
				d := &decision{stub: stub, route: "r"}
				seq++
				if rapid.Bool().Draw(t, "at once") {
					j.begin(q, d)
				} else {
					arrived := *q
					arrived.body = nil
					j.decided(j.begin(&arrived, nil), q, d)
				}
				list = append(list, received{seq, stub, 17 + len(body), false})
				for total := 0; ; total = 0 {
					for _, r := range list {
						total += r.size
					}
					if len(list) <= limit && total <= 10_000 {
						break
					}
					list = list[1:]
				}
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
