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
	FailAlloc Fault = 1 // the next allocation finds no memory
	FailCopy  Fault = 2 // the next copy fails
	Lose      Fault = 3 // the device does not answer any more, until it was closed and is opened again
)

// Break does that to an open device of the fake driver.
func Break(device int, f Fault) error {
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
	if err := cu.SetLimit(200, int64(f)); err != nil {
		return fmt.Errorf("cudatest: breaking device %d: %w", device, err)
	}
	return nil
}
