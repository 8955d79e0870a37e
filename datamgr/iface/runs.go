package iface

import "unsafe"

// Runs calls fn for the elements of a box of data as they follow each other in row-major order: n elements from number first of the data on are those
// from number at of the box on. The box has dims elements along the axes, from lo on. A run is a line along the last axis or, if joined is true, as long
// as the box allows. An error of fn ends Runs, which returns it.
func (d *Desc) Runs(lo, dims []int, joined bool, fn func(first, n, at int) error) error {
	rank := int(d.Rank)
	total, run := 1, 1
	for k := range rank {
		total *= dims[k]
	}
	if total == 0 {
		return nil
	}
	for k := rank - 1; k >= 0; k-- {
		run *= dims[k]
		if !joined || dims[k] < d.Dim[k] {
			break
		}
	}
	for at := 0; at < total; at += run {
		first, stride := 0, 1
		for k, rest := rank-1, at; k >= 0; k-- {
			first += (lo[k] + rest%dims[k]) * stride
			rest, stride = rest/dims[k], stride*d.Dim[k]
		}
		if err := fn(first, run, at); err != nil {
			return err
		}
	}
	return nil
}

// At returns the address of element i of b, counted in row-major order.
func (b *Buffer) At(i int) unsafe.Pointer {
	off := i
	if b.Rank > 1 {
		off = 0
		for k := int(b.Rank) - 1; k >= 0 && b.Dim[k] > 0; k-- {
			off += i % b.Dim[k] * b.Stride[k]
			i /= b.Dim[k]
		}
	}
	return unsafe.Add(b.Ptr, off*int(b.Elem.Size()))
}
