package mockbackend_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/touchstone/mockbackend"
)

func TestWatchFiles(t *testing.T) {
	srv := start(t, mockbackend.Options{})
	client := newClient(t)
	paths := write(t, "a.yaml", "{match: {path: /a}, respond: {text: one}}")
	if _, err := srv.LoadFiles(paths...); err != nil {
		t.Fatal(err)
	}
	type report struct {
		stubs int
		err   error
	}
	reports := make(chan report, 10)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- srv.WatchFiles(ctx, func(n int, err error) { reports <- report{n, err} }, paths...)
	}()
	change := func(text string) report {
		t.Helper()
		// As editors do: another file in its place.
		next := paths[0] + "~"
		if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, paths[0]); err != nil {
			t.Fatal(err)
		}
		return <-reports
	}
	get := func() string { return call(t, client, "GET", srv.URL()+"/a", "").body }
	if r := change("{match: {path: /a}, respond: {text: two}}"); r.err != nil || r.stubs != 1 || get() != "two" {
		t.Errorf("%+v, answers %s", r, get())
	}
	if r := change("{match: {path: /a}, respond: {txt: three}}"); r.err == nil || !strings.Contains(r.err.Error(), "a.yaml:1: /respond/txt: ") || get() != "two" {
		t.Errorf("a broken file: %+v, answers %s", r, get())
	}
	if r := change("[{match: {path: /a}, respond: {text: four}}, {match: {}, respond: {}}]"); r.err != nil || r.stubs != 2 || get() != "four" {
		t.Errorf("%+v, answers %s", r, get())
	}
	if err := os.Remove(paths[0]); err != nil {
		t.Fatal(err)
	}
	if r := <-reports; r.err == nil || get() != "four" {
		t.Errorf("a file that is gone: %+v, answers %s", r, get())
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := srv.WatchFiles(t.Context(), nil, "/no/such/directory/a.yaml"); err == nil {
		t.Error("a directory that is not there can be watched")
	}
}

// A watched is a server that watches dir/s.yaml, or other files there.
type watched struct {
	t       *testing.T
	srv     *mockbackend.Server
	dir     string
	reports chan error
}

// watch loads dir/s.yaml and watches it. Once it returns, what changes is found
// by watching.
func watch(t *testing.T, dir string, opts mockbackend.Options) *watched {
	t.Helper()
	w := &watched{t: t, srv: start(t, opts), dir: dir, reports: make(chan error, 100)}
	warm := write(t, "warm.yaml", "[]")[0]
	files := []string{filepath.Join(dir, "s.yaml"), warm}
	if _, err := w.srv.LoadFiles(files...); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- w.srv.WatchFiles(ctx, func(_ int, err error) { w.reports <- err }, files...)
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	w.put(warm, "[{match: {path: /warm}, respond: {}}]")
	if err := w.next(); err != nil {
		t.Fatal(err)
	}
	return w
}

// next waits for a report.
func (w *watched) next() error {
	w.t.Helper()
	select {
	case err := <-w.reports:
		return err
	case <-time.After(patience):
		w.t.Fatal("no change was found")
		return nil
	}
}

