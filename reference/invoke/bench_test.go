package invoke_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/touchstone/reference/compose"
	"example.com/touchstone/reference/invoke"
)

// BenchmarkInvoke is one call over loopback. The bare request beside it is the
// same exchange without the layer, on a connection of its own as well.
func BenchmarkInvoke(b *testing.B) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":1,"item":"mechanical keyboard","quantity":2,"owner":"alice"}`)
	}))
	defer backend.Close()
	l := newLayer(b, backend.URL, nil)
	b.Run("layer", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if a := call(b.Context(), l, "get_order", `{"id":1}`); a.IsError() {
				b.Fatalf("%s", a.Text)
			}
		}
	})
	b.Run("bare request", func(b *testing.B) {
		transport := invoke.NewTransport()
		b.ReportAllocs()
		for b.Loop() {
			request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, backend.URL+"/orders/1", nil)
			if err != nil {
				b.Fatal(err)
			}
			answer, err := transport.RoundTrip(request)
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}
	})
}

// roundTripper answers without a network.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// BenchmarkLayer is what the layer itself takes of a call: no network.
func BenchmarkLayer(b *testing.B) {
	l := newLayer(b, "http://127.0.0.1:1", func(c *invoke.Config) {
		c.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
				Body: io.NopCloser(strings.NewReader(`{"id":1,"item":"mechanical keyboard","quantity":2,"owner":"alice"}`)),
			}, nil
		})
	})
	for _, bench := range []struct{ name, tool, arguments string }{
		{"get_order", "get_order", `{"id":1}`},
		{"list_orders", "list_orders", `{"limit":5,"filter":{"owner":"alice"},"ids":[1,2,3]}`},
		{"create_order", "create_order", `{"item":"pen","quantity":3}`},
		{"refused", "get_order", `{"id":"x"}`},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				call(b.Context(), l, bench.tool, bench.arguments)
			}
		})
	}
	b.Run("compose alone", func(b *testing.B) {
		op, _ := l.Catalog.Lookup("list_orders")
		b.ReportAllocs()
		for b.Loop() {
			if _, err := compose.Compose(op.Template, compose.Call{Arguments: []byte(`{"limit":5,"filter":{"owner":"alice"},"ids":[1,2,3]}`)}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
