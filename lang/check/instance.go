package check

// Bodies of codelets for the element types that inserts give them: a body with
// element-type parameters can be right for some types and wrong for others.

import (
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// instance is an insert that fixes the element types of a script's codelet.
type instance struct {
	insert  *syntax.Insert
	codelet *types.Object
}

// instantiate notes an insert whose types are right, for instances.
func (c *checker) instantiate(e *syntax.Insert, o *types.Object) {
	if node, ok := o.Node.(*syntax.Codelet); ok && node.Body != nil && len(e.TypeArgs) > 0 && o.Unit != nil {
		c.instantiated = append(c.instantiated, instance{e, o})
	}
}

// instances checks the bodies that inserts instantiate, each once for the same
// element types. Bodies that are wrong for all types were reported already.
func (c *checker) instances() {
	type key struct {
		codelet *types.Object
		elems   ['Z' - 'A' + 1]iface.Elem // one more than the type: 0 is none
	}
	seen := map[key]bool{}
	for _, in := range c.instantiated {
		unit, ok := in.codelet.Unit.(*Unit)
		if !ok || c.badBody[in.codelet] {
			continue
		}
		k := key{codelet: in.codelet}
		for name, elem := range in.insert.TypeArgs {
			k.elems[name-'A'] = elem + 1
		}
		if seen[k] {
			continue
		}
		seen[k] = true
		for _, d := range kernel.CheckElems(unit.File, in.codelet.Node.(*syntax.Codelet), in.codelet.Sig, in.insert.TypeArgs) {
			if d.Severity != diag.Error {
				continue
			}
			d.Labels = append(d.Labels, c.label(in.insert.Word, "inserted here"))
			c.diags = append(c.diags, d)
		}
	}
}
