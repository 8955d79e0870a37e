package check

// Options after `with`.

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
	"github.com/starpush/starpush/lang/vocab"
)

// options checks the options of one construct; on names its table.
func (c *checker) options(w *syntax.With, on string) {
	if w == nil {
		return
	}
	table := vocab.OptionsOf(on)
	var seen []*syntax.Option
next:
	for _, o := range w.Options {
		o.Name.SetType(types.TNone)
		for _, p := range seen {
			if p.Name.Name == o.Name.Name {
				c.expr(o.Value)
				d := c.err("E0801", o.Name, fmt.Sprintf("option `%s` is given twice", o.Name.Name))
				d.Labels = append(d.Labels, c.label(p, "the other one"))
				continue next
			}
		}
		seen = append(seen, o)
		for _, entry := range table {
			if entry.Name == o.Name.Name {
				c.optionValue(o, entry)
				if _, known := literal(o.Value); on == "codelet" && entry.Name == "retry" && !known && o.Value.Type() == types.TInt {
					d := c.err("E0705", o.Value, "`retry` of a codelet is a number that is written out")
					d.Help = append(d.Help, "write the number here, or give the option to `insert`")
				}
				continue next
			}
		}
		c.expr(o.Value)
		c.noOption(o, on, table)
	}
}

func (c *checker) noOption(o *syntax.Option, on string, table []vocab.Option) {
	name := "`" + on + "`"
	if on == "codelet" {
		name = "a codelet"
	}
	d := c.err("E0801", o.Name, fmt.Sprintf("%s has no option `%s`", name, o.Name.Name))
	var names []string
	for _, t := range table {
		names = append(names, t.Name)
	}
	sort.Strings(names)
	if on == "insert" && c.optionHabit(d, o) {
		return
	}
	if best, ok := near(o.Name.Name, names); ok {
		d.Meant(o.Name.Name, best, "")
	}
	d.Help = append(d.Help, "all options: "+strings.Join(names, ", "))
}

// anyDevice reports `where = gpu`: gpu(i) is a memory node, and no kind of workers.
func (c *checker) anyDevice(o *syntax.Option) bool {
	id, ok := o.Value.(*syntax.Ident)
	if !ok || id.Name != "gpu" || c.scope.Lookup(id.Name) != nil {
		return false
	}
	id.SetType(types.TInvalid)
	id.Obj = builtinFuncs[id.Name]
	d := c.err("E0705", id, "`gpu` is no kind of workers")
	d.Help = append(d.Help, "write `[cuda, opencl]`, for devices of any kind, or one of the two; one device is named at an operand: `RW x @ gpu(0)`")
	d.Edit(c.f.At(id), "[cuda, opencl]")
	return true
}

func (c *checker) optionValue(o *syntax.Option, entry vocab.Option) {
	what := fmt.Sprintf("`%s`", o.Name.Name)
	plain := map[vocab.OptionType]*types.Type{vocab.IntOption: types.TInt, vocab.FloatOption: types.TFloat, vocab.BoolOption: types.TBool, vocab.StringOption: types.TString}
	if t := plain[entry.Type]; t != nil {
		c.want(o.Value, t, what)
		if v, ok := literal(o.Value); ok && v < 0 && entry.Name == "retry" {
			d := c.err("E0705", o.Value, fmt.Sprintf("`retry` is %d; it must not be negative", v))
			d.Help = append(d.Help, "write how often the kernel may run again after it failed; 0 is never")
		}
		return
	}
	if entry.Type == vocab.LayoutsOption {
		return // by codeletBody, which knows the codelet
	}
	if entry.Type == vocab.HandlesOption {
		c.handleList(o.Value, what)
		return
	}
	if entry.Type == vocab.KindsOption && c.anyDevice(o) {
		return
	}
	t := c.expr(o.Value)
	one, item := false, (*types.Type)(nil)
	switch entry.Type {
	case vocab.KindsOption:
		one, item = true, types.TDevice
	case vocab.WorkersOption:
		one, item = true, types.TWorker
	case vocab.TasksOption:
		item = types.TTask
	case vocab.NodesOption:
		item = types.TNode
	case vocab.IntsOption:
		item = types.TInt
	}
	if t.Kind == types.Invalid || one && c.fits(item, o.Value) {
		return
	}
	if t.Kind == types.List && (t.Of == nil || t.Of.Kind == item.Kind || entry.Type == vocab.TasksOption && t.Of.Kind == types.Gate || t.Of.Kind == types.Invalid) {
		if t.Of == nil {
			t.Of = item
		}
		return
	}
	d := c.err("E0705", o.Value, fmt.Sprintf("%s takes %v, and this is %s", what, entry.Type, aType(t)))
	if lit, ok := syntax.Unparen(o.Value).(*syntax.StringLit); ok && entry.Type == vocab.KindsOption && slices.Contains(kindsOfWorkers, lit.Value) {
		d.Help = append(d.Help, fmt.Sprintf("write a kind without quotes: `%s`", lit.Value))
		d.Edit(c.f.At(o.Value), lit.Value)
		d.Sure()
	}
	if item.Kind == t.Kind || entry.Type == vocab.TasksOption && t.Kind == types.Gate {
		d.Help = append(d.Help, fmt.Sprintf("write `[%s]`", c.text(o.Value)))
	}
}

