package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/enginetest"
	"github.com/starpush/starpush/engine/perf"
)

// points are the numbers of a vector of x and y in turn, which devices have as two rows.
type points struct {
	to, from atomic.Int64 // conversions
	formats  []Format
}

func newPoints(n int, on ...string) *points {
	p := &points{}
	if on == nil {
		on = []string{"gpu"}
	}
	p.formats = []Format{{Name: "rows", On: on, Kind: iface.Matrix, Elem: iface.I64, Dims: []int{2, n},
		To: p.codelet("to rows", &p.to, func(rows, pairs []int64) {
			for k := range n {
				rows[k], rows[k+n] = pairs[2*k], pairs[2*k+1]
			}
		}, true),
		From: p.codelet("from rows", &p.from, func(rows, pairs []int64) {
			for k := range n {
				pairs[2*k], pairs[2*k+1] = rows[k], rows[k+n]
			}
		}, false)}}
	return p
}

// codelet returns a conversion, which counts its calls.
func (p *points) codelet(name string, calls *atomic.Int64, fn func(rows, pairs []int64), to bool) *Codelet {
	return &Codelet{Name: name, Modes: conversionModes, CPU: []Impl{func(c *TaskContext) error {
		calls.Add(1)
		rows, pairs := flat(c.Buffer(0)), flat(c.Buffer(1))
		if to {
			rows, pairs = pairs, rows
		}
		fn(rows, pairs)
		return nil
	}}}
}

// flat returns the elements of b, which lie side by side.
func flat(b *iface.Buffer) []int64 { return iface.Slice[int64](flatBuffer(b)) }

func flatBuffer(b *iface.Buffer) *iface.Buffer {
	out := &iface.Buffer{Ptr: b.Ptr}
	out.Kind, out.Elem, out.Rank, out.Dim[0], out.Stride[0] = iface.Vector, b.Elem, 1, b.Len(), 1
	return out
}

// onPoints returns a codelet for all layouts; fn gets the x and y of point k.
func onPoints(name string, fn func(c *TaskContext, k int, x, y *int64)) *Codelet {
	return &Codelet{Name: name, Formats: []int{0}, CPU: []Impl{func(c *TaskContext) error {
		v := flat(c.Buffer(0))
		n := len(v) / 2
		for k := range n {
			switch f := c.Format(0); {
			case f == "rows" && c.w.node > 0 && c.Buffer(0).Kind == iface.Matrix:
				fn(c, k, &v[k], &v[n+k])
			case f == "" && c.w.node == 0 && c.Buffer(0).Kind == iface.Vector:
				fn(c, k, &v[2*k], &v[2*k+1])
			default:
				return fmt.Errorf("layout %q, a %v, on node %d", f, c.Buffer(0).Kind, c.w.node)
			}
		}
		return nil
	}}}
}

// usesOn submits c with h on the workers of node.
func usesOn(t testing.TB, j *Job, node int, c *Codelet, m iface.AccessMode, h *datamgr.Handle) *Task {
	t.Helper()
	return got(j.GoTask(c, Node(node), Operand{Handle: h, Mode: m}))(t)
}

var (
	countPoints = onPoints("count", func(_ *TaskContext, k int, x, y *int64) { *x, *y = int64(k), -int64(k) })
	movePoints  = onPoints("move", func(_ *TaskContext, _ int, x, y *int64) { *x, *y = *x+1, *y-1 })
)

// arePoints returns a codelet that fails if the points are not those of countPoints, moved by d.
func arePoints(d int64) *Codelet {
	bad := false
	c := onPoints("check", func(_ *TaskContext, k int, x, y *int64) { bad = bad || *x != int64(k)+d || *y != -int64(k)-d })
	run := c.CPU[0]
	var mu sync.Mutex
	c.CPU[0] = func(c *TaskContext) error {
		mu.Lock()
		defer mu.Unlock()
		bad = false
		if err := run(c); err != nil || !bad {
			return err
		}
		return fmt.Errorf("points are wrong on node %d, want them moved by %d", c.w.node, d)
	}
	return c
}

func (p *points) want(t testing.TB, j *Job, to, from int64) {
	t.Helper()
	must(t, j.Wait(context.Background()))
	for _, e := range j.Failures() {
		t.Error(e)
	}
	if p.to.Load() != to || p.from.Load() != from {
		t.Errorf("%d conversions to the device and %d from it, want %d and %d", p.to.Load(), p.from.Load(), to, from)
	}
}

