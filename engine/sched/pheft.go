package sched

// pheft, parallel HEFT: dmda for items that several workers may run together. StarPU's
// policy of this name chooses among combined workers; here any set of workers that are
// alike is one. Of the sets of one size those workers are best that come free first. So
// the sizes are compared: the times of an item with each number of workers, from
// performance models, after the time when that many are expected to be free.
//
// Such an item is a team. It is in the queues of all its workers, so that what was queued
// before it runs before it. The worker that comes to it last gets it, and the engine then
// joins the others to it. Teams have the same order in all queues, so workers never wait
// for each other in a circle. Whom to wait for is a guess, as all times are: while some of
// a team are busy, and as many others do nothing, those take their places.

import (
	"cmp"
	"slices"
)

// Gang is the workers of an item that may run on several at once. The engine has one for
// each such item, and policies that choose the size of gangs decide it before they give
// the item out. For policies that do not, items have the most workers.
type Gang struct {
	Least, Most int // how many workers the item may have
	// Size is how many workers it gets; 0: Most. Functions of the Machine about the item
	// mean an item on that many workers.
	Size int
	// Workers may be members: at least Size workers, among them the one that gets the item.
	// nil: all that the item allows. The item starts when Size of them are free.
	Workers *Set
}

// fewSizes is the most workers for which every size is considered. Comparing sizes costs
// little, but each has to be measured DefaultMinSamples times (package perf) before it can
// be predicted. Above, the sizes are powers of two, as parallel kernels gain little between
// them, and the most.
const fewSizes = 8

// sizes lists the sizes between least and most that are considered, ascending.
func sizes(least, most int) (out []int) {
	for s := max(least, 1); s <= most; s++ {
		if most <= fewSizes || s&(s-1) == 0 || s == least || s == most {
			out = append(out, s)
		}
	}
	return out
}

// team is an item in the queues of several workers.
type team struct {
	it      *Item
	gang    *Gang
	class   int // of its workers; anyClass: several
	workers []int
	begin   float64 // when it is expected to start
	started bool    // its kernel runs, or did
}

const anyClass = -1

// teamCandidate is a size for an item, on workers of one class, and what is predicted of it.
type teamCandidate struct {
	class, size, first int // first is a worker of it
	prediction
}

// teamCandidates predicts the item for each class and size. Where its least size is more than any
// class has, the workers are of several.
func (p *dm) teamCandidates(it *Item, g *Gang, node int) (all []teamCandidate) {
	add := func(class int) {
		n, first := 0, -1
		for w := range p.m.Workers {
			if p.allows(it, node, w) && (class == anyClass || p.of[w] == class) {
				if n++; first < 0 {
					first = w
				}
			}
		}
		least := g.Least
		if class == anyClass {
			least = min(least, n)
		}
		for _, s := range sizes(least, min(g.Most, n)) {
			f := teamCandidate{class: class, size: s, first: first}
			g.Size = s
			p.predict(it, first, &f.prediction)
			all = append(all, f)
		}
	}
	for c := range p.classes {
		add(c)
	}
	if len(all) == 0 {
		add(anyClass)
	}
	return all
}

// pushTeam is Push for an item that may have several workers.
func (p *dm) pushTeam(it *Item, g *Gang, from int) int {
	g.Size, g.Workers = 0, nil
	b := p.m.Bundle(it)
	node := p.nodeFor(it, b)
	all := p.teamCandidates(it, g, node)
	if len(all) == 1 && all[0].size < g.Least && node != anyNode { // the node of the bundle is too small
		node, b = anyNode, nil
		all = p.teamCandidates(it, g, node)
	}
	now := p.m.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	f, workers, learning := p.bestTeamLocked(it, g, node, from, all, now)
	g.Size, g.Workers = f.size, NewSet(workers...)
	if b != nil && !learning {
		b.place(p.m.Workers[f.first].Node)
	}
	tm := &team{it: it, gang: g, class: f.class, workers: workers, begin: now}
	if f.known {
		tm.begin += f.transfer
	}
	for _, w := range workers {
		tm.begin = max(tm.begin, p.mu.workers[w].end(now))
	}
	if explain := p.m.Explain(); explain != nil {
		p.explainTeamLocked(explain, tm, node, all, learning, now)
	}
	for _, w := range workers {
		x := &p.mu.workers[w]
		e := entry{it: it, team: tm, transfer: tm.begin - x.end(now)}
		if f.known {
			e.length, e.known = f.length, true
		}
		x.add(it.front(), e, now)
		if p.mu.idle[w] { // which means that it has nothing
			p.mu.idle[w], x.blockedByTeam = false, true
		}
	}
	p.n.Add(1)
	return p.wakeTeamLocked(tm, from)
}

