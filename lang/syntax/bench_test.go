package syntax_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
)

// longScript is a script of n statements of the kinds that long scripts have.
func longScript(n int) string {
	var b strings.Builder
	for i := 0; i < n; i += 5 {
		fmt.Fprintf(&b, "let a%d = %d + 2 * (3 - %d)\n", i, i, i)
		fmt.Fprintf(&b, "insert scal(RW x[%d], 2.5)\n", i)
		fmt.Fprintf(&b, "insert blas.gemm(R At[i, k], R Bt[k, j], RW Ct[i, j]) with priority = nt - %d\n", i)
		fmt.Fprintf(&b, "for i in 0..%d { insert f(W y[i]) }\n", i)
	}
	return b.String()
}

// BenchmarkParse prints the statements parsed per second.
func BenchmarkParse(b *testing.B) {
	const n = 10000
	src := diag.NewSource("long.spu", longScript(n))
	b.ReportAllocs()
	for b.Loop() {
		if _, ds := syntax.Parse(src); len(ds) > 0 {
			b.Fatal(ds)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "stmts/s")
}
