package check

// Habits: what other languages call things, and what they are called here.

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// habitElems are the names that other languages have for element types.
var habitElems = map[string]string{
	"double": "f64", "float": "f64", "float64": "f64", "Float64": "f64", "double64": "f64", "real": "f64", "real64": "f64", "number": "f64", "fp64": "f64",
	"float32": "f32", "Float32": "f32", "single": "f32", "real32": "f32", "fp32": "f32", "float_32": "f32", "float_64": "f64",
	"int": "i64", "long": "i64", "int64": "i64", "Int64": "i64", "Int": "i64", "integer": "i64", "int64_t": "i64", "isize": "i64",
	"int32": "i32", "Int32": "i32", "int32_t": "i32", "int16": "i16", "Int16": "i16", "short": "i16", "int16_t": "i16", "int8": "i8", "Int8": "i8", "int8_t": "i8",
	"char": "i8", "byte": "u8", "uint8": "u8", "UInt8": "u8", "uint8_t": "u8", "bool": "u8", "uint16": "u16", "UInt16": "u16", "uint16_t": "u16",
	"uint32": "u32", "UInt32": "u32", "uint32_t": "u32", "unsigned": "u32", "uint": "u64", "uint64": "u64", "UInt64": "u64", "uint64_t": "u64", "size_t": "u64", "usize": "u64",
}

// habitTypes are the names that other languages have for the types of values.
var habitTypes = map[string]string{
	"double": "float", "float64": "float", "Float64": "float", "float32": "float", "Float32": "float", "real": "float", "number": "float", "Float": "float",
	"integer": "int", "long": "int", "short": "int", "Int": "int", "Int64": "int", "int64": "int", "int32": "int", "int64_t": "int", "int32_t": "int", "uint": "int", "unsigned": "int", "size_t": "int", "usize": "int", "byte": "int",
	"str": "string", "String": "string", "char": "string", "text": "string", "boolean": "bool", "Bool": "bool", "Boolean": "bool",
	"None": "none", "Range": "range", "List": "list", "Array": "list", "slice": "list", "event": "gate", "future": "task", "device": "node",
}

// elemHabit adds to d which element type name means elsewhere.
func (c *checker) elemHabit(d *diag.Diagnostic, e *syntax.TypeExpr) bool {
	name := e.Name.Name
	switch name {
	case "complex", "complex64", "complex128", "ComplexF64", "Complex":
		d.Help = append(d.Help, "elements are real numbers in this version: "+elemNames())
		return true
	}
	to := habitElems[name]
	if to == "" || e.Elem != nil {
		return false
	}
	why := map[string]string{"float": ", or `f32` for 32 bits", "int": ", or `i32` for 32 bits", "bool": " with 0 and 1"}[name]
	d.Help = append(d.Help, fmt.Sprintf("write `%s`%s", to, why))
	d.Edit(c.f.At(e), to)
	d.Sure()
	return true
}

// habit is the name of something in another language.
type habit struct {
	word string // the name here, when that alone has to change
	help string
}

