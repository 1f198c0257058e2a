package leak

import (
	"strings"
	"unicode/utf16"
)

// tooLong is LEAK-06.
func (f *Filter) tooLong(s string) bool {
	// A code unit takes at least one byte, so most text needs no counting.
	if f.MaxUnits == 0 || len(s) <= f.MaxUnits {
		return false
	}
	units := 0
	for _, r := range s {
		units += utf16.RuneLen(r)
		if units > f.MaxUnits {
			return true
		}
	}
	return false
}

// stackFrame is LEAK-01.
func (f *Filter) stackFrame(s string) bool {
	if f.TracebackHeader != "" && strings.Contains(s, f.TracebackHeader) {
		return true
	}
	for i := 2; i < len(s); i++ {
		if s[i] != ' ' || s[i-1] != 't' || s[i-2] != 'a' || i > 2 && s[i-3] != ' ' {
			continue
		}
		frame := strings.TrimLeft(s[i:], " ")
		if f.NamedFrames && f.call(frame) || f.PositionFrames && f.position(frame) {
			return true
		}
	}
	return false
}

// call reports whether s begins with a name and a parenthesis. It reads one
// token, and the blanks and dots behind it: few enough that a text of frames
// without parentheses is not read again for each of them.
func (f *Filter) call(s string) bool {
	i := 0
	for i < len(s) && (isLetter(s[i]) || isDigit(s[i]) || strings.IndexByte(f.NameMarks, s[i]) >= 0) {
		i++
	}
	if i == 0 {
		return false
	}
	for i < len(s) && (s[i] == ' ' || s[i] == '.') {
		i++
	}
	return i < len(s) && s[i] == '('
}

// position reports whether the token that s begins with ends in `:line:column`.
func (f *Filter) position(s string) bool {
	token, _, _ := strings.Cut(s, " ")
	i := len(token)
	for i > 0 && strings.IndexByte(f.PositionTail, token[i-1]) >= 0 {
		i--
	}
	for range 2 {
		end := i
		for i > 0 && isDigit(token[i-1]) {
			i--
		}
		if i == end || i < 2 || token[i-1] != ':' {
			return false
		}
		i--
	}
	return true
}

// exceptionType is LEAK-02.
func (f *Filter) exceptionType(s string) bool {
	if f.ExceptionSuffix != "" && containsWord(s, f.ExceptionSuffix, true) {
		return true
	}
	for _, name := range f.ErrorTypes {
		if containsWord(s, name, false) {
			return true
		}
	}
	return false
}

// containsWord reports whether s has a word that ends with name, and begins
// before it (longer) or with it.
func containsWord(s, name string, longer bool) bool {
	for end := 0; ; {
		i := strings.Index(s[end:], name)
		if i < 0 {
			return false
		}
		i += end
		end = i + len(name)
		begun := i > 0 && isWordByte(s[i-1])
		if begun == longer && (end == len(s) || !isWordByte(s[end])) {
			return true
		}
	}
}

// filePath is LEAK-03.
func (f *Filter) filePath(s string) bool {
	for i := range len(s) {
		switch s[i] {
		case ':':
			if f.DrivePaths && drivePath(s[:i], s[i+1:]) || f.sourcePosition(s[:i], s[i+1:]) {
				return true
			}
		case '\\':
			if f.UNCPaths && uncPath(s[i:]) {
				return true
			}
		case '/':
			// Behind a word this slash is inside a path, a URL or a date.
			inside := i > 0 && (isWordByte(s[i-1]) || s[i-1] == '.' || s[i-1] == '-')
			if !inside && f.unixPath(s[i:]) {
				return true
			}
		}
	}
	return false
}

// drivePath looks at both sides of a colon: a letter that is a word of its
// own, a backslash and more.
func drivePath(before, after string) bool {
	n := len(before)
	return n > 0 && isLetter(before[n-1]) && (n == 1 || !isWordByte(before[n-2])) &&
		len(after) > 1 && after[0] == '\\' && after[1] != ' '
}

// sourcePosition looks at both sides of a colon: a file name, a line number.
func (f *Filter) sourcePosition(before, after string) bool {
	dot := len(before) - 1
	for dot >= 0 && isWordByte(before[dot]) {
		dot--
	}
	if dot < 1 || before[dot] != '.' || !isWordByte(before[dot-1]) || f.SourceExtensions.endOf(before[dot:]) == 0 {
		return false
	}
	if n := len(f.LineWord); len(after) > n && strings.EqualFold(after[:n], f.LineWord) {
		after = after[n:]
	}
	return after != "" && isDigit(after[0])
}

