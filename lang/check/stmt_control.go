package check

// Statements that decide what runs: if, for and return.

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

func (c *checker) ifStmt(s *syntax.If) {
	for {
		c.want(s.Cond, types.TBool, "the condition of `if`")
		c.block(s.Then)
		next, ok := s.Else.(*syntax.If)
		if !ok {
			break
		}
		s = next
	}
	if b, ok := s.Else.(*syntax.Block); ok {
		c.block(b)
	}
}

func (c *checker) forStmt(s *syntax.For) {
	item := c.items(s.In, "`for`")
	c.downwards(s.In)
	if len(s.Names) > 1 {
		item = c.apart(s, item)
	}
	c.push()
	for _, n := range s.Names {
		c.info(c.declare(types.LoopVar, n, item, "for")).used = true
	}
	c.loops++
	if s.Body != nil {
		c.stmts(s.Body.Stmts)
	}
	c.loops--
	c.pop()
}

// apart is the type of the names that a for takes a list apart into.
func (c *checker) apart(s *syntax.For, item *types.Type) *types.Type {
	if item.Kind == types.Invalid {
		return item
	}
	if item.Kind != types.List {
		d := c.err("E0705", s.In, fmt.Sprintf("a `for` with %d names runs over a list of lists, and this gives %s", len(s.Names), aType(item)))
		if item.Kind == types.Int {
			d.Help = append(d.Help, "all pairs of indices are `grid(n, m)`")
		}
		return types.TInvalid
	}
	if call, ok := unparen(s.In).(*syntax.Call); ok && call.Callee == builtinFuncs["grid"] && len(call.Args) != len(s.Names) {
		c.err("E0705", s.In, fmt.Sprintf("`grid` with %s gives lists of %d, and `for` has %d names", sizes(len(call.Args)), len(call.Args), len(s.Names)))
		return types.TInt
	}
	if unknown(item) {
		c.unknownList(s.In)
		return types.TInvalid
	}
	return item.Of
}

func sizes(n int) string {
	if n == 1 {
		return "one size"
	}
	return fmt.Sprintf("%d sizes", n)
}

func (c *checker) returnStmt(s *syntax.Return) {
	if c.fn == nil {
		if s.Value != nil {
			c.expr(s.Value)
		}
		c.err("E0105", firstWord(c, s), "`return` is only allowed in functions")
		return
	}
	want := c.fnEnd
	switch {
	case s.Value == nil && want.Kind != types.None && want.Kind != types.Invalid:
		c.err("E0705", s, fmt.Sprintf("`%s` returns %s, and nothing is given here", c.fn.Name, aType(want)))
	case s.Value == nil:
	case want.Kind == types.None:
		t := c.expr(s.Value)
		if t.Kind != types.None && t.Kind != types.Invalid {
			d := c.err("E0705", s.Value, fmt.Sprintf("`%s` returns nothing, and this is %s", c.fn.Name, aType(t)))
			at := c.fn.Decl
			c.fnEnd = types.TInvalid // said once
			if fn, ok := c.fn.Node.(*syntax.Func); ok && !strings.Contains(t.String(), "?") {
				at = c.f.At(syntax.Span{Lo: fn.Sig.Hi - 1, Hi: fn.Sig.Hi})
				d.Edit(at.After(), fmt.Sprintf(" -> %v", t))
				d.Sure()
			}
			d.Labels = append(d.Labels, diag.Label{Span: at, Text: "no `->` and type follow it"})
			d.Help = append(d.Help, fmt.Sprintf("declare it with `-> %v`", t))
		}
	default:
		c.want(s.Value, want, fmt.Sprintf("the result of `%s`", c.fn.Name))
	}
}
