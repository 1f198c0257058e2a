package suite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/formatter"
	"github.com/onsi/ginkgo/v2/types"
	"github.com/onsi/gomega"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/engine"
	"example.com/touchstone/suite/judge"
	"example.com/touchstone/suite/report"
	"example.com/touchstone/suite/target"
	"example.com/touchstone/suite/verdict"
)

// Run certifies a target inside a Go project's own `go test`, as one Ginkgo
// suite with a spec for each case: labels and `-ginkgo.label-filter` work. It
// fails t unless the verdict is exit code 0. Ginkgo allows it once a process.
func Run(t ginkgo.GinkgoTestingT, c Config) schemas.Certificate {
	gomega.RegisterFailHandler(ginkgo.Fail)
	s, err := open(context.Background(), c)
	if err != nil {
		fmt.Fprintln(ginkgo.GinkgoWriter, err)
		reportError(t, err)
		return failedToOpen(context.Background(), s, c, err)
	}
	s.declare()
	ginkgo.RunSpecs(t, "Touchstone: "+cmpSpec(c.Spec))
	s.finish()
	cert := s.certificate()
	if cert.Verdict.ExitCode != verdict.Certified {
		reportError(t, errors.New(cert.Verdict.Reason))
	}
	return cert
}

func reportError(t ginkgo.GinkgoTestingT, err error) {
	if full, ok := t.(interface{ Errorf(string, ...any) }); ok {
		full.Errorf("touchstone: %v", err)
		return
	}
	t.Fail()
}

func cmpSpec(spec string) string {
	if spec == "" {
		return "target"
	}
	return spec
}

// Certify runs the Ginkgo suite outside of `go test` and gives the certificate.
// Nothing is printed but through [Config.Progress]. The error is a
// [*UsageError]; everything that happens after the start is in the
// certificate's verdict. Ginkgo allows it once a process.
func Certify(ctx context.Context, c Config) (schemas.Certificate, error) {
	gomega.RegisterFailHandler(ginkgo.Fail)
	// Ginkgo writes its own report there; ours is made from the certificate.
	formatter.ColorableStdOut = io.Discard
	return outside(ctx, c, func(s *session) {
		s.declare()
		suiteConfig, reporterConfig := ginkgo.GinkgoConfiguration()
		suiteConfig.FailOnEmpty = false // nothing selected is a verdict of ours
		suiteConfig.Timeout = 0         // a call has a limit, a run has none
		reporterConfig.Succinct, reporterConfig.NoColor = true, true
		ginkgo.RunSpecs(quietT{}, "Touchstone", suiteConfig, reporterConfig)
		if ctx.Err() != nil && len(s.results) < len(s.selected) {
			s.interrupted = true // between two cases, by a signal that Ginkgo does not know
		}
	})
}

// outside certifies outside of `go test`, with cases run by a function.
func outside(ctx context.Context, c Config, run func(*session)) (schemas.Certificate, error) {
	s, err := open(ctx, c)
	var usage *UsageError
	if errors.As(err, &usage) {
		if s != nil {
			err = errors.Join(err, s.close())
		}
		return schemas.Certificate{}, err
	}
	if err != nil {
		return failedToOpen(ctx, s, c, err), nil
	}
	run(s)
	s.finish()
	return s.certificate(), nil
}

// finish closes what the run opened. A target that misbehaved where no call
// was waiting, say by answering twice, says so now.
func (s *session) finish() {
	if s.ahead != nil {
		s.ahead.stop()
	}
	err := s.close()
	var broken *target.ProtocolError
	switch {
	case err == nil || s.interrupted: // then it was stopped in the middle
	case errors.As(err, &broken):
		if s.broke == nil {
			s.broke = broken
		}
	case s.failed == nil:
		s.failed = err
	}
}

// quietT is the test that Ginkgo wants to fail; the verdict says it better.
type quietT struct{}

func (quietT) Fail() {}

