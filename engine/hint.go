package engine

// Hints about where data will be used: they change when bytes travel, and no
// value.

import (
	"sync"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

// hints are carried out by one goroutine, in their order. When too many wait, more
// are forgotten.
type hints struct {
	mu struct {
		sync.Mutex
		queue chan hint // nil: there is nobody
	}
}

// hint brings data to a node.
type hint struct {
	h    *datamgr.Handle
	node int
}

func (q *hints) open(rt *Runtime) {
	queue := make(chan hint, 1024)
	q.mu.queue = queue
	rt.group.Add(1)
	go func() {
		defer rt.group.Done()
		for x := range queue {
			rt.reg.Prefetch(x.h, x.node)
		}
	}()
}

func (q *hints) add(x hint) {
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case q.mu.queue <- x:
	default:
	}
}

func (q *hints) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.queue != nil {
		close(q.mu.queue)
		q.mu.queue = nil
	}
}

// Prefetch brings the value that h has now to a memory node, an index of
// Runtime.Nodes, so that tasks there find it; with wait it returns when that is
// done. It is a hint: it takes no part in the order, waits for no task, and does
// nothing where the data is being written or where there is no room. Errors:
// *UninitError when h has no value, as of what was submitted, *DeadHandleError,
// *NoNodeError, ErrClosed.
func (j *Job) Prefetch(h *datamgr.Handle, node int, wait bool) error {
	rt := j.rt
	if err := rt.checkNode(node); err != nil {
		return err
	}
	h, err := j.hinted(h, true)
	switch {
	case err != nil:
		return err
	case h == nil || rt.devices == nil:
	case wait:
		rt.reg.Prefetch(h, node)
	default:
		rt.hints.add(hint{h, node})
	}
	return nil
}

// WontUse says that h will not be used for a while: where copies of it lie on
// devices now, they are the first to go when room is needed. It is a hint, and
// does nothing to data without a value. Errors: *DeadHandleError, ErrClosed.
func (j *Job) WontUse(h *datamgr.Handle) error {
	h, err := j.hinted(h, false)
	if err == nil && h != nil {
		h.WontUse()
	}
	return err
}

// hinted checks what a hint is about, and returns the data that has the bytes: nil
// when there are none yet.
func (j *Job) hinted(h *datamgr.Handle, valued bool) (*datamgr.Handle, error) {
	rt := j.rt
	if h == nil {
		return nil, &ModeError{Other: -1, Message: "no data to give a hint about: the handle is nil"}
	}
	rt.reg.Lock()
	defer rt.reg.Unlock()
	if err := j.open(); err != nil {
		return nil, err
	}
	if err := rt.alive(0, h); err != nil {
		return nil, err
	}
	if u := h.Shared(); u != nil {
		if h != u.Handle() {
			return nil, nil // part of a duplicate that has no bytes of its own
		}
		return u.Alias(), nil
	}
	if valued && !h.InitOnly() {
		if _, bad := rt.reg.Merge([]Operand{{Handle: h, Mode: iface.R}}, datamgr.MergeOptions{}); bad.Kind != datamgr.NoProblem && !h.InitialisedLocked() {
			return nil, problem([]Operand{{Handle: h, Mode: iface.R}}, bad)
		}
	}
	return h, nil
}

// SetWriteThrough makes every task that writes h from now on bring the new value to
// these memory nodes when it has ended, as a hint; none: no more. Parts declared
// later inherit it. A *NoNodeError says that there is no such node.
func (rt *Runtime) SetWriteThrough(h *datamgr.Handle, nodes ...int) error {
	if h == nil {
		return &ModeError{Other: -1, Message: "no data to write through: the handle is nil"}
	}
	set := uint64(0)
	for _, n := range nodes {
		if err := rt.checkNode(n); err != nil {
			return err
		}
		set |= 1 << n
	}
	h.SetWriteThrough(set)
	return nil
}

func (rt *Runtime) checkNode(n int) error {
	if nodes := rt.Nodes(); n < 0 || n >= len(nodes) {
		return &NoNodeError{Node: n, Nodes: nodes}
	}
	return nil
}

// writeThrough brings what t has written where it is to be.
func (rt *Runtime) writeThrough(t *task) {
	if t.kind == invalidateTask || t.kind == unregisterTask {
		return
	}
	for _, op := range t.operands() {
		if !op.Mode.Writes() || op.Mode == iface.Redux || op.Mode == iface.Scratch {
			continue
		}
		for n, set := 0, op.Handle.WriteThrough(); set != 0; n, set = n+1, set>>1 {
			if set&1 != 0 {
				rt.hints.add(hint{op.Handle, n})
			}
		}
	}
}
