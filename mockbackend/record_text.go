package mockbackend

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	// Attributes of a tag that name what another one has: <input name= value=>,
	// <meta name= content=>, <add key= value=>.
	nameAttribute  = regexp.MustCompile(`(?i)\s(name|key|property|id)\s*=\s*["']?([^"'\s>]+)`)
	valueAttribute = regexp.MustCompile(`(?i)(\s(?:value|content)\s*=\s*)("[^"]*"|'[^']*'|[^\s"'>]+)`)
)

// text replaces what looks like a secret in a text, by its name or by its form.
func (s redactor) text(text string) string {
	return replaceForms(s.assignments(s.queries(s.elements(s.parts(text)))))
}

// What ends a name and a value in the query or the fragment of a URL.
var (
	queryName  = except(" \t\r\n\f\"'<>?#=")
	queryValue = except(" \t\r\n\f\"'<>?#")
)

// queries replaces the secrets in the queries and fragments of URLs.
func (s redactor) queries(text string) string {
	var out strings.Builder
	done := 0
	for i := 0; i < len(text); {
		n := strings.IndexAny(text[i:], "?#")
		if n < 0 {
			break
		}
		i += n + 1
		name := queryName.span(text[i:])
		if name == 0 || !strings.HasPrefix(text[i+name:], "=") {
			continue
		}
		end := i + queryValue.span(text[i:])
		if query := s.pairs(text[i:end]); query != text[i:end] {
			out.WriteString(text[done:i])
			out.WriteString(query)
			done = end
		}
		i = end
	}
	if done == 0 {
		return text
	}
	return out.String() + text[done:]
}

// assignments replaces the values of name=value and name: value, quoted or not,
// where the name is that of a secret.
func (s redactor) assignments(text string) string {
	var out strings.Builder
	done, lost := 0, 0
	var near beside
	for i := 0; i < len(text); {
		at := strings.IndexAny(text[i:], ":=%")
		if at < 0 {
			break
		}
		at += i
		i = at + 1
		if text[at] == '%' { // the same, escaped for a URL
			if code := text[i:min(i+2, len(text))]; !strings.EqualFold(code, "3d") && !strings.EqualFold(code, "3a") {
				continue
			}
			i += 2
		}
		name, quoted := s.nameAtEnd(text[done:at])
		kind := s.secrecy(name)
		named, valued := isMember(name, nameMembers), isMember(name, valueMembers)
		if kind == open && !named && !valued {
			continue
		}
		for i < len(text) && strings.IndexByte(":=>", text[i]) >= 0 { // ==, :=, =>
			i++
		}
		if b, ok := kind.valueBlock(text, name, at); ok {
			if kind = max(kind, valueOf(&near, valued, b)); kind != open {
				out.WriteString(text[done:b.start])
				out.WriteString(b.by)
				done = b.end
			}
			i = max(i, done)
			continue
		}
		start, end := assigned(text, i, text[at] == ':' && takesLine(text[done:at], name, quoted), &lost)
		if last := flowEnd(text, at, start, end); last > end {
			end = last // {name: DB_PASSWORD, value: two words}
		}
		switch value := text[start:end]; {
		case named && start < end:
			if from, to := near.name(s.secrecy(value), text, at); from >= done && to > from {
				out.WriteString(text[done:from])
				out.WriteString(Redacted)
				done = to
			}
		case valued && start < end:
			kind = max(kind, near.value(start, end))
		}
		if value := text[start:end]; !kind.hides(value) {
			continue
		}
		out.WriteString(text[done:start])
		out.WriteString(Redacted)
		done, i = end, end
	}
	if done == 0 {
		return text
	}
	return out.String() + text[done:]
}

// valueOf is the secrecy of a block by a name beside it.
func valueOf(near *beside, valued bool, b block) secrecy {
	if !valued {
		return open
	}
	return near.value(b.start, b.end)
}

// flowEnd gives the end of a value without quotes on a line of YAML in braces,
// which can have several words.
func flowEnd(text string, at, start, end int) int {
	if text[at] != ':' || start == end || start > 0 && strings.IndexByte("\"'", text[start-1]) >= 0 || strings.IndexByte("[{", text[start]) >= 0 {
		return end
	}
	line := text[max(0, at-maxApart):at]
	line = line[strings.LastIndexByte(line, '\n')+1:]
	if strings.LastIndexByte(line, '{') <= strings.LastIndexByte(line, '}') {
		return end
	}
	rest := text[end:min(len(text), end+maxApart)]
	n := upTo(rest, ",}\r\n\"'")
	if n == len(rest) || rest[n] != ',' && rest[n] != '}' {
		return end
	}
	return end + len(strings.TrimRight(rest[:n], " \t"))
}

// maxName is how many bytes of a name are looked at.
const maxName = 200

var asciiName = newCharSet([]string{"a-z", "A-Z", "0-9"}, "_-.[]%$@")

func inName(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-.[]%$@", r)
}

