package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/sim"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// TestRegisteredTwice: memory belongs to one piece of data until that is unregistered, unless
// all of it is only read.
func TestRegisteredTwice(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		x := []int64{0, 0, 0}
		a, err := NewVector(rt, x, Name("a"))
		must(t, err)
		_, err = NewVector(rt, x[2:], Name("b"))
		var shared *datamgr.SharedMemoryError
		if !errors.As(err, &shared) || shared.Other != a.Handle || shared.Name != "b" {
			t.Errorf("%v, want an error about a and b", err)
		}
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, a.Handle)}))
		must(t, j.Unregister(a.Handle))
		must(t, j.Wait(context.Background()))
		b, err := NewVector(rt, x[2:], Name("b"))
		must(t, err)
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, b.Handle)}))
		must(t, j.Unregister(b.Handle))
		c, err := NewVector(rt, x[:2]) // beside b, whose task may not have ended
		must(t, err)
		must(t, j.Unregister(c.Handle))
		must(t, j.Wait(context.Background()))
		if !slices.Equal(x, []int64{1, 1, 2}) {
			t.Error(x)
		}
		for range 2 {
			r, err := NewVector(rt, x, ReadOnly())
			must(t, err)
			if h, ok := Lookup(rt, x); !ok || h != r.Handle {
				t.Errorf("of read-only data %v is found", h)
			}
		}
	})
}

// TestLookup: data is found by the memory that it was registered with, until it is
// unregistered.
// TestContent registers data with memory of the program, which becomes that of the data where it can.
func TestContent(t *testing.T) {
	spec := DataSpec{Kind: iface.Vector, Elem: iface.F64, Dims: []int{500}}
	for name, c := range map[string]struct {
		opt  Options
		from int // the first element of the memory
		kept bool
	}{
		"main memory":  {Options{Workers: 1}, 0, true},
		"not aligned":  {Options{Workers: 1}, 1, false},
		"a disk":       {onDisk(t, Options{Workers: 1}, 1<<20), 0, false},
		"in the order": {Options{Sequential: true}, 0, true},
	} {
		rt, j := start(t, c.opt)
		x := accel.NewSlice[float64](501)[c.from:][:500]
		for i := range x {
			x[i] = float64(i)
		}
		s := spec
		s.Content = unsafe.Pointer(unsafe.SliceData(x))
		filled := false
		h, err := rt.RegisterFilled(s, func(b *iface.Buffer) error { filled = true; copy(iface.Slice[float64](b), x); return nil })
		must(t, err)
		if filled == c.kept {
			t.Errorf("%s: copied %v", name, filled)
		}
		must(t, j.Submit(&TaskSpec{Codelet: kernel("add", func(tc *TaskContext) error {
			v := iface.Slice[float64](tc.Buffer(0))
			for i := range v {
				v[i]++
			}
			return nil
		}), Operands: []Operand{{Handle: h, Mode: iface.RW}}}))
		a, err := j.Acquire(context.Background(), h, iface.R)
		must(t, err)
		v := iface.Slice[float64](a.Buffer())
		for i := range v {
			if v[i] != float64(i+1) {
				t.Fatalf("%s: element %d is %v", name, i, v[i])
			}
		}
		if kept := &v[0] == &x[0]; kept != c.kept {
			t.Errorf("%s: in the memory of the program: %v", name, kept)
		}
		a.Release()
		if n := rt.Nodes()[0].Allocated; c.kept && n != 4000 {
			t.Errorf("%s: %d bytes are counted", name, n)
		}
		unregister(t, j, h)
		if n := rt.Nodes()[0].Allocated; n != 0 {
			t.Errorf("%s: %d bytes are counted after the end", name, n)
		}
	}
}

