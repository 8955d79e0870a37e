package stdlib

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/opencl"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/enginetest"
	"github.com/starpush/starpush/stdlib/cl"
)

// device opens the first OpenCL device, or skips the test.
func device(t testing.TB) *opencl.Device {
	t.Helper()
	return enginetest.Devices(t, "opencl", 0)[0].(*opencl.Device)
}

// rig makes tasks for a codelet, and runs them twice: here and on a device.
type rig struct {
	testing.TB
	*rand.Rand
	s    *opencl.Stream
	elem iface.Elem
	bufs []*iface.Buffer
	mem  [][]byte // all of a buffer's memory, with gaps
	off  []int    // bytes before element 0
	// what a result may differ by, in units of the element's precision, per unit
	// of magnitude; 0: not at all
	slack float64
}

var sizesOfTests = []int{1, 2, 3, 7, 16, 17, 31, 33, 63, 64, 65, 100, 129}

func (r *rig) size() int { return sizesOfTests[r.IntN(len(sizesOfTests))] }

// number makes an element; floats lie between -1 and 1, integers are small.
func (r *rig) number(e iface.Elem) float64 {
	if e.IsFloat() {
		return 2*r.Float64() - 1
	}
	if e.IsSigned() {
		return float64(r.IntN(21) - 10)
	}
	return float64(r.IntN(21))
}

func store(p unsafe.Pointer, e iface.Elem, v float64) {
	switch e {
	case iface.I8:
		*(*int8)(p) = int8(v)
	case iface.I16:
		*(*int16)(p) = int16(v)
	case iface.I32:
		*(*int32)(p) = int32(v)
	case iface.I64:
		*(*int64)(p) = int64(v)
	case iface.U8:
		*(*uint8)(p) = uint8(v)
	case iface.U16:
		*(*uint16)(p) = uint16(v)
	case iface.U32:
		*(*uint32)(p) = uint32(v)
	case iface.U64:
		*(*uint64)(p) = uint64(v)
	case iface.F32:
		*(*float32)(p) = float32(v)
	case iface.F64:
		*(*float64)(p) = v
	}
}

// add makes an operand, at an odd place, with gaps between rows, somewhere in a
// root datum.
func (r *rig) add(kind iface.Kind, e iface.Elem, dims ...int) *iface.Buffer {
	size := int(e.Size())
	b := &iface.Buffer{Desc: iface.Desc{Kind: kind, Elem: e, Rank: int8(len(dims))}}
	rows, cols, ld := 1, 1, 1
	switch len(dims) {
	case 1:
		cols = dims[0]
		b.Dim[0], b.Stride[0] = cols, 1
		b.Base, b.Step[0] = r.IntN(1000), 1+r.IntN(3)
	case 2:
		rows, cols = dims[0], dims[1]
		ld = cols
		if r.IntN(3) > 0 {
			ld += r.IntN(9)
		}
		b.Dim[0], b.Dim[1], b.Stride[0], b.Stride[1] = rows, cols, max(ld, 1), 1
		b.Base, b.Step[0], b.Step[1] = r.IntN(1000), cols+r.IntN(50), 1
	}
	before := r.IntN(5) * size
	n := before + (max(rows, 1)*max(ld, cols)+r.IntN(5))*size
	words := make([]uint64, n/8+1)
	mem := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), n)
	for at := 0; at+size <= n; at += size {
		store(unsafe.Pointer(&mem[at]), e, r.number(e))
	}
	b.Ptr = unsafe.Add(unsafe.Pointer(unsafe.SliceData(mem)), before)
	r.bufs, r.mem, r.off = append(r.bufs, b), append(r.mem, mem), append(r.off, before)
	return b
}

// at is the memory of element (i, j).
func at(b *iface.Buffer, i, j int) unsafe.Pointer {
	n := i
	if b.Rank == 2 {
		n = i*b.Stride[0] + j
	}
	return unsafe.Add(b.Ptr, n*int(b.Elem.Size()))
}

func (r *rig) vector(n int) *iface.Buffer    { return r.add(iface.Vector, r.elem, n) }
func (r *rig) matrix(m, n int) *iface.Buffer { return r.add(iface.Matrix, r.elem, m, n) }
func (r *rig) variable(e iface.Elem)         { r.add(iface.Variable, e) }

