package mockbackend

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"example.com/touchstone/schemas"
)

// maxDelay bounds a delay, drawn or fixed.
const maxDelay = time.Hour

// A delay gives one waiting time after another. It is safe for concurrent use;
// a nil delay is none.
type delay struct {
	fixed time.Duration
	mu    sync.Mutex
	rng   *rand.Rand
	draw  func(*rand.Rand) float64 // in milliseconds; nil: fixed
}

// compileDelay checks a delay. at is its JSON Pointer.
func compileDelay(in schemas.StubDelay, at string) (*delay, error) {
	d := &delay{fixed: milliseconds(in.Ms)}
	limit := float64(maxDelay.Milliseconds())
	switch u, l := in.Uniform, in.LogNormal; {
	case in.Ms < 0 || int64(in.Ms) > maxDelay.Milliseconds():
		return nil, invalid(at+"/ms", "is %d; give 0 to %.0f", in.Ms, limit)
	case in.Ms > 0 && (u != nil || l != nil), u != nil && l != nil:
		return nil, invalid(at, "is several delays; give one of ms, uniform and lognormal")
	case in.Seed != nil && u == nil && l == nil:
		return nil, invalid(at+"/seed", "is for uniform and lognormal only")
	case u != nil:
		if u.MinMs < 0 || u.MaxMs < u.MinMs || float64(u.MaxMs) > limit {
			return nil, invalid(at+"/uniform", "is %d to %d; give two numbers of milliseconds that rise, from 0 to %.0f", u.MinMs, u.MaxMs, limit)
		}
		d.draw = func(r *rand.Rand) float64 { return float64(u.MinMs) + r.Float64()*float64(u.MaxMs-u.MinMs) }
	case l != nil:
		if l.MedianMs <= 0 || l.MedianMs > limit || l.Sigma < 0 || l.Sigma > 10 {
			return nil, invalid(at+"/lognormal", "has median %g and sigma %g; give a median above 0 and up to %.0f, and a sigma from 0 to 10", l.MedianMs, l.Sigma, limit)
		}
		d.draw = func(r *rand.Rand) float64 { return l.MedianMs * math.Exp(l.Sigma*r.NormFloat64()) }
	}
	if d.draw != nil {
		seed := rand.Uint64()
		if in.Seed != nil {
			seed = *in.Seed
		}
		d.rng = rand.New(rand.NewPCG(seed, 0))
	}
	return d, nil
}

// fixedDelay is the same delay each time.
func fixedDelay(d time.Duration) *delay { return &delay{fixed: d} }

func (d *delay) next() time.Duration {
	if d == nil {
		return 0
	}
	if d.draw == nil {
		return d.fixed
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Duration(min(d.draw(d.rng)*float64(time.Millisecond), float64(maxDelay)))
}
