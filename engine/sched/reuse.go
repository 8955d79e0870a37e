package sched

// Reuse: the data that a worker of lws still has in its cache. It is considered only
// between tasks that are long compared with the cost of the choice.

const (
	longTask  = 50e-6 // seconds from one item to the next
	fewItems  = 8     // that are timed together while tasks are long, or nothing is known
	manyItems = 32    // while they are short: so the clock costs next to nothing
)

// uses is what an item uses: its first pieces of data.
type uses struct {
	n     int
	ids   [8]int64
	bytes [8]int64
}

func (u *uses) add(id, bytes int64) {
	if u.n < len(u.ids) {
		u.ids[u.n], u.bytes[u.n] = id, bytes
		u.n++
	}
}

// reuse is what one worker knows of its last item. Only the worker uses it.
type reuse struct {
	long  bool    // tasks are long enough for a look at their data
	count int     // items given out since
	round int     // after how many the clock is read again; 0: at the first one
	since float64 // seconds
	last  uses    // of the last item
	known uses    // of item, or scratch
	item  *Item   // that known is about; nil when it is not known
	note  func(id, bytes int64)
}

func newReuse() *reuse {
	r := &reuse{}
	r.note = r.known.add
	return r
}

// look returns what an item uses.
func (r *reuse) look(m *Machine, it *Item) uses {
	r.known.n, r.item = 0, nil
	m.Data(it, r.note)
	return r.known
}

// given is called with each item that the worker gets.
func (r *reuse) given(m *Machine, it *Item) {
	if r.count--; r.count >= 0 && !r.long {
		return // inlined
	}
	r.gave(m, it)
}

// gave is given when there is something to do.
func (r *reuse) gave(m *Machine, it *Item) {
	if r.count < 0 {
		r.watch(m.Now())
	}
	if !r.long {
		return
	}
	if r.item != it {
		r.look(m, it)
	}
	r.last, r.item = r.known, nil
}

// watch decides whether tasks are long.
func (r *reuse) watch(now float64) {
	r.long = now-r.since > float64(r.round)*longTask && r.round > 0
	r.round = manyItems
	if r.long || r.since == 0 {
		r.round = fewItems
	}
	r.count, r.since = r.round-1, now
}

// shares is how many bytes of u the last item used as well. Those that were its first
// piece of data count a third more, which decides between otherwise equal items: a
// product of matrices, by way of a library that wants them the other way round, reads its
// second operand first and once, and its first operand to the end.
func (r *reuse) shares(u *uses) int64 {
	v := int64(0)
	last := r.last.ids[:r.last.n]
	for i, id := range u.ids[:u.n] {
		for k, x := range last {
			if x != id {
				continue
			}
			v += 3 * u.bytes[i]
			if k == 0 {
				v += u.bytes[i]
			}
			break
		}
	}
	return v
}
