package check

// Statements: names, types and placement. Data flow is the second walk.

import (
	"fmt"

	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

func (c *checker) stmts(list []syntax.Stmt) {
	for _, s := range list {
		c.stmt(s)
	}
}

// block checks a block as a scope of its own; loop says that it is the body of one.
func (c *checker) block(b *syntax.Block) {
	if b == nil {
		return
	}
	c.push()
	c.stmts(b.Stmts)
	c.pop()
}

func (c *checker) stmt(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.Let:
		c.let(s)
	case *syntax.Register:
		c.register(s)
	case *syntax.Partition:
		c.partition(s)
	case *syntax.Unpartition:
		for _, x := range s.Of {
			c.data(x, "`unpartition`", dataViews)
		}
		if s.To != nil {
			c.want(s.To, types.TNode, "what stands after `to`")
		}
	case *syntax.Acquire:
		c.acquire(s)
	case *syntax.Release:
		c.release(s)
	case *syntax.Wait:
		for _, x := range s.Of {
			if len(s.Of) == 1 && c.waitAll(s, x) {
				return
			}
			c.data(x, "`wait`", dataAll|dataTasks)
		}
	case *syntax.Prefetch:
		for _, x := range s.Of {
			c.data(x, "`prefetch`", dataAll)
		}
		c.want(s.To, types.TNode, "what stands after `to`")
		c.options(s.With, "prefetch")
	case *syntax.Hint:
		for _, x := range s.Of {
			c.data(x, "`hint`", dataAll)
		}
		c.options(s.With, "hint")
	case *syntax.Verb:
		for _, x := range s.Of {
			if s.Verb == "unregister" {
				c.unregister(x)
			} else {
				c.data(x, "`"+s.Verb+"`", dataAll)
			}
		}
	case *syntax.If:
		c.ifStmt(s)
	case *syntax.For:
		c.forStmt(s)
	case *syntax.While:
		c.want(s.Cond, types.TBool, "the condition of a loop")
		c.loops++
		c.block(s.Body)
		c.loops--
	case *syntax.Return:
		c.returnStmt(s)
	case *syntax.Break:
		if c.loops == 0 {
			c.err("E0105", s, "`break` is only allowed in loops")
		}
	case *syntax.Continue:
		if c.loops == 0 {
			c.err("E0105", s, "`continue` is only allowed in loops")
		}
	case *syntax.Assert:
		c.want(s.Cond, types.TBool, "what `assert` tests")
		if s.Message != nil {
			c.want(s.Message, types.TString, "the message of `assert`")
			if lit, ok := s.Message.(*syntax.StringLit); ok {
				c.missingF(lit)
			}
		}
	case *syntax.Assign:
		c.assign(s)
	case *syntax.ExprStmt:
		c.exprStmt(s)
	case *syntax.Block:
		c.block(s)
	case *syntax.Each:
		d := c.err("E0105", s.Head, "`each` is only allowed in codelets")
		d.Help = append(d.Help, "write `for`, which runs in order")
	case *syntax.Import, *syntax.Param, *syntax.ExternData, *syntax.Codelet, *syntax.Func:
		at := firstWord(c, s)
		d := c.err("E0105", at, fmt.Sprintf("`%s` is only allowed at the top level", c.text(at)))
		d.Help = append(d.Help, "move it out of the block")
	}
}

// exprStmt is a call or an insert; in a session any expression may stand alone.
func (c *checker) exprStmt(s *syntax.ExprStmt) {
	c.expr(s.X)
	switch unparen(s.X).(type) {
	case *syntax.Call, *syntax.Insert:
		return
	}
	if c.session == nil && s.X.Type() != nil {
		d := c.err("E0105", s, "this expression has no effect")
		if b, ok := s.X.(*syntax.Binary); ok && b.Op == "==" {
			d.Help = append(d.Help, fmt.Sprintf("to assign write `%s = %s`", c.text(b.X), c.text(b.Y)))
		} else {
			d.Help = append(d.Help, fmt.Sprintf("to show it write `print(%s)`; to keep it `let name = %s`", c.text(s.X), c.text(s.X)))
		}
	}
}

func (c *checker) let(s *syntax.Let) {
	if call, ok := unparen(s.Value).(*syntax.Call); ok && s.Type == nil && c.isConstructor(call) {
		d := c.err("E0105", s.Value, "data is registered: `let` names values only")
		right := fmt.Sprintf("register %s = %s", s.Name.Name, c.text(s.Value))
		d.Help = append(d.Help, "write `"+right+"`")
		d.Edit(c.f.At(s), right)
		d.Sure()
		c.declare(types.HandleObject, s.Name, c.registered(s.Value), "register")
		return
	}
	if s.Type == nil && c.listsConstructors(s.Value) {
		d := c.err("E0105", s.Value, "data is registered: `let` names values only")
		right := fmt.Sprintf("register %s = %s", s.Name.Name, c.text(s.Value))
		d.Help = append(d.Help, "`register` takes lists, too: `"+right+"`")
		d.Edit(c.f.At(s), right)
		d.Sure()
		o := c.declare(types.HandleObject, s.Name, c.registered(s.Value), "register")
		c.info(o).pack = true
		return
	}
	if right, sure := c.sizesInBrackets(s.Value); right != "" && s.Type == nil {
		d := c.err("E0105", s.Value, "data is registered: `let` names values only")
		right = fmt.Sprintf("register %s = %s", s.Name.Name, right)
		d.Help = append(d.Help, "write `"+right+"`")
		d.Edit(c.f.At(s), right)
		if sure {
			d.Sure()
		}
		c.declare(types.HandleObject, s.Name, types.TInvalid, "register")
		return
	}
	var want *types.Type
	if s.Type != nil {
		want = c.resolveType(s.Type)
	}
	t := c.exprFor(want, s.Value)
	switch {
	case s.Type != nil:
		if want.Kind == types.None {
			c.err("E0705", s.Type, "a name must have a value")
			want = types.TInvalid
		}
		if want != types.TInvalid && !c.fits(want, s.Value) {
			c.mismatch(s.Value, want, fmt.Sprintf("`%s`", s.Name.Name))
		}
		t = want
	case t.Kind == types.None:
		d := c.err("E0705", s.Value, fmt.Sprintf("this gives no value that `%s` could hold", s.Name.Name))
		if _, none := unparen(s.Value).(*syntax.NoneLit); none {
			d.Help = append(d.Help, "a name begins with a value of its type: `0`, `0.0`, `false`, `\"\"` or `[]`")
		}
		t = types.TInvalid
	}
	c.info(c.declare(types.LetObject, s.Name, t, "let")).let = s
}
