package stdlib

// Kernels for devices that do not run functions of this process: those in OpenCL C, and bodies
// in the language.

import (
	_ "embed"
	"fmt"

	"github.com/starpush/starpush/accel/opencl"
	"github.com/starpush/starpush/datamgr/iface"
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

// Sources of the codelets whose kernels for NVIDIA devices are bodies in the language. A compiler
// of scripts makes them (engine.Codelet.Bodies); on processors the functions of this package run.
//
//go:embed bodies/blas.spu
var blasBodies string

//go:embed bodies/reduce.spu
var reduceBodies string

//go:embed bodies/random.spu
var randomBodies string

// Sources of the codelets whose machine code is faster on processors than the functions of this package.
//
//go:embed bodies/sparse.spu
var sparseBodies string

// bodiesOf returns bodies with names in a source, for tasks whose scalars they take.
func bodiesOf(source string, names ...string) *engine.Bodies {
	return &engine.Bodies{Source: source, Names: names}
}

// numberedBodies is bodiesOf for bodies that also take the numbers of elements of operand 0 in
// the root datum: that of the first, and the distances along both indices.
func numberedBodies(source string, names ...string) *engine.Bodies {
	return &engine.Bodies{Source: source, Names: names, Args: func(ops []iface.Desc, args []iface.Scalar) []iface.Scalar {
		base, step := ops[0].Number()
		out := append([]iface.Scalar(nil), args...)
		return append(out, iface.Int(int64(base)), iface.Int(int64(step[0])), iface.Int(int64(step[1])))
	}}
}
