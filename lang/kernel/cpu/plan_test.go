package cpu

import (
	"fmt"
	"strings"
	"testing"

	"github.com/starpush/starpush/lang/kernel/kerneltest"
)

// TestSlowLoops: loops that have to run one round at a time have a reason, and others are left
// out.
func TestSlowLoops(t *testing.T) {
	for _, tt := range []struct{ body, want string }{
		{"for i in 0..x.n { y[i] = 2.0 * x[i] }", ""},
		{"each i in y { y[i] = 2.0 * x[i] }", ""},
		{"for i in 0..x.n { v += x[i] }", ""},
		{"let s = 0.0; for i in 0..x.n { s += x[i] }; v = s", ""},
		{"for i in 1..8 { y[i] = y[i - 1] }", ""},          // few rounds
		{"for i in 1..y.n { y[i] = y[i - 1] + x[i] }", ""}, // one loop applies the operations in order
		{"let s = 0.3; for i in 0..n { s = 3.7 * s * (1.0 - s) }; v = s", "`s` is carried from one round to the next"},
		{"for i in 0..k.n { y[k[i]] += x[i] }", ""}, // one loop applies the operations in order
		{"for i in 1..9 { for j in 1..n { A[i, j] = A[i - 1, j] + A[i, j - 1] } }", ""},
		{"for i in 1..9 { for j in 1..n { A[i, j] = A[i - 1, j] + sqrt(A[i, j - 1]) } }", "a round may use elements of `A` that another round writes"},
		{"for i in 2..y.n { y[i] = y[i - 1] + y[i - 2] }", "a round may use elements of `y` that another round writes"},
		{"for i in 0..k.n { y[k[i]] = y[i] }", "a round may use elements of `y` that another round writes"},
		{"for i in 1..9 { for j in 1..n { A[i, j] = A[i - 1, j] } }", ""}, // the inner one runs in strips
		{"for i in 1..y.n { if x[i] > 0.0 { y[i] = y[i - 1] } }", "a round may use elements of `y` that another round writes"},
		{"if n > 3 { for i in 1..y.n { y[i] = abs(y[i - 1]) } }", "a round may use elements of `y` that another round writes"},
		{"for i in 0..n { y[i] = x[k[i]] + x[k[n - 1 - i]] }", "`x[k[i]]` may be out of bounds"},
		{"for i in 0..k.n { y[i] = float(7 // k[i] + 9 // (k[i] + 1)) }", "the divisor `k[i]` may be 0"},
		{"for i in 0..n { y[i] = x[i] }; for i in 1..y.n { y[i] = abs(y[i - 1]) }", "a round may use elements of `y` that another round writes"},
		{"for i in 1..y.n { y[i] = y[i - 1] + sum j in 0..3 { x[j] } }", "a round may use elements of `y` that another round writes"},
		{"for i in 1..y.n { y[i] = y[i - 1]; for j in 0..3 { y[i] += x[j] } }", "a round may use elements of `y` that another round writes"},
		{"for i in 1..y.n { y[i] = y[i - 1] + sum j in x { x[j] } }", ""}, // most of it in strips
		{"for i in 1..y.n { y[i] = y[i - 1]; for j in 0..n { A[i, j] = 0.0 } }", ""},
		{"for i in 0..n { each j in 0..3 { A[j, i] = 0.0 } }", "each of its rounds is an `each` with few rounds"},
		{"for i in 0..n { for j in 0..3 { A[j, i] = 0.0 } }", ""},
		{"for i in 0..y.n { let s = 0.0; for j in k[i]..k[i + 1] { s += x[j] }; y[i] = s }", ""},
		{"for i in 0..y.n { let s = 0.0; for j in k[i]..k[i + 1] { s = x[j] - s * 0.5 }; y[i] = s }", "`s` is carried from one round to the next"},
	} {
		p := compileOne(t, fmt.Sprintf(kerneltest.LoopCodelet, tt.body), nil)
		var got []string
		for _, l := range p.SlowLoops() {
			got = append(got, l.Why)
			if l.Help == "" || l.Span.Start.Line != 2 {
				t.Errorf("%s: at %v, help %q", tt.body, l.Span, l.Help)
			}
		}
		if text := strings.Join(got, "; "); text != tt.want {
			t.Errorf("%s: got %q, want %q", tt.body, text, tt.want)
		}
	}
}
