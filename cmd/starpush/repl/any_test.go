package repl

import (
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/stdlib"
)

// TestAnyLines types pieces of statements and commands in any order: the Shell
// answers each and is still there afterwards.
func TestAnyLines(t *testing.T) {
	rt, err := engine.New(engine.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	comp := lang.Must(lang.NewCompiler(lang.Config{
		Modules: map[string]*lang.Module{"std/blas": stdlib.Modules()["std/blas"]},
		Limits:  lang.Limits{Steps: 20_000, Tasks: 1000, DataBytes: 1 << 20, Output: 1 << 20},
	}))
	pieces := []string{
		"register x = vector[f32](8, fill = 1)", "partition x by blocks(2)", "x", "x[1]", "x[", "]", "(", ")", "{", "}",
		"insert blas.scal(2.0, RW x)", "insert blas.scal(2.0, RW x[0])", "wait", "print(x)", "let a = ", "1", "+", "while true { }",
		"for i in 0..4 {", "func f(n: int) -> int { return f(n) }", "f(1)", "acquire RW x as xs", "xs[0] = 3.0", "release xs",
		"unregister x", "invalidate x", ";", "\"", "## doc", "# no", "\x00", "\xff", "é", "\t", " ", "then", "else",
		":ls", ":ls all", ":show x", ":show x 1..3", ":type ", ":doc x", "x?", "?", "?x", ":", ":!1", ":!!", ":time ", ":time on",
		":reset", ":reset handles", ":fmt", ":last", ":history", ":load nothing", ":save", ":help options", ":stats", ":explain E0401",
	}
	rapid.Check(t, func(t *rapid.T) {
		session := comp.NewSession(rt, lang.Stdout(io.Discard))
		defer session.Close()
		shell := New(Config{Session: session, Machine: fakeMachine{}, Out: io.Discard, Err: io.Discard})
		line := rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 3).Draw(t, "pieces"), " ")
		})
		lines := rapid.SliceOfN(line, 0, 12).Draw(t, "lines")
		if code := shell.Run(t.Context(), NewLines(strings.NewReader(strings.Join(lines, "\n")))); code != 0 {
			t.Fatalf("the conversation ended with status %d", code)
		}
		for _, l := range lines {
			for i := range len(l) + 1 {
				if n, _ := shell.Complete(l, i); n > i {
					t.Fatalf("completion at %d of %q replaces %d bytes", i, l, n)
				}
			}
		}
	})
}
