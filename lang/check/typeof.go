package check

// The type of an expression that a session does not run.

import (
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// TypeOf checks an entry that is one expression, as Entry does, and returns its
// type. The names of the session stay as they are. The type is nil when there are
// errors, and when the entry is no expression with a value.
func (s *Session) TypeOf(src *diag.Source) (*types.Type, diag.Diagnostics) {
	f, ds := syntax.ParseEntry(src)
	if len(f.Stmts) != 1 {
		return nil, ds
	}
	x, ok := f.Stmts[0].(*syntax.ExprStmt)
	if !ok {
		return nil, ds // an import would load files for nothing
	}
	slots := s.frame.slots
	defer func() { s.frame.slots = slots }()
	c := newChecker(s.loader, f, &Unit{File: f})
	c.session = s
	c.broken = ds.Err() != nil
	c.top.Parent = s.scope
	c.infos = s.infos
	c.frame = s.frame
	s.loader.diags = nil
	c.run()
	ds = merge(ds, c.diags)
	if ds.Err() != nil {
		return nil, ds
	}
	return x.X.Type(), ds
}
