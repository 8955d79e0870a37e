// Package stdlib holds the codelets that come with starpush: std/blas,
// std/reduce, std/random and std/sparse. It knows the engine and not the language: a host
// hands the modules to its compiler.
//
//	comp, err := lang.NewCompiler(lang.Config{Modules: stdlib.Modules()})
//
// A program without scripts submits the codelets itself, see the example of [Modules].
// They are immutable and serve any number of runtimes. Sizes that do not fit together are
// an *engine.ShapeError of the submission. Codelets that devices can run have
// kernels in OpenCL C (package cl), and for NVIDIA devices in builds with the tag cuda: there
// some are bodies in the language (engine.Codelet.Bodies), which run where a compiler of package
// lang has the modules. The others run on CPU workers, by package blas.
//
// # Elements of a signature
//
// Signatures are written in the language. T is an element-type parameter; the
// type dense[T] stands for a vector or a matrix, and any[T] for data with any number of indices, variables included. A sparse matrix csr[T] is three operands of a
// task, its arrays ptr (i64), col (i32) and val, and the scalar with its columns comes where the matrix is
// in the signature.
//
// # Random numbers
//
// std/random uses Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel Random
// Numbers: As Easy as 1, 2, 3; SC11), a function from a counter and a key to
// 128 random bits. The key is the seed. Element number n of the root datum,
// counted row by row, takes the 64-bit half n mod 2 of the block with counter
// n div 2; the third word of the counter is 0 for uniform and 1 for normal. So
// content depends on the seed and on places in the root, and neither on how the
// datum was split nor on the order of tasks.
//
// uniform takes the upper 53 bits (24 for f32) as a fraction u and stores
// lo + u·(hi-lo), which is below hi. normal makes the elements 2k and 2k+1 from
// one block by the method of Box and Muller; it uses log, sin and cos, whose
// last bit may differ between kinds of processors.
package stdlib

import (
	"slices"
	"sync"

	"github.com/starpush/starpush/accel/cpu/blas"
	"github.com/starpush/starpush/engine"
)

// Modules returns the modules by the names that import uses, as lang.Config takes
// them. The map and the modules are the caller's; the codelets are shared and immutable.
func Modules() map[string]*engine.Module {
	out := make(map[string]*engine.Module, len(table))
	for name, m := range modules() {
		out[name] = &engine.Module{Doc: m.Doc, Codelets: slices.Clone(m.Codelets)}
	}
	return out
}

var modules = sync.OnceValue(func() map[string]*engine.Module {
	out := make(map[string]*engine.Module, len(table))
	for _, m := range table {
		of := &engine.Module{Doc: m.doc}
		out[m.name] = of
		for i := range m.codelets {
			c := m.codelets[i].build()
			c.Kernel = func() string { return m.kernel() }
			for arch, impls := range onDevices(m.name, c.Name) {
				if c.On == nil {
					c.On = map[string][]engine.Impl{}
				}
				c.On[arch] = impls
			}
			for arch, impls := range c.On {
				c.On[arch] = realOnly(c.Name, arch, impls)
			}
			of.Codelets = append(of.Codelets, c)
		}
	}
	return out
})

// kernel names the code behind the codelets of m, for their times.
func (m *module) kernel() string {
	if m.name == "std/blas" {
		return blas.Default().Name()
	}
	return m.name
}
