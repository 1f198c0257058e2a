package mockbackend

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"example.com/touchstone/schemas"
)

// faultKinds are the faults that a stub can have, by name.
var faultKinds = map[string]faultKind{
	"stall-before-headers": {
		about:  "Reads the request and says nothing.",
		params: []string{"durationMs"},
		run: func(x sender, _ *reply, f schemas.StubFault) error {
			return x.stall(milliseconds(f.DurationMs))
		},
	},
	"stall-after-headers": {
		inBody: true, least: atLeast(1),
		about:  "Sends the headers, then nothing more.",
		params: []string{"durationMs"},
		run: func(x sender, r *reply, f schemas.StubFault) error {
			if err := x.writeHead(r, framedByLength); err != nil {
				return err
			}
			return x.stall(milliseconds(f.DurationMs))
		},
	},
	"stall-in-body": {
		inBody: true, least: afterPart,
		about:  "Sends the headers and the first afterBytes of the body (default half), then nothing more.",
		params: []string{"afterBytes", "durationMs"},
		run: func(x sender, r *reply, f schemas.StubFault) error {
			if err := x.writeHead(r, framedByLength); err != nil {
				return err
			}
			if err := x.writeBody(r.part(f.AfterBytes)); err != nil {
				return err
			}
			return x.stall(milliseconds(f.DurationMs))
		},
	},
	"stall-in-chunk-header": {
		inBody: true,
		about:  "Sends the first afterBytes of the body (default half) as a chunk, then half the size of the next chunk, then nothing more.",
		params: []string{"afterBytes", "durationMs"},
		raw: func(x *wire, r *reply, f schemas.StubFault) error {
			if err := x.writeHead(r, framedByChunks); err != nil {
				return err
			}
			if err := x.writeBody(r.part(f.AfterBytes)); err != nil {
				return err
			}
			if err := x.write([]byte("1")); err != nil {
				return err
			}
			return x.stall(milliseconds(f.DurationMs))
		},
	},
	"drip": {
		inBody: true, least: func(f schemas.StubFault) int64 { return orDefault(f.Bytes, 1) + 1 },
		about:  "Sends the body in pieces of bytes (default 1), with intervalMs (default 100) between them.",
		params: []string{"bytes", "intervalMs"},
		run:    runDrip,
	},
	"endless-body": {
		inBody: true,
		about:  "Sends pieces of bytes (default 65536), one every intervalMs (default 0), until the client leaves.",
		params: []string{"bytes", "intervalMs"},
		run:    runEndless,
	},
	"close-before-headers": {
		about: "Closes the connection in order, without an answer.",
		raw:   func(*wire, *reply, schemas.StubFault) error { return nil },
	},
	"half-status-line": {
		about: "Closes the connection in the middle of the status line.",
		raw: func(x *wire, r *reply, _ schemas.StubFault) error {
			line, _, _ := bytes.Cut(r.wireHead(nil), []byte("\r\n"))
			x.reach(PhaseHead)
			return x.write(line[:len("HTTP/1.1 2")])
		},
	},
	"half-headers": {
		about: "Closes the connection in the middle of the last header.",
		raw: func(x *wire, r *reply, _ schemas.StubFault) error {
			head := bytes.TrimSuffix(r.wireHead(nil), []byte("\r\n\r\n"))
			last := bytes.LastIndexByte(head, '\n') + 1
			if last == 0 { // there is no header at all
				head = append(head, "\r\n"...)
				last = len(head)
			}
			x.reach(PhaseHead)
			return x.write(head[:last+(len(head)-last)/2])
		},
	},
	"reset": {
		least: afterPart, withHead: true,
		about:  "Resets the connection (TCP RST) after afterBytes of the answer, status line included (default 0).",
		params: []string{"afterBytes"},
		raw:    runReset,
	},
	"truncated-body": {
		inBody: true, least: afterPart,
		about:  "Announces the whole body with Content-Length, sends its first afterBytes (default half) and closes.",
		params: []string{"afterBytes"},
		raw: func(x *wire, r *reply, f schemas.StubFault) error {
			if err := x.writeHead(r, framedByLength); err != nil {
				return err
			}
			return x.writeBody(r.part(f.AfterBytes))
		},
	},
	"content-length-too-long": {
		inBody: true,
		about:  "Announces bytes (default 10) more than the body has, and closes after it.",
		params: []string{"bytes"},
		raw: func(x *wire, r *reply, f schemas.StubFault) error {
			return x.sendAnnounced(r, contentLength(len(r.body)+int(orDefault(f.Bytes, 10))))
		},
	},
	"content-length-too-short": {
		inBody: true, least: atLeast(1),
		about:  "Announces bytes (default half) less than the body has, and sends it whole.",
		params: []string{"bytes"},
		raw: func(x *wire, r *reply, f schemas.StubFault) error {
			less := int(orDefault(f.Bytes, int64(len(r.body)+1)/2))
			return x.sendAnnounced(r, contentLength(max(len(r.body)-less, 0)))
		},
	},
	"content-length-twice": {
		about: "Announces the length of the body, and a second one that is different.",
		raw: func(x *wire, r *reply, _ schemas.StubFault) error {
			return x.sendAnnounced(r, append(contentLength(len(r.body)), contentLength(len(r.body)+1)...))
		},
	},
	"malformed-chunk": {
		inBody: true,
		about:  "Sends one good chunk, then a chunk whose size is not a number.",
		raw: func(x *wire, r *reply, _ schemas.StubFault) error {
			if err := x.writeHead(r, framedByChunks); err != nil {
				return err
			}
			if err := x.writeBody(r.body[:(len(r.body)+1)/2]); err != nil {
				return err
			}
			return x.write([]byte("zz\r\nnot a chunk\r\n"))
		},
	},
	"missing-last-chunk": {
		inBody: true,
		about:  "Sends the whole body in a chunk and closes without the last chunk, which would end it.",
		raw: func(x *wire, r *reply, _ schemas.StubFault) error {
			if err := x.writeHead(r, framedByChunks); err != nil {
				return err
			}
			return x.writeBody(r.body)
		},
	},
	"garbage": {
		about:  "Answers with bytes (default 512) that are not HTTP.",
		params: []string{"bytes"},
		raw: func(x *wire, _ *reply, f schemas.StubFault) error {
			size := int(orDefault(f.Bytes, 512))
			pattern := []byte("\x00\xff\x16\x03garbage\x7f\x80\r\n")
			return x.write(bytes.Repeat(pattern, size/len(pattern)+1)[:size])
		},
	},
	"wrong-content-type": {
		about:   "Labels the body as what it is not: JSON as text/html, anything else as application/json.",
		rewrite: mislabel,
	},
	"wrong-encoding": {
		inBody: true, least: atLeast(1),
		about: "Labels the body as gzip, which it is not.",
		rewrite: func(r *reply, _ *request, _ schemas.StubFault) *reply {
			return r.labelled("Content-Encoding", "gzip", r.body)
		},
	},
	"compressed-bomb": {
		inBody:   true,
		about:    "Answers with a small gzip body that unpacks to bytes (default 67108864, at most 1073741824) of zeros.",
		params:   []string{"bytes"},
		maxBytes: 1 << 30,
		rewrite: func(r *reply, _ *request, f schemas.StubFault) *reply {
			return r.labelled("Content-Encoding", "gzip", gzipZeros(orDefault(f.Bytes, 64<<20)))
		},
	},
	"redirect-loop": {
		about:   "Redirects to itself, without end, with its status or 302; the query parameter hop counts.",
		rewrite: redirectToSelf,
	},
	"http2-reset-stream": {
		about:  "Ends the HTTP/2 stream with RST_STREAM (INTERNAL_ERROR), in place of an answer, or after afterBytes of its body.",
		params: []string{"afterBytes"},
		http2: func(x *stream, r *reply, f schemas.StubFault) error {
			if f.AfterBytes == nil {
				return nil
			}
			if err := x.writeHead(r, framedByLength); err != nil {
				return err
			}
			return x.writeBody(r.part(f.AfterBytes))
		},
	},
	"http2-goaway": {
		about: "Ends the HTTP/2 connection with GOAWAY (INTERNAL_ERROR), in place of an answer.",
		http2: func(x *stream, _ *reply, _ schemas.StubFault) error { return x.goAway() },
	},
}

