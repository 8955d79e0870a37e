package check

// What scripts can name without declaring it: types, builtin functions and
// values. The tables serve the checker, completion and documentation.

import (
	"github.com/starpush/starpush/lang/types"
)

// Entry is one line of a table: a name, how it is written, and what it is.
type Entry struct {
	Name   string
	Syntax string // "vector[T]", "close(a, b, tol = 1e-9)"
	Doc    string // one line
}

// TypeNames lists the types of the language.
var TypeNames = []Entry{
	{"int", "int", "integer of 64 bits"},
	{"float", "float", "floating-point number of 64 bits"},
	{"bool", "bool", "true or false"},
	{"string", "string", "text"},
	{"none", "none", "the result of a function without ->"},
	{"list", "list[T]", "values of one type, indexed from 0"},
	{"range", "range", "integers from a to b: a..b without b, a..=b with it"},
	{"variable", "variable[T]", "registered data: one element"},
	{"vector", "vector[T]", "registered data: n elements"},
	{"matrix", "matrix[T]", "registered data: rows x cols elements, row by row"},
	{"block", "block[T]", "registered data: nx x ny x nz elements, z fastest"},
	{"void", "void", "registered data without elements, for ordering only: `register x = void()`"},
	{"view", "view[H]", "the parts of a handle, as partition made them"},
	{"array", "array[T]", "acquired data, readable from the script"},
	{"task", "task", "what insert returns"},
	{"gate", "gate", "an event that tasks wait for until open"},
	{"node", "node", "a memory node: ram, gpu(0)"},
	{"worker", "worker", "a CPU core or a device that runs tasks"},
	{"kind", "kind", "a kind of worker: cpu, cuda, opencl"},
	{"reducer", "reducer", "how REDUX copies are made and combined"},
}

// ElemNames lists the element types of registered data.
var ElemNames = []Entry{
	{"i8", "i8", "signed integer of 8 bits"},
	{"i16", "i16", "signed integer of 16 bits"},
	{"i32", "i32", "signed integer of 32 bits"},
	{"i64", "i64", "signed integer of 64 bits"},
	{"u8", "u8", "unsigned integer of 8 bits"},
	{"u16", "u16", "unsigned integer of 16 bits"},
	{"u32", "u32", "unsigned integer of 32 bits"},
	{"u64", "u64", "unsigned integer of 64 bits"},
	{"f32", "f32", "floating-point number of 32 bits"},
	{"f64", "f64", "floating-point number of 64 bits"},
}

// Names of the language that this version has no data for.
var (
	absentElems = map[string]bool{"f16": true, "bf16": true, "c64": true, "c128": true}
	absentKinds = map[string]bool{"tensor": true, "csr": true, "bcsr": true, "coo": true}
)

// Fields lists the fields of values of type t, with their types; nil: it has none.
func Fields(t *types.Type) []Field {
	switch t.Kind {
	case types.Array:
		if t.Of == nil {
			return nil
		}
		return Fields(t.Of)
	case types.Vector:
		return vectorFields
	case types.Matrix:
		return matrixFields
	case types.Block:
		return blockFields
	case types.View:
		return []Field{
			{"count", types.TInt, "number of parts"},
			{"parts", types.ListOf(t.Of), "all parts, the last index fastest"},
		}
	}
	return nil
}

// Field is one field of a type.
type Field struct {
	Name string
	Type *types.Type
	Doc  string
}

var (
	vectorFields = []Field{
		{"n", types.TInt, "number of elements"},
		{"offset", types.TInt, "place of element 0 in the root vector"},
	}
	matrixFields = []Field{
		{"rows", types.TInt, "number of rows"},
		{"cols", types.TInt, "number of columns"},
		{"ld", types.TInt, "distance between rows in memory, in elements"},
		{"row0", types.TInt, "place of row 0 in the root matrix"},
		{"col0", types.TInt, "place of column 0 in the root matrix"},
	}
	blockFields = []Field{
		{"nx", types.TInt, "size along the first index"},
		{"ny", types.TInt, "size along the second index"},
		{"nz", types.TInt, "size along the third index"},
		{"x0", types.TInt, "place of x = 0 in the root block"},
		{"y0", types.TInt, "place of y = 0 in the root block"},
		{"z0", types.TInt, "place of z = 0 in the root block"},
	}
)

// BuiltinValues lists the predeclared values.
var BuiltinValues = []struct {
	Entry
	Type *types.Type
}{
	{Entry{"pi", "pi", "3.141592653589793"}, types.TFloat},
	{Entry{"inf", "inf", "positive infinity"}, types.TFloat},
	{Entry{"ram", "ram", "main memory"}, types.TNode},
	{Entry{"cpu", "cpu", "the kind of CPU workers"}, types.TDevice},
	{Entry{"cuda", "cuda", "the kind of CUDA devices"}, types.TDevice},
	{Entry{"opencl", "opencl", "the kind of OpenCL devices"}, types.TDevice},
	{Entry{"sum", "reduce = sum", "REDUX copies start at 0 and are added"}, types.TReducer},
	{Entry{"prod", "reduce = prod", "REDUX copies start at 1 and are multiplied"}, types.TReducer},
	{Entry{"min", "reduce = min", "the smallest contribution"}, types.TReducer},
	{Entry{"max", "reduce = max", "the largest contribution"}, types.TReducer},
}

