package mockbackend

import (
	"context"
	"net/http"
	"strings"
	"time"

	"example.com/touchstone/schemas"
)

// A decision is what answers a request.
type decision struct {
	reply *reply
	stub  string
	route string
	near  []NearStub
	fault string // of a fault that is a reply like any other
}

// decide finds the answer: a stub, a ready-made route, or the 404.
func (s *Server) decide(q *request) decision {
	var d decision
	var buf [8]*stub
	candidates := s.index.candidates(q.path, buf[:0])
	for _, c := range candidates {
		why := c.rejects(q, &s.scenarios)
		if why == "" {
			if d.reply = s.claim(c); d.reply != nil {
				d.stub, d.near = c.ID, nil
				break
			}
			why = "has answered its last request"
		}
		if len(d.near) < maxNear {
			d.near = append(d.near, NearStub{c.ID, why})
		}
	}
	if d.reply == nil && !s.opts.StubsOnly {
		d.reply, d.route = s.route(q)
	}
	if d.reply == nil {
		d.near = append(d.near, s.index.nearPaths(q, maxNear-len(d.near))...)
		d.reply = missReply(q, d.near)
	}
	if fault := d.reply.fault; fault != nil {
		if rewrite := faultKinds[fault.Kind].rewrite; rewrite != nil {
			delay := d.reply.delay
			d.reply, d.fault = rewrite(d.reply, q), fault.Kind
			d.reply.delay = delay
		}
	}
	return d
}

// claim takes one answer from a stub and moves its scenario; nil when another
// request was faster.
func (s *Server) claim(c *stub) *reply {
	r := c.claim()
	if r == nil || c.Scenario == nil {
		return r
	}
	if !s.scenarios.advance(c.Scenario.Name, c.Scenario.State, c.Scenario.Next) {
		c.served.Add(-1)
		return nil
	}
	return r
}

// ServeHTTP answers a request as the stubs say.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var head []byte
	tapped, _ := r.Context().Value(tapKey{}).(*tapConn)
	if tapped != nil {
		head = tapped.tap.next()
	}
	if strings.HasPrefix(r.URL.Path, adminPrefix) {
		s.admin.ServeHTTP(w, r)
		return
	}
	start := time.Now()
	q := readRequest(r, s.opts.BodyBytes)
	d := s.decide(q)
	rec := newRecord(q, d, start)
	if rec.head = head; head == nil {
		rec.Header = append(schemas.StubHeaders{{Name: "Host", Value: r.Host}}, sortedHeaders(r.Header)...)
	}
	s.journal.begin(rec)
	sent := Sent{Phase: PhaseBeforeStatus, Fault: d.fault}
	release := func() {}
	// Deferred, as an aborted answer leaves by panic.
	defer func() {
		s.journal.finish(rec, sent)
		release()
	}()
	if d.reply.delay == 0 && d.reply.fault == nil && d.reply.impolite == nil {
		s.sendPolite(w, r, d.reply, &sent)
		return
	}
	if s.sendSlowly(w, r, d.reply, &sent) && tapped != nil {
		// net/http tells of the end of its own connections only.
		release = tapped.release
	}
}

func newRecord(q *request, d decision, start time.Time) *record {
	return &record{Entry: Entry{
		Time: start, Method: q.Method, Target: q.target, Proto: q.Proto, Path: q.path,
		Body: q.body, BodyBytes: q.bodyBytes,
		Stub: d.stub, Route: d.route, Near: d.near,
	}}
}

// sendPolite answers through net/http.
func (s *Server) sendPolite(w http.ResponseWriter, r *http.Request, a *reply, sent *Sent) {
	sent.Status, sent.Phase = a.status, PhaseBody
	n, err := a.send(w, r.Method == http.MethodHead)
	sent.BodyBytes = n
	if err != nil {
		sent.Error = err.Error()
		sent.ClientEnded = s.ctx.Err() == nil
		return
	}
	sent.Phase = PhaseComplete
}

// sendSlowly answers with a delay, a fault, or bytes that net/http would not
// send. It tells whether it took the connection over, and so has closed it.
func (s *Server) sendSlowly(w http.ResponseWriter, r *http.Request, a *reply, sent *Sent) bool {
	// The request's context ends with the client, ours with the server; under
	// another http.Server they are not related.
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	if a.delay > 0 {
		if err := sleep(ctx, a.delay); err != nil {
			sent.Error = "waiting: " + err.Error()
			sent.ClientEnded = s.ctx.Err() == nil
			panic(http.ErrAbortHandler)
		}
	}
	if a.fault == nil && a.impolite == nil {
		s.sendPolite(w, r, a, sent)
		return false
	}
	x, err := takeOver(ctx, s.ctx, w)
	if err != nil {
		sent.Error = err.Error()
		writeReply(w, problem(http.StatusInternalServerError, "This answer needs a connection that can be taken over (HTTP/1.1).", nil))
		return false
	}
	if a.fault != nil {
		err = x.inject(a, r.Method)
	} else {
		err = x.sendRaw(a, r.Method)
	}
	x.close()
	*sent = x.sent
	if err != nil {
		sent.Error = err.Error()
	}
	return true
}
