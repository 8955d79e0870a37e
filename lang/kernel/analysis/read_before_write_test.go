package analysis_test

import (
	"strings"
	"testing"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel/kerneltest"
)

// TestReadBeforeWrite: W and SCRATCH operands that are certain to be read before they are
// written, and bodies that only look like it.
func TestReadBeforeWrite(t *testing.T) {
	for _, tt := range []struct{ body, want string }{
		{"each i in y { y[i] += 1.0 }", "y 2:15"},
		{"each i in y { y[i] = 2.0 * y[i] }", "y 2:28"},
		{"each i in y { let old = y[i]\ny[i] = old + x[i] }", "y 2:25"},
		{"each i in 1..y.n { y[i] = x[i] + y[i - 1] }", "E0602"},
		{"for i in 1..y.n { y[i] = x[i] + y[i - 1] }", "y 2:33"},
		{"v += sum i in x { x[i] }", "v 2:1"},
		{"v = max(v, max i in x { x[i] })", "v 2:9"},
		{"v = sum i in y { y[i] }\neach i in y { y[i] = 0.0 }", "y 2:18"},
		{"each i, j in A { for k in 0..x.n { A[i, j] += x[k] } }", "A 2:36"},
		{"each i, j in A { for k in 0..n { A[i, j] += x[k] } }", "A 2:34"},
		{"for t in 0..n { each i in y { y[i] += x[i] } }", "y 2:31"},
		{"for i in 0..y.n { for k in 0..x.n { y[i] += x[k] }\ny[i] *= 2.0 }", "y 2:37"},
		{"each i in y { if x[i] > 0.0 { y[i] += x[i] } }", "y 2:31"},
		{"each i in y { if y[i] > 0.0 { y[i] = x[i] } }", "y 2:18"},
		{"each i in y { y[i] = if y[i] > 0.0 then x[i] else 0.0 }", "y 2:25"},
		{"if n > 0 { v = x[0] * v }", "v 2:23"},
		{"if n > 0 { let q = y[0]\nv = q }\neach i in y { y[i] *= 2.0 }", "y 4:15"},
		// an element was written before, or may have been
		{"each i in y { y[i] = 0.0 }\neach i in y { y[i] += x[i] }", ""},
		{"y[0] = x[0]\nfor i in 1..y.n { y[i] = x[i] + y[i - 1] }", ""},
		{"v = 0.0\nfor i in x { v += x[i] }", ""},
		{"if n > 0 { v = 0.0 } else { v = 1.0 }\nv += x[0]", ""},
		{"if n > 0 { v = 0.0 }\nv += x[0]", ""},
		{"for i in 0..y.n { if i == 0 { y[i] = x[i] } else { y[i] = y[i - 1] } }", ""},
		{"for i in 0..y.n { if i > 0 { y[i] = y[i - 1] } else { y[i] = x[i] } }", ""},
		{"for i in 0..y.n { y[i] = if i > 0 then y[i - 1] else x[i] }", ""},
		{"for i in 0..y.n { y[i] = if i > 0 and y[i - 1] > 0.0 then 1.0 else x[i] }", ""},
		{"for k in 0..n { if k == 0 { v = 0.0 }\nv += x[k] }", ""},
		{"for i in 0..y.n { let s = x[i]\nfor j in 0..i { s -= y[j] }\ny[i] = s }", ""},
		{"for i in 0..y.n { y[i] = x[i] - sum j in 0..i { y[j] } }", ""},
		{"for i in 0..y.n { y[i] = x[i] - sum j in 0..min(i, 3) { y[i - 1 - j] } }", ""},
		{"let s = 0.0\nfor k in 0..n { s += y[k] }\neach i in y { y[i] = s }", ""},
		// no reads of elements
		{"each i in y { y[i] = float(y.n) }", ""},
		{"each i in y { y[i] = float(i + y.offset) }", ""},
	} {
		tt.body = strings.ReplaceAll(tt.body, "for i in x {", "for i in 0..x.n {")
		for _, mode := range []string{"W", "SCRATCH"} {
			src := strings.ReplaceAll("codelet c(n: int, x: R vector[f64], y: MODE vector[f64], A: MODE matrix[f64], v: MODE variable[f64]) {\n", "MODE", mode) + tt.body + "\n}\n"
			if got := firstReadBeforeWrite(t, src, mode == "W"); got != tt.want {
				t.Errorf("%s: %s\n got  %s\n want %s", mode, tt.body, got, tt.want)
			}
		}
	}
	// operands that the body never writes
	for _, tt := range []struct{ mode, body, want string }{
		{"SCRATCH", "each i in x { x[i] = y[i] }", "y 2:22"},
		{"SCRATCH", "each i in x { if x[i] > 0.0 { x[i] = y[i] } }", "y 2:38"},
		{"SCRATCH", "each i in x { x[i] = float(y.n) }", ""},
		{"R", "each i in x { x[i] = y[i] }", ""},
		{"RW", "each i in y { y[i] += x[i] }", ""},
	} {
		if got := firstReadBeforeWrite(t, "codelet c(x: RW vector[f64], y: "+tt.mode+" vector[f64]) {\n"+tt.body+"\n}\n", false); got != tt.want {
			t.Errorf("%s: %s: got %q, want %q", tt.mode, tt.body, got, tt.want)
		}
	}
}

// firstReadBeforeWrite returns the operand and the position of the first E0607 of src, or the
// code of another error before it. edit reports whether it must have an edit.
func firstReadBeforeWrite(t *testing.T, src string, edit bool) string {
	t.Helper()
	for _, d := range kerneltest.Check(t, src) {
		if d.Code == "W0606" || d.Code == "W0201" || d.Code == "W0608" { // most bodies do not use all operands
			continue
		}
		if d.Code != "E0607" {
			return d.Code
		}
		if d.Severity != diag.Error || len(d.Help) == 0 || edit != (len(d.Fixes) > 0) {
			t.Errorf("%s: %+v", src, d)
		}
		return strings.Trim(strings.Fields(d.Message)[0], "`") + " " + strings.SplitN(kerneltest.At(d.Span), "-", 2)[0]
	}
	return ""
}
