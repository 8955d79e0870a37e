package interp

// The options of insert: compiled once a site, and evaluated for each task.

import (
	"math"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/syntax"
)

// insertOptions are the options of a site; nil ones are not given.
type insertOptions struct {
	any                               bool
	priority, color, order, bundle    intFn
	rank, retry                       intFn
	flops                             floatFn
	name, where, worker, after, loose refFn
	sync, sequential                  boolFn
	at                                map[string]position
}

// uncommon reports whether some are in engine.TaskOptions.
func (o *insertOptions) uncommon() bool { return o.order != nil || o.bundle != nil || o.retry != nil }

// insertOptions compiles the options of an insert, after those of its codelet.
func (c *compiler) insertOptions(s *insertSite, w *syntax.With) {
	if k, ok := s.callee.Node.(*syntax.Codelet); ok && k.With != nil {
		for _, o := range k.With.Options {
			switch o.Name.Name {
			case "where":
				s.kinds = kindsIn(o.Value)
			case "retry":
				if v, err := literal(o.Value); err == nil && k.Body == nil { // else it is a trait of the codelet
					n, _ := v.(int64)
					s.opts.any, s.opts.retry = true, func(*frame) int64 { return n }
				}
			}
		}
	}
	s.opts.at = map[string]position{}
	if w == nil {
		return
	}
	s.opts.any = true
	for _, o := range w.Options {
		s.opts.at[o.Name.Name] = c.positionOf(o.Value)
		if hasCall(o.Value) {
			s.fresh = true
		}
		switch o.Name.Name {
		case "priority":
			s.opts.priority = c.int(o.Value)
		case "color":
			s.opts.color = c.int(o.Value)
		case "rank":
			s.opts.rank = c.int(o.Value)
		case "bundle":
			s.opts.bundle = c.int(o.Value)
		case "order":
			s.opts.order = c.int(o.Value)
		case "retry":
			s.opts.retry = c.int(o.Value)
		case "flops":
			s.opts.flops = c.float(o.Value)
		case "name":
			s.opts.name = c.ref(o.Value)
		case "where":
			s.opts.where = c.ref(o.Value)
		case "worker":
			s.opts.worker = c.ref(o.Value)
		case "after":
			s.opts.after = c.ref(o.Value)
		case "unordered":
			s.opts.loose = c.ref(o.Value)
		case "sync":
			s.opts.sync = c.bool(o.Value)
		case "sequential":
			s.opts.sequential = c.bool(o.Value)
		}
	}
}

// kindsIn returns the kinds that an expression names, or nil when they are not
// written out.
func kindsIn(e syntax.Expr) []DeviceKind {
	switch e := unparen(e).(type) {
	case *syntax.Ident:
		return []DeviceKind{DeviceKind(e.Name)}
	case *syntax.ListLit:
		all := []DeviceKind{} // not nil: an empty list names none
		for _, x := range e.Items {
			k := kindsIn(x)
			if k == nil {
				return nil
			}
			all = append(all, k...)
		}
		return all
	}
	return nil
}