// habitNames are the values and functions of other languages. Names that scripts
// are likely to use for something else are left out.
var habitNames = map[string]habit{
	"null": {word: "none"}, "nil": {word: "none"}, "None": {word: "none"}, "NULL": {word: "none"}, "nullptr": {word: "none"}, "undefined": {word: "none"},
	"True": {word: "true"}, "TRUE": {word: "true"}, "False": {word: "false"}, "FALSE": {word: "false"},
	"println": {word: "print"}, "puts": {word: "print"}, "echo": {word: "print"}, "cout": {help: "text is written by `print(…)`"},
	"printf": {help: "write `print(f\"n = {n:d}\")`: formats are written in f-strings"}, "sprintf": {help: "text with values in it is an f-string: `f\"n = {n:d}\"`"},
	"fprintf": {help: "write `print(f\"n = {n:d}\")`: formats are written in f-strings"}, "format": {help: "text with values in it is an f-string: `f\"n = {n:d}\"`"},
	"append":    {help: "a list grows by `+`: `xs = xs + [x]`"},
	"enumerate": {help: "write `for i in 0..len(xs) { … xs[i] … }`"},
	"reversed":  {help: "downwards a loop goes over `range(n - 1, -1, -1)`"},
	"zip":       {help: "write `for i in 0..len(xs) { … xs[i], ys[i] … }`"},
	"sorted":    {help: "there is no sorting of lists: data is worked on by codelets"},
	"map":       {help: "write a list `[f(x) for x in xs]`"},
	"filter":    {help: "write a loop that appends: `if c { xs = xs + [x] }`"},
	"sizeof":    {help: "sizes are counted in elements, not in bytes"},
	"malloc":    {help: "memory is registered: `register x = vector[f64](n)`"},
	"calloc":    {help: "memory is registered: `register x = vector[f64](n, fill = 0)`"},
	"make":      {help: "a list is written `[a, b]`; data is registered: `register x = vector[f64](n)`"},
	"new":       {help: "data is registered: `register x = vector[f64](n)`"},
	"zeros":     {help: "data is registered: `register x = vector[f64](n, fill = 0)`"},
	"ones":      {help: "data is registered: `register x = vector[f64](n, fill = 1)`"},
	"exit":      {help: "a script ends at its end; `assert` stops it before"},
	"quit":      {help: "a script ends at its end; `assert` stops it before"},
	"panic":     {help: "write `assert false, \"why\"`"},
	"error":     {help: "write `assert false, \"why\"`"},
	"input":     {help: "values from outside are params: `param n: int = 10`, and `-p n=20` on the command line"},
	"argv":      {help: "values from outside are params: `param n: int = 10`, and `-p n=20` on the command line"},
	"rand":      {help: "`import \"std/random\" as random`, then `insert random.uniform(W x, 1)`"},
	"random":    {help: "`import \"std/random\" as random`, then `insert random.uniform(W x, 1)`"},
	"sleep":     {help: "tasks start when what they need is there: nothing has to be waited for by the clock"},
	"time":      {help: "a script reads no clock: `starpush bench FILE` times it, `--stats` its tasks"},
	"clock":     {help: "a script reads no clock: `starpush bench FILE` times it, `--stats` its tasks"},
	"swap":      {help: "write `let last = a`, `a = b` and `b = last`; registered data gets names that can change first: `let a = x`, `let b = y`"},
	"eye":       habitMembers["eye"], "load": habitMembers["load"], "read_csv": habitMembers["load"], "loadtxt": habitMembers["load"],
	"lambda":   {help: "write a `func` and call it by its name"},
	"infinity": {word: "inf"}, "Inf": {word: "inf"}, "INFINITY": {word: "inf"}, "PI": {word: "pi"}, "M_PI": {word: "pi"},
	"fabs": {word: "abs"}, "ceiling": {word: "ceil"}, "ln": {word: "log"}, "parseInt": {word: "int"}, "string": {word: "str"}, "String": {word: "str"}, "repr": {word: "str"},
	"double": {word: "float"}, "float64": {word: "float"}, "float32": {word: "float"}, "int32": {word: "int"}, "int64": {word: "int"}, "length": {word: "len"},
	"f32": {word: "float"}, "f64": {word: "float"}, "i32": {word: "int"}, "i64": {word: "int"},
	"wait_all": {help: "write `wait`"}, "barrier": {help: "write `wait`"}, "sync": {help: "write `wait`"}, "synchronize": {help: "write `wait`"}, "waitall": {help: "write `wait`"}, "taskwait": {help: "write `wait`"},
	"maximum": {word: "max"}, "minimum": {word: "min"},
	"avg": {help: "write `reduce = sum`, and divide what comes of it by how many there are"}, "average": {help: "write `reduce = sum`, and divide what comes of it by how many there are"},
	"self": {help: "there are no objects: a `func` takes what it works on as a parameter"}, "this": {help: "there are no objects: a `func` takes what it works on as a parameter"},
}

// otherNames are the beginnings of the names that programs with other task libraries
// use, in lower case, the longer ones first.
var otherNames = []struct{ prefix, help string }{
	{"mpi_barrier", "write `wait`: it waits for all tasks"}, {"mpi_wait", "write `wait`: it waits for all tasks"},
	{"mpi_reduce", "write `register s = variable[f64](fill = 0, reduce = sum)`, and pass it to tasks `REDUX s`"},
	{"mpi_allreduce", "write `register s = variable[f64](fill = 0, reduce = sum)`, and pass it to tasks `REDUX s`"},
	{"mpi_", "a script is one process: data goes to the tasks that name it, so nothing is sent, and there are no ranks"},
	{"omp_", "tasks have no numbers of threads: `len(workers(cpu))` counts the workers, and `--cpus N` sets how many there are"},
	{"task_wait", "write `wait`, or nothing: what is read waits for what writes it"}, {"wait_for_all", "write `wait`, or nothing: what is read waits for what writes it"},
	{"task_insert", "write `insert f(R x, RW y)`"}, {"insert_task", "write `insert f(R x, RW y)`"}, {"task_submit", "write `insert f(R x, RW y)`"},
}

// starpuNames are the beginnings of the names that C programs for StarPU use, the
// longer ones first.
var starpuNames = []struct{ prefix, help string }{
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
	{"STARPU_MAIN_RAM", "main memory is `ram`"}, {"STARPU_NMAX", ""},
	{"STARPU_R", "put the access mode before the data: `R x`, `RW x`"}, {"STARPU_W", "put the access mode before the data: `W x`"},
	{"STARPU_COMMUTE", "put the access mode before the data: `COMMUTE x`"}, {"STARPU_SCRATCH", "put the access mode before the data: `SCRATCH x`"},
}

