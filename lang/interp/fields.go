package interp

// Fields of handles, views and arrays.

import (
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

func (c *compiler) intField(e *syntax.Selector) intFn {
	if o := e.Name.Obj; o != nil && o.Global {
		g, slot := c.global(o, c.place(e)), o.Slot
		return func(f *frame) int64 { return g(f).n[slot] }
	}
	x, at, name := c.ref(e.X), c.place(e), e.Name.Name
	switch e.X.Type().Kind {
	case types.View:
		return func(f *frame) int64 { v, _ := x(f).(*View); return int64(len(v.parts)) }
	case types.Array:
		return func(f *frame) int64 {
			a, _ := x(f).(*Array)
			a.needHeld(f.m, at)
			return field(&a.buf.Desc, a.buf.Stride[0], name)
		}
	}
	return func(f *frame) int64 {
		h, _ := x(f).(*Handle)
		d := h.h.Desc()
		ld := 0
		if name == "ld" {
			ld = h.ld()
		}
		return field(&d, ld, name)
	}
}

// field reads a field of a handle or array.
func field(d *iface.Desc, ld int, name string) int64 {
	switch name {
	case "n", "rows", "nx":
		return int64(d.Dim[0])
	case "cols", "ny":
		return int64(d.Dim[1])
	case "nz":
		return int64(d.Dim[2])
	case "offset", "row0", "x0":
		return int64(d.Off[0])
	case "col0", "y0":
		return int64(d.Off[1])
	case "z0":
		return int64(d.Off[2])
	case "ld":
		return int64(ld)
	}
	return 0
}
