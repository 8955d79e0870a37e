// Package vocab has the words of scripts as data: types, builtin functions, options and
// access modes, each with a line that says what it is, and the names that other languages
// have for them. It depends on nothing; what the words do is in the packages that read them.
package vocab

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
	{"complex", "complex", "complex number: two floats; `2.0i` is an imaginary one"},
	{"bool", "bool", "true or false"},
	{"string", "string", "text"},
	{"none", "none", "the result of a function without ->"},
	{"list", "list[T]", "values of one type, indexed from 0"},
	{"range", "range", "integers from a to b: a..b without b, a..=b with it"},
	{"variable", "variable[T]", "registered data: one element"},
	{"vector", "vector[T]", "registered data: n elements"},
	{"matrix", "matrix[T]", "registered data: rows x cols elements, row by row"},
	{"block", "block[T]", "registered data: nx x ny x nz elements, z fastest"},
	{"tensor", "tensor[T]", "registered data: n0 x n1 x n2 x n3 elements, the last index fastest; tensor[T, 5] to tensor[T, 8] with more indices"},
	{"csr", "csr[T]", "registered data: a sparse matrix in compressed rows, with the vectors ptr, col and val"},
	{"csc", "csc[T]", "registered data: a sparse matrix in compressed columns, with the vectors ptr, row and val"},
	{"coo", "coo[T]", "registered data: a sparse matrix by coordinates, with the vectors row, col and val"},
	{"bcsr", "bcsr[T]", "registered data: a sparse matrix in compressed rows of dense blocks, with the vectors ptr and col and the block val"},
	{"void", "void", "registered data without elements, for ordering only: `register x = void()`"},
	{"view", "view[H]", "the parts of a handle, as partition made them"},
	{"array", "array[T]", "acquired data, readable from the script; in a body `array[f64](8)`: elements of its own"},
	{"task", "task", "what insert returns"},
	{"gate", "gate", "an event that tasks wait for until open"},
	{"node", "node", "a memory node: ram, gpu(0)"},
	{"worker", "worker", "a CPU core or a device that runs tasks"},
	{"kind", "kind", "a kind of worker: cpu, cuda, opencl"},
	{"reducer", "reducer", "how REDUX copies are made and combined"},
	{"layout", "layout", "how devices have data, and the codelets that convert it"},
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
	{"c64", "c64", "complex number: two f32"},
	{"c128", "c128", "complex number: two f64"},
	{"f16", "f16", "floating-point number of 16 bits; bodies compute with it as f32"},
	{"bf16", "bf16", "the upper 16 bits of an f32; bodies compute with it as f32"},
	{"bool", "bool", "true or false, in one byte"},
}

// Builtins lists the predeclared functions.
var Builtins = []Entry{
	{"print", "print(a, b, …)", "writes its arguments, one space between them, and a newline"},
	{"str", "str(x) -> string", "the text that print writes for x"},
	{"save", `save(x, "file")`, "writes the data of x: .npy, .npz, .mtx, .csv, .bin, .png or .pgm"},
	{"value", "value(x) -> int, float, complex or bool", "waits for the variable x and reads it"},
	{"busy", "busy(x) -> bool", "whether `wait x` would wait now: for data, a task, a gate, or a list of them"},
	{"len", "len(x) -> int", "items of a list, string or range, parts of a view, first size of an array"},
	{"range", "range(a, b, step) -> range", "every step-th integer from a to below b"},
	{"grid", "grid(n, m, …) -> list[list[int]]", "all index lists [i, j, …], the last index fastest"},
	{"int", "int(x) -> int", "cuts off the fraction"},
	{"float", "float(x) -> float", "the same number as a float"},
	{"complex", "complex(re, im) -> complex", "the complex number with these parts; complex(re) has 0 for im"},
	{"re", "re(z) -> float", "real part of a complex number"},
	{"im", "im(z) -> float", "imaginary part of a complex number"},
	{"conj", "conj(z) -> complex", "the complex number with the other sign of the imaginary part"},
	{"arg", "arg(z) -> float", "angle of a complex number, from -pi to pi"},
	{"abs", "abs(x)", "absolute value, int or float like x; float of a complex number"},
	{"min", "min(a, b, …)", "the smallest of two or more numbers"},
	{"max", "max(a, b, …)", "the largest of two or more numbers"},
	{"sqrt", "sqrt(x) -> float", "square root; complex like x"},
	{"cbrt", "cbrt(x) -> float", "cube root"},
	{"exp", "exp(x) -> float", "e to the power x; complex like x"},
	{"log", "log(x) -> float", "natural logarithm; complex like x"},
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
	{"numa", "numa(i) -> node", "memory of the i-th NUMA node; numa(0) is ram"},
	{"nodes", "nodes() -> list[node]", "all memory nodes"},
	{"workers", "workers(kind) -> list[worker]", "all workers of a kind"},
	{"reducer", "reducer(init = i, combine = c) -> reducer", "a reduction by codelets i(x: W H) and c(into: RW H, from: R H)"},
	{"layout", "layout(into = t, from = f, sizes = [...], on = kinds) -> layout", "a layout on devices, by codelets t(x: R H, y: W D) and f(y: R D, x: W H)"},
}