// TestMultiformat holds that a value is converted once for each kind of device, however often it is read, until it is written.
func TestMultiformat(t *testing.T) {
	ctx := context.Background()
	const n = 50
	onArrays(t, func(t *testing.T, rt *Runtime, j *Job, nodes []int) {
		p := newPoints(n)
		x := got(MakeVector[int64](rt, 2*n, Name("x")))(t)
		must(t, rt.SetFormats(x.Handle, p.formats...))
		far := nodes[len(nodes)-1]
		usesOn(t, j, 0, countPoints, iface.W, x.Handle)
		for range 5 {
			for _, node := range nodes {
				usesOn(t, j, node, arePoints(0), iface.R, x.Handle)
			}
		}
		dev := int64(min(1, far))
		p.want(t, j, dev, 0)
		usesOn(t, j, far, movePoints, iface.RW, x.Handle) // in the layout of the device
		for _, node := range nodes[1:] {
			usesOn(t, j, node, arePoints(1), iface.R, x.Handle)
		}
		p.want(t, j, dev, 0)
		for range 3 {
			usesOn(t, j, 0, arePoints(1), iface.R, x.Handle)
			usesOn(t, j, far, arePoints(1), iface.R, x.Handle)
		}
		p.want(t, j, dev, dev)
		usesOn(t, j, 0, movePoints, iface.Commute, x.Handle)
		usesOn(t, j, far, movePoints, iface.Commute, x.Handle)
		must(t, j.Wait(ctx))
		to := p.to.Load()
		v := got(x.Value(ctx, j))(t)
		for k := range n {
			if v[2*k] != int64(k)+3 || v[2*k+1] != -int64(k)-3 {
				t.Fatalf("the program sees %v", v)
			}
		}
		a := got(x.Acquire(ctx, j, iface.RW))(t)
		for k := range a.Data() {
			a.Data()[k] -= 3 * (1 - 2*int64(k%2))
		}
		must(t, a.Release())
		usesOn(t, j, far, arePoints(0), iface.R, x.Handle)
		must(t, j.Wait(ctx))
		for _, e := range j.Failures() {
			t.Error(e)
		}
		if p.to.Load() != to+dev {
			t.Errorf("%d conversions after a write by the program, want 1", p.to.Load()-to)
		}
		must(t, j.Unregister(x.Handle))
		must(t, j.Wait(ctx))
	})
}

// TestMultiformatReaders has tasks on two devices of a kind, and two workers of each, read a value at the same time:
// it is converted once.
func TestMultiformatReaders(t *testing.T) {
	const n = 100
	rt, j := start(t, Options{Workers: 2, Devices: late(1<<14, 2, 4)})
	for round := range int64(20) {
		p := newPoints(n)
		x := got(MakeVector[int64](rt, 2*n))(t)
		must(t, rt.SetFormats(x.Handle, p.formats...))
		usesOn(t, j, 0, countPoints, iface.W, x.Handle)
		for range 3 {
			for node := range 3 {
				usesOn(t, j, node, arePoints(0), iface.R, x.Handle)
			}
		}
		p.want(t, j, 1, 0)
		usesOn(t, j, int(1+round%2), movePoints, iface.RW, x.Handle)
		for range 3 {
			for node := range 3 {
				usesOn(t, j, node, arePoints(1), iface.R, x.Handle)
			}
		}
		p.want(t, j, 1, 1)
		must(t, j.Unregister(x.Handle))
	}
}

// TestMultiformatPlain runs a codelet that knows no layouts on a device: it has that of main memory there.
func TestMultiformatPlain(t *testing.T) {
	const n = 10
	rt, j := start(t, Options{Workers: 1, Devices: simulated(1<<14, 1)})
	p := newPoints(n)
	x := make([]int64, 2*n)
	h := ints(t, rt, x)
	must(t, rt.SetFormats(h, p.formats...))
	usesOn(t, j, 1, countPoints, iface.W, h)
	must(t, j.Go(incs, Node(1), RW(h))) // all numbers, wherever they are
	usesOn(t, j, 1, movePoints, iface.RW, h)
	must(t, j.Unregister(h))
	p.want(t, j, 1, 2)
	for k := range n {
		if x[2*k] != int64(k)+2 || x[2*k+1] != -int64(k) {
			t.Fatalf("memory of the program has %v", x)
		}
	}
}

