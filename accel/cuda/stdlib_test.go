//go:build cuda

package cuda_test

// The codelets of stdlib on devices, against the same on the processor.

import (
	"context"
	"math"
	"strings"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/cuda"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/perf/perftest"
	"github.com/starpush/starpush/stdlib"
)

// program submits codelets of stdlib: those that have kernels for devices to
// devices, when there are any.
type program struct {
	testing.TB
	rt    *engine.Runtime
	job   *engine.Job
	lib   map[string]*engine.Codelet
	there map[string]bool // what ran on devices
}

func newProgram(t testing.TB, devices []accel.Device) *program {
	rt, err := engine.New(engine.Options{Workers: 2, Devices: devices})
	if err != nil {
		t.Fatal(err)
	}
	p := &program{t, rt, rt.NewJob(t.Context(), engine.JobOptions{}), map[string]*engine.Codelet{}, map[string]bool{}}
	for name, m := range stdlib.Modules() {
		if name == "std/sparse" {
			continue // its transpose and trsv are not those of std/blas, and it has no kernels for devices
		}
		for _, c := range m.Codelets {
			if c.On["cuda"] != nil && devices != nil {
				only := *c
				only.CPU = nil
				c = &only
			}
			p.lib[c.Name] = c
		}
	}
	return p
}

func (p *program) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *program) data(kind iface.Kind, e iface.Elem, dims ...int) *datamgr.Handle {
	p.Helper()
	h, err := p.rt.Register(engine.DataSpec{Kind: kind, Elem: e, Dims: dims})
	p.must(err)
	return h
}

func (p *program) insert(name string, args []iface.Scalar, hs ...*datamgr.Handle) {
	p.Helper()
	c := p.lib[name]
	s := engine.TaskSpec{Codelet: c, Args: args}
	for i, h := range hs {
		s.Operands = append(s.Operands, engine.Operand{Handle: h, Mode: c.Modes[i]})
	}
	if c.CPU == nil {
		p.there[name] = true
	}
	p.must(p.job.Submit(&s))
}

func args(list ...any) (s []iface.Scalar) {
	for _, v := range list {
		switch v := v.(type) {
		case int:
			s = append(s, iface.Int(int64(v)))
		case float64:
			s = append(s, iface.Float(v))
		case string:
			s = append(s, iface.Str(v))
		}
	}
	return s
}

// run makes data by tiles and as a whole, and returns what it became.
func (p *program) run(e iface.Elem) (all []float64) {
	const n, nt = 36, 3
	a, b, c, d := p.data(iface.Matrix, e, n, n), p.data(iface.Matrix, e, n, n), p.data(iface.Matrix, e, n, n), p.data(iface.Matrix, e, n, n)
	x, y, acc := p.data(iface.Vector, e, n), p.data(iface.Vector, e, n), p.data(iface.Variable, e)
	tiles := func(h *datamgr.Handle) func(i, j int) *datamgr.Handle {
		v, err := p.rt.Partition(h, filter.Tiles(nt, nt, 0))
		p.must(err)
		return func(i, j int) *datamgr.Handle {
			part, ok := v.Part(i, j)
			if !ok {
				p.Fatalf("no tile %d, %d", i, j)
			}
			return part
		}
	}
	at, bt, ct := tiles(a), tiles(b), tiles(c)
	for i := range nt {
		for j := range nt {
			p.insert("uniform", args(1, -1.0, 1.0), at(i, j))
			p.insert("fill", args(0.5), ct(i, j))
		}
	}
	p.insert("uniform", args(2, -1.0, 1.0), b)
	for i := range nt {
		for j := range nt {
			for k := range nt {
				p.insert("gemm", args(0.5, 1.0, "n", []string{"n", "t"}[k%2]), at(i, k), bt(k, j), ct(i, j))
			}
		}
		p.insert("syrk", args(-1.0, 2.0, "l", "n"), at(i, 0), ct(i, i))
	}
	p.insert("symm", args(0.5, 0.25, "r", "u"), at(0, 0), bt(1, 0), ct(2, 0))
	// a triangle that is well conditioned: ones on the diagonal, small elsewhere
	p.insert("copy", nil, a, d)
	p.insert("scal", args(0.05), d)
	p.insert("trsm", args(2.0, "r", "u", "t", "u"), d, c)
	p.insert("trmm", args(0.5, "l", "l", "n", "u"), d, c)
	lu := p.definite(e, n, n)
	p.insert("getrf_nopiv", nil, lu)
	p.insert("getrs_nopiv", nil, lu, c)
	p.insert("transpose", nil, c, a)
	p.insert("swap", nil, a, b)
	spd := p.definite(e, n, n)
	p.insert("potrf", args("l"), spd)
	p.insert("uniform", args(3, 0.0, 1.0), x)
	p.insert("fill", args(1.0), y)
	p.insert("trsv", args("u", "t", "n"), lu, x)
	p.insert("axpy", args(2.0), x, y)
	p.insert("gemv", args(1.0, 1.0, "t"), b, x, y)
	p.insert("ger", args(0.5), x, y, b)
	p.insert("asum", nil, x, acc0(p, acc))
	p.insert("dot", nil, x, y, acc)
	p.insert("nrm2sq", nil, y, acc)
	p.must(p.job.Wait(context.Background()))
	if f := p.job.Failures(); len(f) > 0 {
		p.Fatal(f[0])
	}
	for _, h := range []*datamgr.Handle{a, b, c, d, spd, x, y, acc} {
		r, err := p.job.Acquire(context.Background(), h, iface.R)
		p.must(err)
		if e == iface.F32 {
			all = appendAll[float32](all, r.Buffer())
		} else {
			all = appendAll[float64](all, r.Buffer())
		}
		r.Release()
	}
	p.must(p.job.Close())
	p.must(p.rt.Close())
	return all
}

