package redux

// E0303: the diagnostics of bodies that do not contribute, or contribute by another
// fold or in another type than the data needs.

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

const (
	forgetsNote = "a REDUX operand is a copy that other tasks of the worker have added to: assigning forgets their contributions"
	partNote    = "a REDUX operand is a copy that holds the contributions of some tasks, of other ones in each run"
)

// neutralWords names the initial value of the copies, by fold.
var neutralWords = map[string]string{"sum": "0", "prod": "1", "min": "the largest value", "max": "the smallest value"}

// Fold returns the fold of the body: "sum", "prod", "min" or "max", or "" if it is another or
// unknown.
func (k *Contributions) Fold() string {
	if k == nil || len(k.folds) != 1 || k.unsure {
		return ""
	}
	for _, m := range k.misuses {
		if m.kind == recomputes {
			return ""
		}
	}
	return k.folds[0].fold
}

// firstMisuse returns the first place that keeps tasks from contributing to data
// registered with reduce, or nil. reduce is "" for a reducer of the script and an unknown
// one.
func (k *Contributions) firstMisuse(reduce string) *misuse {
	switch {
	case k == nil:
	case reduce == "" && !k.reads:
		for i := range k.misuses {
			if k.misuses[i].whole {
				return &k.misuses[i]
			}
		}
	case reduce == "" && k.writes:
	case len(k.misuses) > 0:
		return &k.misuses[0]
	default:
		for _, c := range k.folds {
			if c.fold != reduce && (len(k.folds) > 1 || k.unsure) { // a single fold has a message of its own
				return &misuse{kind: recomputes, at: c.at}
			}
		}
		for _, l := range k.limited {
			if !slices.Contains(l.folds, reduce) {
				return &misuse{kind: recomputes, at: l.at}
			}
		}
	}
	return nil
}

// Sound reports whether the body only contributes, by one fold or an unknown one.
func (k *Contributions) Sound() bool {
	return k == nil || len(k.misuses) == 0 && len(k.limited) == 0 && (len(k.folds) == 0 || len(k.folds) == 1 && !k.unsure)
}

// Misuse returns the E0303 of an insert of o that passes data registered with reduce as the
// operand, or nil if the body contributes. data is the source of the handle, and mode the
// position of its REDUX.
func (k *Contributions) Misuse(o *types.Object, reduce, data string, mode diag.Span) *diag.Diagnostic {
	m := k.firstMisuse(reduce)
	u, _ := o.Unit.(Unit)
	if m == nil || u == nil {
		return nil
	}
	d := &diag.Diagnostic{Code: "E0303", Span: mode}
	text := func(n syntax.Node) string {
		r := n.Range()
		return u.SourceFile().Source.Text[r.Lo:r.Hi]
	}
	serial := func() {
		d.Help = append(d.Help, fmt.Sprintf("write `RW %s`, and the tasks run one after the other", data))
		d.Edit(mode, "RW")
	}
	say := func(does, label, note string) {
		d.Message = fmt.Sprintf("`%s` %s `%s`, and this call passes it as REDUX", o.Sig.Name, does, k.param)
		d.Label = "each task has a copy, to add to it"
		d.Labels = []diag.Label{{Span: u.SourceFile().At(m.at), Text: label}}
		d.Notes = []string{note}
	}
	switch m.kind {
	case overwrites:
		say("assigns", "forgets what is in the copy", forgetsNote)
		k.suggestContribution(d, m, reduce, text, u, serial)
	case recomputes:
		say("does not only contribute to", "no contribution", partNote)
		if reduce != "" {
			d.Labels[0].Text = fmt.Sprintf("no contribution to a `%s`", reduce)
		}
		serial()
	case readsValue:
		say("reads", "reads what is in the copy", partNote)
		if k.writes {
			serial()
			break
		}
		d.Help = append(d.Help, fmt.Sprintf("`%s` does not change it: declare `%s` as R, and write `R %s`", o.Sig.Name, k.param, data))
		d.Edit(mode, "R")
		k.SuggestMode(d, o, u, "R", mode)
	}
	if mode.File != u.SourceFile().Source.Name { // an edit stays in the file of the call
		d.Fixes = nil
		if m.kind != overwrites && k.writes {
			d.Edit(mode, "RW")
		}
	}
	return d
}

