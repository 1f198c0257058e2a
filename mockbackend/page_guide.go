package mockbackend

import (
	"fmt"
	"net/http"
	"strings"
)

// sampleStub is the stub that the guide and the page show.
const sampleStub = `{"match": {"path": "/hi"}, "respond": {"text": "hello"}}`

// Guide says what one can call, as text: commands for the server at base, such
// as http://127.0.0.1:8089. curl is how to call it, "curl -i" where that is
// enough; admin is what the admin API needs besides, such as a header.
func Guide(base, curl, admin string) string {
	var b strings.Builder
	if admin != "" {
		admin += " "
	}
	command := func(about, curl, path string) {
		fmt.Fprintf(&b, "  # %s\n  %s %s\n", about, curl, shellQuote(base+path))
	}
	line := func(about, path string) { command(about, curl, path) }
	b.WriteString("See how your client takes it:\n")
	line("a 400 whose text leaks a connection string", "/leak/connection-string")
	line("nothing for 3 seconds, then the answer", "/delay/3000")
	line("nothing for 3 seconds, then the end of the connection", "/fault/stall-before-headers?durationMs=3000")
	command("a reset (TCP RST) in place of an answer", http1(curl, base), "/fault/reset")
	line("any status; body=problem, fields, nest, envelope, plain, html or empty", "/status/422?body=fields")
	line("a sample API, described at /openapi.json", "/orders/1")
	b.WriteString("\nMake it answer as you like, and see what it received:\n")
	fmt.Fprintf(&b, "  %s %s%s -d '%s'\n", curl, admin, shellQuote(base+"/__mock/stubs"), sampleStub)
	fmt.Fprintf(&b, "  %s %s\n", curl, shellQuote(base+"/hi"))
	fmt.Fprintf(&b, "  %s %s%s\n", curl, admin, shellQuote(base+"/__mock/journal"))
	fmt.Fprintf(&b, `
In a browser:   %[1]s/
All faults:     %[1]s/__mock/faults
Admin API:      %[1]s/__mock/openapi.json
Scripted model: %[1]s/v1 for OpenAI-compatible clients; its script is PUT to /__mock/model
`, base)
	return b.String()
}

// curlFor is how a client calls a server with or without TLS, of whose authority
// nothing is known.
func curlFor(base string) string {
	if strings.HasPrefix(base, "https://") {
		return "curl -i -k"
	}
	return "curl -i"
}

// http1 makes a command speak HTTP/1.1, which a fault needs that HTTP/2 has not.
func http1(curl, base string) string {
	if strings.HasPrefix(base, "https://") {
		return curl + " --http1.1"
	}
	return curl
}

// AdminHeader is what a command adds for the admin API of a server with a token,
// which is in the environment.
const AdminHeader = `-H "Authorization: Bearer $MOCK_TOKEN"`

// guide answers / for whoever is not a browser.
func (s *Server) guide(q *request) *reply {
	admin := ""
	if s.opts.AdminToken != "" {
		admin = AdminHeader
	}
	return newReply(http.StatusOK, "text/plain; charset=utf-8", []byte(Guide(q.origin(), curlFor(q.origin()), admin)))
}
