package stdlib

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"unsafe"

	"go.uber.org/goleak"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/enginetest"
	"github.com/starpush/starpush/engine/perf/perftest"
)

func TestMain(m *testing.M) {
	remove := perftest.Private()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		remove()
		os.Exit(code)
	}))
}

// program submits tasks to a runtime.
type program struct {
	t   *testing.T
	rt  *engine.Runtime
	job *engine.Job
	lib map[string]*engine.Codelet // "gemm", "random.uniform", …
	on  []string                   // kinds of workers for tasks that have kernels for devices; nil: all
}

func newProgram(t *testing.T, o engine.Options) *program {
	rt, err := engine.New(o)
	if err != nil {
		t.Fatal(err)
	}
	p := &program{t: t, rt: rt, job: rt.NewJob(t.Context(), engine.JobOptions{}), lib: map[string]*engine.Codelet{}}
	for mod, m := range Modules() {
		prefix := strings.TrimPrefix(strings.TrimPrefix(mod, "std/"), "blas")
		if prefix != "" {
			prefix += "."
		}
		for _, c := range m.Codelets {
			p.lib[prefix+c.Name] = c
		}
	}
	t.Cleanup(func() {
		if err := errors.Join(p.job.Close(), rt.Close()); err != nil {
			t.Error(err)
		}
	})
	return p
}

func (p *program) register(s engine.DataSpec) *datamgr.Handle {
	p.t.Helper()
	h, err := p.rt.Register(s)
	if err != nil {
		p.t.Fatal(err)
	}
	return h
}

