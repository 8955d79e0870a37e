//go:build cuda

package kernel

import (
	"errors"
	"fmt"

	"github.com/starpush/starpush/accel"
	driver "github.com/starpush/starpush/accel/cuda"
	"github.com/starpush/starpush/lang/kernel/cuda"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/kernel/llvm"
)

// HasCUDA returns the reason why the body of p cannot run on NVIDIA devices, or nil.
func HasCUDA(p *Program) error {
	if err := p.setsSizes(); err != nil {
		return err
	}
	_, err := llvm.NewDevice(p.IR())
	return err
}

// NoCUDA returns the reason why no body runs on NVIDIA devices, or nil.
func NoCUDA(opts Options) error {
	if opts.Mode.chosen() == Strips {
		return errors.New("bodies run in strips")
	}
	return nil
}

// CUDA returns a function that starts the body of p on the stream of an NVIDIA device, for a
// task whose buffers are in the device's memory. The error is the reason why the body runs
// elsewhere only.
func CUDA(p *Program) (func(s accel.Stream, t ir.Task) error, error) {
	if err := NoCUDA(p.opts); err != nil {
		return nil, err
	}
	if err := p.setsSizes(); err != nil {
		return nil, err
	}
	k, err := cuda.New(p.IR(), p.opts.Cache)
	if err != nil {
		return nil, err
	}
	return func(s accel.Stream, t ir.Task) error {
		own, ok := s.(*driver.Stream)
		if !ok {
			return fmt.Errorf("a device of the kind cuda has a stream of type %T", s)
		}
		return k.Run(own, t)
	}, nil
}
