package lower

// Lowering of statements that end a block early: return, break and continue.
//
// The representation has no jumps. A jump sets a flag, and what it passes over is in an if that
// looks at the flag. Where a branch of an if always ends in a jump, the statements after the if
// become the other branch instead, which takes no flag.

import (
	"fmt"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/syntax"
)

// jumps are the ways in which a statement may leave the block that it is in.
type jumps struct {
	returns, breaks, continues bool
}

func (j jumps) any() bool { return j.returns || j.breaks || j.continues }

func (j jumps) or(k jumps) jumps {
	return jumps{j.returns || k.returns, j.breaks || k.breaks, j.continues || k.continues}
}

// jumpsOf returns the jumps in list that leave it.
func jumpsOf(list ...syntax.Stmt) (out jumps) {
	for _, s := range list {
		switch s := s.(type) {
		case *syntax.Return:
			out.returns = true
		case *syntax.Break:
			out.breaks = true
		case *syntax.Continue:
			out.continues = true
		case *syntax.Block:
			out = out.or(jumpsOf(s.Stmts...))
		case *syntax.If:
			out = out.or(jumpsOf(s.Then.Stmts...))
			if s.Else != nil {
				out = out.or(jumpsOf(s.Else))
			}
		case *syntax.For:
			out.returns = out.returns || jumpsOf(s.Body.Stmts...).returns
		case *syntax.While:
			out.returns = out.returns || jumpsOf(s.Body.Stmts...).returns
		case *syntax.Each:
			out.returns = out.returns || jumpsOf(s.Body.Stmts...).returns
		}
	}
	return out
}

// alwaysJumps reports whether list always ends in a jump.
func alwaysJumps(list ...syntax.Stmt) bool {
	for _, s := range list {
		switch s := s.(type) {
		case *syntax.Return, *syntax.Break, *syntax.Continue:
			return true
		case *syntax.Block:
			if alwaysJumps(s.Stmts...) {
				return true
			}
		case *syntax.If:
			if s.Else != nil && alwaysJumps(s.Then.Stmts...) && alwaysJumps(s.Else) {
				return true
			}
		}
	}
	return false
}

// flag is a bool that a jump sets.
type flag struct {
	slot int // -1: no jump has set it
	read bool
}

// loop is a loop around the statement that is being lowered.
type loop struct {
	each         *syntax.Each // nil: a for
	broken, over flag         // set by break, and by continue
}

// set returns the statement that sets f.
func (l *lowerer) set(f *flag, name string, at syntax.Span) *ir.Stmt {
	if f.slot < 0 {
		f.slot = l.newSlot(ir.Slot{Name: name, Type: ir.Bool, Kind: ir.LetSlot, Assigned: true, Decl: at})
	}
	return &ir.Stmt{Kind: ir.SetStmt, Slot: f.slot, Value: boolConst(true, at), Update: "=", Pos: at, Target: at}
}

// isClear returns whether no flag of list is set.
func (l *lowerer) isClear(at syntax.Span, list ...*flag) *ir.Expr {
	var any *ir.Expr
	for _, f := range list {
		if f == nil || f.slot < 0 {
			continue
		}
		f.read = true
		is := &ir.Expr{Op: ir.OpSlot, Type: ir.Bool, Slot: f.slot, Pos: at}
		if any == nil {
			any = is
		} else {
			any = &ir.Expr{Op: ir.OpOr, Type: ir.Bool, X: []*ir.Expr{any, is}, Pos: at}
		}
	}
	if any == nil {
		return nil
	}
	return &ir.Expr{Op: ir.OpNot, Type: ir.Bool, X: []*ir.Expr{any}, Pos: at}
}

// declared returns list behind the declaration of f, or without the assignments to f if nothing
// reads it.
func (l *lowerer) declared(f *flag, list []*ir.Stmt, at syntax.Span) []*ir.Stmt {
	switch {
	case f.slot < 0:
		return list
	case f.read:
		let := &ir.Stmt{Kind: ir.SetStmt, Declare: true, Slot: f.slot, Value: boolConst(false, at), Pos: at, Target: at}
		return append([]*ir.Stmt{let}, list...)
	}
	return withoutSets(list, f.slot)
}

