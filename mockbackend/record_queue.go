package mockbackend

import "sync"

// maxWaiting is how many bytes of bodies wait to be recorded before the handlers
// wait too.
const maxWaiting = 64 << 20

// A recordQueue is the exchanges that have ended and are not recorded yet. They
// are recorded one after another beside the handlers: finding secrets takes time,
// which no client is to wait for. The goroutine ends when none is left, so that a
// recorder needs no closing.
type recordQueue struct {
	record func(*inFlight)

	mu      sync.Mutex
	cond    sync.Cond // one has been recorded
	waiting []*inFlight
	bytes   int64 // of those that wait, and the one that is being recorded
	room    int64
	running bool
	came    int // how many there have been
	went    int // and how many are recorded
}

func newRecordQueue(record func(*inFlight)) *recordQueue {
	q := &recordQueue{record: record, room: maxWaiting}
	q.cond.L = &q.mu
	return q
}

// add waits for room: one exchange has it in any case.
func (q *recordQueue) add(f *inFlight) {
	size := int64(len(f.body))
	if f.reply != nil {
		size += int64(f.reply.keeps())
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.bytes > 0 && q.bytes+size > q.room {
		q.cond.Wait()
	}
	f.size = size
	q.waiting = append(q.waiting, f)
	q.bytes += size
	q.came++
	if !q.running {
		q.running = true
		go q.run()
	}
}

func (q *recordQueue) run() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) > 0 {
		f := q.waiting[0]
		q.waiting[0] = nil
		q.waiting = q.waiting[1:]
		q.mu.Unlock()
		q.record(f)
		q.mu.Lock()
		q.bytes -= f.size
		q.went++
		q.cond.Broadcast()
	}
	q.waiting, q.running = nil, false
}

// wait returns when all that has come until now is recorded.
func (q *recordQueue) wait() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for all := q.came; q.went < all; {
		q.cond.Wait()
	}
}
