package tests

import (
	"strings"
	"testing"
)

// TestBodiesOnDevices: codelets written in the language run on OpenCL devices, and
// where a device cannot say whether an index is outside, on CPU workers, with the
// message that they have there.
func TestBodiesOnDevices(t *testing.T) {
	const codelets = `codelet scale(x: R vector[T], y: W vector[T]) { each i in y { y[i] = 2 * x[i] } }
codelet shift(x: R vector[f64], y: W vector[f64]) { each i in y { y[i] = if i > 0 then x[i - 1] else 0.0 } }
codelet total(x: R vector[f64], s: RW variable[f64], n: int) { s += sum i in 0..n { x[i] } }
codelet run(x: RW vector[f64]) { for i in 1..x.n { x[i] += x[i - 1] } }
register x = vector[f64](1000, fill = 1.0)
register y = vector[f64](1000)
register s = variable[f64](reduce = sum)
`
	for _, c := range []struct{ name, text, want, diag string }{
		{"there", "insert scale(R x, W y) with where = opencl\nprint(y)", "min 2.0  max 2.0", ""},
		{"f32", "register a, b = vector[f32](70, fill = 1.5)\ninsert scale(R a, W b) with where = opencl\nprint(b)", "min 3.0  max 3.0", ""},
		{"integers", "register a, b = vector[u8](70, fill = 200)\ninsert scale(R a, W b) with where = opencl\nprint(b)", "min 144  max 144", ""},
		{"contribution", "for k in 0..4 { insert total(R x, REDUX s, 250 * k) with where = opencl }\nprint(value(s))", "1500.0\n", ""},
		{"parts", "partition x, y by blocks(7)\nfor b in 0..7 { insert scale(R x[b], W y[b]) with where = opencl }\nunpartition y\nprint(y)", "min 2.0  max 2.0", ""},
		{"block", "codelet twice(u: R block[f64], v: W block[f64]) { each i, j, k in v { v[i, j, k] = 2.0 * u[i, j, k] + float(v.y0) } }\nregister u, v = block[f64](6, 5, 4, fill = 1.0)\npartition u, v by axis(1, 2)\nfor b in 0..2 { insert twice(R u[b], W v[b]) with where = opencl }\nunpartition v\nacquire R v as vs { print(vs[0, 0, 0], vs[5, 4, 3]) }", "2.0 5.0", ""},
		{"tensor", "codelet twice(u: R tensor[f64], v: W tensor[f64]) { each i, j, k, l in v { v[i, j, k, l] = 2.0 * u[i, j, k, l] + float(v.offset3 + v.n2) } }\ncodelet total4(u: R tensor[f64], s: RW variable[f64]) { s += sum i, j, k, l in u { u[i, j, k, l] } }\nregister u, v = tensor[f64](3, 2, 4, 5, fill = 1.0)\npartition u, v by axis(3, 2)\nfor b in 0..2 { insert twice(R u[b], W v[b]) with where = opencl }\nfor b in 0..2 { insert total4(R v[b], REDUX s) with where = opencl }\nunpartition v\nacquire R v as vs { print(vs[0, 1, 3, 0], vs[2, 1, 3, 4], value(s)) }", "6.0 9.0 864.0", ""},
		{"elsewhere", "insert shift(R x, W y)\nprint(y)", "0.0 1.0 1.0", ""},
		{"nowhere else", "insert shift(R x, W y) with where = opencl\nprint(y)", "", "an index in the body of shift may be out of bounds, which only a CPU worker can report"},
		{"outside, contributed", "insert total(R x, REDUX s, 1001)\nprint(value(s))", "", "element 1000 is outside `x`, which has 1000 elements"},
		{"in order", "insert run(RW x) with where = opencl", "", "kernels for devices are not made of its body: the rounds of a `for` depend on each other"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := program{dir: t.TempDir(), name: "bodies.spu", source: codelets + c.text + "\n"}
			got := p.run(t, mode{machine: "opencl", policy: "eager", workers: 1})
			if !strings.Contains(got.stdout, c.want) || got.failed != (c.diag != "") || !strings.Contains(got.diags, c.diag) {
				t.Errorf("printed %q\n%s\nwant %q and %q", got.stdout, got.diags, c.want, c.diag)
			}
		})
	}
}