// TestMultiformatDuplicate has the program read a duplicate that shares its source, which a device is still writing: it waits
// for the conversion, too.
func TestMultiformatDuplicate(t *testing.T) {
	const n = 10
	rt, j := start(t, Options{Workers: 2, Devices: simulated(1<<14, 1)})
	p := newPoints(n)
	convert := p.formats[0].From.CPU[0]
	p.formats[0].From.CPU[0] = func(c *TaskContext) error {
		time.Sleep(10 * time.Millisecond) // a read that does not wait comes first
		return convert(c)
	}
	x := make([]int64, 2*n)
	h := ints(t, rt, x)
	must(t, rt.SetFormats(h, p.formats...))
	begin := make(chan bool)
	usesOn(t, j, 1, onPoints("wait and count", func(_ *TaskContext, k int, x, y *int64) {
		<-begin
		*x, *y = int64(k), -int64(k)
	}), iface.W, h)
	d := got(j.Duplicate(h))(t)
	var read []int64
	must(t, j.AcquireFunc(d, iface.R, func(a *Access, err error) {
		if err == nil {
			read = slices.Clone(iface.Slice[int64](a.Buffer()))
		}
	}))
	close(begin)
	must(t, j.Unregister(d))
	must(t, j.Unregister(h))
	p.want(t, j, 0, 1)
	if !slices.Equal(read, x) || x[2] != 1 {
		t.Errorf("the duplicate has %v, its source %v", read, x)
	}
}

// TestMultiformatProgram holds that the program sees the layout of main memory, whatever it does with the data.
func TestMultiformatProgram(t *testing.T) {
	ctx := context.Background()
	const n = 30
	onArrays(t, func(t *testing.T, rt *Runtime, j *Job, nodes []int) {
		far := nodes[len(nodes)-1]
		count := func(name string) (*points, Vector[int64]) {
			p := newPoints(n)
			x := got(MakeVector[int64](rt, 2*n, Name(name)))(t)
			must(t, rt.SetFormats(x.Handle, p.formats...))
			usesOn(t, j, far, countPoints, iface.W, x.Handle)
			return p, x
		}
		right := func(what string, v []int64) {
			t.Helper()
			for k := range n {
				if v[2*k] != int64(k) || v[2*k+1] != -int64(k) {
					t.Fatalf("%s: %v", what, v)
				}
			}
		}
		_, x := count("packed")
		bytes := got(j.Pack(ctx, x.Handle))(t)
		q, y := count("unpacked")
		usesOn(t, j, far, movePoints, iface.RW, y.Handle)
		must(t, j.Unpack(ctx, y.Handle, bytes))
		usesOn(t, j, far, arePoints(0), iface.R, y.Handle)
		right("unpacked", got(y.Value(ctx, j))(t))
		if far > 0 {
			q.want(t, j, 1, 0)
		}
		z := got(MakeVector[int64](rt, 2*n))(t)
		_, err := j.Copy(z.Handle, x.Handle, CopyOptions{})
		must(t, err)
		right("a copy", got(z.Value(ctx, j))(t))
		usesOn(t, j, far, movePoints, iface.RW, x.Handle)
		_, err = j.Copy(x.Handle, z.Handle, CopyOptions{})
		must(t, err)
		usesOn(t, j, far, arePoints(0), iface.R, x.Handle)
		dup := got(j.Duplicate(x.Handle))(t)
		usesOn(t, j, far, movePoints, iface.RW, x.Handle)
		usesOn(t, j, far, movePoints, iface.RW, x.Handle)
		a := got(j.Acquire(ctx, dup, iface.R))(t)
		right("a duplicate", slices.Clone(iface.Slice[int64](a.Buffer())))
		must(t, a.Release())
		must(t, j.Gather(x.Handle))
		usesOn(t, j, 0, arePoints(2), iface.R, x.Handle)
		a = got(j.AcquireWith(ctx, x.Handle, iface.W, AcquireOptions{OrderOnly: true}))(t)
		must(t, a.Fetch())
		for k, v := range iface.Slice[int64](a.Buffer()) {
			iface.Slice[int64](a.Buffer())[k] = v - 2*(1-2*int64(k%2))
		}
		must(t, a.Release())
		usesOn(t, j, far, arePoints(0), iface.R, x.Handle)
		must(t, j.Invalidate(x.Handle))
		usesOn(t, j, far, countPoints, iface.W, x.Handle)
		right("after an invalidation", got(x.Value(ctx, j))(t))
		must(t, j.Wait(ctx))
		for {
			a, err := j.TryAcquire(y.Handle, iface.R)
			if err == nil {
				right("tried", slices.Clone(iface.Slice[int64](a.Buffer())))
				must(t, a.Release())
				break
			}
			if !errors.Is(err, ErrBusy) {
				t.Fatal(err)
			}
		}
		for _, h := range []*datamgr.Handle{x.Handle, y.Handle, z.Handle, dup} {
			must(t, j.Unregister(h))
		}
		must(t, j.Wait(ctx))
		for _, e := range j.Failures() {
			t.Error(e)
		}
	})
}