// bestTeamLocked chooses the candidate with the lowest cost, the smallest of those that cost the
// same, and its workers. While some candidate is not known, it takes one of those, each in its
// turn, and the workers with the least to do.
func (p *dm) bestTeamLocked(it *Item, g *Gang, node, from int, all []teamCandidate, now float64) (best *teamCandidate, workers []int, learning bool) {
	var unknown []*teamCandidate
	for i := range all {
		if !all[i].known {
			unknown = append(unknown, &all[i])
		}
	}
	if len(unknown) > 0 {
		best = unknown[p.mu.nextUnknown%len(unknown)]
		p.mu.nextUnknown++
		return best, p.nextLocked(it, node, best.class, from, true, now)[:best.size], true
	}
	lowest := 0.0
	var next []int
	class := anyClass - 1
	for i := range all {
		f := &all[i]
		if f.class != class {
			class, next = f.class, p.nextLocked(it, node, f.class, from, false, now)
		}
		if cost := p.costLocked(f, next, now); best == nil || cost < lowest {
			best, workers, lowest = f, next[:f.size], cost
		}
	}
	return best, workers, false
}

// costLocked is the cost of f on the first of the workers in next.
func (p *dm) costLocked(f *teamCandidate, next []int, now float64) float64 {
	return p.alpha*(p.mu.workers[next[f.size-1]].end(now)-now+f.length) + p.beta*f.transfer + p.gamma*f.energy
}

// nextLocked lists the workers of a class that may run the item, those that are expected to
// be free first before the others, or by how much they have to do.
func (p *dm) nextLocked(it *Item, node, class, from int, byLoad bool, now float64) (out []int) {
	n, first := len(p.m.Workers), max(from, 0)
	for i := range n {
		if w := (first + i) % n; p.allows(it, node, w) && (class == anyClass || p.of[w] == class) {
			out = append(out, w)
		}
	}
	slices.SortStableFunc(out, func(v, w int) int {
		x, y := &p.mu.workers[v], &p.mu.workers[w]
		ends, load := cmp.Compare(x.end(now), y.end(now)), cmp.Compare(x.items(), y.items())
		if byLoad {
			return cmp.Or(load, ends)
		}
		return cmp.Or(ends, load)
	})
	return out
}

// wakeTeamLocked is the result of Push for a team by worker from: a worker that comes to it now,
// else one that has nothing.
func (p *dm) wakeTeamLocked(tm *team, from int) int {
	next := -1
	for _, v := range tm.workers {
		x := &p.mu.workers[v]
		switch {
		case x.queue.first().team != tm:
		case v == from:
			return Nobody
		case !x.busy && (next < 0 || x.blockedByTeam):
			next = v
		}
	}
	for v := 0; next < 0 && v < len(p.mu.idle); v++ {
		if p.mu.idle[v] && p.fits(tm, v) {
			next, p.mu.idle[v] = v, false
		}
	}
	if next < 0 {
		next = tm.workers[0]
	}
	return next
}

// fits reports whether worker w may be one of the team's.
func (p *dm) fits(tm *team, w int) bool {
	return tm.it.Allows(w) && (tm.class == anyClass || p.of[w] == tm.class) &&
		p.m.Workers[w].Node == p.m.Workers[tm.workers[0]].Node
}

// sparesLocked reports whether worker w, which is none of the team's, does nothing and could be
// one.
func (p *dm) sparesLocked(w int, tm *team) bool {
	x := &p.mu.workers[w]
	return (p.mu.idle[w] || x.blockedByTeam) && p.fits(tm, w) && !slices.Contains(tm.workers, w)
}

// blockedLocked lists the workers of the team, w apart, that cannot start it now: busy ones, and
// those that have something before it.
func (p *dm) blockedLocked(tm *team, w int) (out []int) {
	for _, v := range tm.workers {
		if x := &p.mu.workers[v]; v != w && (x.busy || x.queue.first().team != tm) {
			out = append(out, v)
		}
	}
	return out
}

// startLocked gives the team to worker w, if all its workers can start it, or others that
// are idle, or wait for another team, can take the places of those that cannot. w is one of
// them, or takes such a place.
func (p *dm) startLocked(tm *team, w int, now float64) bool {
	blocked := p.blockedLocked(tm, w)
	var instead []int
	if !slices.Contains(tm.workers, w) {
		if instead = append(instead, w); len(blocked) == 0 { // all are free, and none has asked
			blocked = tm.workers[:1:1]
		}
	}
	for v := range p.mu.idle {
		if len(instead) < len(blocked) && v != w && p.sparesLocked(v, tm) {
			instead = append(instead, v)
		}
	}
	if len(instead) < len(blocked) {
		return false
	}
	length := 0.0
	for _, v := range tm.workers {
		x := &p.mu.workers[v]
		if x.queue.first().team == tm {
			x.teamDelay, x.blockedByTeam = 0, false
		}
		e := x.queue.remove(x.queue.where(tm))
		x.shorten(&e)
		length = e.length
	}
	workers := slices.DeleteFunc(slices.Clone(tm.workers), func(v int) bool { return slices.Contains(blocked, v) })
	for _, v := range blocked {
		switch x := &p.mu.workers[v]; {
		case x.busy || x.blockedByTeam:
		case x.queue.n > 0:
			p.m.Wake(v)
		default:
			p.mu.idle[v] = true
		}
	}
	tm.workers = append(workers, instead[:len(blocked)]...)
	tm.gang.Workers = NewSet(tm.workers...)
	for _, v := range tm.workers {
		x := &p.mu.workers[v]
		x.busy, x.runs, x.start, x.team, x.teamDelay, x.blockedByTeam, p.mu.idle[v] = true, length, now+length, tm, 0, false, false
	}
	p.mu.workers[w].leading = tm
	p.n.Add(-1)
	return true
}

