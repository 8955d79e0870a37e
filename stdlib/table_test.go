package stdlib

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
)

// TestTable: every line is complete, and is what it says.
func TestTable(t *testing.T) {
	form := regexp.MustCompile(`^[a-z][a-z0-9_]*\((alpha: T, )?[A-Za-z]+: (R|W|RW) (variable|vector|matrix|dense|any|csr)\[(T|U|i64)\].*\)$`)
	names := map[string]bool{}
	for mod, m := range Modules() {
		if m.Doc == "" {
			t.Errorf("%s has no documentation", mod)
		}
		for _, c := range m.Codelets {
			id := mod + "." + c.Name
			if names[id] {
				t.Errorf("%s is there twice", id)
			}
			names[id] = true
			if !form.MatchString(c.Signature) || !strings.HasPrefix(c.Signature, c.Name+"(") {
				t.Errorf("%s: signature %s", id, c.Signature)
			}
			if c.Kernel == nil || c.Kernel() == "" {
				t.Errorf("%s: does not tell its kernels from others of the name", id)
			}
			if c.Doc == "" || !strings.HasSuffix(c.Doc, ".") {
				t.Errorf("%s: documentation %q", id, c.Doc)
			}
			if len(c.CPU) == 0 || c.Shape == nil {
				t.Errorf("%s: %d implementations, rule %v", id, len(c.CPU), c.Shape != nil)
			}
			if want := strings.Count(c.Signature, ": R ") + strings.Count(c.Signature, ": W ") + strings.Count(c.Signature, ": RW ") + 2*strings.Count(c.Signature, " csr["); len(c.Modes) != want || slices.Contains(c.Modes, iface.NoMode) {
				t.Errorf("%s: modes %v", id, c.Modes)
			}
		}
	}
	for _, id := range strings.Fields(`fill copy swap scal axpy dot asum nrm2sq nrm2 iamax gemv ger trsv gemm contract symm syrk trmm trsm
		potrf getrf_nopiv getrs_nopiv transpose`) {
		if !names["std/blas."+id] {
			t.Errorf("std/blas lacks %s", id)
		}
	}
	for _, id := range strings.Fields("sum prod min max count histogram argmax") {
		if !names["std/reduce."+id] {
			t.Errorf("std/reduce lacks %s", id)
		}
	}
	for _, id := range strings.Fields("spmv spmm trsv levels trsv_level add transpose dense diagonal scale jacobi ilu0 rcm reorder permute unpermute") {
		if !names["std/sparse."+id] {
			t.Errorf("std/sparse lacks %s", id)
		}
	}
	if !names["std/random.uniform"] || !names["std/random.normal"] {
		t.Error("std/random lacks a codelet")
	}
}

// TestModulesAreCopies: a caller that changes its map changes no other's.
func TestModulesAreCopies(t *testing.T) {
	m := Modules()
	blas := m["std/blas"]
	n := len(blas.Codelets)
	blas.Codelets[0], blas.Doc = nil, ""
	delete(m, "std/reduce")
	if again := Modules(); len(again["std/blas"].Codelets) != n || again["std/blas"].Codelets[0] == nil || again["std/blas"].Doc == "" || again["std/reduce"] == nil {
		t.Error("Modules shares its map")
	}
}

// TestArguments: the order of operands and scalars as the signature has it.
func TestArguments(t *testing.T) {
	e := lookup(t, "std/blas", "trsm")
	if got := strings.Join(e.args, " "); got != "alpha side uplo ta diag" {
		t.Errorf("scalars %s", got)
	}
	if len(e.ops) != 2 || e.ops[0].name != "A" || e.ops[0].mode != iface.R || e.ops[1].mode != iface.RW || e.ops[1].kind != "matrix" || e.ops[1].param != 'T' {
		t.Errorf("operands %+v", e.ops)
	}
	if e.flagArg != [numFlags]int8{1, 2, 3, -1, 4} {
		t.Errorf("flags %v", e.flagArg)
	}
	if e = lookup(t, "std/blas", "iamax"); e.ops[1].elem != iface.I64 || e.ops[1].param != 0 {
		t.Errorf("operands %+v", e.ops)
	}
}

// TestFlops: estimates of the classic ones, by hand.
func TestFlops(t *testing.T) {
	a, b, c := dense[float64](3, 4, 4, nil).Desc, dense[float64](4, 5, 5, nil).Desc, dense[float64](3, 5, 5, nil).Desc
	for _, x := range []struct {
		name string
		ops  []iface.Desc
		args []iface.Scalar
		want float64
	}{
		{"gemm", []iface.Desc{a, b, c}, []iface.Scalar{num(1), num(1), str("n"), str("n")}, 2 * 3 * 4 * 5},
		{"gemm", []iface.Desc{b, a, c}, []iface.Scalar{num(1), num(1), str("t"), str("t")}, 2 * 3 * 5 * 4},
		{"potrf", []iface.Desc{dense[float64](6, 6, 6, nil).Desc}, []iface.Scalar{str("l")}, 72},
		{"getrf_nopiv", []iface.Desc{dense[float64](6, 6, 6, nil).Desc}, nil, 2. / 3 * 216},
	} {
		for _, k := range Modules()["std/blas"].Codelets {
			if k.Name == x.name {
				if got := k.Flops(x.ops, x.args); got < x.want*0.999 || got > x.want*1.001 {
					t.Errorf("%s: %v flops, want %v", x.name, got, x.want)
				}
			}
		}
	}
}
