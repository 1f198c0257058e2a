// Package leak decides which text of a backend may reach an agent (LEAK-01 to
// LEAK-06).
//
// A [Filter] looks for the traces that backends leave in their messages: stack
// frames, exception types, file paths, connection strings and credentials. A
// hit withholds the whole text; nothing is ever cut out of it. The rules are
// values, and the scanners that apply them are written by hand: each runs in
// time linear in the length of the text, whatever the text holds, which a
// backtracking regular expression does not.
package leak

import (
	"slices"
	"strings"
)

// Filter is a set of rules. The zero value withholds nothing; [Default] has
// every rule. A Filter must not be changed while it is in use.
type Filter struct {
	// NamedFrames withholds `at name(`. A name has ASCII letters, digits and
	// NameMarks. White space and dots may stand before the parenthesis.
	NamedFrames bool
	NameMarks   string
	// PositionFrames withholds `at token:line:column`. PositionTail holds the
	// characters that may close the token.
	PositionFrames bool
	PositionTail   string
	// TracebackHeader withholds text that contains it.
	TracebackHeader string

	// ExceptionSuffix withholds longer words that end with it, ErrorTypes the
	// words themselves. Both are case-sensitive.
	ExceptionSuffix string
	ErrorTypes      []string

	// DrivePaths withholds `C:\name`, UNCPaths `\\server\share`.
	DrivePaths bool
	UNCPaths   bool
	// UnixRoots withholds `/root/name` where that begins a path.
	UnixRoots []string
	// SourceExtensions withholds `name.ext:7`. LineWord may stand before the number.
	SourceExtensions Words
	LineWord         string

	// ConnectionKeys withholds `key=value;`, URLSchemes `scheme://host`.
	ConnectionKeys Words
	URLSchemes     Words
	// UserInfoURLs withholds URLs of any scheme with a user and a password.
	UserInfoURLs bool

	// AuthSchemes withholds `scheme token`, where token has at least
	// MinTokenLength characters of RFC 6750's b64token or an underscore.
	AuthSchemes    Words
	MinTokenLength int
	// JWTs withholds JSON Web Tokens in compact form (RFC 7519).
	JWTs bool

	// MaxUnits withholds text of more UTF-16 code units. 0 means no limit.
	MaxUnits int
}

// Default gives the full rule set. Each call gives a value of its own, so that
// a caller may edit it.
func Default() Filter {
	return Filter{
		NamedFrames:     true,
		NameMarks:       "_$.<>",
		PositionFrames:  true,
		PositionTail:    ").,;:!?\"'`]}>",
		TracebackHeader: "Traceback (most recent call last)",

		ExceptionSuffix: "Exception",
		ErrorTypes: []string{
			"TypeError", "ReferenceError", "SyntaxError", "RangeError", "EvalError", "URIError",
		},

		DrivePaths: true,
		UNCPaths:   true,
		UnixRoots: []string{
			"/Users", "/home", "/var", "/usr", "/opt", "/srv", "/app", "/src", "/etc", "/tmp",
		},
		SourceExtensions: Words{AnyCase: true, List: []string{
			"cs", "ts", "tsx", "js", "jsx", "py", "java", "rb",
			"go", "php", "cpp", "c", "h", "kt", "swift",
		}},
		LineWord: "line ",

		ConnectionKeys: Words{AnyCase: true, List: []string{
			"Server", "Data Source", "Password", "User Id", "Uid", "Pwd", "Initial Catalog",
		}},
		URLSchemes: Words{AnyCase: true, List: []string{
			"mongodb", "mongodb+srv", "postgres", "postgresql", "mysql", "redis", "amqp", "mssql",
		}},
		UserInfoURLs: true,

		AuthSchemes:    Words{AnyCase: true, List: []string{"Bearer"}},
		MinTokenLength: 8,
		JWTs:           true,

		MaxUnits: 1000,
	}
}

// classes are the requirements with the check of each; the cheapest is first.
var classes = [...]struct {
	id  string
	hit func(*Filter, string) bool
}{
	{"LEAK-06", (*Filter).tooLong},
	{"LEAK-01", (*Filter).stackFrame},
	{"LEAK-02", (*Filter).exceptionType},
	{"LEAK-03", (*Filter).filePath},
	{"LEAK-04", (*Filter).connectionString},
	{"LEAK-05", (*Filter).credential},
}

// Withholds reports whether s must not be forwarded. The text is expected as
// [Normalize] gives it: a rule that speaks of white space looks for one blank.
func (f *Filter) Withholds(s string) bool {
	_, hit := f.Class(s)
	return hit
}

// Class gives the requirement that withholds s, the first of several.
func (f *Filter) Class(s string) (id string, hit bool) {
	for i := range classes {
		if classes[i].hit(f, s) {
			return classes[i].id, true
		}
	}
	return "", false
}

// Classes gives every requirement that withholds s, in order.
func (f *Filter) Classes(s string) []string {
	var ids []string
	for i := range classes {
		if classes[i].hit(f, s) {
			ids = append(ids, classes[i].id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Words is a list of words to look for. AnyCase ignores the case of ASCII letters.
type Words struct {
	List    []string
	AnyCase bool
}

// endOf gives the length of the listed word that s ends with, at a word
// boundary, or 0.
func (w Words) endOf(s string) int {
	if s == "" {
		return 0
	}
	last := s[len(s)-1] | 0x20 // rules most words out before the comparison
	for _, word := range w.List {
		at := len(s) - len(word)
		if at < 0 || word[len(word)-1]|0x20 != last || at > 0 && isWordByte(s[at-1]) {
			continue
		}
		if s[at:] == word || w.AnyCase && strings.EqualFold(s[at:], word) {
			return len(word)
		}
	}
	return 0
}

func isDigit(c byte) bool    { return '0' <= c && c <= '9' }
func isLetter(c byte) bool   { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isWordByte(c byte) bool { return isLetter(c) || isDigit(c) || c == '_' }
