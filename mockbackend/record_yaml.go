package mockbackend

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A yamlWriter writes a JSON document as YAML, members in their order. It goes
// along the text: a tree of nodes takes ten times as long, and a recording is
// written again and again while it grows.
type yamlWriter struct {
	in  jsonReader
	out bytes.Buffer
}

// block writes the members or the elements of what is not empty, each on a line of
// its own but for the first, which begins where the writer is.
func (y *yamlWriter) block(indent int) {
	end := y.in.doc[y.in.at] + 2 // of [ and {
	y.in.at++
	for first := true; y.in.next() != end; first = false {
		if !first {
			y.indent(indent)
		}
		if end == ']' {
			y.out.WriteByte('-')
			y.value(indent+2, true)
			continue
		}
		name := yamlScalar(plainText(y.in.token()), false)
		if len(name) > 1000 { // a reader looks no further for the colon
			y.out.WriteString("? " + name + "\n")
			y.indent(indent)
			name = ""
		}
		y.out.WriteString(name + ":")
		y.in.next()
		y.value(indent+2, false)
	}
	y.in.at++
}

func (y *yamlWriter) indent(n int) {
	for range n {
		y.out.WriteByte(' ')
	}
}

// value writes what follows a colon, or the dash of an element.
func (y *yamlWriter) value(indent int, element bool) {
	c := y.in.next()
	switch c {
	case '{', '[':
		start := y.in.at
		y.in.at++
		if y.in.next() == c+2 {
			y.in.at++
			y.out.WriteString(map[byte]string{'{': " {}\n", '[': " []\n"}[c])
			return
		}
		y.in.at = start
		if c == '[' && y.pair() {
			return
		}
		y.in.at = start
		if element {
			y.out.WriteByte(' ')
		} else {
			y.out.WriteByte('\n')
			y.indent(indent)
		}
		y.block(indent)
	case '"':
		text := plainText(y.in.token())
		if strings.Contains(text, "\n") && isPlainText(text) {
			y.literal(indent, text)
			return
		}
		y.out.WriteString(" " + yamlScalar(text, false) + "\n")
	default:
		y.out.WriteString(" " + yamlNumber(string(y.in.token())) + "\n")
	}
}

// pair writes a header field, which reads best on one line.
func (y *yamlWriter) pair() bool {
	var texts [2]string
	y.in.at++
	for i := range texts {
		if y.in.next() != '"' {
			return false
		}
		texts[i] = plainText(y.in.token())
	}
	if y.in.next() != ']' || len(texts[0])+len(texts[1]) >= 100 {
		return false
	}
	y.in.at++
	y.out.WriteString(" [" + yamlScalar(texts[0], true) + ", " + yamlScalar(texts[1], true) + "]\n")
	return true
}

// literal writes a text of several lines as it is.
func (y *yamlWriter) literal(indent int, text string) {
	lines, ended := strings.CutSuffix(text, "\n")
	switch {
	case !ended:
		y.out.WriteString(" |-\n")
	case strings.HasSuffix(lines, "\n"):
		y.out.WriteString(" |+\n")
	default:
		y.out.WriteString(" |\n")
	}
	for line := range strings.SplitSeq(lines, "\n") {
		if line != "" {
			y.indent(indent)
		}
		y.out.WriteString(line)
		y.out.WriteByte('\n')
	}
}

// yamlNumber gives a number, true, false or null. Where a reader would make
// something else of a number, its type stands before it.
func yamlNumber(token string) string {
	if c := token[0]; c != '-' && (c < '0' || c > '9') || len(token) <= 18 && !strings.ContainsAny(token, "eE") {
		return token
	}
	if strings.ContainsAny(token, ".eE") {
		return "!!float " + token
	}
	return "!!int " + token
}

// What a reader takes for something else than a text, in any case.
var yamlWords = map[string]bool{"true": true, "false": true, "null": true, "yes": true, "no": true, "on": true, "off": true, "y": true, "n": true}

// yamlScalar gives a text as it is where it can be, else in quotes.
func yamlScalar(text string, flow bool) string {
	if isPlainScalar(text, flow) {
		return text
	}
	var out strings.Builder
	out.Grow(len(text) + 2)
	out.WriteByte('"')
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '"' || r == '\\':
			out.WriteString(`\` + text[i:i+1])
		case r == '\n':
			out.WriteString(`\n`)
		case r == '\r':
			out.WriteString(`\r`)
		case r == '\t':
			out.WriteString(`\t`)
		case r == ' ' || unicode.IsPrint(r):
			out.WriteString(text[i : i+size])
		case r > 0xffff:
			fmt.Fprintf(&out, `\U%08x`, r)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
		i += size
	}
	out.WriteByte('"')
	return out.String()
}

func isPlainScalar(text string, flow bool) bool {
	if text == "" || text[0] != '/' && !tagStarts[text[0]] || strings.ContainsAny(text[len(text)-1:], " :") {
		return false
	}
	ascii := true
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == 0x7f || !plainNext(text, i, flow) {
			return false
		}
		ascii = ascii && text[i] < utf8.RuneSelf
	}
	if !ascii && strings.ContainsFunc(text, func(r rune) bool { return r != ' ' && !unicode.IsPrint(r) || r == utf8.RuneError }) {
		return false
	}
	return len(text) > len("false") || !yamlWords[strings.ToLower(text)]
}

// plainNext tells whether the byte at i can stand in a text without quotes.
func plainNext(text string, i int, flow bool) bool {
	switch text[i] {
	case ':':
		return !flow && i+1 < len(text) && text[i+1] != ' '
	case '#':
		return i > 0 && text[i-1] != ' '
	case ',', '[', ']', '{', '}', '?':
		return !flow
	}
	return true
}
