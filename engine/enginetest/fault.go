package enginetest

import (
	"fmt"
	"sync/atomic"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/sim"
)

// Fault is something that goes wrong with a device.
type Fault int

// The faults.
const (
	FailKernel   Fault = iota // a kernel is not carried out
	FailAlloc                 // an allocation finds no memory
	FailCopy                  // a copy fails
	Lose                      // the device does not answer any more
	LoseInKernel              // nor does it once a kernel runs
)

func (f Fault) String() string {
	return [...]string{"a kernel", "an allocation", "a copy", "the device", "the device at a kernel"}[f]
}

func breakSimulated(devices []accel.Device, i int, f Fault, times int) (left func() int, err error) {
	d, ok := devices[i].(*sim.Device)
	if !ok {
		return nil, fmt.Errorf("enginetest: a %T cannot be broken", devices[i])
	}
	var n atomic.Int64
	n.Store(int64(times))
	when := func(sim.Op) bool { return n.Load() > 0 && n.Add(-1) >= 0 }
	switch f {
	case FailKernel:
		d.FailKernel(when)
	case FailAlloc:
		d.FailAlloc(when)
	case FailCopy:
		d.FailCopy(when)
	case Lose:
		d.Lose()
		n.Store(0)
	case LoseInKernel:
		d.LoseWhen(func(op sim.Op) bool { return op.Kind == sim.Kernel && when(op) })
	}
	return func() int { return int(max(0, n.Load())) }, nil
}
