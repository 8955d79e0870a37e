package vocab

// The names that other languages and libraries have for things, and what they are here.

// ForeignName is the name of something in another language.
type ForeignName struct {
	Word string // the name here, when that alone has to change
	Help string
}

// ForeignNames are the values and functions of other languages. Names that scripts
// are likely to use for something else are left out.
var ForeignNames = map[string]ForeignName{
	"null": {Word: "none"}, "nil": {Word: "none"}, "None": {Word: "none"}, "NULL": {Word: "none"}, "nullptr": {Word: "none"}, "undefined": {Word: "none"},
	"True": {Word: "true"}, "TRUE": {Word: "true"}, "False": {Word: "false"}, "FALSE": {Word: "false"},
	"println": {Word: "print"}, "puts": {Word: "print"}, "echo": {Word: "print"}, "cout": {Help: "text is written by `print(…)`"},
	"printf": {Help: "write `print(f\"n = {n:d}\")`: formats are written in f-strings"}, "sprintf": {Help: "text with values in it is an f-string: `f\"n = {n:d}\"`"},
	"fprintf": {Help: "write `print(f\"n = {n:d}\")`: formats are written in f-strings"}, "format": {Help: "text with values in it is an f-string: `f\"n = {n:d}\"`"},
	"append":    {Help: "a list grows by `+`: `xs = xs + [x]`"},
	"enumerate": {Help: "write `for i in 0..len(xs) { … xs[i] … }`"},
	"reversed":  {Help: "downwards a loop goes over `range(n - 1, -1, -1)`"},
	"zip":       {Help: "write `for i in 0..len(xs) { … xs[i], ys[i] … }`"},
	"sorted":    {Help: "there is no sorting of lists: data is worked on by codelets"},
	"map":       {Help: "write a list `[f(x) for x in xs]`"},
	"filter":    {Help: "write a loop that appends: `if c { xs = xs + [x] }`"},
	"sizeof":    {Help: "sizes are counted in elements, not in bytes"},
	"malloc":    {Help: "memory is registered: `register x = vector[f64](n)`"},
	"calloc":    {Help: "memory is registered: `register x = vector[f64](n, fill = 0)`"},
	"make":      {Help: "a list is written `[a, b]`; data is registered: `register x = vector[f64](n)`"},
	"new":       {Help: "data is registered: `register x = vector[f64](n)`"},
	"zeros":     {Help: "data is registered: `register x = vector[f64](n, fill = 0)`"},
	"ones":      {Help: "data is registered: `register x = vector[f64](n, fill = 1)`"},
	"exit":      {Help: "a script ends at its end; `assert` stops it before"},
	"quit":      {Help: "a script ends at its end; `assert` stops it before"},
	"panic":     {Help: "write `assert false, \"why\"`"},
	"error":     {Help: "write `assert false, \"why\"`"},
	"input":     {Help: "values from outside are params: `param n: int = 10`, and `-p n=20` on the command line"},
	"argv":      {Help: "values from outside are params: `param n: int = 10`, and `-p n=20` on the command line"},
	"rand":      {Help: "`import \"std/random\" as random`, then `insert random.uniform(W x, 1)`"},
	"random":    {Help: "`import \"std/random\" as random`, then `insert random.uniform(W x, 1)`"},
	"sleep":     {Help: "tasks start when what they need is there: nothing has to be waited for by the clock"},
	"time":      {Help: "a script reads no clock: `starpush bench FILE` times it, `--stats` its tasks"},
	"clock":     {Help: "a script reads no clock: `starpush bench FILE` times it, `--stats` its tasks"},
	"swap":      {Help: "write `let last = a`, `a = b` and `b = last`; registered data gets names that can change first: `let a = x`, `let b = y`"},
	"eye":       ForeignMembers["eye"], "load": ForeignMembers["load"], "read_csv": ForeignMembers["load"], "loadtxt": ForeignMembers["load"],
	"lambda":   {Help: "write a `func` and call it by its name"},
	"infinity": {Word: "inf"}, "Inf": {Word: "inf"}, "INFINITY": {Word: "inf"}, "PI": {Word: "pi"}, "M_PI": {Word: "pi"},
	"real": {Word: "re"}, "imag": {Word: "im"}, "cabs": {Word: "abs"}, "angle": {Word: "arg"}, "phase": {Word: "arg"}, "carg": {Word: "arg"}, "creal": {Word: "re"}, "cimag": {Word: "im"},
	"fabs": {Word: "abs"}, "ceiling": {Word: "ceil"}, "ln": {Word: "log"}, "parseInt": {Word: "int"}, "string": {Word: "str"}, "String": {Word: "str"}, "repr": {Word: "str"},
	"double": {Word: "float"}, "float64": {Word: "float"}, "float32": {Word: "float"}, "int32": {Word: "int"}, "int64": {Word: "int"}, "length": {Word: "len"},
	"f32": {Word: "float"}, "f64": {Word: "float"}, "i32": {Word: "int"}, "i64": {Word: "int"},
	"wait_all": {Help: "write `wait`"}, "barrier": {Help: "write `wait`"}, "sync": {Help: "write `wait`"}, "synchronize": {Help: "write `wait`"}, "waitall": {Help: "write `wait`"}, "taskwait": {Help: "write `wait`"},
	"maximum": {Word: "max"}, "minimum": {Word: "min"},
	"avg": {Help: "write `reduce = sum`, and divide what comes of it by how many there are"}, "average": {Help: "write `reduce = sum`, and divide what comes of it by how many there are"},
	"self": {Help: "there are no objects: a `func` takes what it works on as a parameter"}, "this": {Help: "there are no objects: a `func` takes what it works on as a parameter"},
}

