package mockbackend

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"net/url"
	"strings"
)

var (
	//go:embed page_assets/page.html
	pageHTML string
	//go:embed page_assets/page.css
	pageCSS string
	//go:embed page_assets/page.js
	pageJS string

	pageTemplate = template.Must(template.New("page").Parse(pageHTML))

	// pagePolicy lets nothing in but our own style and script, so that a request
	// which got past the escaping would still not run.
	pagePolicy = "default-src 'none'; style-src " + sourceHash(pageCSS) + "; script-src " + sourceHash(pageJS) +
		"; connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

func sourceHash(source string) string {
	sum := sha256.Sum256([]byte(source))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// servePage answers a browser that asks for / with the page, unless a stub
// answers there. Looking at the page is not a request to the backend, and so is
// not in the journal. It tells whether it has answered.
func (s *Server) servePage(w http.ResponseWriter, q *request) bool {
	if s.opts.StubsOnly || q.path != "/" || q.Method != http.MethodGet && q.Method != http.MethodHead ||
		!strings.Contains(q.Header.Get("Accept"), "text/html") || q.scope.takes(q) {
		return false
	}
	if !s.knowsHost(q.Request) {
		writeReply(w, newReply(http.StatusForbidden, "text/plain; charset=utf-8", []byte(unknownHost+"\n")))
		return true
	}
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", pagePolicy)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	query := parseQuery(q.URL.RawQuery)
	if token := query.Get("token"); token != "" && s.isToken(token) {
		// From here the browser has the token, and the address has it no more.
		http.SetCookie(w, &http.Cookie{Name: s.cookieName(), Value: token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: q.TLS != nil})
		redirect(w, q.base+"/")
		return true
	}
	if location, ok := tryLocation(query); ok {
		redirect(w, q.base+location)
		return true
	}
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, s.pageOf(q, query)); err != nil {
		panic("mockbackend: the page: " + err.Error()) // its values cannot fail
	}
	header.Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(out.Bytes())
	return true
}

func redirect(w http.ResponseWriter, location string) {
	w.Header().Set("Location", location)
	w.WriteHeader(http.StatusSeeOther)
}

// takes tells whether a stub would answer the request, which it does not count.
func (c *Scope) takes(q *request) bool {
	var buf [8]*stub
	for _, candidate := range c.index.candidates(q.path, buf[:0]) {
		if !candidate.spent() && candidate.rejects(q, &c.scenarios, false) == "" {
			return true
		}
	}
	return false
}

// tryLocation is where one of the page's forms leads.
func tryLocation(query url.Values) (string, bool) {
	for _, t := range tries() {
		if t.Name != query.Get("try") {
			continue
		}
		location := "/" + t.Name + "/" + url.PathEscape(query.Get("arg"))
		if rest := t.rest(query); len(rest) > 0 {
			location += "?" + rest.Encode()
		}
		return location, true
	}
	return "", false
}
