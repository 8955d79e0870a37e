package simulate

// This machine, as measured for a moment.

import (
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// thisMachine measures this machine for some hundredths of a second: operations of one core, bytes of memory of all, and what the runtime takes. Kernels
// that have performance models depend on the last alone. Other work on the machine only makes rounds longer, so rates and the overhead are those of the shortest
// round, and Machine.Unsteady has how much longer the others were. The time to wake up is the median, as a worker may not have slept yet.
func thisMachine() *Machine {
	n := runtime.NumCPU()
	m := &Machine{Name: "this", Computers: 1,
		CPU:    CPU{Workers: n, NUMA: 1, Overhead: usualOverhead, Measured: true},
		Script: usualScript}
	m.Script.Shared = true // there are as many workers as processors
	m.CPU.Flops = measureFlops(&m.Unsteady)
	m.CPU.Bandwidth = measureBandwidth(n, &m.Unsteady)
	if t, err := measureRuntime(n); err == nil {
		m.CPU.Overhead, m.CPU.Wake, m.CPU.Look = shortest(t.chain, &m.Unsteady)/chainTasks, quantile(t.wakes, 0.5), t.look()
		m.Script.Wait = max(0, shortest(t.waits, &m.Unsteady)/valueReads-m.CPU.Overhead)
	}
	return m
}

// rounds is how often something is measured.
const rounds = 7

// timed runs f a few times, each on n goroutines, and returns the seconds of each.
func timed(n int, f func(k int)) (all []float64) {
	for range rounds {
		begin := time.Now()
		done := make(chan struct{}, n)
		for k := range n {
			go func() {
				f(k)
				done <- struct{}{}
			}()
		}
		for range n {
			<-done
		}
		all = append(all, time.Since(begin).Seconds())
	}
	return all
}

// shortest returns the least of some times, which it sorts, and raises unsteady to how many times the median is that.
func shortest(all []float64, unsteady *float64) float64 {
	low := quantile(all, 0)
	*unsteady = max(*unsteady, quantile(all, 0.5)/low)
	return low
}

// quantile returns the time that a part of some times are below, 0.5 for the median, and sorts them.
func quantile(all []float64, part float64) float64 {
	slices.Sort(all)
	return max(all[int(part*float64(len(all)))], 1e-9)
}

// measureFlops returns the operations a second of a loop of independent multiplications and additions.
func measureFlops(unsteady *float64) float64 {
	const steps = 1 << 19
	sums := [4]float64{1, 2, 3, 4}
	s := shortest(timed(1, func(int) {
		a, b, c, d := sums[0], sums[1], sums[2], sums[3]
		for range steps {
			a, b, c, d = a*0.999999+1e-9, b*0.999999+1e-9, c*0.999999+1e-9, d*0.999999+1e-9
		}
		sums = [4]float64{a, b, c, d}
	}), unsteady)
	return 8 * steps / s
}

// measureBandwidth returns the bytes a second that n goroutines copy together, read and written.
func measureBandwidth(n int, unsteady *float64) float64 {
	const bytes = 16 << 20
	from, to := make([][]byte, n), make([][]byte, n)
	for k := range n {
		from[k], to[k] = make([]byte, bytes), make([]byte, bytes)
	}
	s := shortest(timed(n, func(k int) { copy(to[k], from[k]) }), unsteady)
	return 2 * bytes * float64(n) / s
}

// ClearMemory gives m the rate at which this process gets memory that it has used before, for programs that run in such a one: see CPU.Clear.
func (m *Machine) ClearMemory() {
	const bytes = 32 << 20
	var rates []float64
	for k := range 6 {
		begin := time.Now()
		block := make([]byte, bytes)
		if k > 0 { // the first may be new memory, which is clear
			rates = append(rates, bytes/max(time.Since(begin).Seconds(), 1e-9))
		}
		runtime.KeepAlive(block)
		runtime.GC()
	}
	slices.Sort(rates)
	m.CPU.Clear = rates[len(rates)/2]
}

// chainTasks is how many tasks a chain has.
const chainTasks = 4096

// valueReads is how many values are read to measure what one takes.
const valueReads = 128

// pauses are the times without tasks after which it is measured how soon a worker begins.
var pauses = []time.Duration{5 * time.Microsecond, 10 * time.Microsecond, 20 * time.Microsecond, 50 * time.Microsecond, 100 * time.Microsecond, 200 * time.Microsecond}

// runtimeTimes are seconds of tasks without work.
type runtimeTimes struct {
	chain []float64   // of chains of chainTasks
	wakes []float64   // until a worker that sleeps begins
	waits []float64   // of valueReads tasks, with a program that reads the value after each
	after [][]float64 // the same for a worker that had its last task before each of pauses
}

// look returns the longest of pauses after which a worker begins in less than half the time that it takes to wake up. Noise only makes it shorter, so it
// is never below usualLook.
func (t *runtimeTimes) look() (seconds float64) {
	wake := quantile(t.wakes, 0.5)
	seconds = usualLook
	for k, p := range pauses {
		if quantile(t.after[k], 0.25) < wake/2 {
			seconds = max(seconds, p.Seconds())
		}
	}
	return seconds
}

// measureRuntime runs tasks without work on n workers.
func measureRuntime(n int) (t runtimeTimes, err error) {
	rt, err := engine.New(engine.Options{Workers: n})
	if err != nil {
		return t, err
	}
	defer func() {
		if closeErr := rt.Close(); err == nil {
			err = closeErr
		}
	}()
	ctx := context.Background()
	j := rt.NewJob(ctx, engine.JobOptions{})
	h, err := rt.RegisterFilled(engine.DataSpec{Kind: iface.Variable, Elem: iface.F64}, func(*iface.Buffer) error { return nil })
	if err != nil {
		return t, err
	}
	var began time.Time
	c := &engine.Codelet{Name: "empty", CPU: []engine.Impl{func(*engine.TaskContext) error { began = time.Now(); return nil }}}
	spec := engine.TaskSpec{Codelet: c, Operands: []engine.Operand{{Handle: h, Mode: iface.RW}}}
	run := func(tasks int) (float64, error) { // from the first submission to the start of the last kernel
		submitted := time.Now()
		for range tasks {
			if err := j.Submit(&spec); err != nil {
				return 0, err
			}
		}
		err := j.Wait(ctx)
		return began.Sub(submitted).Seconds(), err
	}
	add := func(to *[]float64, tasks int) error {
		d, err := run(tasks)
		*to = append(*to, d)
		return err
	}
	for range rounds {
		if err := add(&t.chain, chainTasks); err != nil {
			return t, err
		}
	}
	for range rounds {
		began := time.Now()
		for range valueReads {
			if err := j.Submit(&spec); err != nil {
				return t, err
			}
			a, err := j.Acquire(ctx, h, iface.R)
			if err != nil {
				return t, err
			}
			a.Release()
		}
		t.waits = append(t.waits, time.Since(began).Seconds())
	}
	for range 31 {
		time.Sleep(300 * time.Microsecond) // all workers sleep then
		if err := add(&t.wakes, 1); err != nil {
			return t, err
		}
	}
	t.after = make([][]float64, len(pauses))
	for k, p := range pauses {
		for range 15 {
			for ended := time.Now(); time.Since(ended) < p; {
			}
			if err := add(&t.after[k], 1); err != nil {
				return t, err
			}
		}
	}
	return t, nil
}
