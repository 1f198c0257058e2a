package mockbackend

import (
	"math"
	"slices"
	"testing"
	"time"

	"example.com/touchstone/schemas"
)

func draws(t *testing.T, in schemas.StubDelay, n int) []time.Duration {
	t.Helper()
	d, err := compileDelay(in, "")
	if err != nil {
		t.Fatal(err)
	}
	list := make([]time.Duration, n)
	for i := range list {
		list[i] = d.next()
	}
	return list
}

func TestDrawnDelays(t *testing.T) {
	const n = 10_000
	seed, other := uint64(7), uint64(8)
	uniform := &schemas.StubUniform{MinMs: 100, MaxMs: 300}
	lognormal := &schemas.StubLogNormal{MedianMs: 100, Sigma: 0.5}
	for name, in := range map[string]schemas.StubDelay{"uniform": {Uniform: uniform, Seed: &seed}, "lognormal": {LogNormal: lognormal, Seed: &seed}} {
		first := draws(t, in, n)
		if !slices.Equal(first, draws(t, in, n)) {
			t.Errorf("%s: the same seed gives other delays", name)
		}
		in.Seed = &other
		if slices.Equal(first, draws(t, in, n)) {
			t.Errorf("%s: another seed gives the same delays", name)
		}
		in.Seed = nil
		if slices.Equal(draws(t, in, n), draws(t, in, n)) {
			t.Errorf("%s: without a seed the delays repeat", name)
		}
		slices.Sort(first)
		// The quantiles of the distributions: 100 ms * e^(0.5 z) for the second.
		for quantile, want := range map[string][]float64{"uniform": {120, 200, 280}, "lognormal": {52.7, 100, 189.8}}[name] {
			got := float64(first[[]int{n / 10, n / 2, n * 9 / 10}[quantile]]) / float64(time.Millisecond)
			if math.Abs(got-want) > want*0.05 {
				t.Errorf("%s: quantile %d is %.1f ms, want %.1f", name, quantile, got, want)
			}
		}
		if first[0] <= 0 || name == "uniform" && (first[0] < 100*time.Millisecond || first[n-1] > 300*time.Millisecond) {
			t.Errorf("%s: from %v to %v", name, first[0], first[n-1])
		}
	}
	if got := draws(t, schemas.StubDelay{Ms: 5}, 2); got[0] != 5*time.Millisecond || got[1] != got[0] {
		t.Errorf("a fixed delay is %v", got)
	}
	// The tail of a wide distribution does not take for ever.
	if got := slices.Max(draws(t, schemas.StubDelay{LogNormal: &schemas.StubLogNormal{MedianMs: 3_600_000, Sigma: 10}}, 100)); got != maxDelay {
		t.Errorf("the longest delay is %v", got)
	}
}

func TestDelayRefusals(t *testing.T) {
	seed := uint64(1)
	for _, tt := range []struct {
		in schemas.StubDelay
		at string
	}{
		{schemas.StubDelay{Ms: -1}, "/ms"},
		{schemas.StubDelay{Ms: 3_600_001}, "/ms"},
		{schemas.StubDelay{Ms: 1, Seed: &seed}, "/seed"},
		{schemas.StubDelay{Ms: 1, Uniform: &schemas.StubUniform{}}, ""},
		{schemas.StubDelay{Uniform: &schemas.StubUniform{}, LogNormal: &schemas.StubLogNormal{}}, ""},
		{schemas.StubDelay{Uniform: &schemas.StubUniform{MinMs: 2, MaxMs: 1}}, "/uniform"},
		{schemas.StubDelay{Uniform: &schemas.StubUniform{MaxMs: 3_600_001}}, "/uniform"},
		{schemas.StubDelay{LogNormal: &schemas.StubLogNormal{Sigma: 1}}, "/lognormal"},
		{schemas.StubDelay{LogNormal: &schemas.StubLogNormal{MedianMs: 1, Sigma: 11}}, "/lognormal"},
	} {
		_, err := compileDelay(tt.in, "")
		if bad, ok := err.(*InvalidStubError); !ok || bad.Pointer != tt.at {
			t.Errorf("%+v: %v, want an error at %q", tt.in, err, tt.at)
		}
	}
}
