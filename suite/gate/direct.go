package gate

import (
	"context"
	"fmt"

	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/target"
	"example.com/touchstone/suite/target/builtin"
)

// Implementation is an implementation in this process that can be asked with
// and without messages.
type Implementation interface {
	builtin.Handler
	Map(ctx context.Context, params schemas.MapParams) (schemas.AnswerResult, error)
	Refuse(ctx context.Context, params schemas.RefuseParams) (schemas.AnswerResult, error)
}

// Direct gives an implementation as a target whose "map" and "refuse" are plain
// calls. The messages of the protocol take most of the time of a case, and the
// gate runs the corpus hundreds of times; that they change no outcome is shown
// by a test.
func Direct(i Implementation) target.Target { return &direct{builtin.New(i), i} }

type direct struct {
	target.Target
	implementation Implementation
}

func (d *direct) Map(ctx context.Context, params schemas.MapParams) (target.Answer, error) {
	return answer(d.implementation.Map(ctx, params))
}

func (d *direct) Refuse(ctx context.Context, params schemas.RefuseParams) (target.Answer, error) {
	return answer(d.implementation.Refuse(ctx, params))
}

func answer(result schemas.AnswerResult, err error) (target.Answer, error) {
	if err != nil {
		return target.Answer{}, fmt.Errorf("calling the implementation: %w", err)
	}
	envelope := []byte(result.Envelope)
	if result.Text != nil {
		envelope = []byte(*result.Text)
	}
	return target.Answer{Envelope: envelope, IsError: result.IsError, Raw: envelope}, nil
}