// runReset lets the bytes sent before the reset arrive: a reset overtakes what
// is still in the buffers.
func runReset(x *wire, r *reply, f schemas.StubFault) error {
	if n := deref(f.AfterBytes); n > 0 {
		head := r.wireHead(nil)
		ofHead := min(n, int64(len(head)))
		x.reach(PhaseHead)
		if err := x.write(head[:ofHead]); err != nil {
			return err
		}
		if ofHead == int64(len(head)) {
			x.sent.Status = r.status
			x.reach(PhaseHeadSent)
		}
		if err := x.writeBody(r.body[:min(n-ofHead, int64(len(r.body)))]); err != nil {
			return err
		}
		if err := x.pause(resetPause); err != nil {
			return err
		}
	}
	return x.reset()
}

func runDrip(x sender, r *reply, f schemas.StubFault) error {
	if err := x.writeHead(r, framedByLength); err != nil {
		return err
	}
	interval := milliseconds(int(orDefault(int64(f.IntervalMs), 100)))
	first := true
	for piece := range slices.Chunk(r.body, int(orDefault(f.Bytes, 1))) {
		if !first {
			if err := x.pause(interval); err != nil {
				return err
			}
		}
		first = false
		if err := x.writeBody(piece); err != nil {
			return err
		}
	}
	return x.writeEnd()
}

