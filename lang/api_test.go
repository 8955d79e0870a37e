package lang_test

// The embedding API: params, bound data, calls, limits, cancellation, errors.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"go.uber.org/goleak"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/perf/perftest"
	"github.com/starpush/starpush/lang"
)

func TestMain(m *testing.M) {
	remove := perftest.Private()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		remove()
		os.Exit(code)
	}))
}

func compile(t testing.TB, cfg lang.Config, src string) *lang.Program {
	t.Helper()
	comp, err := lang.NewCompiler(cfg)
	if err != nil {
		t.Fatal(err)
	}
	p, ds := comp.Compile(context.Background(), "test.spu", []byte(src))
	if err := ds.Err(); err != nil {
		t.Fatal(err)
	}
	return p
}

func wantErr(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one about %q", parts)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q does not say %q", err, p)
		}
	}
}

func TestParams(t *testing.T) {
	p := compile(t, lang.Config{}, "param n: int = 4\nparam s: string\nparam x: float = 0.5 * n\nparam b: bool = false\nprint(n, s, x, b)\n")
	infos := p.Params()
	if len(infos) != 4 || infos[0].Name != "n" || infos[0].Default != "4" || !infos[1].Required || infos[2].Type != "float" {
		t.Errorf("params: %+v", infos)
	}
	rt := newRuntime(t, engine.Options{Workers: 1})
	for _, c := range []struct {
		opts []lang.Option
		out  string
		err  string
	}{
		{[]lang.Option{lang.Param("s", "a")}, "4 a 2.0 false\n", ""},
		{[]lang.Option{lang.Param("s", "a"), lang.Param("n", uint8(7)), lang.Param("b", true)}, "7 a 3.5 true\n", ""},
		{[]lang.Option{lang.Param("s", "a"), lang.Param("x", 3)}, "4 a 3.0 false\n", ""},
		{nil, "", "param `s` needs a value"},
		{[]lang.Option{lang.Param("s", 1)}, "", "param `s`: int where a string belongs"},
		{[]lang.Option{lang.Param("s", "a"), lang.Param("nn", 1)}, "", "no param `nn`"},
		{[]lang.Option{lang.Param("s", "a"), lang.Param("n", 1.5)}, "", "param `n`"},
	} {
		var out bytes.Buffer
		inst, err := p.Run(context.Background(), rt, append(c.opts, lang.Stdout(&out))...)
		if c.err != "" {
			wantErr(t, err, "E0704", c.err)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		inst.Close()
		if out.String() != c.out {
			t.Errorf("printed %q, want %q", out.String(), c.out)
		}
	}
}

const bindScript = `
extern v: vector[f64]
extern m: matrix[i32]
extern k: variable[u8]
codelet add(v: RW vector[f64], x: f64) { each i in v { v[i] += x } }
codelet addm(m: RW matrix[i32], x: i32) { each i, j in m { m[i, j] += x } }
codelet addk(k: RW variable[u8]) { k += 1 }
func write(v: vector[f64]) { insert add(RW v, 1.0) }
func all() {
    insert add(RW v, 1.0)
    insert addm(RW m, 5)
    insert addk(RW k)
}
`

func TestBind(t *testing.T) {
	p := compile(t, lang.Config{}, bindScript+"all()\nprint(m.ld)\n")
	for _, m := range machines() {
		t.Run(m.name, func(t *testing.T) {
			rt := newRuntime(t, m.opt)
			v := []float64{1, 2}
			mem := make([]int32, 10)
			mat, err := lang.MatrixOf(mem, 2, 3, 6)
			if err != nil {
				t.Fatal(err)
			}
			k := uint8(9)
			var out bytes.Buffer
			inst, err := p.Run(context.Background(), rt, lang.Bind("v", lang.VectorOf(v)), lang.Bind("m", mat), lang.Bind("k", lang.VariableOf(&k)), lang.Stdout(&out))
			if err != nil {
				t.Fatal(err)
			}
			h, err := inst.Handle("v")
			if err != nil {
				t.Fatal(err)
			}
			acc, err := lang.Acquire[float64](context.Background(), h, lang.RW)
			if err != nil {
				t.Fatal(err)
			}
			if &acc.Slice()[0] != &v[0] {
				t.Error("the access is a copy of the bound slice")
			}
			acc.Slice()[1] = 50
			if err := acc.Release(); err != nil {
				t.Fatal(err)
			}
			if err := acc.Release(); err != nil || acc.Slice() != nil {
				t.Error("Release is not idempotent")
			}
			if _, err := inst.Call(context.Background(), "all"); err != nil {
				t.Fatal(err)
			}
			if err := inst.Close(); err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(v, mem, k) != "[3 51] [10 10 10 0 0 0 10 10 10 0] 11" {
				t.Errorf("bound data after Close: %v %v %v", v, mem, k)
			}
			if out.String() != "6\n" {
				t.Errorf("ld printed as %q", out.String())
			}
		})
	}
}

// Types of a program for temperatures and small numbers.
type (
	celsius float64
	tiny    uint8
)

func TestBindErrors(t *testing.T) {
	p := compile(t, lang.Config{}, bindScript)
	rt := newRuntime(t, engine.Options{Workers: 1})
	k := uint8(1)
	mat := lang.Must(lang.MatrixOf(make([]int32, 4), 2, 2, 0))
	good := []lang.Option{lang.Bind("m", mat), lang.Bind("k", lang.VariableOf(&k))}
	for _, c := range []struct {
		opt  lang.Option
		want string
	}{
		{lang.Bind("v", lang.VectorOf([]float32{1})), "`v` is bound to a vector[f32]"},
		{lang.Bind("v", nil), "the data is nil"},
		{lang.Bind("w", lang.VectorOf([]float64{1})), "no extern data `w`, only `k`, `m` and `v`"},
		{nil, "`v` has no data"},
		{lang.Bind("k", lang.VariableOf[uint8](nil)), "no memory"},
	} {
		_, err := p.Run(context.Background(), rt, append(good, c.opt)...)
		wantErr(t, err, c.want)
	}
	inst, err := p.Run(context.Background(), rt, append(good, lang.Bind("v", lang.VectorOf([]float64{1}, lang.ReadOnly())))...)
	if err != nil {
		t.Fatal(err)
	}
	defer inst.Close()
	h, _ := inst.Handle("v")
	_, err = inst.Call(context.Background(), "write", h)
	wantErr(t, err, "E0306", "`v` is read-only")
	_, err = lang.Acquire[float64](context.Background(), h, lang.W)
	wantErr(t, err, "read-only")
	_, err = lang.Acquire[float32](context.Background(), h, lang.R)
	wantErr(t, err, "lang: Acquire[float32]: v is a vector[f64], whose elements are float64 in Go: use Acquire[float64]")
	_, err = lang.Value[float64](context.Background(), h)
	wantErr(t, err, "not a variable")
	hk, _ := inst.Handle("k")
	_, err = lang.Value[celsius](context.Background(), hk)
	wantErr(t, err, "lang: Value[lang_test.celsius]: k is a variable[u8], whose elements are uint8 in Go: use Value[uint8], or a type whose underlying type is uint8")
	if v, err := lang.Value[tiny](context.Background(), hk); err != nil || v != 1 {
		t.Errorf("a value of a type that is a uint8 underneath: %v, %v", v, err)
	}
	if _, err := lang.MatrixOf(make([]int32, 4), 2, 3, 0); err == nil {
		t.Error("a slice of 4 was taken for 2 x 3")
	}
	if _, err := lang.MatrixOf(make([]int32, 4), 2, 2, 1); err == nil {
		t.Error("ld below cols was taken")
	}
}

func TestCall(t *testing.T) {
	p := compile(t, lang.Config{}, `
let n = 0
func add(a: int, b: float = 0.5) -> float { n += 1; return a + b }
func lists(a: list[int], b: list[string]) -> list[float] { return [float(x) for x in a] + [float(len(s)) for s in b] }
func calls() -> int { return n }
func nothing() { }
func bad() -> int { return 1 // 0 * n }
func make() -> vector[f64] { register v = vector[f64](3, fill = 2.5); return v }
func total(v: vector[f64]) -> float { acquire R v as a { let s = 0.0; for i in 0..len(a) { s += a[i] }; return s } }
func deep(k: int) -> int { return if k == 0 then 0 else 1 + deep(k - 1) }
`)
	rt := newRuntime(t, engine.Options{Workers: 2})
	inst, err := p.Run(context.Background(), rt)
	if err != nil {
		t.Fatal(err)
	}
	defer inst.Close()
	ctx := context.Background()
	for _, c := range []struct {
		fn   string
		args []any
		want string
		err  string
	}{
		{"add", []any{1, 2}, "3", ""},
		{"add", []any{1}, "1.5", ""},
		{"add", []any{int8(1), float32(0.25)}, "1.25", ""},
		{"lists", []any{[]int{1, 2}, []string{"abc"}}, "[1 2 3]", ""},
		{"calls", nil, "3", ""},
		{"nothing", nil, "<nil>", ""},
		{"add", nil, "", "needs a value for `a`"},
		{"add", []any{"x"}, "", "string where an int belongs"},
		{"add", []any{1, 2, 3}, "", "`add` takes 2 arguments, and 3 are given"},
		{"nothing", []any{1}, "", "`nothing` takes no arguments, and one is given"},
		{"bad", []any{1, 2}, "", "`bad` takes no arguments, and 2 are given"},
		{"deep", []any{1, 2}, "", "`deep` takes one argument, and 2 are given"},
		{"totl", nil, "", "did you mean total?"},
		{"lists", []any{[]any{1, "x"}, nil}, "", "item 1"},
		{"deep", []any{200}, "200", ""},
		{"deep", []any{300}, "", "256 nested calls"},
		{"deep", []any{20}, "20", ""},
	} {
		got, err := inst.Call(ctx, c.fn, c.args...)
		if c.err != "" {
			wantErr(t, err, c.err)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.fn, err)
		} else if fmt.Sprint(got) != c.want {
			t.Errorf("%s gave %v, want %s", c.fn, got, c.want)
		}
	}
	h, err := inst.Call(ctx, "make")
	if err != nil {
		t.Fatal(err)
	}
	if s, err := inst.Call(ctx, "total", h); err != nil || s != 7.5 {
		t.Errorf("total of a returned handle: %v, %v", s, err)
	}
	if v := h.(*lang.Handle); v.Shape()[0] != 3 || v.Type().String() != "vector[f64]" {
		t.Errorf("the handle is %v", v)
	}
	if names := p.Funcs(); len(names) != 8 || names[0].Signature != "add(a: int, b: float = 0.5) -> float" {
		t.Errorf("functions: %+v", names)
	}
	var d *lang.Diagnostic
	if _, err = inst.Call(ctx, "bad"); err != nil {
		t.Log(err)
	}
	_, err = inst.Call(ctx, "deep", 300)
	var le *lang.LimitError
	if !errors.As(err, &le) || le.Kind != "depth" || !errors.As(err, &d) || d.Code != "R0111" {
		t.Errorf("depth: %#v", err)
	}
}

