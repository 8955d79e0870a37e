package engine

// Copies, and duplicates that copy on write.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

func dup(t testing.TB, j *Job, h *datamgr.Handle) *datamgr.Handle {
	t.Helper()
	d, err := j.Duplicate(h)
	must(t, err)
	return d
}

// Whatever writes the source, the duplicate keeps its value.
func TestDuplicateAgainstEveryWrite(t *testing.T) {
	submit := func(t *testing.T, j *Job, ops ...Operand) {
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops}))
	}
	for name, write := range map[string]func(t *testing.T, rt *Runtime, j *Job, x, part, wide *datamgr.Handle){
		"W": func(t *testing.T, _ *Runtime, j *Job, x, _, _ *datamgr.Handle) {
			must(t, j.Submit(&TaskSpec{Codelet: nines, Operands: ops(iface.W, x)}))
		},
		"RW":    func(t *testing.T, _ *Runtime, j *Job, x, _, _ *datamgr.Handle) { submit(t, j, ops(iface.RW, x)...) },
		"part":  func(t *testing.T, _ *Runtime, j *Job, _, p, _ *datamgr.Handle) { submit(t, j, ops(iface.RW, p)...) },
		"whole": func(t *testing.T, _ *Runtime, j *Job, _, _, w *datamgr.Handle) { submit(t, j, ops(iface.RW, w)...) },
		"commute": func(t *testing.T, _ *Runtime, j *Job, x, _, _ *datamgr.Handle) {
			for range 5 {
				submit(t, j, ops(iface.Commute, x)...)
			}
		},
		"redux": func(t *testing.T, _ *Runtime, j *Job, _, _, w *datamgr.Handle) {
			for range 5 {
				submit(t, j, ops(iface.Redux, w)...)
			}
		},
		"unordered": func(t *testing.T, _ *Runtime, j *Job, x, _, _ *datamgr.Handle) {
			submit(t, j, Operand{Handle: x, Mode: iface.RW, Unordered: true})
		},
		"invalidate": func(t *testing.T, _ *Runtime, j *Job, x, _, _ *datamgr.Handle) { must(t, j.Invalidate(x)) },
		"unregister": func(t *testing.T, _ *Runtime, j *Job, _, _, w *datamgr.Handle) { must(t, j.Unregister(w)) },
		"acquire": func(t *testing.T, _ *Runtime, j *Job, x, _, _ *datamgr.Handle) {
			must(t, j.AcquireFunc(x, iface.W, func(a *Access, err error) { iface.Slice[int64](a.Buffer())[0] = 77 }))
		},
		"copy": func(t *testing.T, rt *Runtime, j *Job, x, _, _ *datamgr.Handle) {
			_, err := j.Copy(x, ints(t, rt, []int64{8, 8, 8, 8}), CopyOptions{})
			must(t, err)
		},
		"failure": func(t *testing.T, _ *Runtime, j *Job, x, _, _ *datamgr.Handle) {
			must(t, j.Submit(&TaskSpec{Codelet: bad, Operands: ops(iface.RW, x)}))
		},
		"nothing": func(*testing.T, *Runtime, *Job, *datamgr.Handle, *datamgr.Handle, *datamgr.Handle) {},
	} {
		t.Run(name, func(t *testing.T) {
			for _, o := range allConfigs() {
				rt, j := start(t, o)
				mem := []int64{3, 3, 3, 3, 3, 3, 3, 3}
				wide, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{8}, Home: ptr(mem), Reduce: datamgr.SumReduction()})
				must(t, err)
				x := parts(t, rt, wide, filter.Blocks(2))[1]
				part := parts(t, rt, x, filter.Blocks(2))[0]
				g := j.NewGate()
				must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x), After: []Dependency{g}}))
				d := dup(t, j, x) // while a writer waits
				e := dup(t, j, x)
				if d != e || d.Parent() != nil || !d.ReadOnly() || !d.Initialised() {
					t.Error("not the same duplicate, or not whole")
				}
				ds := d.Desc()
				if base, _ := ds.Number(); base != 0 || ds.Off[0] != 0 {
					t.Errorf("%+v", ds)
				}
				// kernels see the duplicate's shape, not its place in the source
				look := kernel("look", func(c *TaskContext) error {
					if b := c.Buffer(0); b.Off[0] != 0 || b.Dim[0] != 4 {
						return fmt.Errorf("%+v", b.Desc)
					}
					for _, v := range iface.Slice[int64](c.Buffer(0)) {
						if v != 4 {
							return fmt.Errorf("%d", v)
						}
					}
					return nil
				})
				must(t, j.Submit(&TaskSpec{Codelet: look, Operands: ops(iface.R, d)}))
				write(t, rt, j, x, part, wide)
				must(t, j.Submit(&TaskSpec{Codelet: look, Operands: ops(iface.R, d)}))
				g.Open()
				readable(t, j, d, 4)
				p := parts(t, rt, d, filter.Blocks(2))
				readable(t, j, p[1], 4)
				readable(t, j, dup(t, j, p[0]), 4)
				must(t, j.WaitHandles(context.Background(), d))
				must(t, j.Unregister(d))
				readable(t, j, e, 4)
				must(t, j.Unregister(d))
				var dead *DeadHandleError
				if err := j.Unregister(d); !errors.As(err, &dead) {
					t.Error(err)
				}
				must(t, j.Wait(context.Background()))
				for _, f := range j.Failures() {
					if !errors.Is(f, errBoom) {
						t.Error(f)
					}
				}
			}
		})
	}
}