// suggestContribution adds to d what to write instead of the assignment m.
func (k *Contributions) suggestContribution(d *diag.Diagnostic, m *misuse, reduce string, text func(syntax.Node) string, u Unit, serial func()) {
	target, value := text(m.assign.Target), text(m.assign.Value)
	constant := isConstant(m.assign.Value)
	switch {
	case constant && len(k.folds) > 0 && m.assign.Lo < k.folds[0].at.Lo && reduce != "": // it clears the operand first
		d.Labels[0].Text = "forgets what other tasks added"
		begin := fmt.Sprintf("copies that are combined by `%s` begin with %s", reduce, neutralWords[reduce])
		if isNeutral(m.assign.Value, reduce) {
			d.Help = append(d.Help, fmt.Sprintf("leave out `%s`: %s", oneLine(text(m.at)), begin))
			if m.alone {
				at := u.SourceFile().At(m.at)
				if line, ok := at.OwnLine(text(m.at)); ok {
					at = line
				}
				d.Edit(at, "")
			}
			return
		}
		d.Help = append(d.Help, fmt.Sprintf("leave out `%s`: %s; another first value is given where the data is registered, by `fill`", oneLine(text(m.at)), begin))
	case m.whole && constant || reduce == "" || m.assign.Op != "=":
		serial()
	default:
		d.Labels[0].Span = u.SourceFile().At(m.assign)
		instead := map[string]string{"sum": target + " += " + value, "prod": target + " *= " + value,
			"min": fmt.Sprintf("%s = min(%s, %s)", target, target, value), "max": fmt.Sprintf("%s = max(%s, %s)", target, target, value)}[reduce]
		d.Help = append(d.Help, fmt.Sprintf("write `%s`", oneLine(instead)))
		if m.once {
			d.Edit(u.SourceFile().At(m.assign), instead)
		}
	}
}

// SuggestMode adds to d the edit that declares the operand of o with another mode, if the
// declaration is in the file of at.
func (k *Contributions) SuggestMode(d *diag.Diagnostic, o *types.Object, u Unit, mode string, at diag.Span) {
	for _, p := range o.Node.(*syntax.Codelet).Params {
		if p.Name != nil && p.Name.Name == k.param && at.File == u.SourceFile().Source.Name {
			d.Edit(u.SourceFile().At(p.ModeAt), mode)
		}
	}
}

// oneLine returns s on one line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// isConstant reports whether e is a number or an infinity.
func isConstant(e syntax.Expr) bool { return !math.IsNaN(constant(e)) }

// nearlyInfinite is the size from which a number is taken for an infinity in a search for the
// smallest or largest value.
const nearlyInfinite = 1e9

// isNeutral reports whether the constant e is, or is meant as, the initial value of the copies
// of a fold.
func isNeutral(e syntax.Expr, reduce string) bool {
	v := constant(e)
	switch reduce {
	case "sum":
		return v == 0
	case "prod":
		return v == 1
	case "min":
		return v >= nearlyInfinite
	}
	return v <= -nearlyInfinite
}

// constant returns the value of a number or an infinity with its signs, or NaN if e is
// something else.
func constant(e syntax.Expr) float64 {
	sign := 1.0
	for {
		x, ok := syntax.Unparen(e).(*syntax.Unary)
		if !ok || x.Op != "-" {
			break
		}
		sign, e = -sign, x.X
	}
	switch x := syntax.Unparen(e).(type) {
	case *syntax.IntLit:
		return sign * float64(x.Value)
	case *syntax.FloatLit:
		return sign * x.Value
	case *syntax.Ident:
		if x.Name == "inf" {
			return sign * math.Inf(1)
		}
	}
	return math.NaN()
}

// FoldWords describes folds in messages.
var FoldWords = map[string]string{
	"sum": "adds to", "prod": "multiplies", "min": "keeps the smallest in", "max": "keeps the largest in",
}

// FoldOf returns the fold of the codelet o on its operand param: "sum", "prod", "min" or
// "max", or "" if it is another or unknown.
func FoldOf(o *types.Object, param string) string {
	if o.Fold != "" {
		return o.Fold
	}
	return ContributionsOf(o, param).Fold()
}

// FoldAt is the place of the first contribution of the body.
func (k *Contributions) FoldAt() syntax.Node { return k.folds[0].at }