func TestReentry(t *testing.T) {
	var inst *lang.Instance
	back := lang.Must(lang.NewFunc("back(n: int) -> int", func(ctx context.Context, a []any) (any, error) {
		if a[0].(int64) == 0 {
			return 0, nil
		}
		v, err := inst.Call(ctx, "again", a[0].(int64)-1)
		if err != nil {
			return nil, err
		}
		return v.(int64) + 1, nil
	}))
	p := compile(t, lang.Config{Funcs: []*lang.Func{back}}, `
func again(n: int) -> int {
    assert n != 99, "told to fail"
    return back(n)
}
`)
	rt := newRuntime(t, engine.Options{Workers: 1})
	var err error
	if inst, err = p.Run(context.Background(), rt); err != nil {
		t.Fatal(err)
	}
	defer inst.Close()
	if v, err := inst.Call(context.Background(), "again", 10); err != nil || v != int64(10) {
		t.Errorf("again(10) = %v, %v", v, err)
	}
	_, err = inst.Call(context.Background(), "again", 100)
	var d *lang.Diagnostic
	if !errors.As(err, &d) || d.Code != "R0102" {
		t.Errorf("the assertion did not come through: %v", err)
	}
	if v, err := inst.Call(context.Background(), "again", 3); err != nil || v != int64(3) {
		t.Errorf("after an error: %v, %v", v, err)
	}
}

