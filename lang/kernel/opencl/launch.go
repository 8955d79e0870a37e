package opencl

import (
	"errors"
	"fmt"

	"github.com/starpush/starpush/accel"
	driver "github.com/starpush/starpush/accel/opencl"
	"github.com/starpush/starpush/lang/kernel/ir"
)

// Launch is a kernel to start. A kernel may begin when the one before it has
// ended.
type Launch struct {
	Name  string
	Items int  // work-items that have something to do
	Group bool // one work-group does it all, with 8 bytes of local memory an item, the last argument
	Args  []Arg
}

// Arg is an argument of a kernel: an operand, whose parameters are a pointer and
// the number of elements before its own, or a number.
type Arg struct {
	Operand int // -1 for a number
	Value   any // int8 to uint64, float32 or float64
}

// OutsideError says why a body was not started on a device.
type OutsideError struct{ Codelet string }

func (e *OutsideError) Error() string {
	return fmt.Sprintf("an index in the body of %s may lie outside; a CPU worker could tell", e.Codelet)
}

// Launches returns the kernels of a run, in order. The pointers of t's buffers are
// not looked at. The error is an *OutsideError where an index may lie outside, or
// says that the operands do not fit.
func (d *Kernels) Launches(t ir.Task) ([]Launch, error) {
	o, err := d.eval.Bind(t)
	if err != nil {
		return nil, err
	}
	defer o.Release()
	if !d.met(o) {
		return nil, &OutsideError{d.fn.Name}
	}
	var out []Launch
	for _, s := range d.steps {
		l := Launch{Name: s.name, Items: 1, Group: s.domain == nil}
		for _, op := range s.buffers {
			l.Args = append(l.Args, Arg{Operand: op})
		}
		add := func(v any) { l.Args = append(l.Args, Arg{-1, v}) }
		for k := range s.domain {
			lo := s.lo[k](o)
			n := ir.Trips(lo, s.hi[k](o), s.domain[k].Closed)
			if l.Items > 0 && n > maxItems/uint64(l.Items) {
				return nil, fmt.Errorf("kernel: %s has more than %d rounds, too many for a device", d.fn.Name, maxItems)
			}
			l.Items *= int(n)
			add(lo)
			add(int64(n))
		}
		if l.Items == 0 {
			continue
		}
		for _, f := range s.host {
			add(f(o))
		}
		for _, slot := range s.scalars {
			add(o.Scalar(slot))
		}
		out = append(out, l)
	}
	return out, nil
}

// maxItems is the most work-items that one kernel has.
const maxItems = 1 << 40

// Runs on OpenCL devices.

// clRow is the number of work-items of a work-group.
const clRow = 64

// clGroup is the most work-items that fold together.
const clGroup = 256

// exactSingles makes / and sqrt of f32 as exact as those of f64: without it the
// last two bits may differ from the CPU's.
const exactSingles = "-cl-fp32-correctly-rounded-divide-sqrt"

var errNoDoubles = errors.New("it computes with f64, and the device lacks double precision")

// Run begins a run on the stream's device: the buffers of t point into its
// memory. It returns when all kernels are handed over; errors of a kernel that
// runs come with the stream. An *accel.DeclinedError says that an index may lie
// outside (an *OutsideError), that the device lacks doubles, or that it cannot build
// the kernels.
func (d *Kernels) Run(s *driver.Stream, t ir.Task) error {
	dev := s.Device()
	declined := func(err error) error { return &accel.DeclinedError{Device: dev.Name(), Kernel: d.fn.Name, Err: err} }
	if d.doubles && !dev.Info().Doubles {
		return declined(errNoDoubles)
	}
	launches, err := d.Launches(t)
	var outside *OutsideError
	if errors.As(err, &outside) {
		return declined(err)
	}
	if err != nil || len(launches) == 0 {
		return err
	}
	built, err := dev.Build(d.text, exactSingles)
	var bad *driver.BuildError
	if errors.As(err, &bad) { // not every device knows the option
		built, err = dev.Build(d.text, "")
	}
	if errors.As(err, &bad) {
		return declined(err)
	}
	if err != nil {
		return err
	}
	for _, l := range launches {
		k, err := built.Kernel(l.Name)
		if err != nil {
			return err
		}
		args := make([]any, 0, len(l.Args)+1)
		for _, a := range l.Args {
			if a.Operand >= 0 {
				b := t.Buffer(a.Operand)
				args = append(args, driver.Buf{Ptr: b.Ptr, Elem: int(b.Elem.Size())})
			} else {
				args = append(args, a.Value)
			}
		}
		global, local := []int{l.Items}, []int(nil)
		switch {
		case l.Group:
			n := 1
			for n < clGroup && 2*n <= k.WorkGroup() {
				n *= 2
			}
			global, local = []int{n}, []int{n}
			args = append(args, driver.Local(8*n))
		case k.WorkGroup() >= clRow:
			global, local = []int{(l.Items + clRow - 1) / clRow * clRow}, []int{clRow}
		}
		if err := s.Launch(k, global, local, args...); err != nil {
			return err
		}
	}
	return nil
}
