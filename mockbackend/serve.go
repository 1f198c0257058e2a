package mockbackend

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// A decision is what answers a request.
type decision struct {
	reply *reply
	stub  string
	hash  uint64 // of stub
	route string
	near  []NearStub
	fault string // of a fault that is a reply like any other
	err   string // why the answer is not the one that the stub has
}

// decide finds the answer: a stub, a ready-made route, or the 404.
func (s *Server) decide(q *request) decision {
	var d decision
	var buf [8]*stub
	var over, locked bool // over: a sequence that then gives the 404 has done so
	for _, c := range q.scope.index.candidates(q.path, buf[:0]) {
		if c.Scenario != nil && !locked {
			locked = true
			q.scope.scenarios.deciding.Lock()
			defer q.scope.scenarios.deciding.Unlock()
		}
		// Only the first are told of, should none match.
		why := c.rejects(q, &q.scope.scenarios, len(d.near) < maxNear)
		if why == "" {
			if reply, count := c.claim(); reply != nil {
				d.reply, d.stub, d.hash, d.near = reply, c.ID, c.idHash, nil
				if c.Scenario != nil {
					q.scope.scenarios.set(c.Scenario.Name, c.Scenario.Next)
				}
				if reply.template != nil {
					d.fill(q, c, count)
				}
				break
			}
			over = over || c.ends
			why = "has answered its last request"
		}
		if len(d.near) < maxNear {
			d.near = append(d.near, NearStub{c.ID, why})
		}
	}
	if d.reply == nil && !s.opts.StubsOnly && !over {
		d.reply, d.route = s.route(q)
	}
	if d.reply == nil {
		d.near = append(d.near, q.scope.index.nearPaths(q, maxNear-len(d.near))...)
		d.reply = missReply(q, d.near)
	}
	if d.reply.fault != nil {
		d.applyFault(q)
	}
	return d
}

// applyFault makes another reply of one whose fault is a reply, and drops a
// fault that would not show: nobody shall look for what was not there.
func (d *decision) applyFault(q *request) {
	fault, kind, delay := *d.reply.fault, d.reply.faultKind(), d.reply.delay
	err := d.reply.shows() // the body of a template is known only now
	switch {
	case err != nil, kind.inBody && q.Method == http.MethodHead:
		plain := *d.reply
		plain.fault = nil
		d.reply = &plain
		if err != nil {
			d.err = err.Error()
		}
	case kind.rewrite != nil:
		d.reply, d.fault = kind.rewrite(d.reply, q, fault), fault.Kind
		d.reply.delay = delay
	}
}

// fill makes the reply of a template.
func (d *decision) fill(q *request, from *stub, count int64) {
	made, err := d.reply.render(q, from.pattern, count)
	if err != nil {
		d.err = "filling in the template: " + err.Error()
		made = problem(http.StatusInternalServerError, fmt.Sprintf("The template of the stub %s cannot be filled in from this request: %v.", from.ID, err), nil)
	}
	d.reply = made
}

// ServeHTTP answers a request as the stubs say.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor > 1 {
		s.conns.enter()
		defer s.conns.leave()
	}
	tapped, _ := r.Context().Value(connKey{}).(*tapConn)
	if tapped != nil && r.TLS == nil {
		r.TLS = tapped.tls
	}
	q := newRequest(r)
	if tapped != nil {
		q.head = tapped.tap.next(q.head)
	}
	if err := s.place(q); err != nil {
		writeReply(w, refusal(problemScope, err.Error(), nil))
		q.release()
		return
	}
	if strings.HasPrefix(q.path, adminPrefix) || q.path == strings.TrimSuffix(adminPrefix, "/") {
		s.admin.ServeHTTP(w, forAdmin(q))
		q.release()
		return
	}
	if s.servePage(w, q) {
		q.release()
		return
	}
	if len(q.head) == 0 {
		q.rebuildHead()
	}
	var stop func() bool
	if q.hasBody() {
		// Of a scope that is dropped, no body is waited for.
		stop = context.AfterFunc(q.scope.ctx, func() { _ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0)) })
	}
	d := s.receive(q)
	defer s.done(q) // deferred, as an aborted answer leaves by panic
	if stop != nil && !stop() {
		q.sent.Error = errScopeDropped.Error()
		panic(http.ErrAbortHandler)
	}
	if d.reply.play != nil {
		ctx, cancel := context.WithCancel(q.Context())
		defer cancel()
		defer context.AfterFunc(q.scope.ctx, cancel)()
		d.reply.play(ctx, w, q)
		return
	}
	if d.reply.delay == nil && d.reply.fault == nil && d.reply.impolite == nil {
		s.sendPolite(w, q, d.reply)
		return
	}
	s.sendSlowly(w, q, d.reply)
}

