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

// Habits: methods and fields that other languages have on lists, arrays and strings.

// sizeWords are the fields and methods that give a number of items elsewhere.
var sizeWords = map[string]bool{"len": true, "length": true, "size": true, "count": true, "n": true, "Len": true, "numel": true, "__len__": true, "shape": true, "num_parts": true}

// method is a call x.f(…) of something that values of the type of x do not have:
// false when e is another call. What is reported names what to write instead, and
// the edit replaces the whole call.
func (c *checker) method(e *syntax.Call) bool {
	fn, ok := e.Fn.(*syntax.Selector)
	if !ok || fn.Name == nil || c.moduleOf(fn.X) != nil {
		return false
	}
	if c.memberHabit(fn) != nil {
		c.args(e)
		return true
	}
	t := c.expr(fn.X)
	c.args(e)
	fn.Name.SetType(types.TNone)
	fn.SetType(types.TInvalid)
	if t.Kind == types.Invalid {
		return true
	}
	for _, f := range Fields(t) {
		if f.Name == fn.Name.Name {
			d := c.err("E0705", e, fmt.Sprintf("`%s` is a field, not a function", fn.Name.Name))
			d.Help = append(d.Help, fmt.Sprintf("write `%s`", c.text(fn)))
			d.Edit(c.f.At(e), c.text(fn))
			d.Sure()
			return true
		}
	}
	d := c.err("E0705", fn.Name, fmt.Sprintf("%s has no method `%s`", aType(t), fn.Name.Name))
	c.methodHabit(d, fn, t, e)
	return true
}

// methodHabit adds to d what stands for the field or method sel of a value of type
// t; call is nil for a field.
func (c *checker) methodHabit(d *diag.Diagnostic, sel *syntax.Selector, t *types.Type, call *syntax.Call) {
	x, name := c.text(sel.X), sel.Name.Name
	whole := syntax.Node(sel)
	var args []string
	if call != nil {
		whole = call
		for _, a := range call.Args {
			args = append(args, c.text(a))
		}
	}
	instead := func(text string) {
		d.Help = append(d.Help, "write `"+text+"`")
		if !strings.ContainsAny(text, "…") {
			d.Edit(c.f.At(whole), text)
			d.Sure()
		}
	}
	help := func(format string, a ...any) { d.Help = append(d.Help, fmt.Sprintf(format, a...)) }
	if f := filterNamed(name); f != nil && call != nil && f.splits(t.Kind) {
		help("parts are made by a statement: `partition %[1]s by %[2]s(%[3]s)`, then `%[1]s[i]`", x, name, strings.Join(args, ", "))
		return
	}
	first := strings.Join(args, ", ")
	if first == "" {
		first = "…"
	}
	if sizeWords[name] {
		switch t.Kind {
		case types.List, types.String, types.Range:
			instead("len(" + x + ")")
			return
		case types.View:
			instead(x + ".count")
			return
		case types.Vector:
			instead(x + ".n")
			return
		case types.Matrix:
			help("its sizes are `%s.rows` and `%s.cols`", x, x)
			return
		case types.Block:
			help("its sizes are `%s.nx`, `%s.ny` and `%s.nz`", x, x, x)
			return
		case types.Array:
			if t.Of != nil && t.Of.Kind == types.Block {
				help("its sizes are `%s.nx`, `%s.ny` and `%s.nz`", x, x, x)
				return
			}
			if t.Of != nil && t.Of.Kind == types.Matrix {
				help("its sizes are `%s.rows` and `%s.cols`", x, x)
				return
			}
			instead("len(" + x + ")")
			return
		}
	}
	switch t.Kind {
	case types.List:
		switch name {
		case "append", "push", "add", "push_back", "append!", "Add", "push_front":
			if len(args) == 1 && name != "push_front" {
				instead(fmt.Sprintf("%s += [%s]", x, first))
				return
			}
			help("a list grows by `+`: `%s = %s + [%s]`", x, x, first)
		case "extend", "concat":
			instead(fmt.Sprintf("%s += %s", x, first))
		case "pop", "pop_back", "remove", "del":
			help("a slice is a list without the others: `%s = %s[0..len(%s) - 1]`", x, x, x)
		case "copy", "clone":
			help("a slice is a copy: `%s[0..len(%s)]`", x, x)
		case "sum", "max", "min", "mean":
			help("go over it: `for v in %s { … }`", x)
		default:
			help("lists have no methods: `len(%s)`, `%s[i]`, `%s[a..b]`, `%s + [v]`", x, x, x, x)
		}
	case types.String:
		if name == "format" && call != nil && c.interpolated(d, call, sel.X, argValues(call)...) {
			return
		}
		help("strings have no methods: `len(s)` is the length, `+` joins, and an f-string holds values: `f\"n = {n:d}\"`")
	case types.Vector, types.Matrix:
		c.dataHabit(help, x, name, t)
	case types.Block:
		switch name {
		case "save", "tofile", "write", "wait", "sync":
			c.dataHabit(help, x, name, t)
		default: // std modules take vectors and matrices
			c.dataHabit(help, x, "", t)
		}
	case types.Variable:
		switch name {
		case "value", "get", "item", "val", "read", "n":
			instead("value(" + x + ")")
		default:
			help("`value(%s)` waits for it and reads it; tasks change it", x)
		}
	case types.Array:
		help("an array has elements, `%s[…]`, and the fields of its data", x)
	case types.Task:
		switch name {
		case "wait", "join", "result", "get", "Wait":
			instead("wait " + x)
		}
	case types.View:
		help("a view has `%s.count`, `%s.parts` and the parts `%s[i]`", x, x, x)
	}
}

// argValues are the arguments of a call, without their names.
func argValues(e *syntax.Call) []syntax.Expr {
	out := make([]syntax.Expr, len(e.Args))
	for i, a := range e.Args {
		out[i] = a.Value
	}
	return out
}

// dataHabit says what stands for a method of a vector or matrix.
func (c *checker) dataHabit(help func(string, ...any), x, name string, t *types.Type) {
	switch name {
	case "sum", "prod", "min", "max":
		help("`import \"std/reduce\" as reduce`, then `insert reduce.%s(R %s, REDUX acc)` with `register acc = %v(reduce = %s)`", name, x, &types.Type{Kind: types.Variable, Elem: t.Elem}, name)
	case "dot", "mean", "norm":
		help("`import \"std/blas\" as blas`, then `insert blas.dot(R %s, R y, REDUX acc)`", x)
	case "fill":
		help("`import \"std/blas\" as blas`, then `insert blas.fill(W %s, 0.0)`", x)
	case "copy", "clone":
		help("`import \"std/blas\" as blas`, then `insert blas.copy(R %s, W y)`", x)
	case "T", "transpose":
		help("`import \"std/blas\" as blas`, then `insert blas.transpose(R %s, W B)`", x)
	case "nrows", "height", "m":
		help("write `%s.rows`", x)
	case "ncols", "width":
		help("write `%s.cols`", x)
	case "save", "tofile", "write":
		help("write `save(%s, \"x.npy\")`", x)
	case "wait", "sync":
		help("write `wait %s`", x)
	default:
		var names []string
		for _, f := range Fields(t) {
			names = append(names, f.Name)
		}
		help("fields: %s; data is computed with in codelets", strings.Join(names, ", "))
	}
}

// What reducers are called in other languages.

// reducerWords are what reducers are called elsewhere.
var reducerWords = map[string]string{
	"sum": "sum", "+": "sum", "add": "sum", "plus": "sum", "prod": "prod", "*": "prod", "mul": "prod", "multiply": "prod", "product": "prod",
	"min": "min", "minimum": "min", "max": "max", "maximum": "max",
}

// foreignReducer reports reduce = "+" and reduce = add; false when e is something else.
func (c *checker) foreignReducer(e syntax.Expr) bool {
	var d *diag.Diagnostic
	right := ""
	switch e := e.(type) {
	case *syntax.StringLit:
		if right = reducerWords[e.Value]; right == "" {
			return false
		}
		d = c.err("E0705", e, "`reduce` takes the name of a reducer, not a text")
		e.SetType(types.TInvalid)
	case *syntax.Ident:
		if right = reducerWords[e.Name]; right == "" || right == e.Name || c.broken || c.scope.Lookup(e.Name) != nil || c.host[e.Name] != nil || c.later[e.Name] != nil {
			return false
		}
		d = c.err("E0201", e, fmt.Sprintf("`%s` is not defined", e.Name))
		e.SetType(types.TInvalid)
	default:
		return false
	}
	d.Help = append(d.Help, fmt.Sprintf("write `reduce = %s`", right))
	d.Edit(c.f.At(e), right)
	d.Sure()
	return true
}

// Lists of other languages: one that is repeated by `*`, and quotients where whole
// numbers are wanted.

func isIntList(t *types.Type) bool {
	return t != nil && t.Kind == types.List && t.Of != nil && t.Of.Kind == types.Int
}

// repeated adds to d, which is about the list and the number of b, the comprehension
// that has the item so often.
func (c *checker) repeated(d *diag.Diagnostic, b *syntax.Binary) {
	list, times := b.X, b.Y
	if isType(b.Y, types.List) {
		list, times = b.Y, b.X
	}
	l, ok := unparen(list).(*syntax.ListLit)
	if !ok || len(l.Items) != 1 {
		if t := list.Type(); t.Of != nil && t.Of.IsNumber() {
			x := c.unusedName(b, "x")
			d.Help = append(d.Help, fmt.Sprintf("for each of its items write `[%s * %s for %s in %s]`; lists are joined by `+`", x, c.text(times), x, c.text(list)))
		}
		return
	}
	item, name := l.Items[0], c.unusedName(b, "k")
	repeat := func(item string) string {
		return fmt.Sprintf("[%s for %s in 0..%s]", item, name, c.text(times))
	}
	if calls(item) { // once, not so often
		d.Help = append(d.Help, fmt.Sprintf("write `let v = %s`, then `%s`", c.text(item), repeat("v")))
		return
	}
	right := repeat(c.text(item))
	edit := func() {
		if c.text(b.OpAt) == "*" { // and not *=
			d.Edit(c.f.At(b), right)
		}
	}
	ops, whole := c.quotients(item)
	switch {
	case whole && c.wantsInts:
		right = repeat(c.roundedDown(item, ops))
		d.Help = append(d.Help, fmt.Sprintf("write `%s`: `/` always gives a float, `//` rounds down", right))
		edit()
		return
	case whole:
		d.Help = append(d.Help, fmt.Sprintf("write `%s`; `/` always gives a float: for whole numbers, as sizes are, `%s`", right, repeat(c.roundedDown(item, ops))))
		return
	}
	d.Help = append(d.Help, "write `"+right+"`")
	edit()
	d.Sure()
}

// unusedName is a name that e does not mention: the one that is wanted, if it can be.
func (c *checker) unusedName(e syntax.Expr, wanted string) string {
	used := map[string]bool{}
	walkExpr(e, func(x syntax.Expr) bool {
		if id, ok := x.(*syntax.Ident); ok {
			used[id.Name] = true
		}
		return true
	})
	for _, name := range []string{wanted, "i", "j"} {
		if !used[name] {
			return name
		}
	}
	return "index"
}

// calls reports whether something is called or inserted in e.
func calls(e syntax.Expr) bool {
	found := false
	walkExpr(e, func(x syntax.Expr) bool {
		switch x.(type) {
		case *syntax.Call, *syntax.Insert:
			found = true
		}
		return !found
	})
	return found
}

// quotients lists the `/` of whole numbers that make e a float, or a list of floats; ok
// when nothing else does.
func (c *checker) quotients(e syntax.Expr) (ops []syntax.Span, ok bool) {
	ok = true
	var walk func(e syntax.Expr)
	walk = func(e syntax.Expr) {
		t := e.Type()
		for t != nil && t.Kind == types.List {
			t = t.Of
		}
		if t == nil || t.Kind != types.Float {
			ok = ok && t != nil && t.Kind == types.Int
			return
		}
		switch e := e.(type) {
		case *syntax.Paren:
			walk(e.X)
		case *syntax.Unary:
			walk(e.X)
		case *syntax.Cond:
			walk(e.Then)
			walk(e.Else)
		case *syntax.ListComp:
			walk(e.Item)
		case *syntax.ListLit:
			for _, x := range e.Items {
				walk(x)
			}
		case *syntax.Binary:
			if e.Op == "/" {
				ops = append(ops, e.OpAt)
			}
			walk(e.X)
			walk(e.Y)
		default:
			ok = false
		}
	}
	walk(e)
	return ops, ok && len(ops) > 0
}

// roundedDown is the text of e with `//` for each of the `/` in ops.
func (c *checker) roundedDown(e syntax.Expr, ops []syntax.Span) string {
	at, text := e.Range(), c.f.Source.Text
	var b strings.Builder
	lo := at.Lo
	for _, op := range ops {
		b.WriteString(text[lo:op.Lo] + "//")
		lo = op.Hi
	}
	b.WriteString(text[lo:at.Hi])
	return b.String()
}

// floatsForInts adds to d, about the list e of floats that should be ints, where to
// round down: in e, or in the let whose name e is. Nothing when something else makes
// them floats.
func (c *checker) floatsForInts(d *diag.Diagnostic, e syntax.Expr) {
	from, before := e, ""
	if id, ok := unparen(e).(*syntax.Ident); ok && id.Obj != nil && c.infos[id.Obj] != nil && c.infos[id.Obj].let != nil {
		let := c.infos[id.Obj].let
		if let.Type != nil {
			return
		}
		from, before = let.Value, "let "+id.Name+" = "
	}
	ops, ok := c.quotients(from)
	if !ok {
		return
	}
	if from != e {
		d.Labels = append(d.Labels, c.label(from, "floats from here on: `/` always gives them"))
	}
	d.Help = append(d.Help, fmt.Sprintf("`/` always gives a float; to round down write `%s%s`", before, c.roundedDown(from, ops)))
	for _, op := range ops {
		d.Edit(c.f.At(op), "//")
	}
}
