package check

// Contributions: the types in which a body combines, which must give what combining the
// copies gives, whatever the elements are.

import (
	"fmt"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// mixedKey is an operand of a codelet for concrete element types, and what combines its
// copies.
type mixedKey struct {
	codelet       *types.Object
	param, reduce string
	elems         ['Z' - 'A' + 1]iface.Elem // one more than the type: 0 is none
}

// mixedUse is where a body combines in another type than that of the elements.
type mixedUse struct {
	at       syntax.Span
	in, elem kernel.Type
}

// mixedContribution looks for a place in the body of o that keeps tasks from contributing to
// the operand param: it combines in another type, with targs for its type parameters.
func mixedContribution(o *types.Object, targs map[byte]iface.Elem, param, reduce string) *mixedUse {
	node, ok := o.Node.(*syntax.Codelet)
	u, isUnit := o.Unit.(*Unit)
	if !ok || !isUnit || node.Body == nil || foldWords[reduce] == "" {
		return nil
	}
	key := mixedKey{codelet: o, param: param, reduce: reduce}
	for name, elem := range targs {
		key.elems[name-'A'] = elem + 1
	}
	if found, ok := u.mixed.Load(key); ok {
		return found.(*mixedUse)
	}
	var found *mixedUse
	if at, in, elem, ok := kernel.MixedContribution(u.File, node, o.Sig, targs, param, reduce); ok {
		found = &mixedUse{at: at, in: in, elem: elem}
	}
	u.mixed.Store(key, found)
	return found
}

// MixedTypes is E0303 about a codelet whose body combines in another type than that of the
// elements of its operand param, so that its tasks cannot contribute to data that is
// registered with reduce; nil where nothing speaks against it. targs says what the type
// parameters stand for, data is the handle as written, and mode the place of its REDUX.
func MixedTypes(o *types.Object, targs map[byte]iface.Elem, param, reduce, data string, mode diag.Span) *diag.Diagnostic {
	m := mixedContribution(o, targs, param, reduce)
	if m == nil {
		return nil
	}
	u := o.Unit.(*Unit)
	d := &diag.Diagnostic{Code: "E0303", Span: mode, Label: "each task has a copy, to add to it",
		Message: fmt.Sprintf("`%s` combines `%s` in another type than %v, and this call passes it as REDUX", o.Sig.Name, param, m.elem)}
	text := fmt.Sprintf("computed as %v, and the elements are %v", m.in, m.elem)
	if m.in == m.elem {
		d.Message = fmt.Sprintf("`%s` negates `%s`, and this call passes it as REDUX", o.Sig.Name, param)
		text = fmt.Sprintf("not every %v has a negative", m.elem)
	}
	d.Labels = []diag.Label{{Span: u.File.At(m.at), Text: text}}
	d.Notes = []string{fmt.Sprintf("the copies are combined as %v: what is lost in another type would be lost or not, as workers take the tasks", m.elem)}
	element := param
	if p := paramIndex(o.Sig, param); p >= 0 && o.Sig.Params[p].Type.Kind != types.Variable {
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

// MixedReductions lists the reductions about which MixedTypes has something to say.
func MixedReductions(o *types.Object, targs map[byte]iface.Elem, param string) (list []string) {
	for _, reduce := range []string{"sum", "prod", "min", "max"} {
		if mixedContribution(o, targs, param, reduce) != nil {
			list = append(list, reduce)
		}
	}
	return list
}

// reduxUse is an insert that passes an operand as REDUX to data whose reduction the
// text shows.
type reduxUse struct {
	insert *syntax.Insert
	arg    *syntax.TaskArg
	param  string
	reduce string
}

// mixedTypes checks the operands that are passed as REDUX, when all bodies were checked.
func (c *checker) mixedTypes() {
	for _, r := range c.contributed {
		if c.badBody[r.insert.Callee] || c.failed[r.insert] {
			continue
		}
		if d := MixedTypes(r.insert.Callee, r.insert.TypeArgs, r.param, r.reduce, c.text(r.arg.Value), c.f.At(r.arg.ModeAt)); d != nil {
			c.diags = append(c.diags, *d)
		}
	}
}
