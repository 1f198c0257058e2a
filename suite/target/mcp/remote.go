package mcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/touchstone/suite/target"
)

// remote is a server over HTTP.
type remote struct {
	url     string
	dial    *http.Transport
	trip    *tappedRoundTripper
	opts    Options
	mu      sync.Mutex
	closing bool
}

func newRemote(rawURL string, opts Options) *remote {
	dial := http.DefaultTransport.(*http.Transport).Clone()
	dial.IdleConnTimeout = time.Second // see the http driver
	dial.MaxIdleConnsPerHost = 64
	return &remote{
		url: rawURL, dial: dial, opts: opts.withDefaults(),
		trip: &tappedRoundTripper{next: dial, header: opts.Header, last: &lastStatus{}, faults: &faults{}},
	}
}

func (r *remote) transport() (mcp.Transport, error) {
	return &mcp.StreamableClientTransport{
		Endpoint: r.url,
		HTTPClient: &http.Client{
			Transport: r.trip,
			// The headers may hold a token, and are for this server alone.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		// Nothing is wanted of a server but answers.
		DisableStandaloneSSE: true,
		MaxRetries:           -1,
		MaxEventSize:         2 * maxMessage, // the tap's limit is maxMessage
	}, nil
}

func (r *remote) explain(doing string, err error) error {
	r.trip.last.mu.Lock()
	status, line, contentType, location := r.trip.last.status, r.trip.last.line, r.trip.last.contentType, r.trip.last.location
	r.trip.last.mu.Unlock()
	fault := &target.ProtocolError{Method: doing}
	rpc, refused := refusal(err)
	network := (*net.OpError)(nil)
	switch {
	case refused:
		fault.Fault, fault.Detail = target.RefusedMCP, rpc
	case errors.As(err, &network) && network.Op == "dial":
		fault.Fault, fault.Method, fault.Detail = target.Unreachable, "", fmt.Sprintf("%s: %v; is the server running, and is this its address?", r.url, network)
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		fault.Fault, fault.Detail = target.RefusedMCP, fmt.Sprintf("POST %s was answered with %s; give a token with --header 'Authorization: Bearer …'", r.url, line)
	case status/100 == 3 && location != "":
		fault.Fault, fault.Detail = target.NotMCP, fmt.Sprintf("POST %s was answered with %s to %s; redirects are not followed, give the final URL", r.url, line, target.Excerpt([]byte(location)))
	case status >= 300:
		fault.Fault, fault.Detail = target.NotMCP, fmt.Sprintf("POST %s was answered with %s; is this the path of its MCP endpoint?", r.url, line)
	case errors.Is(err, context.DeadlineExceeded):
		fault.Fault, fault.Detail = tooLate(doing, r.opts.ConnectTimeout)
	case network != nil:
		fault.Fault, fault.Detail = target.Died, network.Error()
	default:
		fault.Fault, fault.Detail = target.NotMCP, fmt.Sprintf("POST %s was answered with %s and Content-Type %q: %v", r.url, or(line, "nothing"), contentType, target.Excerpt([]byte(err.Error())))
	}
	return fault
}

func (r *remote) fault(doing string) error {
	if fault := r.trip.faults.report(doing); fault != nil {
		return fault
	}
	return nil
}

func (r *remote) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closing = true
}

func (r *remote) closed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closing
}

func (r *remote) wait() { r.dial.CloseIdleConnections() }