func TestLate(t *testing.T) {
	mk := func(v int) *lang.Func {
		return lang.Must(lang.NewFunc("version() -> int", func(context.Context, []any) (any, error) { return v, nil }))
	}
	p := compile(t, lang.Config{Funcs: []*lang.Func{mk(1)}}, "print(version())\n")
	rt := newRuntime(t, engine.Options{Workers: 1})
	var out bytes.Buffer
	for _, opts := range [][]lang.Option{{}, {lang.Late(mk(2))}, {}} {
		inst, err := p.Run(context.Background(), rt, append(opts, lang.Stdout(&out))...)
		if err != nil {
			t.Fatal(err)
		}
		inst.Close()
	}
	if out.String() != "1\n2\n1\n" {
		t.Errorf("printed %q", out.String())
	}
	other := lang.Must(lang.NewFunc("version(x: int) -> int", func(context.Context, []any) (any, error) { return 0, nil }))
	_, err := p.Run(context.Background(), rt, lang.Late(other))
	wantErr(t, err, "does not have the signature")
}

// shared declares lists of lists, p40 the deepest for the prefix p, which hold x as often
// as no machine can look at it, and take no memory.
func shared(p, x string) string {
	s := fmt.Sprintf("let %s0 = [%s]\n", p, x)
	for i := 1; i <= 40; i++ {
		s += fmt.Sprintf("let %[1]s%[2]d = [%[1]s%[3]d, %[1]s%[3]d]\n", p, i, i-1)
	}
	return s
}

// TestSharedLists: what is asked about data in lists takes as long as there are lists.
func TestSharedLists(t *testing.T) {
	src := `codelet set(x: W variable[i64]) { x = 1 }
register x = variable[i64]()
insert set(W x)
` + shared("a", "x") + `wait a40
print(busy(a40))
func give() -> ` + strings.Repeat("list[", 41) + "variable[i64]" + strings.Repeat("]", 41) + ` {
register y = variable[i64]()
insert set(W y)
` + shared("b", "y") + `return b40
}
let got = give()
print(len(got))
`
	rt := lang.Must(engine.New(engine.Options{Workers: 1}))
	defer rt.Close()
	var out strings.Builder
	p := compile(t, lang.Config{Limits: lang.Limits{Steps: 10000, Timeout: time.Minute}}, src)
	inst, err := p.Run(t.Context(), rt, lang.Stdout(&out))
	if err != nil {
		t.Fatal(err)
	}
	if err := inst.Close(); err != nil || out.String() != "false\n2\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// TestHostListLimits: lists that share items are copies for the host, and count as long
// as it has them: not again with each call.
func TestHostListLimits(t *testing.T) {
	sum := lang.Must(lang.NewFunc("count(a: list[list[int]]) -> int", func(_ context.Context, a []any) (any, error) {
		n := 0
		for _, l := range a[0].([]any) {
			n += len(l.([]int64))
		}
		return n, nil
	}))
	rt := lang.Must(engine.New(engine.Options{Workers: 1}))
	defer rt.Close()
	for _, c := range []struct{ src, limit string }{
		{"let a = [i for i in 0..100]\nlet b = [a for i in 0..100]\nfor i in 0..100 { assert count(b) == 10_000 }\n", ""},
		{"let a = [i for i in 0..10_000]\nlet b = [a for i in 0..10_000]\nprint(count(b))\n", "mem"},
	} {
		p := compile(t, lang.Config{Funcs: []*lang.Func{sum}, Limits: lang.Limits{ScriptBytes: 1e6, Steps: 1e6}}, c.src)
		_, err := p.Run(t.Context(), rt)
		var l *lang.LimitError
		if c.limit == "" && err != nil || c.limit != "" && (!errors.As(err, &l) || l.Kind != c.limit) {
			t.Errorf("%v, want the limit %q", err, c.limit)
		}
	}
}

func TestLimits(t *testing.T) {
	inc := "codelet inc(v: RW variable[i64]) { v += 1 }\nregister x = variable[i64](fill = 0)\n"
	for _, c := range []struct {
		kind string
		lim  lang.Limits
		src  string
	}{
		{"steps", lang.Limits{Steps: 10000}, "while true { }\n"},
		{"steps", lang.Limits{Steps: 10000}, "func f() { f2() }\nfunc f2() { }\nfor i in 0..1000000 { f() }\n"},
		{"steps", lang.Limits{Steps: 10000}, "let a = [i for i in 0..100000]\nprint(len(a))\n"},
		{"depth", lang.Limits{CallDepth: 50}, "func f(n: int) -> int { return f(n + 1) }\nprint(f(0))\n"},
		{"tasks", lang.Limits{Tasks: 5}, inc + "for i in 0..10 { insert inc(RW x) }\n"},
		{"data", lang.Limits{DataBytes: 2000}, "for i in 0..10 { register v = vector[f64](20) }\n"},
		{"mem", lang.Limits{ScriptBytes: 10000}, "let s = \"x\"\nwhile true { s = s + s }\n"},
		{"mem", lang.Limits{ScriptBytes: 10000}, "let a = [1]\nwhile true { a = a + a }\n"},
		{"mem", lang.Limits{ScriptBytes: 10000}, "let a = grid(1000, 1000, 1000, 1000, 1000, 1000, 1000)\nprint(len(a))\n"},
		{"mem", lang.Limits{ScriptBytes: 10000}, "let s = \"\"\nfor i in 0..1000000 { s = f\"{s}{i}\" }\n"},
		{"steps", lang.Limits{Steps: 10000}, shared("a", "1") + "print(a39 == a40[0])\n"},
		{"steps", lang.Limits{Steps: 10000}, shared("a", "1") + "print(a40)\n"},
		{"mem", lang.Limits{ScriptBytes: 100000}, shared("a", "1") + "print(f\"{a40}\")\n"},
		{"timeout", lang.Limits{Timeout: 20 * time.Millisecond}, shared("a", "1") + "print(a40 == a40)\n"},
		{"mem", lang.Limits{ScriptBytes: 100000}, "register x = void()\n" + shared("a", "x") + "prefetch a40 to ram\n"},
		{"steps", lang.Limits{Steps: 10000}, "register x = void()\n" + shared("a", "x") + "unregister a40\n"},
		{"output", lang.Limits{Output: 100}, "for i in 0..1000 { print(\"line\", i) }\n"},
		{"timeout", lang.Limits{Timeout: 20 * time.Millisecond}, "while true { }\n"},
	} {
		t.Run(c.kind, func(t *testing.T) {
			p := compile(t, lang.Config{Limits: c.lim}, c.src)
			rt := newRuntime(t, engine.Options{Workers: 2})
			var out bytes.Buffer
			_, err := p.Run(context.Background(), rt, lang.Stdout(&out), lang.WithLimits(lang.Limits{Steps: 1 << 40, Tasks: 1000}))
			var le *lang.LimitError
			if !errors.As(err, &le) || le.Kind != c.kind {
				t.Fatalf("error %v, want the limit %s", err, c.kind)
			}
			if le.Span.Start.Line == 0 || le.Limit == 0 {
				t.Errorf("the error does not say where: %+v", le)
			}
		})
	}
}

// TestDeepCalls goes as deep as calls and expressions can, which must not exhaust
// the stack of the process.
func TestDeepCalls(t *testing.T) {
	const nest = 60
	src := "func f(n: int) -> int {\n    if n == 0 { return 0 }\n    return " + strings.Repeat("(1 - (", nest) + "f(n - 1)" + strings.Repeat("))", nest) + "\n}\n"
	p := compile(t, lang.Config{Limits: lang.Limits{CallDepth: 1 << 30}}, src)
	rt := newRuntime(t, engine.Options{Workers: 1})
	inst, err := p.Run(context.Background(), rt)
	if err != nil {
		t.Fatal(err)
	}
	defer inst.Close()
	if v, err := inst.Call(context.Background(), "f", 9000); err != nil || v != int64(0) {
		t.Errorf("f(9000) = %v, %v", v, err)
	}
	_, err = inst.Call(context.Background(), "f", int64(1<<40))
	var le *lang.LimitError
	if !errors.As(err, &le) || le.Kind != "depth" {
		t.Errorf("endless recursion ended with %v", err)
	}
}

// TestLongChains compiles expressions of any length.
func TestLongChains(t *testing.T) {
	const n = 49_000
	src := "let one = 1\nlet half = 0.5\nlet yes = true\nprint(one" + strings.Repeat(" + one", n) + ")\nprint(half" + strings.Repeat(" - half", n) + ")\nprint(yes" +
		strings.Repeat(" and yes", n) + ")\nprint(len(\"\"" + strings.Repeat(" + \"a\"", 2000) + "))\nprint(len([one]" + strings.Repeat(" + [one]", 2000) + "))\n"
	p := compile(t, lang.Config{}, src)
	rt := newRuntime(t, engine.Options{Workers: 1})
	var out bytes.Buffer
	inst, err := p.Run(context.Background(), rt, lang.Stdout(&out))
	if err != nil {
		t.Fatal(err)
	}
	inst.Close()
	if want := "49001\n-24499.5\ntrue\n2000\n2001\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}

func TestLimitsTighten(t *testing.T) {
	p := compile(t, lang.Config{Limits: lang.Limits{Output: 10}}, "print(\"0123456789abcdef\")\n")
	rt := newRuntime(t, engine.Options{Workers: 1})
	_, err := p.Run(context.Background(), rt, lang.WithLimits(lang.Limits{Output: 1000}), lang.Stdout(&bytes.Buffer{}))
	wantErr(t, err, "10 bytes of output")
}

func TestCancel(t *testing.T) {
	stop := errors.New("enough of this")
	for _, src := range []string{
		"while true { }\n",
		"for i in 0..1000000000000 { }\n",
		"func f(n: int) -> int { return if n == 0 then 0 else f(n - 1) }\nwhile true { f(50) }\n",
		"codelet inc(v: RW variable[i64]) { v += 1 }\nregister x = variable[i64](fill = 0)\nwhile true { insert inc(RW x) }\n",
		"codelet spin(v: RW variable[i64]) { for i in 0..1000000000000 { v += 1 } }\nregister x = variable[i64](fill = 0)\ninsert spin(RW x)\nprint(value(x))\n",
		"let a = grid(1000, 1000, 10)\n",
	} {
		p := compile(t, lang.Config{Limits: lang.Limits{ScriptBytes: 1 << 40}}, src+"while true { }\n")
		rt := newRuntime(t, engine.Options{Workers: 2})
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(20*time.Millisecond, func() { cancel(stop) })
		_, err := p.Run(ctx, rt)
		if !errors.Is(err, stop) {
			t.Errorf("%q ended with %v", src, err)
		}
		cancel(nil)
	}
}

func TestStartWait(t *testing.T) {
	p := compile(t, lang.Config{}, "codelet at(x: R vector[i64], k: int, o: W variable[i64]) { o = x[k] }\nregister x = vector[i64](2, fill = 1)\nregister o = variable[i64]()\ninsert at(R x, 5, W o)\ninsert at(R x, 6, W o)\n")
	rt := newRuntime(t, engine.Options{Workers: 2})
	inst, err := p.Start(context.Background(), rt)
	if err != nil {
		t.Fatal(err)
	}
	err = inst.Wait(context.Background())
	var ds lang.Diagnostics
	if !errors.As(err, &ds) || len(ds) != 2 || ds[0].Code != "R0101" || ds[0].Task == nil || ds[0].Task.Codelet != "at" {
		t.Errorf("Wait: %v", err)
	}
	if st := inst.Stats(); st.Submitted != 2 || st.Failed != 2 {
		t.Errorf("stats: %+v", st)
	}
	if err := inst.Wait(context.Background()); err != nil {
		t.Errorf("the failures came twice: %v", err)
	}
	if err := inst.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := inst.Close(); err != nil {
		t.Errorf("Close again: %v", err)
	}
	if _, err := inst.Call(context.Background(), "f"); err == nil {
		t.Error("a closed instance took a call")
	}
}

func TestStuckAtEnd(t *testing.T) {
	p := compile(t, lang.Config{}, "codelet inc(v: RW variable[i64]) { v += 1 }\nfunc f(g: gate) {\n    register x = variable[i64](fill = 0)\n    insert inc(RW x) with after = [g]\n}\nf(gate())\n")
	rt := newRuntime(t, engine.Options{Workers: 2})
	_, err := p.Run(context.Background(), rt)
	wantErr(t, err, "R0104")
}

func TestConcurrentRuns(t *testing.T) {
	p := compile(t, lang.Config{}, `
param n: int = 1
codelet add(v: RW vector[f64], x: f64) { each i in v { v[i] += x } }
register v = vector[f64](8, fill = 0.0)
partition v by blocks(4)
for k in 0..n { for b in 0..4 { insert add(RW v[b], 1.0) } }
acquire R v as a { print(a[7]) }
`)
	rt := newRuntime(t, engine.Options{Workers: 2})
	var wg sync.WaitGroup
	for k := 1; k <= 8; k++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var out bytes.Buffer
			inst, err := p.Run(context.Background(), rt, lang.Param("n", k), lang.Stdout(&out))
			if err != nil {
				t.Error(err)
				return
			}
			if err := inst.Close(); err != nil {
				t.Error(err)
			}
			if want := fmt.Sprintf("%d.0\n", k); out.String() != want {
				t.Errorf("run %d printed %q", k, out.String())
			}
		}()
	}
	wg.Wait()
}

func TestNothingReachable(t *testing.T) {
	rt := newRuntime(t, engine.Options{Workers: 1})
	p := compile(t, lang.Config{}, "register x = vector[f64](load = \"x.npy\")\n")
	_, err := p.Run(context.Background(), rt)
	wantErr(t, err, "the host allows none")
	comp := lang.Must(lang.NewCompiler(lang.Config{}))
	_, ds := comp.Compile(context.Background(), "x.spu", []byte("import \"y.spu\"\n"))
	if ds.Err() == nil {
		t.Error("an import without a loader compiled")
	}
}

func TestDir(t *testing.T) {
	dir := t.TempDir()
	p := compile(t, lang.Config{Files: lang.Dir(dir)}, "register x = vector[f64](list = [1, 2, 3])\nsave(x, \"out.npy\")\nregister y = vector[f64](load = \"out.npy\")\nprint(y)\n")
	rt := newRuntime(t, engine.Options{Workers: 1})
	var out bytes.Buffer
	inst, err := p.Run(context.Background(), rt, lang.Stdout(&out))
	if err != nil {
		t.Fatal(err)
	}
	inst.Close()
	if out.String() != "vector[f64] 3: 1.0 2.0 3.0\n" {
		t.Errorf("printed %q", out.String())
	}
	left, _ := os.ReadDir(dir)
	if len(left) != 1 || left[0].Name() != "out.npy" {
		t.Errorf("the folder holds %v", left)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(dir), "secret.bin"), make([]byte, 8), 0o600); err != nil {
		t.Fatal(err)
	}
	p = compile(t, lang.Config{Files: lang.Dir(dir)}, "register x = vector[f64](1, load = \"../secret.bin\")\n")
	if _, err := p.Run(context.Background(), rt); err == nil {
		t.Error("a script read a file outside of its folder")
	}
}

// TestDirReplaces: a new version of a file keeps the mode of the old one, and links to it
// stay.
func TestDirReplaces(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "deep", "old.csv")
	for _, err := range []error{
		os.Mkdir(filepath.Dir(old), 0o700), os.WriteFile(old, []byte("1\n"), 0o600), os.Chmod(old, 0o640),
		os.Symlink("deep", filepath.Join(dir, "there")), os.Symlink("deep/../there/old.csv", filepath.Join(dir, "link.csv")),
	} {
		if err != nil {
			t.Skip(err)
		}
	}
	for i, name := range []string{"deep/old.csv", "link.csv", "there/old.csv"} {
		f, err := lang.Dir(dir).Create(name)
		if err != nil {
			t.Fatal(name, err)
		}
		fmt.Fprint(f, i)
		if err := f.Close(); err != nil {
			t.Fatal(name, err)
		}
		text, err := os.ReadFile(old)
		if fi, _ := os.Stat(old); err != nil || string(text) != fmt.Sprint(i) || fi.Mode() != 0o640 {
			t.Errorf("by %s: %q, mode %v, %v", name, text, fi.Mode(), err)
		}
		if fi, err := os.Lstat(filepath.Join(dir, name)); err != nil || (fi.Mode()&os.ModeSymlink != 0) != (name == "link.csv") {
			t.Errorf("%s is %v, %v", name, fi.Mode(), err)
		}
	}
	if f, err := lang.Dir(dir).Create("deep"); err == nil {
		t.Errorf("a folder is written: %T", f)
	}
	for _, d := range []string{dir, filepath.Dir(old)} {
		if left, err := os.ReadDir(d); err != nil || len(left) != map[string]int{dir: 3, filepath.Dir(old): 1}[d] {
			t.Errorf("%s holds %v, %v", d, left, err)
		}
	}
}

// TestDirWritesPipe: a file that is not regular is written, not replaced.
func TestDirWritesPipe(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe.csv")
	if out, err := exec.Command("mkfifo", pipe).CombinedOutput(); err != nil {
		t.Skip(err, string(out))
	}
	r, err := os.OpenFile(pipe, os.O_RDWR, 0) // both ends, so that opening does not wait
	if err != nil {
		t.Skip(err)
	}
	defer r.Close()
	f, err := lang.Dir(dir).Create("pipe.csv")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, "7\n")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	fi, err := os.Lstat(pipe)
	if err != nil || fi.Mode()&os.ModeNamedPipe == 0 {
		t.Fatalf("the pipe is %v now, %v", fi, err)
	}
	text := make([]byte, 2)
	if _, err := io.ReadFull(r, text); err != nil || string(text) != "7\n" {
		t.Errorf("the pipe got %q, %v", text, err)
	}
}

