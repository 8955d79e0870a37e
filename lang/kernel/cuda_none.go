//go:build !cuda

package kernel

import (
	"errors"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/lang/kernel/ir"
)

var errNoCUDA = errors.New("this program is built without the tag cuda")

// HasCUDA returns an error: the program is built without the driver of NVIDIA devices.
func HasCUDA(*Program) error { return errNoCUDA }

// NoCUDA returns an error: the program is built without the driver of NVIDIA devices.
func NoCUDA(Options) error { return errNoCUDA }

// CUDA returns an error: the program is built without the driver of NVIDIA devices.
func CUDA(*Program) (func(s accel.Stream, t ir.Task) error, error) { return nil, errNoCUDA }
