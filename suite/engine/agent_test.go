package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/target"
)

// askModel makes one request of a model and gives the status.
func askModel(ctx context.Context, params schemas.AgentRunParams) (int, error) {
	body := fmt.Sprintf(`{"model":%q,"stream":%t,"messages":[{"role":"user","content":%q}]}`, params.Agent.Model, params.Agent.Stream, params.Prompt)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, params.Agent.BaseURL+"/chat/completions", strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

// agentEngine gives an engine over a corpus of cases about agents.
func agentEngine(t *testing.T, f *fake, cases ...string) (*Engine, *fixtures.Corpus) {
	t.Helper()
	const kind = `{"kind":"cases","about":"x","defaults":{"kind":"agent","description":"d"},"cases":[`
	return engineOver(t, f, Options{}, fstest.MapFS{"cases.json": {Data: []byte(kind + strings.Join(cases, ",") + `]}`)}})
}

var agentFeaturesAll = []string{
	schemas.FeatureAgent, schemas.FeatureAgentStreaming, schemas.FeatureSubAgents, schemas.FeaturePersistentSessions,
	schemas.FeatureInvocationHooks, schemas.FeaturePromptHooks, schemas.FeatureErrorEquality,
}

const concurrentCase = `{"id":"two","requirements":["AGENT-09"],"input":{
	"models":{"main":{"turns":[{"text":"a","hold":"second"},{"text":"b"}]}},"objects":{"agent":{"model":"main"}},
	"runs":[
		{"name":"first","prompt":"one","expected":[{"outcome":"result","value":"one"}]},
		{"name":"second","prompt":"two","start":{"model":"main","requests":1},"limits":{"timeoutMs":70},"expected":[{"outcome":"result","value":"two"}]},
		{"name":"third","prompt":"three","expected":[{"outcome":"result","value":"three"}]}],
	"journal":[{"model":"main","requests":2},{"model":"main","request":1,"stream":true}]}}`

// TestAgentStage: a run starts when it should, a turn is held until its run has
// ended, and both ways of a case run on stages of their own.
func TestAgentStage(t *testing.T) {
	var mu sync.Mutex
	order := map[bool][]string{} // by stream
	note := func(params schemas.AgentRunParams, what string) {
		mu.Lock()
		defer mu.Unlock()
		order[params.Agent.Stream] = append(order[params.Agent.Stream], params.Prompt+" "+what)
	}
	objects := map[string]bool{}
	f := &fake{features: agentFeaturesAll}
	f.ran = func(ctx context.Context, params schemas.AgentRunParams) (string, error) {
		mu.Lock()
		objects[params.Object] = true
		mu.Unlock()
		note(params, "begins")
		if params.Prompt != "two" {
			if status, err := askModel(ctx, params); err != nil || status != 200 {
				return "", fmt.Errorf("status %d: %w", status, err)
			}
		}
		note(params, "ends")
		if want := map[string]int64{"two": 70}[params.Prompt]; want != 0 && params.Limits.TimeoutMs != want || params.Limits.MaxTurns != 5 {
			t.Errorf("limits of %s: %+v", params.Prompt, params.Limits)
		}
		return fmt.Sprintf(`{"outcome":"result","value":%q}`, params.Prompt), nil
	}
	e, corpus := agentEngine(t, f, concurrentCase)
	result := run(t, e, corpus, "two")
	if result.Status != schemas.Pass || len(result.Runs) != 2 || result.Runs[0].Via != "agent" || result.Runs[1].Via != "agent-streaming" {
		t.Errorf("the result is %+v", result)
	}
	want := []string{"one begins", "two begins", "two ends", "one ends", "three begins", "three ends"}
	for _, stream := range []bool{false, true} {
		if diff := cmp.Diff(want, order[stream]); diff != "" {
			t.Errorf("stream %t (-want +got):\n%s", stream, diff)
		}
	}
	if len(objects) != 2 {
		t.Errorf("the ways shared their objects: %v", objects)
	}
}

// TestAgentStartGivesUp: a run whose moment never comes is started when there is
// nothing left to wait for.
func TestAgentStartGivesUp(t *testing.T) {
	f := &fake{features: []string{schemas.FeatureAgent}, ran: func(_ context.Context, params schemas.AgentRunParams) (string, error) {
		return fmt.Sprintf(`{"outcome":"result","value":%q}`, params.Prompt), nil
	}}
	e, corpus := agentEngine(t, f, concurrentCase)
	result := run(t, e, corpus, "two")
	if result.Status != schemas.Fail || len(result.Runs) != 1 {
		t.Fatalf("the result is %+v", result)
	}
	for _, found := range result.Runs[0].Findings {
		if found.Member != "requests" || found.Requirement != "AGENT-09" {
			t.Errorf("an outcome was missed: %+v", found)
		}
	}
}

// TestAgentApplicable: a case needs what its parts need.
func TestAgentApplicable(t *testing.T) {
	const head = `"requirements":["AGENT-01"],"input":{"models":{"main":{"turns":[{"text":"x"}]}},"objects":{"agent":{"model":"main"`
	const tail = `}},"runs":[{"expected":[{"outcome":"result"}]}]}}`
	for _, tt := range []struct{ name, text, needs string }{
		{"plain", `{"id":"k",` + head + tail, schemas.FeatureAgent},
		{"hooks", `{"id":"k",` + head + `,"onInvoke":[[{"allow":true}]]` + tail, schemas.FeatureInvocationHooks},
		{"prompt hooks", `{"id":"k",` + head + `,"systemPrompt":[[{"text":"x"}]]` + tail, schemas.FeaturePromptHooks},
		{"sub-agents", `{"id":"k",` + head + `,"subAgents":{"h":{"model":"main"}}` + tail, schemas.FeatureSubAgents},
		{"session", `{"id":"k",` + strings.Replace(head+tail, `"expected"`, `"session":"s","expected"`, 1), schemas.FeaturePersistentSessions},
		{"equality", `{"id":"k","requirements":["AGENT-18"],"via":["agent"],"input":{"comparisons":[{"errors":[{"message":"a"},{"message":"a"}],"equal":true}]}}`, schemas.FeatureErrorEquality},
	} {
		claims := slices.DeleteFunc(slices.Clone(agentFeaturesAll), func(feature string) bool { return feature == tt.needs })
		e, corpus := agentEngine(t, &fake{features: claims}, tt.text)
		if result := run(t, e, corpus, "k"); result.Status != schemas.NotApplicable || !strings.Contains(result.Reason, fmt.Sprintf("%q", tt.needs)) {
			t.Errorf("%s without %s: %s, %s", tt.name, tt.needs, result.Status, result.Reason)
		}
	}
}

// TestAgentControls: where a control fails, the failure is its requirement's,
// but a cause that is left out stays what it is.
func TestAgentControls(t *testing.T) {
	kase := func(id, requirement, controls, prompt string) string {
		return fmt.Sprintf(`{"id":%q,"requirements":[%q],%s"input":{"models":{"main":{"turns":[]}},"objects":{"agent":{"model":"main"}},
			"runs":[{"prompt":%q,"expected":[{"outcome":"error","message":"as asked"}]}]}}`, id, requirement, controls, prompt)
	}
	answers := map[string]string{
		"right":    `{"outcome":"error","message":"as asked","cause":"timeout"}`,
		"wrong":    `{"outcome":"error","message":"otherwise","cause":"timeout"}`,
		"no cause": `{"outcome":"error","message":"as asked"}`,
	}
	f := &fake{features: []string{schemas.FeatureAgent}, ran: func(_ context.Context, params schemas.AgentRunParams) (string, error) {
		return answers[params.Prompt], nil
	}}
	e, corpus := agentEngine(t, f,
		kase("base", "AGENT-01", "", "wrong"), kase("sound", "AGENT-02", "", "right"), kase("quiet", "AGENT-03", "", "no cause"),
		kase("follows", "AGENT-04", `"controls":["sound","quiet","base"],`, "wrong"),
		kase("own", "AGENT-04", `"controls":["sound","quiet"],`, "wrong"),
		kase("silent", "AGENT-04", `"controls":["base"],`, "no cause"))
	for id, want := range map[string][2]string{"follows": {"AGENT-01", "base"}, "own": {"AGENT-04", ""}, "silent": {"AGENT-20", ""}} {
		found := run(t, e, corpus, id).Runs[0].Findings
		if len(found) != 1 || found[0].Requirement != want[0] || found[0].Control != want[1] {
			t.Errorf("%s: %+v, want %v", id, found, want)
		}
	}
}

// TestAgentRPCError: a target that answers a run with an error of the protocol
// has failed the run, and is judged on.
func TestAgentRPCError(t *testing.T) {
	f := &fake{features: []string{schemas.FeatureAgent}, ran: func(context.Context, schemas.AgentRunParams) (string, error) {
		return "", &target.RPCError{Method: "agent.run", Object: schemas.RPCError{Code: schemas.RPCInternal, Message: "oops"}}
	}}
	e, corpus := agentEngine(t, f, concurrentCase)
	found := run(t, e, corpus, "two").Runs[0].Findings
	if len(found) == 0 || !strings.Contains(found[0].Problem, "oops") || found[0].Requirement != "AGENT-09" {
		t.Errorf("findings: %+v", found)
	}
}

// TestAgentDefinitions: the stage fills in where a model is, in sub-agents too,
// and a model without a script is one that nobody serves.
func TestAgentDefinitions(t *testing.T) {
	var got []schemas.AgentDefinition
	var mu sync.Mutex
	f := &fake{features: []string{schemas.FeatureAgent, schemas.FeatureSubAgents}, ran: func(_ context.Context, params schemas.AgentRunParams) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, params.Agent)
		return `{"outcome":"result","value":1}`, nil
	}}
	e, corpus := agentEngine(t, f, `{"id":"k","requirements":["AGENT-01"],"input":{"models":{"main":{"turns":[]},"other":{"turns":[]}},
		"objects":{"agent":{"model":"main","subAgents":{"h":{"model":"other"},"r":{"model":"refused"},"u":{"unavailable":true}}}},"runs":[{"expected":[{"outcome":"result"}]}]}}`)
	run(t, e, corpus, "k")
	d := got[0]
	main, other, refused := d.BaseURL, d.SubAgents["h"].BaseURL, d.SubAgents["r"].BaseURL
	if !strings.HasSuffix(main, "-main/v1") || !strings.HasSuffix(other, "-other/v1") || main == other || d.Model != "scripted" {
		t.Errorf("the models are at %s and %s", main, other)
	}
	if _, err := http.Post(refused+"/chat/completions", "application/json", strings.NewReader("{}")); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("asking %s: %v", refused, err)
	}
	if !d.SubAgents["u"].Unavailable || d.SubAgents["u"].BaseURL != "" {
		t.Errorf("the one without an agent: %+v", d.SubAgents["u"])
	}
	if _, err := json.Marshal(d); err != nil {
		t.Error(err)
	}
}
