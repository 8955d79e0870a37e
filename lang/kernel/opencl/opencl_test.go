package opencl

// Bodies on the OpenCL devices of the machine, compared with the same bodies on the CPU.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/starpush/starpush/accel"
	driver "github.com/starpush/starpush/accel/opencl"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/cpu"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/kernel/kerneltest"
)

// openStream opens a stream of a device with doubles, or skips the test.
func openStream(t *testing.T) *driver.Stream {
	t.Helper()
	devices, err := driver.Driver{}.Open()
	var none *accel.UnavailableError
	if errors.As(err, &none) && os.Getenv("STARPUSH_NEED_OPENCL") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, d := range devices {
			d.Close()
		}
	})
	for _, d := range devices {
		if d := d.(*driver.Device); d.Info().Doubles {
			s, err := d.NewStream()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			return s.(*driver.Stream)
		}
	}
	t.Skip("no OpenCL device has doubles")
	return nil
}

// runOnDevice runs d on copies of the operands in the memory of the device.
func runOnDevice(s *driver.Stream, d *Kernels, list []*iface.Buffer, args []iface.Scalar) error {
	return kerneltest.OnDevice(s, s.Device().Memory(), list, func(list []*iface.Buffer) error {
		return d.Run(s, &kerneltest.Task{Ctx: context.Background(), Bufs: list, Scalars: args})
	})
}

// closeEnough reports whether two results agree but for the last bits of floats.
func closeEnough(t string, a, b kerneltest.Value) bool {
	eps := map[string]float64{"f64": 1e-11, "f32": 1e-4, "f16": 0x1p-10, "bf16": 0x1p-7}[t]
	if eps == 0 {
		return a.Int == b.Int
	}
	return a.Float == b.Float || a.Float != a.Float && b.Float != b.Float || math.Abs(a.Float-b.Float) <= eps*max(math.Abs(a.Float), math.Abs(b.Float))
}

// TestRandomBodies: random bodies have the same results on a device and on the CPU.
func TestRandomBodies(t *testing.T) {
	s := openStream(t)
	n, ran, outside := 40, 0, 0
	if testing.Short() {
		n = 24
	}
	for seed := range uint64(n) {
		b := kerneltest.NewBody(t, seed, true)
		if b == nil {
			continue
		}
		d, err := New(b.Func)
		if err != nil {
			continue
		}
		here, readHere := b.Buffers()
		there, readThere := b.Buffers()
		want := cpu.Compile(b.Func).Run(context.Background(), here, b.Args)
		err = runOnDevice(s, d, there, b.Args)
		var out *BoundsError
		if errors.As(err, &out) {
			outside++
			continue // the check is conservative
		}
		if err != nil || want != nil {
			t.Fatalf("seed %d: on the device %v, on the CPU %v\n%s\n%s", seed, err, want, b.Source, d.Source()[len(commonSource):])
		}
		ran++
		for k, name := range kerneltest.BodyOperands[:len(readHere)] {
			got := readThere[k]()
			for c, w := range readHere[k]() {
				if !closeEnough(b.Data[name].Elem, got[c], w) {
					t.Fatalf("seed %d: %s, cell %d is %v on the device, and %v on the CPU\n%s\n%s", seed, name, c, got[c], w, b.Source, d.Source()[len(commonSource):])
				}
			}
		}
	}
	if ran < n/6 {
		t.Errorf("%d of %d bodies ran on the device, %d might have read outside", ran, n, outside)
	}
	t.Logf("%d of %d bodies ran on the device, %d might have read outside", ran, n, outside)
}

// runOnCPU runs fn on a CPU, on operands of size n, and returns what it computed.
func runOnCPU(t *testing.T, fn *ir.Func, n int) []float64 {
	t.Helper()
	list, read := kerneltest.LoopData(n)
	if err := cpu.Compile(fn).Run(context.Background(), list, []iface.Scalar{iface.Int(int64(n))}); err != nil {
		t.Fatal(err)
	}
	return read()
}

