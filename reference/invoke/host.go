package invoke

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"example.com/touchstone/reference/catalog"
	"example.com/touchstone/reference/compose"
	"example.com/touchstone/schemas"
)

// Host is what the program around a layer supplies. A part that is nil is not
// there. Each question has a deadline; a part that does not heed it is left to
// itself, and the call goes on without it.
type Host struct {
	Identity Identity
	Deferred Deferred
	// Files resolves file refs. The catalog must have been made with FileRefs
	// for agents to use them.
	Files compose.FileResolver
	// Ranker takes the place of the built-in search, and OnRankerFailure says
	// what happens when it fails.
	Ranker          catalog.Ranker
	OnRankerFailure RankerFailure
}

// Identity tells who a call is made for.
type Identity interface {
	// Cookies gives the Cookie header of the caller, possibly "". An error is a
	// failure of the layer.
	Cookies(ctx context.Context) (string, error)
}

// Deferred supplies the values that are hidden from agents (SDK-11).
type Deferred interface {
	// Value gives the JSON value of a source. With none, or an error, the value
	// is unavailable.
	Value(ctx context.Context, source string) (json.RawMessage, error)
}

// RankerFailure is what a search does when the host's ranker fails, hangs or
// answers nonsense.
type RankerFailure int

// FallBack answers with the built-in search, RefuseSearch with
// search_ranker_unavailable.
const (
	FallBack RankerFailure = iota
	RefuseSearch
)

// ask puts a question to the host, for limit at most; 0 means no limit. A panic
// of the host goes on in the caller.
func ask[T any](ctx context.Context, l *Layer, limit time.Duration, question func(context.Context) (T, error)) (T, error) {
	cancel := context.CancelFunc(func() {})
	if limit > 0 {
		ctx, cancel = context.WithTimeout(ctx, limit)
	}
	type reply struct {
		value    T
		err      error
		panicked any
	}
	replies := make(chan reply, 1)
	l.Questions.Go(func() {
		var r reply
		defer func() {
			r.panicked = recover()
			replies <- r
		}()
		r.value, r.err = question(ctx)
	})
	defer cancel()
	select {
	case r := <-replies:
		if r.panicked != nil {
			panic(r.panicked)
		}
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

func (l *Layer) identityCookies(ctx context.Context) (string, error) {
	if l.Host.Identity == nil {
		return "", nil
	}
	return ask(ctx, l, l.Limits.HostTimeout, l.Host.Identity.Cookies)
}

// deferred gives the values of the sources that have one.
func (l *Layer) deferred(ctx context.Context, sources []string) map[string]json.RawMessage {
	values := make(map[string]json.RawMessage, len(sources))
	for _, source := range sources {
		if l.Host.Deferred == nil {
			break
		}
		value, err := ask(ctx, l, l.Limits.HostTimeout, func(ctx context.Context) (json.RawMessage, error) {
			return l.Host.Deferred.Value(ctx, source)
		})
		if err == nil && value != nil {
			values[source] = value
		}
	}
	return values
}

// boundFiles is the host's file resolver within the limits of the layer.
type boundFiles struct{ layer *Layer }

// OpenFile reads the file to its end, so that a store that stalls in the middle
// of one is within the deadline too.
func (b boundFiles) OpenFile(ctx context.Context, ref string) (*compose.OpenedFile, error) {
	l := b.layer
	file, err := ask(ctx, l, l.Limits.HostTimeout, func(ctx context.Context) (*compose.OpenedFile, error) {
		file, err := l.Host.Files.OpenFile(ctx, ref)
		if err != nil {
			return nil, err
		}
		defer file.Content.Close()
		// A byte over the limit tells that there is more.
		content, err := io.ReadAll(io.LimitReader(file.Content, min(l.Limits.MaxFileBytes, math.MaxInt64-1)+1))
		if err != nil {
			return nil, fmt.Errorf("%w: reading it: %w", compose.ErrFileUnavailable, err)
		}
		return &compose.OpenedFile{Name: file.Name, MediaType: file.MediaType, Content: io.NopCloser(bytes.NewReader(content))}, nil
	})
	if err != nil {
		return nil, l.Policy.FileError(err)
	}
	return file, nil
}

// fileError makes a store that does not answer in time one that is unavailable.
func fileError(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", compose.ErrFileUnavailable, err)
	}
	return err
}

// rank gives the operations that fit a query (SDK-18).
func (l *Layer) rank(ctx context.Context, query string) ([]string, error) {
	if l.Host.Ranker != nil {
		names, err := l.askRanker(ctx, query)
		if err == nil {
			err = l.Policy.CheckRanked(l.Catalog, names)
		}
		if err == nil {
			return names, nil
		}
		if l.Host.OnRankerFailure == RefuseSearch {
			return nil, &Refusal{schemas.RefuseParams{Error: schemas.SearchRankerUnavailable}}
		}
	}
	return l.Policy.Ranker.Rank(ctx, query, l.Catalog)
}

// askRanker asks the host's ranker. For a search a panic is a failure like any other.
func (l *Layer) askRanker(ctx context.Context, query string) (names []string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the ranker panicked: %v", v)
		}
	}()
	return ask(ctx, l, l.Limits.RankerTimeout, func(ctx context.Context) ([]string, error) {
		return l.Host.Ranker.Rank(ctx, query, l.Catalog)
	})
}
