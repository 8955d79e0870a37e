package analysis_test

import (
	"testing"

	"github.com/starpush/starpush/lang/kernel/analysis"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/kernel/kerneltest"
)

// TestSettled has loops that may end when a condition is false, and loops that must not.
func TestSettled(t *testing.T) {
	for _, tt := range []struct {
		body string
		want bool
	}{
		{"if a < 4.0 { a = a * 2.0 }", true},
		{"if a * a + b * b <= 4.0 { b = a + b\na = 1.5 * b }", true},
		{"let r = a * a\nif r < 4.0 { a = a + 1.0 }", true},
		{"let r = a * a\nlet near = r < 4.0\nif near and n > 2 { a = a + x[t] }", true},
		{"if a < 4.0 { for u in 0..n { a += 1.0 } }", true},
		{"if a < 4.0 { y[t] = a\na += 1.0 }", true},
		{"if a < 4.0 { if b > 1.0 { a += 1.0 } else { b += 1.0 } }", true},
		// other rounds may do something
		{"if a < 4.0 { a = a * 2.0 } else { b = 1.0 }", false},
		{"if a < 4.0 { a = a * 2.0 }\nb += 1.0", false},
		{"b += 1.0\nif a < 4.0 { a = a * 2.0 }", false},
		{"if a < float(t) { a = a * 2.0 }", false},
		{"let r = a + float(t)\nif r < 4.0 { a = a * 2.0 }", false},
		{"let r = x[t]\nif r < a { a = a * 0.5 }", false},
		{"if y[0] < 4.0 { y[0] = y[0] * 2.0 }", false},
		{"if v < 4.0 { v += a }", false},
		{"if (sum k in 0..n { x[k] }) < a { a = a - 1.0 }", false},
		{"if 7 // m > 2 { m = m - 1 }", false}, // a division that may fault
		// the condition is the same in all rounds
		{"if b < 4.0 { a = a * 2.0 }", false},
		{"if a < 4.0 { let c = 1.0\ny[t] = c }", false},
	} {
		src := "codelet c(n: int, x: R vector[f64], y: RW vector[f64], v: RW variable[f64]) {\nlet a = x[0]\nlet b = 0.5\nlet m = n\nfor t in 0..n {\n" + tt.body +
			"\n}\na = a + b + float(m)\nb = a\nm = n\nv = a + b + float(m)\n}\n"
		fn := kerneltest.Lowered(t, src, nil)
		var loop *ir.Stmt
		ir.WalkStmts(fn.Body, func(s *ir.Stmt) {
			if s.Kind == ir.ForStmt && loop == nil {
				loop = s
			}
		})
		if _, _, ok := analysis.Settled(fn, loop); ok != tt.want {
			t.Errorf("Settled is %v for\n%s", ok, tt.body)
		}
	}
}