// ForeignValues are the numbers and conversions of other languages that have no name of
// their own here, in scripts and in bodies of codelets.
var ForeignValues = map[string]string{
	"nan": noNumber, "NaN": noNumber, "NAN": noNumber, "Nan": noNumber,
	"u8": stored("int", "u8"), "u16": stored("int", "u16"), "u32": stored("int", "u32"), "u64": stored("int", "u64"), "i8": stored("int", "i8"), "i16": stored("int", "i16"),
	"uint8": stored("int", "u8"), "uint16": stored("int", "u16"), "uint32": stored("int", "u32"), "uint64": stored("int", "u64"), "int8": stored("int", "i8"), "int16": stored("int", "i16"),
	"f16": stored("float", "f16"), "bf16": stored("float", "bf16"), "float16": stored("float", "f16"), "bfloat16": stored("float", "bf16"),
	"c64": stored("complex", "c64"), "c128": stored("complex", "c128"), "complex64": stored("complex", "c64"), "complex128": stored("complex", "c128"),
}

const noNumber = "write `inf - inf`, which is nan"

// stored is the help for a conversion to an element type that has no function here.
func stored(convert, elem string) string {
	return "write `" + convert + "(…)`; data with elements of type " + elem + " makes one of the value that is stored"
}

// ForeignModules are the modules from which programs in other languages take functions.
var ForeignModules = map[string]bool{
	"math": true, "Math": true, "np": true, "numpy": true, "cmath": true, "fmt": true, "console": true, "os": true, "sys": true, "time": true,
	"strings": true, "strconv": true, "scipy": true, "torch": true, "jnp": true, "cp": true, "log": true, "plt": true, "System": true,
}

