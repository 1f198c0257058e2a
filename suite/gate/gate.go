// Package gate shows that the suite can fail: it runs the corpus against
// implementations that are known to be wrong, and compares what failed with
// what should have. "At least these failed" is not enough; a mutant fails
// exactly the requirements it breaks.
package gate

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/mockbackend"
	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/engine"
	"example.com/touchstone/suite/judge"
	"example.com/touchstone/suite/target"
)

// Specimen is an implementation whose verdict is known beforehand.
type Specimen struct {
	ID string
	// Doc says in a sentence what is wrong with it, or what is unusual.
	Doc string
	// Breaks are the requirements it must fail, and no others. Empty means
	// that it must certify.
	Breaks []string
	// Null is set for what maps nothing at all: it must be refused, by whatever
	// requirements, and Breaks says nothing.
	Null bool
	// Open gives it as a target.
	Open func() target.Target
	// OverTheWire runs its cases through invoke too. Most specimens show in
	// the mapping alone, and the gate runs the corpus once for each.
	OverTheWire bool
	// Calls runs the cases of calls, of compositions and of refusals, and not
	// those of mapping.
	Calls bool
}

// runs says which cases a specimen runs. Large hostile texts take longer than
// all other cases together, and are about the length and the time of texts.
func (s Specimen) runs(k fixtures.Case) bool {
	switch {
	case k.Kind == schemas.KindCalls, k.Kind == schemas.KindArgumentMapping:
		return s.Calls
	case k.Kind != schemas.KindErrorMapping:
		return false
	case s.Calls:
		in, err := k.Facts()
		return err == nil && in.SDKError != ""
	case k.MaxMs > 0:
		return len(s.Breaks) == 0 && !s.Null || slices.Contains(s.Breaks, "LEAK-06") || slices.Contains(s.Breaks, "LEAK-10")
	}
	return true
}

// timed are the requirements whose cases wait for deadlines. Only specimens that
// break one of them, or nothing, run those cases: what is wrong elsewhere does
// not show there, and the waiting takes longer than everything else.
var timed = []string{"GUARD-06", "GUARD-07", "GUARD-08", "GUARD-09", "GUARD-10", "GUARD-11", "SDK-17", "SDK-18"}

func waits(ids []string) bool {
	return slices.ContainsFunc(ids, func(id string) bool { return slices.Contains(timed, id) })
}

// Outcome is what the corpus made of a specimen.
type Outcome struct {
	Specimen Specimen
	// Failed are the requirements with findings, sorted.
	Failed []string
	// Refused says that a MUST is among them: it would not certify.
	Refused bool
	// Killers are, for each failed requirement, the cases that failed it.
	Killers map[string][]string
	// Passed are the cases that ran without a finding.
	Passed []string
	// Err is what kept the specimen from being judged.
	Err error
}

// Exact says whether the specimen failed exactly what it breaks.
func (o Outcome) Exact() bool {
	want := slices.Clone(o.Specimen.Breaks)
	slices.Sort(want)
	return o.Err == nil && slices.Equal(slices.Compact(want), o.Failed)
}

// Green says whether the specimen came out as it must: a null target refused,
// any other exact.
func (o Outcome) Green() bool {
	if o.Specimen.Null {
		return o.Err == nil && o.Refused
	}
	return o.Exact()
}

// String tells what the gate expected and what it saw.
func (o Outcome) String() string {
	if o.Err != nil {
		return fmt.Sprintf("%s: %v", o.Specimen.ID, o.Err)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %s\n  should fail %v\n  failed      %v", o.Specimen.ID, o.Specimen.Doc, o.Specimen.Breaks, o.Failed)
	for _, id := range o.Failed {
		if !slices.Contains(o.Specimen.Breaks, id) && !o.Specimen.Null {
			fmt.Fprintf(&out, "\n  %s by %s", id, several(o.Killers[id], 3))
		}
	}
	return out.String()
}

// Detail tells what caught the specimen: the cases under each requirement.
func (o Outcome) Detail() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %s\n", o.Specimen.ID, o.Specimen.Doc)
	for _, id := range o.Failed {
		fmt.Fprintf(&out, "  %s by %d cases\n", id, len(o.Killers[id]))
		for _, k := range o.Killers[id] {
			fmt.Fprintf(&out, "    %s\n", k)
		}
	}
	state := "as it must be"
	switch {
	case o.Err != nil:
		state = o.Err.Error()
	case !o.Green():
		state = fmt.Sprintf("NOT as it must be: it should fail %v", o.Specimen.Breaks)
	}
	fmt.Fprintf(&out, "  %d cases passed; %s\n", len(o.Passed), state)
	return out.String()
}

