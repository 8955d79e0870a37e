package sched

// Queues that policies are made of.

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// ring is a queue with one producer and any number of consumers.
type ring struct {
	head atomic.Uint32
	_    [60]byte
	tail atomic.Uint32
	seen uint32 // producer's last look at head
	_    [56]byte
	buf  []atomic.Pointer[Item]
}

func (r *ring) init(n int) { r.buf = make([]atomic.Pointer[Item], n) } // n is a power of two

// set fills slot t. No consumer uses the slot before tail includes it: one that reads it
// earlier finds that head has moved and drops the value. So no bus lock is needed, except
// for the race detector.
func (r *ring) set(t uint32, it *Item) {
	slot := &r.buf[int(t)&(len(r.buf)-1)]
	if raceOn {
		slot.Store(it)
	} else {
		*(**Item)(unsafe.Pointer(slot)) = it
	}
}

// free returns how many items fit. For the producer.
func (r *ring) free() int {
	t := r.tail.Load()
	r.seen = r.head.Load()
	return len(r.buf) - int(t-r.seen)
}

// push is for the producer; false: the ring is full.
func (r *ring) push(it *Item) bool {
	t := r.tail.Load()
	if int(t-r.seen) >= len(r.buf) && r.free() == 0 {
		return false
	}
	r.set(t, it)
	r.tail.Store(t + 1)
	return true
}

// pushAll pushes as many of the items as fit and returns how many those are.
func (r *ring) pushAll(items []*Item) int {
	n := min(len(items), r.free())
	if n == 0 {
		return 0
	}
	t := r.tail.Load()
	for i, it := range items[:n] {
		r.set(t+uint32(i), it)
	}
	r.tail.Store(t + uint32(n))
	return n
}

func (r *ring) pop() *Item {
	for {
		h := r.head.Load()
		if h == r.tail.Load() {
			return nil
		}
		it := r.buf[int(h)&(len(r.buf)-1)].Load()
		if r.head.CompareAndSwap(h, h+1) {
			return it
		}
	}
}

// peek returns the oldest item, which another worker may have taken already.
func (r *ring) peek() *Item {
	h := r.head.Load()
	if h == r.tail.Load() {
		return nil
	}
	return r.buf[int(h)&(len(r.buf)-1)].Load()
}

// most is how many items change queues at a time.
const most = 32

// take takes half of the items: the oldest is returned, the others go to the
// caller's own queue. They are written there first, so that hardly a moment
// passes in which others find them nowhere and go to sleep.
func (r *ring) take(own *ring) *Item {
	t, room := own.tail.Load(), -1
	for {
		h := r.head.Load()
		n := r.tail.Load() - h
		if n == 0 {
			return nil
		}
		if n > uint32(len(r.buf)) { // head moved between the two loads
			continue
		}
		if n = (n + 1) / 2; n > 1 {
			if room < 0 {
				room = own.free()
			}
			n = min(n, most, uint32(room)+1)
		}
		it := r.buf[int(h)&(len(r.buf)-1)].Load()
		for i := uint32(1); i < n; i++ {
			own.set(t+i-1, r.buf[int(h+i)&(len(r.buf)-1)].Load())
		}
		if r.head.CompareAndSwap(h, h+n) {
			if n > 1 {
				own.tail.Store(t + n - 1)
			}
			return it
		}
	}
}

func (r *ring) empty() bool { return r.head.Load() == r.tail.Load() }

// fifo is a queue for any number of producers and consumers.
type fifo struct {
	n  atomic.Int32
	mu struct {
		sync.Mutex
		items []*Item
		head  int
	}
}

func (q *fifo) push(it *Item) {
	q.mu.Lock()
	q.mu.items = append(q.mu.items, it)
	q.n.Add(1)
	q.mu.Unlock()
}

func (q *fifo) pop() *Item { return q.take(nil) }

