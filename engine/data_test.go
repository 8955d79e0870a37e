package engine

import (
	"context"
	"errors"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// Memory that is registered twice is two pieces of data, which nothing orders but
// the program; the end of the one leaves the other alone.
func TestRegisteredTwice(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		x := []int64{0, 0}
		a, b := ints(t, rt, x), ints(t, rt, x)
		if a == b || a.Overlaps(b) {
			t.Fatal("one piece of data")
		}
		var last []Dependency
		for k := range 10 {
			h := a
			if k%2 == 1 {
				h = b
			}
			n, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h), After: last})
			must(t, err)
			last = []Dependency{n}
		}
		must(t, j.Wait(context.Background()))
		must(t, j.Unregister(a))
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, b)}))
		must(t, j.Unregister(b))
		must(t, j.Wait(context.Background()))
		if x[0] != 11 || x[1] != 11 {
			t.Error(x)
		}
		if a.Alive() || b.Alive() {
			t.Error("alive")
		}
	})
}

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
		{Kind: iface.Block, Elem: iface.I64, Dims: []int{1 << (bits.UintSize/2 - 1), 1 << (bits.UintSize/2 - 1), 1 << (bits.UintSize/2 - 1)}},
		{Kind: iface.Block, Elem: iface.I64, Dims: []int{nx, ny, nz}, LD: nz - 1},
		{Kind: iface.Block, Elem: iface.I64, Dims: []int{nx, ny, nz}, LD: 1 << (bits.UintSize - 5)},
		{Kind: iface.Block, Elem: iface.I64, Dims: []int{nx, ny, nz}, Step: []int{7}},
		{Kind: iface.Block, Elem: iface.I64, Dims: []int{nx, ny, nz}, Step: []int{7*ny - 1, 7}},
		{Kind: iface.Block, Elem: iface.I64, Dims: []int{nx, ny, nz}, Step: []int{1 << (bits.UintSize - 3), 7}},
		{Kind: iface.Vector, Elem: iface.I64, Dims: []int{nx}, Step: []int{}},
	} {
		if _, err := rt.Register(wrong); err == nil {
			t.Errorf("registered %+v", wrong)
		}
	}
}

// TestTensor: the elements of a tensor at home lie as far apart as it was registered, for
// all its parts, however many indices those have.
func TestTensor(t *testing.T) {
	dims, step := []int{2, 3, 2, 4}, []int{70, 20, 9, 1}
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
		{"slabs", []filter.Filter{filter.Axis(0, 2, 0)}},
		{"last axis", []filter.Filter{filter.Axis(3, 3, 0)}},
		{"tiles", []filter.Filter{filter.TilesN([]int{2, 2, 1, 3}, 0)}},
		{"blocks", []filter.Filter{filter.Pick(0), filter.TilesN([]int{1, 2, 2}, 0)}},
		{"blocks along the last index", []filter.Filter{filter.Pick(3)}},
		{"matrices", []filter.Filter{filter.Pick(1), filter.Pick(2), filter.Rows(2, 0)}},
		{"vectors", []filter.Filter{filter.Pick(2), filter.Pick(0), filter.Pick(1), filter.Blocks(3)}},
		{"elements", []filter.Filter{filter.Pick(3), filter.Pick(1), filter.Pick(1), filter.Pick(0)}},
	} {
		t.Run(f.name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
				home := slices.Repeat([]int64{-1}, 70+2*20+9+4)
				want := slices.Clone(home)
				for n := range 2 * 3 * 2 * 4 {
					at := n/24*70 + n/8%3*20 + n/4%2*9 + n%4
					home[at], want[at] = int64(n), int64(n+1000)
				}
				h, err := rt.Register(DataSpec{Kind: iface.Tensor, Elem: iface.I64, Dims: dims, Step: step[:3], Home: ptr(home)})
				must(t, err)
				for _, p := range parts(t, rt, h, f.by...) {
					must(t, j.Submit(&TaskSpec{Codelet: add, Operands: ops(iface.RW, p), Args: []iface.Scalar{iface.Int(1000)}}))
				}
				must(t, j.Unregister(h))
				must(t, j.Wait(context.Background()))
				if !slices.Equal(home, want) {
					t.Fatalf("got %v\nwant %v", home, want)
				}
			})
		})
	}
}

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
			{Kind: iface.Matrix, Elem: iface.I64, Dims: []int{rows, cols}, LD: 1 << (bits.UintSize - 4)},
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
