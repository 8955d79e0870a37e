package lsp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"sync"
)

// A message waits in the queue, or says why one that came is none.
type message struct {
	call
	err    *rpcError
	eof    bool            // nothing comes any more
	ctx    context.Context // of a request: ends when it is cancelled
	cancel context.CancelFunc
}

// A queue holds what the reader read and the server has not handled. It is not
// bounded: to cancel a request the reader has to see the message behind it.
type queue struct {
	ready chan struct{} // has an item while messages are waiting

	mu struct {
		sync.Mutex
		waiting []*message
		running *message
	}
}

func newQueue() *queue { return &queue{ready: make(chan struct{}, 1)} }

func (q *queue) put(m *message) {
	q.mu.Lock()
	q.mu.waiting = append(q.mu.waiting, m)
	q.mu.Unlock()
	q.wake()
}

func (q *queue) wake() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// take returns the next message, nil when there is none. It is the running one
// until the next take.
func (q *queue) take() *message {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mu.running = nil
	if len(q.mu.waiting) == 0 {
		return nil
	}
	m := q.mu.waiting[0]
	q.mu.waiting[0] = nil
	q.mu.waiting = q.mu.waiting[1:]
	q.mu.running = m
	if len(q.mu.waiting) > 0 {
		q.wake()
	}
	return m
}

func (q *queue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.mu.waiting) == 0
}

// cancelRequest cancels the request of that id, if it has not been answered.
func (q *queue) cancelRequest(id json.RawMessage) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range append(q.mu.waiting[:len(q.mu.waiting):len(q.mu.waiting)], q.mu.running) {
		if m != nil && m.cancel != nil && bytes.Equal(m.ID, id) {
			m.cancel()
		}
	}
}

// read puts what comes into the queue until the exit of the client or the end of in.
func (q *queue) read(ctx context.Context, in io.Reader) {
	r := bufio.NewReader(in)
	for {
		body, err := readFrame(r)
		bad, ok := err.(*rpcError)
		if err != nil && !ok {
			q.put(&message{eof: true})
			return
		}
		if bad != nil {
			q.put(&message{err: bad})
			continue
		}
		c, bad := parseCall(body)
		switch {
		case bad != nil:
			q.put(&message{err: bad})
		case c == nil: // the response to a request of ours: there are none
		case c.Method == "$/cancelRequest":
			var p struct {
				ID json.RawMessage `json:"id"`
			}
			if json.Unmarshal(c.Params, &p) == nil {
				q.cancelRequest(p.ID)
			}
		default:
			m := &message{call: *c}
			if m.ID != nil {
				m.ctx, m.cancel = context.WithCancel(ctx)
			}
			q.put(m)
			if m.Method == "exit" && m.ID == nil {
				return
			}
		}
	}
}
