package engine

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/mockbackend"
	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/target"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a target that answers as a test tells it. What it is not told how to
// do it does not claim.
type fake struct {
	target.Target // the methods no test calls
	features      []string
	mapped        func(ctx context.Context, params schemas.MapParams) (target.Answer, error)
	invoked       func(ctx context.Context, backend string, params schemas.InvokeParams) (target.Answer, error)
	ran           func(ctx context.Context, params schemas.AgentRunParams) (outcome string, err error)

	mu      sync.Mutex
	gone    bool // it does not even describe itself
	backend string
	bodies  []string // of the responses it was given
}

func (f *fake) Describe(ctx context.Context) (schemas.DescribeResult, error) {
	if f.gone {
		<-ctx.Done()
		return schemas.DescribeResult{}, ctx.Err()
	}
	features := slices.Clone(f.features)
	if f.mapped != nil {
		features = append(features, schemas.FeatureMap)
	}
	if f.invoked != nil {
		features = append(features, schemas.FeatureInvoke)
	}
	return schemas.DescribeResult{Protocol: 1, Name: "fake", Version: "1", Features: features}, nil
}

func (f *fake) Configure(_ context.Context, settings schemas.ConfigureParams) error {
	f.backend = settings.BackendURL
	return nil
}

func (f *fake) Map(ctx context.Context, params schemas.MapParams) (target.Answer, error) {
	f.mu.Lock()
	f.bodies = append(f.bodies, params.Response.Body)
	f.mu.Unlock()
	return f.mapped(ctx, params)
}

func (f *fake) Invoke(ctx context.Context, params schemas.InvokeParams) (target.Answer, error) {
	return f.invoked(ctx, f.backend, params)
}

func (f *fake) RunAgent(ctx context.Context, params schemas.AgentRunParams) (target.Answer, error) {
	outcome, err := f.ran(ctx, params)
	return target.Answer{Envelope: []byte(outcome)}, err
}

func (f *fake) EqualErrors(_ context.Context, params schemas.AgentEqualParams) (bool, error) {
	return params.Errors[0].Message == params.Errors[1].Message, nil
}

// asked counts the responses that held a text.
func (f *fake) asked(text string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, body := range f.bodies {
		if strings.Contains(body, text) {
			n++
		}
	}
	return n
}

func answered(text string) (target.Answer, error) {
	return target.Answer{Envelope: []byte(text), Raw: []byte(text)}, nil
}

func failed(code, message string) (target.Answer, error) {
	return answered(fmt.Sprintf(`{"error":%q,"message":%q,"status":400,"retryable":false}`, code, message))
}

// silent never answers.
func silent(ctx context.Context, _ schemas.MapParams) (target.Answer, error) {
	<-ctx.Done()
	return target.Answer{}, fmt.Errorf("calling the fake: %w", ctx.Err())
}

// ask sends a request to the backend and gives its status and body.
func ask(ctx context.Context, url string) (status int, body string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

const callTimeout = 50 * time.Millisecond // for targets that never answer

// newEngine gives an engine for a corpus of cases, each the text of a file.
func newEngine(t *testing.T, f *fake, options Options, cases ...string) (*Engine, *fixtures.Corpus) {
	t.Helper()
	files := fstest.MapFS{}
	for i, text := range cases {
		files[fmt.Sprintf("%d.json", i)] = &fstest.MapFile{Data: []byte(text)}
	}
	return engineOver(t, f, options, files)
}

func engineOver(t *testing.T, f target.Target, options Options, files fstest.MapFS) (*Engine, *fixtures.Corpus) {
	t.Helper()
	corpus, err := fixtures.Load(files)
	if err != nil {
		t.Fatal(err)
	}
	backend, err := mockbackend.Start(mockbackend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if n := len(backend.Scopes()); n > 0 {
			t.Errorf("%d scopes are left behind", n)
		}
		if n := len(backend.Stubs()); n > 0 {
			t.Errorf("%d stubs are left behind", n)
		}
		if err := backend.Close(); err != nil {
			t.Error(err)
		}
	})
	e, err := New(t.Context(), corpus, f, backend, options)
	if err != nil {
		t.Fatal(err)
	}
	return e, corpus
}

// run runs a case that must not break the engine.
func run(t *testing.T, e *Engine, corpus *fixtures.Corpus, id string) schemas.CaseResult {
	t.Helper()
	k, ok := corpus.Case(id)
	if !ok {
		t.Fatalf("no case %s", id)
	}
	result, err := e.Run(t.Context(), k)
	if err != nil {
		t.Fatalf("running %s: %v", id, err)
	}
	return result
}

// placed gives the findings of all runs as "way requirement member (control)".
func placed(result schemas.CaseResult) []string {
	var out []string
	for _, r := range result.Runs {
		for _, f := range r.Findings {
			s := r.Via + " " + f.Requirement + " " + f.Member
			if f.Control != "" {
				s += " (" + f.Control + ")"
			}
			out = append(out, strings.TrimSpace(s))
		}
	}
	return out
}
