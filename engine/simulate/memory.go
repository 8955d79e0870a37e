package simulate

// Data on memories: valid copies, room, evictions.
//
// A cell is data that is valid or not as one, as datamgr's fragments are. A memory has room for it before a copy arrives or a kernel
// writes it there. A kernel that writes it makes its own copy the only valid one when it ends. A memory without room evicts cells that
// no kernel uses, the one that is needed last first; a value that is nowhere else goes to main memory before.

import (
	"math"
	"slices"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/graph"
)

// copyState is a cell on a memory.
type copyState struct {
	node   int32
	pins   int32 // accesses that use it
	flight int32 // the copy that brings it, or saves it elsewhere; -1: none
	state  cellState
}

type cellState uint8

const (
	roomOnly cellState = iota // no value, or not yet
	valid
	leaving // valid, until its value is saved
)

// memory is a memory node of a computer.
type memory struct {
	capacity, used, peak int64 // capacity 0: not bounded
	leaving              int64 // bytes that become free without further evictions
	pinned               int   // accesses that were admitted
	waiting              []int32
	victims              victimQueue
	stat                 *NodeResult
}

// victim is a cell on a memory and the task that needs it next.
type victim struct{ next, cell int32 }

// victimQueue is a heap: what is needed last comes first. Entries may be out of date.
type victimQueue []victim

func (a victim) before(b victim) bool { return a.next > b.next || a.next == b.next && a.cell < b.cell }

func (q *victimQueue) push(v victim) {
	l := append(*q, v)
	i := len(l) - 1
	for i > 0 {
		p := (i - 1) / 2
		if !v.before(l[p]) {
			break
		}
		l[i] = l[p]
		i = p
	}
	l[i] = v
	*q = l
}

func (q *victimQueue) pop() (first victim) {
	l := *q
	first = l[0]
	v := l[len(l)-1]
	l = l[:len(l)-1]
	for i := 0; len(l) > 0; {
		c := 2*i + 1
		if c >= len(l) {
			l[i] = v
			break
		}
		if c+1 < len(l) && l[c+1].before(l[c]) {
			c++
		}
		if !l[c].before(v) {
			l[i] = v
			break
		}
		l[i] = l[c]
		i = c
	}
	*q = l
	return first
}

// on returns the copy of a cell on a memory, nil if there is none.
func (s *world) on(cell, node int32) *copyState {
	all := s.copies[cell]
	for i := range all {
		if all[i].node == node {
			return &all[i]
		}
	}
	return nil
}

// room makes room for a cell on a memory, which has it.
func (s *world) room(cell, node int32) *copyState {
	s.copies[cell] = append(s.copies[cell], copyState{node: node, flight: -1})
	s.grow(node, s.p.cells[cell])
	return &s.copies[cell][len(s.copies[cell])-1]
}

func (s *world) grow(node int32, bytes int64) {
	m := &s.mems[node]
	m.used += bytes
	if m.used > m.peak {
		m.peak = m.used
		m.stat.Peak = m.used
	}
	s.traceMemory(node)
}

// drop takes a cell away from a memory.
func (s *world) drop(cell, node int32) {
	all := s.copies[cell]
	for i := range all {
		if all[i].node == node {
			if all[i].state == leaving {
				s.mems[node].leaving -= s.p.cells[cell]
			}
			all[i] = all[len(all)-1]
			s.copies[cell] = all[:len(all)-1]
			s.grow(node, -s.p.cells[cell])
			s.freed(node)
			return
		}
	}
}

// freed notes that accesses which wait for room may go on.
func (s *world) freed(node int32) {
	if len(s.mems[node].waiting) > 0 {
		s.retry = append(s.retry, node)
	}
}

// home makes a cell valid in main memory that has no value anywhere: the one that the data was registered with.
func (s *world) home(cell int32, rank int32) {
	for i := range s.copies[cell] {
		if s.copies[cell][i].state != roomOnly || s.copies[cell][i].flight >= 0 {
			return
		}
	}
	main := rank * int32(s.nodes)
	c := s.on(cell, main)
	if c == nil {
		c = s.room(cell, main)
	}
	c.state = valid
}