// TestNoModules: a host without modules gets a report that says where those of the
// command come from.
func TestNoModules(t *testing.T) {
	_, ds := lang.Must(lang.NewCompiler(lang.Config{})).Compile(t.Context(), "m.spu", []byte("import \"std/blas\" as blas\n"))
	if len(ds) != 1 || len(ds[0].Help) != 1 || !strings.Contains(ds[0].Help[0], "lang.Config.Modules") {
		t.Errorf("got %v", ds)
	}
}

func TestCodeletSignatures(t *testing.T) {
	for _, c := range []struct {
		sig  string
		opt  lang.CodeletOption
		want string
	}{
		{"f(v: RW vector[f32])", lang.CPUFunc(func(v []float64) {}), "must be []float32"},
		{"f(v: RW vector[f32])", lang.CPUFunc(func(v []float32, x int) {}), "2 parameters"},
		{"f(v: RW vector[f32], n: int)", lang.CPUFunc(func(v []float32) {}), "too few"},
		{"f(v: RW vector[T])", lang.CPUFunc(func(v []float32) {}), "type parameters"},
		{"f(v: RW vector[f32])", lang.CPUFunc(3), "wants a Go function"},
		{"f(v: RW vector[f32])", lang.CPUFunc(func(v []float32) int { return 0 }), "this is a func([]float32) int"},
		{"f(v: RW vector[f32])", nil, ""},
		{"f(v: vector[f32])", nil, "needs an access mode"},
		{"f(v: RW int)", nil, "must be data"},
		{"f(v: REDUX vector[f32])", nil, "chosen by the insert"},
		{"f(v: RW vector)", nil, "needs what it holds"},
		{"f(v: RW vektor[f32])", nil, "vektor"},
		{"f(v: RW vector[f32], v: int)", nil, "two operands"},
		{"f(", nil, "signature"},
		{"f(v: RW vector[f32], k: int = 1.5)", nil, "default of k"},
		{"f(v: RW vector[f32], k: int = g())", nil, "must be a literal"},
		{"f(v: RW vector[f32], k: f32 = -2, s: string = \"n\")", nil, ""},
	} {
		opts := []lang.CodeletOption{lang.CPU(func(*lang.Task) error { return nil })}
		if c.opt != nil {
			opts = []lang.CodeletOption{c.opt}
		}
		_, err := lang.NewCodelet(c.sig, opts...)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.sig, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.sig, err, c.want)
		}
	}
	if _, err := lang.NewCodelet("f(v: RW vector[f32])"); err == nil {
		t.Error("a codelet without implementation was made")
	}
}

