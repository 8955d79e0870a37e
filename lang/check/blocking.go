package check

// W1004: a loop that submits tasks and reads a value in every round. The read
// waits for the tasks of the round, so no two rounds overlap. Where the value decides
// whether there is another round, as in "while value(x) > 1e-3", nothing is said.

import (
	"fmt"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// blocking looks at all loops of the unit.
func (c *checker) blocking() {
	c.blockingIn(c.f.Stmts)
	for _, f := range c.funcs {
		if f.Body != nil {
			c.blockingIn(f.Body.Stmts)
		}
	}
}

func (c *checker) blockingIn(list []syntax.Stmt) {
	for _, s := range list {
		walkNested(s, func(s syntax.Stmt) {
			switch l := s.(type) {
			case *syntax.While:
				if l.Body != nil && c.submits(l.Body.Stmts) {
					c.blockingWhile(l)
				}
			case *syntax.For:
				if l.Body != nil && c.submits(l.Body.Stmts) {
					c.blockingFor(l)
				}
			}
		})
	}
}

// submits reports whether the statements insert tasks, or call functions of the
// script, which may.
func (c *checker) submits(list []syntax.Stmt) bool {
	found := false
	walkStmts(list, func(e syntax.Expr) {
		walkExpr(e, func(e syntax.Expr) bool {
			switch e := e.(type) {
			case *syntax.Insert:
				found = true
			case *syntax.Call:
				if o := e.Callee; o != nil && o.Kind == types.FuncObject && o.Node != nil {
					found = true
				}
			}
			return !found
		})
	})
	return found
}

// blockingWhile looks for reads that every round does, in a loop that could do without
// some of them. Where a value decides whether there is another round, it could not.
func (c *checker) blockingWhile(l *syntax.While) {
	if valueRead(l.Cond) != nil {
		return
	}
	counter := c.counter(l.Cond, l.Body.Stmts)
	if readDecides(l, counter != "") {
		return
	}
	word := syntax.Span{Lo: l.Lo, Hi: l.Lo + int32(len("while"))}
	for _, s := range l.Body.Stmts {
		switch i := s.(type) {
		case *syntax.If:
			if read := valueRead(i.Cond); read != nil {
				c.blockingRead(read, word, c.everyTenth(counter, i.Cond))
				return
			}
			if leavesRound(i, false) {
				return // what follows is not done in every round
			}
			continue
		case *syntax.For, *syntax.While:
			continue // how often it runs is known in no other way
		}
		if read := readIn(s); read != nil {
			c.blockingRead(read, word, "")
			return
		}
	}
}

// readIn finds a value that s itself reads whenever it runs.
func readIn(s syntax.Stmt) (read syntax.Expr) {
	exprsOf(s, func(e syntax.Expr) {
		if read == nil {
			read = valueRead(e)
		}
	})
	return read
}

// readDecides reports whether what a statement of the body reads in every round decides,
// maybe by way of variables, whether there is another one. That an if leaves the loop
// counts only where nothing counts the rounds: with a counter it could test every few of
// them. A statement with others in it counts as a whole.
func readDecides(l *syntax.While, counted bool) bool {
	body := l.Body.Stmts
	setters := map[*types.Object][]int{} // statements of the body that set a variable, themselves or within
	for k, s := range body {
		walkNested(s, func(s syntax.Stmt) {
			if o := assigned(s); o != nil {
				setters[o] = append(setters[o], k)
			}
		})
	}
	deciding := make([]bool, len(body))
	var todo []int
	seen := map[*types.Object]bool{}
	add := func(e syntax.Expr) {
		walkExpr(e, func(e syntax.Expr) bool {
			if id, ok := e.(*syntax.Ident); ok && id.Obj != nil && !seen[id.Obj] {
				seen[id.Obj] = true
				todo = append(todo, setters[id.Obj]...)
			}
			return true
		})
	}
	add(l.Cond)
	for k, s := range body {
		if i, ok := s.(*syntax.If); ok && !counted && leavesRound(i, true) {
			deciding[k] = true
			add(i.Cond)
		}
	}
	for len(todo) > 0 {
		k := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !deciding[k] {
			deciding[k] = true
			walkNested(body[k], func(s syntax.Stmt) { exprsOf(s, add) })
		}
	}
	for k, s := range body {
		if deciding[k] && readIn(s) != nil {
			return true
		}
	}
	return false
}

// assigned is the variable that a statement sets; nil: it sets none.
func assigned(s syntax.Stmt) *types.Object {
	switch s := s.(type) {
	case *syntax.Let:
		if s.Name != nil {
			return s.Name.Obj
		}
	case *syntax.Assign:
		target := unparen(s.Target)
		for {
			index, ok := target.(*syntax.Index)
			if !ok {
				break
			}
			target = unparen(index.X)
		}
		if id, ok := target.(*syntax.Ident); ok {
			return id.Obj
		}
	}
	return nil
}

// blockingFor looks for a read that decides in every round whether to go on. Other
// reads are left alone: a loop over a list or range may well look at each item.
func (c *checker) blockingFor(l *syntax.For) {
	word := syntax.Span{Lo: l.Lo, Hi: l.Lo + int32(len("for"))}
	counter := ""
	if len(l.Names) == 1 && l.Names[0].Type() != nil && l.Names[0].Type().Kind == types.Int {
		counter = l.Names[0].Name
	}
	for _, s := range l.Body.Stmts {
		i, ok := s.(*syntax.If)
		if !ok {
			continue
		}
		if read := valueRead(i.Cond); read != nil && leavesRound(i, true) {
			if counter != "" {
				c.blockingRead(read, word, c.everyTenth(counter, i.Cond))
			}
			return
		}
		if leavesRound(i, false) {
			return
		}
	}
}

func (c *checker) blockingRead(read syntax.Expr, loop syntax.Span, help string) {
	d := c.warn("W1004", read, "a blocking read in every round of this loop")
	d.Label = "waits for all tasks of the round"
	d.Labels = append(d.Labels, diag.Label{Span: c.f.At(loop)})
	if help == "" {
		help = "where not every round needs the value, read it every few rounds only, so that the tasks of several rounds can overlap; tasks that need it can take the variable itself"
	}
	d.Help = append(d.Help, help)
}

// everyTenth is how the condition of an if looks when it reads in every tenth round.
func (c *checker) everyTenth(counter string, cond syntax.Expr) string {
	if counter == "" {
		return ""
	}
	text := c.text(cond)
	if b, ok := cond.(*syntax.Binary); ok && b.Op == "or" {
		text = "(" + text + ")"
	}
	return fmt.Sprintf("test every few rounds: `if %s %% 10 == 0 and %s`", counter, text)
}

// counter is the name of an int that the condition of a while looks at and its
// body changes, "" without one.
func (c *checker) counter(cond syntax.Expr, body []syntax.Stmt) string {
	assigned := map[*types.Object]bool{}
	for _, s := range body {
		if a, ok := s.(*syntax.Assign); ok {
			if id, ok := unparen(a.Target).(*syntax.Ident); ok && id.Obj != nil {
				assigned[id.Obj] = true
			}
		}
	}
	name := ""
	walkExpr(cond, func(e syntax.Expr) bool {
		if id, ok := e.(*syntax.Ident); ok && name == "" && assigned[id.Obj] && isType(id, types.Int) {
			name = id.Name
		}
		return name == ""
	})
	return name
}

// valueRead finds a value(x) that is evaluated whenever e is.
func valueRead(e syntax.Expr) syntax.Expr {
	var found syntax.Expr
	var walk func(e syntax.Expr)
	visit := func(e syntax.Expr) bool {
		if found != nil {
			return false
		}
		switch x := e.(type) {
		case *syntax.Call:
			if x.Callee == builtinFuncs["value"] {
				found = x
			}
		case *syntax.Binary:
			if x.Op == "and" || x.Op == "or" {
				walk(x.X)
				return false
			}
		case *syntax.Cond:
			walk(x.If)
			return false
		case *syntax.ListComp:
			walk(x.In)
			return false
		}
		return found == nil
	}
	walk = func(e syntax.Expr) { walkExpr(e, visit) }
	walk(e)
	return found
}

// leavesRound reports whether a branch of the if ends the loop (break, return), or,
// without ends, leaves the round in any way.
func leavesRound(i *syntax.If, ends bool) bool {
	found := false
	inLoop := 0
	var look func(s syntax.Stmt)
	block := func(b *syntax.Block) {
		if b != nil {
			for _, s := range b.Stmts {
				look(s)
			}
		}
	}
	look = func(s syntax.Stmt) {
		switch s := s.(type) {
		case *syntax.Return:
			found = true
		case *syntax.Break:
			found = found || inLoop == 0
		case *syntax.Continue:
			found = found || inLoop == 0 && !ends
		case *syntax.Block:
			block(s)
		case *syntax.Acquire:
			block(s.Body)
		case *syntax.For:
			inLoop++
			block(s.Body)
			inLoop--
		case *syntax.While:
			inLoop++
			block(s.Body)
			inLoop--
		case *syntax.If:
			for s != nil { // chains are long: no recursion
				block(s.Then)
				next, ok := s.Else.(*syntax.If)
				if !ok {
					if b, ok := s.Else.(*syntax.Block); ok {
						block(b)
					}
					return
				}
				s = next
			}
		}
	}
	look(i)
	return found
}
