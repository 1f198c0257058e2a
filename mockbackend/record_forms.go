package mockbackend

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
)

// A charSet tells which bytes belong to something.
type charSet [256]bool

// newCharSet takes ranges like "a-z" and single characters after them.
func newCharSet(ranges []string, single string) *charSet {
	set := &charSet{}
	for _, r := range ranges {
		for c := int(r[0]); c <= int(r[2]); c++ {
			set[c] = true
		}
	}
	for i := range len(single) {
		set[single[i]] = true
	}
	return set
}

// except gives all other bytes.
func except(chars string) *charSet {
	set := newCharSet(nil, chars)
	for c := range set {
		set[c] = !set[c]
	}
	return set
}

// span gives the length of the bytes of a set that a text begins with.
func (set *charSet) span(text string) int {
	n := 0
	for n < len(text) && set[text[n]] {
		n++
	}
	return n
}

var (
	wordChars   = newCharSet([]string{"a-z", "A-Z", "0-9"}, "_")
	dashedChars = newCharSet([]string{"a-z", "A-Z", "0-9"}, "_-")
	upperChars  = newCharSet([]string{"A-Z", "0-9"}, "")
	labelChars  = newCharSet([]string{"A-Z", "0-9"}, " ")
	base64Chars = newCharSet([]string{"a-z", "A-Z", "0-9"}, "+/")
	bearerChars = newCharSet([]string{"a-z", "A-Z", "0-9"}, "._~+/-")
	schemeChars = newCharSet([]string{"a-z", "A-Z", "0-9"}, "+.-")
	blankChars  = newCharSet(nil, " \t\r\n\f")
	urlChars    = except(" \t\r\n\f\"'<>")
	userChars   = except(" \t\r\n\f\"'<>/?#@")
	equalsSigns = newCharSet(nil, "=")
	// formStarts are the bytes at which a form is known, so that one pass finds
	// them all.
	formStarts = newCharSet(nil, "-:=bBeAgxsr")
)

// Schemes of the URLs that are a secret as a whole.
var storeSchemes = []string{"mongodb", "mongodb+srv", "postgres", "postgresql", "mysql", "redis", "rediss", "amqp", "amqps", "mssql", "sqlserver"}

// Names in a connection string, after which a value ends with a semicolon.
var connectionNames = []string{"server", "data source", "host", "initial catalog", "database", "user id", "uid", "accountname"}

// A formScan replaces the secrets that a text shows by their form: credentials,
// connection strings, and user information in URLs. It takes too much rather
// than too little.
type formScan struct {
	text string
	// What has been looked for is not looked for again and again.
	noToken   int // no JSON Web Token starts before it
	stop      int // the first of ;"'\n at or after where it was last looked for
	hasNoStop bool
}

func replaceForms(text string) string {
	var out strings.Builder
	done := 0
	scan := formScan{text: text, stop: -1}
	for i := 0; i < len(text); i++ {
		if !formStarts[text[i]] {
			continue
		}
		if from, to := scan.at(i); to > from {
			out.WriteString(text[done:from])
			out.WriteString(Redacted)
			done = to
			i = to - 1
		}
	}
	if done == 0 {
		return text
	}
	out.WriteString(text[done:])
	return out.String()
}

// at gives the secret that the byte at i shows.
func (f *formScan) at(i int) (from, to int) {
	rest := f.text[i:]
	switch rest[0] {
	case '-':
		return i, i + pemEnd(rest)
	case ':':
		if strings.HasPrefix(rest, "://") {
			from = i + len("://")
			return from, from + f.urlSecret(i, rest[len("://"):])
		}
		return 0, 0
	case '=':
		return f.connectionValue(i)
	}
	if i > 0 && wordChars[f.text[i-1]] {
		return 0, 0
	}
	switch rest[0] {
	case 'b', 'B':
		return f.credentials(i, rest)
	case 'e':
		if i < f.noToken || !strings.HasPrefix(rest, "eyJ") {
			return 0, 0
		}
		first := dashedChars.span(rest)
		second := 0
		if strings.HasPrefix(rest[first:], ".") {
			second = dashedChars.span(rest[first+1:])
		}
		end := first + 1 + second
		if first == len("eyJ") || second == 0 || !strings.HasPrefix(rest[end:], ".") {
			f.noToken = i + first
			return 0, 0
		}
		return i, i + end + 1 + dashedChars.span(rest[end+1:])
	}
	return i, i + keyEnd(rest)
}