// FoldMessage returns the message of E0303 about data registered with another fold than that
// of the codelet.
func FoldMessage(codelet, param, fold, data, reduce string) string {
	return fmt.Sprintf("`%s` %s `%s`, and the copies of `%s` are combined by `%s`", codelet, FoldWords[fold], param, data, reduce)
}

// mixedKey is an operand of a codelet for concrete element types, and the fold of its data.
type mixedKey struct {
	codelet       *types.Object
	param, reduce string
	elems         ['Z' - 'A' + 1]iface.Elem // one more than the type: 0 is none
}

// mixedUse is a place where a body combines in another type than that of the elements.
type mixedUse struct {
	at       syntax.Span
	in, elem kernel.Type
}

// mixedContribution returns a place in the body of o, for the element types targs, that combines
// in another type than that of the elements of the operand param, or nil.
func mixedContribution(o *types.Object, targs map[byte]iface.Elem, param, reduce string) *mixedUse {
	node, ok := o.Node.(*syntax.Codelet)
	u, isUnit := o.Unit.(Unit)
	if !ok || !isUnit || node.Body == nil || FoldWords[reduce] == "" {
		return nil
	}
	key := mixedKey{codelet: o, param: param, reduce: reduce}
	for name, elem := range targs {
		key.elems[name-'A'] = elem + 1
	}
	if found, ok := u.Redux().mixed.Load(key); ok {
		return found.(*mixedUse)
	}
	var found *mixedUse
	if at, in, elem, ok := kernel.MixedContribution(u.SourceFile(), node, o.Sig, targs, param, reduce); ok {
		found = &mixedUse{at: at, in: in, elem: elem}
	}
	u.Redux().mixed.Store(key, found)
	return found
}

// MixedTypes returns the E0303 of a codelet whose body combines in another type than that of
// the elements of its operand param, so that its tasks cannot contribute to data registered
// with reduce, or nil. targs are the element types of the type parameters, data is the source
// of the handle, and mode the position of its REDUX.
func MixedTypes(o *types.Object, targs map[byte]iface.Elem, param, reduce, data string, mode diag.Span) *diag.Diagnostic {
	m := mixedContribution(o, targs, param, reduce)
	if m == nil {
		return nil
	}
	u := o.Unit.(Unit)
	d := &diag.Diagnostic{Code: "E0303", Span: mode, Label: "each task has a copy, to add to it",
		Message: fmt.Sprintf("`%s` combines `%s` in another type than %v, and this call passes it as REDUX", o.Sig.Name, param, m.elem)}
	text := fmt.Sprintf("computed as %v, and the elements are %v", m.in, m.elem)
	if m.in == m.elem {
		d.Message = fmt.Sprintf("`%s` negates `%s`, and this call passes it as REDUX", o.Sig.Name, param)
		text = fmt.Sprintf("not every %v has a negative", m.elem)
	}
	d.Labels = []diag.Label{{Span: u.SourceFile().At(m.at), Text: text}}
	d.Notes = []string{fmt.Sprintf("the copies are combined as %v: what is lost in another type would be lost or not, as workers take the tasks", m.elem)}
	element := param
	if p := slices.IndexFunc(o.Sig.Params, func(p types.Param) bool { return p.Name == param }); p >= 0 && o.Sig.Params[p].Type.Kind != types.Variable {
		element += "[i]"
	}
	switch {
	case reduce == "min" || reduce == "max":
		d.Help = append(d.Help, fmt.Sprintf("write `%s = %s(%[1]s, value)`: the value converts to %[3]v first", element, reduce, m.elem))
	case m.elem.IsInt():
		d.Help = append(d.Help, fmt.Sprintf("make an int of what is contributed, not of the result: `%s %s int(value)`", element, map[string]string{"sum": "+=", "prod": "*="}[reduce]))
	default:
		d.Help = append(d.Help, fmt.Sprintf("combine in floats: `%s %s value`", element, map[string]string{"sum": "+=", "prod": "*="}[reduce]))
	}
	d.Help = append(d.Help, fmt.Sprintf("or write `RW %s`, and the tasks run one after the other", data))
	d.Edit(mode, "RW")
	return d
}

// MixedReductions returns the reductions for which MixedTypes returns a diagnostic.
func MixedReductions(o *types.Object, targs map[byte]iface.Elem, param string) (list []string) {
	for _, reduce := range []string{"sum", "prod", "min", "max"} {
		if mixedContribution(o, targs, param, reduce) != nil {
			list = append(list, reduce)
		}
	}
	return list
}