// take takes several items: the oldest is returned, the others go to the caller's
// own queue, if it has one. Meanwhile the queue does not look empty.
func (q *fifo) take(own *ring) *Item {
	if q.n.Load() == 0 {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	items := q.mu.items[q.mu.head:]
	if len(items) == 0 {
		return nil
	}
	it, n := items[0], 1
	if own != nil {
		n += own.pushAll(items[1:min(most, len(items))])
	}
	clear(items[:n])
	q.mu.head += n
	q.n.Add(int32(-n))
	switch {
	case q.mu.head == len(q.mu.items):
		q.mu.items, q.mu.head = q.mu.items[:0], 0
	case q.mu.head > 1024 && q.mu.head > len(q.mu.items)/2:
		m := copy(q.mu.items, q.mu.items[q.mu.head:])
		clear(q.mu.items[m:])
		q.mu.items, q.mu.head = q.mu.items[:m], 0
	}
	return it
}

// popNewest takes the item that was pushed last.
func (q *fifo) popNewest() *Item {
	if q.n.Load() == 0 {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	last := len(q.mu.items) - 1
	if last < q.mu.head {
		return nil
	}
	it := q.mu.items[last]
	q.mu.items[last] = nil
	q.mu.items = q.mu.items[:last]
	if last == q.mu.head {
		q.mu.items, q.mu.head = q.mu.items[:0], 0
	}
	q.n.Add(-1)
	return it
}

// heap is a queue by priority, for any number of producers and consumers.
type heap struct {
	n  atomic.Int32
	mu struct {
		sync.Mutex
		items []*Item
		none  workerSet // workers that looked, and may run none of them
	}
}

func (q *heap) push(it *Item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.n.Add(1)
	q.mu.none.remove(it.Allowed)
	a := append(q.mu.items, it)
	i := len(a) - 1
	for i > 0 {
		p := (i - 1) / 2
		if !a[i].before(a[p]) {
			break
		}
		a[i], a[p] = a[p], a[i]
		i = p
	}
	q.mu.items = a
}

func (q *heap) pop() *Item {
	if q.n.Load() == 0 {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.mu.items) == 0 {
		return nil
	}
	return q.removeLocked(0)
}

// better reports whether the first item of q goes before the first one of o, which
// may have changed when the caller comes to take it.
func (q *heap) better(o *heap) bool {
	if q.n.Load() == 0 {
		return false
	}
	qp, qn, ok := q.head()
	op, on, also := o.head()
	return ok && (!also || qp > op || qp == op && qn < on)
}

// head is the priority and the number of the first item.
func (q *heap) head() (priority int32, order int64, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.mu.items) == 0 {
		return 0, 0, false
	}
	return q.mu.items[0].Priority, q.mu.items[0].Order, true
}

// popFor takes an item that worker w may run.
func (q *heap) popFor(w int) *Item {
	if q.n.Load() == 0 {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.none.has(w) {
		return nil
	}
	for i, it := range q.mu.items {
		if it.Allowed.Has(w) {
			return q.removeLocked(i)
		}
	}
	q.mu.none.add(w)
	return nil
}

// workerSet is a set of workers that changes. With it a worker searches a queue that holds
// many items, none of them for this worker, once instead of each time it looks for work.
type workerSet []uint64

func (s workerSet) has(w int) bool { return w/64 < len(s) && s[w/64]&(1<<(w%64)) != 0 }

func (s *workerSet) add(w int) {
	for w/64 >= len(*s) {
		*s = append(*s, 0)
	}
	(*s)[w/64] |= 1 << (w % 64)
}

// remove takes away those that an item allows; nil: all.
func (s workerSet) remove(allowed *Set) {
	if allowed == nil {
		clear(s)
		return
	}
	for i := range min(len(s), len(allowed.bits)) {
		s[i] &^= allowed.bits[i]
	}
}

func (q *heap) removeLocked(i int) *Item {
	a := q.mu.items
	it := a[i]
	last := len(a) - 1
	a[i] = a[last]
	a[last] = nil
	a = a[:last]
	if i < last {
		for p := (i - 1) / 2; i > 0 && a[i].before(a[p]); p = (i - 1) / 2 {
			a[i], a[p] = a[p], a[i]
			i = p
		}
		for {
			c := 2*i + 1
			if c >= last {
				break
			}
			if c+1 < last && a[c+1].before(a[c]) {
				c++
			}
			if !a[c].before(a[i]) {
				break
			}
			a[i], a[c] = a[c], a[i]
			i = c
		}
	}
	q.mu.items = a
	q.n.Add(-1)
	return it
}

// pinned holds items that only some workers may run: each in the queue of one
// of them, where the others find it when they have nothing else.
type pinned []pins

type pins struct {
	heap
	taken int // by its worker, which alone uses it
}

// first takes an item from worker w's own queue, which goes before all else, but for
// every fair-th time: a task that goes on releasing others for w would keep it from
// everything that others may run as well. other finds those items then.
func (p pinned) first(w int) *Item {
	q := &p[w]
	if q.n.Load() == 0 {
		return nil
	}
	if q.taken++; q.taken%fair == 0 {
		return nil
	}
	return q.pop()
}

// push returns the worker in whose queue the item is.
func (p pinned) push(it *Item) int {
	best := -1
	for w := range p {
		if it.Allowed.Has(w) && (best < 0 || p[w].n.Load() < p[best].n.Load()) {
			best = w
		}
	}
	p[best].push(it)
	return best
}

// other takes an item from another worker's queue, or what first left.
func (p pinned) other(w int) *Item {
	for i := 1; i <= len(p); i++ {
		if it := p[(w+i)%len(p)].popFor(w); it != nil {
			return it
		}
	}
	return nil
}

func (p pinned) empty() bool {
	for w := range p {
		if p[w].n.Load() != 0 {
			return false
		}
	}
	return true
}