// dense makes a number of vectors, or matrices, of one size.
func (r *rig) dense(count int) {
	m, n, v := r.size(), r.size(), r.IntN(2) == 0
	if r.IntN(20) == 0 {
		m = 0
	}
	long := r.IntN(5) == 0
	for range count {
		switch {
		case v && long:
			r.vector(70000 + m)
		case v:
			r.vector(m)
		default:
			r.matrix(m, n)
		}
	}
}

// dominant makes the diagonal of a triangle large enough to be divided by.
func dominant(b *iface.Buffer) *iface.Buffer {
	for i := range b.Dim[0] {
		store(at(b, i, i), b.Elem, float64(b.Dim[0])+2)
	}
	return b
}

func (r *rig) flag(second string, first string) (iface.Scalar, bool) {
	if r.IntN(2) == 0 {
		return str(second), true
	}
	return str(first), false
}

// factor is an alpha or a beta.
func (r *rig) factor() iface.Scalar {
	return num([]float64{0, 1, -1, 0.5, 2.25}[r.IntN(5)])
}

// cases make the operands of one task of each codelet, and return its scalars.
var cases = map[string]func(r *rig) []iface.Scalar{
	"fill":      func(r *rig) []iface.Scalar { r.dense(1); return []iface.Scalar{num(3)} },
	"copy":      func(r *rig) []iface.Scalar { r.dense(2); return nil },
	"swap":      func(r *rig) []iface.Scalar { r.dense(2); return nil },
	"scal":      func(r *rig) []iface.Scalar { r.dense(1); return []iface.Scalar{r.factor()} },
	"axpy":      func(r *rig) []iface.Scalar { r.dense(2); r.slack = 2; return []iface.Scalar{r.factor()} },
	"transpose": func(r *rig) []iface.Scalar { m, n := r.size(), r.size(); r.matrix(m, n); r.matrix(n, m); return nil },
	"dot": func(r *rig) []iface.Scalar {
		n := r.size() * r.size()
		r.vector(n)
		r.vector(n)
		r.variable(r.elem)
		r.slack = float64(n)
		return nil
	},
	"asum":   func(r *rig) []iface.Scalar { return r.vectorTo(r.elem) },
	"nrm2sq": func(r *rig) []iface.Scalar { return r.vectorTo(r.elem) },
	"nrm2":   func(r *rig) []iface.Scalar { return r.vectorTo(r.elem) },
	"iamax":  func(r *rig) []iface.Scalar { r.vectorTo(iface.I64); r.slack = 0; return nil },
	"gemv": func(r *rig) []iface.Scalar {
		m, n := r.size(), r.size()
		r.matrix(m, n)
		ta, t := r.flag("t", "n")
		if t {
			m, n = n, m
		}
		r.vector(n)
		r.vector(m)
		r.slack = float64(n)
		return []iface.Scalar{r.factor(), r.factor(), ta}
	},
	"ger": func(r *rig) []iface.Scalar {
		m, n := r.size(), r.size()
		r.vector(m)
		r.vector(n)
		r.matrix(m, n)
		r.slack = 4
		return []iface.Scalar{r.factor()}
	},
	"trsv": func(r *rig) []iface.Scalar {
		n := r.size()
		dominant(r.matrix(n, n))
		r.vector(n)
		r.slack = float64(n)
		ta, _ := r.flag("t", "n")
		uplo, _ := r.flag("u", "l")
		return []iface.Scalar{uplo, ta, str("n")}
	},
	"gemm": func(r *rig) []iface.Scalar {
		m, n, k := r.size(), r.size(), r.size()
		ta, t := r.flag("t", "n")
		tb, u := r.flag("t", "n")
		if t {
			r.matrix(k, m)
		} else {
			r.matrix(m, k)
		}
		if u {
			r.matrix(n, k)
		} else {
			r.matrix(k, n)
		}
		r.matrix(m, n)
		r.slack = 4 * float64(k)
		return []iface.Scalar{r.factor(), r.factor(), ta, tb}
	},
	"symm": func(r *rig) []iface.Scalar {
		m, n := r.size(), r.size()
		side, right := r.flag("r", "l")
		if right {
			r.matrix(n, n)
		} else {
			r.matrix(m, m)
		}
		r.matrix(m, n)
		r.matrix(m, n)
		r.slack = 4 * float64(m+n)
		uplo, _ := r.flag("u", "l")
		return []iface.Scalar{r.factor(), r.factor(), side, uplo}
	},
	"syrk": func(r *rig) []iface.Scalar {
		n, k := r.size(), r.size()
		ta, t := r.flag("t", "n")
		if t {
			r.matrix(k, n)
		} else {
			r.matrix(n, k)
		}
		r.matrix(n, n)
		r.slack = 4 * float64(k)
		uplo, _ := r.flag("u", "l")
		return []iface.Scalar{r.factor(), r.factor(), uplo, ta}
	},
	"trmm": func(r *rig) []iface.Scalar { return r.triangular() },
	"trsm": func(r *rig) []iface.Scalar { return r.triangular() },
	"getrs_nopiv": func(r *rig) []iface.Scalar {
		m, n := r.size(), r.size()
		a := dominant(r.matrix(m, m))
		for i := range m { // factors that do not let errors grow
			for j := range i {
				store(at(a, i, j), a.Elem, r.number(a.Elem)/float64(m))
			}
		}
		r.matrix(m, n)
		r.slack = 4 * float64(m)
		return nil
	},
	"sum":   func(r *rig) []iface.Scalar { return r.denseTo(r.elem) },
	"prod":  func(r *rig) []iface.Scalar { return r.denseTo(r.elem) },
	"min":   func(r *rig) []iface.Scalar { r.denseTo(r.elem); r.slack = 0; return nil },
	"max":   func(r *rig) []iface.Scalar { r.denseTo(r.elem); r.slack = 0; return nil },
	"count": func(r *rig) []iface.Scalar { r.denseTo(anyElem(r)); r.slack = 0; return []iface.Scalar{whole(3)} },
	"argmax": func(r *rig) []iface.Scalar {
		if r.IntN(2) == 0 {
			r.matrix(r.size(), r.size())
		} else {
			r.vector(r.size() * r.size())
		}
		r.variable(iface.I64)
		return nil
	},
	"histogram": func(r *rig) []iface.Scalar {
		r.dense(1)
		r.add(iface.Vector, anyElem(r), r.size())
		return []iface.Scalar{num(-0.7), num(float64(1 + r.IntN(9)))}
	},
	"uniform": func(r *rig) []iface.Scalar {
		r.dense(1)
		return []iface.Scalar{whole(int64(r.Uint64())), num(-1.25), num(3 + r.Float64())}
	},
	"normal": func(r *rig) []iface.Scalar {
		r.dense(1)
		r.slack = 16
		return []iface.Scalar{whole(int64(r.Uint64())), num(0.5), num(2)}
	},
}

