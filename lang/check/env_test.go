package check

// What tests offer to scripts: a few host codelets and modules, by signature.

import (
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

var blasSigs = []string{
	"fill(x: W dense[T], value: T)", "copy(x: R dense[T], y: W dense[T])", "scal(alpha: T, x: RW dense[T])",
	"axpy(alpha: T, x: R dense[T], y: RW dense[T])", "dot(x: R vector[T], y: R vector[T], acc: RW variable[T])",
	"gemm(A: R matrix[T], B: R matrix[T], C: RW matrix[T], alpha: T = 1, beta: T = 1, ta: string = \"n\", tb: string = \"n\")",
	"syrk(A: R matrix[T], C: RW matrix[T], alpha: T = 1, beta: T = 1, uplo: string = \"l\", ta: string = \"n\")",
	"trsm(A: R matrix[T], B: RW matrix[T], alpha: T = 1, side: string = \"l\", uplo: string = \"l\", ta: string = \"n\", diag: string = \"n\")",
	"potrf(A: RW matrix[T], uplo: string = \"l\")",
}

// hostCodelet makes the object of a host codelet from its signature.
func hostCodelet(t testing.TB, text string) *types.Object {
	t.Helper()
	c, err := syntax.ParseSignature(text)
	if err != nil {
		t.Fatalf("signature %q: %v", text, err)
	}
	k := newChecker(newLoader(nil), &syntax.File{Source: diag.NewSource("host", text)}, &Unit{})
	sig := &types.Signature{Name: c.Name.Name, Result: types.TNone, Text: text, Elems: map[byte][]iface.Elem{}}
	for _, p := range c.Params {
		var pt *types.Type
		if p.Type.Name.Name == "dense" {
			pt = &types.Type{Kind: types.Dense, Param: p.Type.Elem.Name.Name[0]}
		} else {
			pt = k.resolve(p.Type, true)
		}
		sig.Params = append(sig.Params, types.Param{Name: p.Name.Name, Mode: p.Mode, Type: pt, HasDefault: p.Default != nil})
	}
	return &types.Object{Name: c.Name.Name, Kind: types.CodeletObject, Type: types.TNone, Sig: sig, Kinds: []string{"cpu"}}
}

func hostFunc(t testing.TB, text string) *types.Object {
	t.Helper()
	f, err := syntax.ParseFuncSignature(text)
	if err != nil {
		t.Fatalf("signature %q: %v", text, err)
	}
	k := newChecker(newLoader(nil), &syntax.File{Source: diag.NewSource("host", text)}, &Unit{})
	sig := &types.Signature{Name: f.Name.Name, Result: types.TNone, Text: text}
	if f.Result != nil {
		sig.Result = k.resolve(f.Result, true)
	}
	for _, p := range f.Params {
		sig.Params = append(sig.Params, types.Param{Name: p.Name.Name, Type: k.resolve(p.Type, true), HasDefault: p.Default != nil})
	}
	return &types.Object{Name: f.Name.Name, Kind: types.FuncObject, Type: types.TNone, Sig: sig}
}

// testEnv offers std/blas, the host codelets parse and clip, the function now,
// the filter stripes, and the files below dir.
func testEnv(t testing.TB, dir string) *Env {
	blas := &types.Module{Name: "std/blas", Members: map[string]*types.Object{}}
	for _, s := range blasSigs {
		o := hostCodelet(t, s)
		o.Sig.Elems['T'] = []iface.Elem{iface.F32, iface.F64}
		blas.Members[o.Name] = o
	}
	stripes := hostFunc(t, "stripes(A: matrix[T], p: int) -> matrix[T]")
	stripes.Kind = types.FilterObject
	return &Env{
		Codelets: []*types.Object{hostCodelet(t, "parse(raw: R vector[u8], rows: W vector[f64])"), hostCodelet(t, "clip(v: RW vector[f32], lo: f32, hi: f32)")},
		Funcs:    []*types.Object{hostFunc(t, "now() -> float")},
		Filters:  []*types.Object{stripes},
		Modules:  map[string]*types.Module{"std/blas": blas},
		Load: func(p string, from *diag.Source) (*diag.Source, error) {
			name := path.Join(path.Dir(from.Name), p)
			b, err := os.ReadFile(path.Join(dir, name))
			if err != nil {
				return nil, &notFound{name}
			}
			return diag.NewSource(name, string(b)), nil
		},
	}
}

type notFound struct{ name string }

func (e *notFound) Error() string        { return "no such file: " + e.name }
func (e *notFound) Is(target error) bool { return target == fs.ErrNotExist }
func (e *notFound) Near() []string       { return []string{strings.TrimSuffix(e.name, ".spu") + "s.spu"} }

// render is the text of diagnostics as a file shows it.
func render(t testing.TB, ds diag.Diagnostics) string {
	t.Helper()
	var b strings.Builder
	if err := ds.Render(&b, diag.Style{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
