//go:build cuda

package cuda

// Modules and kernels.

import (
	"fmt"

	"gorgonia.org/cu"

	"github.com/starpush/starpush/accel"
)

// Module is compiled PTX on a device.
type Module struct {
	dev *Device
	mod cu.Module
}

// Load compiles PTX for the device. The error of what does not compile contains
// what the compiler said.
func (d *Device) Load(ptx string) (*Module, error) {
	m := &Module{dev: d}
	err := d.with(func() error {
		mod, log, err := loadModule(ptx)
		if e, ok := err.(*Error); ok {
			e.Log = log
		}
		m.mod = mod
		return d.check("", err)
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Unload gives up the module. Nothing of it may be under way.
func (m *Module) Unload() error {
	return m.dev.with(func() error { return m.dev.check("cuModuleUnload", m.mod.Unload()) })
}

// Function is a kernel of a module. It may be used by many goroutines.
type Function struct {
	dev    *Device
	name   string
	f      uintptr
	shared int // the most bytes of shared memory that a block may ask for
}

// freeShared is what a block can ask for without saying so before.
const freeShared = 48 << 10

// Function returns the kernel with a name.
func (m *Module) Function(name string) (*Function, error) {
	f := &Function{dev: m.dev, name: name, shared: freeShared}
	err := m.dev.with(func() error {
		fn, err := m.mod.Function(name)
		if err != nil {
			return m.dev.check("cuModuleGetFunction", err)
		}
		f.f = functionHandle(fn)
		if m.dev.block > freeShared {
			static, err := staticShared(f.f) // it counts towards the device's bound
			if err == nil {
				f.shared = m.dev.block - static
				err = setShared(f.f, f.shared)
			}
			if err != nil {
				return m.dev.check("", err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cuda: the kernel %s: %w", name, err)
	}
	return f, nil
}

// Launch says how many threads run a kernel; a size of 0 means 1.
type Launch struct {
	Grid, Block [3]int
	Shared      int // bytes of shared memory for each block, besides what the kernel declares
}

// Launch begins a kernel. Each parameter takes 8 bytes: an address, a
// number as int64, or the bits of a float64 or float32. The kernel reads as many of
// them as its type has.
func (s *Stream) Launch(f *Function, l Launch, params ...uint64) error {
	switch {
	case f.dev != s.dev:
		return fmt.Errorf("cuda: the kernel %s is on %s, and the stream on %s", f.name, f.dev.name, s.dev.name)
	case len(params) > maxParams:
		return fmt.Errorf("cuda: the kernel %s with %d parameters; %d are possible", f.name, len(params), maxParams)
	case l.Shared > f.shared:
		return fmt.Errorf("cuda: the kernel %s with %s of shared memory; %s are possible", f.name, accel.Bytes(int64(l.Shared)), accel.Bytes(int64(f.shared)))
	}
	return s.kernel(f.name, func() error {
		copy(s.params[:], params)
		err := launch(s.s, f.f, dims(l.Grid), dims(l.Block), l.Shared, s.params, len(params))
		return s.dev.check("", err)
	})
}
