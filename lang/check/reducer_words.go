package check

// What reducers are called in other languages.

import (
	"fmt"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

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
