// Package suite runs the conformance cases against a target and gives a
// verdict. It is used in three ways: by the touchstone command through
// [Certify], by a Go project's own tests through [Run], and, one level down,
// through package engine, case by case.
package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/mockbackend"
	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/engine"
	"example.com/touchstone/suite/target"
	"example.com/touchstone/suite/verdict"
)

// Version is the suite's version, written into certificates.
const Version = "0.1.0"

// Config says what to judge and how. Only Target or Open is required.
type Config struct {
	// Target is what is judged. The caller closes it.
	Target target.Target
	// Open, where Target is nil, opens the target once the mock backend
	// listens; the run closes it. An error that is no [*target.ProtocolError]
	// is about the configuration.
	Open func(ctx context.Context, settings schemas.ConfigureParams) (target.Target, error)
	// Spec is how the target was named, for reports.
	Spec string
	// Corpus is where the cases come from; nil means the built-in corpus.
	Corpus *fixtures.Corpus
	// Profiles, Requirements and Cases narrow the selection; empty means every
	// profile the target claims, and every case of it.
	Profiles, Requirements, Cases []string
	// Strict makes a failed SHOULD a failure.
	Strict bool
	// CallTimeout is the time one call of the target may take; 0 means engine.DefaultCallTimeout.
	CallTimeout time.Duration
	// Backend is a mock backend to use; nil means one of the run's own.
	Backend *mockbackend.Server
	// BackendAddr is where the run's own mock backend listens; "" is a free port.
	BackendAddr string
	// Limits are those of a target that cannot be told the run's: TimeoutMs,
	// MaxResponseBytes, MaxInlineFileBytes and MaxFileBytes. What is not set is
	// the run's.
	Limits schemas.ConfigureParams
	// Progress, if not nil, is told after each case.
	Progress func(done, total int, result schemas.CaseResult)
}

// UsageError says that a configuration cannot be meant; nothing was started
// for it (exit code 2).
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap gives what is wrong.
func (e *UsageError) Unwrap() error { return e.Err }

// session is one run: the engine, the cases, and what came of them.
type session struct {
	config   Config
	engine   *engine.Engine
	profiles []string
	selected []fixtures.Case
	started  time.Time
	close    func() error
	ctx      context.Context // of the whole run
	ahead    *ahead

	results     []schemas.CaseResult
	broke       error
	failed      error
	interrupted bool
	filtered    bool // by Ginkgo's own flags
}

// Check says whether the selection names what exists, without starting anything.
func (c Config) Check() error {
	corpus, err := c.corpus()
	if err != nil {
		return err
	}
	for _, id := range c.Requirements {
		if _, ok := corpus.Requirement(id); !ok {
			return unknown("requirement", id, "touchstone list", corpus.RequirementIDs())
		}
	}
	for _, id := range c.Cases {
		if _, ok := corpus.Case(id); !ok {
			return unknown("case", id, "touchstone list --cases", corpus.CaseIDs())
		}
	}
	known := profilesOf(corpus)
	for _, name := range c.Profiles {
		if !slices.Contains(known, name) {
			return &UsageError{fmt.Errorf("unknown profile %q; known: %s", name, strings.Join(known, ", "))}
		}
	}
	return nil
}

func unknown(what, name, list string, names []string) error {
	near := fixtures.Nearest(name, names)
	hint := fmt.Sprintf("`%s` shows all %d", list, len(names))
	switch {
	case len(near) > 0:
		hint = "the nearest are " + strings.Join(near, ", ")
	case len(names) <= 12: // of a directory, which the command does not list
		hint = "there are " + strings.Join(names, ", ")
	}
	return &UsageError{fmt.Errorf("unknown %s %q: %s", what, name, hint)}
}

func profilesOf(corpus *fixtures.Corpus) []string {
	var out []string
	for _, r := range corpus.Requirements {
		if !slices.Contains(out, r.Profile) {
			out = append(out, r.Profile)
		}
	}
	return out
}

func (c Config) corpus() (*fixtures.Corpus, error) {
	if c.Corpus != nil {
		return c.Corpus, nil
	}
	return fixtures.Builtin()
}

