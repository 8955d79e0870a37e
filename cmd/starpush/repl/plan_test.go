package repl

import (
	"bytes"
	"context"
	"testing"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
)

// TestPlanSaysWhatItCalled: kernels do not run for a plan, and functions of the host do.
func TestPlanSaysWhatItCalled(t *testing.T) {
	rt, err := engine.New(engine.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	size := lang.Must(lang.NewFunc("size() -> int", func(context.Context, []any) (any, error) { return 4, nil }))
	comp := lang.Must(lang.NewCompiler(lang.Config{Funcs: []*lang.Func{size}}))
	screen := &bytes.Buffer{}
	session := comp.NewSession(rt, lang.Stdout(screen))
	t.Cleanup(func() {
		session.Close()
		rt.Close()
	})
	s := New(Config{Session: session, Machine: fakeMachine{}, Out: screen, Err: screen, Runtime: rt})
	s.Entry(t.Context(), "codelet inc(v: RW vector[f64]) { each i in v { v[i] += 1.0 } }")
	s.Entry(t.Context(), "register v = vector[f64](3, fill = 1)")
	s.says(t, screen, ":plan insert inc(RW v)", "1 task: inc × 1\nlongest path 1 task, 1 side by side\n")
	s.says(t, screen, ":plan print(size())", "0 tasks\nthe plan called these functions of the host: size\n")
	s.Entry(t.Context(), "register w = vector[f64](size(), fill = 1)")
	s.says(t, screen, ":plan insert inc(RW w)", "1 task: inc × 1\nlongest path 1 task, 1 side by side\n")
}
