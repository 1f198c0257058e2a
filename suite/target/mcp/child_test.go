package mcp

import (
	"io"
	"os"
	"testing"
	"time"
)

// TestLastWords: what a server said before it ended is told, though the first
// sign of its end is that it cannot be written to.
func TestLastWords(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("there is no /bin/sh to write a broken server in")
	}
	c := &child{command: "/bin/sh -c 'echo ready'", opts: Options{Grace: time.Minute}, lifetime: t.Context()}
	if _, err := c.transport(); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := c.pipes.Write([]byte("{}\n")); err != nil {
			break // it has gone
		}
	}
	if err := c.pipes.Close(); err != nil {
		t.Fatal(err)
	}
	err := c.explain("initialize", io.ErrClosedPipe)
	if want := `the target is not an MCP server (during "initialize"): its standard output holds something else than JSON-RPC messages; a log belongs on standard error` +
		"\nit sent: ready\n"; err.Error() != want {
		t.Errorf("got  %q\nwant %q", err, want)
	}
}