// anyElem is the type of something to count in.
func anyElem(r *rig) iface.Elem {
	return []iface.Elem{iface.U16, iface.F32, iface.I64}[r.IntN(3)]
}

func (r *rig) vectorTo(e iface.Elem) []iface.Scalar {
	n := r.size() * r.size()
	r.vector(n)
	r.variable(e)
	r.slack = float64(n)
	return nil
}

func (r *rig) denseTo(e iface.Elem) []iface.Scalar {
	r.dense(1)
	r.variable(e)
	if r.elem.IsFloat() {
		r.slack = 100
	}
	return nil
}

// triangular makes the operands of trmm and trsm.
func (r *rig) triangular() []iface.Scalar {
	m, n := r.size(), r.size()
	side, right := r.flag("r", "l")
	k := m
	if right {
		k = n
	}
	a := r.matrix(k, k)
	diag, unit := r.flag("u", "n")
	for i := range k {
		for j := range k {
			store(at(a, i, j), a.Elem, r.number(a.Elem)/float64(k))
		}
		if !unit {
			store(at(a, i, i), a.Elem, 1+r.Float64())
		}
	}
	r.matrix(m, n)
	r.slack = 8 * float64(k)
	ta, _ := r.flag("t", "n")
	uplo, _ := r.flag("u", "l")
	return []iface.Scalar{r.factor(), side, uplo, ta, diag}
}

