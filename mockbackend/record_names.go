package mockbackend

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// secrecy says what of a value is a secret.
type secrecy int

const (
	open    secrecy = iota
	secret          // all that is no true, false or null
	counted         // as secret, but a number is a count: {"tokens": 15}
)

// The names of secrets, wherever they stand: headers, JSON members, elements and
// attributes of XML, parameters of queries and forms, and assignments in a text.
var (
	// secretParts count anywhere in a name, which is taken without separators.
	secretParts = []string{
		"password", "passwd", "passphrase", "passcode", "secret", "credential", "connectionstring",
		"sessionid", "sessid", "apikey", "accesskey", "accountkey", "appkey", "authkey", "clientkey",
		"encryptionkey", "functionskey", "masterkey", "privatekey", "sessionkey", "sharedkey", "signingkey",
		"subscriptionkey",
	}
	// secretWords count as a word of a name, before any but a describing one, and
	// at its end without a separator too.
	secretWords = []string{"token", "cookie", "jwt", "signature", "authorization"}
	// describingWords say as the last word of a name what a secret is like.
	describingWords = []string{
		"type", "count", "counts", "limit", "limits", "length", "size", "usage", "used", "details", "name", "status",
		"endpoint", "url", "uri", "in", "at", "expires", "expiry", "expiration", "ttl", "lifetime", "age",
		"supported", "required", "enabled", "alg", "algorithm", "method", "methods", "version", "format",
		"policy", "consent", "domain", "path",
	}
	// lastWords count as the last word of a name: session is one, session_count not.
	lastWords = []string{"auth", "session", "sid", "otp", "pwd", "csrf", "xsrf", "sig", "pass"}
	// secretEnds count at the end of a name, also where no separator parts it.
	secretEnds = []string{"authcode", "authorizationcode", "otpcode", "devicecode", "userpass", "dbpass"}
	// Marks of a place in a list, which replaying needs.
	notSecret = []string{"pagetoken", "nextpagetoken", "prevpagetoken", "nexttoken", "continuationtoken"}
)

// maxJudged is how many names are remembered.
const maxJudged = 4096

// secrecy judges a name. Names that the caller gave come first.
func (s redactor) secrecy(name string) secrecy {
	kind, known := s.judged[name]
	if known {
		return kind
	}
	kind = s.judge(name)
	if s.judged != nil && len(name) < maxName {
		if len(s.judged) == maxJudged {
			clear(s.judged)
		}
		s.judged[strings.Clone(name)] = kind
	}
	return kind
}

func (s redactor) judge(name string) secrecy {
	words := nameWords(name)
	plain := strings.Join(words, "")
	switch {
	case plain == "":
		return open
	case slices.Contains(s.names, plain):
		return secret
	case slices.Contains(notSecret, plain):
		return open
	case slices.ContainsFunc(secretParts, func(part string) bool { return strings.Contains(plain, part) }):
		return secret
	}
	if slices.ContainsFunc(secretEnds, func(end string) bool { return strings.HasSuffix(plain, end) }) {
		return secret
	}
	last := words[len(words)-1]
	if slices.Contains(lastWords, last) || strings.HasSuffix(last, "pwd") {
		return secret
	}
	if slices.Contains(describingWords, last) {
		return open
	}
	for _, word := range words {
		one := strings.TrimSuffix(word, "s")
		if !slices.ContainsFunc(secretWords, func(w string) bool { return strings.HasSuffix(one, w) }) {
			continue
		}
		if strings.HasSuffix(word, "tokens") {
			return counted // of a language model
		}
		return secret
	}
	return open
}

func (s redactor) isName(name string) bool { return s.secrecy(name) != open }

// hides tells whether a value as text is a secret.
func (kind secrecy) hides(value string) bool {
	switch {
	case kind == open, value == "", value == "true", value == "false", value == "null":
		return false
	case kind == counted:
		return strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsDigit(r) })
	}
	return true
}

// nameWords are the words of a name in lower case: separators part them, and the
// humps of camelCase. Digits at their end do not count, nor do percent-escapes.
func nameWords(name string) []string {
	if strings.Contains(name, "%") {
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
	}
	var words []string
	var word []rune
	end := func() {
		if text := strings.TrimRightFunc(string(word), unicode.IsDigit); text != "" {
			words = append(words, text)
		}
		word = word[:0]
	}
	runes := []rune(name)
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			end()
			continue
		}
		if i > 0 && unicode.IsUpper(r) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			end()
		}
		word = append(word, unicode.ToLower(r))
	}
	end()
	return words
}

// pairSecrecy judges a parameter of a query or a form. There code is that of
// OAuth, which buys a token, and key the key of an API; both are names of
// countries, errors and entries more often, and as JSON members nearly always.
// So they count by what shows them: parameters of OAuth beside them, or a value
// that no human wrote.
func (s redactor) pairSecrecy(name, value string, oauth bool) secrecy {
	if kind := s.secrecy(name); kind != open {
		return kind
	}
	switch strings.ToLower(name) {
	case "code":
		if oauth || isRandom(value) {
			return secret
		}
	case "key":
		if isRandom(value) {
			return secret
		}
	}
	return open
}

// oauthNames stand beside a code in the redirect that brings it or in the
// request that gives it away (RFC 6749, sections 4.1.2 and 4.1.3).
var oauthNames = []string{"state", "session_state", "iss", "grant_type", "client_id", "redirect_uri", "code_verifier"}

// isRandom tells a value that a machine made: long, of letters and digits.
func isRandom(value string) bool {
	return len(value) >= 16 && !strings.ContainsAny(value, " ,") &&
		strings.ContainsFunc(value, unicode.IsDigit) && strings.ContainsFunc(value, unicode.IsLetter)
}

// pairs replaces the secrets in a query or a form.
func (s redactor) pairs(query string) string {
	if !strings.Contains(query, "=") {
		return query
	}
	list := strings.Split(query, "&")
	oauth := slices.ContainsFunc(list, func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains(oauthNames, name)
	})
	byName := open // name=password&value=hunter2
	for _, pair := range list {
		if name, value, _ := strings.Cut(pair, "="); isMember(name, nameMembers) {
			byName = max(byName, s.secrecy(value))
		}
	}
	for i, pair := range list {
		name, value, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
		kind := s.pairSecrecy(name, value, oauth)
		if isMember(name, valueMembers) {
			kind = max(kind, byName)
		}
		if kind.hides(value) {
			list[i] = pair[:len(pair)-len(value)] + Redacted
		}
	}
	return strings.Join(list, "&")
}
