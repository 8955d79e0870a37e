package engine

// Calls of kernels that are Go functions of a type known at run time only.
//
// A call of package reflect takes 0.3 µs and more, as long as a small task. So functions
// are called through a type that is passed in the same registers, or places on the
// stack, as theirs: how an argument is passed depends on what it is made of and not on
// what a slice or pointer in it points to. A []float64 travels as a sliceArg, an *int32
// as a pointerArg, a uint64 as an int64Arg. directCaller has the shapes, the lists of
// these classes, that are called so; all others go through package reflect.

import (
	"context"
	"reflect"
	"sync"
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

// maxParams is how many parameters a function of another shape than those of
// directCaller can have; shapes are shorter.
const maxParams = 64

// caller calls fn, a function that is its closure, with what it takes of a task:
// parameter i is operand or scalar argument at[i].
type caller func(c *TaskContext, fn unsafe.Pointer, at *[maxParams]uint8) error

// theContext is the place of a parameter that is the *TaskContext.
const theContext = 255

// Classes of parameters, with the letters of shapes: those of data S, P, M and B; one of
// the others is Z, and the scalars of a shape are all of one class.
type (
	sliceArg struct {
		ptr      unsafe.Pointer
		len, cap int
	}
	pointerArg struct{ ptr unsafe.Pointer }
	matArg     struct {
		rows, cols int
		data       sliceArg
		stride     int
	}
	bufferArg struct {
		b *iface.Buffer
		c *TaskContext
	}
	float64Arg float64
	float32Arg float32
	int64Arg   int64
	int32Arg   int32
)

// param is a class: load makes the argument from operand or scalar i.
type param[P any] interface {
	load(c *TaskContext, i uint8) P
}

func (sliceArg) load(c *TaskContext, i uint8) sliceArg {
	b := c.Buffer(int(i))
	return sliceArg{b.Ptr, b.Dim[0], b.Dim[0]}
}

func (pointerArg) load(c *TaskContext, i uint8) pointerArg {
	if i == theContext {
		return pointerArg{unsafe.Pointer(c)}
	}
	return pointerArg{c.Buffer(int(i)).Ptr}
}

func (matArg) load(c *TaskContext, i uint8) matArg {
	b := c.Buffer(int(i))
	m := matArg{rows: b.Dim[0], cols: b.Dim[1], stride: max(1, b.Dim[1])}
	if m.rows > 1 {
		m.stride = max(m.stride, b.Stride[0])
	}
	if m.rows > 0 && m.cols > 0 {
		n := (m.rows-1)*m.stride + m.cols
		m.data = sliceArg{b.Ptr, n, n}
	}
	return m
}

func (bufferArg) load(c *TaskContext, i uint8) bufferArg { return bufferArg{c.Buffer(int(i)), c} }

func (float64Arg) load(c *TaskContext, i uint8) float64Arg { return float64Arg(c.Arg(int(i)).Float()) }
func (float32Arg) load(c *TaskContext, i uint8) float32Arg { return float32Arg(c.Arg(int(i)).Float()) }
func (int64Arg) load(c *TaskContext, i uint8) int64Arg     { return int64Arg(c.Arg(int(i)).Int()) }
func (int32Arg) load(c *TaskContext, i uint8) int32Arg     { return int32Arg(c.Arg(int(i)).Int()) }

// as returns the function that is the closure fn with type F.
func as[F any](fn *unsafe.Pointer) F { return *(*F)(unsafe.Pointer(fn)) }

func call0(fails bool) caller {
	if fails {
		return func(_ *TaskContext, fn unsafe.Pointer, _ *[maxParams]uint8) error { return as[func() error](&fn)() }
	}
	return func(_ *TaskContext, fn unsafe.Pointer, _ *[maxParams]uint8) error {
		as[func()](&fn)()
		return nil
	}
}

func call1[P param[P]](fails bool) caller {
	var p P
	if fails {
		return func(c *TaskContext, fn unsafe.Pointer, at *[maxParams]uint8) error {
			return as[func(P) error](&fn)(p.load(c, at[0]))
		}
	}
	return func(c *TaskContext, fn unsafe.Pointer, at *[maxParams]uint8) error {
		as[func(P)](&fn)(p.load(c, at[0]))
		return nil
	}
}

func call2[P param[P], Q param[Q]](fails bool) caller {
	var p P
	var q Q
	if fails {
		return func(c *TaskContext, fn unsafe.Pointer, at *[maxParams]uint8) error {
			return as[func(P, Q) error](&fn)(p.load(c, at[0]), q.load(c, at[1]))
		}
	}
	return func(c *TaskContext, fn unsafe.Pointer, at *[maxParams]uint8) error {
		as[func(P, Q)](&fn)(p.load(c, at[0]), q.load(c, at[1]))
		return nil
	}
}

func call3[P param[P], Q param[Q], R param[R]](fails bool) caller {
	var p P
	var q Q
	var r R
	if fails {
		return func(c *TaskContext, fn unsafe.Pointer, at *[maxParams]uint8) error {
			return as[func(P, Q, R) error](&fn)(p.load(c, at[0]), q.load(c, at[1]), r.load(c, at[2]))
		}
	}
	return func(c *TaskContext, fn unsafe.Pointer, at *[maxParams]uint8) error {
		as[func(P, Q, R)](&fn)(p.load(c, at[0]), q.load(c, at[1]), r.load(c, at[2]))
		return nil
	}
}

func call4[P param[P], Q param[Q], R param[R], S param[S]](fails bool) caller {
	var p P
	var q Q
	var r R
	var s S
	if fails {
		return func(c *TaskContext, fn unsafe.Pointer, at *[maxParams]uint8) error {
			return as[func(P, Q, R, S) error](&fn)(p.load(c, at[0]), q.load(c, at[1]), r.load(c, at[2]), s.load(c, at[3]))
		}
	}
	return func(c *TaskContext, fn unsafe.Pointer, at *[maxParams]uint8) error {
		as[func(P, Q, R, S)](&fn)(p.load(c, at[0]), q.load(c, at[1]), r.load(c, at[2]), s.load(c, at[3]))
		return nil
	}
}

func call5[P param[P], Q param[Q], R param[R], S param[S], T param[T]](fails bool) caller {
	var p P
	var q Q
	var r R
	var s S
	var t T
	if fails {
		return func(c *TaskContext, fn unsafe.Pointer, at *[maxParams]uint8) error {
			return as[func(P, Q, R, S, T) error](&fn)(p.load(c, at[0]), q.load(c, at[1]), r.load(c, at[2]), s.load(c, at[3]), t.load(c, at[4]))
		}
	}
	return func(c *TaskContext, fn unsafe.Pointer, at *[maxParams]uint8) error {
		as[func(P, Q, R, S, T)](&fn)(p.load(c, at[0]), q.load(c, at[1]), r.load(c, at[2]), s.load(c, at[3]), t.load(c, at[4]))
		return nil
	}
}

// directCaller returns the caller for functions whose parameters are of the classes in
// shape, Z of the class Z, and that return an error if fails; nil: there is none.
func directCaller[Z param[Z]](shape string, fails bool) caller {
	type (
		S = sliceArg
		P = pointerArg // also the *TaskContext
		M = matArg
		B = bufferArg
	)
	switch shape {
	case "":
		return call0(fails)
	case "S":
		return call1[S](fails)
	case "P":
		return call1[P](fails)
	case "M":
		return call1[M](fails)
	case "B":
		return call1[B](fails)
	case "Z":
		return call1[Z](fails)
	case "SS":
		return call2[S, S](fails)
	case "SP":
		return call2[S, P](fails)
	case "SM":
		return call2[S, M](fails)
	case "SZ":
		return call2[S, Z](fails)
	case "PS":
		return call2[P, S](fails)
	case "PP":
		return call2[P, P](fails)
	case "PM":
		return call2[P, M](fails)
	case "PZ":
		return call2[P, Z](fails)
	case "MS":
		return call2[M, S](fails)
	case "MP":
		return call2[M, P](fails)
	case "MM":
		return call2[M, M](fails)
	case "MZ":
		return call2[M, Z](fails)
	case "BP":
		return call2[B, P](fails)
	case "BB":
		return call2[B, B](fails)
	case "BZ":
		return call2[B, Z](fails)
	case "ZS":
		return call2[Z, S](fails)
	case "ZP":
		return call2[Z, P](fails)
	case "ZM":
		return call2[Z, M](fails)
	case "SSS":
		return call3[S, S, S](fails)
	case "SSP":
		return call3[S, S, P](fails)
	case "SSZ":
		return call3[S, S, Z](fails)
	case "SPZ":
		return call3[S, P, Z](fails)
	case "SZZ":
		return call3[S, Z, Z](fails)
	case "PSS":
		return call3[P, S, S](fails)
	case "PPP":
		return call3[P, P, P](fails)
	case "PPZ":
		return call3[P, P, Z](fails)
	case "PMM":
		return call3[P, M, M](fails)
	case "MSS":
		return call3[M, S, S](fails)
	case "MMS":
		return call3[M, M, S](fails)
	case "MMM":
		return call3[M, M, M](fails)
	case "MMZ":
		return call3[M, M, Z](fails)
	case "BSS":
		return call3[B, S, S](fails)
	case "BBB":
		return call3[B, B, B](fails)
	case "BBZ":
		return call3[B, B, Z](fails)
	case "ZSS":
		return call3[Z, S, S](fails)
	case "ZSP":
		return call3[Z, S, P](fails)
	case "ZMM":
		return call3[Z, M, M](fails)
	case "SSSS":
		return call4[S, S, S, S](fails)
	case "SSSZ":
		return call4[S, S, S, Z](fails)
	case "SSZZ":
		return call4[S, S, Z, Z](fails)
	case "PSSS":
		return call4[P, S, S, S](fails)
	case "PMMM":
		return call4[P, M, M, M](fails)
	case "MMMM":
		return call4[M, M, M, M](fails)
	case "MMMZ":
		return call4[M, M, M, Z](fails)
	case "ZSSS":
		return call4[Z, S, S, S](fails)
	case "ZSZS":
		return call4[Z, S, Z, S](fails)
	case "ZMMM":
		return call4[Z, M, M, M](fails)
	case "SSSSS":
		return call5[S, S, S, S, S](fails)
	case "SSSZZ":
		return call5[S, S, S, Z, Z](fails)
	case "MMMZZ":
		return call5[M, M, M, Z, Z](fails)
	case "ZMSZS":
		return call5[Z, M, S, Z, S](fails)
	case "ZMMZM":
		return call5[Z, M, M, Z, M](fails)
	}
	return nil
}

// frame is the arguments of a call by package reflect.
type frame struct {
	vals []reflect.Value
	ptrs []unsafe.Pointer // where the values lie
}

// reflectCaller calls functions of any type that goFunc admits.
func reflectCaller(f *goFunc) caller {
	t := f.typ
	pool := sync.Pool{New: func() any {
		r := &frame{}
		for i := range t.NumIn() {
			v := reflect.New(t.In(i))
			r.vals, r.ptrs = append(r.vals, v.Elem()), append(r.ptrs, v.UnsafePointer())
		}
		return r
	}}
	return func(c *TaskContext, fn unsafe.Pointer, at *[maxParams]uint8) error {
		r := pool.Get().(*frame)
		for i := range f.params {
			f.params[i].store(c, r.ptrs[i], at[i])
		}
		out := reflect.NewAt(t, unsafe.Pointer(&fn)).Elem().Call(r.vals)
		for _, v := range r.vals { // what it points to is not ours to keep
			v.SetZero()
		}
		pool.Put(r)
		if len(out) == 0 {
			return nil
		}
		err, _ := out[0].Interface().(error)
		return err
	}
}

// store stores the argument from operand or scalar i of the task at p.
func (q *goParam) store(c *TaskContext, p unsafe.Pointer, i uint8) {
	switch q.class {
	case classContext:
		*(*context.Context)(p) = c.Context()
	case classSlice:
		*(*sliceArg)(p) = sliceArg{}.load(c, i)
	case classPointer:
		*(*pointerArg)(p) = pointerArg{}.load(c, i)
	case classMat:
		*(*matArg)(p) = matArg{}.load(c, i)
	case classBuffer:
		*(*bufferArg)(p) = bufferArg{}.load(c, i)
	case classStructs:
		*(*sliceArg)(p), _ = structsAt(c, q.fields, int(i))
	case classArrays:
		storeArrays(managed(c.t.operands()[i].Handle).Layout(), c.Buffer(int(i)).Ptr, p)
	case classScalar:
		switch q.kind {
		case reflect.Bool:
			*(*bool)(p) = c.Arg(int(i)).Bool()
		case reflect.String:
			*(*string)(p) = c.Arg(int(i)).Str()
		case reflect.Float32:
			*(*float32)(p) = float32(c.Arg(int(i)).Float())
		case reflect.Float64:
			*(*float64)(p) = c.Arg(int(i)).Float()
		case reflect.Struct:
			f := c.Arg(int(i)).Float()
			if q.Elem == iface.F16 {
				*(*iface.Float16)(p) = iface.ToFloat16(float32(f))
			} else {
				*(*iface.BFloat16)(p) = iface.ToBFloat16(float32(f))
			}
		case reflect.Complex64:
			*(*complex64)(p) = complex64(c.Arg(int(i)).Complex())
		case reflect.Complex128:
			*(*complex128)(p) = c.Arg(int(i)).Complex()
		case reflect.Int8, reflect.Uint8:
			*(*int8)(p) = int8(c.Arg(int(i)).Int())
		case reflect.Int16, reflect.Uint16:
			*(*int16)(p) = int16(c.Arg(int(i)).Int())
		case reflect.Int32, reflect.Uint32:
			*(*int32)(p) = int32(c.Arg(int(i)).Int())
		case reflect.Int64, reflect.Uint64:
			*(*int64)(p) = c.Arg(int(i)).Int()
		case reflect.Int, reflect.Uint:
			*(*int)(p) = int(c.Arg(int(i)).Int())
		}
	}
}

// structsAt returns the slice whose fields are the operands from i on. It has no memory if they lie elsewhere.
func structsAt(c *TaskContext, fields []iface.Field, i int) (s sliceArg, ok bool) {
	first := c.Buffer(i)
	n := first.Dim[0]
	if n == 0 {
		return s, true
	}
	base := unsafe.Add(first.Ptr, -int(fields[0].Offset))
	for k, f := range fields {
		b := c.Buffer(i + k)
		if b.Dim[0] != n || b.Ptr != unsafe.Add(base, f.Offset) || n > 1 && b.Stride[0] != f.Step {
			return s, false
		}
	}
	return sliceArg{base, n, n}, true
}

// storeArrays stores slices of the arrays at p in the fields of the struct at v.
func storeArrays(l *datamgr.Layout, p, v unsafe.Pointer) {
	fields := unsafe.Slice((*sliceArg)(v), len(l.Arrays))
	for i := range l.Arrays {
		a := &l.Arrays[i]
		if a.Len > 0 {
			fields[i] = sliceArg{unsafe.Add(p, a.Off), a.Len, a.Len}
		}
	}
}
