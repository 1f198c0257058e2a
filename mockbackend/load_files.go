package mockbackend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// loaded are the stubs of a scope that were read from files, and what was in
// the files when they were last read, fit or not.
type loaded struct {
	mu    sync.Mutex
	stubs []*stub
	files []stubFile
}

// A stubFile is what was in a file, or why that is not known.
type stubFile struct{ name, text, trouble string }

func readStubFiles(names []string) []stubFile {
	list := make([]stubFile, len(names))
	for i, name := range names {
		list[i].name = name
		data, err := os.ReadFile(name)
		if err != nil {
			list[i].trouble = err.Error()
		}
		list[i].text = string(data)
	}
	return list
}

// LoadFiles is [Scope.LoadFiles] on the default scope.
func (s *Server) LoadFiles(names ...string) (int, error) { return s.root.LoadFiles(names...) }

// LoadFiles reads files of stubs, as [ReadStubs] does, and puts these stubs in
// the place of those it has put in before, at once: also of what has got the id
// of one of those since, by a PUT for example, as the file is where that id comes
// from. It gives their number. With an error, which joins what is wrong in all
// the files, it changes nothing. Counters and sequences of the stubs begin again.
func (c *Scope) LoadFiles(names ...string) (int, error) {
	return c.load(readStubFiles(names))
}

func (c *Scope) load(files []stubFile) (int, error) {
	c.files.mu.Lock()
	defer c.files.mu.Unlock()
	c.files.files = files
	var made []*stub
	var from []FileStub
	var wrong []error
	places := map[string]string{}
	for _, file := range files {
		if file.trouble != "" {
			wrong = append(wrong, errors.New("reading stubs: "+file.trouble))
			continue
		}
		list, err := ReadStubs(file.name, []byte(file.text))
		if err != nil {
			wrong = append(wrong, err)
		}
		for _, f := range list {
			one, err := c.compile(f.Stub)
			if first := places[f.ID]; first != "" {
				err = invalid("/id", "%q is the id of the stub at %s too", f.ID, first)
			}
			if err != nil {
				wrong = append(wrong, f.fail(err))
				continue
			}
			if f.ID != "" {
				places[f.ID] = fmt.Sprintf("%s:%d", file.name, f.source.line(f.pointer))
			}
			made, from = append(made, one), append(from, f)
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return 0, err
	}
	if err := c.index.replace(c.files.stubs, made...); err != nil {
		return 0, inFile(err, from)
	}
	c.files.stubs = made
	return len(made), nil
}

// inFile places an error of [index.replace].
func inFile(err error, from []FileStub) error {
	if taken, ok := errors.AsType[*takenError](err); ok {
		return from[taken.index].fail(err)
	}
	return err
}

// resetStubs leaves the stubs of the files alone, as they were at first.
func (c *Scope) resetStubs() {
	c.files.mu.Lock()
	defer c.files.mu.Unlock()
	for i, s := range c.files.stubs {
		// What was possible once may have been a file body that is gone; then the
		// stub stays as it is.
		if fresh, err := c.compile(s.Stub); err == nil {
			c.files.stubs[i] = fresh
		}
	}
	c.index.reset(c.files.stubs)
}

// settle is how long a file must be left alone before it is read: editors write
// in several steps.
const settle = 100 * time.Millisecond

// WatchFiles is [Scope.WatchFiles] on the default scope.
func (s *Server) WatchFiles(ctx context.Context, report func(stubs int, err error), names ...string) error {
	return s.root.WatchFiles(ctx, report, names...)
}

// WatchFiles calls [Scope.LoadFiles] and report whenever the content of one of
// the files has changed, until the context ends. A file that is broken or gone
// leaves the stubs as they are. The error is that the files cannot be watched.
func (c *Scope) WatchFiles(ctx context.Context, report func(stubs int, err error), names ...string) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watching files of stubs: %w", err)
	}
	defer watcher.Close()
	dirs := map[string]bool{}
	for _, name := range names {
		// The directory: a file that an editor replaces is another one.
		if dir := filepath.Dir(name); !dirs[dir] {
			dirs[dir] = true
			if err := watcher.Add(dir); err != nil {
				return fmt.Errorf("watching the directory %s: %w", dir, err)
			}
		}
	}
	settled := time.NewTimer(0) // for a change before the watch began
	defer settled.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-watcher.Events:
			settled.Reset(settle)
		case err := <-watcher.Errors:
			report(0, fmt.Errorf("watching files of stubs: %w", err))
		case <-settled.C:
			// An event says that something may have changed, the content whether.
			if now := readStubFiles(names); c.files.differ(now) {
				report(c.load(now))
			}
		}
	}
}

func (l *loaded) differ(now []stubFile) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !slices.Equal(l.files, now)
}
