package engine

import (
	"context"
	"strings"
	"testing"

	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// TestBlock: planes and lines of a block at home lie as far apart as it was
// registered, for all its parts: slabs, planes, columns of planes, elements.
func TestBlock(t *testing.T) {
	const nx, ny, nz = 3, 4, 5
	step := []int{40, 7} // planes 40 elements apart, lines 7
	add := kernel("add", func(c *TaskContext) error {
		b := c.Buffer(0)
		for i := range b.Lines() {
			for k := range iface.Line[int64](b, i) {
				iface.Line[int64](b, i)[k] += c.Arg(0).Int()
			}
		}
		return nil
	})
	for _, f := range []struct {
		name string
		by   []filter.Filter
	}{
		{"one slab", []filter.Filter{filter.Axis(2, 1, 0)}},
		{"slabs", []filter.Filter{filter.Axis(0, 2, 0)}},
		{"all axes", []filter.Filter{filter.Axis(2, 2, 0), filter.Axis(0, 2, 0), filter.Axis(1, 3, 0)}},
		{"planes", []filter.Filter{filter.Pick(0), filter.Rows(2, 0)}},
		{"planes along y", []filter.Filter{filter.Pick(1), filter.Tiles(3, 2, 0)}},
		{"planes along z", []filter.Filter{filter.Pick(2)}},
		{"lines along x", []filter.Filter{filter.Pick(2), filter.Pick(1), filter.Blocks(3)}},
		{"elements", []filter.Filter{filter.Axis(1, 2, 0), filter.Pick(0), filter.Pick(0), filter.Pick(0)}},
	} {
		t.Run(f.name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
				home := make([]int64, 2*40+3*7+5)
				for i := range home {
					home[i] = -1
				}
				at := func(x, y, z int) *int64 { return &home[40*x+7*y+z] }
				for x := range nx {
					for y := range ny {
						for z := range nz {
							*at(x, y, z) = int64(x*ny*nz + y*nz + z)
						}
					}
				}
				h, err := rt.Register(DataSpec{Kind: iface.Block, Elem: iface.I64, Dims: []int{nx, ny, nz}, Step: step, Home: ptr(home)})
				must(t, err)
				of := parts(t, rt, h, f.by...)
				for _, p := range of {
					must(t, j.Submit(&TaskSpec{Codelet: add, Operands: ops(iface.RW, p), Args: []iface.Scalar{iface.Int(1000)}}))
				}
				sum := 0
				for _, p := range of {
					d := p.Desc()
					sum += d.Len()
				}
				if f.name != "lines along x" && f.name != "elements" && sum != nx*ny*nz {
					t.Errorf("parts of %d elements", sum)
				}
				must(t, j.Unregister(h))
				must(t, j.Wait(context.Background()))
				for i, v := range home {
					x, y, z := i/40, i%40/7, i%40%7
					inside := y < ny && z < nz // and x < nx: the home ends there
					want := int64(-1)
					if inside {
						want = int64(x*ny*nz+y*nz+z) + 1000
					}
					if v != want {
						t.Fatalf("place %d is %d, want %d", i, v, want)
					}
				}
			})
		})
	}
	// A line along x and one along y that cross in an element cannot both be contiguous
	// in one piece of memory.
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		home := make([]int64, nx*ny*nz)
		h, err := rt.Register(DataSpec{Kind: iface.Block, Elem: iface.I64, Dims: []int{nx, ny, nz}, Home: ptr(home)})
		must(t, err)
		alongX := parts(t, rt, h, filter.Pick(2), filter.Pick(1))[2*ny+1]
		alongY := parts(t, rt, h, filter.Pick(2), filter.Pick(0))[2*nx+1]
		two := &Codelet{Name: "two", CPU: []Impl{func(c *TaskContext) error {
			if n, m := c.Buffer(0).Len(), c.Buffer(1).Len(); n != nx || m != ny {
				t.Errorf("lines of %d and %d elements", n, m)
			}
			return nil
		}}}
		if err := j.Submit(&TaskSpec{Codelet: two, Operands: ops(iface.RW, alongX, iface.R, alongY)}); err == nil || !strings.Contains(err.Error(), "memory") {
			t.Errorf("crossing lines, one written: %v", err)
		}
		must(t, j.Submit(&TaskSpec{Codelet: two, Operands: ops(iface.R, alongX, iface.R, alongY)}))
		must(t, j.Wait(context.Background()))
	})
	rt, err := New(Options{Workers: 1})
	must(t, err)
	defer rt.Close()
	for _, wrong := range []DataSpec{
		{Kind: iface.Block, Elem: iface.I64, Dims: []int{nx, ny}},
		{Kind: iface.Block, Elem: iface.I64, Dims: []int{nx, -1, nz}},
		{Kind: iface.Block, Elem: iface.I64, Dims: []int{1 << 31, 1 << 31, 1 << 31}},
		{Kind: iface.Block, Elem: iface.I64, Dims: []int{nx, ny, nz}, LD: nz - 1},
		{Kind: iface.Block, Elem: iface.I64, Dims: []int{nx, ny, nz}, LD: 1 << 59},
		{Kind: iface.Block, Elem: iface.I64, Dims: []int{nx, ny, nz}, Step: []int{7}},
		{Kind: iface.Block, Elem: iface.I64, Dims: []int{nx, ny, nz}, Step: []int{7*ny - 1, 7}},
		{Kind: iface.Block, Elem: iface.I64, Dims: []int{nx, ny, nz}, Step: []int{1 << 61, 7}},
		{Kind: iface.Vector, Elem: iface.I64, Dims: []int{nx}, Step: []int{}},
	} {
		if _, err := rt.Register(wrong); err == nil {
			t.Errorf("registered %+v", wrong)
		}
	}
}
