package stdlib

// Running kernels on buffers without an engine.

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// task is what a kernel sees.
type task struct {
	bufs []*iface.Buffer
	args []iface.Scalar
}

func (t *task) Buffer(i int) *iface.Buffer { return t.bufs[i] }
func (t *task) Arg(i int) iface.Scalar     { return t.args[i] }

func lookup(t testing.TB, mod, name string) *entry {
	t.Helper()
	for _, m := range table {
		if m.name != mod {
			continue
		}
		for _, e := range m.codelets {
			if e.parse(); e.name == name {
				return &e
			}
		}
	}
	t.Fatalf("%s has no codelet %s", mod, name)
	return nil
}

// try checks and runs one task.
func try(t testing.TB, mod, name string, bufs []*iface.Buffer, args ...iface.Scalar) error {
	t.Helper()
	e := lookup(t, mod, name)
	var ops []iface.Desc
	for _, b := range bufs {
		ops = append(ops, b.Desc)
	}
	if err := e.check(ops, args); err != nil {
		return err
	}
	return e.kernel(&task{bufs, args})
}

func must(t testing.TB, mod, name string, bufs []*iface.Buffer, args ...iface.Scalar) {
	t.Helper()
	if err := try(t, mod, name, bufs, args...); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// shapeError runs a task that its rules must refuse.
func shapeError(t testing.TB, mod, name string, bufs []*iface.Buffer, args ...iface.Scalar) *engine.ShapeError {
	t.Helper()
	err := try(t, mod, name, bufs, args...)
	var e *engine.ShapeError
	if !errors.As(err, &e) {
		t.Fatalf("%s: %v, want an error about shapes", name, err)
	}
	return e
}

func ptr[T any](x []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }

func variable[T iface.Go](x *T) *iface.Buffer {
	return &iface.Buffer{Desc: iface.Desc{Kind: iface.Variable, Elem: iface.ElemOf[T]()}, Ptr: unsafe.Pointer(x)}
}

func vec[T iface.Go](x []T) *iface.Buffer {
	b := &iface.Buffer{Desc: iface.Desc{Kind: iface.Vector, Elem: iface.ElemOf[T](), Rank: 1}, Ptr: ptr(x)}
	b.Dim[0], b.Stride[0] = len(x), 1
	return b
}

// dense makes a matrix of rows·cols elements in rows of ld.
func dense[T iface.Go](rows, cols, ld int, x []T) *iface.Buffer {
	b := &iface.Buffer{Desc: iface.Desc{Kind: iface.Matrix, Elem: iface.ElemOf[T](), Rank: 2}, Ptr: ptr(x)}
	b.Dim[0], b.Dim[1] = rows, cols
	b.Stride[0], b.Stride[1] = ld, 1
	return b
}

// part makes the buffer of part i of a split of b: in place, or packed where a
// kernel could not see it otherwise; back writes a packed part home.
func part[T iface.Go](t testing.TB, f filter.Filter, b *iface.Buffer, i int) (p *iface.Buffer, back func()) {
	t.Helper()
	s, err := f.Split(b.Desc)
	if err != nil {
		t.Fatal(err)
	}
	box := &s.Parts[i]
	p = &iface.Buffer{Desc: box.Desc(b.Desc)}
	at := 0
	kept := 0
	for k := range int(b.Rank) {
		at += box.Lo[k] * b.Stride[k]
		if k != box.Drop {
			p.Stride[kept] = b.Stride[k]
			kept++
		}
	}
	home := unsafe.Add(b.Ptr, uintptr(at)*b.Elem.Size())
	p.Ptr = home
	if p.Rank != 1 || p.Stride[0] == 1 {
		return p, func() {}
	}
	step := p.Stride[0]
	all := unsafe.Slice((*T)(home), (p.Dim[0]-1)*step+1)
	packed := make([]T, p.Dim[0])
	for j := range packed {
		packed[j] = all[j*step]
	}
	p.Ptr, p.Stride[0] = ptr(packed), 1
	return p, func() {
		for j := range packed {
			all[j*step] = packed[j]
		}
	}
}

func bufs(b ...*iface.Buffer) []*iface.Buffer { return b }

func str(s string) iface.Scalar  { return iface.Str(s) }
func num(v float64) iface.Scalar { return iface.Float(v) }
func whole(v int64) iface.Scalar { return iface.Int(v) }