// handleList checks a list of handles and views, which may be of different types.
func (c *checker) handleList(e syntax.Expr, what string) {
	lit, ok := syntax.Unparen(e).(*syntax.ListLit)
	if !ok {
		t := c.expr(e)
		if t.Kind != types.Invalid && !(t.Kind == types.List && (t.Of == nil || t.Of.IsHandle() || t.Of.Kind == types.View || t.Of.Kind == types.Invalid)) {
			d := c.err("E0705", e, fmt.Sprintf("%s takes a list of handles, and this is %s", what, aType(t)))
			if t.IsHandle() || t.Kind == types.View {
				d.Help = append(d.Help, fmt.Sprintf("write `[%s]`", c.text(e)))
			}
		}
		return
	}
	of := types.TInvalid
	for i, x := range lit.Items {
		t := c.expr(x)
		if i == 0 {
			of = t
		}
		if t.Kind != types.Invalid && !t.IsHandle() && t.Kind != types.View {
			c.err("E0705", x, fmt.Sprintf("%s takes a list of handles, and this is %s", what, aType(t)))
		}
	}
	lit.SetType(types.ListOf(of))
	e.SetType(lit.Type())
}

// implemented reports a where that names only kinds which a host codelet has no
// implementation for.
func (c *checker) implemented(w *syntax.With, o *types.Object) {
	if w == nil || o.Kinds == nil {
		return
	}
	for _, opt := range w.Options {
		if opt.Name.Name != "where" {
			continue
		}
		items := []syntax.Expr{syntax.Unparen(opt.Value)}
		if l, ok := items[0].(*syntax.ListLit); ok {
			items = l.Items
		}
		var names []string
		for _, x := range items {
			id, ok := syntax.Unparen(x).(*syntax.Ident)
			if !ok || id.Obj == nil || id.Obj.Kind != types.BuiltinValue || id.Obj.Type.Kind != types.DeviceKind {
				return
			}
			for _, k := range o.Kinds {
				if k == id.Name {
					return
				}
			}
			names = append(names, kindTitle(id.Name))
		}
		if names == nil {
			return
		}
		d := c.err("E0802", opt.Value, fmt.Sprintf("`%s` has no %s implementation", o.Name, strings.Join(names, " or ")))
		d.Notes = append(d.Notes, fmt.Sprintf("`%s` is a host codelet with implementations for: %s", o.Name, strings.Join(o.Kinds, ", ")))
		d.Help = append(d.Help, fmt.Sprintf("drop `where`, or register a %s implementation in the host program", names[0]))
		if len(w.Options) == 1 {
			lo := w.Lo
			for lo > 0 && c.f.Source.Text[lo-1] == ' ' {
				lo--
			}
			d.Edit(c.f.At(syntax.Span{Lo: lo, Hi: w.Hi}), "")
		}
	}
}

func kindTitle(name string) string {
	switch name {
	case "cuda":
		return "CUDA"
	case "opencl":
		return "OpenCL"
	}
	return "CPU"
}

// kindsOfWorkers are the builtin values that `where` takes.
var kindsOfWorkers = []string{"cpu", "cuda", "opencl"}

// optionHabit adds to d which option was meant by another name for it; false when it is
// none that is known.
func (c *checker) optionHabit(d *diag.Diagnostic, o *syntax.Option) bool {
	switch name := o.Name.Name; {
	case name == "device" || name == "dev" || name == "node" || name == "gpu" || name == "on":
		d.Help = append(d.Help, "write `where = cuda`, `where = opencl` or `where = cpu` for a kind of worker, `worker = workers(cuda)[0]` for one of them")
	case vocab.ForeignOptions[name] == "after":
		t := o.Value.Type()
		if t == nil || t.Kind != types.Task && t.Kind != types.Gate {
			d.Meant(name, "after", "")
			break
		}
		right := fmt.Sprintf("after = [%s]", c.text(o.Value))
		d.Help = append(d.Help, "write `"+right+"`")
		d.Edit(c.f.At(o), right)
		d.Sure()
	case vocab.ForeignOptions[name] != "":
		d.Meant(name, vocab.ForeignOptions[name], "")
		d.Sure()
	default:
		return false
	}
	return true
}
