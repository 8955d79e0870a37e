package datamgr

// How contributions to reduced data are combined: the type Reduction and the
// four reductions that every element type has.

import (
	"errors"
	"fmt"
	"math"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr/iface"
)

// Reduction says how private copies of reduced data begin and how they are put
// together. It is immutable and its functions may run at once on different
// buffers.
type Reduction struct {
	Name string
	// Init fills dst with the neutral element.
	Init func(dst *iface.Buffer) error
	// Combine adds what from holds to into; both have the same shape and
	// element type and may have different strides. Nil: the reduction is a
	// lazy initialiser only and takes no contributions.
	Combine func(into, from *iface.Buffer) error
	// On has forms of Combine for devices, by accel.Device.Arch: they begin their work
	// on the stream and return. With one, contributions on a device are combined there
	// before they are copied; without, in main memory. Devices with the Arch "cpu" use
	// Combine.
	On map[string]func(s accel.Stream, into, from *iface.Buffer) error
	// Kind is the kind of data that the functions take; NoKind: any kind. Parts of
	// another kind, as pick makes them, do not inherit the reduction.
	Kind iface.Kind
}

// inherited is the reduction of a part of kind k; nil: none.
func (r *Reduction) inherited(k iface.Kind) *Reduction {
	if r == nil || r.Kind != iface.NoKind && r.Kind != k {
		return nil
	}
	return r
}

// SumReduction adds contributions. Integers wrap.
func SumReduction() *Reduction { return builtinReductions[0] }

// ProdReduction multiplies contributions. Integers wrap.
func ProdReduction() *Reduction { return builtinReductions[1] }

// MinReduction keeps the smallest contribution of each element; a NaN wins.
// It begins with the type's largest value, infinity for floats. Of bools it is true if all contributions are.
func MinReduction() *Reduction { return builtinReductions[2] }

// MaxReduction keeps the largest contribution of each element; a NaN wins. It
// begins with the type's smallest value, minus infinity for floats. Of bools it is true if a contribution is.
func MaxReduction() *Reduction { return builtinReductions[3] }

var builtinReductions = []*Reduction{
	builtinReduction("sum", foldSum), builtinReduction("prod", foldProd),
	builtinReduction("min", foldMin), builtinReduction("max", foldMax),
}

type fold uint8

const (
	foldSum fold = iota
	foldProd
	foldMin
	foldMax
)

func builtinReduction(name string, f fold) *Reduction {
	return &Reduction{
		Name: name,
		Init: func(dst *iface.Buffer) error {
			switch dst.Elem {
			case iface.I8:
				initRows(dst, neutral[int8](f, math.MinInt8, math.MaxInt8))
			case iface.I16:
				initRows(dst, neutral[int16](f, math.MinInt16, math.MaxInt16))
			case iface.I32:
				initRows(dst, neutral[int32](f, math.MinInt32, math.MaxInt32))
			case iface.I64:
				initRows(dst, neutral[int64](f, math.MinInt64, math.MaxInt64))
			case iface.U8:
				initRows(dst, neutral[uint8](f, 0, math.MaxUint8))
			case iface.U16:
				initRows(dst, neutral[uint16](f, 0, math.MaxUint16))
			case iface.U32:
				initRows(dst, neutral[uint32](f, 0, math.MaxUint32))
			case iface.U64:
				initRows(dst, neutral[uint64](f, 0, math.MaxUint64))
			case iface.F32:
				initRows(dst, neutral(f, float32(math.Inf(-1)), float32(math.Inf(1))))
			case iface.F64:
				initRows(dst, neutral(f, math.Inf(-1), math.Inf(1)))
			case iface.C64, iface.C128:
				if f == foldMin || f == foldMax {
					return noOrder(name, dst)
				}
				if dst.Elem == iface.C64 {
					initRows(dst, neutral[complex64](f, 0, 0))
				} else {
					initRows(dst, neutral[complex128](f, 0, 0))
				}
			case iface.F16:
				initRows(dst, iface.ToFloat16(neutral(f, float32(math.Inf(-1)), float32(math.Inf(1)))))
			case iface.BF16:
				initRows(dst, iface.ToBFloat16(neutral(f, float32(math.Inf(-1)), float32(math.Inf(1)))))
			case iface.B8:
				if f == foldSum || f == foldProd {
					return noArithmetic(name, dst)
				}
				initRows(dst, neutral[uint8](f, 0, 1))
			default:
				return noReduction(name, dst)
			}
			return nil
		},
		Combine: func(into, from *iface.Buffer) error {
			if into.Elem != from.Elem || into.Rank != from.Rank || into.Dim != from.Dim {
				return fmt.Errorf("reduction %s: contributions of %v to %v", name, &from.Desc, &into.Desc)
			}
			switch into.Elem {
			case iface.I8:
				combineRows[int8](f, into, from)
			case iface.I16:
				combineRows[int16](f, into, from)
			case iface.I32:
				combineRows[int32](f, into, from)
			case iface.I64:
				combineRows[int64](f, into, from)
			case iface.U8:
				combineRows[uint8](f, into, from)
			case iface.U16:
				combineRows[uint16](f, into, from)
			case iface.U32:
				combineRows[uint32](f, into, from)
			case iface.U64:
				combineRows[uint64](f, into, from)
			case iface.F32:
				combineRows[float32](f, into, from)
			case iface.F64:
				combineRows[float64](f, into, from)
			case iface.C64, iface.C128:
				if f == foldMin || f == foldMax {
					return noOrder(name, into)
				}
				if into.Elem == iface.C64 {
					combineRowsBy(into, from, complexCombine[complex64](f, iface.MulC64))
				} else {
					combineRowsBy(into, from, complexCombine[complex128](f, iface.MulC128))
				}
			case iface.F16:
				combineRowsBy(into, from, halfCombine(f, iface.ToFloat16, iface.Float16.Float32))
			case iface.BF16:
				combineRowsBy(into, from, halfCombine(f, iface.ToBFloat16, iface.BFloat16.Float32))
			case iface.B8:
				if f == foldSum || f == foldProd {
					return noArithmetic(name, into)
				}
				combineRowsBy(into, from, boolCombine(f))
			default:
				return noReduction(name, into)
			}
			return nil
		},
	}
}

