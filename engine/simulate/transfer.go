package simulate

import (
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/sched"
)

// Copies that are under way.

// flight is a copy of cells, or of contributions, from one memory to another.
type flight struct {
	cells      []int32
	from, to   int32
	final      int32 // where it goes from to; the same: it ends there
	bytes      int64
	begin, end float64
	task       int32   // for which; -1: none
	waits      []int32 // accesses that wait for it
	saves      bool    // it saves an evicted value
}

// dispatch begins a copy to a memory, which has room, on behalf of access a; -1: of none.
func (s *world) dispatch(cells []int32, from, to int32, bytes int64, task, a int32) {
	n := int32(s.nodes)
	main := to - to%n
	if from == to || s.nets[to/n].ways[int(from%n)*s.nodes+int(to%n)].direct {
		s.fly(cells, from, to, to, bytes, task, a)
		return
	}
	for _, c := range cells {
		if s.on(c, main) == nil {
			s.room(c, main)
		}
	}
	s.fly(cells, from, main, to, bytes, task, a)
}

// fly begins a copy.
func (s *world) fly(cells []int32, from, to, final int32, bytes int64, task, a int32) {
	var f int32
	if k := len(s.idleFlights); k > 0 {
		f, s.idleFlights = s.idleFlights[k-1], s.idleFlights[:k-1]
	} else {
		f = int32(len(s.flights))
		s.flights = append(s.flights, flight{})
	}
	x := &s.flights[f]
	*x = flight{cells: cells, from: from, to: to, final: final, bytes: bytes, task: task, waits: x.waits[:0]}
	for _, c := range cells {
		if k := s.on(c, final); k != nil && k.state == roomOnly {
			k.flight = f
		}
		if k := s.on(c, to); to != final && k.state == roomOnly && k.flight < 0 {
			k.flight = f
		}
		if k := s.on(c, from); k != nil && k.state == leaving {
			x.saves = true
			k.flight = f
		}
	}
	s.awaits(f, a)
	s.depart(f)
}

// depart begins a part of a copy.
func (s *world) depart(f int32) {
	x := &s.flights[f]
	n := int32(s.nodes)
	if x.from/n != x.to/n { // to another computer
		x.begin, x.end = s.message(x.from/n, x.to/n, x.bytes)
	} else {
		x.begin, x.end = s.nets[x.to/n].ways[int(x.from%n)*s.nodes+int(x.to%n)].start(s.now, x.bytes)
	}
	s.q.push(x.end, copyEnds, f)
	s.count(x)
}

// message takes the network between two computers.
func (s *world) message(from, to int32, bytes int64) (begin, end float64) {
	l := s.m.Network
	w := way{latency: l.Latency, bandwidth: l.Bandwidth, lanes: [3]*lane{&s.out[from], &s.in[to]}}
	return w.start(s.now, bytes)
}

// awaits makes an access wait for a copy.
func (s *world) awaits(f, a int32) {
	if a >= 0 {
		s.flights[f].waits = append(s.flights[f].waits, a)
		s.accesses[a].pending++
	}
}

// arrive ends a copy, or a part of it.
func (s *world) arrive(f int32) {
	x := &s.flights[f]
	for _, c := range x.cells {
		if k := s.on(c, x.to); k != nil && k.flight == f {
			k.state, k.flight = valid, -1
			if m := &s.mems[x.to]; k.pins == 0 && m.capacity > 0 {
				m.victims.push(victim{s.nextUse(c), c})
			}
		}
		if k := s.on(c, x.from); x.saves && k != nil && k.state == leaving && k.flight == f {
			if k.pins > 0 { // a task came for it meanwhile
				k.state, k.flight = valid, -1
				s.mems[x.from].leaving -= s.p.cells[c]
			} else {
				s.drop(c, x.from)
			}
		}
	}
	if x.to != x.final {
		x.from, x.to = x.to, x.final
		for _, c := range x.cells {
			if k := s.on(c, x.to); k != nil && k.state == roomOnly {
				k.flight = f
			}
		}
		s.depart(f)
		return
	}
	if x.from != x.to {
		s.freed(x.to)
	}
	waits := x.waits
	x.waits = nil
	for _, a := range waits {
		if s.accesses[a].pending--; s.accesses[a].pending == 0 && !s.beginning {
			s.dataHere(a)
		}
	}
	x = &s.flights[f]
	x.waits = waits[:0]
	s.idleFlights = append(s.idleFlights, f)
}

// count adds a copy to the results.
func (s *world) count(x *flight) {
	k := [2]int32{x.from, x.to}
	at, ok := s.linkAt[k]
	if !ok {
		at = len(s.out2)
		s.linkAt[k] = at
		s.out2 = append(s.out2, LinkResult{From: int(x.from), To: int(x.to)})
	}
	l := &s.out2[at]
	l.Copies++
	l.Bytes += x.bytes
	l.Busy += x.end - x.begin
	if n := int32(s.nodes); x.from/n != x.to/n {
		s.result.Messages++
		s.result.MessageBytes += x.bytes
	}
	s.mems[x.to].stat.Arrived += x.bytes
	if s.opt.Trace {
		s.traceCopy(x)
	}
}

// Parallel tasks.

// queued gives a worker the parallel task that waited for another one to have its workers, if there is one.
func (s *world) queued(w int32) bool {
	k := &s.workers[w]
	q := &s.ranks[k.rank].gangs[int(k.node)%s.nodes]
	if len(*q) == 0 || s.ranks[k.rank].teams[int(k.node)%s.nodes] != nil {
		return false
	}
	i := (*q)[0]
	if !s.items[i].Allows(int(w - s.ranks[k.rank].first)) {
		return false
	}
	*q = (*q)[1:]
	k.idle = false
	if !s.lead(w, i) {
		s.begin(w, i)
	}
	return true
}

// Data that is fetched ahead.

// lookAhead fetches the data of what a worker will get next, while its kernel runs in a bounded memory of a device.
func (s *world) lookAhead(w int32) {
	k := &s.workers[w]
	r := &s.ranks[k.rank]
	if r.ahead == nil || int(k.node)%s.nodes == 0 {
		return
	}
	var tasks [64]int32
	n := 0
	r.ahead.Ahead(int(w-r.first), min(s.opt.Ahead, len(tasks)), func(it *sched.Item) {
		tasks[n] = int32(it.Order)
		n++
	})
	for _, i := range tasks[:n] {
		s.prefetch(i, k.node, true)
	}
}

// given fetches the data of a task that the policy gave to a busy worker behind others, if there is room.
func (s *world) given(w, i int32) {
	if k := &s.workers[w]; s.opt.Ahead >= 0 && k.task >= 0 && int(k.node)%s.nodes != 0 {
		s.prefetch(i, k.node, false)
	}
}

// prefetch fetches what a task reads. With evict it makes room, at the cost of what is needed later than the task.
func (s *world) prefetch(i, node int32, evict bool) {
	m := &s.mems[node]
	if m.capacity > 0 {
		need := s.lacks(i, node)
		if m.used+need > m.capacity {
			if !evict || len(m.waiting) > 0 {
				return
			}
			s.evict(node, need, i)
			if m.used+need > m.capacity { // as soon as what leaves is saved, the next look finds room
				return
			}
		}
	}
	s.wants(i, node, func(c int32, mode iface.AccessMode) {
		if mode.Reads() {
			s.home(c, node/int32(s.nodes))
			if s.on(c, node) == nil {
				s.room(c, node)
			}
		}
	})
	s.bring(-1, i, node)
}