func runEndless(x sender, r *reply, f schemas.StubFault) error {
	if err := x.writeHead(r, framedByChunks); err != nil {
		return err
	}
	size := int(orDefault(f.Bytes, 64<<10))
	filler := r.body
	if len(filler) == 0 {
		filler = []byte("no end in sight ")
	}
	piece := bytes.Repeat(filler, size/len(filler)+1)[:size]
	for {
		if err := x.writeBody(piece); err != nil {
			return err
		}
		if f.IntervalMs > 0 {
			if err := x.pause(milliseconds(f.IntervalMs)); err != nil {
				return err
			}
		}
	}
}

// redirects are the statuses that send a client to the Location (RFC 9110,
// section 15.4).
var redirects = []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect}

func redirectToSelf(r *reply, q *request, _ schemas.StubFault) *reply {
	status := http.StatusFound
	if slices.Contains(redirects, r.status) {
		status = r.status
	}
	query := parseQuery(q.URL.RawQuery)
	hop, _ := strconv.Atoi(query.Get("hop"))
	query.Set("hop", strconv.Itoa(hop+1))
	location := q.URL.EscapedPath() + "?" + query.Encode()
	if strings.HasPrefix(location, "//") {
		location = "/." + location // else what follows would be a host (RFC 3986, section 4.2)
	}
	return newReply(status, "", nil, schemas.StubHeader{Name: "Location", Value: location})
}

func mislabel(r *reply, _ *request, _ schemas.StubFault) *reply {
	label := "application/json"
	if _, err := decodeJSON(r.body); err == nil {
		label = "text/html; charset=utf-8"
	}
	return r.labelled("Content-Type", label, r.body)
}

// labelled is the reply with another body and one header set.
func (r *reply) labelled(name, value string, body []byte) *reply {
	other := *r
	other.headers = slices.DeleteFunc(slices.Clone(r.headers), func(h schemas.StubHeader) bool { return strings.EqualFold(h.Name, name) })
	other.headers = append(other.headers, schemas.StubHeader{Name: name, Value: value})
	other.body, other.fault, other.impolite = body, nil, nil
	other.prepare("")
	return &other
}
