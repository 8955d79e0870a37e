//go:build cuda

package cudatest

import (
	"fmt"
	"runtime"

	"gorgonia.org/cu"

	_ "github.com/starpush/starpush/accel/cuda/shim" // which finds the driver
)

// Fault is something that goes wrong with a device.
type Fault int64

// The faults. The numbers are the driver's.
const (
	Mend       Fault = 0 // nothing of the following any more, unless the device is lost
	FailAlloc  Fault = 1 // the next allocation finds no memory
	FailCopy   Fault = 2 // the next copy fails
	Lose       Fault = 3 // the device does not answer any more, until it was closed and is opened again
	FailLaunch Fault = 4 // the next kernel is refused
	Crash      Fault = 5 // the next kernel uses memory that is not its own, which loses the device while it runs
)

// breakLimit is the limit of a context that stands for what is to go wrong.
const breakLimit = 200

// Break does that to an open device of the fake driver.
func Break(device int, f Fault) error {
	err := with(device, func() error { return cu.SetLimit(breakLimit, int64(f)) })
	if err != nil {
		return fmt.Errorf("cudatest: breaking device %d: %w", device, err)
	}
	return nil
}

// Left is how much of that has not happened yet; with a device that is lost nothing
// more happens.
func Left(device int) int {
	var n int64
	_ = with(device, func() (err error) { n, err = cu.Limits(breakLimit); return err })
	return int(n)
}

// with calls fn on the context of a device.
func with(device int, fn func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	dev, err := cu.GetDevice(device)
	if err != nil {
		return err
	}
	ctx, err := dev.RetainPrimaryCtx()
	if err != nil {
		return err
	}
	defer func() { _ = dev.ReleasePrimaryCtx() }()
	if err := cu.SetCurrentContext(ctx); err != nil {
		return err
	}
	return fn()
}
