package suite

import (
	"context"
	"errors"

	"example.com/touchstone/schemas"
)

// CertifyDirectly is [Certify] without Ginkgo: the same cases, judges and
// verdict, and it may be called any number of times in a process, side by side.
// The error is a [*UsageError].
func CertifyDirectly(ctx context.Context, c Config) (schemas.Certificate, error) {
	s, err := open(ctx, c)
	var usage *UsageError
	if errors.As(err, &usage) {
		if s != nil {
			err = errors.Join(err, s.close())
		}
		return schemas.Certificate{}, err
	}
	if err != nil {
		return failedToOpen(s, c, err), nil
	}
	for _, k := range s.selected {
		if _, ok := s.run(ctx, k); !ok {
			break
		}
	}
	s.finish()
	return s.certificate(), nil
}