// failedToOpen is the certificate of a run whose target could not be met.
func failedToOpen(ctx context.Context, s *session, c Config, err error) schemas.Certificate {
	if s == nil {
		s = &session{config: c, close: func() error { return nil }}
		s.config.Corpus, _ = c.corpus()
	}
	var broken *engine.BrokenError
	switch {
	case ctx.Err() != nil: // what the target did then says nothing of it
		s.interrupted = true
	case errors.As(err, &broken):
		s.broke = err
	default:
		s.failed = err
	}
	s.finish()
	return s.certificate()
}

// declare makes the Ginkgo tree: a container for each section of the
// catalogue, a spec for each case.
func (s *session) declare() {
	sections := map[string][]fixtures.Case{}
	var order []string
	for _, k := range s.selected {
		section, _, _ := strings.Cut(judge.Subject(k), "-")
		if sections[section] == nil {
			order = append(order, section)
		}
		sections[section] = append(sections[section], k)
	}
	for _, section := range order {
		ginkgo.Describe(section, func() {
			for _, k := range sections[section] {
				ginkgo.It(k.ID, s.labels(k), func(ctx ginkgo.SpecContext) { s.spec(ctx, k) })
			}
		})
	}
	ginkgo.ReportAfterSuite("what did not run", s.leftOut)
}

// leftOut learns from Ginkgo's report why cases did not run, where no spec could
// tell: the run was interrupted between two of them, or Ginkgo's own filters
// chose others, which makes it a selection.
func (s *session) leftOut(r ginkgo.Report) {
	for _, reason := range r.SpecialSuiteFailureReasons {
		if strings.HasPrefix(reason, "Interrupted") || reason == "Suite Timeout Elapsed" {
			s.interrupted = true
		}
	}
	if s.interrupted || s.broke != nil || s.failed != nil {
		return
	}
	skipped := map[string]bool{}
	for _, spec := range r.SpecReports {
		if spec.State == types.SpecStateSkipped && spec.NumAttempts == 0 {
			skipped[spec.LeafNodeText] = true
		}
	}
	s.filtered = len(skipped) > 0
	s.selected = slices.DeleteFunc(s.selected, func(k fixtures.Case) bool { return skipped[k.ID] })
}

// labels are the ids a case serves, the level of its subject, and its profile.
func (s *session) labels(k fixtures.Case) ginkgo.Labels {
	labels := ginkgo.Labels(append([]string(nil), k.Requirements...))
	if r, ok := s.config.Corpus.Requirement(judge.Subject(k)); ok {
		labels = append(labels, string(r.Level), r.Profile)
	}
	return labels
}

func (s *session) spec(ctx ginkgo.SpecContext, k fixtures.Case) {
	result, ok := s.run(ctx, k)
	switch {
	case !ok:
		// What broke one case breaks all that follow: the run is over.
		ginkgo.AbortSuite(result.Reason)
	case result.Status == schemas.NotApplicable:
		ginkgo.Skip(result.Reason)
	default:
		gomega.Expect(result).To(PassCase(k, s.config.Strict))
	}
}

// PassCase is a Gomega matcher for a [schemas.CaseResult] without findings
// that count. Its failure message is the report of the case.
func PassCase(k fixtures.Case, strict bool) gomega.OmegaMatcher {
	return &passCase{k, strict}
}

type passCase struct {
	k      fixtures.Case
	strict bool
}

func (m *passCase) Match(actual any) (bool, error) {
	result, ok := actual.(schemas.CaseResult)
	if !ok {
		return false, fmt.Errorf("PassCase matches a schemas.CaseResult, not %T", actual)
	}
	return result.Status != schemas.Fail && (!m.strict || result.Status != schemas.Warn), nil
}

func (m *passCase) FailureMessage(actual any) string {
	return report.Failure(m.k, actual.(schemas.CaseResult), "")
}

func (m *passCase) NegatedFailureMessage(actual any) string {
	return fmt.Sprintf("case %s passed, and should not have", m.k.ID)
}