// nextUse returns the task that uses a cell next, of those that have not ended.
func (s *world) nextUse(cell int32) int32 {
	at, end := s.useAt[cell], s.p.cellAt[cell+1]
	for at < end && s.state[s.p.uses[at]] == done {
		at++
	}
	s.useAt[cell] = at
	if at == end {
		return math.MaxInt32
	}
	return s.p.uses[at]
}

// evict makes cells leave a memory until bytes are free, or will be. Those needed before task `before` stay. It reports whether that is so.
func (s *world) evict(node int32, bytes int64, before int32) bool {
	m := &s.mems[node]
	var kept []victim
	for m.capacity-m.used+m.leaving < bytes && len(m.victims) > 0 {
		v := m.victims.pop()
		c := s.on(v.cell, node)
		if c == nil || c.state != valid || c.pins > 0 || c.flight >= 0 {
			continue // it comes back when it is released
		}
		if next := s.nextUse(v.cell); next != v.next {
			m.victims.push(victim{next, v.cell})
			continue
		}
		if v.next <= before {
			kept = append(kept, v)
			break
		}
		s.leave(v.cell, node)
	}
	for _, v := range kept {
		m.victims.push(v)
	}
	return m.capacity-m.used+m.leaving >= bytes
}

// leave evicts a cell.
func (s *world) leave(cell, node int32) {
	m := &s.mems[node]
	m.stat.Evictions++
	m.stat.Evicted += s.p.cells[cell]
	for _, o := range s.copies[cell] {
		if o.node != node && o.state == valid {
			s.drop(cell, node)
			return
		}
	}
	c := s.on(cell, node)
	c.state = leaving
	m.leaving += s.p.cells[cell]
	main := node - node%int32(s.nodes)
	if s.on(cell, main) == nil {
		s.room(cell, main)
	}
	s.fly([]int32{cell}, node, main, main, s.p.cells[cell], -1, -1)
}

// access is a use of data on one memory: by a task that a worker has, by the script, or by a message.
type access struct {
	task, worker, node int32
	pending            int32 // copies that have to arrive
	private            int64 // bytes of SCRATCH
	popped, admitted   float64
	from               int32 // of the receiving end of a message: its other end; -1: it is none
}

// wants calls fn with the cells of the operands that are the data itself, once each.
func (s *world) wants(task, node int32, fn func(cell int32, m iface.AccessMode)) {
	t := &s.p.Graph.Tasks[task]
	receives := t.Internal == sendTask && node/int32(s.nodes) == s.p.rank[task]
	for _, o := range t.Operands {
		if stays(o.Mode) && (t.Internal != sendTask || o.Mode.Writes() == receives) {
			for _, c := range s.p.Graph.CellsOf(o.Handle) {
				fn(c, o.Mode)
			}
		}
	}
}

// lacks returns the bytes of room that a task needs on a memory beyond what is there.
func (s *world) lacks(task, node int32) (bytes int64) {
	s.stamp++
	s.wants(task, node, func(c int32, _ iface.AccessMode) {
		if s.seen[c] != s.stamp {
			s.seen[c] = s.stamp
			if s.on(c, node) == nil {
				bytes += s.p.cells[c]
			}
		}
	})
	return bytes
}

// contribution is what a worker has added to data by REDUX: until it is combined, in memory of its own.
type contribution struct{ worker, node int32 }

func (s *world) contributes(handle, worker int32) bool {
	return slices.ContainsFunc(s.redux[handle], func(c contribution) bool {
		return c.worker == worker && c.node == s.workers[worker].node
	})
}

