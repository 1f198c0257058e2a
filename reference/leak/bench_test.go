package leak_test

import (
	"fmt"
	"strings"
	"testing"

	"example.com/touchstone/reference/leak"
)

// BenchmarkFilter measures all classes; the length limit, which would end most
// of it after a thousand characters, is off but for the last benchmark.
func BenchmarkFilter(b *testing.B) {
	const prose = "The order 4821 has a pending shipment; cancel it before you create another, or ask support. "
	clean := strings.Repeat(prose, 1<<20/len(prose)+1)
	unlimited := leak.Default()
	unlimited.MaxUnits = 0
	for _, size := range []int{100, 1000, 1 << 20} {
		b.Run(fmt.Sprintf("clean/%d", size), func(b *testing.B) {
			benchmark(b, unlimited, clean[:size], false)
		})
		for _, h := range hostile {
			b.Run(fmt.Sprintf("hostile/%d/%s", size, h.name), func(b *testing.B) {
				benchmark(b, unlimited, strings.Repeat(h.unit, size/len(h.unit)), false)
			})
		}
	}
	b.Run("limited/1048576", func(b *testing.B) {
		benchmark(b, leak.Default(), clean[:1<<20], true)
	})
}

func benchmark(b *testing.B, f leak.Filter, text string, want bool) {
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if f.Withholds(text) != want {
			b.Fatalf("Withholds(%.40q) = %v", text, !want)
		}
	}
}

func BenchmarkNormalize(b *testing.B) {
	for _, test := range []struct{ name, unit string }{
		{"normal", "quantity must be positive "}, {"lines", "quantity\r\n\t must  be\n"}, {"blanks", " "},
	} {
		text := strings.Repeat(test.unit, 1<<20/len(test.unit))
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				leak.Normalize(text)
			}
		})
	}
}
