package engine

// What the steps of random programs do to the model, and programs with steps
// taken out.

import (
	"slices"

	"github.com/starpush/starpush/datamgr/iface"
)

// reset makes d what it is before it is registered.
func (d *modelDatum) reset() {
	n := 1
	for _, k := range d.dims {
		n *= k
	}
	d.val, d.init, d.lost = make([]int64, n), make([]bool, n), make([]bool, n)
	if d.home {
		for i := range d.val {
			d.val[i], d.init[i] = int64(i*i), true
		}
	}
	d.groups, d.views = nil, nil
	d.gone, d.ended = true, false
	desc := iface.Desc{Kind: d.kind, Elem: iface.I64, Rank: int8(len(d.dims))}
	copy(desc.Dim[:], d.dims)
	h := &modelHandle{desc: desc, view: -1}
	for k := range d.dims {
		h.axes = append(h.axes, k)
	}
	d.handles = []*modelHandle{h}
}

// alive reports whether a handle may be used.
func (p *program) alive(di, hi int) bool {
	if di >= len(p.data) || p.data[di].gone || hi >= len(p.data[di].handles) {
		return false
	}
	return !p.data[di].handles[hi].dead
}

// apply does a step to the model and fills in what comes of it. It reports false
// when the step makes no sense: what it needs is not there.
func (p *program) apply(s *step) bool {
	if s.datum >= len(p.data) {
		return false
	}
	d := p.data[s.datum]
	switch s.kind {
	case stepRegister:
		if !d.gone || d.ended || d.dup {
			return false
		}
		d.gone = false
		return true
	case stepDuplicate:
		return p.applyDuplicate(s)
	case stepTask:
		p.waited = false
		return p.applyTask(s.task)
	case stepWaitTask:
		out, ok := p.outs[s.task.id]
		return ok && out != uninit
	case stepRelease:
		was := p.held
		p.held = false
		return was
	case stepReleaseTo:
		return p.held
	case stepOpenAll:
		return true
	case stepWait:
		p.waited = true
		return true
	case stepGap:
		v := &modelView{ended: true, gap: true}
		for range s.parts {
			d.handles = append(d.handles, &modelHandle{dead: true})
		}
		d.views = append(d.views, v)
		return true
	case stepEndView:
		if d.gone || s.view >= len(d.views) || d.views[s.view].gap {
			return false
		}
		d.end(s.view)
		return true
	}
	if !p.alive(s.datum, s.handle) {
		return false
	}
	h := d.handles[s.handle]
	switch s.kind {
	case stepPartition:
		parts := []*modelHandle{h}
		for _, f := range s.filters {
			if parts = split(parts, f); parts == nil {
				return false
			}
		}
		if len(parts) != s.parts || s.view != len(d.views) {
			return false
		}
		d.declare(s.datum, s.handle, parts)
	case stepReleasePart:
		return p.held
	case stepInvalidate:
		d.closeGroup(s.handle, iface.W)
		d.each(h, func(i int) { d.init[i], d.lost[i], d.val[i] = false, false, 0 })
	case stepUnregister:
		d.closeGroup(0, iface.W)
		d.gone, d.ended = true, true
	case stepAcquire:
		p.applyAcquire(s, d, h)
	case stepCall:
		p.waited = false
		p.applyCall(s, d, h)
	case stepTry:
		if len(d.groups) > 0 {
			return false
		}
		s.want, s.out = nil, d.check(h, iface.R)
		d.each(h, func(i int) { s.want = append(s.want, d.val[i]) })
	case stepCopy:
		return p.applyCopy(s, d, h)
	}
	return true
}

func (p *program) applyTask(t *modelTask) bool {
	for _, o := range t.ops {
		if !p.alive(o.datum, o.handle) {
			return false
		}
	}
	for _, c := range t.children {
		if !p.applies(c.ops) {
			return false
		}
	}
	t.after = slices.DeleteFunc(t.after, func(id int64) bool { _, ok := p.outs[id]; return !ok })
	p.run(t)
	if t.out != uninit {
		p.outs[t.id] = t.out
	}
	return true
}

func (p *program) applies(ops []modelOp) bool {
	return !slices.ContainsFunc(ops, func(o modelOp) bool { return !p.alive(o.datum, o.handle) })
}