// open starts the backend, meets the target and selects the cases.
func open(ctx context.Context, c Config) (*session, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	own := c.Corpus == nil
	corpus, err := c.corpus()
	if err != nil {
		return nil, err
	}
	c.Corpus = corpus
	s := &session{config: c, started: time.Now(), ctx: ctx, close: func() error { return nil }}
	backend := c.Backend
	if backend == nil {
		if backend, err = mockbackend.Start(mockbackend.Options{Addr: c.BackendAddr}); err != nil {
			return nil, addrError(c.BackendAddr, err)
		}
		s.close = backend.Close
	}
	options := engine.Options{
		CallTimeout:      c.CallTimeout,
		BackendTimeout:   time.Duration(c.Limits.TimeoutMs) * time.Millisecond,
		MaxResponseBytes: c.Limits.MaxResponseBytes, MaxInlineFileBytes: c.Limits.MaxInlineFileBytes, MaxFileBytes: c.Limits.MaxFileBytes,
	}
	judged := c.Target
	if judged == nil {
		if judged, err = c.Open(ctx, engine.Settings(backend, options)); err != nil {
			return s, openError(err)
		}
		closeBackend := s.close
		s.close = func() error { return errors.Join(judged.Close(), closeBackend()) }
	}
	if s.engine, err = engine.New(ctx, corpus, judged, backend, options); err != nil {
		return s, err
	}
	s.profiles = c.Profiles
	if len(s.profiles) == 0 {
		s.profiles = verdict.Claimed(s.engine.Description())
	}
	for _, k := range corpus.Cases {
		if c.selects(k) && (!own || slices.Contains(s.profiles, verdict.ProfileOf(corpus, k))) {
			s.selected = append(s.selected, k)
		}
	}
	return s, nil
}

// addrError says what to do about an address that cannot be listened on.
func addrError(addr string, err error) error {
	switch {
	case addr == "":
		return err
	case !errors.Is(err, syscall.EADDRINUSE):
		return &UsageError{err}
	}
	return &UsageError{fmt.Errorf("%w; the run listens there itself, so a mock backend that runs there already must be ended first", err)}
}

// openError tells a target that cannot be reached from a name that means none.
func openError(err error) error {
	var broken *target.ProtocolError
	switch {
	case errors.As(err, &broken):
		return &engine.BrokenError{Err: err}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return &UsageError{err}
}

func (c Config) selects(k fixtures.Case) bool {
	if len(c.Cases) > 0 && !slices.Contains(c.Cases, k.ID) {
		return false
	}
	return len(c.Requirements) == 0 || slices.ContainsFunc(k.Requirements, func(id string) bool { return slices.Contains(c.Requirements, id) })
}

// narrowed says that the run does not cover the suite's own corpus as far as
// the target claims it.
func (c Config) narrowed() bool {
	builtin, err := fixtures.Builtin()
	return len(c.Cases) > 0 || len(c.Requirements) > 0 || err != nil || c.Corpus != builtin
}

// run runs one case and keeps its result; it reports false when the run is over.
func (s *session) run(ctx context.Context, k fixtures.Case) (schemas.CaseResult, bool) {
	if s.ahead == nil {
		s.ahead = s.runAhead(s.ctx)
	}
	// Ginkgo's context knows of fewer signals than the run's own.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	o, known := s.ahead.result(ctx, k.ID)
	result, err := o.result, o.err
	if !known {
		result, err = s.engine.Run(ctx, k)
	}
	var broken *engine.BrokenError
	switch {
	case err == nil:
		s.results = append(s.results, result)
		if s.config.Progress != nil {
			s.config.Progress(len(s.results), len(s.selected), result)
		}
	case s.ctx.Err() != nil || ctx.Err() != nil: // the target may have been ended with the run
		s.interrupted = true
	case errors.As(err, &broken):
		s.broke = broken
	default:
		s.failed = err
	}
	return result, err == nil
}

// certificate makes the certificate of what ran so far.
func (s *session) certificate() schemas.Certificate {
	c := s.config
	cert := schemas.Certificate{
		Schema:     1,
		Suite:      schemas.SuiteInfo{Name: "touchstone", Version: Version},
		Target:     schemas.TargetInfo{Spec: c.Spec},
		StartedAt:  s.started.UTC().Truncate(time.Millisecond),
		DurationMs: float64(time.Since(s.started).Microseconds()) / 1000,
		Settings: schemas.RunSettings{
			Profiles: append([]string{}, s.profiles...), Requirements: c.Requirements, Cases: c.Cases, Strict: c.Strict,
			CallTimeoutMs: cmp.Or(c.CallTimeout, engine.DefaultCallTimeout).Milliseconds(),
		},
	}
	if cert.Target.Spec == "" {
		cert.Target.Spec = "builtin"
	}
	if s.engine != nil {
		d := s.engine.Description()
		cert.Target.Name, cert.Target.Version, cert.Target.Features = d.Name, d.Version, d.Features
	}
	verdict.Fill(&cert, verdict.Run{
		Corpus: c.Corpus, Selected: s.selected, Profiles: s.profiles, Narrowed: c.narrowed() || s.filtered, Strict: c.Strict,
		Results: s.results, Broke: s.broke, Interrupted: s.interrupted, Failed: s.failed,
	})
	return cert
}
