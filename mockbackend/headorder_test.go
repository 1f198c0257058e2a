package mockbackend_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/touchstone/mockbackend"
)

// TestHeaderOrder: what a stub lists goes out in its order and spelling, answer
// after answer on one connection.
func TestHeaderOrder(t *testing.T) {
	const listed = `"headers":[["Set-Cookie","a=1"],["x-ODD","1"],["Set-Cookie","b=2"],["A-Last",""]]`
	want := []string{"Set-Cookie: a=1", "x-ODD: 1", "Set-Cookie: b=2", "A-Last: "}
	for _, secure := range []bool{false, true} {
		srv := start(t, mockbackend.Options{TLS: secure})
		add(t, srv, `{"match":{"path":"/small"},"respond":{`+listed+`,"text":"hello"}}`)
		add(t, srv, `{"match":{"path":"/none"},"respond":{"status":204,`+listed+`}}`)
		add(t, srv, `{"match":{"path":"/interim"},"respond":{`+listed+`,"text":"hello","interim":[{"status":103,"headers":[["Z","1"],["Link","</a>"]]},{"status":102}]}}`)
		add(t, srv, `{"match":{"path":"/slow"},"respond":{`+listed+`,"text":"hello","delay":{"ms":1}}}`)
		add(t, srv, `{"match":{"path":"/sorted"},"respond":{"headers":[["A","1"],["B","2"]],"text":"hello"}}`)
		for _, size := range []int{5000, 100_000} {
			add(t, srv, fmt.Sprintf(`{"match":{"path":"/body/%d"},"respond":{%s,"text":"%s"}}`, size, listed, strings.Repeat("x", size)))
		}
		long := strings.Repeat("v", 9000) // more than net/http writes at once
		add(t, srv, `{"match":{"path":"/long"},"respond":{"headers":[["Z","`+long+`"],["B","1"]],"text":"hello"}}`)

		conn, err := net.Dial("tcp", srv.URL()[strings.LastIndexByte(srv.URL(), '/')+1:])
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if secure {
			roots := srv.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
			conn = tls.Client(conn, &tls.Config{RootCAs: roots, ServerName: "localhost", NextProtos: []string{"http/1.1"}})
		}
		r := bufio.NewReader(conn)
		for _, tc := range []struct {
			method, path string
			status       string
			want         []string
			body         int
		}{
			{"GET", "/small", "200 OK", want, 5},
			{"HEAD", "/small", "200 OK", want, 0},
			{"GET", "/none", "204 No Content", want, 0},
			{"GET", "/interim", "200 OK", want, 5},
			{"GET", "/slow", "200 OK", want, 5},
			{"GET", "/sorted", "200 OK", []string{"A: 1", "B: 2"}, 5},
			{"GET", "/body/5000", "200 OK", want, 5000},
			{"GET", "/body/100000", "200 OK", want, 100_000},
			{"GET", "/long", "200 OK", []string{"Z: " + long, "B: 1"}, 5},
			{"GET", "/small", "200 OK", want, 5},
		} {
			if _, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: mock\r\n\r\n", tc.method, tc.path); err != nil {
				t.Fatal(err)
			}
			if tc.path == "/interim" {
				if got, want := readHead(t, r), "HTTP/1.1 103 Early Hints\r\nZ: 1\r\nLink: </a>\r\n\r\n"; got != want {
					t.Errorf("interim answer %q, want %q", got, want)
				}
				if got := readHead(t, r); got != "HTTP/1.1 102 Processing\r\n\r\n" {
					t.Errorf("interim answer %q", got)
				}
			}
			head := strings.Split(readHead(t, r), "\r\n")
			if head[0] != "HTTP/1.1 "+tc.status {
				t.Errorf("%s %s: %s", tc.method, tc.path, head[0])
			}
			var got []string
			for _, line := range head[1 : len(head)-2] {
				switch name, _, _ := strings.Cut(line, ":"); name {
				case "Date", "Content-Length", "Content-Type":
				default:
					got = append(got, line)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("TLS %t, %s %s: fields (-want +got):\n%s", secure, tc.method, tc.path, diff)
			}
			if n, err := io.CopyN(io.Discard, r, int64(tc.body)); err != nil {
				t.Fatalf("%s %s: %d bytes of body, %v", tc.method, tc.path, n, err)
			}
		}
		if r.Buffered() > 0 {
			t.Error("there is more than the answers")
		}
	}
}
