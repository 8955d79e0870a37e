package engine

import (
	"context"
	"errors"
	"testing"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// TestEndedViewKeepsWhatHasNoValue: data becomes one fragment again when its last view has
// ended, but not where only some of its elements have a value, or only some lost theirs.
func TestEndedViewKeepsWhatHasNoValue(t *testing.T) {
	write := func(t *testing.T, j *Job, h *datamgr.Handle) {
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.W, h)}))
	}
	for name, c := range map[string]struct {
		uses    func(t *testing.T, j *Job, h *datamgr.Handle, parts []*datamgr.Handle)
		uninit  bool // reading all of it
		partial bool // the others have one
		lost    bool
		one     bool // it is one fragment afterwards
	}{
		"nothing written":   {func(*testing.T, *Job, *datamgr.Handle, []*datamgr.Handle) {}, true, false, false, true},
		"the first written": {func(t *testing.T, j *Job, _ *datamgr.Handle, ps []*datamgr.Handle) { write(t, j, ps[0]) }, true, true, false, false},
		"the last written":  {func(t *testing.T, j *Job, _ *datamgr.Handle, ps []*datamgr.Handle) { write(t, j, ps[2]) }, true, true, false, false},
		"all written": {func(t *testing.T, j *Job, _ *datamgr.Handle, ps []*datamgr.Handle) {
			for _, p := range ps {
				write(t, j, p)
			}
		}, false, false, false, true},
		"one invalidated": {func(t *testing.T, j *Job, h *datamgr.Handle, ps []*datamgr.Handle) {
			write(t, j, h)
			must(t, j.Invalidate(ps[1]))
		}, true, true, false, false},
		"one failed": {func(t *testing.T, j *Job, h *datamgr.Handle, ps []*datamgr.Handle) {
			write(t, j, h)
			must(t, j.Submit(&TaskSpec{Codelet: kernel("fails", func(*TaskContext) error { return errKernel }), Operands: ops(iface.W, ps[1])}))
		}, false, false, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
				h, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{9}})
				must(t, err)
				v, err := rt.Partition(h, filter.Blocks(3))
				must(t, err)
				c.uses(t, j, h, v.Parts)
				must(t, j.WaitHandles(context.Background(), h))
				rt.EndView(v)
				a, err := j.Acquire(context.Background(), h, iface.R)
				var uninit *UninitError
				var lost *FailedDataError
				switch {
				case errors.As(err, &uninit) != c.uninit || errors.As(err, &lost) != c.lost:
					t.Errorf("reading gives %v", err)
				case c.uninit && uninit.Partial != c.partial:
					t.Errorf("%v: some elements have a value: %v, want %v", err, uninit.Partial, c.partial)
				case err == nil:
					must(t, a.Release())
				}
				if (h.Fragments() == 1) != c.one {
					t.Errorf("%d fragments, want one: %v", h.Fragments(), c.one)
				}
				must(t, ignored(j.Wait(context.Background()), c.lost))
			})
		})
	}
}

// ignored is err, unless it was to be expected.
func ignored(err error, expected bool) error {
	if expected {
		return nil
	}
	return err
}
