package check

// The type of an expression that a session does not run.

import (
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// TypeOf checks an entry that is one expression, as Try does, and returns its type: nil
// when there are errors, and when the entry is no expression with a value.
func (s *Session) TypeOf(src *diag.Source) (*types.Type, diag.Diagnostics) {
	f, ds := syntax.ParseEntry(src)
	if len(f.Stmts) != 1 {
		return nil, ds
	}
	if _, ok := f.Stmts[0].(*syntax.ExprStmt); !ok {
		return nil, ds // an import would load files for nothing
	}
	unit, ds := s.Try(src)
	if unit == nil {
		return nil, ds
	}
	return unit.File.Stmts[0].(*syntax.ExprStmt).X.Type(), ds
}