func (p *program) applyAcquire(s *step, d *modelDatum, h *modelHandle) {
	d.closeGroup(s.handle, s.mode)
	d.lazyInit(h, s.mode)
	s.free = d.adds && !p.waited
	s.want, s.out = nil, d.check(h, s.mode)
	if s.out != runs {
		return
	}
	p.held = true
	d.each(h, func(i int) {
		switch s.mode {
		case iface.W:
			s.want = append(s.want, 0)
			d.val[i], d.init[i], d.lost[i] = s.add, true, false
		case iface.RW:
			s.want = append(s.want, d.val[i])
			d.val[i] += s.add
		default:
			s.want = append(s.want, d.val[i])
		}
	})
}

func (p *program) applyCall(s *step, d *modelDatum, h *modelHandle) {
	s.lower = slices.DeleteFunc(s.lower, func(l lowering) bool { return !p.alive(s.datum, l.handle) })
	s.free, s.want, s.out = d.adds, nil, runs
	d.closeGroup(s.handle, s.mode)
	if !s.acquire.OrderOnly {
		d.lazyInit(h, s.mode)
	}
	uses := !s.acquire.OrderOnly || s.fetch
	reads := s.mode
	if s.fetch {
		reads = iface.RW
	}
	if uses {
		s.out = d.check(h, reads)
	}
	if !uses || s.out != runs {
		return
	}
	d.each(h, func(i int) {
		switch {
		case s.mode == iface.R:
			s.want = append(s.want, d.val[i])
		case s.mode == iface.W && !s.fetch:
			s.want = append(s.want, 0)
			d.val[i], d.init[i], d.lost[i] = s.add, true, false
		default:
			s.want = append(s.want, d.val[i])
			d.val[i] += s.add
		}
	})
}

func (p *program) applyCopy(s *step, to *modelDatum, dst *modelHandle) bool {
	if !p.alive(s.from[0], s.from[1]) {
		return false
	}
	from := p.data[s.from[0]]
	src := from.handles[s.from[1]]
	from.closeGroup(s.from[1], iface.R)
	from.lazyInit(src, iface.R)
	s.out = from.check(src, iface.R)
	if s.out != uninit || to != from || !to.overlap(dst, src) {
		to.closeGroup(s.handle, iface.W)
	}
	if s.out == uninit {
		return true
	}
	var vals []int64
	from.each(src, func(i int) { vals = append(vals, from.val[i]) })
	k := 0
	to.each(dst, func(i int) {
		to.init[i], to.lost[i] = true, s.out == lost
		if s.out == runs {
			to.val[i] = vals[k]
		}
		k++
	})
	return true
}

func (p *program) applyDuplicate(s *step) bool {
	c := p.data[s.datum]
	if !c.dup || !c.gone || c.ended || !p.alive(s.from[0], s.from[1]) {
		return false
	}
	d := p.data[s.from[0]]
	h := d.handles[s.from[1]]
	d.closeGroup(s.from[1], iface.R)
	d.lazyInit(h, iface.R)
	s.out = d.check(h, iface.R)
	if s.out == uninit {
		c.ended = true
		return true
	}
	c.gone = false
	k := 0
	d.each(h, func(i int) {
		c.val[k], c.init[k], c.lost[k] = d.val[i], true, s.out == lost
		k++
	})
	return true
}

// without returns the program without some of its steps: those for which drop is
// true, and those that make no sense without these.
func (p *program) without(drop []bool) *program {
	q := &program{seed: p.seed, tasks: p.tasks, fails: p.fails, loses: p.loses, outs: map[int64]outcome{}}
	for _, d := range p.data {
		c := *d
		c.reset()
		q.data = append(q.data, &c)
	}
	broken := map[int]bool{} // groups of which a step is missing
	for i := range p.steps {
		s := p.steps[i]
		if q.held && (s.kind == stepAcquire || s.kind == stepWait || s.kind == stepWaitHandle) {
			release := step{kind: stepRelease, group: s.group}
			q.apply(&release)
			q.steps = append(q.steps, release)
		}
		if s.task != nil && s.kind == stepTask {
			s.task = s.task.clone()
		}
		s.lower = slices.Clone(s.lower)
		ok := !drop[i] && (s.kind != stepWaitTask || !broken[s.group]) && q.apply(&s)
		if !ok {
			broken[s.group] = true
			if s.kind != stepPartition && s.kind != stepGap {
				continue
			}
			s = step{kind: stepGap, datum: s.datum, parts: s.parts}
			q.apply(&s)
		}
		if s.kind == stepAcquire && s.out != runs {
			broken[s.group] = true
		}
		q.steps = append(q.steps, s)
	}
	return q
}

func (t *modelTask) clone() *modelTask {
	c := *t
	c.after, c.children = slices.Clone(t.after), nil
	for _, k := range t.children {
		c.children = append(c.children, k.clone())
	}
	return &c
}