// Lines about the words of the language: reserved words, access modes, loops that fold,
// named arguments, and notations of numbers and texts. The same text answers
// `starpush doc`, the prompt's :doc and editors.

// Words lists the reserved words, sorted: how each is written, and what it does.
var Words = []Entry{
	{"acquire", "acquire RW x as xs { xs[0] = 1.0 }", "waits for the data and gives the script direct access to it, until the closing brace or a release"},
	{"and", "a and b", "true if both are; b is looked at only if a is true"},
	{"as", "import \"std/blas\" as blas   ·   acquire R x as xs", "names the thing before it"},
	{"assert", "assert value(s) == 1.0, \"the sum is wrong\"", "ends the script with status 1 unless the condition holds"},
	{"break", "break", "leaves the innermost for or while"},
	{"by", "partition x by blocks(8)", "comes before the filter that splits the data"},
	{"checkpoint", "checkpoint \"state\"", "writes all data to a folder, from which `starpush run --resume` goes on"},
	{"codelet", "codelet axpy(a: T, x: R vector[T], y: RW vector[T]) { each i in y { y[i] += a * x[i] } }", "declares what tasks do, with the access mode of each operand"},
	{"continue", "continue", "goes on with the next round of the innermost for or while"},
	{"each", "each i, j in A { A[i, j] = 0.0 }", "in codelets: runs its rounds in any order"},
	{"else", "if c { … } else { … }   ·   if c then a else b", "comes before the other branch"},
	{"evict", "evict x", "says that x is not needed soon: it is written back when there is time, and dropped first"},
	{"extern", "extern x: vector[f64]   ·   extern codelet clip(v: RW vector[f64])", "declares data or a codelet that comes from outside: from --data x=x.npy, or from a Go program"},
	{"false", "false", "the bool that is not true"},
	{"for", "for b in 0..8 { … }   ·   for i, j in grid(3, 4) { … }", "runs its block for each element of a range or list"},
	{"func", "func twice(n: int) -> int { return 2 * n }", "declares a function of the script"},
	{"hint", "hint x with write_through = [ram]", "sets properties of data that never change results"},
	{"if", "if c { … } else if d { … } else { … }   ·   if c then a else b", "chooses"},
	{"import", "import \"std/blas\" as blas   ·   import \"lib/vec.spu\"", "makes a module available; paths count from the importing file"},
	{"in", "for b in 0..8   ·   each i in x   ·   sum i in x { x[i] }", "comes before the range or list of a loop"},
	{"insert", "insert axpy(2.0, R x[b], RW y[b]) with priority = 1", "submits a task; its order follows from the modes, and nothing waits for it"},
	{"invalidate", "invalidate x", "forgets the value of x, in all its views: the next use must write it"},
	{"let", "let n = 4   ·   let x: float = 1", "makes a name for a value; = gives it another one of its type"},
	{"none", "none", "the result of a function without ->"},
	{"not", "not a", "true if a is false"},
	{"or", "a or b", "true if one of them is; b is looked at only if a is false"},
	{"param", "param n: int = 4096", "declares a value that the command line may set: -p n=1Mi"},
	{"partition", "partition x by blocks(8)   ·   partition v = x by rows(4) then cols(2)", "declares a view: its parts are data of their own, and x stays usable"},
	{"prefetch", "prefetch x to gpu(0)", "copies x to a memory node before a task needs it there"},
	{"register", "register x, y = vector[f32](n, fill = 1)", "makes data that tasks can use: variable, vector, matrix, block, tensor, csr, csc, coo, bcsr, void()"},
	{"release", "release xs   ·   release xs to R", "ends the direct access that acquire gave, or weakens it"},
	{"return", "return x", "leaves a function with its result"},
	{"struct", "struct Particle { x: f64; y: f64; id: i32 }", "declares elements with fields: `register p = vector[Particle](n)`"},
	{"then", "if c then a else b   ·   partition v = x by rows(4) then cols(2)", "the first choice; or the filter for every part of the filter before it"},
	{"to", "prefetch x to gpu(0)   ·   unpartition v to ram   ·   release xs to R", "says where to, or to which mode"},
	{"true", "true", "the bool that is not false"},
	{"unpartition", "unpartition v   ·   unpartition x to ram", "ends a view, and gathers its data in one piece; never needed"},
	{"unregister", "unregister x", "ends data before its block does, with all its views"},
	{"wait", "wait   ·   wait x, y   ·   wait t", "waits for all tasks, for those that use x or y, or for one"},
	{"while", "while c { … }", "runs its block as long as the condition holds"},
	{"with", "insert c(R x) with priority = 1, where = cpu", "comes before options"},
}

