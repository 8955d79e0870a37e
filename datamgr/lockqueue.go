package datamgr

// Waiters of a lock, in their order: by priority if the policy of the runtime uses
// priorities, otherwise by arrival. Registry.Rank says which.
//
// Heirs wait in lists, as all of them have priority 0 and what comes first is served
// first. All others wait in heaps, with the length that the handoff queue had when they came.

// lockQueue is a list of tasks that may inherit a lock, in the order of their arrival.
type lockQueue struct{ first, last *LockPlace }

func (q *lockQueue) add(s *LockPlace) {
	s.next = nil
	if q.last == nil {
		q.first = s
	} else {
		q.last.next = s
	}
	q.last = s
}

// take removes the first task and returns it, nil if there is none.
func (q *lockQueue) take() *LockPlace {
	s := q.first
	if s == nil {
		return nil
	}
	if q.first = s.next; q.first == nil {
		q.last = nil
	}
	s.next = nil
	return s
}

// append moves all of o to the end of q.
func (q *lockQueue) append(o *lockQueue) {
	switch {
	case o.first == nil:
		return
	case q.last == nil:
		*q = *o
	default:
		q.last.next, q.last = o.first, o.last
	}
	*o = lockQueue{}
}

// waiters are the tasks that wait for a lock until they are woken.
type waiters struct {
	back     lockQueue // came from the handoff queue: before all others of priority 0
	patient  lockQueue // can inherit the lock
	in, out  int64     // how many have ever come to patient, and left it
	readers  lockHeap  // others, which want the lock shared
	writers  lockHeap  // others, which want it for themselves
	arrivals int64     // of others
	takes    int
}

func (q *waiters) empty() bool {
	return q.back.first == nil && q.patient.first == nil && len(q.readers)+len(q.writers) == 0
}

// add adds s, which waits for l.
func (q *waiters) add(l *accessLock, s *LockPlace) {
	if s.mayInherit() {
		q.patient.add(s)
		q.in++
		return
	}
	q.arrivals++
	x := lockWait{s: s, arrival: q.arrivals, order: q.arrivals, behind: q.in}
	if rank := l.reg.Rank; rank != nil {
		var order int64
		if x.priority, order = rank(s.w); order != 0 {
			x.order = order
		}
	}
	if x.priority > 0 {
		l.urgent.Store(true)
	}
	if s.wantsAlone(l) {
		q.writers.push(x)
	} else {
		q.readers.push(x)
	}
}

// addAll adds a list of arrivals.
func (q *waiters) addAll(o lockQueue) {
	for s := o.first; s != nil; s = s.next {
		q.in++
	}
	q.patient.append(&o)
}

// fair is after how many waiters the one that has waited longest is served, of those of
// the highest priority: the numbers of tasks are those of their jobs, so tasks of a new
// job could go before those of an old one for long.
const fair = 61

// take removes the waiter that goes first and returns it, nil if there is none; with
// shared, the first of those that want the lock shared.
func (q *waiters) take(l *accessLock, shared bool) *LockPlace {
	h := &q.readers
	if w := q.writers.first(); !shared && w != nil && (len(*h) == 0 || w.before(h.first())) {
		h = &q.writers
	}
	x := h.first()
	if !shared && q.firstForHandoff(x) {
		if s := q.back.take(); s != nil {
			return s
		}
		q.out++
		return q.patient.take()
	}
	if x == nil {
		return nil
	}
	i := 0
	if q.takes++; q.takes%fair == 0 {
		i = h.oldest()
	}
	s := h.remove(i)
	if l.urgent.Load() {
		r, w := q.readers.first(), q.writers.first()
		l.urgent.Store(r != nil && r.priority > 0 || w != nil && w.priority > 0)
	}
	return s
}

// firstForHandoff reports whether there is a task that can inherit the lock and goes
// before x, the first of the others; nil: there are none.
func (q *waiters) firstForHandoff(x *lockWait) bool {
	switch {
	case q.back.first == nil && q.patient.first == nil:
		return false
	case x == nil || x.priority != 0:
		return x == nil || x.priority < 0
	}
	return q.back.first != nil || q.out < x.behind
}

// takeHandoffs removes those that can inherit the lock and go before all others; not all of
// them if there are many.
func (q *waiters) takeHandoffs() (out lockQueue) {
	out.append(&q.back)
	x := q.writers.first()
	if r := q.readers.first(); r != nil && (x == nil || r.before(x)) {
		x = r
	}
	if x == nil || x.priority < 0 {
		q.out = q.in
		out.append(&q.patient)
		return out
	}
	for n := 0; n < 64 && q.firstForHandoff(x); n++ {
		q.out++
		out.add(q.patient.take())
	}
	return out
}

// each calls fn for all that wait; with alone, only for those that want the lock for
// themselves.
func (q *waiters) each(alone bool, fn func(*LockPlace)) {
	for _, l := range []*lockQueue{&q.back, &q.patient} {
		for s := l.first; s != nil; s = s.next {
			fn(s)
		}
	}
	for _, x := range q.writers {
		fn(x.s)
	}
	if alone {
		return
	}
	for _, x := range q.readers {
		fn(x.s)
	}
}

// lockWait is a task that waits for a lock and cannot inherit it.
type lockWait struct {
	s        *LockPlace
	priority int32
	order    int64 // among equals the smaller goes first
	arrival  int64
	behind   int64 // waiters.in when it came
}

func (a *lockWait) before(b *lockWait) bool {
	if a.priority != b.priority {
		return a.priority > b.priority
	}
	if a.order != b.order {
		return a.order < b.order
	}
	return a.arrival < b.arrival // tasks of several jobs
}

// lockHeap has the one that goes first at its top.
type lockHeap []lockWait

// first returns the one that goes first, nil if there is none.
func (h lockHeap) first() *lockWait {
	if len(h) == 0 {
		return nil
	}
	return &h[0]
}

func (h *lockHeap) push(x lockWait) {
	*h = append(*h, x)
	h.up(len(*h) - 1)
}

// oldest is where the one of the highest priority is that came first.
func (h lockHeap) oldest() (at int) {
	for i := range h {
		if h[i].priority == h[0].priority && h[i].arrival < h[at].arrival {
			at = i
		}
	}
	return at
}

func (h *lockHeap) remove(i int) *LockPlace {
	a := *h
	s, last := a[i].s, len(a)-1
	a[i], a[last] = a[last], lockWait{}
	*h = a[:last]
	if i < last {
		h.down(h.up(i))
	}
	return s
}

// up moves what is at i to where nothing above it goes after it, and returns where.
func (h lockHeap) up(i int) int {
	for p := (i - 1) / 2; i > 0 && h[i].before(&h[p]); i, p = p, (p-1)/2 {
		h[i], h[p] = h[p], h[i]
	}
	return i
}

func (h lockHeap) down(i int) {
	for {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && h[c+1].before(&h[c]) {
			c++
		}
		if !h[c].before(&h[i]) {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}
