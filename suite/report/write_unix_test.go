//go:build unix

package report

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// put checks and writes as certify does.
func put(t *testing.T, path string) {
	t.Helper()
	if err := CheckWritable(path); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, []byte("report")); err != nil {
		t.Fatal(err)
	}
}

func wantReport(t *testing.T, path string) {
	t.Helper()
	if data, err := os.ReadFile(path); err != nil || string(data) != "report" {
		t.Errorf("%s holds %q, %v", path, data, err)
	}
}

func wantType(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Type() != want {
		t.Errorf("%s is now %v", path, info.Mode())
	}
}

// TestWriteThroughLinks: what a link points to is written, there or not, and the
// link stays one.
func TestWriteThroughLinks(t *testing.T) {
	for name, link := range map[string]string{
		"to a file": "real/there", "to nothing": "real/later", "to no directory": "real/new/later",
		"to a link": "other", "through a linked directory": "far/../there",
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for _, dir := range []string{"real", "real/deep"} {
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile("real/there", []byte("something longer"), 0o600); err != nil {
				t.Fatal(err)
			}
			for from, to := range map[string]string{"x": link, "other": "real/there", "far": "real/deep"} {
				if err := os.Symlink(to, from); err != nil {
					t.Fatal(err)
				}
			}
			put(t, "x")
			wantType(t, "x", fs.ModeSymlink)
			wantReport(t, "x")
			if strings.HasSuffix(link, "/there") {
				wantReport(t, "real/there")
			}
			if left, _ := filepath.Glob("real/.touchstone-*"); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestLinksInACircle: they lead nowhere, and that is said before the run.
func TestLinksInACircle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	if err := os.Symlink("x", path); err != nil {
		t.Fatal(err)
	}
	if err := CheckWritable(path); err == nil || !strings.Contains(err.Error(), "links") {
		t.Errorf("CheckWritable: %v", err)
	}
}

// TestWriteToPipe: the reader of a pipe gets the report, through a link too, and
// the check before the run is not taken for it.
func TestWriteToPipe(t *testing.T) {
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink("pipe", link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, link} {
		got := make(chan string, 1)
		go func() {
			// Open for writing too, so that this ends where nobody else opens it.
			both, err := os.OpenFile(pipe, os.O_RDWR, 0)
			if err != nil {
				got <- err.Error()
				return
			}
			defer both.Close()
			buffer := make([]byte, 100)
			n, _ := both.Read(buffer)
			got <- string(buffer[:n])
		}()
		put(t, path)
		wantType(t, pipe, fs.ModeNamedPipe)
		if t.Failed() {
			return // nobody writes to the reader
		}
		if text := <-got; text != "report" {
			t.Errorf("the reader got %q", text)
		}
	}
	wantType(t, link, fs.ModeSymlink)
}

// TestWriteToDevice: a device stays one.
func TestWriteToDevice(t *testing.T) {
	null := filepath.Join(t.TempDir(), "null")
	if err := syscall.Mknod(null, syscall.S_IFCHR|0o666, 1<<8|3); err != nil {
		t.Skip(err) // it takes root
	}
	put(t, null)
	wantType(t, null, fs.ModeDevice|fs.ModeCharDevice)
}