// TestMultiformatBeyondMemory has more data than fits a device or main memory, so that both layouts are evicted and come back.
func TestMultiformatBeyondMemory(t *testing.T) {
	ctx := context.Background()
	const n, data = 40, 12 // 640 bytes each
	onArrays(t, func(t *testing.T, rt *Runtime, j *Job, nodes []int) {
		var all []Vector[int64]
		for range data {
			p := newPoints(n)
			x := got(MakeVector[int64](rt, 2*n))(t)
			must(t, rt.SetFormats(x.Handle, p.formats...))
			usesOn(t, j, nodes[len(all)%len(nodes)], countPoints, iface.W, x.Handle)
			all = append(all, x)
		}
		for round := range 4 {
			for i, x := range all {
				usesOn(t, j, nodes[(i+round)%len(nodes)], movePoints, iface.RW, x.Handle)
				usesOn(t, j, nodes[(i+2*round)%len(nodes)], arePoints(int64(round+1)), iface.R, x.Handle)
			}
		}
		for _, x := range all {
			if v := got(x.Value(ctx, j))(t); v[2] != 5 || v[3] != -5 {
				t.Errorf("%v", v)
			}
			must(t, j.Unregister(x.Handle))
		}
		must(t, j.Wait(ctx))
		for _, e := range j.Failures() {
			t.Error(e)
		}
	})
}

// TestMultiformatLoss loses a device: what has another layout elsewhere stays.
func TestMultiformatLoss(t *testing.T) {
	ctx := context.Background()
	const n = 10
	for _, both := range []bool{true, false} {
		d := newFrail("a", 1<<14, 1)
		rt, j := start(t, Options{Workers: 1, Devices: []accel.Device{d}})
		p := newPoints(n)
		x := got(MakeVector[int64](rt, 2*n))(t)
		must(t, rt.SetFormats(x.Handle, p.formats...))
		usesOn(t, j, 1, countPoints, iface.W, x.Handle)
		if both {
			usesOn(t, j, 0, arePoints(0), iface.R, x.Handle)
		}
		must(t, j.Wait(ctx))
		rt.reg.Lose(1, &accel.LostError{Device: "a", Err: errWire})
		v, err := x.Value(ctx, j)
		var lost *FailedDataError
		switch {
		case both && (err != nil || v[2] != 1 || v[3] != -1):
			t.Errorf("%v, %v", v, err)
		case !both && !errors.As(err, &lost):
			t.Errorf("%v, %v; want a FailedDataError", v, err)
		}
		usesOn(t, j, 0, countPoints, iface.W, x.Handle)
		must(t, j.Wait(ctx))
		if v, err := x.Value(ctx, j); err != nil || v[2] != 1 || v[3] != -1 {
			t.Errorf("written again: %v, %v", v, err)
		}
	}
}

