package mockbackend_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"example.com/touchstone/mockbackend"
	"example.com/touchstone/schemas"
)

// BenchmarkServe compares requests per second with a bare net/http handler that
// gives the same answer. One client, one connection for each of the benchmark's
// goroutines.
func BenchmarkServe(b *testing.B) {
	const body = `{"id":1,"item":"mechanical keyboard","quantity":2,"owner":"alice"}`
	b.Run("bare", func(b *testing.B) {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, body)
		}))
		defer srv.Close()
		hammer(b, srv.URL+"/bench/0")
	})
	for _, n := range []int{1, 10_000} {
		b.Run(fmt.Sprintf("stubs=%d", n), func(b *testing.B) {
			srv := start(b, mockbackend.Options{})
			for i := range n {
				addBench(b, srv, i, body)
			}
			hammer(b, srv.URL()+"/bench/0")
		})
	}
}

func addBench(b *testing.B, srv *mockbackend.Server, i int, body string) string {
	id, err := srv.Add(schemas.Stub{
		Match:   schemas.StubMatch{Method: "GET", Path: fmt.Sprintf("/bench/%d", i)},
		Respond: &schemas.StubResponse{JSON: []byte(body)},
	})
	if err != nil {
		b.Fatal(err)
	}
	return id
}

func hammer(b *testing.B, url string) {
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			resp, err := client.Get(url)
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
}

// BenchmarkHandler is the mock's own work for a request, without the network.
func BenchmarkHandler(b *testing.B) {
	for _, n := range []int{1, 10_000} {
		b.Run(fmt.Sprintf("stubs=%d", n), func(b *testing.B) {
			srv := mockbackend.New(mockbackend.Options{})
			defer srv.Close()
			for i := range n {
				addBench(b, srv, i, `{"id":1}`)
			}
			r := httptest.NewRequest("GET", "/bench/0", nil)
			b.ReportAllocs()
			for b.Loop() {
				srv.ServeHTTP(discard{http.Header{}}, r)
			}
		})
	}
}

type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}

// BenchmarkCase is what one case of a suite costs besides HTTP, with a full
// journal: add, serve, read the journal by stub, remove.
func BenchmarkCase(b *testing.B) {
	srv := mockbackend.New(mockbackend.Options{})
	defer srv.Close()
	r := httptest.NewRequest("GET", "/bench/0", nil)
	for range 10_000 {
		srv.ServeHTTP(discard{http.Header{}}, r)
	}
	b.ReportAllocs()
	for b.Loop() {
		id := addBench(b, srv, 0, `{"id":1}`)
		srv.ServeHTTP(discard{http.Header{}}, r)
		if e := srv.Journal().Entries(mockbackend.Filter{Stub: id}); len(e) != 1 {
			b.Fatal("not in the journal")
		}
		srv.Remove(id)
	}
}
