package lang

import (
	"os"
	"strings"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/kernel"
)

// TestBodies: the body of a task is the first that fits the kinds of its operands and can be
// compiled for their elements.
func TestBodies(t *testing.T) {
	const source = `
codelet floats(x: R vector[T], acc: RW variable[T]) { acc = float(acc) + (sum i in x { float(x[i]) }) }
codelet integers(x: R vector[T], acc: RW variable[T]) { acc += sum i in x { x[i] } }
codelet rows(x: R matrix[T], acc: RW variable[U]) { acc += sum i, j in x { x[i, j] } }
`
	desc := func(k iface.Kind, e iface.Elem) iface.Desc { return iface.Desc{Kind: k, Elem: e} }
	for _, c := range []struct {
		source    string
		names     []string
		ops       []iface.Desc
		want, err string
	}{
		{source, []string{"floats", "integers", "rows"}, []iface.Desc{desc(iface.Vector, iface.F32), desc(iface.Variable, iface.F32)}, "floats", ""},
		{source, []string{"floats", "integers", "rows"}, []iface.Desc{desc(iface.Vector, iface.I8), desc(iface.Variable, iface.I8)}, "integers", ""},
		{source, []string{"floats", "integers", "rows"}, []iface.Desc{desc(iface.Matrix, iface.I8), desc(iface.Variable, iface.F64)}, "rows", ""},
		{source, []string{"floats"}, []iface.Desc{desc(iface.Vector, iface.I8), desc(iface.Variable, iface.I8)}, "", "E0703"},
		{source, []string{"floats", "integers"}, []iface.Desc{desc(iface.Vector, iface.I8), desc(iface.Variable, iface.F64)}, "", "total has no body for these operands"},
		{source, []string{"rows"}, []iface.Desc{desc(iface.Vector, iface.I8)}, "", "total has no body for these operands"},
		{source, []string{"none"}, []iface.Desc{desc(iface.Vector, iface.I8)}, "", "total: its bodies have no codelet none"},
		{"codelet floats(x: R vector[T]) { y = 1 }", []string{"floats"}, []iface.Desc{desc(iface.Vector, iface.I8)}, "", "E0201"},
	} {
		b := newBodies(&engine.Codelet{Name: "total", Bodies: &engine.Bodies{Source: c.source, Names: c.names}}, kernel.Options{})
		found := b.find(c.ops)
		if found != b.find(c.ops) {
			t.Errorf("%v: the body is compiled twice", c.ops)
		}
		switch {
		case c.want != "" && (found.code == nil || found.code.IR().Name != c.want):
			t.Errorf("%v: %+v, want %s", c.ops, found, c.want)
		case c.want == "" && (found.err == nil || !strings.Contains(found.err.Error(), c.err)):
			t.Errorf("%v: %v, want %s", c.ops, found.err, c.err)
		}
	}
}

// TestWithBodies: a codelet gets implementations of its bodies where the program can run them and
// it has none of its own.
func TestWithBodies(t *testing.T) {
	c := &Compiler{}
	own := func(*engine.TaskContext) error { return nil }
	bodies := &engine.Bodies{Source: "codelet c(x: W vector[f64]) { each i in x { x[i] = 1.0 } }", Names: []string{"c"}}
	for _, k := range []*engine.Codelet{{Name: "c"}, {Name: "c", Bodies: bodies, On: map[string][]engine.Impl{"cuda": {own}}}} {
		if c.withBodies(k) != k {
			t.Error("a codelet without a use for bodies is changed")
		}
	}
	k := &engine.Codelet{Name: "c", Bodies: bodies, On: map[string][]engine.Impl{"opencl": {own}}}
	got := c.withBodies(k)
	if want := kernel.NoCUDA(kernel.Options{}) == nil; (got.On["cuda"] != nil) != want || got.On["opencl"] == nil || k.On["cuda"] != nil {
		t.Errorf("it runs on %v and the codelet of the host on %v", got.On, k.On)
	}
}

// TestBodiesOnCPU: machine code of a body runs in place of the function of its codelet, where there is some. The body has another
// result here, to tell them apart.
func TestBodiesOnCPU(t *testing.T) {
	if _, err := KernelLibrary(); err != nil {
		if os.Getenv("STARPUSH_NEED_LLVM") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	run := func(kernels Kernels, body, script string) (float64, error) {
		c := &engine.Codelet{
			Name: "c", Signature: "c(x: RW vector[f64])", Modes: []iface.AccessMode{iface.RW},
			CPU:    []engine.Impl{func(c *engine.TaskContext) error { iface.Slice[float64](c.Buffer(0))[0] = 1; return nil }},
			Bodies: &engine.Bodies{CPU: true, Source: "codelet c(x: RW vector[f64]) { " + body + " }", Names: []string{"c"}},
		}
		comp, err := NewCompiler(Config{Kernels: kernels, Modules: map[string]*engine.Module{"own": {Codelets: []*engine.Codelet{c}}}})
		if err != nil {
			t.Fatal(err)
		}
		p, ds := comp.Compile(t.Context(), "a.spu", []byte("import \"own\"\nregister x = vector[f64](3, fill = 0)\n"+script))
		if err := ds.Err(); err != nil {
			t.Fatal(err)
		}
		rt := Must(engine.New(engine.Options{Workers: 1}))
		defer rt.Close()
		inst, err := p.Run(t.Context(), rt)
		if err != nil {
			return 0, err
		}
		defer inst.Close()
		a := Must(Acquire[float64](t.Context(), Must(inst.Handle("x")), R))
		defer a.Release()
		return a.Slice()[0], nil
	}
	for _, c := range []struct {
		kernels Kernels
		body    string
		want    float64
	}{
		{StripKernels, "x[0] = 2.0", 1},
		{NativeKernels, "x[0] = 2.0", 2},
		{AutoKernels, "x[0] = 2.0", 1},               // one short task
		{NativeKernels, "for i in 0.5 { x = 2 }", 1}, // no codelet
	} {
		if got, err := run(c.kernels, c.body, "insert own.c(RW x)\n"); err != nil || got != c.want {
			t.Errorf("%v, %s: %v, %v, want %v", c.kernels, c.body, got, err, c.want)
		}
	}
	_, err := run(NativeKernels, "for i in 0..4 { x[i] = 2.0 }", "insert own.c(RW x)\nwait\n")
	if err == nil || !strings.Contains(err.Error(), "c: element 3 is outside `x`, which has 3 elements") {
		t.Errorf("an element out of bounds is %v", err)
	}
}