// reservedLocked reports whether worker w has a place in a team that another worker has got and that has not
// started. It gets no other item: the team would wait for the end of that one, even where others sleep.
// When the team starts, or its leader gives it up, w is woken.
func (p *dm) reservedLocked(w int) bool {
	x := &p.mu.workers[w]
	return x.team != nil && !x.team.started && x.leading != x.team
}

// Leave implements Leaver. Teams would wait for ever for a worker whose last item never started: it would
// be busy until its next Pop.
func (p *dm) Leave(w int) {
	if !p.kind.gangs {
		return
	}
	now := p.m.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reservedLocked(w) {
		return
	}
	p.mu.workers[w].busy, p.mu.workers[w].start = false, now
	p.leaveTeamLocked(w, now)
}

// leaveTeamLocked ends what worker w has of a team. If it led the team, and the team never started, its other workers
// are free.
func (p *dm) leaveTeamLocked(w int, now float64) {
	x := &p.mu.workers[w]
	if tm := x.leading; tm != nil {
		if x.leading = nil; !tm.started && len(tm.workers) > 1 { // the others were not joined: they sleep beside what they have
			x.team = nil
			for _, v := range tm.workers {
				if y := &p.mu.workers[v]; y.team == tm {
					y.busy, y.start, y.team = false, now, nil
					p.m.Wake(v)
				}
			}
		}
	}
	x.team = nil
}

// popTeamLocked is Pop for worker w, where it comes to a team: done. It then gets the team, or
// nothing, as it waits for others.
func (p *dm) popTeamLocked(w int, now float64) (it *Item, done bool) {
	p.leaveTeamLocked(w, now)
	x := &p.mu.workers[w]
	x.teamDelay, x.blockedByTeam = 0, false
	first := x.queue.first()
	if first == nil || first.team == nil {
		return nil, false
	}
	tm := first.team
	if p.startLocked(tm, w, now) {
		return tm.it, true
	}
	for v := range p.mu.workers { // with w, others may be enough for theirs
		y := &p.mu.workers[v]
		if first := y.queue.first(); y.blockedByTeam && first != nil && first.team != nil && p.fits(first.team, w) {
			if tm := first.team; p.startLocked(tm, w, now) {
				return tm.it, true
			}
		}
	}
	x.blockedByTeam = true
	x.teamDelay = max(0, tm.begin-now)
	x.length += x.teamDelay - first.transfer
	first.transfer = x.teamDelay
	return nil, true
}

// stealFromLocked gives u, which has nothing, the first entry in v's queue that it can start: an item, or
// a team that starts with it.
func (p *dm) stealFromLocked(u, v int, now float64) (entry, bool) {
	x := &p.mu.workers[v]
	e, at := x.queue.find(u)
	if !at.ok {
		return entry{}, false
	}
	if e.team == nil {
		if !p.willingLocked(u, v, e, e.length, now) {
			return entry{}, false
		}
		got := x.queue.remove(at)
		x.shorten(&got)
		return got, true
	}
	var got *entry
	var from place
	x.queue.each(func(e *entry, at place) bool {
		switch {
		case e.team != nil:
			if tm := e.team; p.fits(tm, u) && p.startLocked(tm, u, now) { // which removes e
				got = &entry{it: tm.it, team: tm}
			}
		case !e.it.Allows(u):
		case !p.willingLocked(u, v, e, e.length, now):
			return false
		default:
			got, from = e, at
		}
		return got == nil
	})
	if got == nil {
		return entry{}, false
	}
	if got.team != nil {
		return *got, true
	}
	item := x.queue.remove(from)
	x.shorten(&item)
	return item, true
}

// explainTeamLocked reports to Machine.Explain why the item has the workers of tm.
func (p *dm) explainTeamLocked(explain func(*Item, *Choice), tm *team, node int, all []teamCandidate, learning bool, now float64) {
	c := &Choice{Worker: tm.workers[len(tm.workers)-1], Workers: tm.workers, Learning: learning}
	for i := range all {
		f := &all[i]
		next := p.nextLocked(tm.it, node, f.class, Outside, false, now)
		w := next[f.size-1]
		if f.size == tm.gang.Size && f.class == tm.class {
			w = c.Worker
		}
		c.Terms = append(c.Terms, Term{Worker: w, Size: f.size, Free: p.mu.workers[w].end(now) - now, Length: f.length, Known: f.known,
			Transfer: f.transfer, Energy: f.energy, Cost: p.costLocked(f, next, now)})
	}
	explain(tm.it, c)
}