// ForeignMembers are the members of such modules, by their lower-case names.
var ForeignMembers = map[string]ForeignName{
	"println": {Word: "print"}, "log": {Word: "log"}, "printf": {Help: "write `print(f\"n = {n:d}\")`: formats are written in f-strings"}, "sprintf": {Help: "text with values in it is an f-string: `f\"n = {n:d}\"`"},
	"fabs": {Word: "abs"}, "absolute": {Word: "abs"}, "power": {Word: "pow"}, "arange": {Help: "write `0..n`, or as a list `[i for i in 0..n]`"},
	"zeros": {Help: "data is registered: `register x = vector[f64](n, fill = 0)`"}, "empty": {Help: "data is registered: `register x = vector[f64](n)`"},
	"ones": {Help: "data is registered: `register x = vector[f64](n, fill = 1)`"}, "full": {Help: "data is registered: `register x = vector[f64](n, fill = 2.5)`"},
	"array": {Help: "data is registered: `register x = vector[f64](list = [1.0, 2.0])`"}, "asarray": {Help: "data is registered: `register x = vector[f64](list = [1.0, 2.0])`"},
	"eye":    {Help: "register a matrix and write it in a codelet: `each i, j in A { A[i, j] = if i == j then 1.0 else 0.0 }`"},
	"load":   {Help: "data is loaded where it is registered: `register x = vector[f64](load = \"x.npy\")`"},
	"time":   {Help: "a script reads no clock: `starpush bench FILE` times it, `--stats` its tasks"},
	"save":   {Help: "write `save(x, \"x.npy\")`"},
	"dot":    {Help: "`import \"std/blas\" as blas`, then `insert blas.dot(R x, R y, REDUX acc)`"},
	"vdot":   {Help: "`import \"std/blas\" as blas`, then `insert blas.dot(R x, R y, REDUX acc)`"},
	"matmul": {Help: "`import \"std/blas\" as blas`, then `insert blas.gemm(R A, R B, RW C)`"}, "inner": {Help: "`import \"std/blas\" as blas`, then `insert blas.dot(R x, R y, REDUX acc)`"},
	"sum": {Help: "`import \"std/reduce\" as reduce`, then `insert reduce.sum(R x, REDUX acc)`"}, "linspace": {Help: "write a list: `[a + float(i) * h for i in 0..n]`"},
	"random": {Help: "`import \"std/random\" as random`, then `insert random.uniform(W x, 1)`"}, "rand": {Help: "`import \"std/random\" as random`, then `insert random.uniform(W x, 1)`"},
	"argv": {Help: "values from outside are params: `param n: int = 10`, and `-p n=20` on the command line"}, "exit": {Help: "a script ends at its end; `assert` stops it before"},
	"float64": {Word: "float"}, "float32": {Word: "float"}, "int64": {Word: "int"}, "int32": {Word: "int"}, "itoa": {Word: "str"},
	"m_pi": {Word: "pi"},
}

// TaskLibraryNames are the beginnings of the names that programs with other task libraries
// use, in lower case, the longer ones first.
var TaskLibraryNames = []struct{ Prefix, Help string }{
	{"mpi_barrier", "write `wait`: it waits for all tasks"}, {"mpi_wait", "write `wait`: it waits for all tasks"},
	{"mpi_reduce", "write `register s = variable[f64](fill = 0, reduce = sum)`, and pass it to tasks `REDUX s`"},
	{"mpi_allreduce", "write `register s = variable[f64](fill = 0, reduce = sum)`, and pass it to tasks `REDUX s`"},
	{"mpi_", "a script is one process: data goes to the tasks that name it, so nothing is sent, and there are no ranks"},
	{"omp_", "tasks have no numbers of threads: `len(workers(cpu))` counts the workers, and `--cpus N` sets how many there are"},
	{"task_wait", "write `wait`, or nothing: what is read waits for what writes it"}, {"wait_for_all", "write `wait`, or nothing: what is read waits for what writes it"},
	{"task_insert", "write `insert f(R x, RW y)`"}, {"insert_task", "write `insert f(R x, RW y)`"}, {"task_submit", "write `insert f(R x, RW y)`"},
}

