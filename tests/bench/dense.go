package main

import (
	"fmt"

	"github.com/starpush/starpush/accel/cpu/blas"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/stdlib"
)

// blasCodelet finds a codelet of std/blas.
func blasCodelet(name string) (*engine.Codelet, error) {
	for _, c := range stdlib.Modules()["std/blas"].Codelets {
		if c.Name == name {
			return c, nil
		}
	}
	return nil, fmt.Errorf("std/blas has no codelet %s", name)
}

// blasTask makes the description of tasks of one BLAS codelet; its scalar
// arguments are given in the order of the signature.
func blasTask(name string, modes []iface.AccessMode, args ...iface.Scalar) (*engine.TaskSpec, error) {
	c, err := blasCodelet(name)
	if err != nil {
		return nil, err
	}
	ops := make([]engine.Operand, len(modes))
	for i, m := range modes {
		ops[i].Mode = m
	}
	return &engine.TaskSpec{Codelet: c, Operands: ops, Args: args}, nil
}

// put submits spec on the given handles.
func (b *goBench) put(spec *engine.TaskSpec, hs ...*datamgr.Handle) error {
	for i, h := range hs {
		spec.Operands[i].Handle = h
	}
	return b.job.Submit(spec)
}

// tiles registers nb*nb tiles of b*b elements, each with memory of its own from
// the engine, that hold 1/(1+|i-j|), plus nb*b on the diagonal.
func (b *goBench) tiles(nb, size int, diagonal bool) ([]*datamgr.Handle, error) {
	elem := iface.F64
	if b.c.prec == "s" {
		elem = iface.F32
	}
	hs := make([]*datamgr.Handle, nb*nb)
	for t := range hs {
		value := func(r, c int) float64 {
			d := t/nb*size + r - (t%nb*size + c)
			v := 1 / float64(1+max(d, -d))
			if d == 0 && diagonal {
				v += float64(nb * size)
			}
			return v
		}
		var err error
		hs[t], err = b.rt.RegisterFilled(engine.DataSpec{Kind: iface.Matrix, Elem: elem, Dims: []int{size, size}}, func(b *iface.Buffer) error {
			if elem == iface.F32 {
				fill[float32](b, value)
			} else {
				fill[float64](b, value)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return hs, nil
}

func fill[T float32 | float64](b *iface.Buffer, value func(r, c int) float64) {
	for i := range b.Dim[0] {
		row := iface.Row[T](b, i)
		for j := range row {
			row[j] = T(value(i, j))
		}
	}
}

// dense is cholesky and gemm; extra is GFLOP/s.
func (b *goBench) dense() (measured, error) {
	nb, size := b.c.get("nb", 16), b.c.get("b", 320)
	if nb < 1 || size < 1 {
		return measured{}, fmt.Errorf("nb and b must be at least 1")
	}
	n := float64(nb) * float64(size)
	var m measured
	var err error
	blas.Default() // the library is found before the clock runs, as a linked one is
	flops := n * n * n / 3
	if b.c.workload == "gemm" {
		flops = 2 * n * n * n
		m, err = b.gemm(nb, size)
	} else {
		m, err = b.cholesky(nb, size)
	}
	if err == nil {
		m.extra = flops / m.elapsed.Seconds() / 1e9
	}
	return m, err
}

const (
	r  = iface.R
	rw = iface.RW
)

// cholesky is A = UᵀU, in place: what column-major tiles hold as the lower half
// is the upper one of row-major tiles, so that BLAS is asked for the very same as
// by the peers.
func (b *goBench) cholesky(nb, size int) (measured, error) {
	A, err := b.tiles(nb, size, true)
	if err != nil {
		return measured{}, err
	}
	one, minus := iface.Float(1), iface.Float(-1)
	upper, left, no, tr := iface.Str("u"), iface.Str("l"), iface.Str("n"), iface.Str("t")
	modes2, modes3 := []iface.AccessMode{r, rw}, []iface.AccessMode{r, r, rw}
	potrf, err := blasTask("potrf", []iface.AccessMode{rw}, upper)
	if err != nil {
		return measured{}, err
	}
	potrf.Priority = 1
	trsm, err := blasTask("trsm", modes2, one, left, upper, tr, no)
	if err != nil {
		return measured{}, err
	}
	syrk, err := blasTask("syrk", modes2, minus, one, upper, tr)
	if err != nil {
		return measured{}, err
	}
	gemm, err := blasTask("gemm", modes3, minus, one, tr, no)
	if err != nil {
		return measured{}, err
	}
	at := func(i, j int) *datamgr.Handle { return A[i*nb+j] }
	return b.timed(nb*(nb+1)*(nb+2)/6, func() error {
		for k := range nb {
			if err := b.put(potrf, at(k, k)); err != nil {
				return err
			}
			for i := k + 1; i < nb; i++ {
				if err := b.put(trsm, at(k, k), at(k, i)); err != nil {
					return err
				}
			}
			for i := k + 1; i < nb; i++ {
				if err := b.put(syrk, at(k, i), at(i, i)); err != nil {
					return err
				}
				for j := k + 1; j < i; j++ {
					if err := b.put(gemm, at(k, j), at(k, i), at(j, i)); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
}

func (b *goBench) gemm(nb, size int) (measured, error) {
	var m [3][]*datamgr.Handle
	for i := range m {
		var err error
		if m[i], err = b.tiles(nb, size, false); err != nil {
			return measured{}, err
		}
	}
	one, no := iface.Float(1), iface.Str("n")
	gemm, err := blasTask("gemm", []iface.AccessMode{r, r, rw}, one, one, no, no)
	if err != nil {
		return measured{}, err
	}
	return b.timed(nb*nb*nb, func() error {
		for i := range nb {
			for j := range nb {
				for k := range nb {
					if err := b.put(gemm, m[0][i*nb+k], m[1][k*nb+j], m[2][i*nb+j]); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
}
