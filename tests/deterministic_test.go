package tests

import (
	"testing"
)

// orders are programs whose result depends on the order in which COMMUTE and
// REDUX uses happen to run, or on which contribution meets which copy.
var orders = map[string]string{
	"redux of a variable": `
param n: int = 60
codelet add(x: RW variable[f64], v: f64) { x += v }
register x = variable[f64](fill = 0.1, reduce = sum)
for i in 0..n { insert add(REDUX x, (float(i) - 30.5) * 10.0 ** float((i * 37) % 41 - 20)) }
print(value(x))
for i in 0..n { insert add(REDUX x, 1.0 / (3.0 + float(i))) }
print(value(x))
`,
	"redux of parts and the whole": `
codelet add(x: RW vector[f32], v: f32) { each i in x { x[i] += v / float(i + 3) } }
codelet mul(x: RW vector[f32], v: f32) { each i in x { x[i] *= v } }
register x = vector[f32](24, fill = 1.0, reduce = sum)
register p = vector[f32](24, fill = 1.0, reduce = prod)
partition x, p by blocks(3)
for i in 0..40 {
    insert add(REDUX x, 10.0 ** float((i * 7) % 23 - 11))
    insert add(REDUX x[i % 3], 1.0 / float(i + 1))
    insert mul(REDUX p[i % 3], 1.0 + 1.0 / float(i + 7))
    if i % 11 == 10 { insert mul(RW x, 0.7) }
}
acquire R x as xs, R p as ps {
    print(xs[0..24])
    print(ps[0..24])
}
`,
	"commute": `
codelet step(x: RW vector[f64], v: f64) { each i in x { x[i] = x[i] / 3.0 + v } }
register x = vector[f64](8, fill = 1.0)
partition x by blocks(2)
for i in 0..50 {
    insert step(COMMUTE x, float(i))
    insert step(COMMUTE x[i % 2], 1.0 / float(i + 1))
}
acquire R x as xs { print(xs[0..8]) }
`,
	"a reducer of the script": `
codelet zero(x: W variable[f64]) { x = 0.0 }
codelet mix(into: RW variable[f64], from: R variable[f64]) { into = into / 2.0 + from }
codelet add(x: RW variable[f64], v: f64) { x += v }
register x = variable[f64](reduce = reducer(init = zero, combine = mix))
for i in 0..37 { insert add(REDUX x, float(i)) with priority = i % 5 }
print(value(x))
`,
	"standard modules": `
import "std/blas" as blas
import "std/random" as random
import "std/reduce" as reduce
register x = vector[f32](4096)
register d, s = variable[f32](reduce = sum)
partition x by blocks(64)
for i in 0..64 { insert random.normal(W x[i], 7, 0.0, 1000.0) }
for i in 0..64 {
    insert blas.dot(R x[i], R x[i], REDUX d)
    insert reduce.sum(R x[i], REDUX s)
    insert blas.scal(1.0 / 3.0, COMMUTE x[i])
    insert blas.axpy(0.5, R x[(i + 1) % 64], COMMUTE x[i])
}
print(value(d), value(s))
`,
}

// TestDeterministic runs the programs with lang.Deterministic: the same bits for
// every number of workers, policy and run, and for the sequential run.
func TestDeterministic(t *testing.T) {
	for name, src := range orders {
		t.Run(name, func(t *testing.T) {
			p := program{name: "order.spu", source: src, dir: t.TempDir()}
			want := p.run(t, mode{sequential: true, deterministic: true})
			if want.failed {
				t.Fatal(want.diags)
			}
			for _, m := range allModes(1, 2, 3, 4, 8) {
				m.deterministic = true
				for range 2 {
					if got := p.run(t, m); got != want {
						t.Fatalf("%v gives\n%s%s\nand the sequential run\n%s", m, got.stdout, got.diags, want.stdout)
					}
				}
			}
		})
	}
}
