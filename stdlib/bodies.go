package stdlib

// Codelets whose kernels for NVIDIA devices are bodies in the language. A compiler of scripts
// makes them (engine.Codelet.Bodies); on processors the functions of this package run.

import (
	_ "embed"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

//go:embed bodies/blas.spu
var blasBodies string

//go:embed bodies/reduce.spu
var reduceBodies string

//go:embed bodies/random.spu
var randomBodies string

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
