package interp

// Layouts of data on devices: layout(into = t, from = f, sizes = [...], on = kinds).

import (
	"fmt"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// layout compiles layout(…). The codelets are compiled for the element type of the data when it is registered.
func (c *compiler) layout(e *syntax.Call) refFn {
	l := Layout{at: c.positionOf(e)}
	for i, name := range []string{"into", "from"} {
		x, _ := argument(e, name, i)
		o := codeletOf(x)
		if o == nil {
			c.bug(e, "layout without codelet")
		}
		if i == 0 {
			l.into = o
		} else {
			l.from = o
		}
	}
	var sizes, kinds refFn
	if x, _ := argument(e, "sizes", -1); x != nil {
		sizes, l.sizesAt = c.ref(x), c.positionOf(x)
	}
	if x, _ := argument(e, "on", -1); x != nil {
		kinds = c.ref(x)
	}
	return func(f *frame) any {
		out := l
		f.m.alloc(valueBytes, l.at)
		if sizes != nil {
			list, _ := sizes(f).(*List)
			out.sizes = make([]int, list.Len())
			for k := range out.sizes {
				n := list.i[k]
				if n < 0 {
					f.m.fail("E0705", l.sizesAt, "a size cannot be negative, and this is %d", n)
				}
				out.sizes[k] = int(n)
			}
		}
		if kinds != nil {
			for _, k := range items(kinds(f)) {
				if k, ok := k.(DeviceKind); ok && k != "cpu" {
					out.kinds = append(out.kinds, k)
				}
			}
		}
		return &out
	}
}

// layoutsOf returns the layouts in the value of an argument layout.
func layoutsOf(v any) (all []*Layout) {
	for _, x := range items(v) {
		if l, ok := x.(*Layout); ok {
			all = append(all, l)
		}
	}
	return all
}

// operandElem returns the element type of parameter i of a conversion of data with elements of type elem.
func operandElem(o *types.Object, i int, elem iface.Elem) iface.Elem {
	if t := o.Sig.Params[i].Type; t.Param == 0 {
		return t.Elem
	}
	return elem
}

// setLayouts gives the data of h, which was just registered, its layouts.
func (m *Machine) setLayouts(h *Handle, layouts []*Layout) {
	var formats []engine.Format
	taken := map[string]bool{} // simulated devices are of all kinds: the first layout has them
	for _, l := range layouts {
		main, far := l.into.Sig.Params[0].Type, l.into.Sig.Params[1].Type
		if !main.Admits(h.typ) || operandElem(l.into, 0, h.typ.Elem) != h.typ.Elem {
			m.fail("E0705", l.at, "`%s` converts %s, and `%s` is %s", l.into.Name, typeText(main), h.Name(), typeText(h.typ))
		}
		d := h.h.Desc()
		f := engine.Format{Name: l.into.Name, Kind: far.Data(), Elem: operandElem(l.into, 1, h.typ.Elem), Dims: l.sizes, On: m.layoutDevices(l, taken)}
		if l.sizes == nil {
			f.Dims = d.Shape()
		}
		if rank := f.Kind.Rank(); len(f.Dims) != rank {
			m.failHelp("E0705", l.sizesAt, "", fmt.Sprintf("`%s` makes a %v, which has %d", l.into.Name, far, rank), "`sizes` has %d numbers", len(f.Dims))
		}
		if f.On == nil {
			continue
		}
		f.To, f.From = m.conversion(l.into, h.typ.Elem, l.at), m.conversion(l.from, h.typ.Elem, l.at)
		m.countData(&engine.DataSpec{Elem: f.Elem, Dims: f.Dims}, 0, l.at)
		formats = append(formats, f)
	}
	h.layouts = layouts
	if len(formats) == 0 {
		return
	}
	if err := m.rt.SetFormats(h.h, formats...); err != nil {
		m.fail("E0705", layouts[0].at, "`%s` cannot have this layout: %s", h.Name(), firstLine(err.Error()))
	}
}

// layoutDevices returns the devices that have the layout l, as engine.Format has them, and adds them to taken; nil: all of
// them are taken.
func (m *Machine) layoutDevices(l *Layout, taken map[string]bool) (on []string) {
	kinds := l.kinds
	if kinds == nil {
		kinds = []DeviceKind{"cuda", "opencl"}
	}
	add := func(name string) {
		if !taken[name] {
			taken[name] = true
			on = append(on, name)
		}
	}
	for _, k := range kinds {
		add(string(k))
	}
	for _, w := range m.devices.workers {
		if w.Arch == cpuArch && !isCPU(w) {
			add(w.Kind)
		}
	}
	return on
}

// cpuArch is the engine's name of what CPUs run.
const cpuArch = "cpu"

// conversion returns the engine's codelet of a layout of data with elements of type elem.
func (m *Machine) conversion(o *types.Object, elem iface.Elem, at position) *engine.Codelet {
	if k, ok := o.Host.(*engine.Codelet); ok {
		return k
	}
	node, ok := o.Node.(*syntax.Codelet)
	if !ok || node.Body == nil {
		m.fail("E0904", at, "the host has no codelet `%s`", o.Name)
	}
	targs := map[byte]iface.Elem{}
	for _, p := range o.Sig.Params {
		if p.Type.Param != 0 {
			targs[p.Type.Param] = elem
		}
	}
	k, err := m.prog.kernel(o, targs)
	if err != nil {
		m.fail("E0705", at, "`%s` cannot convert elements of type %v: %v", o.Name, elem, err)
	}
	return k
}
