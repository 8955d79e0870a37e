package llvm

import (
	"context"
	"errors"
	"flag"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/starpush/starpush/lang/kernel/cpu"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/kernel/kerneltest"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "the first seed of random bodies")
	countFlag = flag.Int("bodies", 60, "the number of random bodies of each kind")
	soakFlag  = flag.Duration("soak", 0, "the time for random bodies of each kind, instead of their number")
)

// library returns the LLVM library of the machine. Without one the test is skipped, unless the
// environment variable STARPUSH_NEED_LLVM is set.
func library(t testing.TB) *Library {
	t.Helper()
	l, err := Open()
	if err != nil {
		if os.Getenv("STARPUSH_NEED_LLVM") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return l
}

// compile compiles a body, without a cache.
func compile(l *Library, fn *ir.Func) (*Kernel, error) {
	b, err := NewBody(fn)
	if err != nil {
		return nil, err
	}
	return b.Compile(l, NewCache(""))
}

// outcome is what a run left: the values of the operands, or a fault.
type outcome struct {
	cells []uint64
	fault string
	where [2]int // of the fault
}

// outcomeOf runs a random body.
func outcomeOf(t *testing.T, b *kerneltest.Body, run func(task *kerneltest.Task) error) outcome {
	t.Helper()
	list, read := b.Buffers()
	err := run(&kerneltest.Task{Ctx: context.Background(), Bufs: list, Scalars: b.Args})
	var f *cpu.Fault
	if errors.As(err, &f) {
		return outcome{fault: f.Error(), where: [2]int{f.Span.Start.Line, f.Span.Start.Col}}
	}
	if err != nil {
		t.Fatal(err)
	}
	var o outcome
	for k := range read {
		for _, v := range read[k]() {
			if v.Float != v.Float {
				v.Float = math.NaN() // its bits depend on the order of operands
			}
			o.cells = append(o.cells, v.Int, math.Float64bits(v.Float))
		}
	}
	return o
}

// compareBody runs a random body as machine code and in strips. The same faults are expected
// if exact holds; otherwise, a fault of any round. It reports whether the body was compiled.
func compareBody(t *testing.T, l *Library, seed uint64, b *kerneltest.Body, exact bool) (compiled, faulted bool) {
	t.Helper()
	k, err := compile(l, b.Func)
	if err != nil {
		if strings.HasPrefix(err.Error(), "no machine code for") {
			return false, false
		}
		t.Fatalf("seed %d: %v\n%s", seed, err, b.Source)
	}
	p := cpu.Compile(b.Func)
	want := outcomeOf(t, b, func(task *kerneltest.Task) error { return p.RunTask(task, nil) })
	got := outcomeOf(t, b, func(task *kerneltest.Task) error { return k.Run(task) })
	switch {
	case (got.fault != "") != (want.fault != ""), exact && (got.fault != want.fault || got.where != want.where):
		t.Fatalf("seed %d: the fault is %q at %v, and in strips %q at %v\n%s", seed, got.fault, got.where, want.fault, want.where, b.Source)
	case want.fault == "":
		for i := range want.cells {
			if got.cells[i] != want.cells[i] {
				t.Fatalf("seed %d: cell %d is %x, and in strips %x\n%s", seed, i/2, got.cells[i], want.cells[i], b.Source)
			}
		}
	}
	return true, want.fault != ""
}

// randomBodies compares bodies that make returns with strips: a fixed number of them, or as many
// as the flag -soak has time for.
func randomBodies(t *testing.T, make func(t *testing.T, seed uint64) *kerneltest.Body, exact bool) {
	l := library(t)
	compiled, faults, bodies := 0, 0, 0
	begin := time.Now()
	for seed := *seedFlag; ; seed++ {
		if *soakFlag > 0 && time.Since(begin) > *soakFlag || *soakFlag == 0 && bodies == *countFlag {
			break
		}
		bodies++
		b := make(t, seed)
		if b == nil {
			continue
		}
		c, f := compareBody(t, l, seed, b, exact)
		if c {
			compiled++
		}
		if f {
			faults++
		}
	}
	t.Logf("%d bodies from seed %d on, %d of them with machine code, %d faulted", bodies, *seedFlag, compiled, faults)
	if compiled < bodies/3 {
		t.Errorf("only %d of %d bodies have machine code", compiled, bodies)
	}
}

func TestRandomBodies(t *testing.T) {
	randomBodies(t, func(t *testing.T, seed uint64) *kerneltest.Body { return kerneltest.NewBody(t, seed, false) }, false)
}

func TestRandomLoops(t *testing.T) {
	randomBodies(t, func(t *testing.T, seed uint64) *kerneltest.Body { return kerneltest.NewLoopsBody(t, seed) }, true)
}
