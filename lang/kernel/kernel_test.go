package kernel_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel"
	"github.com/starpush/starpush/lang/kernel/cpu"
	"github.com/starpush/starpush/lang/kernel/kerneltest"
	"github.com/starpush/starpush/lang/syntax"
)

func TestExamplesAreClean(t *testing.T) {
	f, cs := kerneltest.Codelets(t, "examples.spu", kerneltest.Examples)
	if len(cs) < 30 {
		t.Errorf("only %d codelets", len(cs))
	}
	for _, c := range cs {
		if ds := kernel.Check(f, c, kerneltest.Signature(c), nil); len(ds) > 0 {
			t.Errorf("%s:\n%s", c.Name.Name, kerneltest.Show(ds))
		}
		for _, e := range iface.RealElems {
			if _, err := kernel.Compile(f, c, kerneltest.Signature(c), map[byte]iface.Elem{'T': e}, kernel.Options{Mode: kernel.Strips}); err != nil {
				t.Errorf("%s for %v: %v", c.Name.Name, e, err)
			}
		}
	}
}

// TestElementTypeErrors: errors that depend on the element types are found with them.
func TestElementTypeErrors(t *testing.T) {
	f, cs := kerneltest.Codelets(t, "t.spu", "codelet half(v: RW vector[T]) {\n    each i in v { v[i] = 0.5 * v[i] }\n}\n")
	sig := kerneltest.Signature(cs[0])
	if ds := kernel.Check(f, cs[0], sig, nil); len(ds) > 0 {
		t.Fatal(ds)
	}
	for _, e := range iface.RealElems {
		_, err := kernel.Compile(f, cs[0], sig, map[byte]iface.Elem{'T': e}, kernel.Options{Mode: kernel.Strips})
		if e.IsFloat() != (err == nil) {
			t.Errorf("%v: %v", e, err)
		}
		if err == nil {
			continue
		}
		ds, ok := err.(diag.Diagnostics)
		if !ok || len(ds) != 1 || ds[0].Code != "E0703" || ds[0].Span.Start.Line != 2 || len(ds[0].Notes) != 1 {
			t.Errorf("%v: %v", e, err)
		}
	}
	if _, err := kernel.Compile(f, cs[0], sig, nil, kernel.Options{Mode: kernel.Strips}); err == nil {
		t.Error("no element type, and no error")
	}
}

// FuzzSource checks, compiles and runs every source that parses: nothing may panic, and a run
// ends with its context.
func FuzzSource(f *testing.F) {
	for _, c := range strings.Split(kerneltest.Examples, "\ncodelet ")[1:] {
		f.Add("codelet " + c)
	}
	f.Add("codelet c(x: R vector[T], y: RW vector[T], v: RW variable[i8], e: W void, s: string, b: bool) {\nlet q = 1\nfor k in 0..=3 { if b { q = k // 2 } else { each i in 1..y.n { y[i] = int(x[i - 1]) ** 2 % 3 } } }\nv = q + min i, j in 0..2, 0..q { select(i > j, fma(1.0, i, j), pi) }\n}")
	f.Fuzz(func(t *testing.T, src string) {
		file, ds := syntax.Parse(diag.NewSource("f.spu", src))
		if ds.Err() != nil {
			return
		}
		for _, s := range file.Stmts {
			c, ok := s.(*syntax.Codelet)
			if !ok || c.Body == nil {
				continue
			}
			fuzzCodelet(t, file, c)
		}
	})
}

func fuzzCodelet(t *testing.T, file *syntax.File, c *syntax.Codelet) {
	for _, p := range c.Params {
		for te := p.Type; te != nil; te = te.Elem {
			if te.Name == nil || te.Name.Name == "" {
				return
			}
		}
	}
	sig := kerneltest.Signature(c)
	for _, p := range sig.Params {
		if (p.Mode != iface.NoMode) != p.Type.IsHandle() {
			return // the checker refuses the signature
		}
	}
	if kernel.Check(file, c, sig, nil).Err() != nil {
		return
	}
	for _, e := range []iface.Elem{iface.F64, iface.F32, iface.U8, iface.I64} {
		targs := map[byte]iface.Elem{}
		for _, p := range sig.Params {
			if p.Type.Param != 0 {
				targs[p.Type.Param] = e
			}
		}
		prog, err := kernel.Compile(file, c, sig, targs, kernel.Options{Mode: kernel.Strips})
		if err != nil {
			continue
		}
		var list []*iface.Buffer
		var args []iface.Scalar
		for _, p := range sig.Params {
			if p.Mode == iface.NoMode {
				args = append(args, iface.Int(3))
				continue
			}
			d := &kerneltest.Data{Elem: "f64", Rank: p.Type.Data().Rank(), Rows: 5, Cols: 4, Cells: make([]kerneltest.Value, 20)}
			if p.Type.Data() == iface.Void {
				list = append(list, &iface.Buffer{Desc: iface.Desc{Kind: iface.Void}})
				continue
			}
			d.Elem = p.Type.Elem.String()
			if p.Type.Param != 0 {
				d.Elem = e.String()
			}
			d.Cells = d.Cells[:[]int{1, 5, 20}[d.Rank]]
			b, _ := kerneltest.DataBuffer(d)
			list = append(list, b)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		_, err = prog.RunTask(&kerneltest.Task{Ctx: ctx, Bufs: list, Scalars: args}, nil)
		cancel()
		var fault *cpu.Fault
		if err != nil && !errors.As(err, &fault) && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v\n%s", err, file.Source.Text)
		}
	}
}