// TestMultiformatLossInKernel loses the device while a task changes the data there: it runs again in main memory, with the value that the
// layout of main memory still has.
func TestMultiformatLossInKernel(t *testing.T) {
	ctx := context.Background()
	const n = 10
	d := newFrail("a", 1<<14, 1)
	rt, j := start(t, Options{Workers: 1, Devices: []accel.Device{d}})
	p := newPoints(n)
	x := got(MakeVector[int64](rt, 2*n))(t)
	must(t, rt.SetFormats(x.Handle, p.formats...))
	usesOn(t, j, 0, countPoints, iface.W, x.Handle)
	usesOn(t, j, 1, arePoints(0), iface.R, x.Handle)
	must(t, j.Wait(ctx))
	move := onPoints("move", movePoint)
	move.Pure = true
	run := move.CPU[0]
	move.CPU[0] = func(c *TaskContext) error {
		err := run(c)
		if c.w.node > 0 {
			rt.reg.Lose(1, &accel.LostError{Device: "a", Err: errWire})
			return &accel.LostError{Device: "a", Err: errWire}
		}
		return err
	}
	_, err := j.SubmitWith(&TaskSpec{Codelet: move, Operands: []Operand{RW(x.Handle)}, Workers: []int{1}}, TaskOptions{})
	must(t, err)
	must(t, j.Go(move, RW(x.Handle)))
	must(t, j.Wait(ctx))
	fs := j.Failures()
	if len(fs) != 1 { // the first may run on the device only
		t.Errorf("failures: %v", fs)
	}
	usesOn(t, j, 0, countPoints, iface.W, x.Handle)
	must(t, j.Wait(ctx))
	if v, err := x.Value(ctx, j); err != nil || v[2] != 1 {
		t.Errorf("written again: %v, %v", v, err)
	}
}

func movePoint(_ *TaskContext, _ int, x, y *int64) { *x, *y = *x+1, *y-1 }

// TestMultiformatRestart is TestMultiformatLossInKernel for a task that may run in main memory, too.
func TestMultiformatRestart(t *testing.T) {
	ctx := context.Background()
	const n = 10
	d := newFrail("a", 1<<14, 1)
	rt, j := start(t, Options{Workers: 1, Devices: []accel.Device{d}, Policy: "eager"})
	p := newPoints(n)
	x := got(MakeVector[int64](rt, 2*n))(t)
	must(t, rt.SetFormats(x.Handle, p.formats...))
	usesOn(t, j, 0, countPoints, iface.W, x.Handle)
	usesOn(t, j, 1, arePoints(0), iface.R, x.Handle)
	must(t, j.Wait(ctx))
	started, over := make(chan bool), make(chan bool)
	must(t, j.Go(func(*TaskContext) error { close(started); <-over; return nil }, Node(0))) // so that the device is the only one free
	<-started
	move := onPoints("move", movePoint)
	move.Pure = true
	run := move.CPU[0]
	var tried atomic.Int64
	move.CPU[0] = func(c *TaskContext) error {
		err := run(c)
		if c.w.node > 0 {
			tried.Add(1)
			close(over)
			err = &accel.LostError{Device: "a", Err: errWire}
			rt.reg.Lose(1, err.(*accel.LostError))
		}
		return err
	}
	must(t, j.Go(move, RW(x.Handle)))
	must(t, j.Wait(ctx))
	for _, e := range j.Failures() {
		t.Error(e)
	}
	if v, err := x.Value(ctx, j); err != nil || v[2] != 2 || v[3] != -2 || tried.Load() != 1 {
		t.Errorf("%v, %v after %d tries on the device", v, err, tried.Load())
	}
}

// TestMultiformatFails has conversions fail.
func TestMultiformatFails(t *testing.T) {
	ctx := context.Background()
	const n = 10
	for name, fn := range map[string]Impl{
		"error": func(*TaskContext) error { return errors.New("no") },
		"panic": func(*TaskContext) error { panic("no") },
	} {
		t.Run(name, func(t *testing.T) {
			rt, j := start(t, Options{Workers: 1, Devices: simulated(1<<14, 1)})
			p := newPoints(n)
			p.formats[0].To = &Codelet{Name: "to", CPU: []Impl{fn}}
			x := got(NewVector(rt, make([]int64, 2*n), Name("x")))(t)
			must(t, rt.SetFormats(x.Handle, p.formats...))
			task := usesOn(t, j, 1, arePoints(0), iface.R, x.Handle)
			must(t, j.Wait(ctx))
			var failed *ConversionError
			if err := task.Err(); !errors.As(err, &failed) || failed.Format != "rows" || failed.Handle != x.Handle || !strings.Contains(err.Error(), "no") {
				t.Errorf("%v", err)
			}
			if v, err := x.Value(ctx, j); err != nil || len(v) != 2*n {
				t.Errorf("the value: %v", err)
			}

			p = newPoints(n)
			p.formats[0].From = &Codelet{Name: "from", CPU: []Impl{fn}}
			y := make([]int64, 2*n)
			h := ints(t, rt, y)
			must(t, rt.SetFormats(h, p.formats...))
			usesOn(t, j, 1, countPoints, iface.W, h)
			_, err := j.Acquire(ctx, h, iface.R)
			var lost *FailedDataError
			if !errors.As(err, &lost) || !errors.As(lost.Task.Cause, &failed) || failed.Format != "" {
				t.Errorf("acquire: %v", err)
			}
			task = usesOn(t, j, 0, arePoints(0), iface.R, h)
			must(t, task.Wait(ctx))
			if !errors.As(task.Err(), &failed) {
				t.Errorf("a task in main memory: %v", task.Err())
			}
			usesOn(t, j, 1, arePoints(0), iface.R, h) // it is still there
			j.Failures()
			must(t, j.Unregister(h))
			must(t, j.Wait(ctx))
			if fs := j.Failures(); len(fs) == 0 || !strings.Contains(fs[len(fs)-1].Error(), "memory of the program") {
				t.Errorf("unregister: %v", fs)
			}
		})
	}
}