// Reading costs no memory, whatever is done with the duplicate.
func TestDuplicateIsCheap(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		x := ints(t, rt, []int64{1, 1})
		d := dup(t, j, x)
		readable(t, j, d, 1)
		now(t, j, ops(iface.R, d, iface.R, x))
		a, err := j.Acquire(context.Background(), d, iface.R)
		must(t, err)
		must(t, a.ReleasePart(parts(t, rt, d, filter.Blocks(2))[1], iface.NoMode))
		if a.Handle() != d || a.Mode() != iface.R {
			t.Error(a.Handle(), a.Mode())
		}
		later(t, j, d, ops(iface.RW, x)) // makes the copy, which may read, and waits itself
		must(t, a.Release())
		must(t, j.Wait(context.Background()))
		if n := rt.Nodes()[0].Allocated; n != 16 {
			t.Errorf("%d bytes for the copy", n)
		}
		must(t, j.Unregister(d))
		// a duplicate that was unregistered is not copied
		d = dup(t, j, x)
		must(t, j.Unregister(d))
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x)}))
		must(t, j.Wait(context.Background()))
		if n := rt.Nodes()[0].Allocated; n != 0 {
			t.Errorf("%d bytes left", n)
		}
	})
}

// A task that writes the source and reads the duplicate has two pieces of memory.
func TestDuplicateBesideItsSource(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		x := ints(t, rt, []int64{5, 5})
		d := dup(t, j, x)
		sum := kernel("sum", func(c *TaskContext) error {
			a, b := iface.Slice[int64](c.Buffer(0)), iface.Slice[int64](c.Buffer(1))
			for i := range a {
				a[i] = 1
				a[i] += b[i]
			}
			return nil
		})
		must(t, j.Submit(&TaskSpec{Codelet: sum, Operands: ops(iface.RW, x, iface.R, d)}))
		readable(t, j, x, 6)
		readable(t, j, d, 5)
	})
}

func TestDuplicateThatCannotBe(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		var none *UninitError
		var mode *ModeError
		var dead *DeadHandleError
		x := lazy(t, rt, 4, nil)
		if _, err := j.Duplicate(x); !errors.As(err, &none) || none.Partial {
			t.Error(err)
		}
		p := parts(t, rt, x, filter.Blocks(2))
		must(t, j.Submit(&TaskSpec{Codelet: nines, Operands: ops(iface.W, p[0])}))
		if _, err := j.Duplicate(x); !errors.As(err, &none) || !none.Partial {
			t.Error(err)
		}
		readable(t, j, dup(t, j, p[0]), 9)
		v, err := rt.Register(DataSpec{Kind: iface.Void})
		must(t, err)
		for _, h := range []*datamgr.Handle{nil, v} {
			if _, err := j.Duplicate(h); !errors.As(err, &mode) {
				t.Error(err)
			}
		}
		must(t, j.Unregister(x))
		if _, err := j.Duplicate(p[0]); !errors.As(err, &dead) {
			t.Error(err)
		}
		// a value that was lost is lost in the duplicate, too
		y := ints(t, rt, []int64{1, 1})
		must(t, j.Submit(&TaskSpec{Codelet: bad, Operands: ops(iface.RW, y)}))
		d := dup(t, j, y)
		_, err = j.Acquire(context.Background(), d, iface.R)
		var gone *FailedDataError
		if !errors.As(err, &gone) || gone.Handle != d {
			t.Error(err)
		}
		if f := j.Lost(d); f == nil || !errors.Is(f, errBoom) {
			t.Error(f)
		}
		must(t, j.Submit(&TaskSpec{Codelet: nines, Operands: ops(iface.W, y)}))
		if _, err = j.Acquire(context.Background(), d, iface.R); !errors.As(err, &gone) {
			t.Error(err)
		}
		readable(t, j, y, 9)
		j.Failures()
		// lazily initialised and reduced data has its value when it is duplicated
		z := lazy(t, rt, 2, &datamgr.Reduction{Name: "nine", Init: func(b *iface.Buffer) error {
			iface.Slice[int64](b)[0], iface.Slice[int64](b)[1] = 9, 9
			return nil
		}})
		readable(t, j, dup(t, j, z), 9)
	})
}

