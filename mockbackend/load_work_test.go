package mockbackend_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"example.com/touchstone/mockbackend"
)

// manyStubs is an indented file of stubs with ids.
func manyStubs(n int, path func(int) string) string {
	var doc strings.Builder
	for i := range n {
		fmt.Fprintf(&doc, ",\n  {\n    \"id\": \"s%d\",\n    \"match\": {\"path\": %q},\n    \"respond\": {\"text\": \"x\"}\n  }", i, path(i))
	}
	return "[" + strings.TrimPrefix(doc.String(), ",") + "\n]\n"
}

// TestLoadFilesWork: a stub costs as much in a long file as in a short one.
func TestLoadFilesWork(t *testing.T) {
	cost := func(n int) float64 {
		files := write(t, "many.json", manyStubs(n, func(i int) string { return fmt.Sprintf("/p/%d", i) }))
		return testing.AllocsPerRun(1, func() {
			srv := mockbackend.New(mockbackend.Options{})
			defer srv.Close()
			if got, err := srv.LoadFiles(files...); err != nil || got != n {
				t.Fatal(got, err)
			}
		}) / float64(n)
	}
	if short, long := cost(100), cost(800); long > 1.5*short {
		t.Errorf("%.0f allocations for each of 800 stubs, %.0f for each of 100", long, short)
	}
}

// TestStartStubs: the files come before the address.
func TestStartStubs(t *testing.T) {
	files := write(t, "good.yaml", "match: {path: /a}\nrespond: {text: A}\n", "bad.yaml", "match: {path: /a}\nrespond: {status: 42}\n")
	srv, err := mockbackend.Start(mockbackend.Options{Stubs: files[:1]})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	answer, err := srv.Client().Get(srv.URL() + "/a")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err != nil || string(body) != "A" {
		t.Errorf("it answers %q, %v", body, err)
	}
	// The same address: it would fail, were it listened on first.
	_, err = mockbackend.Start(mockbackend.Options{Stubs: files, Addr: strings.TrimPrefix(srv.URL(), "http://")})
	if at, ok := errors.AsType[*mockbackend.SourceError](err); !ok || at.Line != 2 {
		t.Errorf("of a broken file it says %v", err)
	}
}
