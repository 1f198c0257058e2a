package suite

import (
	"context"

	"example.com/touchstone/schemas"
)

// CertifyDirectly is [Certify] without Ginkgo: the same cases, judges and
// verdict, and it may be called any number of times in a process, side by side.
// The error is a [*UsageError].
func CertifyDirectly(ctx context.Context, c Config) (schemas.Certificate, error) {
	return outside(ctx, c, func(s *session) {
		for _, k := range s.selected {
			if _, ok := s.run(ctx, k); !ok {
				break
			}
		}
	})
}
