package opencl

import "fmt"

// BuildError says that a program does not compile.
type BuildError struct {
	Device string
	Log    string // what the compiler said, with numbers of lines
	Err    error
}

func (e *BuildError) Error() string {
	return fmt.Sprintf("a program does not compile for %s: %v\n%s", e.Device, e.Err, e.Log)
}

// Unwrap returns what the driver said.
func (e *BuildError) Unwrap() error { return e.Err }

// ArgError says that a launch does not fit its kernel. Nothing was launched.
type ArgError struct {
	Kernel string
	Arg    int // of Launch, counted from 0; -1: something else
	Reason string
}

func (e *ArgError) Error() string {
	if e.Arg < 0 {
		return fmt.Sprintf("kernel %s: %s", e.Kernel, e.Reason)
	}
	return fmt.Sprintf("kernel %s, argument %d: %s", e.Kernel, e.Arg, e.Reason)
}

// AddressError says that bytes named by an address do not all lie in one
// allocation of the device's memory.
type AddressError struct {
	Node    string
	Address uintptr
	Bytes   int64
}

func (e *AddressError) Error() string {
	return fmt.Sprintf("%d bytes at %#x are not inside one allocation of %s", e.Bytes, e.Address, e.Node)
}