func (p *program) view(h *datamgr.Handle, fs ...filter.Filter) *datamgr.View {
	p.t.Helper()
	v, err := p.rt.Partition(h, fs...)
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

// insert submits a task with the codelet's own modes, apart from those given.
func (p *program) insert(name string, hs []*datamgr.Handle, args []iface.Scalar, modes ...iface.AccessMode) error {
	c := p.lib[name]
	s := engine.TaskSpec{Codelet: c, Args: args}
	for i, h := range hs {
		m := c.Modes[i]
		if i < len(modes) && modes[i] != iface.NoMode {
			m = modes[i]
		}
		s.Operands = append(s.Operands, engine.Operand{Handle: h, Mode: m})
	}
	if p.on != nil && c.On["opencl"] != nil {
		_, err := p.job.SubmitWith(&s, engine.TaskOptions{Kinds: p.on})
		return err
	}
	return p.job.Submit(&s)
}

func (p *program) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// read returns what read finds in a handle.
func read[T any](p *program, h *datamgr.Handle, read func(b *iface.Buffer) T) T {
	p.t.Helper()
	a, err := p.job.Acquire(context.Background(), h, iface.R)
	p.must(err)
	defer a.Release()
	return read(a.Buffer())
}

func handles(h ...*datamgr.Handle) []*datamgr.Handle { return h }

// TestCholesky factors a matrix under every number of workers and sequentially.
func TestCholesky(t *testing.T) {
	for _, o := range []engine.Options{{Workers: 1}, {Workers: 3}, {Sequential: true}} {
		cholesky(t, o, nil)
	}
}

// TestCholeskyOnDevices does so with everything but the factors of tiles on
// OpenCL devices: where there is room, where there is little, and where policies
// choose.
func TestCholeskyOnDevices(t *testing.T) {
	const tile = 38 * 38 * 8
	for _, capacity := range []int64{0, 5 * tile} {
		devs := enginetest.Devices(t, "opencl", capacity)
		var names []string
		for _, d := range devs {
			names = append(names, d.Name())
		}
		for _, policy := range []string{"", "eager"} {
			for _, on := range [][]string{names, nil} {
				t.Run(fmt.Sprintf("%d bytes, %q, on %v", capacity, policy, on), func(t *testing.T) { // each gives the devices back
					cholesky(t, engine.Options{Workers: 2, Devices: devs, Policy: policy}, on)
				})
			}
		}
	}
}

// cholesky factors a matrix by tiles and compares with the factors of the whole.
func cholesky(t *testing.T, o engine.Options, on []string) {
	t.Helper()
	const n, nt = 150, 4
	rnd := rand.New(rand.NewPCG(1, 2))
	spd := make([]float64, n*n)
	for i := range n {
		for j := range i {
			v := rnd.Float64()
			spd[i*n+j], spd[j*n+i] = v, v
		}
		spd[i*n+i] = n
	}
	want := append([]float64(nil), spd...)
	must(t, "std/blas", "potrf", bufs(dense(n, n, n, want)), str("l"))
	{
		p := newProgram(t, o)
		p.on = on
		a := append([]float64(nil), spd...)
		A := p.register(engine.DataSpec{Kind: iface.Matrix, Elem: iface.F64, Dims: []int{n, n}, Home: unsafe.Pointer(&a[0])})
		v := p.view(A, filter.Tiles(nt, nt, 0))
		tile := func(i, j int) *datamgr.Handle {
			h, ok := v.Part(i, j)
			if !ok {
				t.Fatalf("no tile %d, %d", i, j)
			}
			return h
		}
		one, minus, no, yes := num(1), num(-1), str("n"), str("t")
		for k := range nt {
			p.must(p.insert("potrf", handles(tile(k, k)), []iface.Scalar{str("l")}))
			for m := k + 1; m < nt; m++ {
				p.must(p.insert("trsm", handles(tile(k, k), tile(m, k)), []iface.Scalar{one, str("r"), str("l"), yes, no}))
			}
			for m := k + 1; m < nt; m++ {
				p.must(p.insert("syrk", handles(tile(m, k), tile(m, m)), []iface.Scalar{minus, one, str("l"), no}))
				for j := k + 1; j < m; j++ {
					p.must(p.insert("gemm", handles(tile(m, k), tile(j, k), tile(m, j)), []iface.Scalar{minus, one, no, yes}))
				}
			}
		}
		p.must(p.job.Wait(context.Background()))
		if f := p.job.Failures(); len(f) > 0 {
			t.Fatal(f[0])
		}
		read(p, A, func(b *iface.Buffer) int {
			got, ld := iface.Strided[float64](b)
			for i := range n {
				for j := range i + 1 {
					if g, w := got[i*ld+j], want[i*n+j]; math.Abs(g-w) > 1e-10 {
						t.Fatalf("%+v: element %d, %d is %v, want %v", o, i, j, g, w)
					}
				}
			}
			return 0
		})
	}
}

// TestReductions: dot adds into REDUX copies, block by block.
func TestReductions(t *testing.T) {
	reductions(t, engine.Options{Workers: 3}, nil)
}

func TestReductionsOnDevices(t *testing.T) {
	devs := enginetest.Devices(t, "opencl", 0)
	var names []string
	for _, d := range devs {
		names = append(names, d.Name())
	}
	reductions(t, engine.Options{Workers: 1, Devices: devs}, names)
}

func reductions(t *testing.T, o engine.Options, on []string) {
	t.Helper()
	const n, nb = 1000, 7
	p := newProgram(t, o)
	p.on = on
	reg := func() *datamgr.Handle {
		return p.register(engine.DataSpec{Kind: iface.Vector, Elem: iface.F64, Dims: []int{n}})
	}
	x, y := reg(), reg()
	acc := p.register(engine.DataSpec{Kind: iface.Variable, Elem: iface.F64, Reduce: datamgr.SumReduction()})
	top := p.register(engine.DataSpec{Kind: iface.Variable, Elem: iface.F64, Reduce: datamgr.MaxReduction()})
	vx, vy := p.view(x, filter.Blocks(nb)), p.view(y, filter.Blocks(nb))
	for b := range nb {
		hx, _ := vx.Part(b)
		hy, _ := vy.Part(b)
		p.must(p.insert("fill", handles(hx), []iface.Scalar{num(2)}))
		p.must(p.insert("fill", handles(hy), []iface.Scalar{num(3)}))
		p.must(p.insert("axpy", handles(hx, hy), []iface.Scalar{num(-1)}))
		p.must(p.insert("dot", handles(hx, hy, acc), nil, 0, 0, iface.Redux))
		p.must(p.insert("reduce.max", handles(hx, top), nil, 0, iface.Redux))
	}
	value := func(h *datamgr.Handle) float64 {
		return read(p, h, func(b *iface.Buffer) float64 { return *one[float64](b) })
	}
	if got := value(acc); got != 2*1*n {
		t.Errorf("dot is %v, want %v", got, 2*n)
	}
	if got := value(top); got != 2 {
		t.Errorf("max is %v, want 2", got)
	}
}

// TestPlacesInTheEngine: parts as the engine makes them know their place in the
// root, picked ones too.
func TestPlacesInTheEngine(t *testing.T) {
	const rows, cols = 6, 5
	want := make([]float64, rows*cols)
	must(t, "std/random", "uniform", bufs(dense(rows, cols, cols, want)), whole(9), num(0), num(1))
	p := newProgram(t, engine.Options{Workers: 2})
	for _, f := range []filter.Filter{filter.Tiles(2, 2, 0), filter.Pick(0), filter.Pick(1), filter.Cols(3, 0)} {
		A := p.register(engine.DataSpec{Kind: iface.Matrix, Elem: iface.F64, Dims: []int{rows, cols}})
		at := p.register(engine.DataSpec{Kind: iface.Variable, Elem: iface.I64})
		v := p.view(A, f)
		for _, h := range v.Parts {
			p.must(p.insert("random.uniform", handles(h), []iface.Scalar{whole(9), num(0), num(1)}))
		}
		read(p, A, func(b *iface.Buffer) int {
			got, ld := iface.Strided[float64](b)
			for i := range rows {
				expect(t, f.Name(), got[i*ld:i*ld+cols], want[i*cols:(i+1)*cols])
			}
			return 0
		})
		last := v.Parts[len(v.Parts)-1]
		p.must(p.insert("reduce.argmax", handles(last, at), nil))
		place := read(p, at, func(b *iface.Buffer) int64 { return *one[int64](b) })
		biggest := read(p, last, func(b *iface.Buffer) float64 {
			best := math.Inf(-1)
			n := runs(b)
			for i := range n {
				for _, v := range run[float64](b, i, n) {
					best = max(best, v)
				}
			}
			return best
		})
		if want[place] != biggest {
			t.Errorf("%s: argmax of the last part gives place %d, which has %v and not %v", f.Name(), place, want[place], biggest)
		}
	}
}

// TestErrorsInTheEngine: rules run at Submit, and kernels' errors fail tasks.
func TestErrorsInTheEngine(t *testing.T) {
	p := newProgram(t, engine.Options{Workers: 2})
	bad := []float64{1, 0, 0, 0, 1, 0, 0, 0, -1}
	A := p.register(engine.DataSpec{Kind: iface.Matrix, Elem: iface.F64, Dims: []int{3, 3}, Home: unsafe.Pointer(&bad[0])})
	x := p.register(engine.DataSpec{Kind: iface.Vector, Elem: iface.F64, Dims: []int{4}})
	var shape *engine.ShapeError
	if err := p.insert("trsv", handles(A, x), []iface.Scalar{str("l"), str("n"), str("n")}); !errors.As(err, &shape) || shape.Message != "the inner sizes of `trsv` differ: 3 and 4" {
		t.Errorf("trsv: %v", err)
	}
	p.must(p.insert("potrf", handles(A), []iface.Scalar{str("l")}))
	p.must(p.job.Wait(context.Background()))
	f := p.job.Failures()
	if len(f) != 1 || f[0].Cause == nil || f[0].Cause.Error() != "leading minor of order 3 is not positive" {
		t.Errorf("failures: %v", f)
	}
}
