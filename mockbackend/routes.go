package mockbackend

import (
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/touchstone/schemas"
)

// readyRoutes are the routes /{name}/{argument} that need no stub.
var readyRoutes = map[string]func(q *request, arg string) *reply{
	"status": routeStatus,
	"leak":   routeLeak,
	"delay":  routeDelay,
	"fault":  routeFault,
	"bytes":  routeBytes,
}

// route answers from the ready-made routes and the sample API; nil when the
// path is none of theirs.
func (s *Server) route(q *request) (*reply, string) {
	if q.path == "/" {
		return s.guide(q), "guide"
	}
	if r := routeModel(q); r != nil {
		return r, "model"
	}
	name, arg, _ := strings.Cut(strings.TrimPrefix(q.path, "/"), "/")
	if route, ok := readyRoutes[name]; ok && arg != "" && !strings.Contains(arg, "/") {
		return route(q, arg), name
	}
	return q.scope.orders.answer(q)
}

// bodyStyles are the bodies of /status/{code}?body=.
var bodyStyles = map[string]func(status int, text string) (contentType string, body []byte){
	"problem": func(status int, text string) (string, []byte) {
		return "application/problem+json", mustJSON(ordered{{"type", "about:blank"}, {"title", text}, {"status", status}, {"detail", "The mock backend was asked for this status."}})
	},
	"fields": func(status int, text string) (string, []byte) {
		return "application/problem+json", mustJSON(ordered{{"title", text}, {"status", status}, {"errors", ordered{
			{"quantity", []string{"The field quantity must be between 1 and 100."}},
			{"item", []string{"The field item is required."}},
		}}})
	},
	"nest": func(status int, text string) (string, []byte) {
		return "application/json", mustJSON(ordered{{"statusCode", status}, {"message", []string{"quantity must not be less than 1", "item should not be empty"}}, {"error", text}})
	},
	"envelope": func(int, string) (string, []byte) {
		return "application/json", mustJSON(ordered{{"message", "The mock backend was asked for this status."}})
	},
	"plain": func(int, string) (string, []byte) {
		return "text/plain; charset=utf-8", []byte("The mock backend was asked for this status.")
	},
	"html": func(status int, text string) (string, []byte) {
		return "text/html; charset=utf-8", fmt.Appendf(nil, "<!doctype html><html><head><title>%d %s</title></head><body><h1>%[1]d %[2]s</h1></body></html>", status, html.EscapeString(text))
	},
	"empty": func(int, string) (string, []byte) { return "", nil },
}

func routeStatus(q *request, arg string) *reply {
	status, err := strconv.Atoi(arg)
	if err != nil || status < 100 || status > 999 || status == http.StatusSwitchingProtocols {
		return problem(http.StatusBadRequest, fmt.Sprintf("%q is not a status to answer with; give a number from 100 to 999, but not 101, which ends HTTP.", arg), nil)
	}
	if status < 200 {
		// An interim answer is followed by a final one (RFC 9110, section 15.2).
		r := newReply(http.StatusOK, "application/json", mustJSON(ordered{{"interim", status}}))
		r.interim = []schemas.StubInterim{{Status: status}}
		return r
	}
	style := q.queryValues().Get("body")
	if style == "" {
		if style = "problem"; bodyForbidden(status) || status == http.StatusResetContent {
			style = "empty"
		}
	}
	make, ok := bodyStyles[style]
	if !ok {
		known := slices.Sorted(maps.Keys(bodyStyles))
		return problem(http.StatusBadRequest, fmt.Sprintf("The body style %q is not known; known are %s.", style, strings.Join(known, ", ")), map[string]any{"known": known})
	}
	text := http.StatusText(status)
	if text == "" {
		text = "Status " + arg
	}
	var headers schemas.StubHeaders
	switch {
	case status >= 300 && status < 400 && status != http.StatusNotModified:
		headers = schemas.StubHeaders{{Name: "Location", Value: q.base + "/orders/1"}}
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		headers = schemas.StubHeaders{{Name: "Retry-After", Value: "3"}}
	case status == http.StatusUnauthorized:
		headers = schemas.StubHeaders{{Name: "WWW-Authenticate", Value: `Bearer realm="orders"`}}
	}
	contentType, body := make(status, text)
	return newReply(status, contentType, body, headers...)
}

// leakClasses are one believable text for each kind of internal detail that a
// client must not pass on.
var leakClasses = []struct{ id, slug, text string }{
	{"LEAK-01", "stack-frame", "The order could not be loaded at Shop.Orders.OrderStore.Load(Int32 id)"},
	{"LEAK-02", "exception-type", "NullReferenceException while pricing the order"},
	{"LEAK-03", "file-path", "The template /var/lib/shop/invoice.tpl could not be opened"},
	{"LEAK-04", "connection-string", "Login failed: Server=sql-7.shop.internal;Database=orders"},
	{"LEAK-05", "credential", "The upstream refused Bearer 7c1f0a9be2d84463"},
	{"LEAK-06", "too-long", "The order was refused. " + strings.Repeat("The stock of this item does not allow it. ", 30)},
	{"LEAK-07", "multi-line", "The order could not be loaded\n\tat   Shop.Orders.OrderStore.Load\n  (Int32 id)"},
}