// Builtins lists the predeclared functions.
var Builtins = []Entry{
	{"print", "print(a, b, …)", "writes its arguments, one space between them, and a newline"},
	{"str", "str(x) -> string", "the text that print writes for x"},
	{"save", `save(x, "file")`, "writes the data of x: .npy, .mtx, .csv or .bin"},
	{"value", "value(x) -> int or float", "waits for the variable x and reads it"},
	{"busy", "busy(x) -> bool", "whether `wait x` would wait now: for data, a task, a gate, or a list of them"},
	{"len", "len(x) -> int", "items of a list, string or range, parts of a view, first size of an array"},
	{"range", "range(a, b, step) -> range", "every step-th integer from a to below b"},
	{"grid", "grid(n, m, …) -> list[list[int]]", "all index lists [i, j, …], the last index fastest"},
	{"int", "int(x) -> int", "cuts off the fraction"},
	{"float", "float(x) -> float", "the same number as a float"},
	{"abs", "abs(x)", "absolute value, int or float like x"},
	{"min", "min(a, b, …)", "the smallest of two or more numbers"},
	{"max", "max(a, b, …)", "the largest of two or more numbers"},
	{"sqrt", "sqrt(x) -> float", "square root"},
	{"cbrt", "cbrt(x) -> float", "cube root"},
	{"exp", "exp(x) -> float", "e to the power x"},
	{"log", "log(x) -> float", "natural logarithm"},
	{"log2", "log2(x) -> float", "logarithm to base 2"},
	{"pow", "pow(x, y) -> float", "x to the power y"},
	{"sin", "sin(x) -> float", "sine, x in radians"},
	{"cos", "cos(x) -> float", "cosine, x in radians"},
	{"tan", "tan(x) -> float", "tangent, x in radians"},
	{"tanh", "tanh(x) -> float", "hyperbolic tangent"},
	{"erf", "erf(x) -> float", "error function"},
	{"floor", "floor(x) -> float", "largest integer that is not above x"},
	{"ceil", "ceil(x) -> float", "smallest integer that is not below x"},
	{"round", "round(x) -> float", "nearest integer, half away from zero"},
	{"fma", "fma(x, y, z) -> float", "x * y + z, rounded once"},
	{"close", "close(a, b, tol = 1e-9) -> bool", "abs(a - b) <= tol * max(1, abs(a), abs(b))"},
	{"gate", "gate() -> gate", "a closed gate: tasks inserted with after = [g] wait for it"},
	{"open", "open(g)", "opens the gate g; a second time does nothing"},
	{"gpu", "gpu(i) -> node", "memory of the i-th device of any kind"},
	{"cuda", "cuda(i) -> node", "memory of the i-th CUDA device"},
	{"opencl", "opencl(i) -> node", "memory of the i-th OpenCL device"},
	{"disk", "disk(i) -> node", "the i-th disk node"},
	{"nodes", "nodes() -> list[node]", "all memory nodes"},
	{"workers", "workers(kind) -> list[worker]", "all workers of a kind"},
	{"reducer", "reducer(init = i, combine = c) -> reducer", "a reduction by codelets i(x: W H) and c(into: RW H, from: R H)"},
}

// mathArity has the builtin functions from numbers to float, with the number of arguments.
var mathArity = map[string]int{
	"sqrt": 1, "cbrt": 1, "exp": 1, "log": 1, "log2": 1, "pow": 2, "sin": 1, "cos": 1, "tan": 1,
	"tanh": 1, "erf": 1, "floor": 1, "ceil": 1, "round": 1, "fma": 3,
}

// impure builtins do something besides giving a value: not allowed in constants.
var impure = map[string]bool{
	"print": true, "save": true, "value": true, "gate": true, "open": true, "busy": true,
}

// The predeclared objects. They are shared by all programs and never change.
var (
	builtinFuncs  = builtinFuncObjects()
	builtinValues = builtinValueObjects()
)

func builtinFuncObjects() map[string]*types.Object {
	m := make(map[string]*types.Object, len(Builtins))
	for _, b := range Builtins {
		m[b.Name] = &types.Object{Name: b.Name, Kind: types.BuiltinFunc, Type: types.TNone, Doc: b.Syntax + ": " + b.Doc}
	}
	return m
}

func builtinValueObjects() map[string]*types.Object {
	m := make(map[string]*types.Object, len(BuiltinValues))
	for _, v := range BuiltinValues {
		m[v.Name] = &types.Object{Name: v.Name, Kind: types.BuiltinValue, Type: v.Type, Doc: v.Doc}
	}
	return m
}
