//go:build linux && amd64

package llvm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel/analysis"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/kernel/kerneltest"
	"github.com/starpush/starpush/lang/kernel/lower"
	"github.com/starpush/starpush/lang/syntax"
)

// correctBody returns the lowered body of the only codelet in a source, or nil if the source is
// another or has an error.
func correctBody(text string) *ir.Func {
	f, ds := syntax.Parse(diag.NewSource("t.spu", text))
	if ds.Err() != nil || len(f.Stmts) != 1 {
		return nil
	}
	c, ok := f.Stmts[0].(*syntax.Codelet)
	if !ok || c.Body == nil {
		return nil
	}
	sig := kerneltest.Signature(c)
	generic, ds := lower.Generic(f, c, sig, nil)
	if analysis.Check(f, c, sig, generic, ds).Err() != nil {
		return nil
	}
	fn, ds := lower.Concrete(f, c, sig, nil)
	if ds.Err() != nil {
		return nil
	}
	return fn
}

// FuzzText compiles the body of a codelet for the processor and for devices: LLVM takes the text
// of every body that the checks find correct.
func FuzzText(f *testing.F) {
	l := library(f)
	for _, body := range kerneltest.DeviceBodies {
		f.Add(body)
	}
	for _, body := range []string{
		"let k = 3\n while k > 0 { k = k // 2\n if k == 2 { continue }\n v += x[0] }",
		"each i in u { u[i] = (u[i] << 3) ^ ~u[i] & (u[i] >> 1) | 5 }",
		"for i in 1..y.n { y[i] = y[i - 1] * 0.5 + x[i]\n if y[i] > 100.0 { break } }",
		"each i in y { let s = 0.0\n let j = 0\n while s < 3.0 and j < x.n { s += abs(x[j]) + 0.1\n j += 1 }\n y[i] = s }",
		"each i, j in A { A[i, j] = if i > j and B[j, i] != 0.0 then A[i, j] ** 2 else select(n > 3, 1.0, -0.0) }",
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if len(body) > 1000 || strings.Contains(body, "%!") {
			return
		}
		fn := correctBody(fmt.Sprintf(kerneltest.LoopCodelet, body))
		if fn == nil {
			return
		}
		if b, err := NewBody(fn); err == nil {
			if _, err := l.Compile(b.Text()); err != nil {
				t.Errorf("%v\n%s", err, body)
			}
		}
		if d, err := NewDevice(fn); err == nil {
			if _, err := l.PTX(d.Text()); err != nil {
				t.Errorf("%v\n%s", err, body)
			}
		}
	})
}