func routeLeak(_ *request, arg string) *reply {
	var known []string
	for _, class := range leakClasses {
		if strings.EqualFold(arg, class.id) || strings.EqualFold(arg, class.slug) {
			return newReply(http.StatusBadRequest, "application/problem+json", mustJSON(ordered{
				{"type", "about:blank"}, {"title", "Bad Request"}, {"status", http.StatusBadRequest}, {"detail", class.text},
			}))
		}
		known = append(known, class.slug)
	}
	return problem(http.StatusNotFound, fmt.Sprintf("The leak class %q is not known; known are %s.", arg, strings.Join(known, ", ")), map[string]any{"known": known})
}

const maxRouteDelay = time.Hour

func routeDelay(_ *request, arg string) *reply {
	ms, err := strconv.Atoi(arg)
	if err != nil || ms < 0 || int64(ms) > maxRouteDelay.Milliseconds() {
		return problem(http.StatusBadRequest, fmt.Sprintf("%q is not a delay; give milliseconds from 0 to %d.", arg, maxRouteDelay.Milliseconds()), nil)
	}
	r := newReply(http.StatusOK, "application/json", mustJSON(ordered{{"delayMs", ms}}))
	r.delay = fixedDelay(milliseconds(ms))
	return r
}

// routeFault answers with a fault, or sends the client to the listener that has
// it.
func routeFault(q *request, arg string) *reply {
	if _, ok := listenerKinds[arg]; ok {
		base, err := q.scope.server.FaultyURL(arg)
		if err != nil {
			return problem(http.StatusNotImplemented, err.Error(), nil)
		}
		base = towards(base, q.Host)
		location := schemas.StubHeader{Name: "Location", Value: base + q.base + "/status/200"}
		return jsonReply(http.StatusTemporaryRedirect, ordered{{"fault", arg}, {"about", listenerKinds[arg].about}, {"url", base}}, location)
	}
	if _, ok := faultKinds[arg]; !ok {
		known := slices.Sorted(maps.Keys(faultKinds))
		known = append(known, slices.Sorted(maps.Keys(listenerKinds))...)
		return problem(http.StatusNotFound, fmt.Sprintf("The fault kind %q is not known; known are %s.", arg, strings.Join(known, ", ")), map[string]any{"known": known})
	}
	fault := &schemas.StubFault{Kind: arg}
	for name, values := range q.queryValues() {
		n, err := strconv.ParseInt(values[0], 10, 32)
		switch {
		case name == "hop": // redirect-loop's own
			continue
		case err != nil:
			return problem(http.StatusBadRequest, fmt.Sprintf("The parameter %s is %q, not a number.", name, values[0]), nil)
		case name == "afterBytes":
			fault.AfterBytes = &n
		case name == "bytes":
			fault.Bytes = n
		case name == "intervalMs":
			fault.IntervalMs = int(n)
		case name == "durationMs":
			fault.DurationMs = int(n)
		default:
			return problem(http.StatusBadRequest, fmt.Sprintf("The parameter %q is not known; known are afterBytes, bytes, durationMs, intervalMs.", name), nil)
		}
	}
	if err := checkFault(*fault, ""); err != nil {
		return problem(http.StatusBadRequest, err.Error(), nil)
	}
	r := newReply(http.StatusOK, "application/json", faultBody(arg))
	r.fault = fault
	if err := r.shows(); err != nil {
		return problem(http.StatusBadRequest, err.Error()+".", nil)
	}
	return r
}

const maxRouteBytes = 64 << 20

func routeBytes(_ *request, arg string) *reply {
	n, err := strconv.Atoi(arg)
	if err != nil || n < 0 || n > maxRouteBytes {
		return problem(http.StatusBadRequest, fmt.Sprintf("%q is not a size; give bytes from 0 to %d.", arg, maxRouteBytes), nil)
	}
	body := make([]byte, n)
	for i := range body {
		body[i] = byte(i)
	}
	return newReply(http.StatusOK, "application/octet-stream", body)
}

// ordered is a JSON object whose members keep their order.
type ordered []struct {
	name  string
	value any
}

func (o ordered) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, member := range o {
		if i > 0 {
			b = append(b, ',')
		}
		value, err := json.Marshal(member.value)
		if err != nil {
			return nil, err
		}
		b = append(strconv.AppendQuote(b, member.name), ':')
		b = append(b, value...)
	}
	return append(b, '}'), nil
}

// mustJSON marshals values of our own making.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("mockbackend: " + err.Error())
	}
	return b
}
