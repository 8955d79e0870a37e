package lang

// Kernels of host codelets for devices.

import (
	"fmt"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/types"
)

// On gives an implementation for devices whose Arch is arch: "opencl", "cuda". fn
// begins its work on the stream and returns; the task ends when that work has. The
// stream is of the driver's own type, such as *opencl.Stream, which launches kernels.
// Operands are in the memory of the device: Buffer.Ptr is for the driver, and Slice
// and Row panic. A codelet may have implementations for the CPU and for several
// devices; the policy chooses.
func On(arch string, fn func(*Task, accel.Stream) error) CodeletOption {
	return func(b *codeletBuild) error {
		switch {
		case fn == nil:
			return fmt.Errorf("On(%q): the function is nil", arch)
		case arch == "" || arch == "cpu":
			return fmt.Errorf("On(%q): functions for the CPU are given by CPU", arch)
		}
		sig := b.sig
		if b.on == nil {
			b.on = map[string][]engine.Impl{}
		}
		b.on[arch] = append(b.on[arch], func(c *engine.TaskContext) error {
			return fn(&Task{ctx: c, sig: sig}, c.Stream())
		})
		return nil
	}
}

// CUDA gives an implementation for NVIDIA devices: On("cuda", fn). The stream is a
// *cuda.Stream of package accel/cuda, in programs built with the tag cuda.
func CUDA(fn func(*Task, accel.Stream) error) CodeletOption { return On("cuda", fn) }

// OpenCL gives an implementation for OpenCL devices: On("opencl", fn). The stream is
// an *opencl.Stream of package accel/opencl.
func OpenCL(fn func(*Task, accel.Stream) error) CodeletOption { return On("opencl", fn) }

// FromMain names operands that the implementations given by On can take in main
// memory, where scripts may keep them: insert c(RW x @ ram). Then Slice and Row serve
// them as on a CPU worker. Without it such tasks run on CPU workers.
func FromMain(names ...string) CodeletOption {
	return func(b *codeletBuild) error {
		for _, name := range names {
			k, ok := operandIndex(b.sig, name)
			if !ok {
				return fmt.Errorf("FromMain: it has no operand %q", name)
			}
			b.main = append(b.main, k)
		}
		return nil
	}
}

// operandIndex is the place of an operand among those of the signature.
func operandIndex(sig *types.Signature, name string) (int, bool) {
	k := 0
	for _, p := range sig.Params {
		if p.Mode == iface.NoMode {
			continue
		}
		if p.Name == name {
			return k, true
		}
		k++
	}
	return 0, false
}
