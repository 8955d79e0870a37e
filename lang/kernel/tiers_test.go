package kernel

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/kerneltest"
	"github.com/starpush/starpush/lang/kernel/llvm"
)

// body compiles a body that takes a moment in strips, and returns a task for it, and its data.
func body(t *testing.T, mode Mode) (p *Program, task func() (*kerneltest.Task, []float64)) {
	t.Helper()
	return bodyWith(t, Options{Mode: mode})
}

func bodyWith(t *testing.T, opts Options) (p *Program, task func() (*kerneltest.Task, []float64)) {
	t.Helper()
	f, cs := kerneltest.Codelets(t, "t.spu", "codelet c(x: RW vector[f64]) {\n    for i in 1..x.n { x[i] = x[i - 1] * 0.999 + x[i] }\n}\n")
	p, err := Compile(f, cs[0], kerneltest.Signature(cs[0]), nil, opts)
	if err != nil {
		t.Fatal(err)
	}
	return p, func() (*kerneltest.Task, []float64) {
		x := make([]float64, 50_000)
		for i := range x {
			x[i] = 1 / float64(i+1)
		}
		return &kerneltest.Task{Ctx: context.Background(), Bufs: kerneltest.Buffers(kerneltest.VectorOf(x))}, x
	}
}

func needLibrary(t *testing.T) {
	t.Helper()
	if _, err := llvm.Open(); err != nil {
		if os.Getenv("STARPUSH_NEED_LLVM") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// TestAuto runs a body on several goroutines until it has machine code, which must not change
// a result.
func TestAuto(t *testing.T) {
	needLibrary(t)
	t.Setenv(ModeVariable, "")
	strips, task := body(t, Strips)
	c, want := task()
	if _, err := strips.RunTask(c, nil); err != nil {
		t.Fatal(err)
	}
	p, _ := body(t, Auto)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 10_000 {
				c, x := task()
				before := p.native.Load()
				v, err := p.RunTask(c, nil)
				if err != nil {
					t.Error(err)
				}
				if before == nil && v == AsCode && p.native.Load() == nil {
					t.Error("a run says that it was machine code, which there is none of")
				}
				if !slices.Equal(x, want) {
					t.Error("the results differ")
				}
				if p.native.Load() != nil || t.Failed() {
					return
				}
			}
		})
	}
	group.Wait()
	Wait()
	if !p.settled.Load() || p.native.Load() == nil {
		t.Errorf("no machine code: %v", p.why)
	}
	for range 3 * contestRuns {
		c, _ := task()
		next, over := Variant(p.Next().Load()), p.contest.over.Load()
		if v, err := p.RunTask(c, nil); err != nil || over && v != next {
			t.Fatalf("a run in variant %d, %v, after the next was said to be in %d", v, err, next)
		}
	}
	if v := Variant(p.Next().Load()); v != AsCode {
		t.Errorf("after long runs the next is in %s", Variants[v])
	}
	if strips.native.Load() != nil {
		t.Error("the mode strips has machine code")
	}
}

// TestContest runs short tasks by both ways until one has won: the results are those of strips.
func TestContest(t *testing.T) {
	needLibrary(t)
	p, task := body(t, Native)
	c, want := task()
	if _, err := p.RunTask(c, nil); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{3, len(want)} {
		var con contest
		for range 3 * contestRuns {
			c, x := task()
			c.Bufs = kerneltest.Buffers(kerneltest.VectorOf(x[:n]))
			if _, err := con.run(c, p.native.Load(), p.strips.RunTask, nil); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(x[:n], want[:n]) {
				t.Fatal("the results differ")
			}
		}
		if !con.over.Load() {
			t.Errorf("%d elements: no winner", n)
		}
		if n > 3 && Variant(con.next.Load()) != AsCode {
			t.Errorf("%d elements: strips have won, whose runs are long", n)
		}
	}
}

// TestNative compiles before the first run, or before that, which several goroutines may begin.
func TestNative(t *testing.T) {
	needLibrary(t)
	early, _ := body(t, Native)
	if early.Prepare(); early.native.Load() == nil {
		t.Errorf("no machine code: %v", early.why)
	}
	p, task := body(t, Native)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			c, _ := task()
			if _, err := p.RunTask(c, nil); err != nil {
				t.Error(err)
			}
			if p.native.Load() == nil {
				t.Error("no machine code")
			}
		})
	}
	group.Wait()
	if p.spent.Load() != 0 {
		t.Error("it ran in strips")
	}
}

// TestPrepare: a body whose machine code is in the cache runs as that from the first task on.
func TestPrepare(t *testing.T) {
	needLibrary(t)
	t.Setenv(ModeVariable, "")
	cache := NewCache(t.TempDir())
	first, task := bodyWith(t, Options{Cache: cache})
	if first.Prepare(); first.body != nil || first.settled.Load() {
		t.Error("the body was looked up in an empty cache")
	}
	native, _ := bodyWith(t, Options{Mode: Native, Cache: cache})
	native.Prepare()
	second, _ := bodyWith(t, Options{Cache: cache})
	second.Prepare()
	c, x := task()
	v, err := second.RunTask(c, nil)
	if err != nil || v != AsCode {
		t.Errorf("the first task ran in %s, %v", Variants[v], err)
	}
	c, want := task()
	if v, err = first.RunTask(c, nil); err != nil || v != InStrips {
		t.Errorf("a task of a body that was not prepared ran in %s, %v", Variants[v], err)
	}
	if !slices.Equal(x, want) {
		t.Error("the results differ")
	}
	strips, _ := bodyWith(t, Options{Mode: Strips, Cache: cache})
	if strips.Prepare(); strips.body != nil {
		t.Error("in mode strips, the body was looked up")
	}
}

// TestNativeFallback runs a body that is too large for machine code in strips.
func TestNativeFallback(t *testing.T) {
	needLibrary(t)
	f, cs := kerneltest.Codelets(t, "t.spu", "codelet c(x: RW vector[f64]) {\n    each i in x {\n"+strings.Repeat("        x[i] = x[i] * 0.5 + 1.0\n", 6000)+"    }\n}\n")
	p, err := Compile(f, cs[0], kerneltest.Signature(cs[0]), nil, Options{Mode: Native})
	if err != nil {
		t.Fatal(err)
	}
	x := []float64{2, -1}
	if _, err := p.RunTask(&kerneltest.Task{Ctx: context.Background(), Bufs: []*iface.Buffer{kerneltest.VectorOf(x)}}, nil); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(x, []float64{2, 2}) {
		t.Error(x)
	}
	if p.native.Load() != nil || p.why == nil {
		t.Error("it has machine code, or no reason why not")
	}
	if v := Variant(p.Next().Load()); v != InStrips {
		t.Errorf("its next run is in %s", Variants[v])
	}
}

func TestModeVariable(t *testing.T) {
	for _, test := range []struct {
		value      string
		mode, want Mode
	}{{"", Auto, Auto}, {"native", Auto, Native}, {"strips", Auto, Strips}, {"native", Strips, Strips}, {"strips", Native, Native}, {"fast", Auto, Auto}} {
		t.Setenv(ModeVariable, test.value)
		if got := test.mode.chosen(); got != test.want {
			t.Errorf("%s=%s, mode %v: %v, want %v", ModeVariable, test.value, test.mode, got, test.want)
		}
	}
	if s := Mode(9).String(); s != "unknown" {
		t.Error(s)
	}
}