// StarPUNames are the beginnings of the names that C programs for StarPU use, the
// longer ones first.
var StarPUNames = []struct{ Prefix, Help string }{
	{"starpu_init", "the runtime is there when a script starts: drop the line"},
	{"starpu_shutdown", "a script waits for its tasks and frees its data at its end: drop the line"},
	{"starpu_data_unregister", "write `unregister x`, or nothing: data ends with its block"},
	{"starpu_data_partition", "write `partition x by blocks(p)`"},
	{"starpu_data_map_filters", "write `partition x by rows(p) then cols(q)`"},
	{"starpu_data_unpartition", "write `unpartition x`"},
	{"starpu_data_get_sub_data", "a part is written `x[i]`, after `partition x by blocks(p)`"},
	{"starpu_data_acquire", "write `acquire RW x as xs { xs[0] = 1.0 }`"},
	{"starpu_data_release", "write `release xs`, or give the `acquire` a block"},
	{"starpu_data_prefetch", "write `prefetch x to gpu(0)`"},
	{"starpu_data_invalidate", "write `invalidate x`"},
	{"starpu_data_wont_use", "write `evict x`"},
	{"starpu_data_set_reduction", "write `register x = variable[f64](reduce = sum)`"},
	{"starpu_task_wait", "write `wait`, or nothing: what is read waits for what writes it"},
	{"starpu_task_declare_deps", "the order follows from the data; else write `with after = [t]`"},
	{"starpu_tag", "the order follows from the data; else write `with after = [t]`"},
	{"starpu_task_insert", "write `insert f(R x, RW y)`"}, {"starpu_insert_task", "write `insert f(R x, RW y)`"},
	{"starpu_task_submit", "write `insert f(R x, RW y)`"}, {"starpu_task_create", "write `insert f(R x, RW y)`"}, {"starpu_mpi_task_insert", "write `insert f(R x, RW y)`"},
	{"starpu_codelet", "write `codelet f(x: RW vector[f64]) { each i in x { x[i] *= 2.0 } }`"},
	{"starpu_malloc", "data is registered and has its memory: `register x = vector[f64](n)`"}, {"starpu_free", "data is freed with its block: drop the line"},
	{"starpu_variable", "write `register x = variable[f64](fill = 0)`"}, {"starpu_vector", "write `register x = vector[f64](n)`"}, {"starpu_matrix", "write `register x = matrix[f64](rows, cols)`"},
	{"STARPU_VALUE", "a value is passed as it is: `insert f(2.0, RW x)`"},
	{"STARPU_PRIORITY", "write `insert f(RW x) with priority = 1`"},
	{"STARPU_SSEND", "write `insert f(R x, RW y) with ssend = true`"},
	{"STARPU_MAIN_RAM", "main memory is `ram`"}, {"STARPU_NMAX", ""},
	{"STARPU_R", "put the access mode before the data: `R x`, `RW x`"}, {"STARPU_W", "put the access mode before the data: `W x`"},
	{"STARPU_COMMUTE", "put the access mode before the data: `COMMUTE x`"}, {"STARPU_SCRATCH", "put the access mode before the data: `SCRATCH x`"},
}

// ForeignElems are the names that other languages have for element types.
var ForeignElems = map[string]string{
	"double": "f64", "float": "f64", "float64": "f64", "Float64": "f64", "double64": "f64", "real": "f64", "real64": "f64", "number": "f64", "fp64": "f64",
	"float16": "f16", "Float16": "f16", "half": "f16", "fp16": "f16", "bfloat16": "bf16", "BFloat16": "bf16",
	"float32": "f32", "Float32": "f32", "single": "f32", "real32": "f32", "fp32": "f32", "float_32": "f32", "float_64": "f64",
	"int": "i64", "long": "i64", "int64": "i64", "Int64": "i64", "Int": "i64", "integer": "i64", "int64_t": "i64", "isize": "i64",
	"int32": "i32", "Int32": "i32", "int32_t": "i32", "int16": "i16", "Int16": "i16", "short": "i16", "int16_t": "i16", "int8": "i8", "Int8": "i8", "int8_t": "i8",
	"complex": "c128", "complex64": "c64", "complex128": "c128", "ComplexF64": "c128", "ComplexF32": "c64", "Complex": "c128", "cdouble": "c128",
	"char": "i8", "byte": "u8", "uint8": "u8", "UInt8": "u8", "uint8_t": "u8", "boolean": "bool", "Bool": "bool", "bool_": "bool", "uint16": "u16", "UInt16": "u16", "uint16_t": "u16",
	"uint32": "u32", "UInt32": "u32", "uint32_t": "u32", "unsigned": "u32", "uint": "u64", "uint64": "u64", "UInt64": "u64", "uint64_t": "u64", "size_t": "u64", "usize": "u64",
}

// ForeignTypes are the names that other languages have for the types of values.
var ForeignTypes = map[string]string{
	"double": "float", "float64": "float", "Float64": "float", "float32": "float", "Float32": "float", "real": "float", "number": "float", "Float": "float",
	"complex64": "complex", "complex128": "complex", "ComplexF64": "complex", "Complex": "complex",
	"integer": "int", "long": "int", "short": "int", "Int": "int", "Int64": "int", "int64": "int", "int32": "int", "int64_t": "int", "int32_t": "int", "uint": "int", "unsigned": "int", "size_t": "int", "usize": "int", "byte": "int",
	"str": "string", "String": "string", "char": "string", "text": "string", "boolean": "bool", "Bool": "bool", "Boolean": "bool",
	"None": "none", "Range": "range", "List": "list", "Array": "list", "slice": "list", "event": "gate", "future": "task", "device": "node",
}