// withoutSets returns list without assignments to a slot.
func withoutSets(list []*ir.Stmt, slot int) []*ir.Stmt {
	out := list[:0]
	for _, s := range list {
		if s.Kind == ir.SetStmt && s.Slot == slot {
			continue
		}
		s.Body, s.Else = withoutSets(s.Body, slot), withoutSets(s.Else, slot)
		out = append(out, s)
	}
	return out
}

func boolConst(v bool, at syntax.Span) *ir.Expr {
	e := &ir.Expr{Op: ir.OpConst, Type: ir.Bool, Pos: at}
	if v {
		e.Int = 1
	}
	return e
}

// stmts lowers the statements of list in the current scope.
func (l *lowerer) stmts(list []syntax.Stmt) []*ir.Stmt {
	var out []*ir.Stmt
	for k, s := range list {
		if !l.enter(s) {
			l.leave()
			return out
		}
		rest := list[k+1:]
		if len(rest) > 0 && jumpsOf(s).any() {
			out = append(out, l.beforeRest(s, rest)...)
			l.leave()
			return out
		}
		out = append(out, l.withPrelude(func() []*ir.Stmt { return listOf(l.stmt(s)) })...)
		l.leave()
	}
	return out
}

func listOf(s *ir.Stmt) []*ir.Stmt {
	if s == nil {
		return nil
	}
	return []*ir.Stmt{s}
}

// withPrelude returns the statements of f behind those that their expressions need.
func (l *lowerer) withPrelude(f func() []*ir.Stmt) []*ir.Stmt {
	outer := l.prelude
	l.prelude = nil
	list := f()
	list = append(l.prelude, list...)
	l.prelude = outer
	return list
}

// captured returns the expression of f, and the statements that it needs, which the caller
// places where they run only if the expression is evaluated.
func (l *lowerer) captured(f func() *ir.Expr) (prelude []*ir.Stmt, e *ir.Expr) {
	outer := l.prelude
	l.prelude = nil
	e = f()
	prelude, l.prelude = l.prelude, outer
	return prelude, e
}

// beforeRest lowers s, which may jump, and the statements after it in its block.
func (l *lowerer) beforeRest(s syntax.Stmt, rest []syntax.Stmt) []*ir.Stmt {
	if i, ok := s.(*syntax.If); ok && l.splits(i) {
		return l.withPrelude(func() []*ir.Stmt { return listOf(l.ifBeforeRest(i, rest)) })
	}
	out := l.withPrelude(func() []*ir.Stmt { return listOf(l.stmt(s)) })
	if alwaysJumps(s) {
		if l.check {
			l.stmts(rest) // for editors
		}
		return out
	}
	j := jumpsOf(s)
	var flags []*flag
	if j.returns && l.inlined != nil {
		flags = append(flags, &l.inlined.done)
	}
	if n := len(l.loops); n > 0 {
		if j.breaks {
			flags = append(flags, &l.loops[n-1].broken)
		}
		if j.continues {
			flags = append(flags, &l.loops[n-1].over)
		}
	}
	at := rest[0].Range()
	cond := l.isClear(at, flags...)
	if cond == nil { // after an error
		return append(out, l.stmts(rest)...)
	}
	return append(out, &ir.Stmt{Kind: ir.IfStmt, Value: cond, Body: l.stmts(rest), Pos: at})
}

// splits reports whether what follows s can be in one of its branches.
func (l *lowerer) splits(s *syntax.If) bool {
	if alwaysJumps(s.Then.Stmts...) {
		switch e := s.Else.(type) {
		case nil:
			return true
		case *syntax.If:
			return !jumpsOf(e).any() || l.splits(e)
		}
		return !jumpsOf(s.Else).any()
	}
	return s.Else != nil && alwaysJumps(s.Else) && !jumpsOf(s.Then.Stmts...).any()
}

