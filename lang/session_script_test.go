package lang_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/starpush/starpush/lang"
)

// A saved session, run as a script, prints what its entries gave.
func TestSessionScript(t *testing.T) {
	entries := []string{
		"let x = 1", "x + 1", "_ * 10", "let y = x", "let x = x + 0.5", "x  # the new one", `f"{x} and {y}"`,
		"func twice(n: int) -> int { return 2 * n }", "twice(y)", "func twice(n: float) -> float { return 2.0 * n }", "twice(x)",
		"codelet inc(v: RW vector[f64]) { each i in v { v[i] += 1.0 } }",
		"register v = vector[f64](4, fill = 0)", "partition v by blocks(2)", "insert inc(RW v[0])", "v",
		"register v = vector[f64](2, fill = 5)",
		"codelet inc(v: RW vector[f64]) { each i in v { v[i] += 10.0 } }",
		"for x in 0..2 { insert inc(RW v) with priority = x }", "v", "_", "print(v, x)", "v.n",
		`import "m.spu"`, "m.k", `import "m.spu" as m`, "m.sq(m.k)",
		"acquire R v as a { print(a[0]) }", "nothing", "let x = [x, 1.0]", "x[0]; x[1]",
	}
	rt := newRuntime(t, machines()[0].opt)
	cfg := testConfig(t, map[string]string{"m.spu": "let k = 3\nfunc sq(x: int) -> int { return x * x }\n"})
	var said bytes.Buffer
	s := newSession(t, cfg, rt, lang.Stdout(&said))
	ran := 0
	for _, e := range entries {
		res, err := s.Eval(context.Background(), e)
		if err != nil {
			if e != "nothing" {
				t.Fatalf("%s: %v", e, err)
			}
			continue
		}
		ran++
		if res.Value != "" {
			said.WriteString(strings.TrimSuffix(res.Value, "\n") + "\n")
		}
	}
	text, n := s.Script("s.spu")
	if n != ran {
		t.Errorf("%d entries, want %d", n, ran)
	}
	var printed bytes.Buffer
	inst, err := compile(t, cfg, text).Run(context.Background(), rt, lang.Stdout(&printed))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if err := inst.Close(); err != nil {
		t.Error(err)
	}
	if printed.String() != said.String() {
		t.Errorf("the script\n%sprints\n%swant\n%s", text, printed.String(), said.String())
	}
	if out, err := lang.Format("saved.spu", []byte(text)); err != nil || string(out) != text {
		t.Errorf("not in canonical layout (%v):\n%s", err, text)
	}
}

// TestSessionScriptRepeats: repeated entries, such as measured ones, become a loop,
// unless they declare something; the script does what the session did.
func TestSessionScriptRepeats(t *testing.T) {
	cfg := testConfig(t, nil)
	for _, c := range []struct {
		entry string
		times int
		want  string
	}{
		{"insert inc(RW v)", 2, "insert inc(RW v)\ninsert inc(RW v)\n"},
		{"insert inc(RW v)", 11, "# 11 times in a row at the prompt, where :bench runs a statement 11 times\nfor _ in 0..11 {\n    insert inc(RW v)\n}\n"},
		{"for b in 0..2 { insert inc(RW v) }", 3, "# 3 times in a row at the prompt, where :bench runs a statement 11 times\nfor _ in 0..3 {\n    for b in 0..2 { insert inc(RW v) }\n}\n"},
		{"n * 2 + len([1])", 11, "# 11 times in a row at the prompt, where :bench runs a statement 11 times and shows no value:\n# n * 2 + len([1])\n"},
		{"twice(n)", 11, "# 11 times in a row at the prompt, where :bench runs a statement 11 times\nfor _ in 0..11 {\n    twice(n)\n}\n"},
		{"let a = 1", 3, "let a_1 = 1\nlet a_2 = 1\nlet a = 1\n"},
		{"n += 1; print(n)", 4, "# 4 times in a row at the prompt, where :bench runs a statement 11 times\nfor _ in 0..4 {\n    n += 1\n    print(n)\n}\n"},
		{"unregister v; register v = vector[f64](4, fill = 1)", 3, ""},
	} {
		rt := newRuntime(t, machines()[0].opt)
		var said, printed bytes.Buffer
		s := newSession(t, cfg, rt, lang.Stdout(&said))
		entries := []string{"codelet inc(v: RW vector[f64]) { each i in v { v[i] += 1.0 } }", "register v = vector[f64](4, fill = 0)", "let n = 0", "func twice(k: int) -> int { insert inc(RW v); return 2 * k }"}
		for range c.times {
			entries = append(entries, c.entry)
		}
		for _, e := range append(entries, "acquire R v as a { print(a[0]) }", "print(n)") {
			if _, err := s.Eval(t.Context(), e); err != nil {
				t.Fatalf("%s: %v", e, err)
			}
		}
		text, n := s.Script("s.spu")
		if !strings.Contains(text, c.want) || n != len(entries)+2 {
			t.Errorf("%d entries, want %q in\n%s", n, c.want, text)
		}
		inst, err := compile(t, cfg, text).Run(t.Context(), rt, lang.Stdout(&printed))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if err := inst.Close(); err != nil {
			t.Error(err)
		}
		if printed.String() != said.String() {
			t.Errorf("the script\n%sprints\n%swant\n%s", text, printed.String(), said.String())
		}
	}
}