// SizeWords are the fields and methods that give a number of items elsewhere.
var SizeWords = map[string]bool{"len": true, "length": true, "size": true, "count": true, "n": true, "Len": true, "numel": true, "__len__": true, "shape": true, "num_parts": true}

// ReducerWords are the names of reducers in other languages.
var ReducerWords = map[string]string{
	"sum": "sum", "+": "sum", "add": "sum", "plus": "sum", "prod": "prod", "*": "prod", "mul": "prod", "multiply": "prod", "product": "prod",
	"min": "min", "minimum": "min", "max": "max", "maximum": "max",
}

// ForeignKinds are the names that other languages have for kinds of data.
var ForeignKinds = map[string]string{
	"array": "vector", "list": "vector", "Array": "vector", "ndarray": "vector", "buffer": "vector", "slice": "vector", "scalar": "variable", "var": "variable", "table": "matrix",
}

// ForeignArgs are other names for the arguments of constructors.
var ForeignArgs = map[string]string{
	"value": "fill", "init": "fill", "initial": "fill", "val": "fill", "default": "fill", "fill_value": "fill",
	"data": "list", "values": "list", "elements": "list", "items": "list", "file": "load", "path": "load", "filename": "load", "from": "load",
	"size": "n", "length": "n", "len": "n", "count": "n", "nx": "n", "nrows": "rows", "ncols": "cols", "height": "rows", "width": "cols",
	"reduction": "reduce", "op": "reduce", "redux": "reduce",
}

// ForeignLoaders are the names that other languages have for reading a file.
var ForeignLoaders = map[string]bool{
	"load": true, "read": true, "open": true, "read_csv": true, "loadtxt": true, "genfromtxt": true, "fromfile": true, "load_csv": true, "load_npy": true, "readcsv": true, "mmread": true,
}

// ForeignOptions are other names for options of insert.
var ForeignOptions = map[string]string{
	"depends": "after", "depends_on": "after", "dependencies": "after", "deps": "after", "dependsOn": "after", "wait_for": "after", "needs": "after", "requires": "after",
	"label": "name", "title": "name",
}

// BorderWords are names for the halo of parts.
var BorderWords = map[string]bool{"halo": true, "halos": true, "border": true, "borders": true, "overlap": true, "ghost": true, "ghosts": true, "margin": true, "pad": true, "padding": true, "stencil": true, "radius": true}

// ForeignStatements are statement words of other languages.
var ForeignStatements = map[string]string{
	"def": "func", "fn": "func", "function": "func", "fun": "func", "kernel": "codelet", "var": "let", "const": "let", "auto": "let", "val": "let", "final": "let",
	"elif": "else if", "elseif": "else if", "foreach": "for", "loop": "while", "until": "while", "use": "import", "include": "import",
	"require": "import", "submit": "insert", "launch": "insert", "task": "insert", "spawn": "insert", "split": "partition",
	"free": "unregister", "delete": "unregister", "data": "register", "lock": "acquire", "unlock": "release", "next": "continue",
	"create": "register", "call": "insert", "forall": "each", "from": "import",
}

// OnlyForeign are the words of foreign that mean nothing but that.
var OnlyForeign = set("def", "fn", "function", "fun", "var", "const", "auto", "elif", "elseif", "foreach")