// TestMultiformatErrors has mistakes in layouts, and in the use of data that has them.
func TestMultiformatErrors(t *testing.T) {
	rt, j := start(t, Options{Workers: 1, Devices: simulated(1<<14, 1)})
	const n = 4
	with := func(change func(f *Format)) []Format {
		f := newPoints(n).formats[0]
		change(&f)
		return []Format{f}
	}
	x := got(NewVector(rt, make([]int64, 2*n), Name("x")))(t)
	view := got(MakeVector[int64](rt, 2*n))(t)
	parts := got(rt.Partition(view.Handle, filter.Blocks(2)))(t)
	sums := got(MakeVector[int64](rt, 2*n, ReduceSum))(t)
	none := func(*Format) {}
	for name, c := range map[string]struct {
		h    *datamgr.Handle
		fs   []Format
		want string
	}{
		"nil":            {nil, with(none), "the handle is nil"},
		"none":           {x.Handle, nil, "name a Format"},
		"part":           {parts.Parts[0], with(none), "it is a part"},
		"views":          {view.Handle, with(none), "right after the registration"},
		"reduction":      {sums.Handle, with(none), "a reduction"},
		"no name":        {x.Handle, with(func(f *Format) { f.Name = "" }), "needs a name"},
		"no kind":        {x.Handle, with(func(f *Format) { f.On = nil }), "list kinds in On"},
		"cpu":            {x.Handle, with(func(f *Format) { f.On = []string{"cpu"} }), "the CPU has the layout of the registration"},
		"no To":          {x.Handle, with(func(f *Format) { f.To = nil }), "has no codelet To"},
		"no From":        {x.Handle, with(func(f *Format) { f.From = nil }), "has no codelet From"},
		"no kernel":      {x.Handle, with(func(f *Format) { f.To = &Codelet{Name: "none"} }), "has no implementation for sim"},
		"From elsewhere": {x.Handle, with(func(f *Format) { f.From = &Codelet{Name: "far", On: map[string][]Impl{"cuda": {nil}}} }), "needs an implementation for the CPU"},
		"modes":          {x.Handle, with(func(f *Format) { f.To = &Codelet{Name: "rw", Modes: []iface.AccessMode{iface.RW}} }), "it needs two, R and W"},
		"sizes":          {x.Handle, with(func(f *Format) { f.Dims = []int{2} }), "layout \"rows\""},
		"twice":          {x.Handle, append(with(none), with(none)...), "two layouts are called"},
		"same kind":      {x.Handle, append(with(none), with(func(f *Format) { f.Name = "other" })...), "name each kind of device once"},
	} {
		err := rt.SetFormats(c.h, c.fs...)
		if e := (*FormatError)(nil); !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	must(t, rt.SetFormats(x.Handle, with(none)...))
	task := func(o Operand) error { return j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{o}}) }
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"again":     {rt.SetFormats(x.Handle, with(none)...), "layouts already"},
		"partition": {func() error { _, err := rt.Partition(x.Handle, filter.Blocks(2)); return err }(), "register the parts one by one"},
		"scratch":   {task(Scratch(x)), "pass other data of the same sizes"},
		"unordered": {task(Operand{Handle: x.Handle, Mode: iface.RW, Unordered: true}), "leave the option out"},
		"redux":     {task(Redux(x)), "reduction"},
		"reduce":    {rt.SetReduction(x.Handle, datamgr.SumReduction()), "cannot change"},
		"function": {func() error {
			c := Func("touch", func(v []int64) {})
			c.Formats = []int{0}
			return j.Go(c, RW(x))
		}(), "let the codelet take both"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, c.err, c.want)
		}
	}
}

