package cpu

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starpush/starpush/lang/kernel/kerneltest"
)

// TestFoldInBothSides: if all rounds take the side of a choice that is a fold, its result is in
// the memory of the whole expression, and the next operation does not overwrite it.
func TestFoldInBothSides(t *testing.T) {
	text := `codelet c(x: R vector[f64], y: RW vector[i64]) {
    each i in y { y[i] = (if x[i] > 100 then i else (sum k in 0..2 { y[i] + k })) + 3 * select(x[i] >= 2, i * 2, y[i]) }
}`
	for name, p := range plans(t, text, nil) {
		x, y := []float64{1, 5, 2}, []int64{5, 7, 9}
		if err := p.Run(context.Background(), kerneltest.Buffers(kerneltest.VectorOf(x), kerneltest.VectorOf(y)), nil); err != nil {
			t.Fatal(err)
		}
		if want := []int64{26, 21, 31}; !slices.Equal(y, want) {
			t.Errorf("%s: %v, want %v", name, y, want)
		}
	}
}

// TestSumAccuracy: a sum of many small floats is close to the exact one.
func TestSumAccuracy(t *testing.T) {
	const n = 1 << 20
	x := make([]float32, n)
	exact := 0.0
	for k := range x {
		x[k] = 1 / float32(k%97+1)
		exact += float64(x[k])
	}
	var v float32
	run(t, compileOne(t, "codelet c(x: R vector[f32], v: W variable[f32]) { v = sum i in x { x[i] } }", nil), kerneltest.Buffers(kerneltest.VectorOf(x), kerneltest.VariableOf(&v)))
	if d := math.Abs(float64(v)-exact) / exact; d > 1e-6 {
		t.Errorf("sum is %v, exact %v: off by %g", v, exact, d)
	}
}

// TestLongSums: a long sum of products runs in strips.
func TestLongSums(t *testing.T) {
	terms := make([]string, 400)
	for k := range terms {
		terms[k] = fmt.Sprintf("x[i] * y[i] * %d", k%5)
	}
	p := compileOne(t, "codelet c(x: R vector[f64], y: RW vector[f64]) { each i in y { y[i] = "+strings.Join(terms, " + ")+" } }", nil)
	if p.temps < 2 || p.temps > 40 {
		t.Errorf("%d strips", p.temps)
	}
	x, y := []float64{1, 2, 3}, []float64{1, 1, 2}
	run(t, p, kerneltest.Buffers(kerneltest.VectorOf(x), kerneltest.VectorOf(y)))
	if d := cmp.Diff([]float64{800, 1600, 4800}, y); d != "" {
		t.Error(d)
	}
}

// TestNestedFolds: folds inside folds that cannot run in strips compile in linear time.
func TestNestedFolds(t *testing.T) {
	deep := "(" + strings.Repeat("if x[a] > 5.0 then 2.0 else ", 40) + "1.0)"
	body := "1.0"
	for range 30 {
		body = "(sum a in 0..1 { " + body + " + " + deep + " })"
	}
	src := "codelet c(x: R vector[f64], y: RW vector[f64]) { each i in y { y[i] = " + body + " } }"
	p := compileOne(t, src, nil)
	x, y := []float64{3}, []float64{0}
	run(t, p, kerneltest.Buffers(kerneltest.VectorOf(x), kerneltest.VectorOf(y)))
	if want := 31.0; y[0] != want {
		t.Errorf("%v, want %v", y[0], want)
	}
}

// TestFoldOrder: the same sizes give the same bits at every alignment of the data.
func TestFoldOrder(t *testing.T) {
	p := example(t, "ex3_dot", nil)["cheapest"]
	const n = 4097
	mem := make([]float64, n+16)
	var first uint64
	for shift := range 16 {
		x := mem[shift:][:n]
		for i := range x {
			x[i] = math.Sqrt(float64(i)) * 1e-3
		}
		acc := 0.0
		run(t, p, kerneltest.Buffers(kerneltest.VectorOf(x), kerneltest.VectorOf(x), kerneltest.VariableOf(&acc)))
		if bits := math.Float64bits(acc); shift == 0 {
			first = bits
		} else if bits != first {
			t.Fatalf("shifted by %d elements the sum is %v", shift, acc)
		}
	}
	if !strings.Contains(p.IR().Name, "dot") {
		t.Error(p.IR().Name)
	}
}