// TestLoops runs loops on a device, or finds the reason why it cannot.
func TestLoops(t *testing.T) {
	s := openStream(t)
	for _, tt := range []struct{ body, why string }{
		{"for i in 0..n { y[i] = x[i] * 3 }", ""},
		{"each i in y { y[i] = x[i] * 3 + v }", ""},
		{"each i in 1..y.n - 1 { y[i] = (x[i - 1] + x[i] + x[i + 1]) / 3 }", ""},
		{"each i in y { y[i] = (x[max(i - 1, 0)] + x[min(i + 1, n - 1)]) / 2 }", ""},
		{"let a = v * 2\n each i in y { y[i] = a * x[i] }\n each j, i in A { A[j, i] += y[i] * a }", ""},
		{"v += sum i in x { x[i] * y[i] }", ""},
		{"v = max i in x { abs(x[i]) }\n let s = sum i, j in A { A[i, j] * A[i, j] }\n if s > 1 { v += sqrt(s) } else { v -= 1 }", ""},
		{"for i in 0..9 { for j in 0..n { let s = 0.0\n for k in 0..9 { s += B[j, k] * B[0, k] }\n A[i, j] += s } }", ""},
		{"each i, j in A { A[i, j] += sum k in 0..9 { B[j, k] / 7 * float(k) } }", ""},
		{"each i in u { u[i] = u[i] // 3 * 7 - u[i] % 5 }", ""},
		{"each i in y { if x[i] > 0 and y[i] < 0.5 { y[i] = sin(x[i]) } else { y[i] = exp(-abs(x[i])) } }", ""},
		{"each i in y { y[i] = x[k[i]] }", "`x[k[i]]` may be out of bounds, which a device could not report"},
		{"each i in y { y[i] = x[(i + 1) % n] }", "the divisor `n` may be 0, which a device could not report"},
		{"each i in y { y[i] = x[(i + 1) % 7] }", "`x[(i + 1) % 7]` may be out of bounds, which a device could not report"},
		{"each i in u { u[i] = 7 // u[i] }", "the divisor `u[i]` may be 0, which a device could not report"},
		{"each i in u { u[i] = 7 % 0 }", "`7 % 0` always fails, which a device could not report"},
		{"each i in u { u[i] = 2 ** u[i] }", "the exponent `u[i]` may be negative, which a device could not report"},
		{"each i in u { u[i] = u[i] // -3 + u[i] % -1 + u[i] ** 0 }", ""},
		{"each i in y { y[i] = x[k[0]] }", "whether its indices are in bounds depends on data"},
		{"each i in y { let s = 0.0\n for j in 0..i { s += x[j] }\n y[i] = s }", "the range `0..i` changes from round to round"},
		{"for i in 1..n { y[i] = y[i - 1] + x[i] }", "the rounds of a `for` depend on each other"},
		{"for i in 0..n { v += x[i] }", "the rounds of a `for` depend on each other"},
		{"if n > 3 { each i in y { y[i] = 0 } }", "it has loops inside an `if`"},
		{"each i in y { let t = array[f64](4)\n for j in 0..t.n { t[j] = x[max(i - j, 0)] * float(j) }\n t[1] += 0.5\n y[i] = t[1] + sum j in t { t[j] } }", ""},
		{"each i, j in A { let t = array[f32](3, fill = x[j])\n if x[j] > 0 { let t = array[i16](64, fill = i)\n t[j * 0] += 1\n A[i, j] = t[0] } else { t[2] = 1\n A[i, j] += t[0] + t[2] } }", ""},
		{"let t = array[i32](5)\n for j in 0..5 { t[j] = j * j }\n v += sum i in 0..n { sum j in 0..5 { float(t[j]) * x[i] } }", "the rounds of a `for` depend on each other"},
		{"let t = array[f64](5, fill = 2)\n t[3] = v\n v += t[1] * (sum i in 0..n { t[3] * x[i] })", ""},
		{"each i in y { let t = array[f64](4)\n t[k[i]] = 1\n y[i] = t[0] }", "`t[k[i]]` may be out of bounds, which a device could not report"},
		{"let t = array[f64](4)\n t[0] = x[0]\n each i in y { y[i] = t[0] }", "t is computed from data in one loop and used in another"},
		{"let a = sum i in x { x[i] }\n each i in y { y[i] = a }", "a is computed from data in one loop and used in another"},
		{"let a = y[0]\n each i in y { y[i] = a }", "a is computed from data in one loop and used in another"},
	} {
		fn := kerneltest.Lowered(t, fmt.Sprintf(kerneltest.LoopCodelet, tt.body), nil)
		d, err := New(fn)
		if tt.why != "" {
			if err == nil || err.Error() != tt.why {
				t.Errorf("%s\n runs on devices, or not for another reason: %v", tt.body, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s\n %v", tt.body, err)
			continue
		}
		for _, n := range []int{1, 2, 63, 64, 65, 1000} {
			want := runOnCPU(t, fn, n)
			list, read := kerneltest.LoopData(n)
			err := runOnDevice(s, d, list, []iface.Scalar{iface.Int(int64(n))})
			if err != nil {
				t.Fatalf("%s\n n = %d: %v\n%s", tt.body, n, err, d.Source()[len(commonSource):])
			}
			for k, v := range read() {
				if math.Abs(v-want[k]) > 1e-12*max(1, math.Abs(want[k])) {
					t.Fatalf("%s\n n = %d: value %d is %v, want %v\n%s", tt.body, n, k, v, want[k], d.Source()[len(commonSource):])
				}
			}
		}
	}
}

// TestBounds: no kernel starts that may access an element out of bounds.
func TestBounds(t *testing.T) {
	for _, tt := range []struct {
		body string
		n    int64
		ok   bool
	}{
		{"each i in y { y[i] = x[i + 1] }", 10, false},
		{"each i in 0..y.n - 1 { y[i] = x[i + 1] }", 10, true},
		{"each i in 0..n { y[i] = 1 }", 11, false},
		{"each i in 0..n { y[i] = 1 }", 9, true},
		{"each i in 0..n { y[i] = 1 }", -3, true},
		{"each i in y { y[i] = if i > 0 then x[i - 1] else 0 }", 10, false}, // known only round by round
		{"v = sum i in 0..n { x[i] }", 11, false},
		{"each i in y { y[i] = max j in 0..9 { A[j, i + n] } }", 1, false},
		{"each i in y { y[i] = max j in 0..9 { A[j, i + n] } }", 0, true},
		{"each i, j in n..9, 0..3 { A[i, j] = 1 }", 9, true},   // the outer range is empty
		{"each i in 0..5 { y[i] = x[i * n] }", 1 << 62, false}, // 0 in the first round and the last
		{"each i in 0..9 { y[i] = x[-(i - 4) * n + n * 4] }", 1 << 61, false},
		{"v = sum i in n..=0 { x[2 * i] }", math.MinInt64, false},
		{"v = sum i in n..=0 { x[max(2 * i + 1, 0) // 2] }", math.MinInt64, false},
	} {
		d, err := New(kerneltest.Lowered(t, fmt.Sprintf(kerneltest.LoopCodelet, tt.body), nil))
		if err != nil {
			t.Fatalf("%s: %v", tt.body, err)
		}
		list, _ := kerneltest.LoopData(10)
		_, err = d.Launches(&kerneltest.Task{Ctx: context.Background(), Bufs: list, Scalars: []iface.Scalar{iface.Int(tt.n)}})
		var out *BoundsError
		if errors.As(err, &out) == tt.ok || err != nil && !strings.Contains(err.Error(), "of c may be out of bounds") {
			t.Errorf("%s with n = %d: %v", tt.body, tt.n, err)
		}
	}
}

// TestRanges: ranges have the number of rounds that they have on the CPU, at the ends of the
// integers, too.
func TestRanges(t *testing.T) {
	s := openStream(t)
	for _, body := range []string{
		"v = sum i in n..-n - 1 { 1 }",
		"v = sum i in n..=-n { x[i] }",
		"v = sum i, j in n..=n, 0..3 { 1 }",
		"each i in y { y[i] = sum j in n..=n { 1 } }",
		"each i in y { y[i] = sum j in n - 3..n { 1 }\n for j in n - 2..=n { y[i] += 2 }\n for j in n..-n - 1 { y[i] += 5 } }",
		"each i in n..-n - 1 { y[i] = 1 }",
	} {
		fn := kerneltest.Lowered(t, fmt.Sprintf(kerneltest.LoopCodelet, body), nil)
		d, err := New(fn)
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		args := []iface.Scalar{iface.Int(math.MaxInt64)}
		here, read := kerneltest.LoopData(10)
		if err := cpu.Compile(fn).Run(context.Background(), here, args); err != nil {
			t.Fatal(err)
		}
		there, readThere := kerneltest.LoopData(10)
		if err := runOnDevice(s, d, there, args); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		for k, w := range read() {
			if v := readThere()[k]; v != w {
				t.Fatalf("%s: value %d is %v on the device, and %v on the CPU\n%s", body, k, v, w, d.Source()[len(commonSource):])
			}
		}
	}
}

// TestArithmetic: arithmetic of integers, and the float operations that SPEC.md defines
// exactly, have the results of the CPU, for extreme operands, too.
func TestArithmetic(t *testing.T) {
	s := openStream(t)
	for _, elem := range iface.RealElems {
		typ := elem.String()
		var body strings.Builder
		exprs := []string{"x[i] + y[i]", "x[i] - y[i]", "x[i] * y[i]", "-x[i]", "abs(x[i])", "min(x[i], y[i])", "max(x[i], y[i])", "x[i] // 7", "x[i] % 7",
			"x[i] ** 2", "if x[i] < y[i] then x[i] else y[i]", "select(x[i] == y[i], x[i], -y[i])"}
		if elem.IsFloat() {
			exprs = append(exprs, "x[i] / y[i]", "floor(x[i])", "ceil(x[i])", "round(x[i])", "x[i] // y[i]", "x[i] % y[i]")
		} else {
			exprs = append(exprs, "x[i] ** 3", "x[i] ** 5", "int(f[i])", "int(g[i])")
		}
		body.WriteString("each i, j in A {\n")
		for k, e := range exprs {
			fmt.Fprintf(&body, "if j == %d { A[i, j] = %s }\n", k, e)
		}
		body.WriteString("}\neach i in f { f[i] = float(x[i]) }\neach i in g { g[i] = x[i] * 1 }\n")
		src := strings.ReplaceAll(fmt.Sprintf("codelet c(x: R vector[T], y: R vector[T], A: RW matrix[T], f: RW vector[f64], g: RW vector[f32]) {\n%s}\n", body.String()), "T", typ)
		d, err := New(kerneltest.Lowered(t, src, nil))
		if err != nil {
			t.Fatalf("%s: %v", typ, err)
		}
		xs := extremes(typ)
		n := len(xs) * len(xs)
		data := []*kerneltest.Data{{Elem: typ, Rank: 1, Rows: n}, {Elem: typ, Rank: 1, Rows: n}, {Elem: typ, Rank: 2, Rows: n, Cols: len(exprs)},
			{Elem: "f64", Rank: 1, Rows: n}, {Elem: "f32", Rank: 1, Rows: n}}
		floats := extremes("f64")
		for k := range n {
			data[0].Cells, data[1].Cells = append(data[0].Cells, xs[k/len(xs)]), append(data[1].Cells, xs[k%len(xs)])
			for range exprs {
				data[2].Cells = append(data[2].Cells, xs[0])
			}
			x := floats[k%len(floats)].Float
			data[3].Cells, data[4].Cells = append(data[3].Cells, kerneltest.FloatValue("f64", x)), append(data[4].Cells, kerneltest.FloatValue("f32", x))
		}
		var lists [2][]*iface.Buffer
		var reads [2][]func() []kerneltest.Value
		for k := range lists {
			for _, x := range data {
				b, read := kerneltest.DataBuffer(x)
				lists[k], reads[k] = append(lists[k], b), append(reads[k], read)
			}
		}
		if err := cpu.Compile(kerneltest.Lowered(t, src, nil)).Run(context.Background(), lists[0], nil); err != nil {
			t.Fatal(err)
		}
		if err := runOnDevice(s, d, lists[1], nil); err != nil {
			t.Fatalf("%s: %v\n%s", typ, err, d.Source())
		}
		for k, x := range data {
			there := reads[1][k]()
			for c, w := range reads[0][k]() {
				if v := there[c]; v.Int != w.Int || math.Float64bits(v.Float) != math.Float64bits(w.Float) && (v.Float == v.Float || w.Float == w.Float) {
					row, what := c, "converted"
					if x.Rank == 2 {
						row, what = c/x.Cols, exprs[c%x.Cols]
					}
					t.Errorf("%s: %s of %v and %v is %v on the device, and %v on the CPU", typ, what, data[0].Cells[row], data[1].Cells[row], v, w)
				}
			}
		}
	}
}

// extremes returns values of a type at which arithmetic is special.
func extremes(typ string) (out []kerneltest.Value) {
	if typ[0] == 'f' {
		for _, x := range []float64{0, math.Copysign(0, -1), 1, -1, 2.5, -2.5, 0.1, 3, -7, 1e10, -1e10, 300.7, 9.3e18, 1.9e19, 1e30, -1e30, math.Inf(1), math.Inf(-1), math.NaN()} {
			out = append(out, kerneltest.FloatValue(typ, x))
		}
		return out
	}
	for _, x := range []uint64{0, 1, 2, 3, 7, 100, 1<<64 - 1, 1<<64 - 2, 1<<64 - 7, 1 << 63, 1<<63 - 1, 1 << 31, 1<<31 - 1, 1<<32 - 1, 1 << 15, 1<<16 - 1, 128, 127, 255} {
		out = append(out, kerneltest.IntValue(typ, x))
	}
	return out
}

// TestFloat16: a device loads every value of f16 and of bf16, and stores every float between two of them,
// as a CPU does.
func TestFloat16(t *testing.T) {
	s := openStream(t)
	for _, elem := range []iface.Elem{iface.F16, iface.BF16} {
		fn := kerneltest.Lowered(t, `codelet c(x: R vector[T], w: W vector[f32], h: R vector[f32], z: W vector[T]) {
    each i in x { w[i] = x[i] }
    each i in h { z[i] = h[i] }
}`, map[byte]iface.Elem{'T': elem})
		d, err := New(fn)
		if err != nil {
			t.Fatal(err)
		}
		const n = 1 << 16
		bits, floats := make([]uint16, n), make([]float32, 0, 3*n)
		for i := range bits {
			bits[i] = uint16(i)
			v := math.Float32frombits(uint32(i)<<16 | 0x8000)
			floats = append(floats, v, math.Nextafter32(v, 0), math.Nextafter32(v, float32(math.Inf(1))))
		}
		var values [2][]float32
		var stored [2][]uint16
		for k := range values {
			values[k], stored[k] = make([]float32, n), make([]uint16, len(floats))
			x, z := kerneltest.VectorOf(bits), kerneltest.VectorOf(stored[k])
			x.Elem, z.Elem = elem, elem
			list := []*iface.Buffer{x, kerneltest.VectorOf(values[k]), kerneltest.VectorOf(floats), z}
			if k == 0 {
				err = cpu.Compile(fn).Run(context.Background(), list, nil)
			} else {
				err = runOnDevice(s, d, list, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for i, v := range values[0] {
			if w := values[1][i]; math.Float32bits(v) != math.Float32bits(w) && (v == v || w == w) {
				t.Fatalf("%v %#04x is %v on the device, and %v on the CPU", elem, i, w, v)
			}
		}
		for i, v := range stored[0] {
			if f := floats[i]; v != stored[1][i] && f == f {
				t.Fatalf("%v is stored as %v %#04x on the device, and as %#04x on the CPU", f, elem, stored[1][i], v)
			}
		}
	}
}

// TestBool: a device loads a byte other than 0 as true, and stores 0 and 1, as a CPU does.
func TestBool(t *testing.T) {
	s := openStream(t)
	fn := kerneltest.Lowered(t, `codelet c(a: bool, x: R vector[bool], y: RW vector[bool], w: W vector[i32]) {
    each i in x {
        y[i] = x[i] and not y[i] or a and i % 3 == 0
        if x[i] == y[i] { w[i] = 1 } else { w[i] = if y[i] then 2 else 3 }
    }
}`, nil)
	d, err := New(fn)
	if err != nil {
		t.Fatal(err)
	}
	const n = 1000
	for _, a := range []bool{false, true} {
		var ys [2][]uint8
		var ws [2][]int32
		for k := range ys {
			x, y, w := make([]uint8, n), make([]uint8, n), make([]int32, n)
			for i := range x {
				x[i], y[i] = uint8(i%3*i), uint8(i%5/2*3)
			}
			bufs := []*iface.Buffer{kerneltest.VectorOf(x), kerneltest.VectorOf(y), kerneltest.VectorOf(w)}
			bufs[0].Elem, bufs[1].Elem = iface.B8, iface.B8
			if k == 0 {
				err = cpu.Compile(fn).Run(context.Background(), bufs, []iface.Scalar{iface.Bool(a)})
			} else {
				err = runOnDevice(s, d, bufs, []iface.Scalar{iface.Bool(a)})
			}
			if err != nil {
				t.Fatal(err)
			}
			ys[k], ws[k] = y, w
		}
		if !slices.Equal(ys[0], ys[1]) || !slices.Equal(ws[0], ws[1]) {
			t.Errorf("a %v: %v and %v on the device, and %v and %v on the CPU", a, ys[1], ws[1], ys[0], ws[0])
		}
	}
}