// TestMultiformatCosts holds that conversions are priced beside transfers, and weighed by a policy that knows costs.
func TestMultiformatCosts(t *testing.T) {
	ctx := context.Background()
	const n = 10
	cost := func(s float64) *perf.Model {
		return &perf.Model{Kind: perf.PerArch, Cost: func(*perf.Call) float64 { return s }}
	}
	for _, dear := range []bool{false, true} {
		rt, j := start(t, Options{Workers: 1, Devices: simulated(1<<14, 1), Policy: "dmda", PerfDir: t.TempDir()})
		p := newPoints(n)
		price := 1e-9
		if dear {
			price = 3
		}
		p.formats[0].To.Model, p.formats[0].From.Model = cost(price), cost(2*price)
		x := got(MakeVector[int64](rt, 2*n))(t)
		must(t, rt.SetFormats(x.Handle, p.formats...))
		usesOn(t, j, 0, countPoints, iface.W, x.Handle)
		must(t, j.Wait(ctx))
		var on atomic.Int64
		body := onPoints("body", func(c *TaskContext, _ int, _, _ *int64) { on.Store(int64(c.w.node)) })
		body.Model = &perf.Model{Kind: perf.PerArch, Cost: func(c *perf.Call) float64 { // a second faster on the device
			if c.Arch == "cpu" {
				return 2
			}
			return 1
		}}
		must(t, j.Go(body, R(x)))
		must(t, j.Wait(ctx))
		if far := on.Load() == 1; far == dear {
			t.Errorf("conversion of %v s: on node %d", price, on.Load())
		}
		to, _ := formatsOf(x.Handle).conversion(0, 1)
		before := rt.conversionTime(rt.workers[1], formatsOf(x.Handle), 0, 1)
		if before != price || to != p.formats[0].To {
			t.Errorf("a conversion costs %v, want %v", before, price)
		}
		usesOn(t, j, 1, countPoints, iface.W, x.Handle) // now main memory needs a conversion
		must(t, j.Wait(ctx))
		must(t, j.Go(body, R(x)))
		must(t, j.Wait(ctx))
		if on.Load() != 1 {
			t.Error("a task left the device, which is faster and has the value")
		}
	}
}

// conversionsSeen is a listener that keeps the events of conversions.
type conversionsSeen struct {
	mu     sync.Mutex
	events []string
}

func (l *conversionsSeen) TaskEvent(e *Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Codelet != nil && e.Internal != "" {
		l.events = append(l.events, fmt.Sprintf("%s %v %s on %d", e.Internal, e.Kind, e.Codelet.Name, e.Worker))
	}
}

// TestMultiformatEvents holds that conversions are tasks for listeners, on the workers that run them.
func TestMultiformatEvents(t *testing.T) {
	ctx := context.Background()
	var seen conversionsSeen
	rt, j := start(t, Options{Workers: 1, Devices: simulated(1<<14, 1), Listener: &seen, Profile: true})
	p := newPoints(10)
	x := got(MakeVector[int64](rt, 20))(t)
	must(t, rt.SetFormats(x.Handle, p.formats...))
	usesOn(t, j, 0, countPoints, iface.W, x.Handle)
	usesOn(t, j, 1, movePoints, iface.RW, x.Handle)
	got(x.Value(ctx, j))(t)
	want := []string{"convert submitted to rows on -1", "convert started to rows on 1", "convert done to rows on 1",
		"convert submitted from rows on -1", "convert started from rows on 0", "convert done from rows on 0"}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if !slices.Equal(seen.events, want) {
		t.Errorf("%q, want %q", seen.events, want)
	}
}

