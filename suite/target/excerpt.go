package target

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ExcerptBytes is how much of a message an error shows.
const ExcerptBytes = 2048

// Excerpt gives the start of what a target sent, fit for an error message: cut
// to [ExcerptBytes], with the cut marked, and with everything that is not
// printable escaped, so that a target cannot drive the reader's terminal.
func Excerpt(message []byte) string { return Printable(Cut(string(message), ExcerptBytes)) }

// Cut gives the start of a text that is longer than most bytes, with the cut
// marked at its end.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most
	for end > most-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s… [cut: %d of %d bytes]", text[:end], end, len(text))
}

// cutMark is at the end of what Cut gives.
var cutMark = regexp.MustCompile(`… \[cut: \d+ of (\d+) bytes\]$`)

// Uncut takes the mark of a cut off a text, and gives the length of the whole.
func Uncut(text string) (start string, total int) {
	from := max(0, len(text)-64) // the mark is short, and the text need not be
	at := cutMark.FindStringSubmatchIndex(text[from:])
	if at == nil {
		return text, len(text)
	}
	total, err := strconv.Atoi(text[from+at[2] : from+at[3]])
	if err != nil {
		return text, len(text) // a number that Cut does not write
	}
	return text[:from+at[0]], total
}

// Tail is Excerpt for the end of a log, of which dropped earlier bytes are gone.
func Tail(log []byte, dropped int64) string {
	start := max(0, len(log)-ExcerptBytes)
	dropped += int64(start)
	if dropped == 0 {
		return Printable(string(log))
	}
	for i := 0; i < utf8.UTFMax && start < len(log) && !utf8.RuneStart(log[start]); i++ {
		start++
		dropped++
	}
	return fmt.Sprintf("[cut: %d earlier bytes] …%s", dropped, Printable(string(log[start:])))
}

// Printable escapes what is not printable, but for the ends of lines and tabs.
func Printable(text string) string {
	var out strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
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
