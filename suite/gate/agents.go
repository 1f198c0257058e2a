package gate

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/mockbackend"
	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/engine"
	"example.com/touchstone/suite/target"
)

const (
	// agentCases is how many cases about agents run at once, of all specimens:
	// they mostly wait.
	agentCases = 32
	// agentSpecimens is how many specimens are under way at once.
	agentSpecimens = 9
)

// RunAgents runs the cases about agents against every specimen, and gives the
// outcomes in the specimens' order.
func RunAgents(ctx context.Context, corpus *fixtures.Corpus, specimens []Specimen, done func(Outcome)) ([]Outcome, error) {
	slots := &agentSlots{cases: make(chan struct{}, agentCases)}
	order := make([]int, len(specimens))
	for i := range order {
		order[i] = i
	}
	return sideBySide(ctx, specimens, agentSpecimens, order, done, func(one Specimen) Outcome {
		return judgeAgent(ctx, corpus, one, slots)
	})
}

// longestFirst gives the cases about agents, those that wait for a time first.
func longestFirst(corpus *fixtures.Corpus) []fixtures.Case {
	var timed, others []fixtures.Case
	for _, k := range corpus.Cases {
		switch {
		case k.Kind != schemas.KindAgent:
		case strings.Contains(string(k.Input), `"delayMs"`) || strings.Contains(string(k.Input), `"hold"`):
			timed = append(timed, k)
		default:
			others = append(others, k)
		}
	}
	return append(timed, others...)
}

// PlainAnswers gives t without the claim to ask models for streamed answers. The
// gate runs most specimens so: how an answer travels is the model client's
// business, and the same in all of them.
func PlainAnswers(t target.Target) target.Target { return plainAnswers{t} }

type plainAnswers struct{ target.Target }

func (p plainAnswers) Describe(ctx context.Context) (schemas.DescribeResult, error) {
	d, err := p.Target.Describe(ctx)
	d.Features = slices.DeleteFunc(d.Features, func(f string) bool { return f == schemas.FeatureAgentStreaming })
	return d, err
}

// agentSlots bound what runs at once. Of the cases that are heavy there is one at
// a time: they would take the processor from those whose time is measured.
type agentSlots struct {
	cases chan struct{}
	heavy sync.Mutex
}

func (s *agentSlots) run(k fixtures.Case, do func()) {
	if strings.Contains(string(k.Input), "@megabyte") {
		s.heavy.Lock()
		defer s.heavy.Unlock()
	}
	s.cases <- struct{}{}
	defer func() { <-s.cases }()
	do()
}

// judgeAgent runs the cases about agents side by side.
func judgeAgent(ctx context.Context, corpus *fixtures.Corpus, s Specimen, slots *agentSlots) (o Outcome) {
	o = Outcome{Specimen: s, Killers: map[string][]string{}}
	backend, err := mockbackend.Start(mockbackend.Options{})
	if err != nil {
		o.Err = err
		return o
	}
	defer backend.Close()
	t := s.Open()
	defer func() { o.Err = errors.Join(o.Err, t.Close()) }()
	e, err := engine.New(ctx, corpus, t, backend, engine.Options{CallTimeout: time.Minute})
	if err != nil {
		o.Err = err
		return o
	}
	var cases sync.WaitGroup
	var adding sync.Mutex
	for _, k := range longestFirst(corpus) {
		cases.Go(func() {
			slots.run(k, func() {
				result, err := e.Run(ctx, k)
				adding.Lock()
				defer adding.Unlock()
				o.Err = errors.Join(o.Err, err)
				o.add(result)
			})
		})
	}
	cases.Wait()
	for id, killers := range o.Killers {
		o.Failed = append(o.Failed, id)
		slices.Sort(killers)
	}
	slices.Sort(o.Failed)
	slices.Sort(o.Passed)
	return o
}
