package mockbackend

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"
)

// loaded are the stubs of a scope that were read from files, and what was in
// the files when they were last read, fit or not.
type loaded struct {
	mu     sync.Mutex
	stubs  []*stub
	files  []stubFile
	bodies []stubFile // those that the stubs name
}

// A stubFile is what was in a file, or why that is not known.
type stubFile struct {
	name string
	data []byte // nobody changes it: the stub may answer with it
	err  error
	// info is how the file looked. It is nil where the content may become
	// another and the look stay the same.
	info fs.FileInfo
}

// coarse is above the step in which file systems count the times of files.
const coarse = 3 * time.Second

// again gives what is in the file now. It reads no more than how the file looks
// if that says enough.
func (f stubFile) again(stat func(string) (fs.FileInfo, error), read func(string) ([]byte, error)) stubFile {
	info, err := stat(f.name)
	if err == nil && f.info != nil && os.SameFile(info, f.info) && info.Size() == f.info.Size() && info.ModTime().Equal(f.info.ModTime()) {
		return f
	}
	now := stubFile{name: f.name}
	if now.data, now.err = read(f.name); err == nil && now.err == nil && time.Since(info.ModTime()) > coarse {
		now.info = info
	}
	return now
}

func (f stubFile) same(other stubFile) bool {
	return f.name == other.name && bytes.Equal(f.data, other.data) && fmt.Sprint(f.err) == fmt.Sprint(other.err)
}

// find gives the file of that name, with nothing known of it if it is not there.
func find(files []stubFile, name string) stubFile {
	if i := slices.IndexFunc(files, func(f stubFile) bool { return f.name == name }); i >= 0 {
		return files[i]
	}
	return stubFile{name: name}
}

// LoadFiles is [Scope.LoadFiles] on the default scope.
func (s *Server) LoadFiles(names ...string) (int, error) { return s.root.LoadFiles(names...) }

// LoadFiles reads files of stubs, as [ReadStubs] does, and puts these stubs in
// the place of those it has put in before, at once: also of what has got the id
// of one of those since, by a PUT for example, as the file is where that id comes
// from. It gives their number. With an error, which joins what is wrong in all
// the files, it changes nothing. Counters and sequences of the stubs begin again.
func (c *Scope) LoadFiles(names ...string) (int, error) {
	files := make([]stubFile, len(names))
	for i, name := range names {
		files[i] = stubFile{name: name}.again(os.Stat, os.ReadFile)
	}
	return c.load(files, nil)
}

// load makes stubs of files. A file body is taken from bodies if it is there.
func (c *Scope) load(files, bodies []stubFile) (int, error) {
	c.files.mu.Lock()
	defer c.files.mu.Unlock()
	c.files.files, c.files.bodies = files, nil
	known := map[string]stubFile{}
	for _, f := range bodies {
		known[f.name] = f
	}
	used := map[string]bool{}
	read := func(name string) ([]byte, error) {
		body, have := known[name]
		if !have {
			body = stubFile{name: name}.again(c.server.statFile, c.server.readFile)
			known[name] = body
		}
		if !used[name] {
			used[name] = true
			c.files.bodies = append(c.files.bodies, body)
		}
		return body.data, body.err
	}
	var made []*stub
	var from []FileStub
	var wrong []error
	firsts := map[string]FileStub{} // by id; finding a line takes long, and is left to the error
	for _, file := range files {
		if file.err != nil {
			wrong = append(wrong, fmt.Errorf("reading stubs: %w", file.err))
			continue
		}
		list, err := ReadStubs(file.name, file.data)
		if err != nil {
			wrong = append(wrong, err)
		}
		for _, f := range list {
			one, err := c.compileWith(f.Stub, read)
			if first, twice := firsts[f.ID]; twice {
				err = invalid("/id", "%q is the id of the stub at %s too", f.ID, first.place())
			}
			if err != nil {
				wrong = append(wrong, f.fail(err))
				continue
			}
			if f.ID != "" {
				firsts[f.ID] = f
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

// statFile tells how a file body looks.
func (s *Server) statFile(name string) (fs.FileInfo, error) {
	root, err := os.OpenRoot(s.opts.Files)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.Stat(name)
}
