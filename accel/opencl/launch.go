package opencl

import (
	"fmt"
	"math"
	"strings"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/dynlib"
)

// Buf is the argument for two parameters of a kernel: a global pointer to a
// buffer, and a long with the number of elements in it before Ptr. Elem is the
// size of an element in bytes. A nil Ptr is a null pointer with nothing before it.
type Buf struct {
	Ptr  unsafe.Pointer
	Elem int
}

// Local is the argument for a pointer to local memory; its value is the size in bytes.
type Local int

// Scratch is the argument for a global pointer to memory of the stream; its value is the
// least size in bytes. The next kernel of the stream finds what one kernel left there,
// if it asks for no more bytes. It is not counted as memory of the device.
type Scratch int

// argument is one parameter's value.
type argument struct {
	size  uintptr
	value uint64 // its first size bytes count
	local bool   // no value
}

// sizes of the scalar types of OpenCL C.
var sizes = map[string]uintptr{
	"char": 1, "uchar": 1, "short": 2, "ushort": 2, "int": 4, "uint": 4, "long": 8, "ulong": 8, "float": 4, "double": 8,
	"unsigned char": 1, "unsigned short": 2, "unsigned int": 4, "unsigned long": 8, "half": 2,
}

// scalar returns the bits of a Go value and the type of OpenCL C that holds it.
func scalar(v any) (bits uint64, typ string) {
	switch v := v.(type) {
	case int8:
		return uint64(uint8(v)), "char"
	case uint8:
		return uint64(v), "uchar"
	case int16:
		return uint64(uint16(v)), "short"
	case uint16:
		return uint64(v), "ushort"
	case int32:
		return uint64(uint32(v)), "int"
	case uint32:
		return uint64(v), "uint"
	case int64:
		return uint64(v), "long"
	case uint64:
		return v, "ulong"
	case float32:
		return uint64(math.Float32bits(v)), "float"
	case float64:
		return math.Float64bits(v), "double"
	}
	return 0, ""
}

// arguments holds args against the parameters.
func (k *Kernel) arguments(s *Stream, args []any) ([]argument, error) {
	out := make([]argument, 0, len(k.params))
	bad := func(i int, format string, v ...any) ([]argument, error) {
		return nil, &ArgError{k.name, i, fmt.Sprintf(format, v...)}
	}
	for i, arg := range args {
		need := 1
		if _, ok := arg.(Buf); ok {
			need = 2
		}
		if len(out)+need > len(k.params) {
			return bad(i, "the kernel has %d parameters, and they are taken", len(k.params))
		}
		p := &k.params[len(out)]
		switch v := arg.(type) {
		case Buf:
			if p.space != 0 && p.space != addressGlobal && p.space != addressConstant {
				return bad(i, "a buffer for a parameter of type %s", p)
			}
			elem, _ := strings.CutSuffix(p.typ, "*")
			if n, ok := sizes[elem]; ok && v.Elem != int(n) {
				return bad(i, "a buffer with elements of %d bytes for a parameter of type %s", v.Elem, p)
			}
			if v.Elem <= 0 {
				return bad(i, "a buffer with elements of %d bytes", v.Elem)
			}
			if q := &k.params[len(out)+1]; q.typ != "" && q.typ != "long" && q.typ != "ulong" {
				return bad(i, "the parameter behind %s is to hold an offset, and is %s instead of long", p, q)
			}
			mem, offset, err := clMem(0), uintptr(0), error(nil)
			if v.Ptr != nil {
				if mem, offset, err = k.dev.mem.find(v.Ptr, 0); err != nil {
					return bad(i, "%v", err)
				}
			}
			if offset%uintptr(v.Elem) != 0 {
				return bad(i, "the address is %d bytes behind the start of its allocation, and elements have %d", offset, v.Elem)
			}
			out = append(out, argument{size: unsafe.Sizeof(mem), value: uint64(mem)}, argument{size: 8, value: uint64(offset) / uint64(v.Elem)})
		case Local:
			if p.space != 0 && p.space != addressLocal {
				return bad(i, "local memory for a parameter of type %s", p)
			}
			if v <= 0 {
				return bad(i, "%d bytes of local memory", v)
			}
			out = append(out, argument{size: uintptr(v), local: true})
		case Scratch:
			if p.space != 0 && p.space != addressGlobal {
				return bad(i, "memory of the stream for a parameter of type %s", p)
			}
			if v <= 0 {
				return bad(i, "%d bytes of memory of the stream", v)
			}
			mem, err := s.scratchOf(int64(v))
			if err != nil {
				return nil, err
			}
			out = append(out, argument{size: unsafe.Sizeof(mem), value: uint64(mem)})
		default:
			bits, typ := scalar(arg)
			if typ == "" {
				return bad(i, "a %T: pass numbers of a fixed size, opencl.Buf, opencl.Local or opencl.Scratch", arg)
			}
			if p.space != 0 && p.space != addressPrivate {
				return bad(i, "a %s for a parameter of type %s", typ, p)
			}
			if _, known := sizes[p.typ]; known && strings.Replace(p.typ, "unsigned ", "u", 1) != typ {
				return bad(i, "a %s for a parameter of type %s", typ, p)
			}
			out = append(out, argument{size: sizes[typ], value: bits})
		}
	}
	if len(out) < len(k.params) {
		return bad(-1, "the arguments fill %d of %d parameters", len(out), len(k.params))
	}
	return out, nil
}

