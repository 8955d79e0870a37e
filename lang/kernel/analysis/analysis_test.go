package analysis_test

import (
	"strings"
	"testing"

	"github.com/starpush/starpush/lang/kernel/kerneltest"
)

// TestUnusedOperands: operands that a body does not use, and those that it uses in any way, or
// that are declared for another reason.
func TestUnusedOperands(t *testing.T) {
	for _, tt := range []struct{ src, want string }{
		{"codelet c(x: R vector[f64], y: RW vector[f64]) { each i in y { y[i] = 1.0 } }", "x"},
		{"codelet c(x: R vector[f64], y: RW vector[f64]) { v_(x, y) }", ""}, // the error is enough
		{"codelet c(x: RW vector[f64], y: W vector[f64]) { each i in y { y[i] = 1.0 } }", "x"},
		{"codelet c(x: SCRATCH vector[f64], y: W vector[f64]) { each i in y { y[i] = 1.0 } }", "x"},
		{"codelet c(s: R variable[f64], y: W vector[f64], A: R matrix[f32]) { each i in y { y[i] = 1.0 } }", "s A"},
		{"codelet c(x: R vector[f64], y: RW vector[f64]) { each i in y { y[i] = x[i] } }", ""},
		{"codelet c(x: R vector[f64], y: RW vector[f64]) { y[0] = float(x.n) }", ""},
		{"codelet c(x: R vector[f64], y: RW vector[f64]) { let n = x.offset\ny[n] = 1.0 }", ""},
		{"codelet c(x: R vector[f64], y: RW vector[f64]) { each i in x { y[i] = 1.0 } }", ""},
		{"codelet c(x: R vector[f64], y: RW vector[f64]) { for i in 0..x.n { y[i] = 1.0 } }", ""},
		{"codelet c(x: R vector[f64], s: RW variable[f64]) { s = sum i in x { 1.0 } }", ""},
		{"codelet c(x: R vector[f64], s: RW variable[f64]) { if x[0] > 0.0 { s = 1.0 } }", ""},
		{"codelet c(x: RW vector[f64], y: R vector[f64]) { if y[0] > 0.0 { x[0] = 1.0 } }", ""},
		{"codelet c(x: R vector[f64], y: RW vector[f64]) with flops = 2.0 * x.n { each i in y { y[i] = 1.0 } }", ""},
		{"codelet c(x: R vector[f64], y: RW vector[f64]) with name = \"x\" { each i in y { y[i] = 1.0 } }", "x"},

		// intended
		{"codelet c(x: R vector[f64], y: RW vector[f64]) { }", ""},
		{"codelet c(x: RW vector[f64], n: int) { let t = 0\nfor k in 0..n { t += k } }", ""},
		{"codelet c(_x: R vector[f64], y: RW vector[f64]) { each i in y { y[i] = 1.0 } }", ""},
		{"codelet c(x: RW void, y: RW vector[f64]) { each i in y { y[i] = 1.0 } }", ""},
		{"extern codelet c(x: R vector[f64], y: RW vector[f64])", ""},

		// a type parameter that a scalar needs, and one that no other operand has
		{"codelet c(x: R vector[T], a: T, s: W variable[f64]) { s = float(a) }", ""},
		{"codelet c(x: R vector[T], y: RW vector[T], a: T) { each i in y { y[i] = a } }", "x"},
		{"codelet c(x: R vector[T], s: W variable[f64]) { s = 1.0 }", "x"},
	} {
		var got []string
		for _, d := range kerneltest.Check(t, tt.src+"\n") {
			if d.Code != "W0608" {
				continue
			}
			got = append(got, d.Span.Text())
			if len(d.Help) != 2 || len(d.Fixes) != 1 {
				t.Errorf("%s: %+v", tt.src, d)
			}
		}
		if got := strings.Join(got, " "); got != tt.want {
			t.Errorf("%s\n got  %s\n want %s", tt.src, got, tt.want)
		}
	}
}

// TestUnusedPassedByName: there is no edit that renames an operand that an insert passes by name.
func TestUnusedPassedByName(t *testing.T) {
	const src = "codelet c(x: R vector[f64], y: RW vector[f64]) { each i in y { y[i] = 1.0 } }\nregister a, b = vector[f64](4, fill = 0)\n"
	for insert, fixes := range map[string]int{"insert c(R a, RW b)\n": 1, "insert c(y = RW b, x = R a)\n": 0} {
		if ds := kerneltest.Check(t, src+insert); len(ds) != 1 || len(ds[0].Fixes) != fixes {
			t.Errorf("%s: %+v", insert, ds)
		}
	}
}
