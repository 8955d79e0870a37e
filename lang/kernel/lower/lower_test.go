package lower_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/kernel/kerneltest"
	"github.com/starpush/starpush/lang/kernel/lower"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// TestLowering compares the representation of the examples, of T as f32, with
// testdata/examples.ir. STARPUSH_UPDATE=1 writes it anew.
func TestLowering(t *testing.T) {
	f, cs := kerneltest.Codelets(t, "examples.spu", kerneltest.Examples)
	var b strings.Builder
	for _, c := range cs {
		fn, _ := lower.Concrete(f, c, kerneltest.Signature(c), map[byte]iface.Elem{'T': iface.F32})
		b.WriteString(fn.String())
	}
	const golden = "testdata/examples.ir"
	if os.Getenv("STARPUSH_UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Error(d)
	}
}

// TestAnnotations: Generic gives every name of a body its object, and every expression its
// type.
func TestAnnotations(t *testing.T) {
	f, cs := kerneltest.Codelets(t, "t.spu", `codelet c(a: T, n: int, x: R vector[T], y: RW vector[f32], acc: RW variable[f64]) {
    let m = min(n, x.n)
    each i in 0..m {
        let q = (x[i] + 1) * a
        if i > 2 and not (y[i] == 0.0) { y[i] += float(q) }
    }
    acc = max(acc, max i in y { if y[i] > 0.5 then sqrt(y[i]) else 0.0 })
}
`)
	if _, ds := lower.Generic(f, cs[0], kerneltest.Signature(cs[0]), nil); len(ds) > 0 {
		t.Fatal(ds)
	}
	kinds := map[string]types.ObjectKind{"a": types.ScalarObject, "x": types.OperandObject, "m": types.KernelLet, "i": types.EachVar,
		"q": types.KernelLet, "acc": types.OperandObject, "min": types.BuiltinFunc}
	seen := 0
	var expr func(e syntax.Expr)
	expr = func(e syntax.Expr) {
		if e == nil {
			return
		}
		if e.Type() == nil {
			t.Errorf("%s has no type", ir.SourceText(f.Source, e.Range()))
		}
		switch e := e.(type) {
		case *syntax.Ident:
			if e.Obj == nil {
				t.Errorf("%s has no object", e.Name)
			} else if k, ok := kinds[e.Name]; ok && e.Obj.Kind != k {
				t.Errorf("%s is of kind %v", e.Name, e.Obj.Kind)
			}
			seen++
		case *syntax.Paren:
			expr(e.X)
		case *syntax.Unary:
			expr(e.X)
		case *syntax.Binary:
			expr(e.X)
			expr(e.Y)
		case *syntax.Cond:
			expr(e.If)
			expr(e.Then)
			expr(e.Else)
		case *syntax.Index:
			expr(e.X)
			for _, a := range e.Args {
				expr(a)
			}
		case *syntax.Call:
			expr(e.Fn)
			for _, a := range e.Args {
				expr(a.Value)
			}
		case *syntax.Selector:
			expr(e.X)
		case *syntax.Fold:
			for _, d := range e.Domain {
				expr(d)
			}
			expr(e.Body)
		case *syntax.RangeExpr:
			expr(e.Lo)
			expr(e.Hi)
		}
	}
	var stmts func(list []syntax.Stmt)
	stmts = func(list []syntax.Stmt) {
		for _, s := range list {
			switch s := s.(type) {
			case *syntax.Let:
				expr(s.Name)
				expr(s.Value)
			case *syntax.Assign:
				expr(s.Target)
				expr(s.Value)
			case *syntax.If:
				expr(s.Cond)
				stmts(s.Then.Stmts)
			case *syntax.Each:
				for _, d := range s.Domain {
					expr(d)
				}
				stmts(s.Body.Stmts)
			}
		}
	}
	stmts(cs[0].Body.Stmts)
	if seen < 20 {
		t.Errorf("only %d names seen", seen)
	}
}

// TestStatementsOfOtherTrees: the parser refuses these, but trees of other origin may have them.
func TestStatementsOfOtherTrees(t *testing.T) {
	f, cs := kerneltest.Codelets(t, "t.spu", "codelet c(v: RW variable[f64]) { v = v + 1.0 }\n")
	set := cs[0].Body.Stmts[0].(*syntax.Assign)
	for _, s := range []syntax.Stmt{&syntax.ExprStmt{X: set.Value}, &syntax.Break{}, &syntax.Assert{}, &syntax.Return{}} {
		cs[0].Body.Stmts[0] = s
		if _, ds := lower.Generic(f, cs[0], kerneltest.Signature(cs[0]), nil); len(ds) == 0 || ds[0].Code != "E0105" {
			t.Errorf("%T: %v", s, ds)
		}
	}
}