// uncPath reports whether s begins with `\\server\share`.
func uncPath(s string) bool {
	if len(s) < 2 || s[1] != '\\' {
		return false
	}
	i := 2
	for i < len(s) && (isWordByte(s[i]) || s[i] == '.' || s[i] == '-' || s[i] >= 0x80) {
		i++
	}
	return i > 2 && i+1 < len(s) && s[i] == '\\' && s[i+1] != '\\' && s[i+1] != ' '
}

// unixPath reports whether s begins with `/root/name`.
func (f *Filter) unixPath(s string) bool {
	if len(s) < 2 || !isLetter(s[1]) {
		return false
	}
	for _, root := range f.UnixRoots {
		name, under := strings.CutPrefix(s, root)
		if under && len(name) > 1 && name[0] == '/' && name[1] != ' ' {
			return true
		}
	}
	return false
}

// connectionString is LEAK-04.
func (f *Filter) connectionString(s string) bool {
	// A value goes on to any later semicolon, so the last one serves all keys.
	lastValue := strings.LastIndexByte(s, ';')
	for i := range len(s) {
		switch s[i] {
		case '=':
			if i < lastValue && f.keyValue(s[:i], s[i+1:]) {
				return true
			}
		case ':':
			if strings.HasPrefix(s[i:], "://") && f.url(s[:i], s[i+len("://"):]) {
				return true
			}
		}
	}
	return false
}

// keyValue looks at both sides of an equals sign that a semicolon follows.
func (f *Filter) keyValue(before, after string) bool {
	return f.ConnectionKeys.endOf(strings.TrimRight(before, " ")) > 0 &&
		strings.TrimLeft(after, " ")[0] != ';'
}

// url looks at both sides of `://`: a listed scheme, or a user and a password.
func (f *Filter) url(before, after string) bool {
	if before == "" || after == "" || after[0] == ' ' {
		return false
	}
	return f.URLSchemes.endOf(before) > 0 ||
		f.UserInfoURLs && isWordByte(before[len(before)-1]) && hasPassword(after)
}

// hasPassword reports whether s begins with `user:password@`. The user may be empty.
func hasPassword(s string) bool {
	colon := -1
	for i := range len(s) {
		switch s[i] {
		case ':':
			if colon < 0 {
				colon = i
			}
		case '@':
			return colon >= 0 && i > colon+1
		case '/', '\\', '?', '#', ' ':
			return false
		}
	}
	return false
}

// credential is LEAK-05.
func (f *Filter) credential(s string) bool {
	if f.JWTs && hasJWT(s) {
		return true
	}
	for i := range len(s) {
		if s[i] == ' ' && f.AuthSchemes.endOf(s[:i]) > 0 && f.token(strings.TrimLeft(s[i:], " ")) {
			return true
		}
	}
	return false
}

// token reports whether s begins with enough token characters.
func (f *Filter) token(s string) bool {
	n := 0
	for n < len(s) && n < f.MinTokenLength && (isWordByte(s[n]) || strings.IndexByte(".~+/=-", s[n]) >= 0) {
		n++
	}
	return n == f.MinTokenLength
}

// hasJWT looks for three dot-separated base64url parts, the first of which
// encodes a JSON object: `{"` is `eyJ`.
func hasJWT(s string) bool {
	const head = "eyJ"
	for {
		i := strings.Index(s, head)
		if i < 0 {
			return false
		}
		if i > 0 && isWordByte(s[i-1]) {
			s = s[i+len(head)-1:] // keeps a letter, so that the next head may be seen to stand in a word too
			continue
		}
		header := base64URL(s[i:])
		rest := s[i+header:]
		if header > len(head) && strings.HasPrefix(rest, ".") {
			claims := base64URL(rest[1:])
			signature, dotted := strings.CutPrefix(rest[1+claims:], ".")
			if claims > 0 && dotted && base64URL(signature) > 0 {
				return true
			}
		}
		s = rest // another head in this part would have the same rest
	}
}

// base64URL gives the length of the base64url text that s begins with.
func base64URL(s string) int {
	n := 0
	for n < len(s) && (isWordByte(s[n]) || s[n] == '-') {
		n++
	}
	return n
}
