package engine

// Data with a layout of its own on some kinds of devices: what the program says of it. formats.go has the layouts of a value,
// convert.go the conversions.

import (
	"fmt"
	"slices"
	"sync"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

// SetFormats gives the data of h, which is the whole of it, layouts on devices of some kinds, before a task uses it. The program,
// files and main memory have the layout in which it was registered. Kernels that list the operand
// in Codelet.Formats are given the layout of the device where they run; others have
// the layout of main memory everywhere.
//
// The runtime converts a value when a task reads it that takes another layout, at most once for each
// value and layout: later tasks find the converted copy, until one writes the data. A conversion is a task of
// the engine in events, traces and plans, where it is called "convert"; its time is measured, and policies that know costs count
// it as they count transfers. If it fails, so does the task that needs it.
//
// Such data has no parts, no reduction and no capacity, and is used in order; SCRATCH operands are refused, too. Devices that
// the machine lacks need no layout: then nothing is converted. Errors are a *FormatError and a *DeadHandleError.
func (rt *Runtime) SetFormats(h *datamgr.Handle, all ...Format) error {
	if err := rt.open(); err != nil {
		return err
	}
	if h == nil {
		return &FormatError{Message: "no data to give layouts to: the handle is nil"}
	}
	if !rt.reg.Owns(h) {
		return rt.alive(-1, h)
	}
	fail := func(text string, args ...any) error {
		return &FormatError{Handle: h, Message: fmt.Sprintf("%s cannot have a layout of its own on devices: ", describe(h)) + fmt.Sprintf(text, args...)}
	}
	d := h.Desc()
	switch {
	case len(all) == 0:
		return fail("none is given; name a Format")
	case h.Parent() != nil:
		return fail("it is a part; give layouts to all of its data")
	case d.Kind == iface.Void || d.Kind == iface.Object:
		return fail("a value of kind %v has no layout on devices", d.Kind)
	}
	fs := &formats{h: h, declared: slices.Clone(all), kinds: map[string]int{}, planned: 1}
	fs.wake = sync.NewCond(&fs.mu.Mutex)
	fs.mu.valid = 1
	taken := map[string]string{} // kinds of devices to the formats that have them
	for i := range all {
		f := &fs.declared[i]
		if f.Kind == 0 && f.Elem == iface.NoElem && f.Dims == nil {
			f.Kind, f.Elem, f.Dims = d.Kind, d.Elem, d.Shape()
		}
		if why := f.mistake(all[:i]); why != "" {
			return fail("%s", why)
		}
		for _, k := range f.On {
			if other, ok := taken[k]; ok {
				return fail("layouts %q and %q are both for %q; name each kind of device once", other, f.Name, k)
			}
			taken[k] = f.Name
		}
	}
	for i := range fs.declared {
		f := &fs.declared[i]
		of := len(fs.inUse) + 1
		for _, dev := range rt.devices {
			if f.serves(dev) && fs.kinds[dev.Name()] == 0 && !isNUMA(dev) { // its workers are CPU workers
				fs.kinds[dev.Name()] = of
				if len(f.To.CPU) == 0 && len(f.To.impls(dev.Arch())) == 0 {
					return fail("codelet %s, which makes layout %q, has no implementation for %s, and none for the CPU; give it one of the two", f.To.Name, f.Name, dev.Name())
				}
				if len(fs.inUse) < of {
					fs.inUse = append(fs.inUse, deviceLayout{Format: *f})
				}
			}
		}
	}
	for i := range fs.inUse {
		f := &fs.inUse[i]
		s := DataSpec{Kind: f.Kind, Elem: f.Elem, Dims: f.Dims, Name: fmt.Sprintf("%s (%s)", nameOf(h), f.Name)}
		if f.Kind == iface.Arrays {
			s.Layout = layoutOf(h)
		}
		var err error
		if f.h, err = rt.reg.Register(&s); err != nil {
			return fail("layout %q: %v", f.Name, err)
		}
	}
	sub := rt.reg.Lock()
	defer sub.Unlock()
	if err := rt.alive(-1, h); err != nil {
		return err
	}
	if !managed(h).SetFormats(sub, fs) {
		return fail("a task uses it, or it has views, a reduction, a capacity or layouts already; do it once, right after the registration")
	}
	return nil
}

// mistake says what is wrong with f, behind the formats before; "" if nothing is.
func (f *Format) mistake(before []Format) string {
	if f.Name == "" || f.Name == "main" {
		return "a layout needs a name, other than \"main\""
	}
	for i := range before {
		if before[i].Name == f.Name {
			return fmt.Sprintf("two layouts are called %q; give each a name of its own", f.Name)
		}
	}
	switch {
	case len(f.On) == 0 || slices.Contains(f.On, "") || slices.Contains(f.On, cpuArch):
		return fmt.Sprintf("layout %q is for no kind of device; list kinds in On, such as \"opencl\" or \"gpu\"; the CPU has the layout of the registration", f.Name)
	case f.Kind == iface.Void || f.Kind == iface.Object:
		return fmt.Sprintf("layout %q is of kind %v, which devices do not have", f.Name, f.Kind)
	}
	for _, c := range []struct {
		c    *Codelet
		what string
	}{{f.To, "To"}, {f.From, "From"}} {
		switch {
		case c.c == nil:
			return fmt.Sprintf("layout %q has no codelet %s; give it both conversions: To makes it, and From makes the layout of main memory again", f.Name, c.what)
		case c.c.bad != nil:
			return fmt.Sprintf("codelet %s, which is %s of layout %q: %v", c.c.Name, c.what, f.Name, c.c.bad)
		case c.c.Modes != nil && !slices.Equal(c.c.Modes, conversionModes):
			return fmt.Sprintf("codelet %s, which is %s of layout %q, has operands %v; it needs two, R and W: the value, and what becomes of it", c.c.Name, c.what, f.Name, c.c.Modes)
		case c.c.Types != nil && (len(c.c.Types.Operands) != 2 || len(c.c.Types.Args) != 0):
			return fmt.Sprintf("codelet %s, which is %s of layout %q, takes %d operands and %d numbers; it needs two operands, R and W, and no numbers", c.c.Name, c.what, f.Name,
				len(c.c.Types.Operands), len(c.c.Types.Args))
		case c.c.Traits != nil && (c.c.Traits.Nowhere || c.c.Traits.Parallel != Single):
			return fmt.Sprintf("codelet %s, which is %s of layout %q, has no kernel for one worker", c.c.Name, c.what, f.Name)
		}
	}
	if len(f.From.CPU) == 0 {
		return fmt.Sprintf("codelet %s, which makes the layout of main memory from %q, needs an implementation for the CPU", f.From.Name, f.Name)
	}
	return ""
}

var conversionModes = []iface.AccessMode{iface.R, iface.W}

// serves reports whether f is for the workers of a device.
func (f *Format) serves(dev accel.Device) bool {
	return slices.ContainsFunc(f.On, func(k string) bool { return k == dev.Name() || k == dev.Arch() || k == "gpu" })
}

func nameOf(h *datamgr.Handle) string {
	if n := h.Name(); n != "" {
		return n
	}
	return fmt.Sprintf("data %d", h.ID())
}
