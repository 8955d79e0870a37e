package engine

// How a runtime is set up.

import (
	"fmt"
	"runtime"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/bus"
	"github.com/starpush/starpush/engine/perf"
	"github.com/starpush/starpush/engine/sched"
)

// DefaultWindow is the number of unfinished tasks above which Submit makes its
// caller wait.
const DefaultWindow = 65536

// MaxWorkers bounds Options.Workers.
const MaxWorkers = 1024

// maxAhead bounds Options.Ahead and Queue: there are as many goroutines a device, or streams.
const maxAhead = 64

// Options set up a Runtime. The zero value is the default.
type Options struct {
	// Workers is the number of CPU workers, MaxWorkers at most; 0 means GOMAXPROCS, by
	// default one per CPU.
	Workers int
	// Devices are processors beside the CPUs, each with its workers, which come
	// behind the CPU workers, and with its memory, another memory node unless a
	// device before it has the same. Bytes travel between the nodes as tasks need
	// them. No two have the same name. A Sequential runtime has no devices.
	Devices []accel.Device
	// RAM bounds main memory, in bytes; 0: it has no bound. With a bound, data that the
	// runtime owns is brought to main memory as tasks need it, and unused data moves to
	// Disk when room is needed. The operands of one task must fit: otherwise its
	// submission is an error. Data in memory of the program, and data that the program
	// holds (Acquire) or fills as a whole (RegisterFilled), is not counted. Disk is a
	// device for the rest, see package accel/disk, which the caller closes after the
	// runtime. It is the last of Runtime.Nodes.
	RAM  int64
	Disk accel.Device
	// Bus says what copies between the nodes cost, for the choice of their source and
	// for policies that ask; nil: all links are taken to be like a card in a slot.
	Bus *bus.Table
	// Ahead is for how many of its next tasks a device's worker has data brought while
	// a kernel runs, as far as the policy can say which those are (see sched.Ahead); 0
	// means DefaultAhead, and less than 0 for none.
	Ahead int
	// Queue is the number of kernels of a device's worker that may be in flight, on
	// devices that run kernels while the worker goes on: OpenCL, CUDA. With 1 the worker
	// waits for each; 0 means DefaultQueue.
	Queue int
	// Policy names the scheduling policy, one of sched.Names(), and sets its
	// options if need be: "dmda:alpha=1,beta=2". "" means "lws", and "dmdas" with
	// devices.
	Policy string
	// NewPolicy makes the scheduling policy, when it is none of package sched; Policy is
	// then what Runtime.Policy calls it, "" for "user". See package sched for what it
	// must do, and schedtest for a test of it. It is called once for the runtime, and
	// again for every job with a share (JobOptions.Weight), which has a policy of its
	// own. A Sequential runtime uses none.
	NewPolicy func(sched.Machine) sched.Policy
	// Window is the number of unfinished tasks above which Submit waits for
	// the workers to catch up; 0 means DefaultWindow. Submit never waits when
	// nothing is ready or running, nor inside a kernel.
	Window int
	// Sequential runs each task inside its Submit, on the caller's goroutine:
	// the reference that every other run must agree with. There are no workers.
	Sequential bool
	// Plan makes a runtime that runs nothing: each task is checked, takes its place in
	// the order, is passed to this function, and counts as done. No memory is allocated
	// for data, no value exists, nothing is copied; Acquire returns buffers with sizes
	// and no memory. It runs tasks inside their Submit as Sequential does, but has all
	// the workers and Devices of the machine that is planned for. The function is called
	// under a lock, and must call nothing of the runtime.
	Plan func(*PlannedTask)
	// Unordered gives data registered with the runtime no order by default, as
	// DataSpec.Unordered does; Handle.SetUnordered(false) gives it back.
	Unordered bool
	// Listener receives the events of tasks; nil costs nothing.
	Listener Listener
	// Deterministic sets JobOptions.Deterministic for every job.
	Deterministic bool
	// Verify checks that kernels keep to the access modes of their operands: a
	// task whose kernel changes an R operand, leaves elements of a W operand
	// unwritten, or uses the content that a W or SCRATCH operand had before
	// fails with a *VerifyError. Kernels run one at a time, pure ones (see
	// Codelet.Pure) several times. Tasks go to workers whose kernels are functions of
	// this process, where they may; those that may not run unchecked.
	Verify bool
	// Profile takes times: see Runtime.Profile and Task.Profile.
	Profile bool
	// Poison fills W and SCRATCH operands with a pattern before their kernel
	// runs, so that a kernel that reads them is noticed. Always on with Sequential.
	Poison bool
	// Calibrate sets the use of performance models. With 0 policies use known times; 1
	// times all kernels and adds to the known times; 2 forgets the known times of the
	// codelets that run first. With 1 and 2 Close saves the models; an error of that is a
	// *ModelError.
	Calibrate int
	// PerfDir is the folder of performance models; "" means what perf.Root says.
	PerfDir string
}

// normal checks o and fills in the defaults.
func (o Options) normal() (Options, error) {
	switch {
	case o.Workers < 0 || o.Workers > MaxWorkers:
		return o, fmt.Errorf("engine: %d workers; the number is 1 to %d, or 0 for one per CPU", o.Workers, MaxWorkers)
	case o.Ahead > maxAhead:
		return o, fmt.Errorf("engine: data for %d tasks ahead; the most is %d", o.Ahead, maxAhead)
	case o.Queue < 0 || o.Queue > maxAhead:
		return o, fmt.Errorf("engine: %d kernels behind each other; the number is 1 to %d, or 0 for %d", o.Queue, maxAhead, DefaultQueue)
	case o.Window < 0:
		return o, fmt.Errorf("engine: window of %d tasks; it must be positive, or 0 for %d", o.Window, DefaultWindow)
	}
	if err := o.checkDevices(); err != nil {
		return o, err
	}
	if err := o.checkLimit(); err != nil {
		return o, err
	}
	if err := perf.Calibration(o.Calibrate).Check(); err != nil {
		return o, fmt.Errorf("engine: %w", err)
	}
	if o.Workers == 0 {
		o.Workers = min(runtime.GOMAXPROCS(0), MaxWorkers)
	}
	if o.Queue == 0 {
		o.Queue = DefaultQueue
	}
	if o.Ahead == 0 {
		o.Ahead = DefaultAhead
	}
	if o.Window == 0 {
		o.Window = DefaultWindow
	}
	if o.Policy == "" && o.NewPolicy == nil {
		o.Policy = sched.Default
		if len(o.Devices) > 0 {
			o.Policy = "dmdas" // knows what transfers and kernels take
		}
	}
	if o.NewPolicy == nil {
		if _, err := sched.Parse(o.Policy); err != nil {
			return o, fmt.Errorf("engine: %w", err)
		}
	}
	if o.Policy == "" {
		o.Policy = "user"
	}
	switch {
	case o.Plan != nil:
		o.Sequential, o.Verify, o.Poison, o.Profile, o.Calibrate = true, false, false, false, 0
		o.Listener = profileOnly{} // makes the events from which the plan is built
	case o.Sequential:
		o.Workers, o.Poison = 1, true
	}
	if o.Verify {
		o.Poison = false // verification has patterns of its own
	}
	return o, nil
}