// spill moves contributions to main memory, those that no task adds to now, until a memory has room.
func (s *world) spill(node int32, bytes int64) {
	m := &s.mems[node]
	main := node - node%int32(s.nodes)
	for _, h := range s.contributed {
		for i := range s.redux[h] {
			k := &s.redux[h][i]
			if m.used+bytes <= m.capacity+m.leaving {
				return
			}
			if i := s.workers[k.worker].task; k.node != node || i >= 0 && slices.ContainsFunc(s.p.Graph.Tasks[i].Operands, func(o graph.Operand) bool { return o.Handle == h && o.Mode == iface.Redux }) {
				continue
			}
			size := s.p.Graph.Handles[h].Bytes
			k.node = main
			s.fly(nil, node, main, main, size, -1, -1)
			s.grow(main, size)
			s.grow(node, -size)
		}
	}
}

// privateBytes is memory of the task alone, and of the worker until its contributions are combined.
func (s *world) privateBytes(task, worker int32) (scratch, contributions int64) {
	for _, o := range s.p.Graph.Tasks[task].Operands {
		switch o.Mode {
		case iface.Scratch:
			scratch += s.p.Graph.Handles[o.Handle].Bytes
		case iface.Redux:
			if !s.contributes(o.Handle, worker) {
				contributions += s.p.Graph.Handles[o.Handle].Bytes
			}
		}
	}
	return scratch, contributions
}

// admit gives an access its room, all at once, and begins to bring its data. It reports false if it has to wait.
func (s *world) admit(a int32) bool {
	x := &s.accesses[a]
	m := &s.mems[x.node]
	if x.worker >= 0 && m.capacity > 0 {
		scratch, contributions := s.privateBytes(x.task, x.worker)
		need := s.lacks(x.task, x.node) + scratch + contributions
		if m.used+need > m.capacity {
			s.pin(x, 1) // what is there must not leave
			if !s.evict(x.node, need, -1) {
				s.spill(x.node, need)
			}
			s.pin(x, -1)
			if m.used+need > m.capacity {
				return false
			}
		}
	}
	m.pinned++
	x.admitted = s.now
	if x.worker >= 0 {
		s.takePrivate(x)
	}
	s.wants(x.task, x.node, func(c int32, mode iface.AccessMode) {
		if mode.Reads() {
			s.home(c, x.node/int32(s.nodes))
		}
		if s.on(c, x.node) == nil {
			s.room(c, x.node)
		}
	})
	s.pin(x, 1)
	s.bring(a, x.task, x.node)
	if s.m.CPU.Clear > 0 && x.node%int32(s.nodes) == 0 {
		s.clear(a)
	}
	return true
}

// clear makes an access in main memory wait until the memory of new data is clear.
func (s *world) clear(a int32) {
	x := &s.accesses[a]
	s.wants(x.task, x.node, func(c int32, _ iface.AccessMode) {
		d := s.p.datum[c]
		if s.p.datums[d].home {
			return
		}
		waits, known := s.clearing[d]
		switch {
		case known && (waits == nil || slices.Contains(waits, a)):
			return
		case !known:
			s.q.push(s.now+float64(s.p.datums[d].bytes)/s.m.CPU.Clear, dataCleared, d)
		}
		s.clearing[d] = append(waits, a)
		x.pending++
	})
}

// cleared lets the accesses to new data begin.
func (s *world) cleared(d int32) {
	waits := s.clearing[d]
	s.clearing[d] = nil
	for _, a := range waits {
		if s.accesses[a].pending--; s.accesses[a].pending == 0 {
			s.dataHere(a)
		}
	}
}

// pin adds to the pins of the cells that are there.
func (s *world) pin(x *access, n int32) {
	m := &s.mems[x.node]
	s.wants(x.task, x.node, func(c int32, _ iface.AccessMode) {
		k := s.on(c, x.node)
		if k == nil {
			return
		}
		if k.pins += n; k.pins == 0 && m.capacity > 0 {
			m.victims.push(victim{s.nextUse(c), c})
		}
	})
}

