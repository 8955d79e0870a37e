package cpu

// Loops with `for`, which have the same bits and the same fault in strips and one round at a
// time.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/analysis"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/kernel/kerneltest"
)

// runFor runs p and returns the values that it computed, or its fault.
func runFor(t *testing.T, p *Program, n int) ([]float64, string) {
	t.Helper()
	list, read := kerneltest.LoopData(n)
	err := p.Run(context.Background(), list, []iface.Scalar{iface.Int(int64(n))})
	var f *Fault
	if errors.As(err, &f) {
		return nil, lineCol(f) + " " + f.Error()
	} else if err != nil {
		t.Fatal(err)
	}
	return read(), ""
}

// fors returns the number of loops of a body that run in strips, and of all loops.
func fors(fn *ir.Func, how plan) (in, all int) {
	c := &compiler{fn: fn, plan: how}
	var walk func(list []*ir.Stmt)
	walk = func(list []*ir.Stmt) {
		for _, s := range list {
			if s.Kind == ir.ForStmt {
				all++
				if c.planFor(s).strip != nil {
					in++
					continue
				}
			}
			walk(s.Body)
			walk(s.Else)
		}
	}
	walk(fn.Body)
	return in, all
}

func TestFor(t *testing.T) {
	const strips, rounds = true, false
	for _, tt := range []struct {
		body string
		want bool // some loop may run in strips
	}{
		{"for i in 0..n { y[i] = x[i] * 3 }", strips},
		{"for i in 0..n { let a = x[i] * x[i]\n let b = a + y[i]\n y[i] = b - a / 3 }", strips},
		{"let s = 0.1\n for i in 0..n { s += x[i] * y[i] }\n v = s", strips},
		{"let s = 0.1\n for i in 0..n { s = s - x[i] }\n v = s", strips},
		{"let s = 1.1\n for i in 0..n { s = max(x[i], s) }\n for i in 0..n { s *= 1 + x[i] / 9 }\n v = min(s, v)", strips},
		{"let s = 0.1\n for i in 0..n { if x[i] > 0 { s += x[i] } else { y[i] = 1 } }\n v += s", strips},
		{"for i in 0..n { v += x[i] / 7 }", strips},
		{"for i in 0..n { y[0] += x[i] / 7 }", strips},
		{"for i in 0..n { y[0] += x[i] / 7\n y[n - 1] -= x[i] / 3 }", rounds}, // one element where n is 1
		{"for i in 0..n { A[0, 0] += x[i] / 7\n A[1, 0] = max(A[1, 0], x[i] / 3) }", strips},
		{"for i in 0..n { u[i] += 3\n v += 1 }", strips},
		{"let s = 0\n for i in 0..n { s += int(u[i]) * i }\n v = float(s)", strips},
		{"for r in 0..9 { for j in 0..n { A[r, j] = A[r, j] + B[j, r] } }", strips},
		{"for r in 0..9 { for j in 0..n { let s = 0.0\n for k in 0..9 { s += B[j, k] * B[0, k] }\n A[r, j] += s } }", strips},
		{"for r in 0..9 { for k in 0..9 { for j in 0..n { A[r, j] += B[0, k] * x[j] } } }", strips},
		{"for r in 0..8 { for j in r + 1..n { A[r, j] = A[r, j] - A[r, r] * A[8, j] } }", strips},
		{"for r in 1..9 { for j in 0..n { A[r, j] = A[r - 1, j] / 3 + A[r, j] } }", strips},
		{"for i in 0..n { y[i] = if i > 0 and i < n - 1 then x[i - 1] + x[i + 1] else 0 }", strips},
		{"for i in 0..n { if i > 0 { y[i] = x[i - 1] } }", strips},
		{"for i in 0..n { y[n - 1 - i] = x[i] + y[n - 1 - i] }", strips},
		{"for i in 0..n // 2 { y[2 * i] = y[2 * i + 1] * 3 }", strips},
		{"let m = n // 2\n for i in 0..m { y[i] = y[0] + x[i] }", rounds},
		{"for i in 1..n { y[i] = y[0] + x[i] }", strips},
		{"for i in 0..n { y[i] = x[k[i]] + 1 }", strips},
		{"let s = 0.1\n for i in 0..n { s += x[k[i]] * 3 }\n v = s", strips},
		{"for i in 0..n { for j in 0..4 { y[i] = y[i] / 3 + A[2 * j, i] } }", strips},
		{"for i in 0..n { for j in 0..4 { y[i] = y[i] / 3 + x[j % n] } }", rounds}, // n might be 0, in each of the inner rounds
		{"for i in 0..n { for j in 0..4 { y[i] = y[i] / 3 + x[j] } }", strips},
		{"for i in 0..n { let s = x[i]\n for j in 0..5 { if s > 0 { s = s / 2 - 0.1 } else { s += 0.3 } }\n y[i] = s }", strips},
		{"for i in 0..n { y[i] = min j in 0..9 { A[j, i] } }", strips},
		{"for i in 0..n { y[k[i]] = x[i] }", rounds},
		{"for i in 0..n { y[k[i]] += x[i] }", rounds},
		{"for i in 1..n { y[i] = y[i - 1] * 0.9 + x[i] }", rounds},
		{"for i in 0..n - 1 { y[i] = y[i + 1] }", rounds},
		{"for i in 0..n { y[i // 2] += x[i] }", rounds},
		{"for i in 0..n { y[0] = x[i] }", rounds},
		{"for i in 0..n { v = v * 0.5 + x[i] }", rounds},
		{"let s = 0.1\n for i in 0..n { s += x[i]\n y[i] = s }", rounds},
		{"let s = 0.1\n for i in 0..n { s += x[i]\n s += y[i] }\n v = s", rounds},
		{"let s = 0.1\n for i in 0..n { s = s * x[i] + 1 }\n v = s", rounds},
		{"let s = 0.1\n for i in 0..n { for j in 0..3 { s = 1 / (s + x[i]) } }\n v = s", rounds},
		{"for i in 0..n { y[i] = 0\n y[(i + 1) % n] = 1 }", rounds},
		{"for i in 0..n { y[i] = v\n v += 1 }", rounds},
		{"for i in 0..n { y[i] = x[k[k[i]]] }", rounds}, // two operations that may fault
	} {
		p := compileOne(t, fmt.Sprintf(kerneltest.LoopCodelet, tt.body), nil)
		if in, all := fors(p.fn, alwaysLast); in > 0 != tt.want {
			t.Errorf("%s\n %d of %d loops may run in strips", tt.body, in, all)
		}
		slow := compile(p.fn, oneByOne)
		for name, p := range map[string]*Program{"cheapest": p, "strips": compile(p.fn, alwaysLast)} {
			for _, n := range []int{1, 2, 7, 8, 9, 100, 511, 512, 513, 1300} {
				want, wantFault := runFor(t, slow, n)
				got, fault := runFor(t, p, n)
				if fault != wantFault {
					t.Fatalf("%s\n%s, n = %d: %q, want %q", tt.body, name, n, fault, wantFault)
				}
				for k := range want {
					if math.Float64bits(got[k]) != math.Float64bits(want[k]) {
						t.Fatalf("%s\n%s, n = %d: value %d is %v, want %v", tt.body, name, n, k, got[k], want[k])
					}
				}
			}
		}
	}
}

