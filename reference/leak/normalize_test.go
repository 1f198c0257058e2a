package leak_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"example.com/touchstone/reference/leak"
)

func TestNormalize(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"", ""},
		{"one two", "one two"},
		{" ", ""},
		{" \t\r\n", ""},
		{"  one", "one"},
		{"one  ", "one"},
		{"one ", "one"},
		{"one  two", "one two"},
		{"one\r\n\ttwo\vthree\ffour", "one two three four"},
		{"one two  three four", "one two three four"},
		{"one\u00a0two\u3000three\u2028four", "one two three four"},
		{"one \u00a0 two", "one two"},
		{"\ufeff one", "one"},
		{"é\n漢", "é 漢"},
		{"a\xffb", "a\uFFFDb"},
		{"\xff \xfe", "\uFFFD \uFFFD"},
		{"é \U0001F600 ok", "é \U0001F600 ok"},
		{"nul\x00stays", "nul\x00stays"},
	} {
		if got := leak.Normalize(test.in); got != test.want {
			t.Errorf("Normalize(%q) = %q, want %q", test.in, got, test.want)
		}
		if got, want := leak.Blank(test.in), test.want == ""; got != want {
			t.Errorf("Blank(%q) = %v", test.in, got)
		}
	}
}

func TestNormalTextIsNotCopied(t *testing.T) {
	text := strings.Repeat("Größe 数量 \U0001F600 quantity ", 50) + "end"
	f := leak.Default()
	allocs := testing.AllocsPerRun(20, func() {
		if leak.Normalize(text) != text || f.Withholds(text[:900]) {
			t.Error("the text is changed or withheld")
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func TestNormalizeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := soup().Draw(t, "in")
		got := leak.Normalize(in)
		switch {
		case !utf8.ValidString(got):
			t.Errorf("%q is not UTF-8", got)
		case got != leak.Normalize(got):
			t.Errorf("normalising %q again gives %q", got, leak.Normalize(got))
		case strings.Contains(got, "  ") || strings.TrimSpace(got) != got || strings.ContainsAny(got, "\t\r\n\v\f\u00a0"):
			t.Errorf("%q is not normal", got)
		case strings.Join(strings.Fields(got), "") != strings.Join(strings.Fields(strings.ToValidUTF8(in, "\uFFFD")), ""):
			t.Errorf("%q has other words than %q", got, in)
		}
	})
}
