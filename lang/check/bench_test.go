package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
)

// longScript is a script of about n statements, with the things that a walk
// over paths could be slow on: many names, branches, loops, calls, views.
func longScript(n int) string {
	var b strings.Builder
	b.WriteString("codelet f(x: R vector[f64], y: RW vector[f64]) { each i in y { y[i] += x[i] } }\n")
	b.WriteString("codelet w(x: W vector[f64]) { each i in x { x[i] = 1.0 } }\n")
	b.WriteString("param n: int = 4\nregister g = vector[f64](8, fill = 0)\nfunc touch(v: vector[f64]) { insert f(R g, RW v) }\n")
	for i := 0; i*10 < n; i++ {
		fmt.Fprintf(&b, "register x%d, y%d = vector[f64](8)\n", i, i)
		fmt.Fprintf(&b, "partition x%d, y%d by blocks(2)\n", i, i)
		fmt.Fprintf(&b, "for i in 0..n {\n    insert w(W x%d[i])\n    if i %% 2 == 0 { insert w(W y%d[i]) } else { insert w(W y%d[0]) }\n}\n", i, i, i)
		fmt.Fprintf(&b, "let t%d = insert f(R x%d, RW y%d) with priority = %d\n", i, i, i, i)
		fmt.Fprintf(&b, "if n > %d { wait t%d } else { touch(y%d) }\n", i, i, i)
		fmt.Fprintf(&b, "acquire R x%d as a%d {\n    print(a%d[0], x%d)\n}\n", i, i, i, i)
	}
	return b.String()
}

func BenchmarkCheck(b *testing.B) {
	text := longScript(100_000)
	src := diag.NewSource("long.spu", text)
	f, ds := syntax.Parse(src)
	if ds.Err() != nil {
		b.Fatal(ds)
	}
	n := 0
	for _, s := range f.Stmts {
		walkNested(s, func(syntax.Stmt) { n++ })
	}
	b.ResetTimer()
	for b.Loop() {
		if _, ds := Check(nil, src); len(ds) > 0 {
			b.Fatal(ds)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "stmts/s")
}
