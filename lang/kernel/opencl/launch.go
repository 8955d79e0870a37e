package opencl

import (
	"errors"
	"fmt"

	"github.com/starpush/starpush/accel"
	driver "github.com/starpush/starpush/accel/opencl"
	"github.com/starpush/starpush/lang/kernel/ir"
)

// Launch is a kernel to start, after the previous one has ended.
type Launch struct {
	Name  string
	Items int  // work-items with a round
	Group bool // one work-group runs it, with 8 bytes of local memory for each item, the last argument
	Args  []Arg
}

// Arg is an argument of a kernel: a number, or an operand, which has two parameters, a pointer
// and the number of elements in front of its own.
type Arg struct {
	Operand int // -1 for a number
	Value   any // int8 to uint64, float32 or float64
}

// BoundsError is the reason why a body was not started on a device.
type BoundsError struct{ Codelet string }

func (e *BoundsError) Error() string {
	return fmt.Sprintf("an index in the body of %s may be out of bounds, which only a CPU worker can report", e.Codelet)
}

// Launches returns the kernels of a run, in order. It does not use the pointers of the buffers
// of t. The error is a *BoundsError if an index may be out of bounds; other errors are about
// operands that do not fit.
func (ks *Kernels) Launches(t ir.Task) ([]Launch, error) {
	o, err := ks.eval.Bind(t)
	if err != nil {
		return nil, err
	}
	defer o.Release()
	if !ks.demands(o) {
		return nil, &BoundsError{ks.fn.Name}
	}
	var out []Launch
	for _, s := range ks.steps {
		l := Launch{Name: s.name, Items: 1, Group: s.domain == nil}
		for _, op := range s.buffers {
			l.Args = append(l.Args, Arg{Operand: op})
		}
		add := func(v any) { l.Args = append(l.Args, Arg{-1, v}) }
		for k := range s.domain {
			lo := s.lo[k](o)
			n := ir.Trips(lo, s.hi[k](o), s.domain[k].Closed)
			if l.Items > 0 && n > maxItems/uint64(l.Items) {
				return nil, fmt.Errorf("kernel: %s has more than %d rounds, too many for a device", ks.fn.Name, int64(maxItems))
			}
			l.Items *= int(n)
			add(lo)
			add(int64(n))
		}
		if l.Items == 0 {
			continue
		}
		for _, f := range s.fieldValues {
			add(f(o))
		}
		for _, slot := range s.scalars {
			add(o.Scalar(slot))
		}
		out = append(out, l)
	}
	return out, nil
}

// maxItems bounds the work-items of one kernel.
const maxItems = 1 << 40

// itemsPerGroup is the number of work-items of a work-group, of kernels with an item a round.
const itemsPerGroup = 64

// maxFoldItems bounds the work-items that compute a fold together.
const maxFoldItems = 256

// exactFloatOption makes / and sqrt of f32 correctly rounded. Without it the last two bits may
// differ from those of CPU workers.
const exactFloatOption = "-cl-fp32-correctly-rounded-divide-sqrt"

var errNoDoubles = errors.New("it computes with f64, and the device lacks double precision")

// Run starts the kernels on the stream's device, in whose memory the buffers of t are. It
// returns when they are queued; errors of a running kernel come from the stream. An
// *accel.DeclinedError means that an index may be out of bounds (a *BoundsError), that the
// device lacks doubles, or that it cannot build the kernels.
func (ks *Kernels) Run(s *driver.Stream, t ir.Task) error {
	dev := s.Device()
	declined := func(err error) error { return &accel.DeclinedError{Device: dev.Name(), Kernel: ks.fn.Name, Err: err} }
	if ks.doubles && !dev.Info().Doubles {
		return declined(errNoDoubles)
	}
	launches, err := ks.Launches(t)
	var outside *BoundsError
	if errors.As(err, &outside) {
		return declined(err)
	}
	if err != nil || len(launches) == 0 {
		return err
	}
	built, err := dev.Build(ks.text, exactFloatOption)
	var bad *driver.BuildError
	if errors.As(err, &bad) { // some devices lack the option
		built, err = dev.Build(ks.text, "")
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
			for n < maxFoldItems && 2*n <= k.WorkGroup() {
				n *= 2
			}
			global, local = []int{n}, []int{n}
			args = append(args, driver.Local(8*n))
		case k.WorkGroup() >= itemsPerGroup:
			global, local = []int{(l.Items + itemsPerGroup - 1) / itemsPerGroup * itemsPerGroup}, []int{itemsPerGroup}
		}
		if err := s.Launch(k, global, local, args...); err != nil {
			return err
		}
	}
	return nil
}