// Modes lists the access modes of operands.
var Modes = []Entry{
	{"R", "insert dot(R x, R y, RW acc)", "reads"},
	{"W", "insert init(W x)", "overwrites every element; the old value is not fetched"},
	{"RW", "insert scal(2.0, RW x)", "reads and changes"},
	{"COMMUTE", "insert add(R x, COMMUTE acc)", "RW, or W, in any order among neighbouring COMMUTE uses of the same kind"},
	{"REDUX", "insert add(R x, REDUX acc)", "adds to a private copy; copies are combined at the next other use"},
	{"SCRATCH", "insert solve(RW A, SCRATCH work)", "workspace of the worker; no value before or after"},
}

// ModesNote is a rule common to all modes.
const ModesNote = "A parameter declared RW may be inserted as RW, COMMUTE or REDUX, one declared W as W or COMMUTE; the others match exactly."

// Clauses lists the words that begin a part of a statement, and are names elsewhere.
var Clauses = []Entry{
	{"over", "partition v = A by tiles(8, 8) over grid(2, 2)", "comes before the grid of ranks that own the parts, in turn along each index, where several run the script"},
}

// Folds lists the words that bring the values of a loop together, in codelet bodies.
var Folds = []Entry{
	{"sum", "acc += sum i in x { x[i] * y[i] }", "in codelets: the sum of the expression in braces over all rounds"},
	{"prod", "p = prod i in x { x[i] }", "in codelets: the product of the expression in braces over all rounds"},
	{"min", "m = min i in x { x[i] }", "in codelets: the smallest of the expression in braces over all rounds"},
	{"max", "m = max i, j in A { abs(A[i, j]) }", "in codelets: the largest of the expression in braces over all rounds"},
}

// BodyFuncs lists the functions that only codelet bodies have.
var BodyFuncs = []Entry{
	{"select", "select(c, a, b)", "in codelets: a if c is true, else b; both are computed, which `if c then a else b` does not do"},
}

// ArgSet is the named arguments of one construct.
type ArgSet struct {
	On   string // "register", "partition", or the name of a builtin function
	Args []Entry
}

