package mutant

import (
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"

	"example.com/touchstone/reference/serve"
)

// roundTripper is a function as an [http.RoundTripper].
type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls f.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// sending changes what becomes of a request on the wire.
func sending(do func(next http.RoundTripper, r *http.Request) (*http.Response, error)) func() serve.Reference {
	return func() serve.Reference {
		next := &http.Transport{DisableKeepAlives: true, DisableCompression: true}
		return serve.Reference{Client: &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport:     roundTripper(func(r *http.Request) (*http.Response, error) { return do(next, r) }),
		}}
	}
}

// wireMutants show in a call over HTTP only.
func wireMutants() []Mutant {
	made := func(r *http.Request, status int, body string) *http.Response {
		return &http.Response{
			StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
			Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
		}
	}
	all := slices.Concat(
		group(breaks("SUCCESS-01"),
			mutant("wire-follows-redirects", "It follows redirects to the same host.", func() serve.Reference {
				return serve.Reference{Client: &http.Client{
					CheckRedirect: func(r *http.Request, via []*http.Request) error {
						if r.URL.Host != via[0].URL.Host {
							return http.ErrUseLastResponse // nothing leaves this machine
						}
						return nil
					},
					Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true},
				}}
			}),
			mutant("wire-interim-answer", "It takes an interim answer for the answer.", sending(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
				interim := 0
				trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, _ textproto.MIMEHeader) error {
					interim = code
					return nil
				}}
				resp, err := next.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
				if err == nil && interim > 0 {
					resp.Body.Close()
					return made(r, interim, ""), nil
				}
				return resp, err
			})),
		),
		group(breaks("SHAPE-02"),
			mutant("wire-invents", "It answers calls without asking the backend.", sending(func(_ http.RoundTripper, r *http.Request) (*http.Response, error) {
				return made(r, 200, `{"id":1}`), nil
			})),
			mutant("wire-invents-failure", "It answers calls with a 503 of its own.", sending(func(_ http.RoundTripper, r *http.Request) (*http.Response, error) {
				return made(r, 503, ""), nil
			})),
			mutant("wire-errors-as-refusals", "It reports what the backend refused as a refusal of its own.", sending(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
				resp, err := next.RoundTrip(r)
				if err == nil && resp.StatusCode >= 400 {
					resp.Body.Close()
					return nil, http.ErrAbortHandler
				}
				return resp, err
			})),
		),
		group(breaks("HEADER-02"), mutant("wire-retry-after-lost", "It drops Retry-After on the way from the wire to the mapper.", sending(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			if err == nil {
				resp.Header.Del("Retry-After")
			}
			return resp, err
		}))),
		group(breaks("FORWARD-01", "FORWARD-02", "FORWARD-03", "FORWARD-04", "FORWARD-05", "HEADER-05"), mutant("wire-error-body-lost", "It does not read the body of an error.", sending(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			if err == nil && resp.StatusCode >= 400 {
				resp.Body.Close()
				resp.Body, resp.ContentLength = http.NoBody, 0
			}
			return resp, err
		}))),
	)
	for i := range all {
		all[i].OverTheWire = true
	}
	return all
}
