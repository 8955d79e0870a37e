package lang_test

// Costs of the interpreter: loop rounds, calls, inserts.

import (
	"context"
	"io"
	"testing"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
)

// benchCall runs fn(n) of a script; n is what the benchmark counts.
func benchCall(b *testing.B, src, fn string, o engine.Options) {
	nop := lang.Must(lang.NewCodelet("nop(v: RW void)", lang.CPU(func(*lang.Task) error { return nil })))
	nop3 := lang.Must(lang.NewCodelet("nop3(a: R variable[f64], b: R variable[f64], c: RW variable[f64], x: f64)", lang.CPU(func(*lang.Task) error { return nil })))
	p := compile(b, lang.Config{Codelets: []*lang.Codelet{nop, nop3}}, src)
	rt := newRuntime(b, o)
	inst, err := p.Run(context.Background(), rt, lang.Stdout(io.Discard))
	if err != nil {
		b.Fatal(err)
	}
	defer inst.Close()
	b.ReportAllocs()
	b.ResetTimer()
	if _, err := inst.Call(context.Background(), fn, b.N); err != nil {
		b.Fatal(err)
	}
	if err := inst.Wait(context.Background()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkAddLoop is one round of for i in 0..n { s += i }; starlark-go: 63 ns.
func BenchmarkAddLoop(b *testing.B) {
	benchCall(b, "func f(n: int) -> int {\n    let s = 0\n    for i in 0..n { s += i }\n    return s\n}\n", "f", engine.Options{Workers: 1})
}

// BenchmarkFib is one call of fib; starlark-go: 217 ns.
func BenchmarkFib(b *testing.B) {
	src := `
func fib(n: int) -> int {
    if n < 2 { return n }
    return fib(n - 1) + fib(n - 2)
}
func f(n: int) -> int {
    let k = 0
    while k < n {
        fib(15)
        k += 1973
    }
    return k
}
`
	benchCall(b, src, "f", engine.Options{Workers: 1})
}

// BenchmarkFloatLoop is one round of mixed arithmetic on a list.
func BenchmarkFloatLoop(b *testing.B) {
	benchCall(b, "func f(n: int) -> float {\n    let a = [0.5 * k for k in 0..64]\n    let s = 0.0\n    for i in 0..n {\n        if i % 2 == 0 { s += a[i % 64] * 2.0 } else { s = s - 1.0 }\n    }\n    return s\n}\n", "f", engine.Options{Workers: 1})
}

// BenchmarkInsertVoid is one insert of an independent task without data to move.
func BenchmarkInsertVoid(b *testing.B) {
	benchCall(b, "register x = void()\nfunc f(n: int) { for i in 0..n { insert nop(RW x) } }\n", "f", engine.Options{Workers: 1})
}

// BenchmarkInsertThree is one insert with three handles from views and a scalar.
func BenchmarkInsertThree(b *testing.B) {
	benchCall(b, `
register v = vector[f64](64, fill = 0.0)
partition p = v by pick(0)
func f(n: int) { for i in 0..n { insert nop3(R p[i % 64], R p[(i + 7) % 64], RW p[(i + 31) % 64], 2.0) } }
`, "f", engine.Options{Workers: 1})
}

// BenchmarkInsertRandom is one insert with handles from a list by computed indices.
func BenchmarkInsertRandom(b *testing.B) {
	benchCall(b, `
codelet rrw(a: R vector[f32], b: R vector[f32], c: RW vector[f32]) { }
register v = [vector[f32](16, fill = 0) for i in 0..1024]
func f(n: int) {
    let x = [(i * 7919) % 1024 for i in 0..3072]
    for i in 0..n {
        let k = 3 * (i % 1024)
        insert rrw(R v[x[k]], R v[x[k + 1]], RW v[(x[k + 2] + 1) % 1024])
    }
}
`, "f", engine.Options{Workers: 1})
}