// Args lists the arguments that have names, by construct.
var Args = []ArgSet{
	{"register", []Entry{
		{"n", "vector[f64](n = 100)", "number of elements"},
		{"rows", "matrix[f64](rows = 2, cols = 3)", "number of rows"},
		{"cols", "matrix[f64](rows = 2, cols = 3)", "number of columns"},
		{"nx", "block[f64](nx = 2, ny = 3, nz = 4)", "size along the first index"},
		{"ny", "block[f64](nx = 2, ny = 3, nz = 4)", "size along the second index"},
		{"nz", "block[f64](nx = 2, ny = 3, nz = 4)", "size along the third index"},
		{"n0", "tensor[f64](n0 = 2, n1 = 3, n2 = 4, n3 = 5)", "size along the first index"},
		{"n1", "tensor[f64](n0 = 2, n1 = 3, n2 = 4, n3 = 5)", "size along the second index"},
		{"n2", "tensor[f64](n0 = 2, n1 = 3, n2 = 4, n3 = 5)", "size along the third index"},
		{"n3", "tensor[f64](n0 = 2, n1 = 3, n2 = 4, n3 = 5)", "size along the fourth index"},
		{"n4", "tensor[f64](2, 3, 4, 5, n4 = 6)", "size along the fifth index"},
		{"n5", "tensor[f64](2, 3, 4, 5, 6, n5 = 7)", "size along the sixth index"},
		{"n6", "tensor[f64](2, 3, 4, 5, 6, 7, n6 = 8)", "size along the seventh index"},
		{"n7", "tensor[f64](2, 3, 4, 5, 6, 7, 8, n7 = 9)", "size along the eighth index"},
		{"fill", "vector[f64](n, fill = 0)", "the value of every element; without it, list or load, the data must be written before it is read"},
		{"list", "vector[f64](list = [1.0, 2.0])", "the elements, row by row"},
		{"load", `matrix[f64](load = "A.npy")`, "a file that has the elements and sizes: .npy, .npz, .mtx, .csv, .bin, .png or .pgm"},
		{"r", "bcsr[f64](4, 4, r = 2, c = 2, ptr = [0, 1, 1], col = [0])", "number of rows of a block of a sparse matrix"},
		{"c", "bcsr[f64](4, 4, r = 2, c = 2, ptr = [0, 1, 1], col = [0])", "number of columns of a block of a sparse matrix"},
		{"ptr", "csr[f64](2, 2, ptr = [0, 1, 2], col = [0, 1])", "where each row of a sparse matrix begins in its entries, then their number; each column of a csc"},
		{"row", "csc[f64](2, 2, ptr = [0, 1, 2], row = [0, 1])", "the rows of the entries of a sparse matrix"},
		{"col", "csr[f64](2, 2, ptr = [0, 1, 2], col = [0, 1])", "the columns of the entries of a sparse matrix"},
		{"val", "csr[f64](2, 2, ptr = [0, 1, 2], col = [0, 1], val = [1.0, 2.0])", "the values of the entries of a sparse matrix, in the order of the others"},
		{"from", "csc[f64](from = A)", "other data that has the elements: a sparse matrix, in another format; a matrix takes one, too"},
		{"like", "csr[f64](like = A)", "a sparse matrix whose structure it gets, or a list of several, whose entries it has all"},
		{"order", "csr[f64](like = A, order = p)", "a vector with the numbers of the rows of that one, in the order that rows and columns get"},
		{"transposed", "csr[f64](transposed = A)", "a sparse matrix whose structure it gets, with rows and columns exchanged"},
		{"dense", "csr[f64](dense = M)", "a matrix whose elements other than zero are its entries; waits for it"},
		{"ld", "matrix[f64](100, 100, ld = 104)", "distance between rows in memory, in elements; cols when left out"},
		{"capacity", "vector[f64](0, capacity = 100)", "how many elements, or rows of a matrix, there is room for: tasks set how many there are"},
		{"reduce", "variable[f64](reduce = sum)", "how contributions of REDUX tasks are combined: sum, prod, min, max, or a reducer"},
		{"owner", "vector[f64](n, owner = 2)", "the rank that has the data and its parts, modulo the number of ranks, where several run the script; without it they deal the data"},
		{"layout", "matrix[f64](n, 2, layout = layout(into = turn, from = turn, sizes = [2, n]))", "how devices have the data, if not as main memory; `soa` or `aos` for structs"},
	}},
	{"partition", []Entry{
		{"p", "partition x by blocks(p = 8)", "number of parts"},
		{"q", "partition A by tiles(p = 4, q = 4)", "number of parts along the second index"},
		{"r", "partition b by tiles(2, 2, r = 2)", "number of parts along the third index"},
		{"s", "partition t by tiles(2, 2, 2, s = 2)", "number of parts along the fourth index"},
		{"t", "partition t by tiles(2, 2, 2, 2, t = 2)", "number of parts along the fifth index"},
		{"u", "partition t by tiles(2, 2, 2, 2, 2, u = 2)", "number of parts along the sixth index"},
		{"v", "partition t by tiles(2, 2, 2, 2, 2, 2, v = 2)", "number of parts along the seventh index"},
		{"w", "partition t by tiles(2, 2, 2, 2, 2, 2, 2, w = 2)", "number of parts along the eighth index"},
		{"k", "partition b by axis(k = 0, p = 4)", "the index along which is cut, from 0"},
		{"range", "partition b by pick(0, range = 2..5)", "the places along that index which become parts; all when left out"},
		{"sizes", "partition x by blocks(sizes = [1, 8, 1])", "elements, rows or columns of each part, instead of a number of parts"},
		{"halo", "partition x by blocks(8, halo = 1)", "the first and the last h elements are a border; what is between is split, and each part has h more on both sides"},
		{"inside", "partition x by blocks(8, inside = 1)", "the first and the last k elements are in no part, but by a halo; k is the halo when left out"},
	}},
	{"close", []Entry{
		{"tol", "close(a, b, tol = 1e-9)", "what two numbers may differ by, relative to the larger one where that is above 1"},
	}},
	{"reducer", []Entry{
		{"init", "reducer(init = zero, combine = add)", "the codelet i(x: W H) that begins a private copy"},
		{"combine", "reducer(init = zero, combine = add)", "the codelet c(into: RW H, from: R H) that adds one copy to another"},
	}},
	{"layout", []Entry{
		{"into", "layout(into = turn, from = turn, sizes = [2, n])", "the codelet t(x: R H, y: W D) that makes the layout of devices"},
		{"from", "layout(into = turn, from = turn, sizes = [2, n])", "the codelet f(y: R D, x: W H) that makes the layout of main memory"},
		{"sizes", "layout(into = turn, from = turn, sizes = [2, n])", "the sizes that the data has on devices; its own when left out"},
		{"on", "layout(into = turn, from = turn, on = opencl)", "the kinds of devices; all when left out"},
	}},
}

