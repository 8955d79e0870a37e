package stdlib

// Kernels for devices that do not run functions of this process.

import (
	"fmt"

	"github.com/starpush/starpush/accel/opencl"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/stdlib/cl"
)

// onDevices lists the kernels of a codelet by the Arch of devices.
func onDevices(module, codelet string) map[string][]engine.Impl {
	f := cl.Find(module, codelet)
	if f == nil {
		return nil
	}
	return map[string][]engine.Impl{"opencl": {func(c *engine.TaskContext) error {
		s, ok := c.Stream().(*opencl.Stream)
		if !ok {
			return fmt.Errorf("%s: a device with kernels for OpenCL has a stream of type %T", codelet, c.Stream())
		}
		return f(s, c)
	}}}
}
