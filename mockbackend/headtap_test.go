package mockbackend

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.com/touchstone/schemas"
)

// Heads come out whole wherever the network cuts the stream.
func TestHeadTap(t *testing.T) {
	heads := []string{
		"POST /1 HTTP/1.1\r\nHost: m\r\nContent-Length: 6\r\n\r\n",
		"POST /2 HTTP/1.1\nTransfer-Encoding: chunked\n\n",
		"GET /3 HTTP/1.1\r\nA: 1\r\n\r\n",
		// No handler upgrades, so that the connection goes on as it was.
		"GET /4 HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
		"GET /5 HTTP/1.1\r\nb: 2\r\nA: 1\r\n\r\n",
	}
	stream := heads[0] + "hi\r\n\r\n" + "\r\n" + heads[1] + "b;x=y\r\nA\r\n\r\nB /x \n\n\r\n0\r\nT: 1\r\n\r\n" + heads[2] + heads[3] + heads[4]
	rapid.Check(t, func(t *rapid.T) {
		var tap headTap
		for rest := []byte(stream); len(rest) > 0; {
			n := rapid.IntRange(1, min(len(rest), 60)).Draw(t, "piece")
			tap.feed(rest[:n])
			rest = rest[n:]
		}
		var got []string
		for head := tap.next(nil); head != nil; head = tap.next(nil) {
			got = append(got, string(head))
		}
		if diff := cmp.Diff(heads, got); diff != "" {
			t.Errorf("heads (-want +got):\n%s", diff)
		}
	})
}

// A folded line belongs to the field before it (RFC 9112, section 5.2).
func TestParseFieldsUnfolds(t *testing.T) {
	got := parseFields([]byte("X-A: one\r\n two: 3\r\n\tfour \r\nx-b:\r\n five\r\n"))
	want := schemas.StubHeaders{{Name: "X-A", Value: "one two: 3 four"}, {Name: "x-b", Value: "five"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}
