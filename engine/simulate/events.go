package simulate

// The order in which things happen.

// eventKind is the kind of an event.
type eventKind uint8

const (
	kernelEnds eventKind = iota
	copyEnds
	dataCleared // what: a datum
	workerWakes // what: a worker, or -1 - a computer, one of whose workers
)

// event happens at a time. Events at the same time happen in the order in which they were made.
type event struct {
	at   float64
	seq  int64
	kind eventKind
	what int32 // a worker, or a copy
}

// eventQueue is a heap.
type eventQueue struct {
	list []event
	seq  int64
}

func (a *event) before(b *event) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }

func (q *eventQueue) push(at float64, kind eventKind, what int32) {
	q.seq++
	e := event{at, q.seq, kind, what}
	l := append(q.list, e)
	i := len(l) - 1
	for i > 0 {
		p := (i - 1) / 2
		if !e.before(&l[p]) {
			break
		}
		l[i] = l[p]
		i = p
	}
	l[i] = e
	q.list = l
}

func (q *eventQueue) pop() event {
	l := q.list
	first, e := l[0], l[len(l)-1]
	l = l[:len(l)-1]
	q.list = l
	if len(l) == 0 {
		return first
	}
	i := 0
	for {
		c := 2*i + 1
		if c >= len(l) {
			break
		}
		if c+1 < len(l) && l[c+1].before(&l[c]) {
			c++
		}
		if !l[c].before(&e) {
			break
		}
		l[i] = l[c]
		i = c
	}
	l[i] = e
	return first
}
