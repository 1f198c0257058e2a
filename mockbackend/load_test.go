package mockbackend_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/mockbackend"
	"example.com/touchstone/schemas"
)

func TestReadStubs(t *testing.T) {
	text := func(s string) *string { return &s }
	plain := func(path, body string) schemas.Stub {
		return schemas.Stub{Match: schemas.StubMatch{Path: path}, Respond: &schemas.StubResponse{Text: text(body)}}
	}
	for _, tt := range []struct {
		title, name, doc string
		want             []schemas.Stub
	}{
		{"one as JSON", "a.json", `{"match":{"path":"/a"},"respond":{"text":"A"}}`, []schemas.Stub{plain("/a", "A")}},
		{"a list as JSON", "a.json", `[{"match":{"path":"/a"},"respond":{"text":"A"}},{"match":{"path":"/b"},"respond":{"text":"B"}}]`, []schemas.Stub{plain("/a", "A"), plain("/b", "B")}},
		{"wrapped, with a schema for the editor", "a.json", `{"$schema":"stub.schema.json","stubs":[{"match":{"path":"/a"},"respond":{"text":"A"}}]}`, []schemas.Stub{plain("/a", "A")}},
		{"JSON by its text", "stubs", `{"match":{"path":"/a"},"respond":{"text":"A"}}`, []schemas.Stub{plain("/a", "A")}},
		{"one as YAML", "a.yaml", "match: {path: /a}\nrespond: {text: A}\n", []schemas.Stub{plain("/a", "A")}},
		{"a list as YAML", "a.YML", "- match: {path: /a}\n  respond: {text: A}\n- match: {path: /b}\n  respond: {text: B}\n", []schemas.Stub{plain("/a", "A"), plain("/b", "B")}},
		{"YAML by its text", "stubs", "stubs:\n- match: {path: /a}\n  respond: {text: A}\n", []schemas.Stub{plain("/a", "A")}},
		{"none", "a.yaml", "stubs: []", []schemas.Stub{}},
		{"a body keeps its order and the text of its numbers", "a.yaml", `
match: {}
respond:
  json:
    z: 1.50
    a: [12345678901234567890, -0, 1e30, 0x10, yes, ~, 2024-01-02, "<é>"]
    404: !!binary |
      aGk=
`, []schemas.Stub{{Respond: &schemas.StubResponse{JSON: json.RawMessage(`{"z":1.50,"a":[12345678901234567890,-0,1e30,16,"yes",null,"2024-01-02","<é>"],"404":"aGk="}`)}}}},
		{"aliases and merge keys", "a.yaml", `
- &base
  match: {path: /a}
  respond: &r {status: 503, text: A}
- <<: *base
  match: {path: /b}
- match: {path: /c}
  respond:
    <<: [{text: C}, *r]
`, []schemas.Stub{
			{Match: schemas.StubMatch{Path: "/a"}, Respond: &schemas.StubResponse{Status: 503, Text: text("A")}},
			{Match: schemas.StubMatch{Path: "/b"}, Respond: &schemas.StubResponse{Status: 503, Text: text("A")}},
			{Match: schemas.StubMatch{Path: "/c"}, Respond: &schemas.StubResponse{Status: 503, Text: text("C")}},
		}},
	} {
		t.Run(tt.title, func(t *testing.T) {
			read, err := mockbackend.ReadStubs(tt.name, []byte(tt.doc))
			if err != nil {
				t.Fatal(err)
			}
			got := make([]schemas.Stub, len(read))
			for i, r := range read {
				got[i] = r.Stub
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("stubs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadStubsSaysWhatIsWrongAndWhere(t *testing.T) {
	for _, tt := range []struct {
		name, doc string
		want      []string // each a line of the error
	}{
		{"a.json", "{\n \"match\": {},\n \"respond\": {\n  \"status\": 99\n }\n}", []string{"a.json:4: /respond/status: "}},
		{"a.json", "[\n{\"match\": {}, \"respond\": {}},\n{\"match\": {},\n\"respnd\": {}}\n]", []string{"a.json:4: /1/respnd: Additional property respnd is not allowed"}},
		{"a.json", "{\n\n\"match\": }", []string{"a.json:3: not JSON: invalid character '}'"}},
		{"a.json", "{\"stubs\": [\n{\"match\": 1, \"respond\": {}},\n{\"match\": {\"path\": 7}, \"respond\": {}}]}", []string{"a.json:2: /stubs/0/match: ", "a.json:3: /stubs/1/match/path: "}},
		{"a.json", "{\"match\": {},\n\"respond\": {},\n\"match\": {}}", []string{`a.json:3: /match: "match" stands here a second time, first on line 1`}},
		{"a.json", "[{\"match\": {}, \"respond\": {\n\"json\": {\"a\": [{\n\"b\": 1,\n\"b\": 1}]}}}]", []string{`a.json:4: /0/respond/json/a/0/b: "b" stands here a second time, first on line 3`}},
		{"a.json", "{\"stubs\": [],\n\"more\": 1}", []string{"a.json:2: /more: stands beside stubs"}},
		{"a.json", "{\"stubs\": {}}", []string{"a.json:1: /stubs: is not a list"}},
		{"a.json", "7", []string{"a.json:1: holds neither a stub"}},
		{"a.yaml", "- match: {}\n  respond:\n    headers:\n      X-Count: 3\n", []string{"a.yaml:4: /0/respond/headers/X-Count: "}},
		{"a.yaml", "stubs:\n  - match: {}\n    respond: {}\n  - match: {}\n    respond: {}\n    pririty: 1\n", []string{"a.yaml:6: /stubs/1/pririty: Additional property pririty is not allowed"}},
		{"a.yaml", "match: {}\nmatch: {}\n", []string{`a.yaml:2: /match: "match" stands here a second time, first on line 1`}},
		{"a.yaml", "# what it does\n- match: {}\n  respnd: {}\n- match: {}\n", []string{"a.yaml:3: /0/respnd: ", "a.yaml:4: /1: give respond or sequence"}},
		{"a.yaml", "match: {}\nrespond:\n  status: 200.0\n", []string{"a.yaml:3: /respond/status: is 200.0; write a whole number"}},
		{"a.yaml", "match: [\n", []string{"a.yaml:1: yaml: line 1: did not find"}},
		{"a.yaml", "", []string{"a.yaml:1: the file is empty"}},
		{"a.yaml", "match: {}\nrespond: {}\n---\nmatch: {}\n", []string{"a.yaml:3: a second document starts here"}},
		{"a.yaml", "match: {}\nrespond:\n  json: .inf\n", []string{"a.yaml:3: /respond/json: .inf has no form in JSON"}},
		{"a.yaml", "match: {}\nrespond:\n  json: !x 1\n", []string{"a.yaml:3: /respond/json: the tag !x has no meaning here"}},
		{"a.yaml", "match: {}\nrespond:\n  json: {? [a] : b}\n", []string{"a.yaml:3: /respond/json: the name of a member is not a scalar"}},
		{"a.yaml", "match: {}\n<<: 7\n", []string{"a.yaml:2: << takes a mapping"}},
		{"a.yaml", "a: &a [*a]\n", []string{"a.yaml:1: /a/0: the alias &a refers to what it stands in"}},
		{"a.yaml", "a: &a\n  <<: *a\n", []string{"too large or too deep"}},
	} {
		_, err := mockbackend.ReadStubs(tt.name, []byte(tt.doc))
		if err == nil {
			t.Errorf("%q: no error", tt.doc)
			continue
		}
		lines := strings.Split(err.Error(), "\n")
		if len(lines) != len(tt.want) {
			t.Errorf("%q: %d errors, want %d: %v", tt.doc, len(lines), len(tt.want), err)
			continue
		}
		for i, want := range tt.want {
			if !strings.Contains(lines[i], want) {
				t.Errorf("%q:\n got %s\nwant %s", tt.doc, lines[i], want)
			}
		}
		if at, ok := errors.AsType[*mockbackend.SourceError](err); !ok || at.File != tt.name || at.Line < 1 {
			t.Errorf("%q: the error has no place: %v", tt.doc, err)
		}
	}
}

// A document of some lines must not grow beyond bounds by its aliases.
func TestReadStubsBoundsAliases(t *testing.T) {
	for _, form := range []struct {
		first, next, one string
		levels           int
	}{
		{"a0: &a0 [x, x, x, x]\n", "a%d: &a%[1]d [%s]\n", "*aN", 13},
		{"a0: &a0 {x: 1}\n", "a%d: &a%[1]d {<<: [%s]}\n", "*aN", 13},
		{"a0: &a0 {x: 1}\n", "a%d: &a%[1]d {%s}\n", "kK: {<<: *aN}", 13},
		{"a0: &a0 {x: [" + strings.Repeat("x, ", 3000) + "]}\n", "a%d: &a%[1]d {%s}\n", "kK: {<<: *aN}", 2},
	} {
		doc := bytes.NewBufferString(form.first)
		for i := 1; i <= form.levels; i++ {
			var all []string
			for k := range 10 {
				all = append(all, strings.NewReplacer("N", fmt.Sprint(i-1), "K", fmt.Sprint(k)).Replace(form.one))
			}
			fmt.Fprintf(doc, form.next, i, strings.Join(all, ", "))
		}
		if _, err := mockbackend.ReadStubs("bomb.yaml", doc.Bytes()); err == nil || !strings.Contains(err.Error(), "too large or too deep") {
			t.Errorf("%s: got %v", form.next, err)
		}
	}
}

// write puts files into a new directory and gives their paths.
func write(t testing.TB, files ...string) []string {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		if err := os.WriteFile(path, []byte(files[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

func ids(stubs []schemas.Stub) string {
	var list []string
	for _, s := range stubs {
		list = append(list, s.ID)
	}
	return strings.Join(list, " ")
}

func TestLoadFiles(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	client := newClient(t)
	add(t, srv, `{"id":"own","match":{"path":"/own"},"respond":{"text":"own"}}`)
	paths := write(t,
		"a.yaml", "- {id: a, match: {path: /a}, sequence: {responses: [{text: first}, {text: second}]}}\n- {id: stub-4, match: {path: /x}, respond: {text: X}}\n",
		"b.json", `{"match":{"path":"/b"},"respond":{"text":"B"}}`)
	n, err := srv.LoadFiles(paths...)
	if err != nil || n != 3 || ids(srv.Stubs()) != "own a stub-4 stub-5" {
		t.Fatalf("%d, %v, stubs %s", n, err, ids(srv.Stubs()))
	}
	get := func(path string) string { return call(t, client, "GET", srv.URL()+path, "").body }
	if got := get("/a") + get("/a") + get("/b"); got != "firstsecondB" {
		t.Errorf("got %s", got)
	}
	// Again: in their place, with the sequences at their start.
	if _, err := srv.LoadFiles(paths[:1]...); err != nil || ids(srv.Stubs()) != "own a stub-4" {
		t.Errorf("%v, stubs %s", err, ids(srv.Stubs()))
	}
	if got := get("/a"); got != "first" {
		t.Errorf("got %s", got)
	}
	add(t, srv, `{"id":"later","match":{"path":"/later"},"respond":{}}`)
	srv.Reset()
	if got := ids(srv.Stubs()) + get("/a"); got != "a stub-4first" {
		t.Errorf("after a reset: %s", got)
	}
}

func TestLoadFilesChangesNothingOnError(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	add(t, srv, `{"id":"own","match":{"path":"/own"},"respond":{"text":"own"}}`)
	good := write(t, "good.yaml", "{id: good, match: {}, respond: {}}")
	if _, err := srv.LoadFiles(good...); err != nil {
		t.Fatal(err)
	}
	bad := write(t,
		"kind.yaml", "- {id: k, match: {}, respond: {}}\n- match: {}\n  respond:\n    fault:\n      kind: nonsense\n",
		"twice.json", "[\n{\"id\":\"k\",\"match\":{},\"respond\":{}}\n]",
		"body.yaml", "match: {}\nrespond: {file: a.txt}\n")
	missing := filepath.Join(filepath.Dir(bad[0]), "missing.yaml")
	_, err := srv.LoadFiles(append(bad, missing)...)
	want := []string{
		"kind.yaml:5: /1/respond/fault/kind: \"nonsense\" is not known",
		"twice.json:2: /0/id: \"k\" is the id of the stub at " + bad[0] + ":1 too",
		"body.yaml:2: /respond/file: no directory of file bodies is set",
		"missing.yaml: no such file",
	}
	for _, line := range want {
		if err == nil || !strings.Contains(err.Error(), line) {
			t.Errorf("no %q in: %v", line, err)
		}
	}
	taken := write(t, "own.yaml", "{id: own, match: {}, respond: {}}")
	if _, err := srv.LoadFiles(taken...); err == nil || !strings.Contains(err.Error(), `"own" is in use`) {
		t.Errorf("an id of a stub that is not of the files: %v", err)
	}
	if got := ids(srv.Stubs()); got != "own good" {
		t.Errorf("stubs %s", got)
	}
}

// While files are read again or the server is reset, no request finds their
// stubs missing.
func TestFileStubsAreAlwaysThere(t *testing.T) {
	var doc strings.Builder
	for i := range 500 { // so many that taking them out, the first first, takes a while
		fmt.Fprintf(&doc, "- {id: s%d, match: {path: /%[1]d}, respond: {status: 299}}\n", i)
	}
	paths := write(t, "a.yaml", doc.String())
	for name, again := range map[string]func(*mockbackend.Server) error{
		"load": func(srv *mockbackend.Server) error {
			_, err := srv.LoadFiles(paths...)
			return err
		},
		"reset": func(srv *mockbackend.Server) error { srv.Reset(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			srv := start(t, mockbackend.Options{})
			if _, err := srv.LoadFiles(paths...); err != nil {
				t.Fatal(err)
			}
			done := make(chan error)
			go func() {
				for range 10 {
					done <- again(srv)
				}
			}()
			for times := 0; times < 10; {
				select {
				case err := <-done:
					if times++; err != nil {
						t.Error(err)
					}
				default:
					// Without a network between, more requests fall into the time.
					got := httptest.NewRecorder()
					if srv.ServeHTTP(got, httptest.NewRequest("GET", "/0", nil)); got.Code != 299 {
						t.Fatalf("got %d %s", got.Code, got.Body)
					}
					// The id is the file's, at every moment.
					if _, err := srv.Add(schemas.Stub{ID: "s1", Respond: &schemas.StubResponse{}}); err == nil {
						t.Fatal("the id of a stub of a file was free")
					}
				}
			}
			if n := len(srv.Stubs()); n != 500 {
				t.Errorf("%d stubs", n)
			}
		})
	}
}

// What was put in the place of a file's stub goes with the next reload.
func TestLoadFilesOverPut(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	client := newClient(t)
	paths := write(t, "a.yaml", "{id: a, match: {path: /a}, respond: {text: file}}")
	if _, err := srv.LoadFiles(paths...); err != nil {
		t.Fatal(err)
	}
	put := func() {
		t.Helper()
		got := call(t, client, "PUT", srv.URL()+"/__mock/stubs/a", `{"match":{"path":"/a"},"respond":{"text":"put"}}`)
		if now := call(t, client, "GET", srv.URL()+"/a", ""); got.status != 200 || now.body != "put" {
			t.Fatalf("PUT gives %d %s, answers %s", got.status, got.body, now.body)
		}
	}
	put()
	if _, err := srv.LoadFiles(paths...); err != nil {
		t.Fatal(err)
	}
	if got := call(t, client, "GET", srv.URL()+"/a", "").body; got != "file" || ids(srv.Stubs()) != "a" {
		t.Errorf("answers %s, stubs %s", got, ids(srv.Stubs()))
	}
	put()
	if srv.Reset(); call(t, client, "GET", srv.URL()+"/a", "").body != "file" {
		t.Error("a reset leaves what was put")
	}
}

func ExampleServer_LoadFiles() {
	file, err := os.CreateTemp("", "stubs-*.yaml")
	if err != nil {
		panic(err)
	}
	defer os.Remove(file.Name())
	if _, err := file.WriteString(`
- match: {method: GET, path: "/orders/{id}"}
  respond:
    status: 409
    headers: {X-Reason: locked}
    json: {title: Conflict, detail: Somebody else is editing this order.}
`); err != nil {
		panic(err)
	}
	if err := file.Close(); err != nil {
		panic(err)
	}

	srv, err := mockbackend.Start(mockbackend.Options{})
	if err != nil {
		panic(err)
	}
	defer srv.Close()
	n, err := srv.LoadFiles(file.Name())
	if err != nil {
		panic(err) // says the file, the line and the JSON Pointer
	}
	fmt.Println(n, "stub")
	resp, err := http.Get(srv.URL() + "/orders/7")
	if err != nil {
		panic(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer resp.Body.Close()
	fmt.Println(resp.Status, resp.Header.Get("X-Reason"))
	// Output:
	// 1 stub
	// 409 Conflict locked
}

func ExampleReadStubs() {
	_, err := mockbackend.ReadStubs("stubs.yaml", []byte(`
- match: {path: /orders}
  respond: {status: 99}
`))
	fmt.Println(err)
	// Output:
	// stubs.yaml:3: /0/respond/status: Must be greater than or equal to 200 (got 99)
}
