package mockbackend

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/touchstone/schemas"
)

// indexStubs are stubs on one path, whose priorities go down.
func indexStubs(tb testing.TB, n int, path string, priorities int) []*stub {
	tb.Helper()
	srv := New(Options{})
	defer srv.Close()
	list := make([]*stub, n)
	for i := range list {
		s, err := srv.root.compile(schemas.Stub{ID: fmt.Sprintf("s%d", i), Priority: -i * priorities / n, Match: schemas.StubMatch{Path: path}, Respond: &schemas.StubResponse{}})
		if err != nil {
			tb.Fatal(err)
		}
		list[i] = s
	}
	return list
}

// TestIndexOrder: whatever comes and goes, stubs are asked in their order.
func TestIndexOrder(t *testing.T) {
	for _, path := range []string{"/a", "/{a}", "/{a...}"} {
		random := rand.New(rand.NewPCG(1, 2))
		x, list := newIndex(), indexStubs(t, 40, path, 4)
		in := map[*stub]bool{}
		check := func() {
			t.Helper()
			var want []*stub
			for s := range in {
				want = append(want, s)
			}
			slices.SortFunc(want, precedence)
			if got := x.candidates("/a", nil); !slices.Equal(got, want) {
				t.Fatalf("%s: got %d stubs, want %d; or they are in another order", path, len(got), len(want))
			}
		}
		for range 300 {
			some := map[*stub]bool{}
			for range random.IntN(12) {
				some[list[random.IntN(len(list))]] = true
			}
			var out, now []*stub
			for s := range some {
				if in[s] && random.IntN(4) > 0 {
					out = append(out, s)
					delete(in, s)
				}
				if !in[s] && random.IntN(4) > 0 {
					now = append(now, s)
					in[s] = true
				}
			}
			if err := x.replace(out, now...); err != nil {
				t.Fatal(err)
			}
			check()
			one := list[random.IntN(len(list))]
			if was := in[one]; x.remove(one.ID) != was {
				t.Fatalf("%s: removing %s says %t", path, one.ID, !was)
			}
			delete(in, one)
			check()
			if random.IntN(10) == 0 {
				now = now[:0]
				for s := range in {
					now = append(now, s)
				}
				x.reset(now)
				check()
			}
		}
		for _, s := range list {
			x.remove(s.ID)
		}
		if len(x.literal) > 0 || !x.root.empty() || len(x.byID) > 0 {
			t.Errorf("%s: something is left of what was removed", path)
		}
	}
}

// BenchmarkIndexReplace is what loading files again costs the index when all
// their stubs are on one path, and removing them one by one, the oldest first.
func BenchmarkIndexReplace(b *testing.B) {
	for _, bb := range []struct {
		path       string
		priorities int
	}{{"/a", 1}, {"/a", 100}, {"/{a}", 1}} {
		b.Run(fmt.Sprintf("path=%s/priorities=%d", bb.path, bb.priorities), func(b *testing.B) {
			list := indexStubs(b, 20_000, bb.path, bb.priorities)
			x := newIndex()
			for b.Loop() {
				for range 2 {
					if err := x.replace(list, list...); err != nil {
						b.Fatal(err)
					}
				}
				for _, s := range list {
					x.remove(s.ID)
				}
			}
		})
	}
}
