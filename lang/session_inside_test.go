package lang_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
)

// What would change a session under the entry that runs is refused, and is as if nobody
// had asked for it.
func TestSessionInsideEntry(t *testing.T) {
	ctx := t.Context()
	var s *lang.Session
	var inside func() error
	var got error
	cfg := lang.Config{
		Funcs: []*lang.Func{lang.Must(lang.NewFunc("back() -> int", func(context.Context, []any) (any, error) { got = inside(); return 2, nil }))},
		Codelets: []*lang.Codelet{lang.Must(lang.NewCodelet("within(x: RW vector[f64])", lang.CPU(func(*lang.Task) error {
			got = inside()
			return nil
		})))},
	}
	for name, do := range map[string]func() error{
		"Eval":             func() error { _, err := s.Eval(ctx, "register x = vector[f64](1, fill = 0)"); return err },
		"Load":             func() error { _, err := s.Load(ctx, "a.spu", []byte("let k = 1")); return err },
		"Reset":            func() error { return s.Reset(false) },
		"Reset of handles": func() error { return s.Reset(true) },
		"SetDeterministic": func() error { return s.SetDeterministic(true) },
		"Close":            func() error { return s.Close() },
	} {
		for where, c := range map[string]struct{ entry, want string }{
			"function": {"for i in 0..1 { register y = vector[f64](2, fill = 1); acquire RW x as xs { xs[back()] = 5.0; xs[0] = 4.0 } }", "one at a time"},
			"kernel":   {"insert within(RW x)\nwait\nacquire RW x as xs { xs[0] = 4.0; xs[2] = 5.0 }", "inside a kernel"},
		} {
			t.Run(name+" in a "+where, func(t *testing.T) {
				rt := newRuntime(t, engine.Options{Workers: 1})
				home := []float64{1, 2, 3}
				var out bytes.Buffer
				s = lang.Must(lang.NewCompiler(cfg)).NewSession(rt, lang.Stdout(&out), lang.Bind("x", lang.VectorOf(home)))
				inside, got = do, nil
				for _, e := range []string{"let k = 7", c.entry, "print(x, k)"} {
					if _, err := s.Eval(ctx, e); err != nil {
						t.Errorf("%s: %v", e, err)
					}
				}
				wantErr(t, got, c.want)
				if want := "vector[f64] 3: 4.0 2.0 5.0 7\n"; out.String() != want {
					t.Errorf("printed %q, want %q", out.String(), want)
				}
				if err := s.Close(); err != nil || home[0] != 4 {
					t.Errorf("at the end %v, %v", err, home)
				}
				again := lang.Must(lang.NewCompiler(cfg)).NewSession(rt, lang.Bind("x", lang.VectorOf(home))) // nobody has the memory any more
				if _, err := again.Eval(ctx, "x"); err != nil {
					t.Error(err)
				}
				if err := again.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A nil context never ends, also where something fails.
func TestSessionNilContext(t *testing.T) {
	var none context.Context
	s := newSession(t, failingConfig(), newRuntime(t, engine.Options{Workers: 1}))
	_, err := s.Eval(none, "assert false")
	wantErr(t, err, "R0102")
	if _, err := s.Eval(none, "register x = variable[f64](fill = 0)\ninsert fail(RW x)"); err != nil {
		t.Error(err)
	}
	wantErr(t, s.Wait(none), "bad luck")
}

func failingConfig() lang.Config {
	return lang.Config{Codelets: []*lang.Codelet{lang.Must(lang.NewCodelet("fail(x: RW variable[f64])",
		lang.CPUFunc(func(*float64) error { return errors.New("bad luck") })))}}
}

// What failed and nobody was told of is not lost when the session changes its mode.
func TestSetDeterministicAfterFailure(t *testing.T) {
	s := newSession(t, failingConfig(), newRuntime(t, engine.Options{Workers: 1}), lang.Stdout(io.Discard))
	if _, err := s.Eval(t.Context(), "register x = variable[f64](fill = 0)\ninsert fail(RW x)"); err != nil {
		t.Fatal(err)
	}
	if err := s.Reset(true); err != nil {
		t.Fatal(err)
	}
	wantErr(t, s.SetDeterministic(true), "bad luck")
	if err := s.SetDeterministic(true); err != nil {
		t.Error(err)
	}
}

// A function means the data that had the name when it was declared: that this one has
// ended is not the fault of its statement.
func TestSessionFunctionOfEndedData(t *testing.T) {
	s := newSession(t, lang.Config{}, newRuntime(t, engine.Options{Workers: 1}), lang.Stdout(io.Discard))
	for _, e := range []string{"register x = vector[f64](2, fill = 1)", "func show() { print(x) }", "show()", "register x = vector[f64](3, fill = 2)"} {
		if _, err := s.Eval(t.Context(), e); err != nil {
			t.Fatalf("%s: %v", e, err)
		}
	}
	_, err := s.Eval(t.Context(), "show()")
	wantErr(t, err, "E0205", "<entry 2>:1:21", "this `x` ended when it was declared again")
	var d *lang.Diagnostic
	if !errors.As(err, &d) || len(d.Help) != 1 || d.Help[0] != "it means that of entry 1: declare what uses it here again" {
		t.Errorf("%+v", d)
	}
}
