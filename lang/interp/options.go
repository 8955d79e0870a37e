package interp

// The options of insert.

import (
	"math"

	"github.com/starpush/starpush/engine"
)

// applyOptions evaluates the options of the site; it reports whether to wait.
func (m *Machine) applyOptions(f *frame, s *insertSite, st *siteState) (sync bool) {
	o, spec := &s.opts, &st.spec
	if o.priority != nil {
		spec.Priority = clampInt(o.priority(f))
	}
	if o.color != nil {
		spec.Color = clampInt(o.color(f))
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
				if d.t != nil {
					spec.After = append(spec.After, d.t)
				}
			case *Gate:
				spec.After = append(spec.After, d.g)
			}
		}
	}
	if o.order != nil {
		st.order = o.order(f)
		m.checkPlace(spec, st.order, s)
	}
	if o.loose != nil {
		for k := range spec.Operands {
			spec.Operands[k].Unordered = false
		}
		for _, u := range m.handlesIn(o.loose(f), s.opts.at["unordered"]) {
			for k, h := range st.handles {
				if h.root == u.root && h.h.Overlaps(u.h) {
					spec.Operands[k].Unordered = true
				}
			}
		}
	}
	spec.Unsequenced = o.sequential != nil && !o.sequential(f)
	return o.sync != nil && o.sync(f)
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

// items returns the items of a list, or v itself.
func items(v any) []any {
	if l, ok := v.(*List); ok {
		return l.a
	}
	return []any{v}
}

func hasKind(v any, kind DeviceKind) bool {
	for _, k := range items(v) {
		if k == kind {
			return true
		}
	}
	return false
}
