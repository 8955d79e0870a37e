package check

// Scripts that do something else than was meant, without an error: one that runs
// nothing, and texts that are printed as they stand.

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/syntax/advice"
	"github.com/starpush/starpush/lang/types"
)

// runsNothing warns about a script that only declares and has a function called main,
// which nothing calls. Another script that only declares may be a module, or be called
// from a Go program.
func (c *checker) runsNothing() {
	if c.module || c.session != nil || c.broken || !c.declarationsOnly() {
		return
	}
	for _, s := range c.f.Stmts {
		f, ok := s.(*syntax.Func)
		if !ok || f.Name == nil || f.Name.Obj == nil || f.Body == nil || c.info(f.Name.Obj).used || f.Name.Name != "main" && f.Name.Name != "Main" {
			continue
		}
		call := f.Name.Name + "()"
		sig := f.Name.Obj.Sig
		params := sig != nil && len(sig.Params) > 0
		if params {
			call = f.Name.Name + "(…)"
		}
		d := c.warn("W0202", f.Name, fmt.Sprintf("this script runs nothing: `%s` is declared and never called", f.Name.Name))
		d.Help = append(d.Help, fmt.Sprintf("a script runs from its first line to its last, and no function by itself: write `%s` below", call))
		if !params {
			at := int(c.f.Stmts[len(c.f.Stmts)-1].Range().Hi) // behind what main may use, and its comment
			if line, _, more := strings.Cut(c.f.Source.Text[at:], "\n"); more {
				at += len(strings.TrimRight(line, "\r"))
			} else {
				at = len(c.f.Source.Text)
			}
			d.Edit(c.f.Source.Span(at, at), "\n\n"+call)
			d.Sure()
		}
		return
	}
}

// field is what stands for a value in texts of other languages, and of this one where
// the f is missing.
var field = regexp.MustCompile(`\$\{([\pL_][\pL\pN_.]*)\}|\$([\pL_][\pL\pN_]*)|\{([\pL_][\pL\pN_]*)(?:[.\[:][^{}"]*)?\}`)

// printsText warns about a text that is printed as it stands although it names values:
// "n = {n}" without an f, "n = $n" and "n = %d" with arguments behind it.
func (c *checker) printsText(e *syntax.Call) {
	for i, a := range e.Args {
		lit, ok := a.Value.(*syntax.StringLit)
		if !ok {
			continue
		}
		if i == 0 && len(e.Args) > 1 && advice.IsFormat(lit.Value) {
			d := c.warn("W0701", lit, "`print` has no formats: this text is printed as it stands")
			d.Help = append(d.Help, "formats are written in f-strings: `f\"n = {n:d}\"`")
			var args []string
			for _, v := range e.Args[1:] {
				args = append(args, c.text(v.Value))
			}
			if right := advice.Interpolated(advice.WithoutNewline(c.text(lit)), args); right != "" {
				d.Help[0] = "formats are written in f-strings: `" + right + "`"
				d.Edit(c.f.At(syntax.Span{Lo: lit.Lo, Hi: e.Args[len(e.Args)-1].Range().Hi}), right)
			}
			return
		}
		c.missingF(lit)
	}
}

// missingF warns about a text with the name of a value in braces, or behind a $.
func (c *checker) missingF(lit *syntax.StringLit) {
	text := c.text(lit)
	right, name, at := "f", "", 0
	for _, m := range field.FindAllStringSubmatchIndex(text, -1) {
		lo, hi := m[0], m[1]
		whole := text[lo:hi]
		if whole[0] == '{' && text[lo-1] == '{' && text[hi] == '}' {
			continue // braces, as f-strings have them
		}
		n := ""
		for k := 2; k < len(m); k += 2 {
			if m[k] >= 0 {
				n = text[m[k]:m[k+1]]
			}
		}
		first, _, _ := strings.Cut(n, ".")
		o := c.scope.Lookup(first)
		if o == nil || o.Type == nil {
			return
		}
		switch o.Kind {
		case types.FuncObject, types.CodeletObject, types.ModuleObject, types.StructObject:
			return
		}
		if format, ok := strings.CutPrefix(whole, "{"+n+":"); ok {
			if problem, _ := formatProblem(strings.TrimSuffix(format, "}"), o.Type); problem != "" {
				return // {n: 1} is something else
			}
		}
		if name == "" {
			name = n
		}
		c.markUsed(o)
		if whole[0] == '$' {
			whole = "{" + n + "}"
		}
		right += asText(text[at:lo]) + whole
		at = hi
	}
	if name == "" {
		return
	}
	right += asText(text[at:])
	d := c.warn("W0701", lit, fmt.Sprintf("there is no `f` in front of the text: the value of `%s` is not printed", name))
	d.Help = append(d.Help, fmt.Sprintf("write `%s`", clipped(right)))
	d.Edit(c.f.At(lit), right)
}

var braces = regexp.MustCompile(`\{\{|\}\}|[{}]`)

