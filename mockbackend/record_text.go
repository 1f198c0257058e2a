package mockbackend

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// secretTexts are the secrets that a text shows by their form: credentials,
// connection strings, and user information in URLs. They take too much rather
// than too little.
var secretTexts = []struct {
	form *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)`), Redacted},
	{regexp.MustCompile(`(?i)\b(bearer)\s+[a-z0-9._~+/-]{8,}=*`), "$1 " + Redacted},
	{regexp.MustCompile(`\beyJ[\w-]+\.[\w-]+\.[\w-]*`), Redacted},
	// Keys that say by a prefix whose they are.
	{regexp.MustCompile(`\b(?:(?:AKIA|ASIA)[A-Z0-9]{16}|gh[pousr]_\w{20,}|github_pat_\w{20,}|xox[abeprs]-[\w-]{8,}|[sr]k[-_][\w-]{16,}|AIza[\w-]{30,})`), Redacted},
	{regexp.MustCompile(`(?i)\b((?:mongodb(?:\+srv)?|postgres(?:ql)?|mysql|rediss?|amqps?|mssql|sqlserver)://)[^\s"'<>]+`), "${1}" + Redacted},
	{regexp.MustCompile(`(?i)\b([a-z][a-z0-9+.-]*://)[^\s/?#@"'<>]+@`), "${1}" + Redacted + "@"},
	{regexp.MustCompile(`(?i)\b(server|data source|host|initial catalog|database|user id|uid|accountname)(\s*=\s*)[^;"'\n]+;`), "${1}${2}" + Redacted + ";"},
}

var (
	// basicAuth is checked further, as Basic is a word of prose too.
	basicAuth = regexp.MustCompile(`(?i)\b(basic\s+)([a-z0-9+/]{4,}={0,2})`)
	// urlQuery is the query or the fragment of a URL.
	urlQuery = regexp.MustCompile(`[?#][^\s"'<>?#=]+=[^\s"'<>?#]*`)
	openTag  = regexp.MustCompile(`<([A-Za-z_][\w.:-]*)([^<>]*)>`)
	// Attributes of a tag that name what another one has: <input name= value=>,
	// <meta name= content=>, <add key= value=>.
	nameAttribute  = regexp.MustCompile(`(?i)\s(?:name|key|property|id)\s*=\s*["']?([^"'\s>]+)`)
	valueAttribute = regexp.MustCompile(`(?i)(\s(?:value|content)\s*=\s*)("[^"]*"|'[^']*'|[^\s"'>]+)`)
)

// text replaces what looks like a secret in a text, by its name or by its form.
func (s redactor) text(text string) string {
	text = s.elements(text)
	text = urlQuery.ReplaceAllStringFunc(text, func(q string) string { return q[:1] + s.pairs(q[1:]) })
	text = s.assignments(text)
	for _, secret := range secretTexts {
		text = secret.form.ReplaceAllString(text, secret.by)
	}
	return basicAuth.ReplaceAllStringFunc(text, func(found string) string {
		parts := basicAuth.FindStringSubmatch(found)
		if plain, err := base64.StdEncoding.DecodeString(parts[2]); err != nil || !bytes.Contains(plain, []byte(":")) {
			return found
		}
		return parts[1] + Redacted
	})
}

// elements replaces what elements of XML or HTML with the name of a secret hold.
func (s redactor) elements(text string) string {
	var out strings.Builder
	done := 0
	unclosed := map[string]bool{} // not to be looked for again and again
	for _, m := range openTag.FindAllStringSubmatchIndex(text, -1) {
		if m[0] < done {
			continue
		}
		name, attributes := text[m[2]:m[3]], text[m[4]:m[5]]
		if named := nameAttribute.FindStringSubmatch(attributes); named != nil && s.isName(named[1]) {
			out.WriteString(text[done:m[4]])
			out.WriteString(valueAttribute.ReplaceAllString(attributes, `${1}"`+Redacted+`"`))
			done = m[5]
		}
		kind := s.secrecy(name[strings.LastIndexByte(name, ':')+1:])
		if kind == open || strings.HasSuffix(attributes, "/") {
			continue
		}
		rest, end := text[m[1]:], -1
		if !unclosed[name] {
			end = strings.Index(rest, "</"+name)
		}
		if end < 0 {
			unclosed[name] = true
			if end = strings.IndexByte(rest, '<'); end < 0 {
				end = len(rest)
			}
		}
		if !kind.hides(strings.TrimSpace(rest[:end])) {
			continue
		}
		out.WriteString(text[done:m[1]])
		out.WriteString(Redacted)
		done = m[1] + end
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
	done := 0
	for i := 0; i < len(text); {
		at := strings.IndexAny(text[i:], ":=")
		if at < 0 {
			break
		}
		at += i
		i = at + 1
		name, quoted := s.nameAtEnd(text[done:at])
		kind := s.secrecy(name)
		if kind == open {
			continue
		}
		for i < len(text) && strings.IndexByte(":=>", text[i]) >= 0 { // ==, :=, =>
			i++
		}
		start, end := assigned(text, i, text[at] == ':' && !quoted && takesLine(text[done:at], name))
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

// maxName is how many bytes of a name are looked at.
const maxName = 200

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
func takesLine(before, name string) bool {
	if words := nameWords(name); slices.Contains(words, "authorization") || slices.Contains(words, "cookie") {
		return true
	}
	before = strings.TrimRight(before, " \t")
	before = strings.TrimRight(before[:len(before)-len(name)], " \t-*#>")
	return before == "" || strings.HasSuffix(before, "\n")
}

// assigned finds the value that starts at or after i. It is empty where there is
// none.
func assigned(text string, i int, line bool) (start, end int) {
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
	case opening[0] == '"' || opening[0] == '\'':
		start += len(escapes) + 1
		return start, start + quotedEnd(text[start:], escapes+opening[:1])
	case opening[0] == '[' || opening[0] == '{':
		return start, start + bracketEnd(rest)
	case line || below:
		return start, start + len(strings.TrimRight(rest[:upTo(rest, "\r\n\"'<")], " \t"))
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

// maxBracket is how far the end of a list or an object in a text is looked for.
const maxBracket = 64 << 10

// bracketEnd gives the length of a list or an object, or that of the line when it
// is not closed.
func bracketEnd(text string) int {
	depth := 0
	for i := range min(len(text), maxBracket) {
		switch text[i] {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
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
		redacted, changed, err := s.json([]byte(content))
		if err != nil || !changed {
			out.WriteString(line)
			return true
		}
		if prefix != "" {
			prefix += " "
		}
		out.WriteString(prefix + string(redacted) + line[len(strings.TrimRight(line, "\r\n")):])
		return true
	}
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
