package mockbackend

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"sync"
)

// A capture keeps what is read through it.
type capture struct {
	from  io.ReadCloser
	limit int

	mu    sync.Mutex
	kept  bytes.Buffer
	total int64
	end   error
}

var errNotRead = errors.New("it was not read to its end")

func (c *capture) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total += int64(n)
	if c.kept.Len() <= c.limit {
		c.kept.Write(p[:n])
	}
	if err != nil {
		c.end = err
	}
	return n, err
}

func (c *capture) Close() error { return c.from.Close() }

func (c *capture) size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total
}

// keeps gives the number of bytes that are in memory.
func (c *capture) keeps() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept.Len()
}

// content gives what was read, when it is the whole.
func (c *capture) content() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.kept.Len() > c.limit:
		return nil, errTooLarge
	case c.end != io.EOF:
		return nil, cmp.Or(c.end, errNotRead)
	}
	return bytes.Clone(c.kept.Bytes()), nil
}
