package mockbackend

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// guard lets through to the admin API who may use it. A web page of another
// site must not program the mock or read its journal, which any page can try on
// a loopback address that it knows or guesses.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !s.knowsHost(r):
			writeReply(w, refusal(problemForeign, unknownHost, nil))
		case isForeign(r):
			writeReply(w, refusal(problemForeign, "Pages of other sites may not use the admin API.", nil))
		case !s.authorized(r):
			w.Header().Set("WWW-Authenticate", `Bearer realm="mock"`)
			writeReply(w, refusal(problemToken, "Give the token that was printed at the start, as in: Authorization: Bearer TOKEN.", nil))
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// unknownHost is said to who calls by a name that is not the server's.
const unknownHost = "The Host of the request is not one of this server's; call it by its loopback address."

// isForeign tells a request that a browser makes for another site.
func isForeign(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return false
	case "":
	default:
		return true
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || u.Host != r.Host
}

// knowsHost refuses names that somebody else's DNS leads to a loopback address.
// On other addresses a token does that; a server that does not listen by itself
// is not asked.
func (s *Server) knowsHost(r *http.Request) bool {
	if s.opts.AdminToken != "" {
		return true
	}
	own, err := url.Parse(s.url)
	if err != nil || !isLoopback(own.Hostname()) {
		return true
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return isLoopback(strings.Trim(host, "[]"))
}

func isLoopback(host string) bool {
	if host = strings.ToLower(strings.TrimSuffix(host, ".")); host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}

// authorized tells who has the token, if one is asked for: programs give it in
// a header, a browser has it from the page's cookie.
func (s *Server) authorized(r *http.Request) bool {
	if s.opts.AdminToken == "" {
		return true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") && s.isToken(strings.TrimSpace(token)) {
		return true
	}
	cookie, err := r.Cookie(s.cookieName())
	return err == nil && s.isToken(cookie.Value)
}

func (s *Server) isToken(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(s.opts.AdminToken)) == 1
}

// cookieName has the port in it, as cookies are of a host with all its ports.
func (s *Server) cookieName() string {
	port := "0"
	if u, err := url.Parse(s.url); err == nil && u.Port() != "" {
		port = u.Port()
	}
	return "touchstone-mock-" + port
}
