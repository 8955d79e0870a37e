//go:build cuda

package cuda

// Errors of the driver, and which of them end a device.

import (
	"fmt"
	"reflect"

	"github.com/starpush/starpush/accel"
)

// Error is a result of the driver.
type Error struct {
	Call string // "cuMemAlloc"
	Code int    // CUresult
	Log  string // of the compiler, when it was to compile something
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %s (%d)", e.Call, resultText(e.Code), e.Code)
	if e.Log != "" {
		text += "\n" + e.Log
	}
	return text
}

// Results of the driver that this package tells apart.
const (
	outOfMemory  = 2
	notReady     = 600
	peersAlready = 704 // access between two devices is enabled already
)

// sticky are the results after which a context does not work any more: every
// later call returns the same.
var sticky = map[int]bool{
	4:   true, // deinitialized
	46:  true, // device unavailable
	214: true, // uncorrectable ECC error
	220: true, // uncorrectable NVLink error
	700: true, // illegal address
	702: true, // launch timeout
	709: true, // context is destroyed
	710: true, // device-side assert
	714: true, // hardware stack error
	715: true, // illegal instruction
	716: true, // misaligned address
	717: true, // invalid address space
	718: true, // invalid program counter
	719: true, // launch failed
	911: true, // an external device failed
	999: true, // unknown
}

// code is the result in an error of this package or of cu, whose type is not
// exported: a kind of int.
func code(err error) int {
	if e, ok := err.(*Error); ok {
		return e.Code
	}
	if v := reflect.ValueOf(err); v.Kind() == reflect.Int {
		return int(v.Int())
	}
	return -1
}

// check turns what the driver returned into an error of the device. A sticky one
// loses the device.
func (d *Device) check(call string, err error) error {
	if err == nil {
		return nil
	}
	if c := code(err); c >= 0 {
		if _, ok := err.(*Error); !ok {
			err = &Error{Call: call, Code: c}
		}
		if sticky[c] {
			d.lost.CompareAndSwap(nil, &accel.LostError{Device: d.name, Err: err})
			return d.lost.Load()
		}
	}
	return err
}
