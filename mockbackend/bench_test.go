package mockbackend_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/touchstone/mockbackend"
	"example.com/touchstone/schemas"
)

func benchStub(i int) schemas.Stub {
	return schemas.Stub{
		Match:   schemas.StubMatch{Method: "GET", Path: fmt.Sprintf("/bench/%d", i)},
		Respond: &schemas.StubResponse{JSON: []byte(`{"id":1,"item":"mechanical keyboard","quantity":2}`)},
	}
}

// BenchmarkHandler is the mock's own work for a request, without the network.
func BenchmarkHandler(b *testing.B) {
	for _, n := range []int{1, 10_000} {
		b.Run(fmt.Sprintf("stubs=%d", n), func(b *testing.B) {
			srv := mockbackend.New(mockbackend.Options{})
			defer srv.Close()
			for i := range n {
				if _, err := srv.Add(benchStub(i)); err != nil {
					b.Fatal(err)
				}
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
		id, err := srv.Add(benchStub(0))
		if err != nil {
			b.Fatal(err)
		}
		srv.ServeHTTP(discard{http.Header{}}, r)
		if e := srv.Journal().Entries(mockbackend.Filter{Stub: id}); len(e) != 1 {
			b.Fatal("not in the journal")
		}
		srv.Remove(id)
	}
}

// BenchmarkSamePath is what a request costs when its stub is told from others on
// the same path by the query or the body: they are asked one by one.
func BenchmarkSamePath(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		srv := mockbackend.New(mockbackend.Options{StubsOnly: true})
		for i := range n {
			for _, text := range []string{
				`{"match":{"path":"/query","query":{"id":"%d"}},"respond":{}}`,
				`{"match":{"path":"/body","body":{"subset":{"id":%d}}},"respond":{}}`,
			} {
				if _, err := srv.Add(mustStub(b, fmt.Sprintf(text, i))); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.Run(fmt.Sprintf("query/stubs=%d", n), func(b *testing.B) {
			for b.Loop() {
				srv.ServeHTTP(discard{http.Header{}}, httptest.NewRequest("GET", "/query?id=50", nil))
			}
		})
		b.Run(fmt.Sprintf("body/stubs=%d", n), func(b *testing.B) {
			for b.Loop() {
				srv.ServeHTTP(discard{http.Header{}}, httptest.NewRequest("POST", "/body", strings.NewReader(`{"id":50}`)))
			}
		})
		if err := srv.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLoadFiles reads a long file of stubs again and again.
func BenchmarkLoadFiles(b *testing.B) {
	files := write(b, "many.json", manyStubs(4000, func(i int) string { return fmt.Sprintf("/p/%d", i) }))
	srv := mockbackend.New(mockbackend.Options{})
	defer srv.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := srv.LoadFiles(files...); err != nil {
			b.Fatal(err)
		}
	}
}
