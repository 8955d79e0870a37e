package check

// Arguments of constructors that lack their names, or have names from elsewhere.

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// kindHabits are the names that other languages have for kinds of data.
var kindHabits = map[string]string{
	"array": "vector", "list": "vector", "Array": "vector", "ndarray": "vector", "buffer": "vector", "slice": "vector", "scalar": "variable", "var": "variable", "table": "matrix",
}

// argHabits are other names for the arguments of constructors.
var argHabits = map[string]string{
	"value": "fill", "init": "fill", "initial": "fill", "val": "fill", "default": "fill", "fill_value": "fill",
	"data": "list", "values": "list", "elements": "list", "items": "list", "file": "load", "path": "load", "filename": "load", "from": "load",
	"size": "n", "length": "n", "len": "n", "count": "n", "nx": "n", "nrows": "rows", "ncols": "cols", "height": "rows", "width": "cols",
	"reduction": "reduce", "op": "reduce", "redux": "reduce",
}

// loaders are the names that other languages have for reading a file.
var loaders = map[string]bool{
	"load": true, "read": true, "open": true, "read_csv": true, "loadtxt": true, "genfromtxt": true, "fromfile": true, "load_csv": true, "load_npy": true, "readcsv": true, "mmread": true,
}

// loadForm is the constructor that does what call, of one of the loaders, asks for.
func loadForm(c *checker, call *syntax.Call) string {
	file := `"x.npy"`
	if len(call.Args) > 0 {
		file = c.text(call.Args[0].Value)
	}
	return "matrix[f64](load = " + file + ")"
}

// constructorForm is the text of e as a constructor if it is one, or calls the name
// of a kind without its element type.
func (c *checker) constructorForm(e syntax.Expr) (string, bool) {
	call, ok := e.(*syntax.Call)
	if !ok {
		return "", false
	}
	text := c.text(e)
	switch fn := call.Fn.(type) {
	case *syntax.Index:
		id, ok := fn.X.(*syntax.Ident)
		return text, ok && handleKinds[id.Name] != 0 && c.scope.Lookup(id.Name) == nil
	case *syntax.Ident:
		if handleKinds[fn.Name] == 0 || c.scope.Lookup(fn.Name) != nil {
			return "", false
		}
		if fn.Name == "void" {
			return text, true
		}
		return fn.Name + "[f64]" + strings.TrimPrefix(text, fn.Name), true
	}
	return "", false
}

// wrongArg notes that a stands for some argument that is hard to tell: what lacks
// then, sizes or a value, is not reported.
func (c *checker) wrongArg(a *syntax.Arg) {
	if c.unknownArg == nil {
		c.unknownArg = map[*syntax.Arg]bool{}
	}
	c.unknownArg[a] = true
}

// nameless reports the argument a, the i-th, of a constructor if it needs a name:
// all but the sizes do, and a text or a list is no size.
func (c *checker) nameless(a *syntax.Arg, kind string, i int) bool {
	sizes := sizeNames[kind]
	size := i < len(sizes)
	switch unparen(a.Value).(type) {
	case *syntax.StringLit, *syntax.FString, *syntax.ListLit, *syntax.ListComp:
	default:
		if size {
			return false // most often an int; what is none is told so
		}
	}
	t := c.expr(a.Value)
	c.wrongArg(a)
	name, what := "", ""
	switch {
	case t.Kind == types.String && kind != "variable":
		name, what = "load", "a file is named by `load`"
	case t.Kind == types.List && kind != "variable":
		name, what = "list", "elements are given by `list`"
	case t.IsNumber():
		name, what = "fill", "an initial value is given by `fill`"
	case t.Kind == types.Reducer:
		name, what = "reduce", "a reduction is given by `reduce`"
	}
	if name == "" || t.IsNumber() && i > len(sizes) {
		d := c.err("E0705", a, fmt.Sprintf("`%s` takes %s without a name", kind, Arguments(len(sizes))))
		d.Help = append(d.Help, "name the others: `fill =`, `list =`, `load =`, `reduce =`")
		return true
	}
	d := c.err("E0705", a, fmt.Sprintf("`%s` takes %s without a name: %s", kind, Arguments(len(sizes)), what))
	if size {
		d.Message = fmt.Sprintf("`%s` must be an int, and this is %s: %s", sizes[i], aType(t), what)
	}
	if rows, ok := unparen(a.Value).(*syntax.ListLit); ok && kind == "matrix" && size {
		if flat := c.flat(rows); flat != "" && i == 0 {
			d.Help = append(d.Help, "a matrix takes its sizes and a flat list, row by row: `"+flat+"`")
			d.Edit(c.f.At(a), flat)
			d.Sure()
			return true
		}
		d.Help = append(d.Help, "a matrix takes its sizes and a flat list, row by row: `matrix[f64](2, 2, list = [1, 2, 3, 4])`")
		return true
	}
	d.Help = append(d.Help, fmt.Sprintf("write `%s = %s`", name, c.text(a)))
	d.Edit(c.f.At(a).Before(), name+" = ")
	d.Sure()
	return true
}

// nestedList reports a list of rows where a flat list is given.
func (c *checker) nestedList(a *syntax.Arg, kind string) {
	d := c.err("E0705", a.Value, "`list` takes a flat list, row by row")
	rows, ok := unparen(a.Value).(*syntax.ListLit)
	flat := ""
	if ok && kind == "matrix" {
		flat = c.flat(rows)
	}
	if flat == "" {
		d.Help = append(d.Help, "write the sizes before it: `matrix[f64](2, 2, list = [1, 2, 3, 4])`")
		return
	}
	sizes, list, _ := strings.Cut(flat, "list = ")
	if !strings.HasSuffix(strings.TrimRight(c.f.Source.Text[:a.Range().Lo], " \t\n"), "(") { // they stand there
		d.Help = append(d.Help, fmt.Sprintf("write `list = %s`", list))
		d.Edit(c.f.At(a.Value), list)
		return
	}
	c.wrongArg(a)
	d.Help = append(d.Help, fmt.Sprintf("write the sizes before it: `%slist = %s`", sizes, list))
	d.Edit(c.f.At(a), flat)
	d.Sure()
}

// flat is the arguments of a matrix made of the lists of its rows, "" if these are no
// lists of one length.
func (c *checker) flat(rows *syntax.ListLit) string {
	var items []string
	n := 0
	for _, r := range rows.Items {
		row, ok := unparen(r).(*syntax.ListLit)
		if !ok || len(row.Items) == 0 || n > 0 && len(row.Items) != n {
			return ""
		}
		n = len(row.Items)
		for _, x := range row.Items {
			items = append(items, c.text(x))
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d, %d, list = [%s]", len(rows.Items), n, strings.Join(items, ", "))
}

// ConstructorArgs names what vector[T](…) and the other kinds take, sizes first.
func ConstructorArgs(kind string) []string {
	names := append([]string{}, sizeNames[kind]...)
	names = append(names, "fill")
	if kind != "variable" {
		names = append(names, "list", "load")
	}
	if kind == "matrix" {
		names = append(names, "ld")
	}
	return append(names, "reduce")
}
