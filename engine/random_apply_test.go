package engine

// Applies the steps of random programs to the model, and takes steps out of programs.

import (
	"slices"
	"sync/atomic"

	"github.com/starpush/starpush/datamgr/iface"
)

// reset makes d what it is before it is registered.
func (d *modelDatum) reset() {
	n := 1
	for _, k := range d.dims {
		n *= k
	}
	d.val, d.init, d.lost, d.turns = make([]int64, n), make([]bool, n), make([]bool, n), make([]int64, n)
	d.over, d.unsure = make([]overwrites, n), make([]bool, n)
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
	if s.datum >= len(p.data) || p.readsUnsure(s) >= 0 {
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
		for _, d := range p.data {
			clear(d.over)
		}
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
		d.each(h, func(i int) { d.init[i], d.lost[i], d.unsure[i], d.val[i] = false, false, false, 0 })
		d.endOverwrites(h)
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
	if s.out != uninit { // a refused access has no place in the order
		d.endOverwrites(h)
	}
	s.either = s.out == runs && s.mode.Reads() && d.isUnsure(h)
	if s.out != runs {
		return
	}
	p.held = true
	d.each(h, func(i int) {
		switch s.mode {
		case iface.W:
			s.want = append(s.want, 0)
			d.val[i], d.init[i], d.lost[i], d.unsure[i] = s.add, true, false, false
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
	if !s.acquire.Unordered && (s.out != uninit || s.acquire.OrderOnly) {
		d.endOverwrites(h)
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
			d.val[i], d.init[i], d.lost[i], d.unsure[i] = s.add, true, false, false
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
	from.endOverwrites(src)
	to.endOverwrites(dst)
	var vals []int64
	from.each(src, func(i int) { vals = append(vals, from.val[i]) })
	k := 0
	to.each(dst, func(i int) {
		to.init[i], to.lost[i], to.unsure[i] = true, s.out == lost, false
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
	d.endOverwrites(h)
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
	broken := map[int]bool{} // groups with a missing step
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

// Special tasks of random programs: parallel ones, those that carry tags, and
// repeating ones. For the model they are tasks like others.

// special makes the task that s describes special, by its number and by what there is.
func (e *execution) special(t *modelTask, s *TaskSpec) (o TaskOptions) {
	if e.loses != 0 { // what is lost then is known for plain tasks only
		return o
	}
	if e.parallel(t, s) {
		s.Codelet = e.together(t, s.Codelet)
	}
	if n := int64(t.rounds); n > 1 {
		o.Repeat = func(k *Task) bool { return k.Rounds() < n }
	}
	if carries(t.id) && t.kept {
		o.Tag = e.tag(t.id)
	}
	e.behindTags(t, s, &o)
	return o
}

// parallel reports whether a task is to have several workers. It cannot go elsewhere
// when a copy fails, so it stays where none does, and has no memory for each rank where
// that is short.
func (e *execution) parallel(t *modelTask, s *TaskSpec) bool {
	if t.id%5 != 3 || t.worker >= 0 ||
		e.rt.limited && slices.ContainsFunc(t.ops, func(o modelOp) bool { return o.mode == iface.Scratch }) {
		return false
	}
	if e.rt.devices == nil {
		return true
	}
	if s.Workers == nil && isNUMA(e.rt.devices[0]) {
		return true // on a NUMA node
	}
	return s.Workers != nil && !slices.ContainsFunc(s.Workers, func(w int) bool { return e.rt.workers[w].node > 0 })
}

// together is a codelet whose first rank does what c does while the others wait, and
// that counts them.
func (e *execution) together(t *modelTask, c *Codelet) *Codelet {
	one := c.CPU[0]
	p := *c
	p.Traits = &Traits{Parallel: ForkJoin, Retry: e.retries(t)}
	all := func(c *TaskContext) error {
		var came atomic.Int64
		if err := c.Fork(func(int) error { came.Add(1); return nil }); err != nil {
			e.fail("task %d: fork: %v", t.id, err)
		}
		if n := came.Load(); n != int64(c.Size()) {
			e.fail("task %d: %d ranks of %d", t.id, n, c.Size())
		}
		return one(c)
	}
	if t.id%2 == 0 {
		p.Traits = &Traits{Parallel: SPMD, MaxWorkers: 2 + int(t.id%3), Retry: e.retries(t)}
		var done atomic.Int64 // a repeating task's rounds come one after the other
		all = func(c *TaskContext) error {
			before := done.Load()
			if err := c.Barrier(); err != nil { // until all have looked
				e.fail("task %d: barrier: %v", t.id, err)
			}
			if c.Rank() > 0 {
				if c.Barrier() == nil && done.Load() != before+1 {
					e.fail("task %d: rank %d passed the barrier alone", t.id, c.Rank())
				}
				return nil
			}
			if err := one(c); err != nil {
				return err
			}
			done.Add(1)
			return c.Barrier()
		}
	}
	p.CPU, p.On = []Impl{all}, nil
	return &p
}

// carries reports whether task id carries a tag, if others may wait for it.
func carries(id int64) bool { return id%2 == 0 }

// tag is the tag that task id carries.
func (e *execution) tag(id int64) *Tag {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.tags == nil {
		e.tags = map[int64]*Tag{}
	}
	if e.tags[id] == nil {
		e.tags[id] = e.job.NewTag("end")
	}
	return e.tags[id]
}

// behindTags makes some tasks wait for tags instead of the tasks that carry them: by
// a tag of their own that depends on those, or by themselves.
func (e *execution) behindTags(t *modelTask, s *TaskSpec, o *TaskOptions) {
	if t.id%3 == 0 || t.rounds > 1 {
		return
	}
	for i, id := range t.after {
		if !carries(id) {
			continue
		}
		if o.Tag != nil && t.id%4 == 0 {
			if err := o.Tag.DependsOn(e.tag(id)); err != nil {
				e.fail("task %d: %v", t.id, err)
			}
			s.After[i] = nil
			continue
		}
		s.After[i] = e.tag(id)
	}
	s.After = slices.DeleteFunc(s.After, func(d Dependency) bool { return d == nil })
}