func TestCPUFuncShapes(t *testing.T) {
	type myFloat float32
	mk := func(sig string, fn any) *lang.Codelet { return lang.Must(lang.NewCodelet(sig, lang.CPUFunc(fn))) }
	cfg := lang.Config{Codelets: []*lang.Codelet{
		mk("a(v: RW vector[f64], x: f64)", func(v []float64, x float64) {
			for i := range v {
				v[i] += x
			}
		}),
		mk("b(m: RW matrix[i32], k: int, on: bool, s: string, r: R variable[i32])", func(ctx context.Context, m lang.Buffer[int32], k int, on bool, s string, r *int32) error {
			if ctx == nil {
				return errors.New("no context")
			}
			for i := 0; i < m.Rows(); i++ {
				for j := range m.Row(i) {
					m.Row(i)[j] += int32(k) + int32(len(s)) + *r
				}
			}
			if !on {
				return errors.New("off")
			}
			return nil
		}),
		mk("c(v: RW vector[f32], o: RW void)", func(v []myFloat) { v[0] = 7 }),
		lang.Must(lang.NewCodelet("d(v: RW vector[T], x: T, n: int)", lang.CPU(func(t *lang.Task) error {
			b := lang.Buf[int64](t, 0)
			for i := range b.Slice() {
				b.Slice()[i] = lang.Arg[int64](t, "x") * int64(lang.Arg[int](t, "n"))
			}
			return nil
		}))),
	}}
	p := compile(t, cfg, `
register v = vector[f64](2, fill = 1)
register m = matrix[i32](2, 2, fill = 0)
register r = variable[i32](fill = 100)
register w = vector[f32](2, fill = 0)
register z = vector[i64](2, fill = 0)
register o = void()
partition cc = m by cols(2)
insert a(RW v, 2.5)
insert b(RW cc[1], 3, true, "abcd", R r)
insert c(RW w, RW o)
insert d(RW z, 6, 7)
print(v, m, w, z)
insert d(RW w, 1.0, 1)
`)
	rt := newRuntime(t, engine.Options{Workers: 2})
	var out bytes.Buffer
	_, err := p.Run(context.Background(), rt, lang.Stdout(&out))
	wantErr(t, err, "R0101", "asked for as i64")
	if want := "vector[f64] 2: 3.5 3.5 matrix[i32] 2 x 2:\n  0 107\n  0 107 vector[f32] 2: 7.0 0.0 vector[i64] 2: 42 42\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}

// TestBindTwice: two names for one piece of memory are refused, unless both only read it.
func TestBindTwice(t *testing.T) {
	comp := lang.Must(lang.NewCompiler(lang.Config{}))
	prog, ds := comp.Compile(t.Context(), "two.spu", []byte("extern x: vector[f64]\nextern y: vector[f64]\nwait\n"))
	if ds.Err() != nil {
		t.Fatal(ds)
	}
	rt := lang.Must(engine.New(engine.Options{Workers: 1}))
	defer rt.Close()
	s := make([]float64, 8)
	run := func(opts ...lang.Option) error {
		inst, err := prog.Run(t.Context(), rt, append(opts, lang.Stdout(io.Discard))...)
		if err == nil {
			err = inst.Close()
		}
		return err
	}
	if err := run(lang.Bind("x", lang.VectorOf(s)), lang.Bind("y", lang.VectorOf(s[4:]))); err == nil || !strings.Contains(err.Error(), `"y"`) || !strings.Contains(err.Error(), `"x"`) {
		t.Error(err)
	}
	for name, opts := range map[string][]lang.Option{
		"parts":     {lang.Bind("x", lang.VectorOf(s[:4])), lang.Bind("y", lang.VectorOf(s[4:]))},
		"read only": {lang.Bind("x", lang.VectorOf(s, lang.ReadOnly())), lang.Bind("y", lang.VectorOf(s, lang.ReadOnly()))},
		"replaced":  {lang.Bind("x", lang.VectorOf(s)), lang.Bind("y", lang.VectorOf(s)), lang.Bind("x", lang.VectorOf(make([]float64, 2)))},
	} {
		if err := run(opts...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLeadingDimension: `ld` is where the rows lie, whether the script gives them a
// value or a task does.
func TestLeadingDimension(t *testing.T) {
	p := compile(t, lang.Config{}, `
codelet put(m: W matrix[i32]) { each i, j in m { m[i, j] = 10 * i + j } }
register A = matrix[i32](2, 3, ld = 6, list = [0, 1, 2, 10, 11, 12])
register B = matrix[i32](2, 3, ld = 6)
insert put(W B)
print(A.ld, B.ld)
print(B)
`)
	for _, m := range machines() {
		t.Run(m.name, func(t *testing.T) {
			rt := newRuntime(t, m.opt)
			var out bytes.Buffer
			inst, err := p.Run(context.Background(), rt, lang.Stdout(&out))
			if err != nil {
				t.Fatal(err)
			}
			defer inst.Close()
			if want := "6 6\nmatrix[i32] 2 x 3:\n   0  1  2\n  10 11 12\n"; out.String() != want {
				t.Errorf("printed %q", out.String())
			}
			for _, name := range []string{"A", "B"} {
				h, err := inst.Handle(name)
				if err != nil {
					t.Fatal(err)
				}
				acc, err := lang.Acquire[int32](context.Background(), h, lang.R)
				if err != nil {
					t.Fatal(err)
				}
				apart := uintptr(unsafe.Pointer(&acc.Row(1)[0])) - uintptr(unsafe.Pointer(&acc.Row(0)[0]))
				if apart != 6*4 || acc.Slice() != nil || fmt.Sprint(acc.Row(0), acc.Row(1)) != "[0 1 2] [10 11 12]" {
					t.Errorf("%s: rows %d bytes apart: %v %v", name, apart, acc.Row(0), acc.Row(1))
				}
				if err := acc.Release(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// A code says more than "W", and what a comment allows is not denied.
func TestWarningSet(t *testing.T) {
	const unused, overwritten = "W0201", "W0401"
	src := "codelet set(x: W vector[f64]) { each i in x { x[i] = 1.0 } }\nregister x = vector[f64](4)\n" +
		"let a = 1\nlet b = 2 # allow W0201\ninsert set(W x)\ninsert set(W x)\nprint(x)\n"
	for _, tt := range []struct {
		silence, deny, used string
		want                map[string]lang.Severity
	}{
		{"", "", "", map[string]lang.Severity{unused: lang.Warning, overwritten: lang.Warning}},
		{"W", "", "", map[string]lang.Severity{}},
		{"", "W", "", map[string]lang.Severity{unused: lang.Error, overwritten: lang.Error}},
		{"W", "W", "", map[string]lang.Severity{}},
		{unused, "W", "", map[string]lang.Severity{overwritten: lang.Error}},
		{"W", unused, "", map[string]lang.Severity{unused: lang.Error}},
		{unused, unused, "", map[string]lang.Severity{overwritten: lang.Warning}},
		{unused, overwritten, "", map[string]lang.Severity{overwritten: lang.Error}},
		{"", "W", "x a nothing", map[string]lang.Severity{overwritten: lang.Error}},
		{"", unused, "x", map[string]lang.Severity{unused: lang.Error, overwritten: lang.Warning}},
	} {
		set := lang.WarningSet{Silence: strings.Fields(tt.silence), Deny: strings.Fields(tt.deny), Used: strings.Fields(tt.used)}
		comp := lang.Must(lang.NewCompiler(lang.Config{Warnings: set}))
		_, ds := comp.Compile(t.Context(), "x.spu", []byte(src))
		got := map[string]lang.Severity{}
		for _, d := range ds {
			if _, twice := got[d.Code]; twice {
				t.Errorf("%+v: %s is reported twice", set, d.Code)
			}
			got[d.Code] = d.Severity
		}
		if !maps.Equal(got, tt.want) {
			t.Errorf("%+v: %v, want %v", set, got, tt.want)
		}
	}
}