// String writes a parameter as its declaration has it.
func (p *param) String() string {
	words := map[uint64]string{addressGlobal: "global ", addressLocal: "local ", addressConstant: "constant "}
	return words[p.space] + p.typ
}

// grid checks the sizes of a launch.
func (k *Kernel) grid(global, local []int) (g, l [3]uintptr, empty bool, err error) {
	bad := func(format string, v ...any) error { return &ArgError{k.name, -1, fmt.Sprintf(format, v...)} }
	if len(global) < 1 || len(global) > 3 || local != nil && len(local) != len(global) {
		return g, l, false, bad("%d global and %d local sizes: there are 1 to 3 of them, and as many local ones or none", len(global), len(local))
	}
	items := 1
	for i, n := range global {
		if n < 0 {
			return g, l, false, bad("a global size of %d", n)
		}
		empty = empty || n == 0
		g[i] = uintptr(n)
		if local == nil {
			continue
		}
		m := local[i]
		if m <= 0 || n%m != 0 {
			return g, l, false, bad("groups of %d do not divide a global size of %d", m, n)
		}
		l[i] = uintptr(m)
		if items *= m; items > k.largest || m > k.largest {
			return g, l, false, bad("groups of %v have more than the %d work-items that the kernel can have on %s", local, k.largest, k.dev.Name())
		}
	}
	return g, l, empty, nil
}

// scratchOf returns memory of the stream. Kernels that are held back may still
// name what was too small, so nothing is given up before the stream is.
func (s *Stream) scratchOf(bytes int64) (clMem, error) {
	if bytes <= s.scratchSize {
		return s.scratch[len(s.scratch)-1], nil
	}
	size := max(bytes, 2*s.scratchSize, 16<<10)
	mem, err := s.dev.mem.create(size)
	if err != nil {
		if _, ok := err.(*Error); ok {
			err = &accel.NoMemoryError{Node: s.dev.Name(), Want: size, Allocated: s.dev.mem.Allocated(), Capacity: s.dev.mem.Capacity(), Err: err}
		}
		return 0, err
	}
	s.scratch, s.scratchSize = append(s.scratch, mem), size
	return mem, nil
}

// failed words errors of a kernel.
func (k *Kernel) failed(err error) error {
	if _, ok := err.(*ArgError); ok {
		return err
	}
	return &accel.KernelError{Device: k.dev.Name(), Kernel: k.name, Err: err}
}

// Launch begins a kernel on global[0] x global[1] x … work-items, in work-groups
// of local; nil leaves their size to the driver. An argument is a number of a fixed
// size, a Buf, a Local or a Scratch. The memory of buffers is kept until the kernel has ended.
// Arguments that do not fit the kernel are an *ArgError, and nothing begins.
func (s *Stream) Launch(k *Kernel, global, local []int, args ...any) error {
	if err := s.usable(); err != nil {
		return err
	}
	if k.dev != s.dev {
		return &ArgError{k.name, -1, fmt.Sprintf("it was built for %s, and this is %s", k.dev.Name(), s.dev.Name())}
	}
	g, l, empty, err := k.grid(global, local)
	if err != nil {
		return err
	}
	values, err := k.arguments(s, args)
	if err != nil {
		return err
	}
	if empty {
		return nil
	}
	dims, grouped := len(global), local != nil
	return s.submit(&op{what: k, begin: func() (clEvent, error) { return s.launch(k, dims, &g, &l, grouped, values) }})
}

// launch hands a kernel over.
func (s *Stream) launch(k *Kernel, dims int, g, l *[3]uintptr, grouped bool, args []argument) (clEvent, error) {
	a, d := s.dev.api, s.dev
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range args {
		v := &args[i]
		var at unsafe.Pointer
		if !v.local {
			at = unsafe.Pointer(&v.value)
		}
		c := code(int32(dynlib.Call(a.setKernelArg, uintptr(k.handle), uintptr(i), v.size, uintptr(at))))
		if err := d.failed(c, "clSetKernelArg", false); err != nil {
			if _, ok := err.(*Error); ok && (c == invalidArgSize || c == invalidArgValue) {
				return 0, &ArgError{k.name, -1, fmt.Sprintf("parameter %d (%s): %v", i, &k.params[i], err)}
			}
			return 0, err
		}
	}
	if !grouped {
		l = nil
	}
	var ev clEvent
	c := code(int32(dynlib.Call(a.launch, uintptr(s.queue), uintptr(k.handle), uintptr(dims), 0, uintptr(unsafe.Pointer(g)), uintptr(unsafe.Pointer(l)),
		0, 0, uintptr(ptr(&ev)))))
	return ev, d.handedOver(c, "clEnqueueNDRangeKernel")
}
