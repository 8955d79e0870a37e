package engine

// Where a task may run, and with which implementation of its codelet.

import (
	"fmt"
	"slices"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/sched"
)

// WorkerInfo describes a worker.
type WorkerInfo struct {
	ID   int    // 0 to Runtime.Workers()-1
	Name string // "cpu 0"
	Kind string // what runs its kernels: "cpu", or the name of a device
	Arch string // what its kernels are written for: "cpu", "opencl", "cuda"
	Node int    // its memory node, a place in Runtime.Nodes()
}

// Worker describes worker i, one of 0 to Workers()-1.
func (rt *Runtime) Worker(i int) (WorkerInfo, error) {
	if i < 0 || i >= len(rt.workers) {
		return WorkerInfo{}, &NoWorkerError{Workers: []int{i}, Have: len(rt.workers)}
	}
	return rt.info(i), nil
}

func (rt *Runtime) info(i int) WorkerInfo {
	w := rt.workers[i]
	return WorkerInfo{ID: i, Name: w.name, Kind: w.kind, Arch: w.arch, Node: w.node}
}

// restrict finds the workers that may run a task, and which implementations
// each of them can execute. It calls the program's predicates, so no lock is held.
func (sp *special) restrict(rt *Runtime, s *TaskSpec) (err error) {
	c := s.Codelet
	var can func(w WorkerInfo, impl int, ops []iface.Desc, args []iface.Scalar) bool
	if c.Traits != nil {
		can = c.Traits.CanExecute
	}
	if sp.Allow == nil && len(sp.Kinds) == 0 && (can == nil || sp.nowhere) {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("engine: where a task of %s may run: %w", c.Name, newPanic(v))
		}
	}()
	var ops []iface.Desc
	for _, op := range s.Operands {
		ops = append(ops, op.Handle.Desc())
	}
	most := 0
	for _, arch := range rt.archs {
		most = max(most, len(c.impls(arch)))
	}
	impls := make([][]int, most)
	var fit []int
	for w := range rt.workers {
		info := rt.info(w)
		if s.Workers != nil && !slices.Contains(s.Workers, w) ||
			len(sp.Kinds) > 0 && !slices.Contains(sp.Kinds, info.Kind) ||
			sp.Allow != nil && !sp.Allow(info) {
			continue
		}
		ok := can == nil || sp.nowhere
		for i := range c.impls(info.Arch) {
			if can != nil && can(info, i, ops, s.Args) {
				impls[i] = append(impls[i], w)
				ok = true
			}
		}
		if ok {
			fit = append(fit, w)
		}
	}
	for _, w := range s.Workers {
		if w < 0 || w >= len(rt.workers) {
			return &NoWorkerError{Workers: slices.Clone(s.Workers), Have: len(rt.workers)}
		}
	}
	if len(fit) == 0 {
		return &NoWorkerError{Workers: s.Workers, Have: len(rt.workers), Restricted: true, Codelet: c}
	}
	if s.Workers != nil || len(fit) < len(rt.workers) {
		s.Workers = fit
	}
	if can != nil {
		sp.can = make([]*sched.Set, len(impls))
		for i, ws := range impls {
			sp.can[i] = sched.NewSet(ws...)
		}
	}
	return nil
}

// trials is how often an implementation is tried before it can lose, where its
// model does not know enough by then.
const trials = 5

// implementation chooses the implementation of t on worker w: of those that can
// execute it there, the first whose time is not known yet if times are
// measured, else the one that is expected to take least. The reference, and
// jobs that must give the same bits, take the first.
func (w *worker) implementation(t *task) int {
	sp, rt := t.special(), w.rt
	n := len(t.codelet.impls(w.arch))
	if sp == nil || n == 1 {
		return 0
	}
	able := func(i int) bool { return sp.can == nil || sp.can[i].Has(w.id) }
	first := 0
	for first < n-1 && !able(first) {
		first++
	}
	if rt.opt.Sequential || t.job.opt.Deterministic || rt.openModels() != nil {
		return first
	}
	rt.learn(t.job)
	best, least := first, -1.0
	for i := first; i < n; i++ {
		if !able(i) {
			continue
		}
		c := rt.call(t, i, rt.arch(w.id))
		e := rt.table(t.codelet).Estimate(c)
		rt.freeCall(c)
		if !e.Known && e.Samples < trials {
			return i
		}
		if e.Seconds > 0 && (least < 0 || e.Seconds < least) {
			best, least = i, e.Seconds
		}
	}
	return best
}
