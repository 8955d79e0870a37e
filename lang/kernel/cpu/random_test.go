package cpu

import (
	"context"
	"errors"
	"math"
	"regexp"
	"slices"
	"testing"

	"github.com/starpush/starpush/lang/kernel/kerneltest"
)

// randomCase compares the runs of a random body with the reference. It reports whether the
// body faulted, and whether all agreed.
func randomCase(t *testing.T, seed uint64) (faulted, ok bool) {
	b := kerneltest.NewBody(t, seed, false)
	if b == nil {
		return true, !t.Failed()
	}
	src := b.Source
	want, wantErr := b.Reference()
	for name, p := range compiledAll(b.Func) {
		list, read := b.Buffers()
		err := p.Run(context.Background(), list, b.Args)
		var fault *Fault
		if errors.As(err, &fault) != (wantErr != nil) {
			t.Errorf("seed %d, %s: %v, want %v\n%s", seed, name, err, wantErr, src)
			return true, false
		}
		if wantErr != nil {
			continue
		}
		for k, n := range kerneltest.BodyOperands {
			for c, v := range read[k]() {
				w := want[n].Cells[c]
				if v.Int != w.Int || v.Float != w.Float && (v.Float == v.Float || w.Float == w.Float) {
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

// TestRandomBodiesHaveBools counts what random bodies do with elements of type bool.
func TestRandomBodiesHaveBools(t *testing.T) {
	uses := map[string]string{"a vector is read": `\bm\[`, "an element is stored": `(?m)^o\[.* = `, "a variable is stored": `(?m)^h = `,
		"an element is stored again": `(?m)^(o\[.*\]) = o\[.*\] (or|and|!=) `, "an array": `= array\[bool\]`}
	found := map[string]int{}
	for seed := range uint64(100) {
		for _, b := range []*kerneltest.Body{kerneltest.NewBody(t, seed, false), kerneltest.NewLoopsBody(t, seed)} {
			for use, text := range uses {
				if b != nil && regexp.MustCompile(text).MatchString(b.Source) {
					found[use]++
				}
			}
		}
	}
	for use := range uses {
		if found[use] < 5 {
			t.Errorf("%d of 200 bodies have this: %s", found[use], use)
		}
	}
	t.Log(found)
}

// loopsCase compares the plans of a random body of loops: the same data or the same fault.
func loopsCase(t *testing.T, seed uint64) (faulted, ok bool) {
	b := kerneltest.NewLoopsBody(t, seed)
	if b == nil {
		return true, !t.Failed()
	}
	var want []uint64
	wantFault := ""
	for k, p := range []*Program{compile(b.Func, oneByOne), compile(b.Func, cheapest), compile(b.Func, alwaysLast)} {
		list, read := b.Buffers()
		err := p.Run(context.Background(), list, b.Args)
		fault := ""
		var f *Fault
		if errors.As(err, &f) {
			fault = lineCol(f) + " " + f.Error()
		}
		var got []uint64
		for k := range read {
			for _, v := range read[k]() {
				if v.Float != v.Float {
					v.Float = math.NaN() // its bits depend on the order of operands
				}
				got = append(got, v.Int, math.Float64bits(v.Float))
			}
		}
		if k == 0 {
			want, wantFault = got, fault
		} else if fault != wantFault || fault == "" && !slices.Equal(got, want) {
			t.Errorf("seed %d, way %d: ended with %q, and one by one with %q, or with other data\n%s", seed, k, fault, wantFault, b.Source)
			return true, false
		}
	}
	return wantFault != "", true
}

// TestRandomLoops compares random loops in strips with the same one round at a time.
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

// FuzzRandomBodies is TestRandomBodies with other seeds.
func FuzzRandomBodies(f *testing.F) {
	for seed := range uint64(16) {
		f.Add(1e6 + seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { randomCase(t, seed) })
}