// nameHabit adds to d what the undefined name means in another language; false when
// it is none that is known.
func nameHabit(d *diag.Diagnostic, name string) bool {
	if h, ok := habitNames[name]; ok {
		if h.word != "" {
			d.Meant(name, h.word, "")
			d.Sure()
		} else {
			d.Help = append(d.Help, h.help)
		}
		return true
	}
	if m, ok := iface.ModeByName(name); ok {
		d.Help = append(d.Help, fmt.Sprintf("put the access mode before the data, with a space between: `%v x`", m))
		return true
	}
	for _, o := range otherNames {
		if strings.HasPrefix(strings.ToLower(name), o.prefix) {
			d.Help = append(d.Help, o.help)
			return true
		}
	}
	if strings.HasPrefix(strings.ToLower(name), "starpu_") {
		for _, s := range starpuNames {
			if strings.HasPrefix(name, s.prefix) && s.help != "" {
				d.Help = append(d.Help, s.help)
				return true
			}
		}
	}
	return false
}

// habitModules are what programs in other languages take functions from.
var habitModules = map[string]bool{
	"math": true, "Math": true, "np": true, "numpy": true, "cmath": true, "fmt": true, "console": true, "os": true, "sys": true, "time": true,
	"strings": true, "strconv": true, "scipy": true, "torch": true, "jnp": true, "cp": true, "log": true, "plt": true, "System": true,
}

// habitMembers are the members of such modules, by their lower-case names.
var habitMembers = map[string]habit{
	"println": {word: "print"}, "log": {word: "log"}, "printf": {help: "write `print(f\"n = {n:d}\")`: formats are written in f-strings"}, "sprintf": {help: "text with values in it is an f-string: `f\"n = {n:d}\"`"},
	"fabs": {word: "abs"}, "absolute": {word: "abs"}, "power": {word: "pow"}, "arange": {help: "write `0..n`, or as a list `[i for i in 0..n]`"},
	"zeros": {help: "data is registered: `register x = vector[f64](n, fill = 0)`"}, "empty": {help: "data is registered: `register x = vector[f64](n)`"},
	"ones": {help: "data is registered: `register x = vector[f64](n, fill = 1)`"}, "full": {help: "data is registered: `register x = vector[f64](n, fill = 2.5)`"},
	"array": {help: "data is registered: `register x = vector[f64](list = [1.0, 2.0])`"}, "asarray": {help: "data is registered: `register x = vector[f64](list = [1.0, 2.0])`"},
	"eye":    {help: "register a matrix and write it in a codelet: `each i, j in A { A[i, j] = if i == j then 1.0 else 0.0 }`"},
	"load":   {help: "data is loaded where it is registered: `register x = vector[f64](load = \"x.npy\")`"},
	"time":   {help: "a script reads no clock: `starpush bench FILE` times it, `--stats` its tasks"},
	"save":   {help: "write `save(x, \"x.npy\")`"},
	"dot":    {help: "`import \"std/blas\" as blas`, then `insert blas.dot(R x, R y, REDUX acc)`"},
	"vdot":   {help: "`import \"std/blas\" as blas`, then `insert blas.dot(R x, R y, REDUX acc)`"},
	"matmul": {help: "`import \"std/blas\" as blas`, then `insert blas.gemm(R A, R B, RW C)`"}, "inner": {help: "`import \"std/blas\" as blas`, then `insert blas.dot(R x, R y, REDUX acc)`"},
	"sum": {help: "`import \"std/reduce\" as reduce`, then `insert reduce.sum(R x, REDUX acc)`"}, "linspace": {help: "write a list: `[a + float(i) * h for i in 0..n]`"},
	"random": {help: "`import \"std/random\" as random`, then `insert random.uniform(W x, 1)`"}, "rand": {help: "`import \"std/random\" as random`, then `insert random.uniform(W x, 1)`"},
	"argv": {help: "values from outside are params: `param n: int = 10`, and `-p n=20` on the command line"}, "exit": {help: "a script ends at its end; `assert` stops it before"},
	"float64": {word: "float"}, "float32": {word: "float"}, "int64": {word: "int"}, "int32": {word: "int"}, "itoa": {word: "str"},
	"m_pi": {word: "pi"},
}

// memberHabit reports math.sqrt, np.zeros and their like, where no such module is
// imported; nil for other selectors.
func (c *checker) memberHabit(e *syntax.Selector) *types.Type {
	id, ok := e.X.(*syntax.Ident)
	if !ok || !habitModules[id.Name] || c.broken || c.scope.Lookup(id.Name) != nil || c.host[id.Name] != nil || c.later[id.Name] != nil {
		return nil
	}
	if id.Name == "log" && e.Name.Name != "Println" && e.Name.Name != "Printf" {
		return nil
	}
	id.SetType(types.TInvalid)
	d := c.err("E0201", e, fmt.Sprintf("`%s` is not defined", c.text(e)))
	member := strings.ToLower(e.Name.Name)
	h, known := habitMembers[member]
	switch {
	case id.Name == "console" && member == "log":
		d.Meant(c.text(e), "print", "builtin")
		d.Sure()
	case known && h.word != "":
		d.Meant(c.text(e), h.word, "builtin")
		d.Sure()
	case known:
		d.Help = append(d.Help, h.help)
	case builtinFuncs[member] != nil || builtinValues[member] != nil:
		d.Meant(c.text(e), member, "builtin")
		d.Sure()
	default:
		d.Help = append(d.Help, "the builtin functions need no module; `starpush doc` lists them")
	}
	return types.TInvalid
}
