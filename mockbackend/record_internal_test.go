package mockbackend

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// headsOnly is a backend without bodies.
type headsOnly struct{ header http.Header }

func (h headsOnly) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: h.header, Body: http.NoBody, Request: r}, nil
}

// Exchanges without bodies fill a recording too, by their number and by their
// heads.
func TestRecordingIsBounded(t *testing.T) {
	for _, tt := range []struct {
		name        string
		header      http.Header
		room        int64
		least, most int
	}{
		{"number", http.Header{}, 100 << 10, 10, 100},
		{"heads", http.Header{"X-Long": {strings.Repeat("x", 8<<20)}}, maxRecordedBytes, 60, 64},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var last Recorded
			rec, err := NewRecorder("http://shop.test", RecorderOptions{KeepSecrets: true, Transport: headsOnly{tt.header}, Done: func(r Recorded) { last = r }})
			if err != nil {
				t.Fatal(err)
			}
			rec.room = tt.room
			n := 0
			for ; n <= tt.most && last.Skipped == nil; n++ {
				rec.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/a", nil))
			}
			if last.Skipped == nil || !strings.Contains(last.Skipped.Error(), "full") || n <= tt.least {
				t.Errorf("after %d exchanges: %v", n, last.Skipped)
			}
		})
	}
}
