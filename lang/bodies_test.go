package lang

import (
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