// several writes the first of a list and counts the rest.
func several(list []string, most int) string {
	text := strings.Join(list[:min(most, len(list))], ", ")
	if more := len(list) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// waiting is how many specimens a processor judges side by side: those that wait
// for deadlines leave it idle.
const waiting = 7

// Run runs the corpus against every specimen, several specimens side by side,
// and gives the outcomes in the specimens' order. Done, if not nil, is told
// after each; it is not called side by side.
func Run(ctx context.Context, corpus *fixtures.Corpus, specimens []Specimen, done func(Outcome)) ([]Outcome, error) {
	// Millions of small answers, and little that lives: collecting the garbage
	// less often saves a third of the time.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	backend, err := mockbackend.Start(mockbackend.Options{})
	if err != nil {
		return nil, err
	}
	defer backend.Close()
	judged := newMemo()
	return sideBySide(ctx, specimens, waiting*runtime.GOMAXPROCS(0), slowFirst(specimens), done, func(one Specimen) Outcome {
		return judgeOne(ctx, corpus, backend, one, judged.judge)
	})
}

// sideBySide judges some specimens at once, in an order, and gives the outcomes
// in theirs.
func sideBySide(ctx context.Context, specimens []Specimen, atOnce int, order []int, done func(Outcome), judge func(Specimen) Outcome) ([]Outcome, error) {
	outcomes := make([]Outcome, len(specimens))
	next := make(chan int)
	var workers sync.WaitGroup
	var telling sync.Mutex
	for range atOnce {
		workers.Go(func() {
			for i := range next {
				outcomes[i] = judge(specimens[i])
				if done != nil {
					telling.Lock()
					done(outcomes[i])
					telling.Unlock()
				}
			}
		})
	}
feeding:
	for _, i := range order {
		select {
		case next <- i:
		case <-ctx.Done():
			break feeding
		}
	}
	close(next)
	workers.Wait()
	return outcomes, ctx.Err()
}

// slowFirst orders the specimens, so that none of the slow ones is left to run
// alone at the end.
func slowFirst(specimens []Specimen) []int {
	var slow, fast []int
	for i, s := range specimens {
		if s.OverTheWire || s.Calls || slices.Contains(s.Breaks, "LEAK-10") {
			slow = append(slow, i)
			continue
		}
		fast = append(fast, i)
	}
	return append(slow, fast...)
}

type judgeFunc func(*judge.Exchange) ([]schemas.Finding, error)

func judgeOne(ctx context.Context, corpus *fixtures.Corpus, backend *mockbackend.Server, s Specimen, judges judgeFunc) Outcome {
	o := Outcome{Specimen: s, Killers: map[string][]string{}}
	wire := s.OverTheWire || s.Calls
	if wire {
		// Engines number their orders alike: what is asked over the wire has a
		// backend of its own.
		own, err := mockbackend.Start(mockbackend.Options{})
		if err != nil {
			o.Err = err
			return o
		}
		defer own.Close()
		backend = own
	}
	t := s.Open()
	defer t.Close()
	e, err := engine.New(ctx, corpus, t, backend, engine.Options{WithoutInvoke: !s.OverTheWire, Judge: judges})
	if err != nil {
		o.Err = err
		return o
	}
	for _, k := range corpus.Cases {
		if !s.runs(k) {
			continue
		}
		result, err := e.Run(ctx, k)
		if err != nil {
			o.Err = err
			return o
		}
		o.add(result)
	}
	for id := range o.Killers {
		o.Failed = append(o.Failed, id)
		r, known := corpus.Requirement(id)
		o.Refused = o.Refused || !known || r.Level == schemas.Must
	}
	slices.Sort(o.Failed)
	return o
}

func (o *Outcome) add(result schemas.CaseResult) {
	clean := len(result.Runs) > 0
	for _, run := range result.Runs {
		for _, f := range run.Findings {
			clean = false
			if !slices.Contains(o.Killers[f.Requirement], result.ID) {
				o.Killers[f.Requirement] = append(o.Killers[f.Requirement], result.ID)
			}
		}
	}
	if clean {
		o.Passed = append(o.Passed, result.ID)
	}
}
