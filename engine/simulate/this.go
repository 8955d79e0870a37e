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
// that have performance models depend on the last alone.
func thisMachine() *Machine {
	n := runtime.NumCPU()
	m := &Machine{Name: "this", Computers: 1,
		CPU:    CPU{Workers: n, NUMA: 1, Flops: measureFlops(), Bandwidth: measureBandwidth(n), Overhead: usualOverhead, Measured: true},
		Script: usualScript}
	if overhead, wake, err := measureRuntime(n); err == nil {
		m.CPU.Overhead, m.CPU.Wake = overhead, wake
	}
	return m
}

// fastest runs f a few times, each on n goroutines, and returns the least time.
func fastest(n int, f func(k int)) float64 {
	best := time.Duration(1 << 62)
	for range 5 {
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
		best = min(best, time.Since(begin))
	}
	return max(best.Seconds(), 1e-9)
}

// measureFlops returns the operations a second of a loop of independent multiplications and additions.
func measureFlops() float64 {
	const rounds = 1 << 20
	sums := [4]float64{1, 2, 3, 4}
	s := fastest(1, func(int) {
		a, b, c, d := sums[0], sums[1], sums[2], sums[3]
		for range rounds {
			a, b, c, d = a*0.999999+1e-9, b*0.999999+1e-9, c*0.999999+1e-9, d*0.999999+1e-9
		}
		sums = [4]float64{a, b, c, d}
	})
	return 8 * rounds / s
}

// measureBandwidth returns the bytes a second that n goroutines copy together, read and written.
func measureBandwidth(n int) float64 {
	const bytes = 16 << 20
	from, to := make([][]byte, n), make([][]byte, n)
	for k := range n {
		from[k], to[k] = make([]byte, bytes), make([]byte, bytes)
	}
	s := fastest(n, func(k int) { copy(to[k], from[k]) })
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

// measureRuntime runs tasks without work on n workers. It returns the seconds that a task of a chain takes, and those until a worker that
// sleeps begins.
func measureRuntime(n int) (overhead, wake float64, err error) {
	rt, err := engine.New(engine.Options{Workers: n})
	if err != nil {
		return 0, 0, err
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
		return 0, 0, err
	}
	var began time.Time
	run := func(tasks int) (time.Duration, error) { // from the first submission to the start of the last kernel
		c := &engine.Codelet{Name: "empty", CPU: []engine.Impl{func(*engine.TaskContext) error { began = time.Now(); return nil }}}
		spec := engine.TaskSpec{Codelet: c, Operands: []engine.Operand{{Handle: h, Mode: iface.RW}}}
		submitted := time.Now()
		for range tasks {
			if err := j.Submit(&spec); err != nil {
				return 0, err
			}
		}
		err := j.Wait(ctx)
		return began.Sub(submitted), err
	}
	const chain = 4096
	best := time.Duration(1 << 62)
	for range 5 {
		d, err := run(chain)
		if err != nil {
			return 0, 0, err
		}
		best = min(best, d)
	}
	var wakes []time.Duration
	for range 31 {
		time.Sleep(200 * time.Microsecond) // all workers sleep then
		d, err := run(1)
		if err != nil {
			return 0, 0, err
		}
		wakes = append(wakes, d)
	}
	slices.Sort(wakes)
	return best.Seconds() / chain, wakes[len(wakes)/2].Seconds(), nil
}
