package envelope

import (
	"math"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"

	"example.com/touchstone/reference/leak"
)

// header gives the first value of a header that is not blank, trimmed. The name
// must be canonical.
func header(resp Response, name string) string {
	for _, value := range resp.Header[name] {
		if value = strings.TrimSpace(value); value != "" {
			return strings.ToValidUTF8(value, "\uFFFD")
		}
	}
	return ""
}

// retryAfter is HEADER-02: whole seconds on a 429, up to the greatest 32-bit
// integer, which is what every client can hold.
func retryAfter(status int, value string) (int64, bool) {
	if status != 429 || value == "" || strings.Trim(value, "0123456789") != "" {
		return 0, false
	}
	seconds, err := strconv.ParseInt(value, 10, 64)
	return seconds, err == nil && seconds <= math.MaxInt32
}

// reference finds an identifier for the backend's log (HEADER-04 to HEADER-06).
// The first header that has one decides, even where it cannot be forwarded.
func (m *Mapper) reference(resp Response) string {
	for _, name := range m.ReferenceHeaders {
		if value := header(resp, name); value != "" {
			return m.admitReference(FromReferenceHeader, value)
		}
	}
	if len(resp.Body) == 0 {
		return ""
	}
	id := m.read(resp).member("traceId")
	if id.Type != gjson.String || !m.TraceID(id.Str) {
		return ""
	}
	return m.admitReference(FromTraceID, id.Str)
}

func (m *Mapper) admitReference(c Carrier, value string) string {
	if _, ok := m.Screen(c, value); !ok || strings.ContainsFunc(value, unicode.IsControl) {
		return ""
	}
	return value
}

// isTraceID is HEADER-05.
func isTraceID(s string) bool {
	if s == "" || len(s) > 100 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		alphanumeric := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !alphanumeric && strings.IndexByte(":_.-", c) < 0 {
			return false
		}
	}
	return true
}

// locationRule is SUCCESS-07 and HEADER-07. Of the filter only the rules for
// credentials apply: a path is what a redirect is made of.
func locationRule(all leak.Filter) func(status int, value string) string {
	credentials := leak.Filter{
		UserInfoURLs:   all.UserInfoURLs,
		AuthSchemes:    all.AuthSchemes,
		MinTokenLength: all.MinTokenLength,
		JWTs:           all.JWTs,
	}
	return func(status int, value string) string {
		if status < 300 || value == "" || hasUserInfo(value) || credentials.Withholds(value) {
			return ""
		}
		decoded, err := url.QueryUnescape(value)
		if err == nil && credentials.Withholds(decoded) {
			return ""
		}
		return value
	}
}

// hasUserInfo reports whether a URI reference has user information in its
// authority (RFC 3986, section 3.2.1).
func hasUserInfo(reference string) bool {
	scheme, authority, ok := strings.Cut(reference, "//")
	if !ok || scheme != "" && strings.IndexAny(scheme, ":/?#") != len(scheme)-1 {
		return false // no authority: the slashes are in the path or behind it
	}
	if end := strings.IndexAny(authority, `/\?#`); end >= 0 {
		authority = authority[:end]
	}
	return strings.Contains(authority, "@")
}
