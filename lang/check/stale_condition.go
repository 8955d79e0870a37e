package check

// W0203: a loop whose condition reads a name, and whose body makes another one that is
// called the same where it was to change it. The loop never sees the new value.

import (
	"fmt"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// staleConditions looks at all loops of the unit that have a condition.
func (c *checker) staleConditions() {
	var elsewhere map[*types.Object]bool // what functions change
	look := func(list []syntax.Stmt) {
		for _, s := range list {
			walkNested(s, func(s syntax.Stmt) {
				l, ok := s.(*syntax.While)
				if !ok || l.Body == nil {
					return
				}
				if elsewhere == nil {
					elsewhere = map[*types.Object]bool{}
					for _, f := range c.funcs {
						if f.Body != nil {
							changedIn(f.Body.Stmts, elsewhere)
						}
					}
				}
				c.staleCondition(l, elsewhere)
			})
		}
	}
	look(c.f.Stmts)
	for _, f := range c.funcs {
		if f.Body != nil {
			look(f.Body.Stmts)
		}
	}
}

// staleCondition looks at one loop. A bool is there to be changed; another name that
// stays may be a limit, and then something else in the condition changes.
func (c *checker) staleCondition(l *syntax.While, elsewhere map[*types.Object]bool) {
	changed := map[*types.Object]bool{}
	changedIn(l.Body.Stmts, changed)
	var stays []*syntax.Ident
	changes := false
	walkExpr(l.Cond, func(e syntax.Expr) bool {
		switch e := e.(type) {
		case *syntax.Ident:
			switch o := e.Obj; {
			case o == nil || changed[o] || elsewhere[o]:
				changes = true
			case o.Kind == types.LetObject || o.Kind == types.FuncParam:
				stays = append(stays, e)
			}
		case *syntax.Call, *syntax.Selector:
			changes = true // a value of data
		}
		return true
	})
	for _, id := range stays {
		if changes && id.Obj.Type.Kind != types.Bool || !id.Obj.Type.IsScalar() {
			continue
		}
		var let *syntax.Let
		for _, s := range l.Body.Stmts {
			walkNested(s, func(s syntax.Stmt) {
				if s, ok := s.(*syntax.Let); ok && let == nil && c.newName(s, id) {
					let = s
				}
			})
		}
		if let == nil {
			continue
		}
		d := c.warn("W0203", let.Name, fmt.Sprintf("`%s` is a new name, and the loop goes on reading the `%[1]s` around it", id.Name))
		d.Label = "gone at the end of this block"
		d.Labels = append(d.Labels, diag.Label{Span: c.f.At(id), Text: "reads the one around it, which no round changes"})
		c.outerAssigned(d, let)
		return
	}
}

// newName reports whether let makes a name beside the one of id that could hold its
// value. One that nothing uses is W0201.
func (c *checker) newName(let *syntax.Let, id *syntax.Ident) bool {
	o := let.Name.Obj
	if let.Name.Name != id.Name || o == nil || o == id.Obj || o.Type == nil || c.infos[o] == nil || !c.infos[o].used {
		return false
	}
	return types.Same(o.Type, id.Obj.Type) || o.Type.Kind == types.Int && id.Obj.Type.Kind == types.Float
}

// changedIn adds the names that the statements assign to out.
func changedIn(list []syntax.Stmt, out map[*types.Object]bool) {
	for _, s := range list {
		walkNested(s, func(s syntax.Stmt) {
			a, ok := s.(*syntax.Assign)
			if !ok {
				return
			}
			t := unparen(a.Target)
			for {
				x, ok := t.(*syntax.Index)
				if !ok {
					break
				}
				t = unparen(x.X)
			}
			if id, ok := t.(*syntax.Ident); ok && id.Obj != nil {
				out[id.Obj] = true
			}
		})
	}
}
