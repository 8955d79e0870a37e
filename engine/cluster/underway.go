package cluster

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/starpush/starpush/engine"
)

// Messages from and into the memory of data, without a goroutine that waits for each: with one, a hop of a chain of tasks over two
// ranks took twice as long.

// underway is the messages of a job that have not ended, so that they end with it.
type underway struct {
	mu struct {
		sync.Mutex
		first *transfer
		spare *transfer // some whose memory is used again, linked by next
	}
}

// transfer is a message under way, and the access that keeps its data for it.
type transfer struct {
	j         *Job
	access    *engine.Access
	receives  bool
	size      int // bytes of a receive
	peer, tag int
	resizable bool        // the data has a capacity: see fixedBytes
	starting  atomic.Bool // the call that starts it has not returned
	ended     atomic.Bool
	refs      atomic.Int32 // references: the call that starts it, the Comm until it has called back, and goroutines that end it; at 0 it goes to spare

	onSent     func(error) // x.sent and x.received
	onReceived func(int, error)

	prev, next *transfer // guarded by underway.mu
}

// begin returns a transfer that has a until it ends.
func (j *Job) begin(a *engine.Access, receives bool, size, peer, tag int) *transfer {
	u := &j.underway
	u.mu.Lock()
	x := u.mu.spare
	if x != nil {
		u.mu.spare = x.next
	} else {
		x = &transfer{j: j}
		x.onSent, x.onReceived = x.sent, x.received
	}
	x.access, x.receives, x.size, x.peer, x.tag, x.resizable = a, receives, size, peer, tag, a.Handle().Resizable()
	x.prev = nil
	x.starting.Store(true)
	x.ended.Store(false)
	x.refs.Store(2)
	if x.next = u.mu.first; x.next != nil {
		x.next.prev = x
	}
	u.mu.first = x
	u.mu.Unlock()
	return x
}

// started notes that the call which starts x has returned. A job that has ended does not wait for its messages: their
// memory belongs to the Comm until its end.
func (x *transfer) started() {
	x.starting.Store(false)
	if x.j.ctx.Err() != nil {
		x.end(context.Cause(x.j.ctx))
	}
	x.free()
}

// free gives the memory of x back, if nothing uses it any more.
func (x *transfer) free() {
	if x.refs.Add(-1) > 0 {
		return
	}
	u := &x.j.underway
	x.access = nil
	u.mu.Lock()
	x.next, u.mu.spare = u.mu.spare, x
	u.mu.Unlock()
}

// sendFrom sends data, the memory of a, which it releases when the message has gone; with ssend, when its receive has started.
func (j *Job) sendFrom(a *engine.Access, data []byte, to, tag int, ssend bool) {
	x := j.begin(a, false, 0, to, tag)
	j.watch.sends(to, tag, true)
	j.post(to, tag, data, x.onSent, ssend)
	x.started()
}

func (x *transfer) sent(err error) {
	x.j.watch.sent()
	if err != nil {
		_ = x.j.fail(err)
	}
	x.end(nil)
	x.free()
}

// receiveInto receives a message into data, the memory of a, which it releases then.
func (j *Job) receiveInto(a *engine.Access, data []byte, from, tag int) {
	x := j.begin(a, true, len(data), from, tag)
	j.watch.receives(from, tag, true)
	j.comm.Recv(from, tag, data, x.onReceived)
	x.started()
}

// received ends a receive. The job may have ended before, and released the access.
func (x *transfer) received(n int, err error) {
	x.j.watch.received(x.peer, x.tag, true)
	switch {
	case err != nil:
		x.end(x.j.fail(err))
	case n == x.size:
		if x.resizable {
			x.j.figures.addBytes(x.peer, x.j.rank, int64(n))
		}
		x.end(nil)
	default:
		go func() {
			x.end(x.j.checkReceived(n, x.size, x.peer, x.tag))
			x.free()
		}()
		return
	}
	x.free()
}

// end releases the access of x, unless it was: with an error its data has lost the value.
func (x *transfer) end(err error) {
	if x.ended.Swap(true) {
		return
	}
	a, receives := x.access, x.receives
	u := &x.j.underway
	u.mu.Lock()
	if x.prev == nil {
		u.mu.first = x.next
	} else {
		x.prev.next = x.next
	}
	if x.next != nil {
		x.next.prev = x.prev
	}
	u.mu.Unlock()
	// The goroutine of the Comm must not wait for copies between memories, or run tasks. In the call that starts the message the next one would start in
	// turn, and so on.
	if x.starting.Load() || !x.j.releasesFast {
		go x.j.release(a, receives, err)
		return
	}
	x.j.release(a, receives, err)
}

// release releases the access of a message. Data without its message has lost its value.
func (j *Job) release(a *engine.Access, receives bool, err error) {
	if err != nil && receives {
		_ = a.Fail(err)
	} else {
		_ = a.Release()
	}
	j.transfers.Done()
}

// endTransfers ends what is under way, because the job has.
func (j *Job) endTransfers() {
	err := context.Cause(j.ctx)
	for {
		j.underway.mu.Lock()
		x := j.underway.mu.first
		if x != nil {
			x.refs.Add(1)
		}
		j.underway.mu.Unlock()
		if x == nil {
			return
		}
		x.end(err)
		x.free()
	}
}
