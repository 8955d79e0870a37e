package engine

import (
	"context"
	"testing"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// TestLeadingDimension: rows of a matrix without a home lie as far apart as it was
// registered, however it got its value, and nothing lies behind the last one.
func TestLeadingDimension(t *testing.T) {
	const rows, cols, ld = 4, 6, 10
	spec := DataSpec{Kind: iface.Matrix, Elem: iface.I64, Dims: []int{rows, cols}, LD: ld}
	number := func(b *iface.Buffer) error {
		for i := range b.Dim[0] {
			for k := range iface.Row[int64](b, i) {
				iface.Row[int64](b, i)[k] = int64((b.Off[0]+i)*cols + b.Off[1] + k)
			}
		}
		return nil
	}
	tiles := kernel("number", func(c *TaskContext) error { return number(c.Buffer(0)) })
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		before := rt.reg.Memory().Allocated()
		filled, err := rt.RegisterFilled(spec, number)
		must(t, err)
		written, err := rt.Register(spec)
		must(t, err)
		for _, h := range parts(t, rt, written, filter.Tiles(2, 2, 0)) {
			must(t, j.Submit(&TaskSpec{Codelet: tiles, Operands: ops(iface.W, h)}))
		}
		copied, err := rt.Register(spec)
		must(t, err)
		_, err = j.Copy(copied, filled, CopyOptions{})
		must(t, err)
		for _, h := range []*datamgr.Handle{filled, written, copied} {
			a, err := j.Acquire(context.Background(), h, iface.R)
			must(t, err)
			b := a.Buffer()
			if b.Stride[0] != ld || b.Contiguous() {
				t.Errorf("rows are %d elements apart", b.Stride[0])
			}
			for k := range rows * cols {
				if got := iface.Row[int64](b, k/cols)[k%cols]; got != int64(k) {
					t.Errorf("element %d is %d", k, got)
				}
			}
			must(t, a.Release())
		}
		if n := rt.reg.Memory().Allocated() - before; n != 3*8*((rows-1)*ld+cols) {
			t.Errorf("%d bytes in use", n)
		}
		for _, h := range []*datamgr.Handle{filled, written, copied} {
			must(t, j.Unregister(h))
		}
		must(t, j.Wait(context.Background()))
		if n := rt.reg.Memory().Allocated(); n != before {
			t.Errorf("%d bytes in use at the end", n-before)
		}
		for _, wrong := range []DataSpec{
			{Kind: iface.Matrix, Elem: iface.I64, Dims: []int{rows, cols}, LD: cols - 1},
			{Kind: iface.Matrix, Elem: iface.I64, Dims: []int{rows, cols}, LD: 1 << 60},
			{Kind: iface.Vector, Elem: iface.I64, Dims: []int{rows}, LD: ld},
		} {
			if _, err := rt.Register(wrong); err == nil {
				t.Errorf("registered %+v", wrong)
			}
		}
		empty, err := rt.Register(DataSpec{Kind: iface.Matrix, Elem: iface.I64, Dims: []int{0, cols}, LD: ld})
		must(t, err)
		must(t, j.Submit(&TaskSpec{Codelet: tiles, Operands: ops(iface.W, empty)}))
		must(t, j.Wait(context.Background()))
	})
}
