package target

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ExcerptBytes is how much of a message an error shows.
const ExcerptBytes = 2048

// Excerpt gives the start of what a target sent, fit for an error message: cut
// to [ExcerptBytes], with the cut marked, and with everything that is not
// printable escaped, so that a target cannot drive the reader's terminal.
func Excerpt(message []byte) string {
	if len(message) <= ExcerptBytes {
		return printable(message)
	}
	end := ExcerptBytes
	for end > ExcerptBytes-utf8.UTFMax && !utf8.RuneStart(message[end]) {
		end--
	}
	return fmt.Sprintf("%s… [cut: %d of %d bytes]", printable(message[:end]), end, len(message))
}

// Tail is Excerpt for the end of a log, of which dropped earlier bytes are gone.
func Tail(log []byte, dropped int64) string {
	start := max(0, len(log)-ExcerptBytes)
	dropped += int64(start)
	if dropped == 0 {
		return printable(log)
	}
	for i := 0; i < utf8.UTFMax && start < len(log) && !utf8.RuneStart(log[start]); i++ {
		start++
		dropped++
	}
	return fmt.Sprintf("[cut: %d earlier bytes] …%s", dropped, printable(log[start:]))
}

func printable(text []byte) string {
	var out strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, text[0])
		case r == '\n', r == '\t', unicode.IsPrint(r):
			out.WriteRune(r)
		case r < utf8.RuneSelf:
			fmt.Fprintf(&out, `\x%02x`, r)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
		text = text[size:]
	}
	return out.String()
}