// takePrivate counts SCRATCH and contributions.
func (s *world) takePrivate(x *access) {
	scratch, contributions := s.privateBytes(x.task, x.worker)
	x.private = scratch
	if scratch+contributions > 0 {
		s.grow(x.node, scratch+contributions)
	}
	for _, o := range s.p.Graph.Tasks[x.task].Operands {
		if o.Mode == iface.Redux && !s.contributes(o.Handle, x.worker) {
			if len(s.redux[o.Handle]) == 0 {
				s.contributed = append(s.contributed, o.Handle)
			}
			s.redux[o.Handle] = append(s.redux[o.Handle], contribution{x.worker, x.node})
		}
	}
}

// bring begins the copies of what a task reads that a memory lacks, for access a, or ahead of it (-1). There is room.
func (s *world) bring(a, task, node int32) {
	t := &s.p.Graph.Tasks[task]
	for _, o := range t.Operands {
		if a >= 0 && t.Internal == "reduce" && o.Mode.Writes() {
			s.collect(a, o.Handle, node)
		}
		if !stays(o.Mode) || !o.Mode.Reads() {
			continue
		}
		var cells []int32
		from, bytes := int32(-1), int64(0)
		send := func() {
			if len(cells) > 0 {
				s.dispatch(cells, from, node, bytes, task, a)
			}
			cells, bytes = nil, 0
		}
		for _, c := range s.p.Graph.CellsOf(o.Handle) {
			k := s.on(c, node)
			if k.state != roomOnly {
				continue
			}
			if k.flight >= 0 {
				s.awaits(k.flight, a)
				continue
			}
			if best := s.source(c, node); best != from {
				send()
				from = best
			}
			if from >= 0 {
				cells = append(cells, c)
				bytes += s.p.cells[c]
			}
		}
		send()
	}
}

// collect brings the contributions of other memories to the one where they are combined.
func (s *world) collect(a, handle, node int32) {
	for _, k := range s.redux[handle] {
		if from := k.node; from != node {
			s.dispatch(nil, from, node, s.p.Graph.Handles[handle].Bytes, s.accesses[a].task, a)
		}
	}
}

// source returns the memory from which a cell is copied, the one with the shortest way; -1: it has no value.
func (s *world) source(cell, to int32) int32 {
	best, least := int32(-1), math.Inf(1)
	n := int32(s.nodes)
	for _, c := range s.copies[cell] {
		if c.node != to && c.state != roomOnly && c.node/n == to/n {
			if t := s.nets[to/n].estimate(int(c.node%n), int(to%n), s.p.cells[cell]); t < least || t == least && c.node < best {
				best, least = c.node, t
			}
		}
	}
	return best
}

// release ends an access.
func (s *world) release(a int32) {
	x := &s.accesses[a]
	m := &s.mems[x.node]
	m.pinned--
	if x.private > 0 {
		s.grow(x.node, -x.private)
	}
	s.pin(x, -1)
	s.freed(x.node)
	s.idleAccesses = append(s.idleAccesses, a)
}

// store makes what a task wrote valid on a memory, and nowhere else.
func (s *world) store(task, node int32) {
	t := &s.p.Graph.Tasks[task]
	for _, o := range t.Operands {
		if !o.Mode.Writes() || !stays(o.Mode) {
			continue
		}
		for _, c := range s.p.Graph.CellsOf(o.Handle) {
			for k := 0; k < len(s.copies[c]); {
				if other := s.copies[c][k].node; other != node {
					s.drop(c, other)
				} else {
					if s.copies[c][k].state == leaving {
						s.mems[node].leaving -= s.p.cells[c]
					}
					s.copies[c][k].state, s.copies[c][k].flight = valid, -1
					k++
				}
			}
		}
		if t.Internal == "reduce" {
			for _, k := range s.redux[o.Handle] {
				s.grow(k.node, -s.p.Graph.Handles[o.Handle].Bytes)
				s.freed(k.node)
			}
			delete(s.redux, o.Handle)
			s.contributed = slices.DeleteFunc(s.contributed, func(h int32) bool { return h == o.Handle })
		}
	}
}