// Notations lists what is written in numbers, texts and types, and is no name.
var Notations = []Entry{
	{"Ki", "4Ki", "times 1024, behind the digits of a decimal integer"},
	{"Mi", "4Mi", "times 1024 * 1024, behind the digits of a decimal integer"},
	{"Gi", "4Gi", "times 1024 * 1024 * 1024, behind the digits of a decimal integer"},
	{"0x", "0xff", "an integer in hexadecimal digits"},
	{"f-string", `f"n = {n}, norm = {norm:.3e}"`, "a text with values in it; behind the colon is a format as in Go's fmt, without the %"},
	{"T", "codelet axpy(a: T, x: R vector[T], y: RW vector[T])", "any capital letter: an element type that each insert chooses by its operands"},
}

// EntryNamed finds an entry by name.
func EntryNamed(list []Entry, name string) *Entry {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

// ArgNamed is the named argument of a construct, nil if it has none of that name.
func ArgNamed(on, name string) *Entry {
	for _, s := range Args {
		if s.On == on {
			return EntryNamed(s.Args, name)
		}
	}
	return nil
}

// The options that may follow `with`.

// OptionSet is the options of one construct.
type OptionSet struct {
	On      string // "insert", "codelet", "hint", "prefetch"
	Options []Option
}

// Option is one option. Type says what its value is.
type Option struct {
	Name string
	Type OptionType
	Doc  string // one line
}

// OptionType is the form of an option's value.
type OptionType uint8

// The forms of option values.
const (
	IntOption     OptionType = iota
	FloatOption              // an int converts
	BoolOption               //
	StringOption             //
	KindsOption              // a kind, or a list of kinds
	WorkersOption            // a worker, or a list of workers
	HandlesOption            // a list of handles and views
	TasksOption              // a list of tasks and gates
	NodesOption              // a list of nodes
	IntsOption               // a list of ints
	LayoutsOption            // a codelet and its operands that have another layout
)

var optionTypeNames = [...]string{
	IntOption: "an int", FloatOption: "a float", BoolOption: "true or false", StringOption: "a string",
	KindsOption: "a kind (cpu, cuda, opencl) or a list of kinds", WorkersOption: "a worker or a list of workers",
	HandlesOption: "a list of handles", TasksOption: "a list of tasks and gates", NodesOption: "a list of nodes",
	IntsOption: "a list of ints", LayoutsOption: "a codelet with the operands that it takes in the layout of devices",
}

// String says what the value is: "a list of tasks and gates".
func (t OptionType) String() string {
	if int(t) < len(optionTypeNames) {
		return optionTypeNames[t]
	}
	return "?"
}

// Options lists every option, by construct, sorted by name.
var Options = []OptionSet{
	{"insert", []Option{
		{"after", TasksOption, "tasks and gates that must end or open first"},
		{"bundle", IntOption, "number of a group of tasks that are placed together"},
		{"color", IntOption, "colour of the task in traces"},
		{"flops", FloatOption, "floating-point operations that the task does"},
		{"name", StringOption, "name of the task in traces and messages"},
		{"order", IntOption, "place in the sequence prescribed on the worker"},
		{"priority", IntOption, "higher runs first"},
		{"rank", IntOption, "rank that runs it, modulo the number of ranks"},
		{"retry", IntOption, "how often its kernel may run again after it failed"},
		{"sequential", BoolOption, "false: no implicit dependencies"},
		{"ssend", BoolOption, "true: ranks send what it needs synchronously"},
		{"sync", BoolOption, "true: wait until the task has ended"},
		{"unordered", HandlesOption, "no implicit dependencies on these"},
		{"where", KindsOption, "kinds of workers that may run it"},
		{"worker", WorkersOption, "workers that may run it"},
	}},
	{"codelet", []Option{
		{"color", IntOption, "colour of its tasks in traces"},
		{"flops", FloatOption, "floating-point operations of one task; may use operands"},
		{"layouts", LayoutsOption, "the codelet that runs instead where its operands have the layout of devices: other(p)"},
		{"name", StringOption, "name of its tasks in traces and messages"},
		{"retry", IntOption, "how often the kernel of a task may run again after it failed"},
		{"where", KindsOption, "kinds of workers that may run it"},
	}},
	{"hint", []Option{
		{"coords", IntsOption, "place of the data in a grid, for traces"},
		{"discardable", BoolOption, "evicted first; a last copy is never lost"},
		{"name", StringOption, "name of the data in traces and messages"},
		{"ooc", BoolOption, "false: moved to disk only when nothing else can be"},
		{"sequential", BoolOption, "false: no implicit dependencies on it"},
		{"write_through", NodesOption, "nodes that get each new value at once"},
	}},
	{"prefetch", []Option{
		{"idle", BoolOption, "true: only while the bus is idle"},
		{"urgent", BoolOption, "true: before anything else"},
	}},
}

// OptionsOf lists the options of a construct.
func OptionsOf(on string) []Option {
	for _, s := range Options {
		if s.On == on {
			return s.Options
		}
	}
	return nil
}

// Filters are the names of filters.
var Filters = set("blocks", "halves", "rows", "cols", "tiles", "axis", "pick", "nonzeros", "entries")

// Constructors are the types that have an element type.
var Constructors = set("variable", "vector", "matrix", "block", "csr", "csc", "coo", "bcsr", "tensor")

func set(words ...string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}