// asText doubles the braces of a text that are alone, for an f-string.
func asText(s string) string {
	return braces.ReplaceAllStringFunc(s, func(b string) string { return b[:1] + b[:1] })
}

// clipped shortens a text for a message.
func clipped(s string) string {
	const most = 72
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// Loops that run no round because a range with constant bounds is the wrong way round
// (W0702): `10..0` counts upwards from 10.

// downwards looks at what a loop goes over.
func (c *checker) downwards(e syntax.Expr) {
	switch v := syntax.Unparen(e).(type) {
	case *syntax.RangeExpr:
		lo, ok := literal(v.Lo)
		hi, ok2 := literal(v.Hi)
		if !ok || !ok2 || lo <= hi {
			return
		}
		d := c.warn("W0702", e, fmt.Sprintf("`%s` is empty: a range goes upwards", c.text(v)))
		d.Label = "this loop runs no round"
		with, without := fmt.Sprintf("range(%d, %d, -1)", lo, hi-1), fmt.Sprintf("range(%d, %d, -1)", lo, hi)
		if v.Closed {
			d.Help = append(d.Help, fmt.Sprintf("downwards from %d to %d write `%s`", lo, hi, with))
			d.Edit(d.Span, with)
			return
		}
		d.Help = append(d.Help, fmt.Sprintf("downwards from %d write `%s`, which leaves out %d, or `%s`, with it", lo, without, hi, with))
		d.Edit(d.Span, without)
	case *syntax.Call:
		if v.Callee == nil || v.Callee != builtinFuncs["range"] || len(v.Args) != 3 {
			return
		}
		var n [3]int64
		for k, a := range v.Args {
			var ok bool
			if n[k], ok = literal(a.Value); !ok || a.Name != nil {
				return
			}
		}
		from, to, step := n[0], n[1], n[2]
		if step == 0 || step > 0 && from <= to || step < 0 && from >= to {
			return
		}
		d := c.warn("W0702", e, fmt.Sprintf("`%s` is empty: its step leads away from %d", c.text(v), to))
		d.Label = "this loop runs no round"
		turned := fmt.Sprintf("range(%d, %d, %d)", from, to, -step)
		d.Help = append(d.Help, fmt.Sprintf("write `%s`", turned))
		d.Edit(d.Span, turned)
	}
}

// W0203: a loop whose condition reads a name, and whose body makes another one that is
// called the same where it was to change it. The loop never sees the new value.

// staleConditions looks at all loops of the unit that have a condition.
func (c *checker) staleConditions() {
	var elsewhere map[*types.Object]bool // what functions change
	look := func(list []syntax.Stmt) {
		for _, s := range list {
			syntax.WalkStmt(s, func(s syntax.Stmt) {
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
	syntax.WalkExpr(l.Cond, func(e syntax.Expr) bool {
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
			syntax.WalkStmt(s, func(s syntax.Stmt) {
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
		syntax.WalkStmt(s, func(s syntax.Stmt) {
			a, ok := s.(*syntax.Assign)
			if !ok {
				return
			}
			t := syntax.Unparen(a.Target)
			for {
				x, ok := t.(*syntax.Index)
				if !ok {
					break
				}
				t = syntax.Unparen(x.X)
			}
			if id, ok := t.(*syntax.Ident); ok && id.Obj != nil {
				out[id.Obj] = true
			}
		})
	}
}

// W1004: a loop that submits tasks and reads a value in every round. The read
// waits for the tasks of the round, so no two rounds overlap. Where the value decides
// whether there is another round, as in "while value(x) > 1e-3", nothing is said.

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
		syntax.WalkStmt(s, func(s syntax.Stmt) {
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
	syntax.WalkExprs(list, func(e syntax.Expr) {
		syntax.WalkExpr(e, func(e syntax.Expr) bool {
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
	syntax.ExprsOf(s, func(e syntax.Expr) {
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
		syntax.WalkStmt(s, func(s syntax.Stmt) {
			if o := assigned(s); o != nil {
				setters[o] = append(setters[o], k)
			}
		})
	}
	deciding := make([]bool, len(body))
	var todo []int
	seen := map[*types.Object]bool{}
	add := func(e syntax.Expr) {
		syntax.WalkExpr(e, func(e syntax.Expr) bool {
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
			syntax.WalkStmt(body[k], func(s syntax.Stmt) { syntax.ExprsOf(s, add) })
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
		target := syntax.Unparen(s.Target)
		for {
			index, ok := target.(*syntax.Index)
			if !ok {
				break
			}
			target = syntax.Unparen(index.X)
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
			if id, ok := syntax.Unparen(a.Target).(*syntax.Ident); ok && id.Obj != nil {
				assigned[id.Obj] = true
			}
		}
	}
	name := ""
	syntax.WalkExpr(cond, func(e syntax.Expr) bool {
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
	walk = func(e syntax.Expr) { syntax.WalkExpr(e, visit) }
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