// ifBeforeRest lowers s with the statements after it in one of its branches.
func (l *lowerer) ifBeforeRest(s *syntax.If, rest []syntax.Stmt) *ir.Stmt {
	st := &ir.Stmt{Kind: ir.IfStmt, Value: l.cond(s.Cond), Pos: s.Span}
	st.Body = l.block(s.Then)
	if !alwaysJumps(s.Then.Stmts...) {
		st.Body = append(st.Body, l.stmts(rest)...)
		st.Else = l.elseOf(s)
		return st
	}
	if e, ok := s.Else.(*syntax.If); ok && jumpsOf(e).any() {
		st.Else = l.withPrelude(func() []*ir.Stmt { return listOf(l.ifBeforeRest(e, rest)) })
		return st
	}
	st.Else = append(l.elseOf(s), l.stmts(rest)...)
	return st
}

// elseOf lowers the else of s.
func (l *lowerer) elseOf(s *syntax.If) []*ir.Stmt {
	switch e := s.Else.(type) {
	case *syntax.Block:
		return l.block(e)
	case *syntax.If:
		return l.stmts([]syntax.Stmt{e})
	}
	return nil
}

// loopBody lowers the body of a loop in the scope of its names.
func (l *lowerer) loopBody(each *syntax.Each, b *syntax.Block) ([]*ir.Stmt, *loop) {
	in := &loop{each: each, broken: flag{slot: -1}, over: flag{slot: -1}}
	l.loops = append(l.loops, in)
	list := l.stmts(b.Stmts)
	l.loops = l.loops[:len(l.loops)-1]
	return l.declared(&in.over, list, b.Span), in
}

// whileStmt lowers a while: a for without an end, whose rounds first find out whether there is
// another.
func (l *lowerer) whileStmt(s *syntax.While) *ir.Stmt {
	at := s.Cond.Range()
	set := l.temporary("more", boolConst(true, at))
	more := set(nil).Value
	prelude, cond := l.captured(func() *ir.Expr { return l.cond(s.Cond) })
	l.push()
	body, in := l.loopBody(nil, s.Body)
	l.pop()
	if cond.Op == ir.OpBad {
		return nil
	}
	test := append(prelude, set(cond))
	if goesOn := l.goesOn(in, s.Body, s.Span); goesOn != nil {
		test = []*ir.Stmt{{Kind: ir.IfStmt, Value: goesOn, Body: test, Else: []*ir.Stmt{set(boolConst(false, at))}, Pos: at}}
	}
	l.prelude = l.declared(&in.broken, l.prelude, s.Span)
	slot := l.newSlot(ir.Slot{Name: "round", Type: ir.I64, Kind: ir.IndexSlot, Decl: at})
	r := ir.Range{Slot: slot, Lo: &ir.Expr{Op: ir.OpConst, Type: ir.I64, Pos: at}, Hi: &ir.Expr{Op: ir.OpConst, Type: ir.I64, Int: ir.NoEnd, Pos: at}, Over: -1, Pos: at}
	run := &ir.Stmt{Kind: ir.IfStmt, Value: more, Body: body, Pos: s.Span}
	return &ir.Stmt{Kind: ir.ForStmt, Domain: []ir.Range{r}, Value: more, Body: append(test, run), Pos: s.Span}
}

// goesOn returns the condition under which the loop in has another round, or nil if no jump ends
// it.
func (l *lowerer) goesOn(in *loop, b *syntax.Block, at syntax.Span) *ir.Expr {
	flags := []*flag{&in.broken}
	if l.inlined != nil && jumpsOf(b.Stmts...).returns {
		flags = append(flags, &l.inlined.done)
	}
	return l.isClear(at, flags...)
}

// jump lowers break and continue.
func (l *lowerer) jump(s syntax.Stmt, word string) *ir.Stmt {
	at := s.Range()
	if len(l.loops) == 0 {
		d := l.err("E0105", s, fmt.Sprintf("`%s` is only allowed in a loop", word))
		d.Help = append(d.Help, "leave a part of the body out with `if`")
		return nil
	}
	in := l.loops[len(l.loops)-1]
	if in.each != nil && word == "break" {
		d := l.err("E0105", s, "`break` cannot end an `each`, whose rounds run at the same time")
		d.Labels = append(d.Labels, diag.Label{Span: l.f.At(in.each.Head), Text: "this loop"})
		d.Help = append(d.Help, "to end this round alone write `continue`; a loop that stops early is a `for`")
		return nil
	}
	if word == "continue" {
		return l.set(&in.over, "over", at)
	}
	return l.set(&in.broken, "broken", at)
}