// done ends what began with [Server.receive].
func (s *Server) done(q *request) {
	q.scope.journal.finish(q.seq, q.sent)
	taken := q.taken
	q.release()
	if taken != nil {
		// net/http tells of the end of its own connections only.
		s.conns.release(taken)
	}
}

// receive enters a request into the journal, when it arrives and when its body
// is there, and decides what answers it.
func (s *Server) receive(q *request) decision {
	if !q.hasBody() {
		d := s.decide(q)
		q.sent = Sent{Phase: PhaseBeforeStatus, Fault: d.fault, Error: d.err}
		q.seq = q.scope.journal.begin(q, &d)
		return d
	}
	q.seq = q.scope.journal.begin(q, nil)
	q.readBody(s.opts.BodyBytes)
	d := s.decide(q)
	q.sent = Sent{Phase: PhaseBeforeStatus, Fault: d.fault, Error: d.err, ClientEnded: q.clientLeft() && !q.scope.ended()}
	q.scope.journal.decided(q.seq, q, &d)
	return d
}

// bigBody is the size from which a body may not fit into the buffers between
// the client and us, so that sending it takes as long as the client likes.
const bigBody = 64 << 10

// sendPolite answers through net/http.
func (s *Server) sendPolite(w http.ResponseWriter, q *request, a *reply) {
	q.sent.Status, q.sent.Phase = a.status, PhaseBody
	if len(a.body) >= bigBody {
		q.reach(PhaseBody)
	}
	if a.order != nil {
		if tapped, ok := q.Context().Value(connKey{}).(*tapConn); ok && q.ProtoMajor == 1 {
			tapped.order = a.order
		}
	}
	n, err := a.send(w, q.Method == http.MethodHead)
	q.sent.BodyBytes = n
	if err != nil {
		q.sent.Error = err.Error()
		q.sent.ClientEnded = !q.scope.ended()
		return
	}
	q.sent.Phase = PhaseComplete
}

// sendSlowly answers with a delay, a fault, or bytes that net/http would not
// send.
func (s *Server) sendSlowly(w http.ResponseWriter, q *request, a *reply) {
	// The request's context ends with the client, ours with the server; under
	// another http.Server they are not related.
	ctx, cancel := context.WithCancel(q.Context())
	defer cancel()
	defer context.AfterFunc(q.scope.ctx, cancel)()
	if d := a.delay.next(); d > 0 {
		if err := sleep(ctx, d); err != nil {
			q.sent.Error = "waiting: " + err.Error()
			q.sent.ClientEnded = !q.scope.ended()
			panic(http.ErrAbortHandler)
		}
	}
	if a.fault == nil && a.politeTo(q.Method) {
		s.sendPolite(w, q, a)
		return
	}
	if err := a.checkProtocol(q.ProtoMajor); err != nil {
		q.sent.Fault, q.sent.Error = "", err.Error()
		s.sendPolite(w, q, problem(http.StatusHTTPVersionNotSupported, err.Error(), nil))
		return
	}
	if q.ProtoMajor > 1 {
		x := &stream{request: q, w: w, ctx: ctx}
		x.inject(a)
		return
	}
	x, err := takeOver(ctx, q, w)
	if err != nil {
		q.sent.Error = err.Error()
		s.sendPolite(w, q, problem(http.StatusInternalServerError, "This answer cannot be sent here: "+err.Error()+".", nil))
		return
	}
	if a.fault != nil {
		err = x.inject(a)
	} else {
		err = x.sendRaw(a)
	}
	x.close()
	q.taken = x.conn
	if err != nil {
		q.sent.Error = err.Error()
	}
}

// checkProtocol refuses what the version of HTTP cannot do.
func (r *reply) checkProtocol(major int) error {
	const wayOut = "a client that speaks HTTP/1.1 gets it"
	switch kind := r.faultKind(); {
	case major == 1 && kind.http2 != nil:
		return fmt.Errorf("the fault %s needs HTTP/2, which comes with TLS; this request is HTTP/1", r.fault.Kind)
	case major > 1 && kind.raw != nil:
		return fmt.Errorf("the fault %s needs HTTP/1.1; this request is HTTP/2: %s", r.fault.Kind, wayOut)
	case major > 1 && r.impolite != nil:
		return fmt.Errorf("the answer %w (%s), which needs HTTP/1.1; this request is HTTP/2: %s", r.impolite.Err, r.impolite.Pointer, wayOut)
	}
	return nil
}

// sleep waits for d or until the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