// TestMultiformatPlan holds that plans have the conversions that tasks need wherever they run.
func TestMultiformatPlan(t *testing.T) {
	ctx := context.Background()
	var plan []string
	devices := simulated(1<<14, 1)
	rt := got(Machine{Workers: 2, Devices: devices}.Planner(func(p *PlannedTask) {
		name := p.Internal
		if p.Codelet != nil {
			name += " " + p.Codelet.Name
		}
		plan = append(plan, fmt.Sprint(name, p.After))
	}))(t)
	defer rt.Close()
	j := rt.NewJob(ctx, JobOptions{})
	defer j.Close()
	p := newPoints(10)
	x := got(MakeVector[int64](rt, 20))(t)
	must(t, rt.SetFormats(x.Handle, p.formats...))
	usesOn(t, j, 0, countPoints, iface.W, x.Handle)
	must(t, j.Go(movePoints, R(x))) // may run where the value is
	usesOn(t, j, 2-1, movePoints, iface.RW, x.Handle)
	usesOn(t, j, 1, movePoints, iface.R, x.Handle)
	a := got(x.Acquire(ctx, j, iface.R))(t)
	must(t, a.Release())
	want := []string{" count[]", " move[]", "convert to rows[]", " move[-1]", " move[]", "convert from rows[]", "acquire[-3]"}
	if !slices.Equal(plan, want) {
		t.Errorf("%q, want %q", plan, want)
	}
	if p.to.Load()+p.from.Load() != 0 {
		t.Error("a plan has converted")
	}
}

// TestMultiformatTry has a kernel on the only CPU worker ask for a value in the layout of a device: it gets ErrBusy,
// and the value is converted after it.
func TestMultiformatTry(t *testing.T) {
	const n = 10
	rt, j := start(t, Options{Workers: 1, Devices: simulated(1<<14, 1)})
	p := newPoints(n)
	x := got(MakeVector[int64](rt, 2*n))(t)
	must(t, rt.SetFormats(x.Handle, p.formats...))
	usesOn(t, j, 1, countPoints, iface.W, x.Handle)
	must(t, j.Wait(context.Background()))
	try := func() error {
		a, err := j.TryAcquire(x.Handle, iface.R)
		if err == nil {
			err = a.Release()
		}
		return err
	}
	must(t, j.Go(func() error {
		if err := try(); !errors.Is(err, ErrBusy) {
			return fmt.Errorf("TryAcquire of what is to be converted returned %v, want ErrBusy", err)
		}
		return nil
	}))
	must(t, j.Wait(context.Background()))
	enginetest.Eventually(t, "the value is converted", func() bool { return !errors.Is(try(), ErrBusy) })
	must(t, try())
	p.want(t, j, 0, 1)
}

// TestMultiformatDuplicateFails has the program read a duplicate of data whose conversion fails.
func TestMultiformatDuplicateFails(t *testing.T) {
	ctx := context.Background()
	const n = 10
	rt, j := start(t, Options{Workers: 1, Devices: simulated(1<<14, 1)})
	p := newPoints(n)
	p.formats[0].From.CPU[0] = func(*TaskContext) error { return errKernel }
	x := got(MakeVector[int64](rt, 2*n))(t)
	must(t, rt.SetFormats(x.Handle, p.formats...))
	usesOn(t, j, 1, countPoints, iface.W, x.Handle)
	d := got(j.Duplicate(x.Handle))(t)
	for _, h := range []*datamgr.Handle{d, x.Handle} {
		var lost *FailedDataError
		if a, err := j.Acquire(ctx, h, iface.R); !errors.As(err, &lost) || !errors.Is(err, errKernel) {
			t.Errorf("Acquire of %s returned %v, %v", describe(h), a, err)
		}
	}
	must(t, j.Wait(ctx))
	if len(j.Failures()) == 0 {
		t.Error("the job says nothing of the conversion")
	}
}

// TestMultiformatTwice passes data with layouts twice to a task that writes it: where the two could be different memory, that is an error.
func TestMultiformatTwice(t *testing.T) {
	const n = 10
	rt, j := start(t, Options{Workers: 1, Devices: simulated(1<<14, 1)})
	p := newPoints(n)
	x := got(MakeVector[int64](rt, 2*n))(t)
	must(t, rt.SetFormats(x.Handle, p.formats...))
	for _, c := range []struct {
		formats []int
		bad     bool
	}{{nil, false}, {[]int{0}, true}, {[]int{1}, true}, {[]int{0, 1}, false}} {
		k := kernel("twice", func(c *TaskContext) error {
			for i := range c.Buffer(0).Len() {
				flat(c.Buffer(0))[i] = int64(i)
			}
			return nil
		})
		k.Formats = c.formats
		err := j.Submit(&TaskSpec{Codelet: k, Operands: []Operand{{Handle: x.Handle, Mode: iface.W}, {Handle: x.Handle, Mode: iface.W}}})
		var e *FormatError
		if errors.As(err, &e) != c.bad {
			t.Errorf("Formats %v: %v", c.formats, err)
		}
	}
	must(t, j.Wait(context.Background()))
}