func TestLookup(t *testing.T) {
	rt, j := start(t, Options{Workers: 2})
	x, m, v := make([]float64, 10), make([]float32, 12), int32(7)
	a, err := NewVector(rt, x[2:6])
	must(t, err)
	b, err := NewMatrix(rt, m, 2, 4, Stride(6))
	must(t, err)
	c, err := NewVariable(rt, &v)
	must(t, err)
	if h, ok := Lookup(rt, x[2:]); !ok || h != a.Handle {
		t.Errorf("the vector: %v", h)
	}
	if h, ok := Lookup(rt, m); !ok || h != b.Handle {
		t.Errorf("the matrix: %v", h)
	}
	if h, ok := Lookup(rt, unsafe.Slice(&v, 1)); !ok || h != c.Handle {
		t.Errorf("the variable: %v", h)
	}
	for what, found := range map[string]bool{
		"another place": second(Lookup(rt, x)), "the middle": second(Lookup(rt, x[3:])),
		"another type": second(Lookup(rt, unsafe.Slice((*int64)(unsafe.Pointer(&x[2])), 4))),
		"nothing":      second(Lookup[float64](rt, nil)), "no runtime": second(Lookup(nil, x[2:])),
	} {
		if found {
			t.Errorf("%s is data", what)
		}
	}
	must(t, j.Unregister(a.Handle))
	if h, ok := Lookup(rt, x[2:]); ok {
		t.Errorf("unregistered: %v", h)
	}
}

func second[A, B any](_ A, b B) B { return b }

// TestPack: the elements of data, and of parts with gaps, go through bytes that NumPy reads, at
// their place in the order of tasks.
func TestPack(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		ctx := context.Background()
		x := []int64{1, 2, 3, 4, 5, 6}
		a, err := NewMatrix(rt, x, 2, 3, Name("a"))
		must(t, err)
		columns := parts(t, rt, a.Handle, filter.Cols(3, 0))
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, a.Handle)}))
		whole, err := j.Pack(ctx, a.Handle)
		must(t, err)
		if head := string(whole[:6]); head != "\x93NUMPY" || !strings.Contains(string(whole[:128]), "'<i8'") || len(whole) != 128+48 {
			t.Errorf("%q…, %d bytes", whole[:128], len(whole))
		}
		for i := range x {
			if got := binary.LittleEndian.Uint64(whole[128+8*i:]); got != uint64(i+2) {
				t.Errorf("element %d is %d", i, got)
			}
		}
		column, err := j.Pack(ctx, columns[2])
		must(t, err)
		must(t, j.Unpack(ctx, columns[0], column))
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, a.Handle)}))
		must(t, j.Wait(ctx))
		b, err := MakeMatrix[int64](rt, 2, 3, Name("b")) // it has no memory yet
		must(t, err)
		must(t, j.Unpack(ctx, b.Handle, whole))
		again, err := j.Pack(ctx, b.Handle)
		must(t, err)
		if !slices.Equal(again, whole) {
			t.Error("what was unpacked is packed as other bytes")
		}

		f, err := MakeMatrix[float64](rt, 2, 3, Name("f"))
		must(t, err)
		v, err := MakeVector[int64](rt, 6, Name("v"))
		must(t, err)
		void, err := rt.Register(DataSpec{Kind: iface.Void})
		must(t, err)
		read, err := NewVector(rt, []int64{1}, ReadOnly())
		must(t, err)
		for what, c := range map[string]struct {
			h    *datamgr.Handle
			data []byte
			text string
		}{
			"type":     {f.Handle, whole, "cannot unpack into"},
			"kind":     {v.Handle, whole, "expected vector[i64] of 6, found size 2 x 3 of type i64"},
			"part":     {columns[0], whole, "expected matrix[i64] 2 x 1, found size 2 x 3"},
			"short":    {a.Handle, whole[:len(whole)-1], "expected 48 bytes"},
			"long":     {a.Handle, append(slices.Clone(whole), 0), "expected 48 bytes"},
			"no bytes": {a.Handle, nil, "a NumPy file"},
			"void":     {void, whole, "has no elements"},
			"nothing":  {nil, whole, "nothing to pack"},
			"readonly": {read.Handle, must1(j.Pack(ctx, read.Handle))(t), "read-only"},
		} {
			if err := j.Unpack(ctx, c.h, c.data); err == nil || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%s: %v, want an error with %q", what, err, c.text)
			}
		}
		if _, err := j.Pack(ctx, f.Handle); err == nil {
			t.Error("data without a value was packed")
		}
		must(t, j.Unregister(a.Handle))
		must(t, j.Wait(ctx))
		if !slices.Equal(x, []int64{5, 4, 5, 8, 7, 8}) {
			t.Error(x)
		}
	})
}