// pemEnd gives the length of the private key that a text begins with, up to the
// end of the text when it is cut.
func pemEnd(text string) int {
	const begin, end, key = "-----BEGIN ", "-----END ", "PRIVATE KEY-----"
	label := func(rest string) int {
		n := labelChars.span(rest)
		if strings.HasSuffix(rest[:n], strings.TrimRight(key, "-")) && strings.HasPrefix(rest[n:], "-----") {
			return n + len("-----")
		}
		return 0
	}
	if !strings.HasPrefix(text, begin) || label(text[len(begin):]) == 0 {
		return 0
	}
	for at := len(begin); ; {
		n := strings.Index(text[at:], end)
		if n < 0 {
			return len(text)
		}
		at += n + len(end)
		if n := label(text[at:]); n > 0 {
			return at + n
		}
	}
}

// urlSecret gives the length of the secret that follows the :// at i.
func (f *formScan) urlSecret(i int, rest string) int {
	start := i
	for start > max(0, i-20) && schemeChars[f.text[start-1]] {
		start--
	}
	if start == i {
		return 0
	}
	scheme := strings.ToLower(f.text[start:i])
	if slices.ContainsFunc(storeSchemes, func(store string) bool { return strings.HasSuffix(scheme, store) }) {
		return urlChars.span(rest)
	}
	if n := userChars.span(rest); strings.HasPrefix(rest[n:], "@") {
		return n
	}
	return 0
}

// connectionValue gives the value of a connection string that follows the equals
// sign at i.
func (f *formScan) connectionValue(i int) (from, to int) {
	end := i
	for end > max(0, i-maxName) && blankChars[f.text[end-1]] {
		end--
	}
	before := f.text[max(0, end-len("initial catalog ")):end]
	if !slices.ContainsFunc(connectionNames, func(name string) bool {
		n := len(before) - len(name)
		return n >= 0 && strings.EqualFold(before[n:], name) && (n == 0 || !wordChars[before[n-1]])
	}) {
		return 0, 0
	}
	from = i + 1 + blankChars.span(f.text[i+1:])
	if f.stop < from && !f.hasNoStop {
		n := strings.IndexAny(f.text[from:], ";\"'\n")
		f.stop, f.hasNoStop = from+n, n < 0
	}
	if f.hasNoStop || f.text[f.stop] != ';' {
		return 0, 0
	}
	return from, f.stop
}

// credentials gives what follows Bearer or Basic. Basic is a word of prose too, so
// that what follows is looked at further.
func (f *formScan) credentials(i int, rest string) (from, to int) {
	word := rest[:min(len(rest), len("bearer"))]
	bearer := strings.EqualFold(word, "bearer")
	if !bearer && (len(word) < len("basic") || !strings.EqualFold(word[:len("basic")], "basic")) {
		return 0, 0
	}
	if !bearer {
		word = word[:len("basic")]
	}
	blanks := blankChars.span(rest[len(word):])
	if blanks == 0 {
		return 0, 0
	}
	from = i + len(word) + blanks
	value := rest[len(word)+blanks:]
	if bearer {
		n := bearerChars.span(value)
		if n < 8 {
			return 0, 0
		}
		return from, from + n + equalsSigns.span(value[n:])
	}
	n := base64Chars.span(value)
	if n < 4 {
		return 0, 0
	}
	n += min(2, equalsSigns.span(value[n:]))
	if plain, err := base64.StdEncoding.DecodeString(value[:n]); err != nil || !bytes.Contains(plain, []byte(":")) {
		return 0, 0
	}
	return from, from + n
}

// keyForms are keys that say by a prefix whose they are, and how many characters
// they have after it at least.
var keyForms = []struct {
	prefix string
	chars  *charSet
	least  int
}{
	{"AKIA", upperChars, 16}, {"ASIA", upperChars, 16}, {"AIza", dashedChars, 30},
	{"ghp_", wordChars, 20}, {"gho_", wordChars, 20}, {"ghu_", wordChars, 20}, {"ghs_", wordChars, 20}, {"ghr_", wordChars, 20},
	{"github_pat_", wordChars, 20},
	{"xoxa-", dashedChars, 8}, {"xoxb-", dashedChars, 8}, {"xoxe-", dashedChars, 8}, {"xoxp-", dashedChars, 8}, {"xoxr-", dashedChars, 8}, {"xoxs-", dashedChars, 8},
	{"sk-", dashedChars, 16}, {"sk_", dashedChars, 16}, {"rk-", dashedChars, 16}, {"rk_", dashedChars, 16},
}

// keyEnd gives the length of the key that a text begins with.
func keyEnd(text string) int {
	if len(text) < len("sk-")+16 && len(text) < len("xoxa-")+8 {
		return 0
	}
	for _, form := range keyForms {
		if text[0] != form.prefix[0] || !strings.HasPrefix(text, form.prefix) {
			continue
		}
		if n := form.chars.span(text[len(form.prefix):]); n >= form.least {
			return len(form.prefix) + n
		}
	}
	return 0
}