// StatementHelp says what stands for statements of other languages.
var StatementHelp = map[string]string{
	"switch": "write `if x == 1 { … } else if x == 2 { … } else { … }`", "match": "write `if x == 1 { … } else if x == 2 { … } else { … }`", "case": "write `if x == 1 { … } else if x == 2 { … } else { … }`",
	"try": "nothing catches an error: it ends the run; what has to hold is tested by `assert`", "except": "nothing catches an error: it ends the run", "catch": "nothing catches an error: it ends the run", "finally": "data is freed at the end of its block, whatever happens",
	"throw": "write `assert false, \"why\"`", "raise": "write `assert false, \"why\"`",
	"class": "there are no classes: data is registered, and functions take what they work on", "type": "there are no types of one's own", "enum": "write numbers with names: `let red = 0`", "interface": "there are no types of one's own",
	"pass": "a block may be empty: `{ }`", "end": "a block ends with `}`", "endif": "a block ends with `}`", "done": "a block ends with `}`", "fi": "a block ends with `}`", "begin": "a block begins with `{`",
	"del": "data ends with its block; before that `unregister x` ends it", "global": "a function sees all names of its file", "nonlocal": "a function sees all names of its file", "package": "a script has no head: statements are written at the top level", "namespace": "a file is a module by itself", "using": "write `import \"std/blas\" as blas`",
	"do": "a loop is written `while c { … }`", "repeat": "a loop is written `while c { … }`", "unless": "write `if not c { … }`", "yield": "a function returns once", "async": "a task is inserted: `insert f(R x)`; it runs when its data is there", "await": "write `wait t`, or nothing: what is read waits for what writes it", "go": "a task is inserted: `insert f(R x)`", "defer": "data is freed at the end of its block",
	"public": "all names of a file but those that begin with `_` are seen by those who import it", "private": "names that begin with `_` are private to their file", "static": "names of the top level live as long as the script", "void": "a function is declared by `func f(x: int) -> int { … }`", "template": "an element type may be a parameter: `codelet f(x: RW vector[T]) { … }`",
	"parallel": "tasks run side by side by themselves, as far as their data allows: `for i in 0..n { insert f(RW x[i]) }`", "barrier": "write `wait`", "sync": "write `wait`", "synchronize": "write `wait`", "taskwait": "write `wait`",
	"echo": "a call has parentheses: `print(…)`", "println": "a call has parentheses: `print(…)`", "puts": "a call has parentheses: `print(…)`", "otherwise": "write `else { … }`",
}

// CTypes are the types that begin a declaration in other languages.
var CTypes = map[string]bool{
	"int": true, "long": true, "unsigned": true, "size_t": true, "float": true, "double": true, "bool": true, "string": true, "str": true,
	"char": true, "i32": true, "i64": true, "f32": true, "f64": true,
}

// WaitWords are the names that other systems give to waiting for all tasks.
var WaitWords = set("wait_all", "waitall", "barrier", "sync", "synchronize", "taskwait")

// CElems are the element types that C has other names for. The numbers of scripts have
// 64 bits, those of C that are called the same have 32.
var CElems = map[string]string{"float": "f64", "double": "f64", "int": "i64", "long": "i64", "char": "i8", "unsigned": "u32", "int32_t": "i32", "int64_t": "i64", "f32": "f32", "f64": "f64"}

// ForeignModes are other names for access modes.
var ForeignModes = map[string]string{
	"STARPU_R": "R", "STARPU_W": "W", "STARPU_RW": "RW", "STARPU_REDUX": "REDUX", "STARPU_SCRATCH": "SCRATCH", "STARPU_COMMUTE": "COMMUTE",
	"r": "R", "w": "W", "rw": "RW", "Rw": "RW", "in": "R", "out": "W", "inout": "RW", "input": "R", "output": "W", "read": "R", "write": "W", "readwrite": "RW", "redux": "REDUX", "scratch": "SCRATCH", "commute": "COMMUTE",
}

// SubmitWords are functions elsewhere that submit the task whose codelet is their first
// argument.
var SubmitWords = set("insert", "submit", "spawn", "task_insert", "insert_task", "task_submit", "submit_task")

// ForeignComparisons are the comparisons of other languages.
var ForeignComparisons = map[string]string{"<>": "!=", "===": "==", "!==": "!=", "=<": "<=", "=>": ">=", "=!": "!="}

// BoolWords are the operators of conditions that other languages write as operators on bits.
var BoolWords = map[string]string{"&": "and", "|": "or", "^": "!=", "~": "not "}

// OperatorWords are words for operators.
var OperatorWords = map[string]string{
	"mod": "%", "rem": "%", "div": "//", "is": "==", "eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">=", "AND": "and", "OR": "or", "And": "and", "Or": "or", "xor": "!=",
}