func (w *watched) put(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// until waits for an answer of the stub.
func (w *watched) until(want string) {
	w.t.Helper()
	client := newClient(w.t)
	for {
		err := w.next()
		if got := call(w.t, client, "GET", w.srv.URL()+"/a", "").body; got == want {
			return
		}
		w.t.Logf("a report on the way: %v", err)
	}
}

func answering(text string) string {
	return fmt.Sprintf("{match: {path: /a}, respond: {text: %s}}", text)
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestWatchFilesLosesNothing(t *testing.T) {
	t.Parallel()
	// often changes a file again and again until the test is over.
	often := func(t *testing.T, change func(n int) error) {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() {
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for n := 0; ; n++ {
				select {
				case <-ctx.Done():
					ended <- nil
					return
				case <-tick.C:
					if err := change(n); err != nil {
						ended <- err
						return
					}
				}
			}
		}()
		t.Cleanup(func() { cancel(); must(t, <-ended) })
	}
	for _, tt := range []struct {
		name   string
		before func(t *testing.T, dir string) // nil: s.yaml is a file
		change func(t *testing.T, w *watched, file string)
	}{
		{"the directory is another one", nil, func(t *testing.T, w *watched, file string) {
			must(t, os.RemoveAll(w.dir), os.Mkdir(w.dir, 0o700))
			w.put(file, answering("between"))
			w.until("between") // it may be the end of the other directory that told of it
			w.put(file, answering("two"))
		}},
		{"the file is a link to another directory", func(t *testing.T, dir string) {
			must(t, os.Symlink(write(t, "target.yaml", answering("one"))[0], filepath.Join(dir, "s.yaml")))
		}, func(t *testing.T, w *watched, file string) {
			target, err := os.Readlink(file)
			must(t, err)
			w.put(target, answering("two"))
		}},
		{"a link on the way is replaced", func(t *testing.T, dir string) {
			for version, text := range map[string]string{"v1": "one", "v2": "two"} {
				must(t, os.Mkdir(filepath.Join(dir, version), 0o700),
					os.WriteFile(filepath.Join(dir, version, "s.yaml"), []byte(answering(text)), 0o600))
			}
			must(t, os.Symlink("v1", filepath.Join(dir, "..data")), os.Symlink("..data/s.yaml", filepath.Join(dir, "s.yaml")))
		}, func(t *testing.T, w *watched, _ string) {
			next, data := filepath.Join(w.dir, "..next"), filepath.Join(w.dir, "..data")
			must(t, os.Symlink("v2", next), os.Rename(next, data))
		}},
		{"another file is written all the time", nil, func(t *testing.T, w *watched, file string) {
			often(t, func(n int) error {
				return os.WriteFile(filepath.Join(w.dir, "app.log"), fmt.Appendln(nil, n), 0o600)
			})
			w.put(file, answering("two"))
		}},
		{"the file is replaced all the time", nil, func(t *testing.T, w *watched, file string) {
			often(t, func(n int) error {
				text := fmt.Sprintf("# %d\n%s", n, answering("two"))
				if err := os.WriteFile(file+"~", []byte(text), 0o600); err != nil {
					return err
				}
				return os.Rename(file+"~", file)
			})
		}},
		{"something else was put in the stub's place", nil, func(t *testing.T, w *watched, file string) {
			id := w.srv.Stubs()[0].ID
			if got := call(t, newClient(t), "PUT", w.srv.URL()+"/__mock/stubs/"+id, `{"match":{"path":"/a"},"respond":{"text":"put"}}`); got.status != 200 {
				t.Fatal(got.body)
			}
			w.put(file, answering("two"))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "d")
			must(t, os.Mkdir(dir, 0o700))
			if tt.before == nil {
				tt.before = func(t *testing.T, dir string) {
					must(t, os.WriteFile(filepath.Join(dir, "s.yaml"), []byte(answering("one")), 0o600))
				}
			}
			tt.before(t, dir)
			w := watch(t, dir, mockbackend.Options{})
			tt.change(t, w, filepath.Join(dir, "s.yaml"))
			w.until("two")
		})
	}
}

// The bodies that the stubs of files answer with are watched too.
func TestWatchFilesSeesBodies(t *testing.T) {
	t.Parallel()
	files := t.TempDir()
	body := filepath.Join(files, "b.txt")
	must(t, os.WriteFile(body, []byte("one"), 0o600))
	paths := write(t, "s.yaml", "match: {path: /a}\nrespond:\n  file: b.txt\n")
	w := watch(t, filepath.Dir(paths[0]), mockbackend.Options{Files: files})
	client := newClient(t)
	w.put(body, "two")
	w.until("two")
	must(t, os.Rename(body, body+"~"))
	err := w.next()
	if err == nil || !strings.Contains(err.Error(), "s.yaml:3: /respond/file: reading a file body") {
		t.Errorf("a body that is gone: %v", err)
	}
	if got := call(t, client, "GET", w.srv.URL()+"/a", "").body; got != "two" {
		t.Errorf("without its file, the stub answers %q", got)
	}
	w.put(body, "three")
	w.until("three")
}
