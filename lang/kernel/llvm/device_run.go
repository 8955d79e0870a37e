package llvm

// Running the kernels of a body on a device.

import (
	"context"
	"fmt"

	"github.com/starpush/starpush/lang/kernel/cpu"
	"github.com/starpush/starpush/lang/kernel/ir"
)

// Launcher starts kernels on a device, one after another. A goroutine at a time uses it.
type Launcher interface {
	// Memory returns the address of bytes of the device's memory, the same as long as bytes does
	// not grow. Kernels that have been started may use what an earlier call returned.
	Memory(bytes int64) (uint64, error)
	// Launch starts a kernel, whose threads compute x rounds side by side, in y rows: -1 if that
	// is not known. There may be fewer threads.
	Launch(kernel int, x, y int64, params []uint64) error
	// Read waits for what has been started, and copies words from the device's memory.
	Read(from uint64, to []uint64) error
}

// TooLargeError is the reason why a task was not started on a device.
type TooLargeError struct {
	Codelet string
	What    string
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s has too many %s for a device", e.Codelet, e.What)
}

// maxDeviceRounds bounds the rounds of a loop: their number, and the places of results of a fold,
// are no overflow then.
const maxDeviceRounds = 1 << 40

// Kernels returns the names of the entries of the module, in the order of their numbers.
func (d *Device) Kernels() []string {
	var out []string
	for _, k := range d.kernels {
		out = append(out, k.name+"_entry")
	}
	return out
}

// ptxTarget is the processor of the PTX in keys of a cache.
const ptxTarget = "nvptx64 sm_75"

// PTX returns the module as PTX, compiled for devices of compute capability 7.5 and later, or
// found in c, where it is kept. The error is the reason why there is none.
func (d *Device) PTX(c *Cache) (string, error) {
	text := d.Text()
	if r, ok := c.library(); ok {
		if ptx := c.get(key(text, r, ptxTarget)); ptx != nil {
			return string(ptx), nil
		}
	}
	l, err := Open()
	if err != nil {
		return "", err
	}
	ptx, err := l.PTX(text)
	if err != nil {
		return "", err
	}
	if r, err := l.record(); err == nil {
		_ = c.put(key(text, r, ptxTarget), []byte(ptx), r)
	}
	return ptx, nil
}

// deviceRun is one task on a device.
type deviceRun struct {
	d        *Device
	ctx      context.Context
	o        cpu.Bound
	l        Launcher
	words    []uint64
	launches uint64
	record   uint64 // 0: nothing can fail
	frame    uint64
	scratch  uint64
}

// Run starts the kernels for a task, whose buffers are in the device's memory. If nothing can
// fail it returns when they are started; otherwise it waits, and the error of a body that fails
// is the fault that package cpu reports. A *TooLargeError means that nothing was started.
func (d *Device) Run(t ir.Task, l Launcher) error {
	o, err := d.eval.Bind(t)
	if err != nil {
		return err
	}
	defer o.Release()
	r := &deviceRun{d: d, ctx: t.Context(), o: o, l: l, words: make([]uint64, headWords+len(d.fn.Operands)*cpu.OperandWords+len(d.fn.Slots))}
	o.Words(r.words[headWords:])
	need, err := r.scratchBytes(d.steps)
	if err != nil {
		return err
	}
	mayFail := d.demands == nil || !d.demands(o)
	const word = 8
	at, err := l.Memory(word*int64(recordWords+d.words) + need)
	if err != nil {
		return err
	}
	r.frame, r.scratch = at+word*recordWords, at+word*uint64(recordWords+d.words)
	if mayFail {
		r.record = at
		if err := r.launch(d.kernels[0], 1, 1); err != nil {
			return err
		}
	}
	if err := r.steps(d.steps); err != nil || !mayFail {
		return err
	}
	return r.fault()
}

// fault waits for the kernels and returns the first fault, or nil.
func (r *deviceRun) fault() error {
	var record [recordWords]uint64
	if err := r.l.Read(r.record, record[:]); err != nil {
		return err
	}
	if record[recordLaunch] == ^uint64(0) {
		return nil
	}
	part := func(k int) uint64 { return record[recordFirst+k] & (1<<partBits - 1) }
	var number uint64
	for k := 1; k < recordParts; k++ {
		number |= part(k) << ((k - 1) * partBits)
	}
	return faultError(r.o, &r.d.faults[part(0)], int64(number))
}

