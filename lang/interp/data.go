package interp

// Registered data: handles, views, host memory, and the constructors.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/types"
)

// Handle is registered data of a run: a whole datum or a part of one.
type Handle struct {
	h      *datamgr.Handle
	root   *Handle // beside h: every insert looks at both
	m      *Machine
	typ    *types.Type
	view   *View  // that it is a part of; nil: a whole datum
	deflt  *View  // the default view
	at     place  // of its register
	owner  int32  // place in Machine.owned of a whole datum; -1: none
	copied bool   // the memory that workers have for it, where it is REDUX or SCRATCH, was counted
	ldim   int    // of a whole matrix in main memory; 0: the number of columns
	fold   string // of a whole datum registered with reduce = sum, prod, min or max
}

// Exists reports whether h is data of a run, dead or alive, and neither nil nor a
// Handle that somebody else made.
func (h *Handle) Exists() bool { return h != nil && h.h != nil }

// Name returns the name in the script, such as "x" or "x[3]".
func (h *Handle) Name() string {
	if !h.Exists() {
		return ""
	}
	if n := h.h.Name(); n != "" {
		return n
	}
	if h.view != nil {
		return h.view.text() + "[" + partIndex(h.view.v.Dims, h.view.place(h)) + "]"
	}
	return "data"
}

// place is the number of h, a part of v.
func (v *View) place(h *Handle) int {
	return int((uintptr(unsafe.Pointer(h)) - uintptr(unsafe.Pointer(unsafe.SliceData(v.parts)))) / unsafe.Sizeof(*h))
}

func partIndex(dims []int, k int) string {
	idx := make([]string, len(dims))
	for d := len(dims) - 1; d >= 0; d-- {
		idx[d] = fmt.Sprint(k % dims[d])
		k /= dims[d]
	}
	return strings.Join(idx, ", ")
}

// Type returns the type in the language, such as "vector[f32]".
func (h *Handle) Type() *types.Type {
	if !h.Exists() {
		return types.TNone
	}
	return h.typ
}

// Desc returns kind, element type, sizes and place in the root datum.
func (h *Handle) Desc() iface.Desc {
	if !h.Exists() {
		return iface.Desc{}
	}
	return h.h.Desc()
}

// Shape returns the sizes, one for each index.
func (h *Handle) Shape() []int {
	d := h.Desc()
	return d.Shape()
}

// Engine returns the handle as the engine's Go API takes it.
func (h *Handle) Engine() *datamgr.Handle {
	if !h.Exists() {
		return nil
	}
	return h.h
}

// String describes h: "x: vector[f32] of 8".
func (h *Handle) String() string {
	if !h.Exists() {
		return "no data"
	}
	d := h.h.Desc()
	return h.Name() + ": " + d.String()
}

// Acquire waits for h in mode m from Go code. Errors are diagnostics. When ctx
// ends, only the waiting does.
func (h *Handle) Acquire(ctx context.Context, mode iface.AccessMode) (acc *engine.Access, err error) {
	if !h.Exists() {
		return nil, errors.New("lang: Acquire of no handle: nil, or not from an instance")
	}
	m := h.m
	err = m.enter(ctx, func() { acc = m.hold(h, mode, place{}) })
	return acc, err
}

// ld returns the distance between rows of a matrix in the root's memory. The rows of
// a plane of a block that would not be contiguous there lie side by side instead.
func (h *Handle) ld() int {
	root := h.root.Desc()
	switch {
	case h.root.ldim > 0:
		return h.root.ldim
	case root.Kind == iface.Matrix:
		return root.Dim[1]
	}
	var b iface.Buffer
	h.h.Fill(&b)
	if b.Stride[1] != 1 {
		return b.Dim[1]
	}
	return b.Stride[0]
}

// View is a set of parts.
type View struct {
	v        *datamgr.View
	of       *Handle
	parts    []Handle
	partType *types.Type
	name     string // of a named view
	at       place  // of the filters
	stmt     place
}

// Count returns the number of parts.
func (v *View) Count() int {
	if v == nil {
		return 0
	}
	return len(v.parts)
}

// Part returns part k, counted row by row; nil: there is none.
func (v *View) Part(k int) *Handle {
	if k < 0 || k >= v.Count() {
		return nil
	}
	return &v.parts[k]
}

// Name returns the name of the view in the script; that of its data for a default
// view.
func (v *View) Name() string { return v.text() }

func (v *View) text() string {
	if v == nil {
		return ""
	}
	if v.name != "" {
		return v.name
	}
	return v.of.Name()
}

// String writes v as in the language.
func (v *View) String() string {
	if v == nil || v.of == nil {
		return "no view"
	}
	return fmt.Sprintf("view[%v] %s", v.partType, plural(int64(len(v.parts)), "part"))
}

// Binding is Go memory that is the home of a handle.
type Binding struct {
	Kind     iface.Kind
	Elem     iface.Elem
	Dims     []int
	LD       int
	Step     []int // see engine.DataSpec
	Home     unsafe.Pointer
	Keep     any // what Home points into
	ReadOnly bool
	NoMemory bool   // sizes alone, for plans
	File     string // what the data is read from, instead of a home; the extern says Kind and Elem
	Text     string // of a variable that was read from File: its element
}

// NamedBinding is a Binding for an extern name.
type NamedBinding struct {
	Name string
	Data *Binding
}

// mustHaveHome reports whether b has elements.
func (b *Binding) mustHaveHome() bool {
	for _, n := range b.Dims {
		if n == 0 {
			return false
		}
	}
	return true
}

// Type returns the handle type of b.
func (b *Binding) Type() *types.Type { return types.HandleOf(b.Kind, b.Elem) }
