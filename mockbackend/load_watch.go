package mockbackend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settle is how long a file must be left alone before it is read: editors
	// write in several steps.
	settle = 100 * time.Millisecond
	// maxSettle bounds that for a file that is never left alone.
	maxSettle = time.Second
	// lookEvery is how often the files are looked at without being told to.
	lookEvery = time.Second
)

// WatchFiles is [Scope.WatchFiles] on the default scope.
func (s *Server) WatchFiles(ctx context.Context, report func(stubs int, err error), names ...string) error {
	return s.root.WatchFiles(ctx, report, names...)
}

// WatchFiles calls [Scope.LoadFiles] and report whenever the content of one of
// the files has changed, or of a file body that their stubs answer with, until
// the context ends. A file that is broken or gone leaves the stubs as they are.
//
// A change is read when the file has been left alone for 100 ms, and at the
// latest after a second. What the system does not tell of (in a directory that
// was replaced, or behind a symbolic link) is found within another second. The
// error is that the files cannot be watched.
func (c *Scope) WatchFiles(ctx context.Context, report func(stubs int, err error), names ...string) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watching files of stubs: %w", err)
	}
	defer watcher.Close()
	for _, name := range names {
		// The directory: a file that an editor replaces is another one.
		if err := watcher.Add(filepath.Dir(name)); err != nil {
			return fmt.Errorf("watching the directory %s: %w", filepath.Dir(name), err)
		}
	}
	watched := c.watch(watcher, names)
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	settled := time.NewTimer(settle) // for a change before the watch began
	defer settled.Stop()
	var first time.Time // of the changes that are not read yet
	changed := func() {
		if first.IsZero() {
			first = time.Now()
		}
		settled.Reset(min(settle, max(0, maxSettle-time.Since(first))))
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case event := <-watcher.Events:
			if watched[filepath.Clean(event.Name)] {
				changed()
			}
		case err := <-watcher.Errors:
			// Events that were too many are made good by looking.
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				report(0, fmt.Errorf("watching files of stubs: %w", err))
			}
		case <-look.C:
			watched = c.watch(watcher, names)
			if first.IsZero() {
				if _, _, differ := c.look(names); differ {
					changed()
				}
			}
		case <-settled.C:
			first = time.Time{}
			// An event says that something may have changed, the content whether.
			if files, bodies, differ := c.look(names); differ {
				report(c.load(files, bodies))
				watched = c.watch(watcher, names)
			}
		}
	}
}

// watch makes the watcher tell of the directories of all files, and gives the
// paths of these. A directory that is not there is looked at again later.
func (c *Scope) watch(watcher *fsnotify.Watcher, names []string) map[string]bool {
	paths := map[string]bool{}
	for _, name := range names {
		paths[filepath.Clean(name)] = true
	}
	c.files.mu.Lock()
	for _, body := range c.files.bodies {
		paths[filepath.Join(c.server.opts.Files, body.name)] = true
	}
	c.files.mu.Unlock()
	added := map[string]bool{}
	for path := range paths {
		if dir := filepath.Dir(path); !added[dir] {
			added[dir] = true
			_ = watcher.Add(dir) // again, as another one may have its name by now
		}
	}
	return paths
}

// look reads the files and the file bodies where they look different from when
// they were loaded, and tells whether they are.
func (c *Scope) look(names []string) (files, bodies []stubFile, differ bool) {
	c.files.mu.Lock()
	defer c.files.mu.Unlock()
	for _, name := range names {
		files = append(files, find(c.files.files, name).again(os.Stat, os.ReadFile))
	}
	for _, body := range c.files.bodies {
		bodies = append(bodies, body.again(c.server.statFile, c.server.readFile))
	}
	differ = !slices.EqualFunc(c.files.files, files, stubFile.same) || !slices.EqualFunc(c.files.bodies, bodies, stubFile.same)
	if !differ {
		c.files.files, c.files.bodies = files, bodies // they may look older now
	}
	return files, bodies, differ
}
