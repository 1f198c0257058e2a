// Package httprpc is the driver for a target that is an HTTP server: each
// JSON-RPC 2.0 message is the body of a POST, and its answer the body of a 200.
package httprpc

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"example.com/touchstone/suite/target"
	"example.com/touchstone/suite/target/jsonrpc"
)

// Options are the settings of the driver. The zero value is ready for use.
type Options struct {
	// MaxMessageBytes is the size limit of one message; 0 means [jsonrpc.MaxMessageBytes].
	MaxMessageBytes int
}

// New gives the server at an http or https URL as a target. It does not connect:
// the first call tells whether the server is there.
func New(rawURL string, opts Options) (*jsonrpc.Client, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, fmt.Errorf("reading the target's URL: %w", err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return nil, fmt.Errorf("the target's URL %q needs a scheme and a host, as in http://127.0.0.1:8080/rpc", rawURL)
	}
	limit := opts.MaxMessageBytes
	if limit <= 0 {
		limit = jsonrpc.MaxMessageBytes
	}
	// A connection that the server may be closing as the request goes out would
	// look like a target that died. Servers keep idle ones for 5 seconds and more.
	dial := http.DefaultTransport.(*http.Transport).Clone()
	dial.IdleConnTimeout = time.Second
	dial.MaxIdleConnsPerHost = 64 // of the calls made side by side
	dial.DisableCompression = true
	dial.MaxResponseHeaderBytes = 1 << 20
	return jsonrpc.NewClient(&transport{
		url:   u,
		limit: limit,
		client: &http.Client{
			Transport:     dial,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}), nil
}

type transport struct {
	url    *url.URL
	limit  int
	client *http.Client
}

// RoundTrip implements [jsonrpc.Transport].
func (t *transport) RoundTrip(ctx context.Context, _ int64, request []byte) (jsonrpc.Message, error) {
	m, err := t.post(ctx, request)
	if err != nil && ctx.Err() != nil {
		return m, fmt.Errorf("waiting for the answer: %w", ctx.Err())
	}
	return m, err
}

func (t *transport) post(ctx context.Context, request []byte) (jsonrpc.Message, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url.String(), bytes.NewReader(request))
	if err != nil {
		return jsonrpc.Message{}, fmt.Errorf("making the request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	resp, err := t.client.Do(req)
	if err != nil {
		// The error of a client names the method and the URL.
		return jsonrpc.Message{}, &target.ProtocolError{Fault: faultOf(err), Detail: target.Excerpt([]byte(err.Error()))}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(t.limit)+1))
	fault := func(kind target.Fault, format string, args ...any) (jsonrpc.Message, error) {
		detail := fmt.Sprintf("POST %s: ", t.url.Redacted()) + fmt.Sprintf(format, args...)
		return jsonrpc.Message{}, &target.ProtocolError{Fault: kind, Detail: target.Excerpt([]byte(detail)), Received: target.Excerpt(body)}
	}
	if resp.StatusCode != http.StatusOK {
		if location := resp.Header.Get("Location"); location != "" && resp.StatusCode/100 == 3 {
			return fault(target.BadHTTP, "status %s to %s; redirects are not followed, give the final URL", resp.Status, location)
		}
		return fault(target.BadHTTP, "status %s; every JSON-RPC answer, an error too, has status 200", resp.Status)
	}
	// A server that names no type is believed; one that names another is not.
	if contentType := resp.Header.Get("Content-Type"); contentType != "" && !isJSON(contentType) {
		return fault(target.BadHTTP, "Content-Type %s instead of application/json", contentType)
	}
	if len(body) > t.limit {
		return fault(target.Flooded, "the body is over %d bytes", t.limit)
	}
	if err != nil {
		return fault(faultOf(err), "reading the body: %v", err)
	}
	return jsonrpc.Decode(body)
}

// Close implements [jsonrpc.Transport]. The server goes on: it is not ours.
func (t *transport) Close() error {
	t.client.CloseIdleConnections()
	return nil
}

func isJSON(contentType string) bool {
	mediaType, _, err := mime.ParseMediaType(contentType)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return false
	}
	return mediaType == "application/json" || mediaType == "application/json-rpc" || strings.HasSuffix(mediaType, "+json")
}

// faultOf tells a server that is not there from one that went away and one that
// speaks something else.
func faultOf(err error) target.Fault {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return target.Unreachable
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		if op.Op == "read" || op.Op == "write" {
			return target.Died
		}
		return target.Unreachable
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return target.Died
	}
	return target.BadHTTP
}
