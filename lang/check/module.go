package check

// Modules: what a module may contain, and what others see of it.

import (
	"fmt"
	"sort"

	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// moduleStmt reports whether s may stand in a module, outside its functions.
func (c *checker) moduleStmt(s syntax.Stmt) bool {
	let, ok := s.(*syntax.Let)
	if !ok {
		c.notInModule(s, "this statement")
		return false
	}
	if bad := c.notConstant(let.Value); bad != nil {
		d := c.err("E0903", bad, "a `let` of a module must be constant")
		d.Label = "depends on more than constants"
		d.Help = append(d.Help, "move it into a `func`, or compute it in the importing script")
	}
	return true
}

func (c *checker) notInModule(s syntax.Stmt, what string) {
	d := c.err("E0903", firstWord(c, s), what+" is not allowed in a module")
	d.Notes = append(d.Notes, "importing has no effects: a module holds import, param, constant let, func, codelet and extern codelet")
	d.Help = append(d.Help, "put it into a `func`, or run this file as a script of its own")
}

// firstWord is the first word of s: enough to point at.
func firstWord(c *checker, s syntax.Stmt) syntax.Span {
	sp := s.Range()
	t := c.text(s)
	n := 0
	for n < len(t) && (letter(rune(t[n])) || t[n] == '_') {
		n++
	}
	if n > 0 {
		sp.Hi = sp.Lo + int32(n)
	}
	return sp
}

func letter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0x80 }
func digit(r rune) bool  { return r >= '0' && r <= '9' }

// notConstant returns a part of e that is not a constant, nil when all is.
func (c *checker) notConstant(e syntax.Expr) (bad syntax.Expr) {
	walkExpr(e, func(x syntax.Expr) bool {
		if bad != nil {
			return false
		}
		switch x := x.(type) {
		case *syntax.Insert:
			bad = x
		case *syntax.Call:
			id, ok := x.Fn.(*syntax.Ident)
			if !ok || builtinFuncs[id.Name] == nil || impure[id.Name] || c.scope.Lookup(id.Name) != nil {
				bad = x
			}
		}
		return bad == nil
	})
	return bad
}

// member finds a name of a module; noun says what is looked for. It reports
// names that are absent and returns nil for them.
func (c *checker) member(mod *syntax.Ident, m *types.Object, name *syntax.Ident, noun string) *types.Object {
	if m.Module == nil {
		return nil // the import failed
	}
	if o := m.Module.Members[name.Name]; o != nil {
		name.Obj = o
		return o
	}
	if c.loader.faulty[m.Module.Name] {
		return nil
	}
	if len(name.Name) > 0 && name.Name[0] == '_' {
		d := c.err("E0203", name, fmt.Sprintf("`%s` is private to module `%s`", name.Name, mod.Name))
		d.Help = append(d.Help, "names that start with `_` belong to their module alone")
		return nil
	}
	d := c.err("E0203", name, fmt.Sprintf("module `%s` has no %s `%s`", mod.Name, noun, name.Name))
	path := m.Module.Name
	if imp, ok := m.Node.(*syntax.Import); ok {
		path = imp.Path.Value
	}
	note := fmt.Sprintf("`%s` is `%s`", mod.Name, path)
	if !m.Decl.IsZero() {
		note += fmt.Sprintf(", imported on line %d", m.Decl.Start.Line)
	}
	d.Notes = append(d.Notes, note)
	var names []string
	for n, o := range m.Module.Members {
		if noun == "codelet" && o.Kind != types.CodeletObject || noun == "function" && o.Kind != types.FuncObject {
			continue
		}
		names = append(names, n)
	}
	sort.Strings(names)
	if best, ok := near(name.Name, names); ok {
		d.Meant(name.Name, best, "")
	}
	return nil
}