// rounds returns the numbers of rounds of s along its axis and along the others together, -1 if
// the host cannot know.
func (r *deviceRun) rounds(s *deviceStep) (x, y int64, err error) {
	if s.Fold == nil && (s.Domain == nil || s.lo == nil) {
		if s.Domain == nil {
			return 1, 1, nil
		}
		return -1, -1, nil
	}
	x, y = 1, 1
	domain := s.Domain
	if s.Fold != nil {
		domain = s.Fold.Domain
	}
	for k := range domain {
		n := ir.Trips(s.lo[k](r.o), s.hi[k](r.o), domain[k].Closed)
		to := &y
		if k == s.axis {
			to = &x
		}
		if n > maxDeviceRounds || *to > 0 && n > maxDeviceRounds/uint64(*to) {
			return 0, 0, &TooLargeError{r.d.fn.Name, "rounds"}
		}
		*to *= int64(n)
	}
	if x > 0 && y > maxDeviceRounds/x {
		return 0, 0, &TooLargeError{r.d.fn.Name, "rounds"}
	}
	return x, y, nil
}

// results returns the number of results of a fold, and of partial sums of each.
func (r *deviceRun) results(s *deviceStep) (n, partial int64, err error) {
	x, y, err := r.rounds(s)
	if s.axis < 0 {
		return y, 1, err
	}
	partial = partialSums
	if s.product {
		partial = 1
	}
	return (x + cpu.StripRounds - 1) / cpu.StripRounds * y, partial, err
}

// scratchBytes returns the most memory that a fold takes. It checks the sizes of all steps.
func (r *deviceRun) scratchBytes(list []*deviceStep) (int64, error) {
	var most int64
	for _, s := range list {
		if _, _, err := r.rounds(s); err != nil {
			return 0, err
		}
		if s.Fold != nil {
			n, partial, _ := r.results(s)
			size := int64(s.Fold.Type.Size())
			most = max(most, size*(n*partial+n/groupResults+1))
			if most > 1<<36 {
				return 0, &TooLargeError{r.d.fn.Name, "values of a fold"}
			}
		}
		inner, err := r.scratchBytes(s.inner)
		if err != nil {
			return 0, err
		}
		most = max(most, inner)
	}
	return most, nil
}

func (r *deviceRun) steps(list []*deviceStep) error {
	for _, s := range list {
		if r.ctx.Err() != nil {
			return context.Cause(r.ctx)
		}
		if err := r.step(s); err != nil {
			return err
		}
	}
	return nil
}

func (r *deviceRun) step(s *deviceStep) error {
	switch {
	case s.inner != nil:
		lo := s.lo[0](r.o)
		n := ir.Trips(lo, s.hi[0](r.o), s.Domain[0].Closed)
		index := &r.words[headWords+len(r.d.fn.Operands)*cpu.OperandWords+s.Domain[0].Slot]
		for k := range n {
			*index = uint64(lo) + k
			if err := r.steps(s.inner); err != nil {
				return err
			}
		}
		return nil
	case s.Fold != nil:
		n, partial, err := r.results(s)
		if err != nil {
			return err
		}
		groups := (n + groupResults - 1) / groupResults
		for k, x := range []int64{n * partial, groups, 1} {
			if x > 0 {
				if err := r.launch(s.kernels[k], x, 1); err != nil {
					return err
				}
			}
		}
		return nil
	}
	x, y, err := r.rounds(s)
	if err != nil || x == 0 || y == 0 {
		return err
	}
	return r.launch(s.kernels[0], x, y)
}

func (r *deviceRun) launch(k *deviceKernel, x, y int64) error {
	params := make([]uint64, 0, 4+len(k.words))
	params = append(params, r.launches, r.record, r.frame, r.scratch)
	r.launches++
	for _, n := range k.words {
		params = append(params, r.words[n])
	}
	return r.l.Launch(k.number, x, y, params)
}
