package kernel

// The exported face: Check, Compile, Program and Fault.

import (
	"fmt"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// Check finds what is wrong in the body of one codelet, with element-type
// parameters left open: codes E0601 to E0607, W0606 and W0608, names (E0201, E0202,
// E0204, W0201) and types (E0105, E0703, E0705). It sets Ident.Obj and the
// types of expressions in the body, and Operand.Obj where it is nil; nothing
// else of the tree changes. A codelet without body has nothing to check.
func Check(f *syntax.File, c *syntax.Codelet, sig *types.Signature) diag.Diagnostics {
	return CheckIn(f, c, sig, nil)
}

// CheckIn is Check for a codelet whose surroundings declare more names than f
// does, such as earlier entries of a prompt. outer finds those, so that E0604
// can say what they are; nil: there are none.
func CheckIn(f *syntax.File, c *syntax.Codelet, sig *types.Signature, outer func(name string) *types.Object) diag.Diagnostics {
	if c.Body == nil {
		return nil
	}
	return checkBody(f, c, sig, outer)
}

func checkBody(f *syntax.File, c *syntax.Codelet, sig *types.Signature, outer func(name string) *types.Object) diag.Diagnostics {
	l := newLowerer(f, sig, nil, true, outer)
	l.body(c, sig)
	l.analyse(c, sig)
	return l.diags
}

// CheckElems finds the type errors that a body has for concrete element types
// and not for all: `x[i] = 0.5` where T stands for an integer type. It changes
// nothing in the tree. Compile reports the same as its error.
func CheckElems(f *syntax.File, c *syntax.Codelet, sig *types.Signature, targs map[byte]iface.Elem) diag.Diagnostics {
	if c.Body == nil {
		return nil
	}
	l := newLowerer(f, sig, targs, false, nil)
	l.body(c, sig)
	for k := range l.diags {
		l.diags[k].Notes = append(l.diags[k].Notes, elemNote(sig, targs)...)
	}
	return l.diags
}

// elemNote says what the type parameters of sig stand for.
func elemNote(sig *types.Signature, targs map[byte]iface.Elem) []string {
	var notes []string
	seen := map[byte]bool{}
	for _, p := range sig.Params {
		if p.Type == nil || p.Type.Param == 0 || seen[p.Type.Param] {
			continue
		}
		seen[p.Type.Param] = true
		if e, ok := targs[p.Type.Param]; ok {
			notes = append(notes, fmt.Sprintf("`%c` stands for %v here", p.Type.Param, e))
		}
	}
	return notes
}

// Compile makes the body of c executable for concrete element types: targs
// says what each type parameter of sig stands for. The tree must have passed
// Check and is not changed. What Check could not see because it depends on the
// element types (E0703: a float stored into integers) is the error, a
// diag.Diagnostics.
func Compile(f *syntax.File, c *syntax.Codelet, sig *types.Signature, targs map[byte]iface.Elem) (*Program, error) {
	if c.Body == nil {
		return nil, fmt.Errorf("kernel: codelet %s has no body", sig.Name)
	}
	for _, p := range sig.Params {
		if !known(p.Type) {
			return nil, fmt.Errorf("kernel: operand %s of codelet %s has no type", p.Name, sig.Name)
		}
		if p.Type.Param != 0 {
			if e, ok := targs[p.Type.Param]; !ok || !e.IsInt() && !e.IsFloat() {
				return nil, fmt.Errorf("kernel: codelet %s: nothing says what %c stands for", sig.Name, p.Type.Param)
			}
		}
	}
	if ds := CheckElems(f, c, sig, targs); ds.Err() != nil {
		return nil, ds
	}
	return compile(Lower(f, c, sig, targs), cheapest), nil
}

// known reports whether t says all about an operand but what its type parameter
// stands for.
func known(t *types.Type) bool {
	switch {
	case t == nil:
		return false
	case t.IsScalar() || t.Kind == types.Void:
		return true
	case t.Kind == types.Elem || t.Data() != iface.NoKind:
		return t.Param != 0 || t.Elem != iface.NoElem
	}
	return false
}

// Lower returns the intermediate representation of a body that CheckElems
// finds nothing wrong with, for back ends.
func Lower(f *syntax.File, c *syntax.Codelet, sig *types.Signature, targs map[byte]iface.Elem) *Func {
	l := newLowerer(f, sig, targs, false, nil)
	l.body(c, sig)
	return l.fn
}