// applyOptions evaluates the options of the site; it reports whether to wait.
func (m *Machine) applyOptions(f *frame, s *insertSite, st *siteState) (sync bool) {
	o, spec := &s.opts, &st.spec
	if o.priority != nil {
		spec.Priority = clampInt(o.priority(f))
	}
	if o.color != nil {
		spec.Color = clampInt(o.color(f))
	}
	if o.rank != nil {
		r := o.rank(f)
		m.needRank("rank", r, o.at["rank"])
		if m.ranks != nil {
			st.on = 1 + int(r%int64(m.ranks.Size()))
		}
		if m.plan != nil {
			m.plan.on = 1 + uint64(r)
		}
	}
	if o.flops != nil {
		spec.Flops = o.flops(f)
		if spec.Flops < 0 || spec.Flops != spec.Flops {
			m.fail("E0705", o.at["flops"], "flops is %s; it must not be negative", formatFloat(spec.Flops, 64))
		}
	}
	if o.name != nil {
		spec.Name, _ = o.name(f).(string)
	}
	if m.devices.workers != nil {
		m.restrict(f, s, st)
	} else if o.where != nil {
		if where := o.where(f); !hasKind(where, "cpu") {
			m.noWorker(s, o.at["where"], "this run has no device of that kind", items(where)...)
		}
	} else if s.noCPU() {
		m.noWorker(s, s.at, "its codelet runs on devices, and this run has none", devicesOf(s.kinds)...)
	}
	if m.devices.workers == nil {
		spec.Workers = nil
	}
	if o.worker != nil && m.devices.workers == nil {
		st.workers = st.workers[:0]
		for _, w := range items(o.worker(f)) {
			if w, ok := w.(Worker); ok {
				st.workers = append(st.workers, int(w))
			}
		}
		if len(st.workers) == 0 {
			m.noWorker(s, o.at["worker"], "the list of workers is empty")
		}
		spec.Workers = st.workers
	}
	spec.After = spec.After[:0]
	if o.after != nil {
		for _, d := range items(o.after(f)) {
			switch d := d.(type) {
			case *Task:
				if d.ticket != nil {
					m.oneRankOnly("a task that waits `after` another", "let both use the same data, or `wait` for the first", s.opts.at["after"])
				}
				if d.t != nil {
					spec.After = append(spec.After, d.t)
				}
			case *Gate:
				spec.After = append(spec.After, d.g)
			}
		}
	}
	if o.order != nil {
		st.options.Place = o.order(f)
		m.checkPlace(spec, st.options.Place, s)
		if m.checkpoints != nil {
			st.options.Place = m.checkpoints.place(spec.Workers[0], st.options.Place)
		}
	}
	if o.bundle != nil {
		st.options.Bundle = m.bundle(o.bundle(f), s.at)
	}
	if o.retry != nil {
		n := o.retry(f)
		if n < 0 {
			m.failHelp("E0705", o.at["retry"], "", "write how often the kernel may run again after it failed; 0 is never", "`retry` is %d; it must not be negative", n)
		}
		if st.options.Retry = clampInt(n); n == 0 {
			st.options.Retry = -1
		}
	}
	if o.loose != nil {
		for k := range spec.Operands {
			spec.Operands[k].Unordered = false
		}
		for _, u := range m.dataIn(o.loose(f), s.opts.at["unordered"]) {
			for k, h := range st.handles {
				if h.root == u.root && h.h.Overlaps(u.h) {
					spec.Operands[k].Unordered = true
				}
			}
		}
	}
	spec.Unordered = o.sequential != nil && !o.sequential(f)
	return o.sync != nil && o.sync(f)
}

// bundle returns the group of tasks with a number. Groups last until waitAll.
func (m *Machine) bundle(number int64, at position) *engine.Bundle {
	b := m.bundles[number]
	if b == nil {
		m.alloc(bundleBytes, at)
		b = new(engine.Bundle)
		if m.bundles == nil {
			m.bundles = map[int64]*engine.Bundle{}
		}
		m.bundles[number] = b
	}
	return b
}

// checkPlace checks a place in the sequence of a worker as far as the task's own
// insert shows it.
func (m *Machine) checkPlace(spec *engine.TaskSpec, order int64, s *insertSite) {
	at := s.opts.at["order"]
	if len(spec.Workers) != 1 {
		m.failHelp("E0705", at, "", "name the worker: `worker = workers(cpu)[0]`", "`order` is a place in the sequence of one worker")
	}
	if order < 1 {
		m.failHelp("E0705", at, "", "the first task of a worker has `order = 1`", "there is no place %d: places count from 1", order)
	}
}

func clampInt(v int64) int { return int(max(math.MinInt32, min(math.MaxInt32, v))) }
