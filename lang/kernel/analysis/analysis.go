package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// analysis is one run of the checks on a lowered body.
type analysis struct {
	file  *syntax.File
	fn    *ir.Func
	forms *linearizer
	diags diag.Diagnostics

	outOfBounds map[int]bool // operands with an index out of bounds: the elements that are meant are unknown
}

// Check runs the checks on fn, the lowered body of c, and returns their diagnostics after ds,
// those of lowering.
func Check(f *syntax.File, c *syntax.Codelet, sig *types.Signature, fn *ir.Func, ds diag.Diagnostics) diag.Diagnostics {
	a := &analysis{file: f, fn: fn, forms: newLinearizer(fn), diags: ds, outOfBounds: map[int]bool{}}
	a.checkBounds(fn.Body, nil)
	a.checkRaces(fn.Body)
	a.checkReadsBeforeWrites()
	a.checkUnwritten()
	a.checkUnused(c, sig)
	return a.diags
}

// report adds a diagnostic. The pointer is valid until the next call.
func (a *analysis) report(code string, sev diag.Severity, at syntax.Span, msg string) *diag.Diagnostic {
	a.diags = append(a.diags, diag.Diagnostic{Code: code, Severity: sev, Message: msg, Span: a.at(at)})
	return &a.diags[len(a.diags)-1]
}

func (a *analysis) err(code string, at syntax.Span, msg string) *diag.Diagnostic {
	return a.report(code, diag.Error, at, msg)
}

func (a *analysis) at(s syntax.Span) diag.Span   { return a.file.At(s) }
func (a *analysis) text(s syntax.Span) string    { return ir.SourceText(a.file.Source, s) }
func (a *analysis) dim(op, axis int) linear      { return dimension(op, axis) }
func (a *analysis) axisName(op, axis int) string { return a.forms.text(a.dim(op, axis)) }

func (a *analysis) typeText(o *ir.Operand) string {
	if o.Node.Type == nil {
		return o.Kind.String()
	}
	return a.text(o.Node.Type.Span)
}

// joinWords returns words as a list: "a", "a and b", "a, b and c".
func joinWords(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// checkUnused reports operands that neither the body of c nor its options use (W0608): tasks
// wait for their data without need. A body without any data is intended, void data only
// orders tasks, and a W operand that is not written is W0606.
func (a *analysis) checkUnused(c *syntax.Codelet, sig *types.Signature) {
	used := a.fn.UsedOperands()
	if len(used) == 0 || a.diags.Err() != nil {
		return
	}
	for op := range a.fn.Operands {
		o := &a.fn.Operands[op]
		if o.Node == nil || o.Kind == iface.NoKind || o.Kind == iface.Void || o.Mode == iface.W || o.Name[0] == '_' {
			continue
		}
		name := o.Node.Name.Name
		sparse := o.Name == name+".val" // any of the three arrays of a sparse matrix may be used
		if slices.Contains(used, op) || sparse && (slices.Contains(used, op-1) || slices.Contains(used, op-2)) || a.usedInOptions(c.With, name) || determinesTypeParam(sig, name) {
			continue
		}
		field := func(k int) bool { return k != op && a.fn.Operands[k].Node == o.Node }
		if op > 0 && field(op-1) || slices.ContainsFunc(used, field) { // of structs: one that is used is enough
			continue
		}
		d := a.report("W0608", diag.Warning, o.Node.Name.Span, fmt.Sprintf("the body of `%s` does not use its operand `%s`", a.fn.Name, name))
		switch o.Mode {
		case iface.R:
			d.Label = "its tasks needlessly wait for those that write it"
		case iface.Scratch:
			d.Label = "every worker needlessly gets memory for it"
		default:
			d.Label = "its tasks needlessly wait for each other"
		}
		d.Help = append(d.Help, fmt.Sprintf("remove it from the signature, and from each insert of `%s`", a.fn.Name),
			fmt.Sprintf("if tasks have to wait for it, call it `_%s`", name))
		if !a.passedByName(name) {
			d.Edit(d.Span, "_"+name)
		}
	}
}

// usedInOptions reports whether the options w of a codelet use an operand.
func (a *analysis) usedInOptions(w *syntax.With, name string) bool {
	return w != nil && slices.ContainsFunc(syntax.Idents(a.file), func(id *syntax.Ident) bool {
		return id.Name == name && id.Lo >= w.Lo && id.Hi <= w.Hi
	})
}

// determinesTypeParam reports whether an operand is the only one that determines the type
// parameter of some scalar.
func determinesTypeParam(sig *types.Signature, name string) bool {
	var of byte
	for _, p := range sig.Params {
		if p.Name == name && p.Type != nil {
			of = p.Type.Param
		}
	}
	scalar := false
	for _, p := range sig.Params {
		switch {
		case of == 0 || p.Name == name || p.Type == nil || p.Type.Param != of:
		case p.Mode != iface.NoMode:
			return false // that operand determines it, too
		default:
			scalar = true
		}
	}
	return scalar
}

// passedByName reports whether an insert of the file passes an operand by this name: then
// renaming it breaks the insert.
func (a *analysis) passedByName(name string) (found bool) {
	syntax.Walk(a.file, func(n syntax.Node, _ []syntax.Node) {
		arg, ok := n.(*syntax.TaskArg)
		found = found || ok && arg.Name != nil && arg.Name.Name == name
	})
	return found
}
