package lang

// Reading and writing registered data from Go.

import (
	"context"
	"fmt"
	"reflect"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/interp"
)

// Handle is registered data of a run: a whole datum or a part of one. It is
// valid until its block of the script ends, or until Close of its instance.
type Handle = interp.Handle

// View is a set of handles: the parts that a partition declared.
type View = interp.View

// Mode says what an access does to data.
type Mode = iface.AccessMode

// The modes that Acquire takes.
const (
	R  = iface.R
	W  = iface.W
	RW = iface.RW
)

// Access is direct access to the main-memory copy of a handle. Its methods may
// be called from one goroutine at a time.
type Access[T Elem] struct {
	a        *engine.Access
	buf      iface.Buffer
	released bool
}

// Acquire waits for h in mode m and returns direct access to its main-memory
// copy. Nothing else can use the data in a conflicting way until Release. The
// error says so when T is not h's element type, when h has no value to read, or
// when the task that should have written it failed.
func Acquire[T Elem](ctx context.Context, h *Handle, m Mode) (*Access[T], error) {
	if !h.Exists() {
		return nil, fmt.Errorf("lang: Acquire of no handle: nil, or not from an instance")
	}
	if m != R && m != W && m != RW {
		return nil, fmt.Errorf("lang: Acquire of %v in mode %v; the modes are R, W and RW", h, m)
	}
	if err := holds[T]("Acquire", h); err != nil {
		return nil, err
	}
	a, err := h.Acquire(ctx, m)
	if err != nil {
		return nil, err
	}
	return &Access[T]{a: a, buf: *a.Buffer()}, nil
}

// holds reports, for the function that the caller named, that T is not what the
// elements of h are in Go.
func holds[T Elem](function string, h *Handle) error {
	d := h.Desc()
	switch {
	case d.Kind == iface.Void:
		return fmt.Errorf("lang: %s: %s is void and has no value", function, h.Name())
	case d.Elem != iface.ElemOf[T]():
		fits := d.Elem.GoType()
		return fmt.Errorf("lang: %s[%v]: %s is a %v, whose elements are %s in Go: use %s[%s], or a type whose underlying type is %s",
			function, reflect.TypeFor[T](), h.Name(), h.Type(), fits, function, fits, fits)
	}
	return nil
}

// Slice returns the memory itself, row by row; nil if rows are not adjacent, and
// after Release.
func (a *Access[T]) Slice() []T {
	if !a.held() || !a.buf.Contiguous() {
		return nil
	}
	return iface.Slice[T](&a.buf)
}

// Row returns row i of a matrix, the memory itself. It is nil after Release, for
// other kinds of data, and for a row that does not exist.
func (a *Access[T]) Row(i int) []T {
	if !a.held() || a.buf.Rank != 2 || i < 0 || i >= a.buf.Dim[0] {
		return nil
	}
	return iface.Row[T](&a.buf, i)
}

// Line returns the elements along the last index where the others are idx, the
// memory itself: Line(x, y) of a block, Line(i) of a matrix, Line() of a vector. It
// is nil after Release, and for a line that does not exist.
func (a *Access[T]) Line(idx ...int) []T {
	if !a.held() {
		return nil
	}
	l, _ := iface.LineAt[T](&a.buf, idx...)
	return l
}

// Shape returns the sizes, one for each index; also after Release.
func (a *Access[T]) Shape() []int {
	if a == nil {
		return nil
	}
	return a.buf.Shape()
}

func (a *Access[T]) held() bool { return a != nil && a.a != nil && !a.released }

// Release gives the data back. It is idempotent; the slices are invalid afterwards.
func (a *Access[T]) Release() error {
	if !a.held() {
		return nil
	}
	a.released = true
	return a.a.Release()
}

// Value acquires the variable h in mode R, reads its element and releases it.
func Value[T Elem](ctx context.Context, h *Handle) (T, error) {
	var zero T
	if !h.Exists() {
		return zero, fmt.Errorf("lang: Value of no handle: nil, or not from an instance")
	}
	if d := h.Desc(); d.Kind != iface.Variable {
		return zero, fmt.Errorf("lang: Value: %s is a %v, not a variable", h.Name(), h.Type())
	}
	if err := holds[T]("Value", h); err != nil {
		return zero, err
	}
	a, err := Acquire[T](ctx, h, R)
	if err != nil {
		return zero, err
	}
	v := a.Slice()[0]
	return v, a.Release()
}
