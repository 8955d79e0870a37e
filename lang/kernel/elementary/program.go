package elementary

import (
	"fmt"
	"unsafe"
)

// A Type is the type of a value of a Program.
type Type uint8

const (
	NoType Type = iota
	F64         // a float of IEEE 754's binary64
	F32         // a float of binary32: only parameters, results and what is converted from or to them
	I64         // 64 bits: operations say whether they are signed
	Bool
)

// An Op is an operation of an instruction. The comments give the types of the arguments, that
// of the result behind the arrow, and what the operation means. All are defined for all
// arguments, unless the comment excludes some. Floats are rounded to nearest, ties to even, and
// subnormal numbers are not flushed. No operation may be fused with another, reordered, or
// replaced by an approximation. The sign and the bits of NaNs are undefined.
type Op uint8

const (
	// Param is parameter number Bits.
	Param Op = iota // -> F64, F32
	// Const is the constant with the bits Bits: those of a float, a two's complement, or 0 and 1.
	Const // -> F64, I64, Bool

	FAdd // F64, F64 -> F64
	FSub // F64, F64 -> F64
	FMul // F64, F64 -> F64
	FDiv // F64, F64 -> F64
	FMA  // F64, F64, F64 -> F64: the first times the second plus the third, rounded once
	FNeg // F64 -> F64: the sign bit inverted, also of 0
	FAbs // F64 -> F64: the sign bit cleared

	// Comparisons of floats. With a NaN FNe is true, and the others are false.
	FEq // F64, F64 -> Bool
	FNe // F64, F64 -> Bool
	FLt // F64, F64 -> Bool
	FLe // F64, F64 -> Bool

	Widen    // F32 -> F64: exact
	Narrow   // F64 -> F32: rounded; infinite if too large
	ToBits   // F64 -> I64: the same bits
	FromBits // I64 -> F64: the same bits

	// IntToFloat converts a signed integer below 2^51 in magnitude, which is exact. So a back
	// end may as well add the bits of 0x1.8p52, and subtract that number as a float. Of other
	// integers the result is undefined, and not used.
	IntToFloat // I64 -> F64

	IAdd // I64, I64 -> I64: wraps, as do ISub and IMul
	ISub // I64, I64 -> I64
	IMul // I64, I64 -> I64
	// IMulHigh is the upper half of the unsigned product of 128 bits.
	IMulHigh // I64, I64 -> I64
	IAnd     // I64, I64 -> I64
	IOr      // I64, I64 -> I64
	IXor     // I64, I64 -> I64

	// Shifts. The second argument is from 0 to 63.
	Shl  // I64, I64 -> I64
	ShrU // I64, I64 -> I64: shifts in zeros
	ShrS // I64, I64 -> I64: shifts in the sign bit

	IEq  // I64, I64 -> Bool
	INe  // I64, I64 -> Bool
	ILtU // I64, I64 -> Bool: unsigned

	And // Bool, Bool -> Bool
	Or  // Bool, Bool -> Bool
	Not // Bool -> Bool

	// Select is the second argument if the first is set, and else the third. Bits is 1 if the
	// condition depends on the argument in a way that no processor predicts.
	Select // Bool, T, T -> T, for F64 and I64

	// TableAt is the element of Tables[Bits] at an index, which is in range for all parameters of
	// the program, also for those for which its guard holds.
	TableAt // I64 -> F64, I64
)

// An Instr is one instruction of a Program. Its value has the number of its place in the code.
type Instr struct {
	Op   Op
	Type Type
	Args [3]int16 // numbers of earlier values
	Bits uint64   // of Param, Const, Select and TableAt
}

// A Program is a function as a list of instructions without branches.
type Program struct {
	Name   string // "exp", "expF32"; those of guards are not the names of exported functions
	Params []Type
	Code   []Instr
	Result int // the value that the function returns; its type is that of the parameters

	// Guard is a value of type Bool, or -1. If it holds, which is rare, the result is that of the
	// program Slow for the same parameters, which has no guard. The value Result is undefined
	// then, but may be computed.
	Guard int
	Slow  *Program
}

// A Table is a constant array. One of Floats and Ints is nil.
type Table struct {
	Name   string
	Floats []float64 // of TableAt with the type F64
	Ints   []uint64  // of TableAt with the type I64
}

// Tables lists the tables of all programs. They must not be changed.
var Tables = [...]Table{
	{Name: "logTable", Floats: logTable[:]},
	{Name: "twoOverPiBits", Ints: twoOverPiBits[:]},
	{Name: "erfTable", Floats: erfTable[:]},
}

// A Function is a function of one argument, in the forms that Go programs call.
type Function struct {
	Name string
	F64  func(x float64) float64
	F32  func(x float32) float32

	// Slice64 sets each d[k] to F64(x[k]). x is as long as d, and may be the same memory. It is
	// faster than calls of F64.
	Slice64 func(d, x []float64)
	Slice32 func(d, x []float32)

	program64, program32 *Program
}

