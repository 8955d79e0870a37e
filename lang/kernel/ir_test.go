package kernel

// The representation that bodies are lowered to, and that nothing breaks it.

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
)

// TestLowering compares the representation of the examples, of T as f32, with
// testdata/examples.ir. STARPUSH_UPDATE=1 writes it anew.
func TestLowering(t *testing.T) {
	text, err := os.ReadFile("testdata/examples.spu")
	if err != nil {
		t.Fatal(err)
	}
	f, cs := codelets(t, "examples.spu", string(text))
	var b strings.Builder
	for _, c := range cs {
		fn, _ := Lower(f, c, signature(c), map[byte]iface.Elem{'T': iface.F32})
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

// FuzzSource checks, compiles and runs whatever parses: nothing may panic, and
// what runs ends with its context.
func FuzzSource(f *testing.F) {
	text, err := os.ReadFile("testdata/examples.spu")
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range strings.Split(string(text), "\ncodelet ")[1:] {
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
	sig := signature(c)
	for _, p := range sig.Params {
		if (p.Mode != iface.NoMode) != p.Type.IsHandle() {
			return // refused with the signature
		}
	}
	if Check(file, c, sig).Err() != nil {
		return
	}
	for _, e := range []iface.Elem{iface.F64, iface.F32, iface.U8, iface.I64} {
		targs := map[byte]iface.Elem{}
		for _, p := range sig.Params {
			if p.Type.Param != 0 {
				targs[p.Type.Param] = e
			}
		}
		prog, err := Compile(file, c, sig, targs)
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
			d := &refData{elem: "f64", rank: p.Type.Data().Rank(), rows: 5, cols: 4, cells: make([]refValue, 20)}
			if p.Type.Data() == iface.Void {
				list = append(list, &iface.Buffer{Desc: iface.Desc{Kind: iface.Void}})
				continue
			}
			d.elem = p.Type.Elem.String()
			if p.Type.Param != 0 {
				d.elem = e.String()
			}
			d.cells = d.cells[:[]int{1, 5, 20}[d.rank]]
			b, _ := refBuffer(d)
			list = append(list, b)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		err = prog.Run(ctx, list, args)
		cancel()
		var fault *Fault
		if err != nil && !errors.As(err, &fault) && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v\n%s", err, file.Source.Text)
		}
	}
}

// TestHash: what computes the same has the same hash, whatever it looks like.
func TestHash(t *testing.T) {
	hash := func(text string, elem iface.Elem) string {
		t.Helper()
		f, cs := codelets(t, "h.spu", text)
		p, err := Compile(f, cs[0], signature(cs[0]), map[byte]iface.Elem{'T': elem})
		if err != nil {
			t.Fatal(err)
		}
		return p.Hash()
	}
	const text = "codelet k(x: RW vector[T]) { each i in x { x[i] *= 2 } }\n"
	want := hash(text, iface.F32)
	if got := hash("## doc\n\ncodelet k(x: RW vector[T]) {\n    each i in x { x[i] *= 2 } # twice\n}\n", iface.F32); got != want {
		t.Errorf("layout changes the hash: %s, %s", got, want)
	}
	for _, other := range []string{hash(text, iface.F64), hash(strings.Replace(text, "2", "3", 1), iface.F32)} {
		if other == want || len(other) != len(want) {
			t.Errorf("another kernel has the hash %s", other)
		}
	}
}
