package tests

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
)

// TestVerifyHost runs Go codelets that break their modes from a script: the
// report names the insert, the codelet, the operand and the element.
func TestVerifyHost(t *testing.T) {
	reduced := func(init, combine string) string {
		return fmt.Sprintf("register r = vector[f32](4, fill = 0.0, reduce = reducer(init = %s, combine = %s)); insert fine(R x, W s, REDUX r); acquire R r as a {}", init, combine)
	}
	codelets := []*lang.Codelet{
		lang.Must(lang.NewCodelet("peek(a: R vector[f32], b: RW vector[f32])", lang.CPUFunc(func(a, b []float32) { a[2] = b[0] + 7 }))),
		lang.Must(lang.NewCodelet("half(a: R vector[f32], b: W vector[f32])", lang.CPUFunc(func(a, b []float32) { copy(b[:3], a) }))),
		lang.Must(lang.NewCodelet("flag(out: W variable[i8], v: i64)", lang.Pure(), lang.CPUFunc(func(out *int8, v int64) {
			if v > 0 {
				*out = int8(v)
			}
		}))),
		lang.Must(lang.NewCodelet("grow(m: W matrix[i16])", lang.Pure(), lang.CPU(func(k *lang.Task) error {
			b := lang.Buf[int16](k, 0)
			for i := range b.Rows() {
				for j := range b.Row(i) {
					b.Row(i)[j] += int16(i + 1)
				}
			}
			return nil
		}))),
		lang.Must(lang.NewCodelet("zero(x: W vector[f32])", lang.CPUFunc(func(x []float32) { clear(x) }))),
		lang.Must(lang.NewCodelet("tail(x: W vector[f32])", lang.CPUFunc(func(x []float32) { clear(x[1:]) }))),
		lang.Must(lang.NewCodelet("add(into: RW vector[f32], from: R vector[f32])", lang.CPUFunc(func(into, from []float32) { into[0] += from[0] }))),
		lang.Must(lang.NewCodelet("take(into: RW vector[f32], from: R vector[f32])", lang.CPUFunc(func(into, from []float32) { into[0] += from[0]; from[1] = -1 }))),
		lang.Must(lang.NewCodelet("fine(a: R vector[f32], b: W vector[f32], c: RW vector[f32])", lang.CPUFunc(func(a, b, c []float32) { copy(b, a); c[0]++ }))),
	}
	const head = `
register x, y = vector[f32](4, fill = 1.0)
register s = vector[f32](4)
register q = variable[i8]()
register m = matrix[i16](3, 2)
`
	for _, tt := range []struct {
		name, insert, message, label string
	}{
		{"R written", "insert peek(R x, RW y)", "codelet `peek` changes its operand `a`, which it has R", "element [2] was changed"},
		{"W left", "insert half(R x, W s)", "codelet `half` does not write all of its operand `b`, which it has W", "element [3] was not written"},
		{"a byte left", "insert flag(W q, 0)", "codelet `flag` does not write all of its operand `out`, which it has W", "its value was not written"},
		{"W read", "insert grow(W m)", "codelet `grow` reads its operand `m`, which it has W, before writing it", "[0, 0] of `m` depends on what it held before"},
		{"a byte written", "insert flag(W q, 100)", "", ""},
		{"init leaves", reduced("tail", "add"), "codelet `tail` of a reducer does not write all of its operand `x`, which it has W", ""},
		{"init of the script leaves", "codelet some(x: W vector[f32]) { each i in 1..4 { x[i] = 0.0 } }; " + reduced("some", "add"),
			"codelet `some` of a reducer does not write all of its operand `x`, which it has W", "element [0] was not written"},
		{"combine writes", reduced("zero", "take"), "codelet `take` of a reducer changes its operand `from`, which it has R", ""},
		{"reducer", reduced("zero", "add"), "", ""},
		{"nothing wrong", "insert fine(R x, W s, RW y)", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			comp := lang.Must(lang.NewCompiler(lang.Config{Codelets: codelets}))
			prog, ds := comp.Compile(t.Context(), "host.spu", []byte(head+tt.insert+"\nwait\n"))
			if ds.Err() != nil {
				t.Fatal(rendered(t, ds))
			}
			for _, o := range []engine.Options{{Workers: 2, Verify: true}, {Sequential: true, Verify: true}} {
				d := runVerified(t, prog, o)
				if tt.message == "" {
					if d != nil {
						t.Errorf("%v", d)
					}
					continue
				}
				switch {
				case d == nil:
					t.Error("nothing is reported")
				case d.Code != "R0110" || d.Message != tt.message || d.Span.Start.Line != 6:
					t.Errorf("line %d: %s %s", d.Span.Start.Line, d.Code, d.Message)
				case tt.label != "" && (len(d.Labels) == 0 || d.Labels[0].Text != tt.label):
					t.Errorf("labels %+v, want %q", d.Labels, tt.label)
				case len(d.Help) == 0 || !strings.Contains(d.Help[0], "`"):
					t.Errorf("help %q", d.Help)
				}
			}
		})
	}
}

// runVerified runs prog and returns the diagnostic it ends with, if any.
func runVerified(t *testing.T, prog *lang.Program, o engine.Options) *lang.Diagnostic {
	t.Helper()
	rt, err := engine.New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	inst, err := prog.Run(ctx, rt, lang.Stdout(io.Discard))
	if err == nil {
		err = inst.Close()
	}
	var d *lang.Diagnostic
	if err != nil && !errors.As(err, &d) {
		t.Fatal(err)
	}
	return d
}
