package kernel

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func randomCase(t *testing.T, seed uint64) (faulted, ok bool) {
	b := newBody(t, seed, false)
	if b == nil {
		return true, !t.Failed()
	}
	src, prog := b.src, b.prog
	want := map[string]*refData{}
	for n, d := range b.data {
		want[n] = d.clone()
	}
	wantErr := refRun(b.codelet, want, b.scalars)
	for name, p := range map[string]*Program{"cheapest": prog, "one by one": compile(prog.fn, oneByOne), "strips": compile(prog.fn, alwaysLast)} {
		list, read := b.buffers()
		err := p.Run(context.Background(), list, b.args)
		var fault *Fault
		if errors.As(err, &fault) != (wantErr != nil) {
			t.Errorf("seed %d, %s: %v, want %v\n%s", seed, name, err, wantErr, src)
			return true, false
		}
		if wantErr != nil {
			continue
		}
		for k, n := range randomNames {
			for c, v := range read[k]() {
				w := want[n].cells[c]
				if v.i != w.i || v.f != w.f && (v.f == v.f || w.f == w.f) {
					t.Errorf("seed %d, %s: %s, cell %d is %v, want %v\n%s", seed, name, n, c, v, w, src)
					return false, false
				}
			}
		}
	}
	return wantErr != nil, true
}

func TestRandomBodies(t *testing.T) {
	n := 1500
	if testing.Short() {
		n = 200
	}
	faults := 0
	for seed := range uint64(n) {
		faulted, ok := randomCase(t, seed)
		if !ok {
			return
		}
		if faulted {
			faults++
		}
	}
	if faults == 0 || faults > n/2 {
		t.Errorf("%d of %d bodies faulted", faults, n)
	}
}

// loopsCase runs a body of loops in every way: they end with the same data or the
// same fault.
func loopsCase(t *testing.T, seed uint64) (faulted, ok bool) {
	r := rand.New(rand.NewPCG(seed, 2))
	b := (&generator{Rand: r, elem: map[string]string{}, fault: true, serial: true, blocks: true}).newBody(t, seed)
	if b == nil {
		return true, !t.Failed()
	}
	var want []uint64
	wantFault := ""
	for k, p := range []*Program{compile(b.prog.fn, oneByOne), b.prog, compile(b.prog.fn, alwaysLast)} {
		list, read := b.buffers()
		err := p.Run(context.Background(), list, b.args)
		fault := ""
		var f *Fault
		if errors.As(err, &f) {
			fault = lineCol(f) + " " + f.Error()
		}
		var got []uint64
		for k := range read {
			for _, v := range read[k]() {
				if v.f != v.f {
					v.f = math.NaN() // which one depends on the order of operands
				}
				got = append(got, v.i, math.Float64bits(v.f))
			}
		}
		if k == 0 {
			want, wantFault = got, fault
		} else if fault != wantFault || fault == "" && !slices.Equal(got, want) {
			t.Errorf("seed %d, way %d: ended with %q, and one by one with %q, or with other data\n%s", seed, k, fault, wantFault, b.src)
			return true, false
		}
	}
	return wantFault != "", true
}

// TestRandomLoops holds loops in strips against the same one round at a time.
func TestRandomLoops(t *testing.T) {
	n := 800
	if testing.Short() {
		n = 200
	}
	faults := 0
	for seed := range uint64(n) {
		faulted, ok := loopsCase(t, seed)
		if !ok {
			return
		}
		if faulted {
			faults++
		}
	}
	if faults < n/20 || faults > n*3/4 {
		t.Errorf("%d of %d bodies faulted", faults, n)
	}
}

// FuzzRandomBodies is the same with any seed.
func FuzzRandomBodies(f *testing.F) {
	for seed := range uint64(16) {
		f.Add(1e6 + seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { randomCase(t, seed) })
}