// Accesses without order do not reach a duplicate that was read already.
func TestDuplicateAndUnordered(t *testing.T) {
	for _, o := range allConfigs() {
		rt, j := start(t, o)
		x := ints(t, rt, []int64{0, 0})
		un := func(c *Codelet) {
			must(t, j.Submit(&TaskSpec{Codelet: c, Operands: []Operand{{Handle: x, Mode: iface.RW, Unordered: true}}}))
		}
		for range 20 {
			for range 5 {
				un(incs)
			}
			d := dup(t, j, x)
			seen := make([]int64, 6)
			for i := range seen {
				must(t, j.Submit(&TaskSpec{Codelet: kernel("see", func(c *TaskContext) error {
					s := iface.Slice[int64](c.Buffer(0))
					if seen[i] = s[0]; s[0] != s[1] {
						return errors.New("torn")
					}
					return nil
				}), Operands: ops(iface.R, d)}))
				un(incs)
			}
			must(t, j.Wait(context.Background()))
			for _, v := range seen {
				if v != seen[0] {
					t.Fatalf("a duplicate that changes: %v", seen)
				}
			}
			if fs := j.Failures(); len(fs) > 0 {
				t.Fatal(fs)
			}
			must(t, j.Unregister(d))
		}
	}
}

func TestCopy(t *testing.T) {
	for _, o := range allConfigs() {
		rt, j := start(t, o)
		vec := []int64{0, 1, 2, 3, 4, 5, 6, 7}
		h := ints(t, rt, vec)
		mat := make([]int64, 16)
		for i := range mat {
			mat[i] = int64(i)
		}
		m, err := rt.Register(DataSpec{Kind: iface.Matrix, Elem: iface.I64, Dims: []int{4, 4}, Home: ptr(mat)})
		must(t, err)
		halo := parts(t, rt, h, filter.BlocksHalo(2, 2))
		rows, cols := parts(t, rt, m, filter.Pick(0)), parts(t, rt, m, filter.Pick(1))
		calls := make(chan error, 1)
		copied := func(dst, src *datamgr.Handle) {
			t.Helper()
			task, err := j.Copy(dst, src, CopyOptions{TaskOptions: TaskOptions{Callback: func(t *Task) error { calls <- t.Err(); return nil }}})
			must(t, err)
			must(t, <-calls)
			must(t, task.Wait(context.Background()))
		}
		copied(halo[1], halo[0]) // elements 0 to 5 to 2 to 7, as if through a temporary
		copied(halo[0], halo[0])
		copied(cols[1], rows[2]) // they share one element, and only one of them is in place
		copied(rows[0], cols[3])
		must(t, j.Gather(m))
		must(t, j.Wait(context.Background()))
		must(t, j.Unregister(h))
		must(t, j.Unregister(m))
		must(t, j.Wait(context.Background()))
		if got, want := fmt.Sprint(vec), "[0 1 0 1 2 3 4 5]"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if got, want := fmt.Sprint(mat), "[3 7 11 15 4 9 6 7 8 10 10 11 12 11 14 15]"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if n := rt.Nodes()[0].Allocated; n != 0 {
			t.Errorf("%d bytes left", n)
		}
	}
}

