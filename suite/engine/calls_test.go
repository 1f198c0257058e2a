package engine

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/target"
)

// TestCallsTogether: calls of one case, and of its repetitions, are under way at
// the same time, each repetition with an order of its own, and each is judged.
func TestCallsTogether(t *testing.T) {
	const text = `{"kind":"calls","id":"pair","description":"d","requirements":["GUARD-09"],"input":{"together":true,"repeat":2,
		"backend":[{"match":{"path":"/orders/${order}"},"respond":{"json":{"id":"${order}"}}}],
		"calls":[
			{"invoke":{"name":"get_order","arguments":{"id":"${order}"}},"expected":{"status":200,"body":{"id":"${order}"}}},
			{"invoke":{"name":"get_order","arguments":{"id":"${order}"}},"expected":{"status":200,"body":{"id":0}}}]}}`
	var meeting sync.WaitGroup
	meeting.Add(4)
	f := &fake{invoked: func(ctx context.Context, backend string, params schemas.InvokeParams) (target.Answer, error) {
		meeting.Done()
		meeting.Wait()
		var id int
		if _, err := fmt.Sscanf(string(params.Arguments), `{"id":%d}`, &id); err != nil {
			return target.Answer{}, err
		}
		status, body, err := ask(ctx, fmt.Sprintf("%s/orders/%d", backend, id))
		if err != nil {
			return target.Answer{}, err
		}
		return answered(fmt.Sprintf(`{"status":%d,"body":%s}`, status, body))
	}}
	e, corpus := newEngine(t, f, Options{}, text)
	want := []string{"calls GUARD-09 body", "calls GUARD-09 body"}
	if diff := cmp.Diff(want, placed(run(t, e, corpus, "pair"))); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}
