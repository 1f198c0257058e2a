package main

import (
	"io"
	"os"
	"sync"
)

// stdout is standard output for all commands: a report that could not be
// written is not a success, so what went wrong is kept until the end.
var stdout = &keeping{to: os.Stdout}

// keeping remembers the first error of a writer.
type keeping struct {
	to  io.Writer
	mu  sync.Mutex
	err error
}

// Write implements [io.Writer].
func (k *keeping) Write(p []byte) (int, error) {
	n, err := k.to.Write(p)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err == nil {
		k.err = err
	}
	return n, err
}

// failure is the first error of a write so far.
func (k *keeping) failure() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}
