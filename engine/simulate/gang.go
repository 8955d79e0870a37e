package simulate

// Parallel tasks: the workers that they wait for.

// lead makes a worker the first of the workers of a parallel task, which starts once it has all. It reports false if one is enough.
func (s *world) lead(w, i int32) bool {
	k := &s.workers[w]
	r := &s.ranks[k.rank]
	g := s.gangs[i]
	node := int(k.node) % s.nodes
	size := g.Size
	if size == 0 {
		size = g.Most
	}
	t := &gangState{task: i, leader: w}
	n := 0
	for v := range s.workers[r.first : r.first+int32(s.m.Workers())] {
		if s.mayJoin(t, r.first+int32(v)) {
			n++
		}
	}
	t.size = min(size, n)
	if t.size <= 1 {
		return false
	}
	if r.teams[node] != nil { // after that one
		r.gangs[node] = append(r.gangs[node], i)
		k.idle = true
		k.idle = !s.next(w)
		return true
	}
	r.teams[node] = t
	s.join(t, w)
	for v := r.first; v < r.first+int32(s.m.Workers()) && r.teams[node] == t; v++ {
		if s.workers[v].idle && s.workers[v].node == k.node && s.mayJoin(t, v) {
			s.join(t, v)
		}
	}
	return true
}

// mayJoin reports whether a worker may be one of a parallel task's.
func (s *world) mayJoin(t *gangState, w int32) bool {
	k := &s.workers[w]
	first := s.ranks[k.rank].first
	if g := s.gangs[t.task]; g.Workers != nil && !g.Workers.Has(int(w-first)) {
		return false
	}
	return k.node == s.workers[t.leader].node && k.class == s.workers[t.leader].class && s.items[t.task].Allows(int(w-first))
}

// join adds a worker to a parallel task, which starts if it was the last.
func (s *world) join(t *gangState, w int32) {
	k := &s.workers[w]
	k.idle, k.task, k.gang = false, t.task, t
	if t.members = append(t.members, w); len(t.members) < t.size {
		return
	}
	r := &s.ranks[k.rank]
	node := int(k.node) % s.nodes
	r.teams[node] = nil
	s.gangs[t.task].Size = t.size
	s.begin(t.leader, t.task)
}
