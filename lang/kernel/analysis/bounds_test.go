package analysis_test

import (
	"slices"
	"testing"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel/kerneltest"
)

// TestBoundsRemedies: the edit of a diagnostic, which leaves a body without an error.
func TestBoundsRemedies(t *testing.T) {
	const head = "codelet c(n: int, x: R vector[f64], y: W vector[f64], A: RW matrix[f64], v: RW variable[f64]) {\n"
	for _, tt := range []struct{ body, help, want string }{
		{"for i in 1..=x.n { v += x[i] }", "indices count from 0: write `for i in 0..x.n`", "for i in 0..x.n { v += x[i] }"},
		{"for i in 1..y.n + 1 { y[i] = 0 }", "indices count from 0: write `for i in 0..y.n`", "for i in 0..y.n { y[i] = 0 }"},
		{"for i in 1..=x.n { v += x[i] - x[i - 1] }", "write `for i in 1..x.n`", "for i in 1..x.n { v += x[i] - x[i - 1] }"},
		{"each i in 0..=y.n { y[i] = 0 }", "write `each i in 0..y.n`", "each i in 0..y.n { y[i] = 0 }"},
		{"for i in 0..y.n { y[i + 1] = 0 }", "write `for i in 0..y.n - 1`", "for i in 0..y.n - 1 { y[i + 1] = 0 }"},
		{"for i in 0..y.n { y[i - 1] = 0 }", "write `for i in 1..y.n`", "for i in 1..y.n { y[i - 1] = 0 }"},
		{"each i, j in 0..A.rows, 1..=A.cols { A[i, j] = 0 }", "indices count from 0: write `each i, j in 0..A.rows, 0..A.cols`",
			"each i, j in 0..A.rows, 0..A.cols { A[i, j] = 0 }"},
		{"v = sum i in 1..=x.n { x[i] }", "indices count from 0: write `sum i in 0..x.n`", "v = sum i in 0..x.n { x[i] }"},
		{"for i in x.n - 4..x.n { v += x[i + 1] }", "write `for i in x.n - 4..x.n - 1`, or clamp: `x[min(i + 1, x.n - 1)]`", "for i in x.n - 4..x.n { v += x[min(i + 1, x.n - 1)] }"},
	} {
		src := head + tt.body + "\n}\n"
		ds := slices.DeleteFunc(kerneltest.Check(t, src), func(d diag.Diagnostic) bool { return d.Code == "W0608" })
		if len(ds) != 1 || len(ds[0].Help) != 1 || len(ds[0].Fixes) != 1 {
			t.Errorf("%s: %v", tt.body, ds)
			continue
		}
		if ds[0].Help[0] != tt.help {
			t.Errorf("%s\n got  %s\n want %s", tt.body, ds[0].Help[0], tt.help)
		}
		edit := ds[0].Fixes[0]
		right := src[:edit.Span.Start.Offset] + edit.NewText + src[edit.Span.End.Offset:]
		if right != head+tt.want+"\n}\n" {
			t.Errorf("%s becomes\n%s", tt.body, right)
		}
		if ds := kerneltest.Check(t, right); ds.Err() != nil {
			t.Errorf("%s: %v", tt.want, ds)
		}
	}
}