func noReduction(name string, b *iface.Buffer) error {
	return fmt.Errorf("reduction %s: %v has no elements to combine", name, &b.Desc)
}

func noOrder(name string, b *iface.Buffer) error {
	return fmt.Errorf("reduction %s: complex numbers have no order, and %v has elements of type %v; use sum or prod", name, &b.Desc, b.Elem)
}

func noArithmetic(name string, b *iface.Buffer) error {
	return fmt.Errorf("reduction %s: bools have no arithmetic, and %v has elements of type bool; use max to have true if a contribution is, or min to have it if all are", name, &b.Desc)
}

// neutral is the value that changes nothing when combined.
func neutral[T iface.Real | ~complex64 | ~complex128](f fold, smallest, largest T) T {
	switch f {
	case foldProd:
		return 1
	case foldMin:
		return largest
	case foldMax:
		return smallest
	}
	return 0
}

func initRows[T iface.Go](b *iface.Buffer, v T) {
	switch {
	case b.Len() == 0:
	case b.Contiguous():
		set(iface.Slice[T](b), v)
	default:
		for i := range b.Lines() {
			set(iface.Line[T](b, i), v)
		}
	}
}

func set[T iface.Go](x []T, v T) {
	for i := range x {
		x[i] = v
	}
}

func combineRows[T iface.Real](f fold, into, from *iface.Buffer) {
	combineRowsBy(into, from, func(x, y []T) { combine(f, x, y) })
}

func combineRowsBy[T iface.Go](into, from *iface.Buffer, combine func(x, y []T)) {
	switch {
	case into.Len() == 0:
	case into.Contiguous() && from.Contiguous():
		combine(iface.Slice[T](into), iface.Slice[T](from))
	default:
		for i := range into.Lines() {
			combine(iface.Line[T](into, i), iface.Line[T](from, i))
		}
	}
}

// complexCombine returns combine for complex numbers, which mul multiplies.
func complexCombine[T complex64 | complex128](f fold, mul func(a, b T) T) func(x, y []T) {
	return func(x, y []T) {
		y = y[:len(x)]
		for i := range x {
			if f == foldProd {
				x[i] = mul(x[i], y[i])
			} else {
				x[i] += y[i]
			}
		}
	}
}

// halfCombine returns combine for elements of 16 bits, which are combined as float32.
func halfCombine[T iface.Float16 | iface.BFloat16](f fold, round func(float32) T, value func(T) float32) func(x, y []T) {
	return func(x, y []T) {
		for i := range x {
			a, b := [1]float32{value(x[i])}, [1]float32{value(y[i])}
			combine(f, a[:], b[:])
			x[i] = round(a[0])
		}
	}
}

// boolCombine returns combine for the bytes of bools.
func boolCombine(f fold) func(x, y []uint8) {
	return func(x, y []uint8) {
		for i := range x {
			a, b := x[i] != 0, y[i] != 0
			if x[i] = 0; a && b || f == foldMax && (a || b) {
				x[i] = 1
			}
		}
	}
}

func combine[T iface.Real](f fold, x, y []T) {
	y = y[:len(x)]
	switch f {
	case foldSum:
		for i := range x {
			x[i] += y[i]
		}
	case foldProd:
		for i := range x {
			x[i] *= y[i]
		}
	case foldMin:
		for i := range x {
			x[i] = min(x[i], y[i])
		}
	case foldMax:
		for i := range x {
			x[i] = max(x[i], y[i])
		}
	}
}

// ReductionError says that a function of a reduction failed.
type ReductionError struct {
	Reduction string
	What      string // "initialise" or "combine"
	Cause     error
}

func (e *ReductionError) Error() string {
	return fmt.Sprintf("reduction %s could not %s: %v", e.Reduction, e.What, e.Cause)
}

// Unwrap returns the cause.
func (e *ReductionError) Unwrap() error { return e.Cause }

var errExit = errors.New("the function ended its goroutine (runtime.Goexit, or t.FailNow in a test)")

// guard runs a function of a reduction: its panics are errors.
func guard(what string, r *Reduction, fn func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
		if err != nil {
			err = &ReductionError{Reduction: r.Name, What: what, Cause: err}
		}
	}()
	return fn()
}