// A script says where something was cancelled, also between entries that are the same.
func TestSessionScriptCancelled(t *testing.T) {
	s := newSession(t, testConfig(t, nil), newRuntime(t, machines()[0].opt))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for k := range 6 {
		if _, err := s.Eval(t.Context(), `f"{2}"`); err != nil {
			t.Fatal(err)
		}
		if k == 2 {
			if _, err := s.Eval(ended, "while true { }"); err == nil {
				t.Fatal("a cancelled entry ran")
			}
		}
	}
	text, n := s.Script("s.spu")
	loop := "# 3 times in a row at the prompt, where :bench runs a statement 11 times\nfor _ in 0..3 {\n    print(f\"{2}\")\n}\n"
	note := "# something was cancelled here: the session dropped tasks that run in this script, or an entry that is missing in it\n"
	if want := loop + note + loop; text != want || n != 6 {
		t.Errorf("%d entries\n%swant 6\n%s", n, text, want)
	}
}

// TestSessionScriptOf: the script of a session with entries that failed, with params and
// files, with data held at its end, and with files from another folder.
func TestSessionScriptOf(t *testing.T) {
	const inc = "codelet inc(v: RW vector[f64]) { each i in v { v[i] += 1.0 } }"
	type load struct {
		name, src string
		opts      []lang.Option
	}
	for _, tt := range []struct {
		name    string
		entries []any // text, load, or true: forget the data
		want    string
	}{
		{"the statements before the one that failed", []any{"let a = 1\nlet b = 2; let z = 1 // 0; let c = 3", "print(a, b)"},
			"let a = 1\nlet b = 2\nprint(a, b)\n"},
		{"declarations behind it", []any{"let z = 1 // 0\nfunc f() -> int { return 4 }\nlet y = 2", "f()"},
			"func f() -> int { return 4 }\nprint(f())\n"},
		{"a loop that failed in the middle", []any{inc + "\nregister x = vector[f64](2, fill = 1)\npartition x by blocks(2)", "for i in 0..3 {\n    insert inc(RW x[i])\n}"},
			inc + "\nregister x = vector[f64](2, fill = 1)\npartition x by blocks(2)\n# this ended with an error at the prompt, when it had inserted 2 tasks; what it did until then is missing here:\n# for i in 0..3 {\n#     insert inc(RW x[i])\n# }\n"},
		{"a name that got no value, in a function", []any{"register x = vector[f64](load = \"none.npy\")", "func n() -> int { return x.n }"},
			"register x = vector[f64](0, fill = 0)\nfunc n() -> int { return x.n }\n"},
		{"params that were given", []any{load{"a.spu", "## how many\nparam n: int = 4\nparam s: string\nprint(n, s)", []lang.Option{lang.Param("n", 6), lang.Param("s", "a\"b")}}, load{"a.spu", "param n: int = 4\nprint(n)", nil}},
			"## how many\nparam n_1: int = 6\nparam s: string = \"a\\\"b\"\nprint(n_1, s)\nparam n: int = 4\nprint(n)\n"},
		{"data from files", []any{"register f = vector[f64](3, fill = 1)\nsave(f, \"f.npy\")\nsave(f, \"f.bin\")\nregister q = variable[i32](fill = 7)\nsave(q, \"q.npy\")", load{"a.spu", "print(x.n); let n = x.n\nextern x: vector[f64]; extern y: vector[f64]\nextern v: variable[i32]", []lang.Option{lang.BindFile("x", "f.npy"), lang.BindFile("y", "f.bin", 3), lang.BindFile("v", "q.npy")}}},
			"register f = vector[f64](3, fill = 1)\nsave(f, \"f.npy\")\nsave(f, \"f.bin\")\nregister q = variable[i32](fill = 7)\nsave(q, \"q.npy\")\nregister x = vector[f64](load = \"f.npy\")\nregister y = vector[f64](3, load = \"f.bin\")\nregister v = variable[i32](fill = 7)\nprint(x.n)\nlet n = x.n\n"},
		{"std/blas, which was there, and imported", []any{"register x = vector[f64](2, fill = 1)\ninsert blas.touch(RW x)", load{"a.spu", "import \"std/blas\"\ninsert blas.touch(RW x)", nil}, "import \"std/blas\" as other; insert other.touch(RW x)"},
			"import \"std/blas\" as blas\n\nregister x = vector[f64](2, fill = 1)\ninsert blas.touch(RW x)\ninsert blas.touch(RW x)\nimport \"std/blas\" as other\ninsert other.touch(RW x)\n"},
		{"files seen from elsewhere", []any{load{"lib/a.spu", "import \"m.spu\"\nprint(m.one())", nil}, "import \"lib/m.spu\"", "m.one()"},
			"import \"../lib/m.spu\"\nprint(m.one())\nprint(m.one())\n"},
		{"arrays that are held and gates that are closed", []any{"register x = vector[f64](2, fill = 1)\nacquire R x as xs\nlet g = gate()\nlet gs = [gate(), gate()]\nopen(gs[0])", "acquire R x as xs"},
			"register x = vector[f64](2, fill = 1)\nacquire R x as xs_1\nlet g = gate()\nlet gs = [gate(), gate()]\nopen(gs[0])\nacquire R x as xs\nrelease xs_1\nopen(g)  # closed at the prompt\nfor gate_ in gs { open(gate_) }  # closed at the prompt\nrelease xs  # held at the prompt\n"},
		{"data that ended", []any{"register x = vector[f64](2, fill = 1)", "register x = vector[f64](3, fill = 2)", true, "register y = vector[f64](1, fill = 1)"},
			"register x_1 = vector[f64](2, fill = 1)\nregister x = vector[f64](3, fill = 2)\nunregister x_1\nunregister x\nregister y = vector[f64](1, fill = 1)\n"},
		{"data of the host", []any{"home.n"}, "extern home: vector[f64]\n\nprint(home.n)\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := testConfig(t, nil)
			cfg.Files = lang.Dir(t.TempDir())
			cfg.Loader = lang.FSLoader(fstest.MapFS{"lib/m.spu": {Data: []byte("func one() -> int { return 1 }\n")}})
			touch := lang.Must(lang.NewCodelet("touch(x: RW vector[f64])", lang.CPUFunc(func([]float64) {})))
			cfg.Modules = map[string]*lang.Module{"std/blas": lang.Must(lang.ModuleOf(touch.Engine()))}
			home := []float64{1, 2}
			rt := newRuntime(t, machines()[0].opt)
			s := newSession(t, cfg, rt, lang.Stdout(io.Discard), lang.Bind("home", lang.VectorOf(home)))
			for _, e := range tt.entries {
				var err error
				switch e := e.(type) {
				case string:
					_, err = s.Eval(t.Context(), e)
				case load:
					_, err = s.Load(t.Context(), e.name, []byte(e.src), e.opts...)
				case bool:
					err = s.Reset(true)
				}
				if err != nil && !strings.Contains(err.Error(), "R0103") && !strings.Contains(err.Error(), "E0501") && !strings.Contains(err.Error(), "E0902") {
					t.Fatal(err)
				}
			}
			text, n := s.Script("saved/s.spu")
			if tt.name != "files seen from elsewhere" {
				text, n = s.Script("s.spu")
			}
			if text != tt.want || n == 0 {
				t.Errorf("%d entries\n%s\nwant\n%s", n, text, tt.want)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			comp := lang.Must(lang.NewCompiler(cfg))
			name := "s.spu"
			if strings.Contains(text, "../") {
				name = "saved/s.spu"
			}
			prog, ds := comp.Compile(t.Context(), name, []byte(text))
			if prog == nil {
				t.Fatal(ds.Err())
			}
			var opts []lang.Option
			if strings.Contains(text, "home") {
				opts = append(opts, lang.Bind("home", lang.VectorOf(home)))
			}
			inst, err := prog.Run(t.Context(), rt, append(opts, lang.Stdout(io.Discard))...)
			if err != nil {
				t.Fatal(err)
			}
			if err := inst.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