// functions lists the functions of one argument.
var functions = []Function{
	{"exp", Exp, ExpF32, expSlice, expF32Slice, &programExp, &programExpF32},
	{"log", Log, LogF32, logSlice, logF32Slice, &programLog, &programLogF32},
	{"log2", Log2, Log2F32, log2Slice, log2F32Slice, &programLog2, &programLog2F32},
	{"sin", Sin, SinF32, sinSlice, sinF32Slice, &programSin, &programSinF32},
	{"cos", Cos, CosF32, cosSlice, cosF32Slice, &programCos, &programCosF32},
	{"tan", Tan, TanF32, tanSlice, tanF32Slice, &programTan, &programTanF32},
	{"tanh", Tanh, TanhF32, tanhSlice, tanhF32Slice, &programTanh, &programTanhF32},
	{"erf", Erf, ErfF32, erfSlice, erfF32Slice, &programErf, &programErfF32},
	{"cbrt", Cbrt, CbrtF32, cbrtSlice, cbrtF32Slice, &programCbrt, &programCbrtF32},
}

// Unary returns the function of one argument with a name, such as "exp", or nil if there is none.
func Unary(name string) *Function {
	for k := range functions {
		if functions[k].Name == name {
			return &functions[k]
		}
	}
	return nil
}

// PowSlice sets each d[k] to Pow(x[k], y[k]). x and y are as long as d, and may be the same memory.
func PowSlice(d, x, y []float64) { powSlice(d, x, y) }

// PowSliceF32 is PowSlice for float32.
func PowSliceF32(d, x, y []float32) { powF32Slice(d, x, y) }

// A vectorLoop sets n elements of d to a function of x, or of x and y, where n is a multiple of
// four. It returns how many it did: fewer than n if the guard of the program holds for one of the
// next four. The pointers are to float64 or float32.
type vectorLoop func(d, x, y unsafe.Pointer, n int) (done int)

// runVectors sets elements of d with a vector loop, which may be nil, and those for which the
// guard holds with f. It returns how many it did; the caller does the others, fewer than four.
func runVectors[T float32 | float64](loop vectorLoop, f func(x T) T, d, x []T) int {
	if loop == nil {
		return 0
	}
	k := 0
	for n := len(d) &^ 3; k < n; {
		k += loop(unsafe.Pointer(&d[k]), unsafe.Pointer(&x[k]), nil, n-k)
		for end := min(k+4, n); k < end; k++ {
			d[k] = f(x[k])
		}
	}
	return k
}

// runVectors2 is runVectors for a function of two arguments, without a guard.
func runVectors2[T float32 | float64](loop vectorLoop, d, x, y []T) int {
	n := len(d) &^ 3
	if loop == nil || n == 0 {
		return 0
	}
	return loop(unsafe.Pointer(&d[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0]), n)
}

// Lookup returns the program of the function with a name, such as "exp" or "pow", for floats of
// 64 or 32 bits, or nil if there is none. The program is shared and must not be changed.
func Lookup(name string, bits int) *Program {
	f := Unary(name)
	if name == "pow" {
		f = &Function{program64: &programPow, program32: &programPowF32}
	}
	switch {
	case f == nil:
		return nil
	case bits == 64:
		return f.program64
	case bits == 32:
		return f.program32
	}
	return nil
}

// Names returns the names of all functions.
func Names() []string {
	out := []string{"pow"}
	for _, f := range functions {
		out = append(out, f.Name)
	}
	return out
}

var opNames = [...]string{
	Param: "Param", Const: "Const", FAdd: "FAdd", FSub: "FSub", FMul: "FMul", FDiv: "FDiv", FMA: "FMA", FNeg: "FNeg",
	FAbs: "FAbs", FEq: "FEq", FNe: "FNe", FLt: "FLt", FLe: "FLe", Widen: "Widen", Narrow: "Narrow", ToBits: "ToBits",
	FromBits: "FromBits", IntToFloat: "IntToFloat", IAdd: "IAdd", ISub: "ISub", IMul: "IMul", IMulHigh: "IMulHigh",
	IAnd: "IAnd", IOr: "IOr", IXor: "IXor", Shl: "Shl", ShrU: "ShrU", ShrS: "ShrS", IEq: "IEq", INe: "INe",
	ILtU: "ILtU", And: "And", Or: "Or", Not: "Not", Select: "Select", TableAt: "TableAt",
}

// String returns the name of op in Go.
func (op Op) String() string {
	if int(op) < len(opNames) {
		return opNames[op]
	}
	return fmt.Sprintf("Op(%d)", op)
}
