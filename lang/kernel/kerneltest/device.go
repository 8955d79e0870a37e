package kerneltest

import (
	"errors"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr/iface"
)

// ram is the memory of operands that are on no device.
var ram = accel.NewHeap("ram", 1<<40)

// OnDevice calls run with copies of the operands in list, in a memory of the stream's device,
// each inside a larger allocation, and copies them back.
func OnDevice(s accel.Stream, mem accel.Memory, list []*iface.Buffer, run func(list []*iface.Buffer) error) (err error) {
	there := make([]*iface.Buffer, len(list))
	var back []accel.Copy
	for k, b := range list {
		n, size := b.Len(), int64(b.Elem.Size())
		if b.Rank >= 2 { // from the first element to the last
			n = 1
			for axis := range b.Rank {
				n += (b.Dim[axis] - 1) * b.Stride[axis]
			}
		}
		bytes, before := int64(n)*size, 3*size
		p, err := mem.Alloc(bytes + before)
		if err != nil {
			return err
		}
		defer mem.Free(p, bytes+before)
		c := *b
		c.Ptr = unsafe.Add(p, before)
		there[k] = &c
		to := accel.Copy{Dst: accel.Place{Mem: mem, Ptr: c.Ptr}, Src: accel.Place{Mem: ram, Ptr: b.Ptr}, Bytes: bytes}
		for i := range to.Count {
			to.Count[i] = 1
		}
		if err := s.Copy(&to); err != nil {
			return err
		}
		from := to
		from.Dst, from.Src = to.Src, to.Dst
		back = append(back, from)
	}
	err = run(there)
	for k := range back {
		if e := s.Copy(&back[k]); err == nil {
			err = e
		}
	}
	return errors.Join(err, s.Sync())
}

// DeviceBodies are bodies with each kind of step of a device, for LoopCodelet. Many fault, in
// rounds that depend on data.
var DeviceBodies = []string{
	"each i in y { y[i] = x[i] * 2.0 + y[i] }",
	"each i in y { y[i] = x[k[i]] }",
	"each i in y { y[i] = sum j in x { x[j] * y[i] } }",
	"each i in y { y[i] = sum j in 0..n { x[j] } }",
	"each i in y { let s = 0.0\n for j in k[i]..k[i] + 2 { s += x[j] }\n y[i] = s }",
	"v = sum i in x { x[i] * x[i] }",
	"v = prod i in x { x[i] + 1.0 }",
	"v = max i in x { abs(x[i]) }",
	"v += sum i, j in A { A[i, j] * B[j, i] }",
	"v = sum i in 0..9 { sum j in 0..n { A[i, j] } }",
	"let a = sum i in x { x[i] }\n let b = a * 2.0 + float(n)\n each i in y { y[i] = y[i] - b }\n v = b",
	"let m = x[0]\n each i in y { y[i] += m }",
	"if x[0] > 0.0 { each i in y { y[i] = 1.0 } } else { each i in y { y[i] = -1.0 }\n v = 3.0 }",
	"for l in 0..9 { each j in y { y[j] = y[j] * 0.5 + x[l % x.n] } }",
	"let c = 0.0\n for l in 0..4 { each j in y { y[j] += c }\n c = c + (sum j in y { y[j] })\n v = c }",
	"for l in 1..9 { if x[l % x.n] > 0.0 { each j in y { y[j] = A[l, j] } }\n v += float(l) }",
	"each i, j in A { A[i, j] = A[i, j] + B[j, i] }",
	"each i, j in A { A[i, j] = sum l in 0..n { x[l] * float(j) + B[l, i] } }",
	"for i in 0..n { y[i] = x[n - 1 - i] }",
	"each i in u { u[i] = u[i] // (u[i] - 4) }",
	"each i in y { y[i] = exp(x[i]) + sin(y[i] * 1.0e6) + round(x[i] * 5.5) + x[i] % 0.3 + 1.0 / x[i] + sqrt(abs(x[i])) }",
	"each i in y { y[i] = log(abs(x[i])) + tanh(y[i]) + erf(x[i]) + cbrt(y[i]) + pow(abs(x[i]), y[i]) + tan(y[i]) + cos(x[i]) + log2(abs(y[i])) }",
	"each i in y { y[i] = x[i + 5] }",
	"each i in y { y[i] = x[k[i] + 3] }",
	"each i in u { u[i] = 7 // (u[i] - 9) + int(x[k[i] * 2 - 1]) }",
	"each i in y { y[i] = float(u[i] ** (3 - k[i])) }",
	"each i, j in A { A[i, j] = x[i * k[j] + j] }",
	"each i, j in 0..n, 0..9 { A[j, i] = float(10 // (k[i] - j - 3)) }",
	"each i in 0..k[0] + 5 { y[i] = x[i] }",
	"each i, j in 0..9, 0..k[0] + 2 { A[i, j] = x[k[j] + i] }",
	"each i, j in 0..n, 0..9 { A[j, i] = x[if i + j >= k[0] then n + 10 * i + j else i] }",
	"v = sum i, j in 0..n, 0..9 { A[j, i] * x[if i + j >= k[0] then n + 10 * i + j else i] }",
	"v = sum i in x { x[k[i] + 2] }",
	"v = sum j, i in 0..n, 0..9 { A[i, j + k[j]] }",
	"v = sum i, j in 0..9, 0..n { A[i, k[j] + i] }",
	"for l in 0..9 { each j in y { y[j] = x[k[j] + l] } }",
	"each i in y { y[i] = x[k[i] + 5] }\n each i in y { y[i] = x[i + 7] }",
	"each i in y { let s = 0.0\n for j in k[i]..k[i] + 3 { s += x[k[j] + 1] }\n y[i] = s }",
	"v = x[k[0] + n - 3] + (sum i in x { x[k[i] + 1] })",
	"for i in 0..n // (n - 9) { y[i] = 1.0 }",
	"v = x[n - 1] * (sum i in x { x[k[i] + 1] }) - x[k[0] + 1] // 1 * (sum i in x { x[k[i]] })",
	"for i in 0..0 { for j in 0..k[n] { A[i, j] = 1.0 } }",
	"each i, j in 0..0, 0..k[n] { A[i, j] = 1.0 }",
	"each i in y { let t = array[f64](5)\n for j in 0..t.n { t[j] = x[i] * float(j) }\n t[k[i] % 5] -= y[i]\n y[i] = t[0] + t[k[i] % 3] + sum j in t { t[j] } }",
	"each i in y { let t = array[f32](3, fill = x[i])\n t[k[i]] += 0.5\n y[i] = t[2] }",
	"let t = array[i32](9)\n t[0] = int(x[0] * 9.0)\n t[8] = 3\n each i in y { y[i] = float(t[0] + t[i % 9]) + x[i] }\n t[1] = 7\n v = float(sum i in 0..9 { t[i] * t[8 - i] })",
	"let t = array[f64](2)\n for l in 0..3 { t[l % 2] += 0.1\n each i in y { y[i] += t[l % 2] - t[(l + 1) % 2] } }\n v = t[1]",
	"let t = array[u8](4, fill = 200)\n if x[0] > 0.0 { t[k[0]] += 100 }\n each i in u { u[i] = t[i % 4] }\n v = float(t[n])",
	"each i in u { let t = array[i64](4)\n for j in 0..4 { if x[j % x.n] > 0.0 { let w = array[i64](2)\n w[j % 2] = u[i] + j\n t[j] = w[1] - w[0] } }\n u[i] = int(t[3] + t[u[i] % 4]) }",
}
