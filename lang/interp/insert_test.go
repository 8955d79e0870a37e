package interp

import (
	"context"
	"io"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel"
)

// runOnce runs a script that inserts, and leaves its last loop as it was in the
// last round.
func runOnce(t testing.TB, src string) *Machine {
	t.Helper()
	checked, ds := check.Check(&check.Env{}, diag.NewSource("bench.spu", src))
	if err := ds.Err(); err != nil {
		t.Fatal(err)
	}
	p, err := Compile(checked, kernel.Options{Mode: kernel.Strips})
	if err != nil {
		t.Fatal(err)
	}
	rt, err := engine.New(engine.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	m, err := Start(context.Background(), p, &Config{Runtime: rt, Stdout: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

const (
	insertTop = `
codelet rrw(a: R vector[f32], b: R vector[f32], c: RW vector[f32]) { }
register v = [vector[f32](16, fill = 0) for i in 0..64]
let x = [(7 * i) % 64 for i in 0..64]
for i in 0..21 { insert rrw(R v[x[3 * i]], R v[x[3 * i + 1]], RW v[x[3 * i + 2]]) }
`
	insertFunc = `
codelet rrw(a: R vector[f32], b: R vector[f32], c: RW vector[f32]) { }
register v = [vector[f32](16, fill = 0) for i in 0..64]
let x = [(7 * i) % 64 for i in 0..64]
func f() {
    for i in 0..21 { insert rrw(R v[x[3 * i]], R v[x[3 * i + 1]], RW v[x[3 * i + 2]]) }
}
f()
`
	insertTiles = `
codelet gemm(A: R matrix[f32], B: R matrix[f32], C: RW matrix[f32], alpha: f32) { }
register A = matrix[f32](64, 64, fill = 0)
partition t = A by tiles(8, 8)
for k in 0..8 {
    for m in k + 1..8 {
        for j in k + 1..m { insert gemm(R t[m, k], R t[j, k], RW t[m, j], -1.0) }
    }
}
`
	insertBlocks = `
codelet step(a: R vector[f32], b: RW vector[f32], k: int) { }
register x, y = vector[f32](64, fill = 0)
partition x by blocks(8)
partition y by blocks(8)
for k in 0..3 {
    for i in 0..8 { insert step(R x[i], RW y[i], k) }
}
`
)

var inserts = []struct{ name, src string }{{"top", insertTop}, {"func", insertFunc}, {"tiles", insertTiles}, {"blocks", insertBlocks}}

// lastInsert runs a script and returns what evaluates its last insert again,
// without submitting anything.
func lastInsert(t testing.TB, src string) func() *siteState {
	m := runOnce(t, src)
	s := m.sites[len(m.sites)-1].spec.Origin.Site.Data.(*insertSite)
	f := m.units[0]
	if len(m.stack) > 0 {
		f = m.stack[0]
	}
	return func() *siteState { st, _ := m.describe(f, s); return st }
}

// An insert makes no garbage.
func TestInsertAllocates(t *testing.T) {
	for _, c := range inserts {
		describe := lastInsert(t, c.src)
		if n := testing.AllocsPerRun(1000, func() { describe() }); n != 0 {
			t.Errorf("%s: %v allocations for an insert", c.name, n)
		}
	}
}

// TestInsertConstants: constants stored once for a site are in every task of it.
func TestInsertConstants(t *testing.T) {
	st := lastInsert(t, insertTiles)()
	if got := st.spec.Args[0].Float(); got != -1 {
		t.Errorf("alpha is %v, want -1", got)
	}
	for k, want := range []iface.AccessMode{iface.R, iface.R, iface.RW} {
		if got := st.spec.Operands[k].Mode; got != want {
			t.Errorf("operand %d is %v, want %v", k, got, want)
		}
	}
}

// BenchmarkDescribe is what the interpreter does for one insert.
func BenchmarkDescribe(b *testing.B) {
	for _, c := range inserts {
		b.Run(c.name, func(b *testing.B) {
			describe := lastInsert(b, c.src)
			b.ReportAllocs()
			for b.Loop() {
				describe()
			}
		})
	}
}
