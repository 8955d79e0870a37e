package kernel

// Runs on OpenCL devices.

import (
	"errors"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/opencl"
)

// clRow is the number of work-items of a work-group.
const clRow = 64

// clGroup is the most work-items that fold together.
const clGroup = 256

// exactSingles makes / and sqrt of f32 as exact as those of f64: without it the
// last two bits may differ from the CPU's.
const exactSingles = "-cl-fp32-correctly-rounded-divide-sqrt"

var errNoDoubles = errors.New("it computes with f64, and the device lacks double precision")

// RunOpenCL begins a run on the stream's device: the buffers of t point into its
// memory. It returns when all kernels are handed over; errors of a kernel that
// runs come with the stream. An *accel.DeclinedError says that an index may lie
// outside (an *OutsideError), that the device lacks doubles, or that it cannot build
// the kernels.
func (d *Device) RunOpenCL(s *opencl.Stream, t Task) error {
	dev := s.Device()
	declined := func(err error) error { return &accel.DeclinedError{Device: dev.Name(), Kernel: d.p.fn.Name, Err: err} }
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
	var bad *opencl.BuildError
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
				args = append(args, opencl.Buf{Ptr: b.Ptr, Elem: int(b.Elem.Size())})
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
			args = append(args, opencl.Local(8*n))
		case k.WorkGroup() >= clRow:
			global, local = []int{(l.Items + clRow - 1) / clRow * clRow}, []int{clRow}
		}
		if err := s.Launch(k, global, local, args...); err != nil {
			return err
		}
	}
	return nil
}