// TestForSums: sums of floats inside a `for` have the order of a round that runs alone.
func TestForSums(t *testing.T) {
	p := compileOne(t, fmt.Sprintf(kerneltest.LoopCodelet, "for i in 0..n { y[i] = sum j in 0..9 { A[j, i] / 7 } }"), nil)
	if in, _ := fors(p.fn, alwaysLast); in != 0 {
		t.Error("a loop with a sum of floats runs in strips")
	}
}

// TestForFaults: the fault is that of the first operation that faults in the first round that
// does, in every plan.
func TestForFaults(t *testing.T) {
	for _, tt := range []struct{ body, want string }{
		{"for i in 0..n { let a = x[i + 3]\n y[i + 5] = a }", "3:2 element 1000 is outside `y`, which has 1000 elements"},
		{"for i in 0..n { y[i] = x[i + 5]\n v += x[i + 9] }", "3:7 element 1000 is outside `x`, which has 1000 elements"},
		{"for i in 0..n { if i > 990 { y[i] = x[i + 5] }\n v += x[min(i, 20) * 50] }", "3:7 element 1000 is outside `x`, which has 1000 elements"},
		{"for i in 0..n { for j in 0..9 { A[j + i // 900, i] = 1\n v += x[i + j] } }", "2:33 row 9 is outside `A`, which has 9 rows"},
		{"for i in 0..n { for j in 0..9 { y[i] += x[i + j] } }", "2:41 element 1000 is outside `x`, which has 1000 elements"},
		{"for i in 0..n { y[i] = float(100 // (i - 700)) + x[i + 400] }", "2:50 element 1000 is outside `x`, which has 1000 elements"},
		{"for i in 0..n { y[i] = float(100 // (i - 200)) + x[i + 400] }", "2:30 integer division by zero in `100 // (i - 200)`"},
		{"for i in 0..n { v += x[k[i] + 30]\n y[i - min(n, 1)] = 0 }", "3:2 element -1 is outside `y`, which has 1000 elements"},
		{"for i in 0..n { for j in 0..20 { y[i] += x[k[i] + 3 * j] } }", "2:42 element 1002 is outside `x`, which has 1000 elements"},
		// i * 36099303471055875 is 509 for the last round of the first strip, and wraps in between
		{"for i in 0..n { v += x[k[i] + 3]\n y[i] = x[i * 36099303471055875] }", "3:9 element 36099303471055875 is outside `x`, which has 1000 elements"},
		{"for i in 0..n { v += x[k[i] + 30] }", "2:22 element 1006 is outside `x`, which has 1000 elements"},
	} {
		p := compileOne(t, fmt.Sprintf(kerneltest.LoopCodelet, tt.body), nil)
		for name, p := range map[string]*Program{"cheapest": p, "strips": compile(p.fn, alwaysLast), "one by one": compile(p.fn, oneByOne)} {
			if _, fault := runFor(t, p, 1000); fault != tt.want {
				t.Errorf("%s, %s\n got  %s\n want %s", tt.body, name, fault, tt.want)
			}
		}
	}
}

// TestForLarge: locals that are twice the previous one, and many elements of one operand,
// compile in time that does not grow with a square or a power of their number.
func TestForLarge(t *testing.T) {
	for _, loop := range []string{"for", "each"} {
		var b strings.Builder
		fmt.Fprintf(&b, "%s i in 0..n { let a0 = i\n", loop)
		for k := range 40 {
			fmt.Fprintf(&b, "let a%d = a%d + a%d\n", k+1, k, k)
		}
		for k := range 200 {
			fmt.Fprintf(&b, "y[i] += x[a40 - %d]\n", k)
		}
		p := compileOne(t, fmt.Sprintf(kerneltest.LoopCodelet, b.String()+"}"), nil)
		if want, _ := analysis.WholeBody(p.fn).AllDemands(p.fn.Body); want != nil {
			t.Error("a value of 2^40 nodes has demands")
		}
		if _, fault := runFor(t, p, 1000); !strings.Contains(fault, "is outside `x`") {
			t.Error(fault)
		}
	}
}
