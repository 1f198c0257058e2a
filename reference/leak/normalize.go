package leak

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Normalize makes every run of white space one blank, trims the ends
// (FORWARD-07) and replaces invalid UTF-8 with U+FFFD. It returns s itself
// when nothing is to be done.
func Normalize(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	n := normalPrefix(s)
	if n == len(s) {
		return s
	}
	var out strings.Builder
	out.Grow(len(s))
	out.WriteString(s[:n])
	for word := range strings.FieldsFuncSeq(s[n:], isSpace) {
		if out.Len() > 0 {
			out.WriteByte(' ')
		}
		out.WriteString(word)
	}
	return out.String()
}

// normalPrefix gives the length of the text before the first white space that
// is not a single blank between words.
func normalPrefix(s string) int {
	for i := 0; i < len(s); {
		if c := s[i]; c > ' ' && c < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if isSpace(r) {
			next, _ := utf8.DecodeRuneInString(s[i+size:])
			if r != ' ' || i == 0 || i+size == len(s) || isSpace(next) {
				return i
			}
		}
		i += size
	}
	return len(s)
}

// Blank reports whether s has no characters but white space.
func Blank(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !isSpace(r) }) < 0
}

// isSpace takes U+FEFF for white space as ECMAScript does: text of nothing
// else would look empty to an agent.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r == '\uFEFF' }