// run runs a task on the device, with operands that begin as they are here, and
// returns their memory afterwards.
func (r *rig) run(f cl.Kernel, args []iface.Scalar) [][]byte {
	r.Helper()
	m := r.s.Device().Memory()
	t := &task{args: args}
	var places []accel.Place
	copied := func(dst, src accel.Place, n int) {
		r.Helper()
		c := accel.Copy{Dst: dst, Src: src, Bytes: int64(n), Count: accel.Counts()}
		if err := r.s.Copy(&c); err != nil {
			r.Fatal(err)
		}
	}
	here := func(b []byte) accel.Place {
		return accel.Place{Mem: ram, Ptr: unsafe.Pointer(unsafe.SliceData(b))}
	}
	for i, b := range r.bufs {
		p, err := m.Alloc(int64(len(r.mem[i])))
		if err != nil {
			r.Fatal(err)
		}
		defer m.Free(p, int64(len(r.mem[i])))
		places = append(places, accel.Place{Mem: m, Ptr: p})
		copied(places[i], here(r.mem[i]), len(r.mem[i]))
		d := *b
		d.Ptr = unsafe.Add(p, r.off[i])
		t.bufs = append(t.bufs, &d)
	}
	if err := f(r.s, t); err != nil {
		r.s.Sync()
		r.Fatal(err)
	}
	var out [][]byte
	for i := range r.bufs {
		out = append(out, make([]byte, len(r.mem[i])))
		copied(here(out[i]), places[i], len(out[i]))
	}
	if err := r.s.Sync(); err != nil {
		r.Fatal(err)
	}
	return out
}

var ram = accel.NewHeap("ram", 1<<40)

// float reads a floating-point element.
func float(p unsafe.Pointer, e iface.Elem) float64 {
	if e == iface.F32 {
		return float64(*(*float32)(p))
	}
	return *(*float64)(p)
}

// compare holds what a device computed against what is here now.
func (r *rig) compare(got [][]byte) error {
	for i, b := range r.bufs {
		want := r.mem[i]
		if bytes.Equal(want, got[i]) {
			continue
		}
		size, eps := int(b.Elem.Size()), 0x1p-52
		if b.Elem == iface.F32 {
			eps = 0x1p-23
		}
		for at := 0; at+size <= len(want); at += size {
			if bytes.Equal(want[at:at+size], got[i][at:at+size]) {
				continue
			}
			if !b.Elem.IsFloat() || r.slack == 0 {
				return fmt.Errorf("operand %d (%v), byte %d: %v instead of %v", i, &b.Desc, at, got[i][at:at+size], want[at:at+size])
			}
			g, w := float(unsafe.Pointer(&got[i][at]), b.Elem), float(unsafe.Pointer(&want[at]), b.Elem)
			if !(math.Abs(g-w) <= r.slack*eps*max(1, math.Abs(w))) {
				return fmt.Errorf("operand %d (%v), element %d: %v instead of %v", i, &b.Desc, (at-r.off[i])/size, g, w)
			}
		}
	}
	return nil
}

// TestOpenCL runs random tasks of each codelet on a device and here.
func TestOpenCL(t *testing.T) {
	d := device(t)
	st, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	in := d.Info()
	have := 0
	for _, m := range table {
		for i := range m.codelets {
			e := m.codelets[i]
			e.parse()
			f := cl.Find(m.name, e.name)
			if f == nil {
				continue
			}
			have++
			t.Run(m.name+"."+e.name, func(t *testing.T) {
				elems := e.elems
				if elems == nil {
					elems = iface.RealElems
				}
				for _, elem := range elems {
					// Drivers take their time to build: some integers, unless all are asked for.
					if some := []iface.Elem{iface.I8, iface.U16, iface.I64, iface.F32, iface.F64}; !slices.Contains(some, elem) && os.Getenv("STARPUSH_EVERY_ELEM") == "" {
						continue
					}
					if !cl.Supports(&in, m.name, e.name, elem) {
						continue
					}
					for seed := range uint64(12) {
						r := &rig{TB: t, Rand: rand.New(rand.NewPCG(seed, 1)), s: st.(*opencl.Stream), elem: elem}
						args := cases[e.name](r)
						what := fmt.Sprintf("%v, seed %d", elem, seed)
						for _, b := range r.bufs {
							what += ", " + b.Desc.String()
						}
						what += fmt.Sprint(args)
						var ops []iface.Desc
						for _, b := range r.bufs {
							ops = append(ops, b.Desc)
						}
						if err := e.check(ops, args); err != nil {
							t.Fatalf("%s: %v", what, err)
						}
						got := r.run(f, args)
						if err := e.kernel(&task{r.bufs, args}); err != nil {
							t.Fatalf("%s: %v", what, err)
						}
						if err := r.compare(got); err != nil {
							t.Errorf("%s: %v", what, err)
							break
						}
					}
				}
			})
		}
	}
	if have != len(cases) {
		t.Errorf("%d codelets have kernels, and %d are tested", have, len(cases))
	}
}

