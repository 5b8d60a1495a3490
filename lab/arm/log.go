package arm

import (
	"sync"
	"time"
)

// maxRequests bounds the log; the oldest go first.
const maxRequests = 20_000

// Request is one request that this Azure answered, for assertions. The lab's own paths are not in the log.
type Request struct {
	Time   time.Time     `json:"time"`
	Took   time.Duration `json:"tookNanos"`
	Method string        `json:"method"`
	Path   string        `json:"path"`
	Query  string        `json:"query,omitempty"`
	Status int           `json:"status"`
	Code   string        `json:"code,omitempty"` // of the error
	// Denied is the action that the caller lacked where that was the reason.
	Denied string `json:"denied,omitempty"`
}

// requestLog is a ring of requests.
type requestLog struct {
	mu     sync.Mutex // guards the fields below
	ring   []Request
	oldest int
	count  uint64
}

// next numbers requests.
func (l *requestLog) next() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
	return l.count
}

func (l *requestLog) add(r Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ring) < maxRequests {
		l.ring = append(l.ring, r)
		return
	}
	l.ring[l.oldest] = r
	l.oldest = (l.oldest + 1) % maxRequests
}

// Requests lists what was asked, oldest first.
func (c *Cloud) Requests() []Request {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	out := make([]Request, 0, len(c.log.ring))
	out = append(out, c.log.ring[c.log.oldest:]...)
	return append(out, c.log.ring[:c.log.oldest]...)
}
