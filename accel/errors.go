package accel

import (
	"errors"
	"fmt"
)

// ErrNotHere is the error of Do on devices that do not run functions of this process.
var ErrNotHere = errors.New("accel: functions of this process do not run on this device")

// ErrClosed is the error of closed streams and devices.
var ErrClosed = errors.New("accel: the stream or its device is closed")

// LostError says that a device does not answer any more: it was removed, its
// driver was reset, or a kernel destroyed its context. Data that was
// only in its memory is gone.
type LostError struct {
	Device string
	Err    error // what the driver said
}

func (e *LostError) Error() string { return fmt.Sprintf("the device %s is lost: %v", e.Device, e.Err) }

// Unwrap returns what the driver said.
func (e *LostError) Unwrap() error { return e.Err }

// CopyError says that a copy failed. The destination holds anything; the source
// and the device are as before.
type CopyError struct {
	From, To string // memories
	Bytes    int64
	Err      error
}

func (e *CopyError) Error() string {
	return fmt.Sprintf("copying %s from %s to %s failed: %v", Bytes(e.Bytes), e.From, e.To, e.Err)
}

// Unwrap returns what the driver said.
func (e *CopyError) Unwrap() error { return e.Err }

// KernelError says that a device did not carry out a kernel, which may have done
// nothing wrong. Its outputs hold anything; all other data, and the device, are as
// before.
type KernelError struct {
	Device string
	Kernel string
	Err    error // what the driver said
}

func (e *KernelError) Error() string {
	return fmt.Sprintf("kernel %s failed on %s: %v", e.Kernel, e.Device, e.Err)
}

// Unwrap returns what the driver said.
func (e *KernelError) Unwrap() error { return e.Err }

// DeclinedError says that a device is not fit for a kernel with these operands, and that
// nothing was begun: all data is as before. Err is the reason.
type DeclinedError struct {
	Device string
	Kernel string
	Err    error
}

func (e *DeclinedError) Error() string {
	return fmt.Sprintf("%s does not run %s: %v", e.Device, e.Kernel, e.Err)
}

// Unwrap returns the reason.
func (e *DeclinedError) Unwrap() error { return e.Err }

// UnavailableError says why a driver has no devices, and what would help.
type UnavailableError struct {
	Driver string
	Reason string // "libOpenCL.so.1 was not found"
	Remedy string // "install an OpenCL driver (Debian: pocl-opencl-icd)"
	Err    error  // may be nil
}

func (e *UnavailableError) Error() string {
	text := e.Driver + ": " + e.Reason
	if e.Remedy != "" {
		text += "; " + e.Remedy
	}
	return text
}

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }
