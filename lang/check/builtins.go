package check

// Calls of builtin functions.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/starpush/starpush/datamgr/format"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// builtin checks the arguments of a builtin function and returns its result.
func (c *checker) builtin(e *syntax.Call, name string) *types.Type {
	switch name {
	case "reducer":
		return c.reducer(e)
	case "layout":
		return c.layout(e)
	}
	if name == "busy" {
		return c.busy(e)
	}
	misnamed := false
	for _, a := range e.Args {
		if a.Name != nil {
			a.Name.SetType(types.TNone)
			if (name != "close" || a.Name.Name != "tol") && !misnamed { // the help is the same for all
				misnamed = true
				d := c.err("E0705", a.Name, fmt.Sprintf("`%s` has no parameter `%s`", name, a.Name.Name))
				if name == "print" && (a.Name.Name == "end" || a.Name.Name == "sep" || a.Name.Name == "file" || a.Name.Name == "flush") {
					d.Help = append(d.Help, "each `print` writes a line, with blanks between its values; other forms have f-strings")
				} else {
					d.Help = append(d.Help, "write `"+builtinSyntax(name)+"`")
				}
			}
		}
		t := c.expr(a.Value)
		if t.Kind == types.None && name != "print" && name != "str" {
			c.err("E0705", a.Value, fmt.Sprintf("this gives no value that `%s` could take", name))
			a.Value.SetType(types.TInvalid)
		}
	}
	if misnamed { // what else is wrong with the call follows from that
		said := len(c.diags)
		t := c.builtinResult(e, name)
		c.diags = c.diags[:said]
		if t.Kind == types.None {
			return types.TInvalid // a value is not what is missing
		}
		return t
	}
	return c.builtinResult(e, name)
}

// builtinResult checks how many arguments there are, and their types.
func (c *checker) builtinResult(e *syntax.Call, name string) *types.Type {
	if t := c.complexBuiltin(e, name); t != nil {
		return t
	}
	if n := mathArity[name]; n > 0 {
		c.numbers(e, name, n, n)
		return types.TFloat
	}
	switch name {
	case "print":
		c.printsText(e)
		return types.TNone
	case "str":
		c.count(e, name, 1, 1)
		return types.TString
	case "len":
		if c.count(e, name, 1, 1) {
			c.lenOf(e, e.Args[0].Value)
		}
		return types.TInt
	case "value":
		return c.valueOf(e)
	case "save":
		if c.count(e, name, 2, 2) {
			if x := e.Args[0].Value; x.Type().Kind == types.String && e.Args[1].Value.Type().IsHandle() { // save("x.npy", x)
				c.saveSwapped(e)
				return types.TNone
			}
			if x := e.Args[0].Value; x.Type().Kind != types.Invalid && !x.Type().IsHandle() {
				c.err("E0705", x, fmt.Sprintf("`save` writes registered data, and this is %s", aType(x.Type())))
			}
			c.arg(e, 1, types.TString, "the file name")
			c.fileName(e.Args[1].Value, "saved", e.Args[0].Value.Type())
		}
		return types.TNone
	case "range":
		if c.count(e, name, 3, 3) {
			for i, what := range []string{"the start", "the end", "the step"} {
				c.arg(e, i, types.TInt, what+" of `range`")
			}
			if v, ok := literal(e.Args[2].Value); ok && v == 0 {
				c.err("E0705", e.Args[2].Value, "the step of a range cannot be 0")
			}
		}
		return types.TRange
	case "grid":
		c.count(e, name, 1, -1)
		for i := range e.Args {
			c.arg(e, i, types.TInt, "a size of `grid`")
		}
		return types.ListOf(types.ListOf(types.TInt))
	case "int", "float":
		c.numbers(e, name, 1, 1)
		if name == "int" {
			return types.TInt
		}
		return types.TFloat
	case "abs", "min", "max":
		return c.sameNumber(e, name)
	case "close":
		c.numbers(e, name, 2, 3)
		return types.TBool
	case "gate":
		c.count(e, name, 0, 0)
		return types.TGate
	case "open":
		if len(e.Args) > 0 && isType(e.Args[0].Value, types.String) { // open("x.txt", "w")
			d := c.err("E0705", e, "files are not opened: data is loaded and saved as a whole")
			d.Help = append(d.Help, "data is loaded where it is registered: `register x = vector[f64](load = \"x.npy\")`",
				"a file is written by `save(x, \"x.npy\")`; `starpush doc files` has the formats")
			return types.TInvalid
		}
		if c.count(e, name, 1, 1) {
			c.arg(e, 0, types.TGate, "what `open` opens")
		}
		return types.TNone
	case "gpu", "cuda", "opencl", "disk", "numa":
		if c.count(e, name, 1, 1) {
			c.arg(e, 0, types.TInt, fmt.Sprintf("the number of `%s`", name))
			if v, ok := literal(e.Args[0].Value); ok && v < 0 {
				c.err("E0705", e.Args[0].Value, "devices are numbered from 0")
			}
		}
		return types.TNode
	case "nodes":
		c.count(e, name, 0, 0)
		return types.ListOf(types.TNode)
	case "workers":
		if c.count(e, name, 1, 1) {
			c.arg(e, 0, types.TDevice, "what `workers` takes")
		}
		return types.ListOf(types.TWorker)
	}
	return types.TInvalid
}

// first is the type of the first argument of e, nil if there is none.
func first(e *syntax.Call) *types.Type {
	if len(e.Args) == 0 {
		return nil
	}
	return e.Args[0].Value.Type()
}

// count reports a wrong number of arguments; hi < 0: no upper bound.
func (c *checker) count(e *syntax.Call, name string, lo, hi int) bool {
	n := len(e.Args)
	if n >= lo && (hi < 0 || n <= hi) {
		return true
	}
	takes := Arguments(lo)
	switch {
	case hi < 0 && lo == 1:
		takes = "one argument or more"
	case hi < 0:
		takes = fmt.Sprintf("%d arguments or more", lo)
	case hi > lo:
		takes = fmt.Sprintf("%d or %d arguments", lo, hi)
	}
	d := c.err("E0705", e, fmt.Sprintf("`%s` takes %s, and %s given", name, takes, AreArguments(n)))
	if name == "range" && n > 0 {
		right := c.rangeText(e)
		d.Help = append(d.Help, fmt.Sprintf("without a step write `%s`", right))
		if n < 3 {
			d.Edit(c.f.At(e), right)
			d.Sure()
		}
	} else if t := first(e); (name == "min" || name == "max") && n == 1 && t != nil && t.IsDense() {
		c.dataHabit(func(format string, a ...any) { d.Help = append(d.Help, fmt.Sprintf(format, a...)) }, c.text(e.Args[0].Value), name, t)
	} else if (name == "min" || name == "max") && n == 1 && isType(e.Args[0].Value, types.List) {
		d.Help = append(d.Help, fmt.Sprintf("for a list go over it: `for v in %s { m = %s(m, v) }`", c.text(e.Args[0]), name))
	} else {
		d.Help = append(d.Help, "write `"+builtinSyntax(name)+"`")
	}
	return false
}

func (c *checker) arg(e *syntax.Call, i int, t *types.Type, what string) {
	if x := e.Args[i].Value; !c.fits(t, x) {
		c.mismatch(x, t, what)
	}
}

// numbers checks that all arguments are numbers.
func (c *checker) numbers(e *syntax.Call, name string, lo, hi int) bool {
	if !c.count(e, name, lo, hi) {
		return false
	}
	ok := true
	for _, a := range e.Args {
		if t := a.Value.Type(); t.Kind != types.Invalid && !t.IsNumber() {
			d := c.err("E0705", a.Value, fmt.Sprintf("`%s` takes numbers, and this is %s", name, aType(t)))
			if t.Kind == types.Complex {
				d.Message = fmt.Sprintf("`%s` takes real numbers, and this is a complex one", name)
				d.Help = append(d.Help, fmt.Sprintf("its parts are `re(%[1]s)` and `im(%[1]s)`, its absolute value is `abs(%[1]s)`", c.text(a.Value)))
			}
			if t.Kind == types.String {
				d.Help = append(d.Help, "no function makes a number of a text: values from outside are params, as in `param n: int = 10`, and data comes from files")
			}
			c.handleHint(d, a.Value)
			ok = false
		}
	}
	return ok
}

// sameNumber is abs, min or max: int when all arguments are.
func (c *checker) sameNumber(e *syntax.Call, name string) *types.Type {
	lo, hi := 2, -1
	if name == "abs" {
		lo, hi = 1, 1
	}
	if !c.numbers(e, name, lo, hi) {
		return types.TInvalid
	}
	t := types.TInt
	for _, a := range e.Args {
		if a.Value.Type().Kind == types.Float {
			return types.TFloat
		}
		if a.Value.Type().Kind == types.Invalid {
			t = types.TInvalid
		}
	}
	return t
}

// busy checks busy(x), which takes what `wait` does.
func (c *checker) busy(e *syntax.Call) *types.Type {
	for _, a := range e.Args {
		if a.Name == nil {
			continue
		}
		d := c.err("E0705", a.Name, fmt.Sprintf("`busy` has no parameter `%s`", a.Name.Name))
		d.Help = append(d.Help, "write `"+builtinSyntax("busy")+"`")
		for _, a := range e.Args {
			if a.Name != nil {
				a.Name.SetType(types.TNone)
			}
			c.expr(a.Value)
		}
		return types.TBool
	}
	for _, a := range e.Args {
		c.data(a.Value, "`busy`", dataAll|dataTasks)
	}
	c.count(e, "busy", 1, 1)
	return types.TBool
}

func (c *checker) lenOf(call *syntax.Call, x syntax.Expr) {
	switch t := x.Type(); t.Kind {
	case types.Invalid, types.List, types.String, types.Range, types.View, types.Array:
	default:
		d := c.err("E0705", x, fmt.Sprintf("`len` takes a list, string, range, view or array, and this is %s", aType(t)))
		switch t.Kind {
		case types.Vector:
			d.Help = append(d.Help, fmt.Sprintf("write `%s.n`", c.text(x)))
			d.Edit(c.f.At(call), c.text(x)+".n")
			d.Sure()
		case types.Matrix:
			d.Help = append(d.Help, fmt.Sprintf("write `%s.rows` or `%s.cols`", c.text(x), c.text(x)))
		case types.Block:
			d.Help = append(d.Help, fmt.Sprintf("write `%s.nx`, `%s.ny` or `%s.nz`", c.text(x), c.text(x), c.text(x)))
		case types.Tensor:
			d.Help = append(d.Help, "write "+sizeFields(c.text(x), t, "or"))
		case types.Structs:
			d.Help = append(d.Help, fmt.Sprintf("write `%s.n`", c.text(x)))
		case types.CSR, types.CSC, types.COO, types.BCSR:
			d.Help = append(d.Help, fmt.Sprintf("write `%s.rows`, `%s.cols` or `%s.nnz`", c.text(x), c.text(x), c.text(x)))
		}
	}
}

func (c *checker) valueOf(e *syntax.Call) *types.Type {
	if !c.count(e, "value", 1, 1) {
		return types.TInvalid
	}
	x := e.Args[0].Value
	t := x.Type()
	switch {
	case t.Kind == types.Invalid:
		return t
	case t.Kind != types.Variable:
		d := c.err("E0705", x, fmt.Sprintf("`value` reads a variable, and this is %s", aType(t)))
		if t.IsHandle() && t.Kind != types.Void {
			c.elementsOf(d, x)
		}
		return types.TInvalid
	}
	return numberOf(t.Elem)
}

// elementsOf adds to d how the elements of the data x are looked at. x[0] of data without a
// view in sight was meant as an element.
func (c *checker) elementsOf(d *diag.Diagnostic, x syntax.Expr) {
	if e, ok := syntax.Unparen(x).(*syntax.Index); ok && e.X.Type().IsHandle() && c.partitioned(e.X) == nil {
		a := c.arrayFor(e.X)
		d.Help = append(d.Help, fmt.Sprintf("to look at elements write `acquire R %[1]s as %[2]s { ... %[2]s[%[3]s] ... }`", c.text(e.X), a, c.indicesFor(e.X.Type(), e.Args)))
		return
	}
	member := ""
	if x.Type().Sparse() != nil {
		member = ".val"
		if f := x.Type().Fields(); f != nil {
			member = "." + f.Arrays[0].Name
		}
	}
	d.Help = append(d.Help, fmt.Sprintf("to look at elements write `acquire R %s%s as a { ... }`", c.text(x), member))
}

// saveSwapped reports save("x.npy", x).
func (c *checker) saveSwapped(e *syntax.Call) {
	right := fmt.Sprintf("save(%s, %s)", c.text(e.Args[1].Value), c.text(e.Args[0].Value))
	d := c.err("E0705", e, "`save` takes the data first, then the name of the file")
	d.Help = append(d.Help, "write `"+right+"`")
	d.Edit(c.f.At(e), right)
	d.Sure()
}

// complexFuncs are the builtin functions that take a complex number, and whether they give one.
var complexFuncs = map[string]bool{
	"re": false, "im": false, "arg": false, "abs": false, "conj": true, "sqrt": true, "exp": true, "log": true,
}

// complexBuiltin checks a call of a builtin function for complex numbers, or of one for real
// numbers with a complex argument. It returns nil for others.
func (c *checker) complexBuiltin(e *syntax.Call, name string) *types.Type {
	isComplex := func(a *syntax.Arg) bool { return isType(a.Value, types.Complex) }
	gives, known := complexFuncs[name]
	switch {
	case name == "complex":
		if len(e.Args) == 1 && isComplex(e.Args[0]) {
			return types.TComplex
		}
		c.numbers(e, name, 1, 2)
		return types.TComplex
	case name == "close" && slices.ContainsFunc(e.Args, isComplex):
		if c.count(e, name, 2, 3) && len(e.Args) == 3 && isComplex(e.Args[2]) {
			c.mismatch(e.Args[2].Value, types.TFloat, "the tolerance of `close`")
		}
		for _, a := range e.Args {
			if !isComplex(a) && a.Value.Type().Kind != types.Invalid && !a.Value.Type().IsNumber() {
				c.mismatch(a.Value, types.TComplex, "an argument of `close`")
			}
		}
		return types.TBool
	case !known:
		return nil
	case len(e.Args) == 1 && isComplex(e.Args[0]):
		if gives {
			return types.TComplex
		}
		return types.TFloat
	case mathArity[name] > 0 || name == "abs":
		return nil
	}
	c.numbers(e, name, 1, 1) // a real number is a complex one, and its own conjugate
	return types.TFloat
}

// reducer checks reducer(init = i, combine = c): the only place where names of
// codelets are values.
func (c *checker) reducer(e *syntax.Call) *types.Type {
	var init, combine *types.Object
	seen := map[string]bool{}
	for i, a := range e.Args {
		name := ""
		if a.Name != nil {
			a.Name.SetType(types.TNone)
			name = a.Name.Name
		} else if i < 2 {
			name = [2]string{"init", "combine"}[i]
		}
		switch {
		case seen[name]:
			c.twice(a, name)
		case name == "init":
			init = c.codeletValue(a.Value)
			if init != nil && !reduceSig(init.Sig, []iface.AccessMode{iface.W}) {
				c.reducerShape(a.Value, init, "init", "i(x: W H)")
			}
		case name == "combine":
			combine = c.codeletValue(a.Value)
			if combine != nil && !reduceSig(combine.Sig, []iface.AccessMode{iface.RW, iface.R}) {
				c.reducerShape(a.Value, combine, "combine", "c(into: RW H, from: R H)")
			}
		default:
			c.expr(a.Value)
			c.err("E0705", a, "`reducer` takes `init` and `combine`")
		}
		seen[name] = true
	}
	if !seen["init"] {
		d := c.err("E0705", e, "`reducer` needs `init`")
		d.Help = append(d.Help, "write `reducer(init = i, combine = c)` with codelets i(x: W H) and c(into: RW H, from: R H)")
	}
	if init != nil && combine != nil && len(init.Sig.Params) > 0 && len(combine.Sig.Params) > 0 {
		a, b := init.Sig.Params[0].Type, combine.Sig.Params[0].Type
		if !a.Admits(b) && !b.Admits(a) || a.Param == 0 && b.Param == 0 && a.Elem != b.Elem {
			d := c.err("E0705", e, "`init` and `combine` work on different data")
			d.Notes = append(d.Notes, "codelet "+init.Sig.Text, "codelet "+combine.Sig.Text)
		}
	}
	return types.TReducer
}

func (c *checker) reducerShape(at syntax.Node, o *types.Object, role, want string) {
	d := c.err("E0705", at, fmt.Sprintf("`%s` cannot be the `%s` of a reducer", o.Name, role))
	d.Notes = append(d.Notes, "codelet "+o.Sig.Text)
	d.Help = append(d.Help, fmt.Sprintf("it must have the form `%s`", want))
}

// reduceSig reports whether sig has operands of one type in these modes, and
// nothing else that must be given.
func reduceSig(sig *types.Signature, modes []iface.AccessMode) bool {
	if sig == nil || len(sig.Params) < len(modes) {
		return false
	}
	for i, p := range sig.Params {
		switch {
		case i >= len(modes):
			if !p.HasDefault || p.Mode != iface.NoMode {
				return false
			}
		case p.Mode != modes[i] || !types.Same(p.Type, sig.Params[0].Type):
			return false
		}
	}
	return true
}

// Names of files: how one ends says in which format it is saved and loaded.

// textFiles, binaryFiles and imageFiles are endings of other programs, by what they hold.
var (
	textFiles   = []string{".txt", ".dat", ".tsv", ".text", ".out", ".xls", ".xlsx", ".ods", ".json", ".log"}
	binaryFiles = []string{".h5", ".hdf5", ".mat", ".raw", ".pkl", ".pt", ".jld2", ".nc", ".f64", ".f32", ".data"}
	imageFiles  = []string{".jpg", ".jpeg", ".tif", ".tiff", ".ppm", ".pbm", ".pnm", ".bmp", ".gif", ".webp"}
)

// fileName reports the name x of a file that is saved or loaded, as verb says, when the
// text shows that it has no format, or one that cannot hold data of type t, as far as that is known.
func (c *checker) fileName(x syntax.Expr, verb string, t *types.Type) {
	end, whole := ending(x)
	suffix := format.Suffix(end)
	_, part := format.Split(end)
	switch {
	case !whole && (suffix == "" || part == "" && strings.Contains(end, ":")):
		return // not in the text
	case t.Fields() != nil:
		c.structFile(x, verb, t)
		return
	case t.Sparse() != nil && suffix != ".mtx" && slices.Contains(format.Suffixes, suffix):
		d := c.err("E0705", x, fmt.Sprintf("a `%s` file holds no %s", suffix, kindName(t)))
		d.Help = append(d.Help, fmt.Sprintf("a %s is %s as `.mtx`", kindName(t), verb))
		c.otherSuffix(x, suffix, ".mtx", false)
		return
	case slices.Contains(format.Suffixes, suffix):
		name := end
		if !whole && part == "" {
			name = "x" + suffix
		}
		if why, instead := format.Refusal(name, t.Data(), t.Elem, verb == "saved"); why != "" {
			d := c.err("E0705", x, why)
			d.Help = append(d.Help, instead)
		}
		return
	}
	names := strings.Join(format.Suffixes[:len(format.Suffixes)-1], ", ") + " or " + format.Suffixes[len(format.Suffixes)-1]
	if end == "" {
		d := c.err("E0705", x, "the name of the file is empty")
		d.Help = append(d.Help, "it says the format, too, and ends in "+names)
		return
	}
	said := "a name that ends in `" + suffix + "` says no format"
	if suffix == "" {
		said = "the name of a file says its format, and this one says none"
	}
	d := c.err("E0705", x, said)
	d.Help = append(d.Help, "data is "+verb+" in files that end in "+names)
	switch {
	case suffix == "":
		c.otherSuffix(x, "", ".npy", true)
	case slices.Contains(textFiles, suffix):
		d.Help = append(d.Help, "`.csv` has rows of numbers as text")
		c.otherSuffix(x, suffix, ".csv", verb == "saved")
	case slices.Contains(imageFiles, suffix):
		d.Help = append(d.Help, "`.png` has images in grey and in colour")
		c.otherSuffix(x, suffix, ".png", verb == "saved")
	case slices.Contains(binaryFiles, suffix):
		d.Help = append(d.Help, "`.npy` is what NumPy reads and writes, `.bin` has the elements alone")
		c.otherSuffix(x, suffix, ".npy", verb == "saved")
	}
}

// otherSuffix adds to the last diagnostic the edit that ends the text x in to, in place
// of from.
func (c *checker) otherSuffix(x syntax.Expr, from, to string, saved bool) {
	text := c.text(x)
	if !saved || !strings.HasSuffix(strings.ToLower(text), from+`"`) {
		return
	}
	d := &c.diags[len(c.diags)-1]
	right := text[:len(text)-len(from)-1] + to + `"`
	d.Help[len(d.Help)-1] += ": `" + right + "`"
	d.Edit(c.f.At(x), right)
}

// ending is the text that x ends with, as far as it is known; whole says that it is all
// of it.
func ending(x syntax.Expr) (end string, whole bool) {
	switch x := syntax.Unparen(x).(type) {
	case *syntax.StringLit:
		return x.Value, true
	case *syntax.FString:
		if n := len(x.Parts); n > 0 && x.Parts[n-1].X == nil {
			return x.Parts[n-1].Text, n == 1
		}
	case *syntax.Binary:
		if x.Op == "+" {
			end, _ = ending(x.Y)
			return end, false
		}
	}
	return "", false
}

// structFile checks the name of a file of structs.
func (c *checker) structFile(x syntax.Expr, verb string, t *types.Type) {
	end, whole := ending(x)
	if !whole && !strings.Contains(end, ".") {
		return
	}
	if strings.HasSuffix(end, ".csv") || strings.HasSuffix(end, ".npz") {
		return
	}
	d := c.err("E0705", x, fmt.Sprintf("a %v is %s as `.csv`, with a column for each field, or as `.npz`, with an array for each", t, verb))
	d.Help = append(d.Help, "write the name of such a file, without a column: `\"a.csv\"`")
}