// TestOpenCLSpecial: infinities, NaN and zeros of both signs.
func TestOpenCLSpecial(t *testing.T) {
	d := device(t)
	st, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	nan, inf := math.NaN(), math.Inf(1)
	lists := [][]float64{
		{1, nan, 3}, {inf, 1, -inf}, {nan, inf}, {math.Copysign(0, -1), 0}, {0, math.Copysign(0, -1)}, {0, 0, 0},
		{1e300, -1e300, 1e300}, {1e-300, 1e-300}, {2, -3, 3, -3}, {-inf, 1}, {5},
	}
	big := make([]float64, 70000)
	for i := range big {
		big[i] = 1e200
	}
	for _, where := range []int{0, 1, 65000, 69999} {
		l := slices.Clone(big)
		l[where] = nan
		lists = append(lists, l)
	}
	lists = append(lists, big)
	for _, elem := range []iface.Elem{iface.F32, iface.F64} {
		if in := d.Info(); elem == iface.F64 && !in.Doubles {
			continue
		}
		for _, name := range []string{"nrm2", "iamax", "min", "max", "argmax"} {
			mod := "std/blas"
			if name == "min" || name == "max" || name == "argmax" {
				mod = "std/reduce"
			}
			for i, list := range lists {
				r := &rig{TB: t, Rand: rand.New(rand.NewPCG(uint64(i), 2)), s: st.(*opencl.Stream), elem: elem}
				x := r.vector(len(list))
				for j, v := range list {
					store(at(x, j, 0), elem, v)
				}
				out := iface.I64
				if name != "iamax" && name != "argmax" {
					out = elem
					r.slack = 1000
				}
				r.variable(out)
				got := r.run(cl.Find(mod, name), nil)
				must(t, mod, name, r.bufs)
				w, g := r.bufs[1], *r.bufs[1]
				g.Ptr = unsafe.Pointer(&got[1][r.off[1]])
				if out == elem {
					a, b := float(w.Ptr, elem), float(g.Ptr, elem)
					if a != a && b != b || a == b && math.Signbit(a) == math.Signbit(b) {
						continue
					}
				}
				if err := r.compare(got); err != nil {
					t.Errorf("%s of %v, list %d: %v", name, elem, i, err)
				}
			}
		}
	}
}

// TestOpenCLHistogram: bins at the ends of f64.
func TestOpenCLHistogram(t *testing.T) {
	d := device(t)
	if !d.Info().Doubles {
		t.Skip("no doubles")
	}
	st, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for i, c := range farBins {
		r := &rig{TB: t, Rand: rand.New(rand.NewPCG(uint64(i), 3)), s: st.(*opencl.Stream), elem: iface.F64}
		x := r.vector(len(c.x))
		for j, v := range c.x {
			store(at(x, j, 0), iface.F64, v)
		}
		r.add(iface.Vector, iface.I32, len(c.want))
		args := []iface.Scalar{num(c.lo), num(c.hi)}
		got := r.run(cl.Find("std/reduce", "histogram"), args)
		must(t, "std/reduce", "histogram", r.bufs, args...)
		if err := r.compare(got); err != nil {
			t.Errorf("from %v to %v: %v", c.lo, c.hi, err)
		}
	}
}

// TestOpenCLNoFactor: what is multiplied by a factor of 0 is not read, nor by one that
// is 0 among the numbers of the element type.
func TestOpenCLNoFactor(t *testing.T) {
	d := device(t)
	st, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for _, name := range []string{"axpy", "gemv", "ger", "gemm", "symm", "syrk", "trmm", "trsm"} {
		for i, alpha := range []float64{0, 1e-50} {
			r := &rig{TB: t, Rand: rand.New(rand.NewPCG(uint64(i), 4)), s: st.(*opencl.Stream), elem: iface.F32}
			args := cases[name](r)
			args[0] = num(alpha)
			store(at(r.bufs[0], 0, 0), iface.F32, math.NaN())
			got := r.run(cl.Find("std/blas", name), args)
			must(t, "std/blas", name, r.bufs, args...)
			if err := r.compare(got); err != nil {
				t.Errorf("%s by %v: %v", name, alpha, err)
			}
		}
	}
}