// definite returns a symmetric matrix whose leading minors up to an order are positive.
func (p *program) definite(e iface.Elem, n, order int) *datamgr.Handle {
	p.Helper()
	h := p.data(iface.Matrix, e, n, n)
	p.insert("fill", args(0.5), h)
	v, err := p.rt.Partition(h, filter.Tiles(n, n, 0))
	p.must(err)
	for i := range n {
		part, _ := v.Part(i, i)
		p.insert("fill", args(4-8*float64(min(1, max(0, i+1-order)))), part)
	}
	return h
}

// TestStdlibFactors: a factorisation that fails on a device fails its task, with the message
// that it has on processors, and does not run again elsewhere.
func TestStdlibFactors(t *testing.T) {
	t.Cleanup(perftest.Private())
	devices, err := cuda.Driver{}.Open()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []iface.Elem{iface.F32, iface.F64} {
		for _, on := range [][]accel.Device{nil, devices} {
			p := newProgram(t, on)
			p.insert("potrf", args("l"), p.definite(e, 9, 6))
			zero := p.data(iface.Matrix, e, 9, 9)
			p.insert("fill", args(0.0), zero)
			p.insert("getrf_nopiv", nil, zero)
			p.must(p.job.Wait(t.Context()))
			var texts string
			for _, f := range p.job.Failures() {
				texts += f.Error() + "\n"
			}
			for _, want := range []string{"leading minor of order 7 is not positive\n", "pivot 1 is zero: the matrix has no LU factors without exchanging rows\n"} {
				if !strings.Contains(texts, want) {
					t.Errorf("%v with %d devices: %s", e, len(on), texts)
				}
			}
			p.must(p.job.Close())
			p.must(p.rt.Close())
		}
	}
	for _, d := range devices {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// acc0 is h with content: a variable that is added to must hold something.
func acc0(p *program, h *datamgr.Handle) *datamgr.Handle {
	a, err := p.job.Acquire(context.Background(), h, iface.W)
	p.must(err)
	b := a.Buffer()
	clear(unsafe.Slice((*byte)(b.Ptr), b.Elem.Size()))
	a.Release()
	return h
}

func appendAll[T float32 | float64](all []float64, b *iface.Buffer) []float64 {
	for _, v := range iface.Slice[T](b) {
		all = append(all, float64(v))
	}
	return all
}

// TestStdlib: the same data, whether devices or the processor made it, and in
// whose memory it was in between.
func TestStdlib(t *testing.T) {
	t.Cleanup(perftest.Private())
	for _, e := range []iface.Elem{iface.F32, iface.F64} {
		want := newProgram(t, nil).run(e)
		for _, v := range []cuda.Driver{{Kernels: 3}, {Memory: 24 << 10}} { // all fits, and evicted all the time
			devices, err := v.Open()
			if err != nil {
				t.Fatal(err)
			}
			p := newProgram(t, devices)
			got := p.run(e)
			for i, w := range want {
				if eps := map[iface.Elem]float64{iface.F32: 1e-3, iface.F64: 1e-10}[e]; !(math.Abs(got[i]-w) <= eps*max(1, math.Abs(w))) {
					t.Fatalf("%v, %d bytes: number %d is %v, want %v", e, v.Memory, i, got[i], w)
				}
			}
			if len(p.there) < 20 {
				t.Errorf("only %v ran on devices", p.there)
			}
			for _, d := range devices {
				if n := d.Memory().Allocated(); n != 0 {
					t.Errorf("%s: %d bytes are allocated at the end", d.Name(), n)
				}
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}