func TestOuterNames(t *testing.T) {
	f, cs := kerneltest.Codelets(t, "t.spu", "codelet c(v: RW variable[f64]) { v = far }\n")
	_, ds := lower.Generic(f, cs[0], kerneltest.Signature(cs[0]), func(name string) *types.Object {
		if name == "far" {
			return &types.Object{Name: name, Kind: types.LetObject, Type: types.TFloat}
		}
		return nil
	})
	if len(ds) != 1 || ds[0].Code != "E0604" || len(ds[0].Help) != 1 || ds[0].Help[0] != "pass it as an operand: `far: float`" {
		t.Error(kerneltest.Show(ds))
	}
}

// TestInlined: a func that is one expression becomes part of the expression that calls it, and
// other funcs become statements before the statement that does, or in a branch of it.
func TestInlined(t *testing.T) {
	const funcs = `func square(x: float) -> float { return x * x }
func pick(x: float) -> float {
    if x < 0.0 { return -x }
    return x
}
func steps(n: int) -> int {
    let k = n
    for i in 0..9 {
        if k < 2 { return i }
        k = k // 2
    }
    return -1
}
`
	for _, tt := range []struct{ body, want string }{
		{"v = sum i in x { square(x[i]) }", "store v = fold.add.f64(i.0 in 0..x.n: mul.f64(x[i.0], x[i.0]))"},
		{"v = square(v)", "store v = mul.f64(v, v)"},
		{"v = pick(x[0])", "let x.0 = x[0]\n  store v = cond.f64(lt.f64(x.0, f64(0)), neg.f64(x.0), x.0)"},
		{"if v > 0.0 and steps(3) > 1 { v = 0.0 }", "let and.4 = gt.f64(v, f64(0))\n  if and.4\n    let steps.0 = 0\n"},
		{"v = if v > 0.0 then float(steps(3)) else 1.0", "if gt.f64(v, f64(0))\n    let steps.0 = 0\n"},
		{"v = float(steps(3))", "if lt.i64(k.1, 2)\n        set steps.0 = i.2\n        set done.3 = true\n      else\n        set k.1 = floordiv.i64(k.1, 2)"},
	} {
		fn := kerneltest.Lowered(t, funcs+"codelet c(x: R vector[f64], v: RW variable[f64]) { "+tt.body+" }\n", nil)
		if got := fn.String(); !strings.Contains(got, tt.want) {
			t.Errorf("%s\n got\n%s want\n%s", tt.body, got, tt.want)
		}
	}
}

// TestJumps: what a jump passes over is in the other branch of its if, or in an if of its own.
func TestJumps(t *testing.T) {
	for _, tt := range []struct{ body, want string }{
		{"each i in x { if x[i] < 0.0 { continue }\nx[i] = 1.0 }", `
  each i.0 in 0..x.n
    if lt.f64(x[i.0], f64(0))
    else
      store x[i.0] = f64(1)
`},
		{"for i in 0..x.n { if x[i] < 0.0 { x[0] = 3.0\nbreak }\nx[i] = 1.0 }", `
  let broken.1 = false
  for i.0 in 0..x.n while not.bool(broken.1)
    if not.bool(broken.1)
      if lt.f64(x[i.0], f64(0))
        store x[0] = f64(3)
        set broken.1 = true
      else
        store x[i.0] = f64(1)
`},
		{"while x[0] < 9.0 { if x[1] > 0.0 { if x[2] > 0.0 { continue } }\nx[0] = 1.0 }", `
  let more.0 = true
  for round.2 in 0..9223372036854775807 while more.0
    set more.0 = lt.f64(x[0], f64(9))
    if more.0
      let over.1 = false
      if gt.f64(x[1], f64(0))
        if gt.f64(x[2], f64(0))
          set over.1 = true
      if not.bool(over.1)
        store x[0] = f64(1)
`},
	} {
		fn := kerneltest.Lowered(t, "codelet c(x: RW vector[f64]) { "+tt.body+" }\n", nil)
		if got := fn.String(); !strings.Contains(got, tt.want) {
			t.Errorf("%s\n got\n%s want\n%s", tt.body, got, tt.want)
		}
	}
}