func TestCopyThatCannotBe(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		x, y := ints(t, rt, make([]int64, 8)), lazy(t, rt, 8, nil)
		v, err := rt.Register(DataSpec{Kind: iface.Void})
		must(t, err)
		f, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.F64, Dims: []int{8}})
		must(t, err)
		ro, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{8}, Home: ptr(make([]int64, 8)), ReadOnly: true})
		must(t, err)
		halo, inside := parts(t, rt, x, filter.BlocksHalo(2, 1)), parts(t, rt, ro, filter.BlocksHalo(2, 1))
		must(t, j.Submit(&TaskSpec{Codelet: nop, Operands: ops(iface.R, x)}))
		var shape *ShapeError
		var mode *ModeError
		var none *UninitError
		var only *ReadOnlyError
		var dead *DeadHandleError
		for name, c := range map[string]struct {
			dst, src *datamgr.Handle
			want     any
		}{
			"no destination":         {nil, x, &mode},
			"no source":              {x, nil, &mode},
			"other elements":         {f, x, &shape},
			"other sizes":            {halo[0], x, &shape},
			"void":                   {v, v, &shape},
			"no value":               {x, y, &none},
			"no value, itself":       {y, y, &none},
			"read-only":              {ro, x, &only},
			"read-only, itself":      {ro, ro, &only},
			"read-only, overlapping": {inside[0], inside[1], &only},
		} {
			if task, err := j.Copy(c.dst, c.src, CopyOptions{}); task != nil || !errors.As(err, c.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		must(t, j.Submit(&TaskSpec{Codelet: bad, Operands: ops(iface.RW, x)}))
		task, err := j.Copy(halo[0], halo[1], CopyOptions{Name: "c"})
		must(t, err)
		must(t, task.Wait(context.Background()))
		var gone *FailedDataError
		if !errors.As(task.Err(), &gone) || !errors.Is(gone, errBoom) {
			t.Error(task.Err())
		}
		must(t, j.Unregister(x))
		for _, c := range [][2]*datamgr.Handle{{x, y}, {y, x}, {halo[0], halo[1]}} {
			must(t, j.Submit(&TaskSpec{Codelet: nines, Operands: ops(iface.W, y)}))
			d := c[0].Desc()
			if s := c[1].Desc(); d.Dim != s.Dim {
				t.Fatal("shapes")
			}
			if _, err := j.Copy(c[0], c[1], CopyOptions{}); !errors.As(err, &dead) {
				t.Error(err)
			}
		}
		j.Failures()
	})
}

func TestRegisterLike(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		m, err := rt.Register(DataSpec{Kind: iface.Matrix, Elem: iface.I64, Dims: []int{4, 6}, Home: ptr(make([]int64, 40)), LD: 10})
		must(t, err)
		tile := parts(t, rt, m, filter.Tiles(2, 3, 0))[5]
		for _, h := range []*datamgr.Handle{m, tile} {
			like, err := rt.RegisterLike(h, DataSpec{Name: "like"})
			must(t, err)
			a, b := h.Desc(), like.Desc()
			if a.Kind != b.Kind || a.Elem != b.Elem || a.Dim != b.Dim || b.Off != [iface.MaxRank]int{} || like.Initialised() || like.Name() != "like" {
				t.Errorf("%v like %v", &b, &a)
			}
			_, err = j.Copy(like, h, CopyOptions{})
			must(t, err)
			must(t, j.Unregister(like))
		}
		if _, err := rt.RegisterLike(nil, DataSpec{}); err == nil {
			t.Error("registered like nothing")
		}
	})
}

// Parts that overlap are copied by two tasks, one after the other also when the copy has
// no order with others; such a copy cannot repeat.
func TestCopyOverlapping(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		v := make([]int64, 6)
		x := ints(t, rt, v)
		var parts []*datamgr.Handle
		for _, sizes := range [][]int{{4, 2}, {2, 4}} {
			view, err := rt.Partition(x, filter.BlockSizes(sizes))
			must(t, err)
			parts = append(parts, view.Parts...)
		}
		for range 500 {
			copy(v, []int64{1, 2, 3, 4, 5, 6})
			_, err := j.Copy(parts[3], parts[0], CopyOptions{Unordered: true})
			must(t, err)
			must(t, j.Wait(context.Background()))
			if !slices.Equal(v, []int64{1, 2, 1, 2, 3, 4}) {
				t.Fatal(v, j.Failures())
			}
		}
		var repeats *RepeatError
		if _, err := j.Copy(parts[3], parts[0], CopyOptions{TaskOptions: TaskOptions{Repeat: func(*Task) bool { return false }}}); !errors.As(err, &repeats) {
			t.Error(err)
		}
	})
}