// nameAtEnd gives the name that a text ends with and whether it is in quotes.
func (s redactor) nameAtEnd(text string) (name string, quoted bool) {
	text = strings.TrimRight(text[max(0, len(text)-maxName):], " \t")
	bare := strings.TrimRight(text, `"'\`)
	quoted = len(bare) < len(text)
	for _, given := range s.given {
		if before := len(bare) - len(given); before >= 0 && strings.EqualFold(bare[before:], given) {
			if r, _ := utf8.DecodeLastRuneInString(bare[:before]); before == 0 || !inName(r) {
				return given, quoted
			}
		}
	}
	start := len(bare)
	for start > 0 {
		if c := bare[start-1]; c < utf8.RuneSelf {
			if !asciiName[c] {
				break
			}
			start--
			continue
		}
		r, size := utf8.DecodeLastRuneInString(bare[:start])
		if !inName(r) {
			break
		}
		start -= size
	}
	return bare[start:], quoted
}

// takesLine tells whether what follows name and a colon is a value up to the end
// of the line: a header of several words, or a line of its own.
func takesLine(before, name string, quoted bool) bool {
	if words := nameWords(name); !quoted && (slices.Contains(words, "authorization") || slices.Contains(words, "cookie")) {
		return true
	}
	before = strings.TrimRight(before, " \t\"'\\")
	before = strings.TrimRight(before[:len(before)-len(name)], " \t-*#>\"'")
	return before == "" || strings.HasSuffix(before, "\n")
}

// assigned finds the value that starts at or after i. It is empty where there is
// none. lost counts the brackets that are not closed.
func assigned(text string, i int, line bool, lost *int) (start, end int) {
	start = i + len(text[i:]) - len(strings.TrimLeft(text[i:], " \t\r\n"))
	rest := text[start:]
	below := strings.Contains(text[i:start], "\n")
	if below && strings.ContainsAny(rest[:upTo(rest, "\r\n")], ":=") {
		return start, start // the next line assigns by itself
	}
	opening := strings.TrimLeft(rest, `\`) // \" in a text that is in a text
	escapes := rest[:len(rest)-len(opening)]
	switch {
	case opening == "":
		return start, start
	case strings.HasPrefix(rest, `"""`) || strings.HasPrefix(rest, "'''"): // of TOML
		start += 3
		if n := strings.Index(rest[3:], rest[:3]); n >= 0 {
			return start, start + n
		}
		return start, len(text)
	case opening[0] == '"' || opening[0] == '\'':
		start += len(escapes) + 1
		return start, start + quotedEnd(text[start:], escapes+opening[:1])
	case opening[0] == '[' || opening[0] == '{':
		return start, start + bracketEnd(rest, lost)
	case line || below:
		return start, start + len(strings.TrimRight(rest[:upTo(rest, "\r\n\"'<")], " \t,"))
	}
	n := strings.IndexFunc(rest, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`"'&;<>`, r) })
	if n < 0 {
		n = len(rest)
	}
	return start, start + len(strings.TrimRight(rest[:n], ",.)]}"))
}

// upTo gives the length of a text before the first of chars.
func upTo(text, chars string) int {
	if n := strings.IndexAny(text, chars); n >= 0 {
		return n
	}
	return len(text)
}

// quotedEnd gives the length of a text up to its closing quote, or up to the end
// of the line without one.
func quotedEnd(text, quote string) int {
	for i := 0; i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], quote):
			return i
		case text[i] == '\\':
			i++
		}
	}
	return upTo(text, "\r\n")
}

// Bounds of the search for the end of a list or an object in a text.
const (
	maxBracket = 64 << 10
	maxLost    = 100
)

// bracketEnd gives the length of a list or an object, or that of the line when it
// is not closed.
func bracketEnd(text string, lost *int) int {
	depth := 0
	for i := 0; i < min(len(text), maxBracket) && *lost < maxLost; i++ {
		switch text[i] {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	*lost++
	return upTo(text, "\r\n")
}

// eventData begins a line of data in a stream of server-sent events.
const eventData = "data:"

// document replaces the secrets in a body that is not JSON as a whole. Lines that
// are, as they come or as data of server-sent events, are read as JSON.
func (s redactor) document(text string) string {
	var out, prose strings.Builder
	// add puts in what may be JSON after a prefix.
	add := func(line, prefix string) bool {
		content := strings.ReplaceAll(strings.TrimPrefix(line, prefix), "\n"+prefix, "\n")
		if !isJSONLine(content) {
			return false
		}
		out.WriteString(s.text(prose.String()))
		prose.Reset()
		redacted, changed := s.json([]byte(content))
		if !changed {
			out.WriteString(line)
			return true
		}
		if prefix != "" {
			prefix += " "
		}
		out.WriteString(prefix + string(redacted) + line[len(strings.TrimRight(line, "\r\n")):])
		return true
	}
	text = s.parts(text)
	lines := slices.Collect(strings.Lines(text))
	for len(lines) > 0 {
		// An event's data is what its lines say together, or one alone.
		n := 0
		for n < len(lines) && strings.HasPrefix(lines[n], eventData) {
			n++
		}
		if n > 1 && add(strings.Join(lines[:n], ""), eventData) {
			lines = lines[n:]
			continue
		}
		prefix := ""
		if n > 0 {
			prefix = eventData
		}
		for _, line := range lines[:max(n, 1)] {
			if !add(line, prefix) {
				prose.WriteString(line)
			}
		}
		lines = lines[max(n, 1):]
	}
	out.WriteString(s.text(prose.String()))
	return s.pairsOf(out.String())
}

func isJSONLine(line string) bool {
	if strings.HasPrefix(line, "  ") { // a part of a block, whose name tells more
		return false
	}
	line = strings.TrimSpace(line)
	return line != "" && (line[0] == '{' || line[0] == '[') && json.Valid([]byte(line))
}

// pairsOf is pairs for what is a form as a whole.
func (s redactor) pairsOf(text string) string {
	if strings.ContainsAny(text, " \n<>{}\"'?") {
		return text
	}
	return s.pairs(text)
}
