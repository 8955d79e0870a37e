package sched

// What a worker of lws still has in its cache, as far as that is worth a look:
// between tasks that take so long that the choice costs nothing beside them.

// Which task of a tiled product comes next makes 5 % of a difference. What a
// task released uses again what that one wrote; the item that has waited longest
// often uses again what it read, which it reads first and waits for, while the result
// is written long after. So among equals the queue goes first, and a chain of
// tasks on one piece of data, which share with nothing in the queue, is followed.

const (
	longTask  = 50e-6 // seconds from one item to the next
	fewItems  = 8     // that are timed together while tasks are long, or nothing is known
	manyItems = 32    // while they are short: so the clock costs next to nothing
)

// reuse is what one worker knows of its last items. Only the worker uses it.
type reuse struct {
	long  bool    // tasks are long enough for a look at their data
	count int     // items given out since
	round int     // after how many the clock is read again; 0: at the first one
	since float64 // seconds
	ids   []int64 // the data of the last item
	bytes int64   // scratch: of another item, in ids
	note  func(id, bytes int64)
	match func(id, bytes int64)
}

func newReuse() *reuse {
	r := &reuse{ids: make([]int64, 0, 8)}
	r.note = func(id, _ int64) {
		if len(r.ids) < cap(r.ids) {
			r.ids = append(r.ids, id)
		}
	}
	r.match = func(id, bytes int64) {
		for _, x := range r.ids {
			if x == id {
				r.bytes += bytes
				return
			}
		}
	}
	return r
}

// given is called with each item that the worker gets.
func (r *reuse) given(m *Machine, it *Item) {
	if r.count--; r.count < 0 {
		r.look(m.Now())
	}
	if r.long {
		r.ids = r.ids[:0]
		m.Data(it, r.note)
	}
}

// look decides whether tasks are long.
func (r *reuse) look(now float64) {
	r.long = now-r.since > float64(r.round)*longTask && r.round > 0
	r.round = manyItems
	if r.long || r.since == 0 {
		r.round = fewItems
	}
	r.count, r.since = r.round-1, now
}

// shares is how many bytes of the item's data the last item used as well.
func (r *reuse) shares(m *Machine, it *Item) int64 {
	r.bytes = 0
	m.Data(it, r.match)
	return r.bytes
}
