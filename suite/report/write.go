package report

import (
	"fmt"
	"os"
	"path/filepath"
)

// CheckWritable says before a run whether a file can be written after it. It
// makes the missing directories and leaves no file behind.
func CheckWritable(path string) error {
	file, replaced, err := destination(path)
	if err != nil {
		return err
	}
	if !replaced {
		return checkDevice(file)
	}
	dir, name := split(file)
	if name == "" {
		return fmt.Errorf("%s is a directory; give the name of a file", path)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	probe, err := os.CreateTemp(dir, ".touchstone-*")
	if err != nil {
		return err
	}
	if err := probe.Close(); err != nil {
		return err
	}
	return os.Remove(probe.Name())
}

// checkDevice opens what can be opened for a moment. The reader of a pipe would
// take that for all that comes, and without a reader it would not end.
func checkDevice(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.Mode()&os.ModeNamedPipe != 0 {
		return err
	}
	device, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return device.Close()
}

// WriteFile writes a report so that it is there whole or not at all. Links are
// followed, and what is no regular file is written to as it is: a device that
// is replaced, say /dev/null, is lost for everyone.
func WriteFile(path string, data []byte) error {
	file, replaced, err := destination(path)
	switch {
	case err != nil:
	case replaced:
		err = replace(file, data)
	default:
		err = pour(file, data)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// pour writes to what is there and is no regular file.
func pour(path string, data []byte) error {
	device, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = device.Write(data)
	if closing := device.Close(); err == nil {
		err = closing
	}
	return err
}

// replace puts a file in the place of another, or of none.
func replace(path string, data []byte) error {
	dir, _ := split(path)
	temp, err := os.CreateTemp(dir, ".touchstone-*")
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	if chmod := temp.Chmod(0o644); err == nil {
		err = chmod
	}
	if closing := temp.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
	}
	return err
}

// maxLinks is how many links in a row are followed, as Linux has it.
const maxLinks = 40

// destination gives the file that a path names, at the end of its links, and
// whether it is to be replaced: it is a regular file, or not there yet.
func destination(path string) (file string, replaced bool, err error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return "", false, fmt.Errorf("%s is a directory; give the name of a file", path)
	case err == nil && !info.Mode().IsRegular():
		return path, false, nil
	}
	file = path
	for range maxLinks {
		link, err := os.Readlink(file)
		if err != nil {
			return file, true, nil // it is no link, or not there
		}
		if !filepath.IsAbs(link) {
			// Joining would clean it, and a/.. is not where a is a link itself.
			dir, _ := filepath.Split(file)
			link = dir + link
		}
		file = link
	}
	return "", false, fmt.Errorf("%s: more than %d links lead on from it", path, maxLinks)
}

// split gives the directory of a file without cleaning it, for the same reason.
func split(file string) (dir, name string) {
	dir, name = filepath.Split(file)
	if dir == "" {
		dir = "."
	}
	return dir, name
}
