package lang_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
)

// withoutText is an error that panics when it is asked what it says.
type withoutText struct{ error }

// Whatever a host function gives as its error, the script's says where it was called.
func TestErrorsOfHostFunctions(t *testing.T) {
	ctx := t.Context()
	var inst *lang.Instance
	var back func() error
	cfg := lang.Config{Funcs: []*lang.Func{lang.Must(lang.NewFunc("back()", func(context.Context, []any) (any, error) { return nil, back() }))}}
	p := compile(t, cfg, "register u = variable[f64]()\nregister x = variable[f64](fill = 1)\nfunc one(k: int) { }\nfunc f() { back() }\nfunc g() { acquire RW x as v { back() } }\n")
	value := func(name string) error {
		_, err := lang.Value[float64](ctx, lang.Must(inst.Handle(name)))
		return err
	}
	for _, c := range []struct {
		name, call string
		back       func() error
		want       string
	}{
		{"data without a value", "f", func() error { return value("u") }, "test.spu:4:12: error[E0401]: `u` is read before anything writes it"},
		{"with words around it", "f", func() error { return fmt.Errorf("oh: %w", value("u")) }, "test.spu:4:12: error[R0106]: the host function `back` failed: oh: error[E0401]: `u` is read"},
		{"data that the script holds", "g", func() error { return value("x") }, "test.spu:5:32: error[R0104]: this waits for itself"},
		{"wrong arguments", "f", func() error { _, err := inst.Call(ctx, "one"); return err }, "test.spu:4:12: error[E0705]: `one` needs a value for `k`"},
		{"an error inside a function", "f", func() error { _, err := inst.Call(ctx, "one", 1, 2); return err }, "test.spu:4:12: error[E0705]: `one` takes one argument"},
		{"a nil diagnostic", "f", func() error { return (*lang.Diagnostic)(nil) }, "test.spu:4:12: error[R0106]: the host function `back` failed"},
		{"a nil diagnostic with words around it", "f", func() error { return fmt.Errorf("oh: %w", (*lang.Diagnostic)(nil)) }, "test.spu:4:12: error[R0106]: the host function `back` failed: oh"},
		{"a nil limit", "f", func() error { return (*lang.LimitError)(nil) }, "test.spu:4:12: error[R0106]: the host function `back` failed"},
		{"no text", "f", func() error { return withoutText{} }, "test.spu:4:12: error[R0106]: the host function `back` failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inst = lang.Must(p.Run(ctx, newRuntime(t, engine.Options{Workers: 1})))
			defer inst.Close()
			back = c.back
			_, err := inst.Call(ctx, c.call)
			var d *lang.Diagnostic
			if !errors.As(err, &d) || d == nil {
				t.Fatalf("the error is %#v", err)
			}
			if !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%v; want %s", err, c.want)
			}
		})
	}
}

// So do those of kernels; none of them ends the process.
func TestErrorsOfKernels(t *testing.T) {
	ctx := t.Context()
	var back error
	cfg := lang.Config{Codelets: []*lang.Codelet{
		lang.Must(lang.NewCodelet("plain(x: RW variable[f64])", lang.CPUFunc(func(*float64) error { return back }))),
		lang.Must(lang.NewCodelet("other(x: RW variable[f64])", lang.CPU(func(*lang.Task) error { return back }))),
	}}
	p := compile(t, cfg, "register x = variable[f64](fill = 1)\nfunc plain_() { insert plain(RW x); wait }\nfunc other_() { insert other(RW x); wait }\n")
	for _, err := range []error{withoutText{}, (*lang.Diagnostic)(nil), (*lang.LimitError)(nil), (*engine.TaskError)(nil), fmt.Errorf("oh: %w", (*engine.TaskError)(nil))} {
		for _, fn := range []string{"plain_", "other_"} {
			inst := lang.Must(p.Run(ctx, newRuntime(t, engine.Options{Workers: 1})))
			back = err
			_, got := inst.Call(ctx, fn)
			wantErr(t, got, "R0101", "`"+fn[:5]+"` failed")
			if err := inst.Close(); err != nil {
				t.Errorf("%T: %v", back, err)
			}
		}
	}
}

// Data and views that are nil or from no instance have no name, no sizes and no parts.
func TestNoData(t *testing.T) {
	for _, h := range []*lang.Handle{nil, {}} {
		if h.Name() != "" || h.Shape() != nil || h.Engine() != nil || h.String() != "no data" || h.Type() == nil || h.Desc().Kind != 0 {
			t.Errorf("%v: %q, %v, %v", h, h.Name(), h.Shape(), h.Type())
		}
		_, err := h.Acquire(t.Context(), lang.R)
		wantErr(t, err, "no handle")
	}
	for _, v := range []*lang.View{nil, {}} {
		if v.Name() != "" || v.Count() != 0 || v.Part(0) != nil || v.String() != "no view" {
			t.Errorf("%v: %q, %d parts", v, v.Name(), v.Count())
		}
	}
}
