package lang_test

// Whatever the text, compiling and running it ends, and every error is a
// diagnostic or a limit.

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
)

// runAnything compiles and runs src and reports what must not happen.
func runAnything(t *testing.T, comp *lang.Compiler, rt *engine.Runtime, src string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	prog, ds := comp.Compile(ctx, "fuzz.spu", []byte(src))
	bad := func(what string, err error) { t.Errorf("%s: %v\n%s", what, err, src) }
	if err := ds.Err(); err != nil {
		for _, d := range ds {
			if d.Code == "E0001" {
				bad("the compiler failed", err)
			}
		}
		ds.Render(io.Discard, lang.Style{Width: 80})
		return
	}
	inst, err := prog.Run(ctx, rt, lang.Stdout(io.Discard))
	if err == nil {
		err = inst.Close()
	}
	if ctx.Err() != nil {
		bad("it did not end", ctx.Err())
	}
	var le *lang.LimitError
	if err == nil || errors.As(err, &le) {
		return
	}
	all := diagnosticsOf(err)
	if all == nil {
		bad("an error that is no diagnostic", err)
	}
	for _, d := range all {
		if d.Code == "R0109" || d.Code == "" || d.Message == "" {
			bad("the interpreter failed", err)
		}
		(lang.Diagnostics{d}).Render(io.Discard, lang.Style{Width: 80})
	}
}

// fuzzSetup offers the test programs as a corpus.
func fuzzSetup(t testing.TB) (*lang.Compiler, *engine.Runtime, []string) {
	cfg := testConfig(t, map[string]string{"shapes.spu": "let k = [1]\nfunc f(x: int) -> int { return x }\n"})
	cfg.Limits = lang.Limits{Steps: 20_000, Tasks: 2_000, DataBytes: 1 << 22, ScriptBytes: 1 << 22, Output: 1 << 16, Timeout: 5 * time.Second}
	comp, err := lang.NewCompiler(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var corpus []string
	files, _ := filepath.Glob("testdata/run/*.spu")
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		corpus = append(corpus, strings.Split(string(text), "\n---\n")...)
	}
	return comp, newRuntime(t, engine.Options{Workers: 2}), corpus
}

// words splits a text so that joining the parts gives it back.
func words(s string) []string {
	var out []string
	last := 0
	class := func(b byte) int {
		switch {
		case b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80:
			return 1
		case b == ' ':
			return 2
		}
		return 3
	}
	for i := 1; i <= len(s); i++ {
		if i == len(s) || class(s[i]) != class(s[i-1]) || class(s[i]) == 3 {
			out = append(out, s[last:i])
			last = i
		}
	}
	return out
}

func TestMutatedPrograms(t *testing.T) {
	comp, rt, corpus := fuzzSetup(t)
	var pool []string
	for _, c := range corpus {
		pool = append(pool, words(c)...)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	n := 1500
	if testing.Short() {
		n = 200
	}
	for range n {
		w := words(corpus[rng.IntN(len(corpus))])
		for range 1 + rng.IntN(3) {
			k := rng.IntN(len(w))
			switch rng.IntN(4) {
			case 0:
				w[k] = pool[rng.IntN(len(pool))]
			case 1:
				w[k] = ""
			case 2:
				w[k] += " " + w[rng.IntN(len(w))]
			case 3:
				w[k] = []string{"-1", "0", "9223372036854775807", "1e300", "[]", "\"\"", "x", "true", "none", "(0 - 1)"}[rng.IntN(10)]
			}
		}
		runAnything(t, comp, rt, strings.Join(w, ""))
		if t.Failed() {
			return
		}
	}
}

func FuzzRun(f *testing.F) {
	comp, rt, corpus := fuzzSetup(f)
	for _, c := range corpus {
		f.Add(c)
	}
	f.Fuzz(func(t *testing.T, src string) { runAnything(t, comp, rt, src) })
}