func must1[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// pinningDevice counts what is pinned.
type pinningDevice struct {
	accel.Device
	live map[unsafe.Pointer]int64
	full error
}

func (d *pinningDevice) AllocPinned(int64) (unsafe.Pointer, error) { return nil, errors.ErrUnsupported }
func (d *pinningDevice) FreePinned(unsafe.Pointer) error           { return nil }

func (d *pinningDevice) Pin(p unsafe.Pointer, bytes int64) error {
	if d.full == nil {
		d.live[p] = bytes
	}
	return d.full
}

func (d *pinningDevice) Unpin(p unsafe.Pointer) error {
	if _, ok := d.live[p]; !ok {
		return errors.New("it was not pinned")
	}
	delete(d.live, p)
	return nil
}

// TestPinSlice: slices are pinned by the device that can, until they are unpinned or the
// runtime is closed.
func TestPinSlice(t *testing.T) {
	gpu, err := sim.New(sim.Options{Name: "gpu", Capacity: 1 << 20})
	must(t, err)
	d := &pinningDevice{Device: gpu, live: map[unsafe.Pointer]int64{}}
	rt, err := New(Options{Workers: 1, Devices: []accel.Device{d}})
	must(t, err)
	x, y := make([]float32, 1000), make([]int64, 10)
	unpin, err := PinSlice(rt, x)
	must(t, err)
	_, err = PinSlice(rt, y)
	must(t, err)
	if d.live[unsafe.Pointer(&x[0])] != 4000 || d.live[unsafe.Pointer(&y[0])] != 80 || len(d.live) != 2 {
		t.Errorf("pinned: %v", d.live)
	}
	must(t, unpin())
	must(t, unpin())
	if len(d.live) != 1 {
		t.Errorf("pinned: %v", d.live)
	}
	unpin, err = PinSlice[float32](rt, nil)
	must(t, err)
	must(t, unpin())
	d.full = errors.New("no more of it")
	if _, err := PinSlice(rt, x); !errors.Is(err, d.full) || !strings.Contains(err.Error(), d.Name()) {
		t.Errorf("%v, want the error of the device", err)
	}
	must(t, rt.Close())
	if len(d.live) != 0 {
		t.Errorf("pinned after Close: %v", d.live)
	}
	if _, err := PinSlice(rt, x); err != ErrClosed {
		t.Errorf("after Close: %v", err)
	}
	if _, err := PinSlice(nil, x); err == nil {
		t.Error("pinned without a runtime")
	}
	plain, _ := start(t, Options{Workers: 1})
	unpin, err = PinSlice(plain, x)
	must(t, err)
	must(t, unpin())
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

// TestManyIndices: data with more than four indices is used as a whole and in parts, in place and packed, and nothing
// between its elements is touched.
func TestManyIndices(t *testing.T) {
	add := kernel("add", func(c *TaskContext) error {
		b := c.Buffer(0)
		for i := range b.Lines() {
			for k := range iface.Line[int64](b, i) {
				iface.Line[int64](b, i)[k] += c.Arg(0).Int()
			}
		}
		return nil
	})
	for _, c := range []struct {
		dims, step []int
		by         [][]filter.Filter
	}{
		{[]int{2, 3, 2, 1, 4}, []int{71, 22, 9, 7}, [][]filter.Filter{
			{filter.Axis(4, 3, 0)},
			{filter.TilesN([]int{2, 2, 1, 1, 3}, 0)},
			{filter.Pick(4)}, // parts are packed
			{filter.Pick(0), filter.TilesN([]int{3, 1, 1, 2}, 0)},
			{filter.Pick(1), filter.Pick(1), filter.Pick(2), filter.Pick(1), filter.Pick(0)},
		}},
		{[]int{2, 1, 2, 2, 1, 2, 2, 3}, []int{160, 160, 79, 36, 36, 17, 5}, [][]filter.Filter{
			{filter.Axis(7, 2, 0)},
			{filter.TilesN([]int{2, 1, 1, 2, 1, 2, 2, 2}, 0)},
			{filter.Pick(7)},
			{filter.Pick(3), filter.Pick(5), filter.Pick(0), filter.Pick(0), filter.Axis(2, 2, 0)},
		}},
	} {
		for _, by := range c.by {
			t.Run(fmt.Sprintf("%d, %s of %d", len(c.dims), by[0].Name(), len(by)), func(t *testing.T) {
				everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
					home := slices.Repeat([]int64{-1}, 400)
					want := slices.Clone(home)
					step := append(slices.Clone(c.step), 1)
					var each func(k, at int)
					each = func(k, at int) {
						if k == len(c.dims) {
							home[at], want[at] = int64(at), int64(at+1000)
							return
						}
						for i := range c.dims[k] {
							each(k+1, at+i*step[k])
						}
					}
					each(0, 0)
					h, err := NewTensorN(rt, home, c.dims, Stride(c.step...))
					must(t, err)
					for _, p := range parts(t, rt, h.Handle, by...) {
						must(t, j.Submit(&TaskSpec{Codelet: add, Operands: ops(iface.RW, p), Args: []iface.Scalar{iface.Int(1000)}}))
					}
					must(t, j.Unregister(h.Handle))
					must(t, j.Wait(context.Background()))
					if !slices.Equal(home, want) {
						t.Fatalf("got %v\nwant %v", home, want)
					}
				})
			})
		}
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

// TestInside asks for every element of a matrix with gaps, and of what lies between, whether it lies in parts of it.
func TestInside(t *testing.T) {
	rt, j := start(t, Options{Workers: 1})
	const rows, cols, stride = 3, 4, 6
	mem := make([]int32, rows*stride+8)
	m := got(NewMatrix(rt, mem[4:], rows, cols, Stride(stride)))(t)
	tiles := got(m.Partition(filter.Tiles(3, 2, 0)))(t)
	columns := got(m.Slices(filter.Pick(1)))(t)
	for at := range mem {
		i, k := (at-4)/stride, (at-4)%stride
		in := at >= 4 && i < rows && k < cols
		p := unsafe.Add(unsafe.Pointer(&mem[at]), at%4)
		if m.Inside(p) != in {
			t.Errorf("the matrix has %d: %v", at, !in)
		}
		for r := range rows {
			for c := range cols {
				if got := tiles.At(r, c/2).Inside(p); got != (in && i == r && k/2 == c/2) {
					t.Errorf("tile %d, %d has %d: %v", r, c/2, at, got)
				}
				if got := columns.At(c).Inside(p); got != (in && k == c) {
					t.Errorf("column %d has %d: %v", c, at, got)
				}
			}
		}
	}
	later := got(MakeVector[int32](rt, 3))(t)
	if later.Inside(unsafe.Pointer(&mem[0])) {
		t.Error("a vector without memory")
	}
	v := got(NewValue(rt, [2]string{}))(t)
	a := got(v.Acquire(context.Background(), j, iface.R))(t)
	if !v.Inside(unsafe.Pointer(&a.Data()[1])) || v.Inside(unsafe.Pointer(&mem[0])) {
		t.Error("of a value")
	}
	must(t, a.Release())
}

// TestNoCache: memory of a copy that is evicted goes back to the device.
func TestNoCache(t *testing.T) {
	for _, noCache := range []bool{false, true} {
		devices := simulated(1<<20, 1)
		rt, j := start(t, Options{Workers: 1, Devices: devices})
		h := must1(rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{100}, NoCache: noCache}))(t)
		must(t, j.Go(func(x []int64) { x[99] = 5 }, W(h), Node(1)))
		must(t, j.Wait(context.Background()))
		if n := devices[0].Memory().Allocated(); n != 800 {
			t.Errorf("%d bytes", n)
		}
		must1(j.Evict(h, 1))(t)
		if n := devices[0].Memory().Allocated(); (n == 0) != noCache {
			t.Errorf("NoCache %v: %d bytes are left", noCache, n)
		}
		if x := got(got(As[Vector[int64]](h))(t).Value(context.Background(), j))(t); x[99] != 5 {
			t.Error(x)
		}
	}
}
