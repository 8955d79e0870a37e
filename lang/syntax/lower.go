package syntax

// Lowering: what participle read of a statement becomes a node of the tree.

import (
	"slices"
	"strings"

	"github.com/starpush/starpush/lang/diag"
)

// spanAll is the range of a list of tokens.
func spanAll(ts tokens) Span {
	return Span{spanOf(&ts[0]).Lo, spanOf(&ts[len(ts)-1]).Hi}
}

// nameOf is the name that a field captured, nil for none.
func nameOf(ts tokens) *Ident {
	if len(ts) == 0 {
		return nil
	}
	return identOf(&ts[0])
}

// namesOf are the names of a list with commas.
func namesOf(ts tokens) []*Ident {
	out := make([]*Ident, 0, (len(ts)+1)/2)
	for i := 0; i < len(ts); i += 2 {
		out = append(out, identOf(&ts[i]))
	}
	return out
}

// lower makes a type.
func (t *typeRef) lower() *TypeExpr {
	if t == nil {
		return nil
	}
	return &TypeExpr{Span: spanAll(t.Tokens), Name: nameOf(t.Name), Elem: t.Elem.lower()}
}

// lower makes the options of a statement.
func (w *withClause) lower() *With {
	if w == nil {
		return nil
	}
	out := &With{Span: spanAll(w.Tokens)}
	for _, o := range w.Options {
		out.Options = append(out.Options, &Option{Span: spanAll(o.Tokens), Name: nameOf(o.Name), Value: o.Value})
	}
	return out
}

// lower makes a codelet without documentation and body.
func (h *codeletHeader) lower() *Codelet {
	c := &Codelet{Name: nameOf(h.Name), Sig: Span{spanAll(h.Open).Lo, spanAll(h.Close).Hi}, With: h.With.lower()}
	for _, o := range h.Params {
		op := &Operand{Span: spanAll(o.Tokens), Name: nameOf(o.Name), Type: o.Type.lower(), Default: o.Default}
		if len(o.Mode) > 0 {
			op.Mode, op.ModeAt = modeOf(o.Mode[0].Value), spanAll(o.Mode)
		}
		c.Params = append(c.Params, op)
	}
	return c
}

// lower makes a function without documentation and body.
func (h *funcHeader) lower() *Func {
	f := &Func{Name: nameOf(h.Name), Sig: Span{spanAll(h.Open).Lo, spanAll(h.Close).Hi}, Result: h.Result.lower()}
	for _, o := range h.Params {
		f.Params = append(f.Params, &FuncParam{Span: spanAll(o.Tokens), Name: nameOf(o.Name), Type: o.Type.lower(), Default: o.Default})
	}
	return f
}

func (p *parser) importStmt(w where) Stmt {
	h := head[importStmt](p, w)
	if h == nil {
		return nil
	}
	path, m := stringOf(&h.Path[0])
	if m != nil {
		p.report(m)
		return nil
	}
	return &Import{Path: path, As: nameOf(h.As)}
}

func (p *parser) paramStmt(w where) Stmt {
	doc := p.docBefore(p.toks[p.pos].lo)
	h := head[paramStmt](p, w)
	if h == nil {
		return nil
	}
	return &Param{Doc: doc, Name: nameOf(h.Name), Type: h.Type.lower(), Value: h.Value}
}

func (p *parser) externStmt(w where) Stmt {
	doc := p.docBefore(p.toks[p.pos].lo)
	h := head[externStmt](p, w)
	if h == nil {
		return nil
	}
	if h.Codelet != nil {
		c := h.Codelet.lower()
		c.Doc = doc
		return c
	}
	return &ExternData{Doc: doc, Name: nameOf(h.Name), Type: h.Type.lower()}
}

// noBlock reads the block behind a head that could not be read, for its mistakes.
func (p *parser) noBlock(w where) {
	if p.is(p.pos, "{") {
		p.block(w)
	}
}

// headed reports tokens between the head of a statement and its block.
func (p *parser) headed() bool {
	if p.is(p.pos, "{") || p.toks[p.pos].kind == tokNL || p.toks[p.pos].kind == tokEOF || p.blockEnd(p.pos) {
		return true
	}
	if p.reportHabit(p.begin, p.pos) {
		return false
	}
	m := p.advise(unexpected(p.tokenAt(p.pos), "`{`"))
	switch {
	case p.is(p.pos, "="):
		m.hint("equality is written `==`").edit(p.span(p.pos), "==").certain()
	case p.is(p.pos, "then"):
		m.hint("an `if` statement has a block: `if c { … } else { … }`; the expression stands in another: `let x = if c then a else b`")
	}
	p.report(m)
	p.pos, _ = p.headEnd(p.pos)
	return false
}

func (p *parser) codeletStmt(w where) Stmt {
	doc := p.docBefore(p.toks[p.pos].lo)
	inside := where{codelet: true}
	h := head[codeletStmt](p, w)
	if h == nil || !p.headed() {
		p.noBlock(inside)
		return nil
	}
	c := h.Header.lower()
	c.Doc = doc
	if c.Body = p.body(inside); c.Body == nil {
		return nil
	}
	return c
}

func (p *parser) funcStmt(w where) Stmt {
	doc := p.docBefore(p.toks[p.pos].lo)
	inside := where{fn: true}
	h := head[funcStmt](p, w)
	if h == nil || !p.headed() {
		p.noBlock(inside)
		return nil
	}
	f := h.Header.lower()
	f.Doc = doc
	if f.Body = p.body(inside); f.Body == nil {
		return nil
	}
	return f
}

func (p *parser) letStmt(w where) Stmt {
	h := quick(p, w, quickLet)
	if h == nil {
		return nil
	}
	return &Let{Name: nameOf(h.Name), Type: h.Type.lower(), Value: h.Value}
}

func (p *parser) registerStmt(w where) Stmt {
	doc := p.docBefore(p.toks[p.pos].lo)
	h := quick(p, w, quickRegister)
	if h == nil {
		return nil
	}
	return &Register{Doc: doc, Names: namesOf(h.Names), Value: h.Value}
}

func (p *parser) partitionStmt(w where) Stmt {
	h := head[partitionStmt](p, w)
	if h == nil {
		return nil
	}
	if len(h.Name) > 0 && len(h.Of) > 1 {
		at := h.Of[1].Range()
		p.mistakeAt(Span{at.Lo - 1, at.Lo}, "E0101", "a named view is of one handle").
			hint("write one `partition` for each, or leave the name out: `partition x, y by …`")
		return nil
	}
	out := &Partition{Name: nameOf(h.Name), Of: h.Of}
	for _, f := range h.Filters {
		out.Filters = append(out.Filters, &FilterCall{Span: spanAll(f.Tokens), Name: nameOf(f.Name), Args: f.Args.list()})
	}
	return out
}

func (p *parser) unpartitionStmt(w where) Stmt {
	h := head[unpartitionStmt](p, w)
	if h == nil {
		return nil
	}
	return &Unpartition{Of: h.Of, To: h.To}
}

func (p *parser) acquireStmt(w where) Stmt {
	h := head[acquireStmt](p, w)
	if h == nil {
		p.noBlock(w.in())
		return nil
	}
	a := &Acquire{}
	for _, i := range h.Items {
		a.Items = append(a.Items, &AcquireItem{Span: spanAll(i.Tokens), Mode: modeOf(i.Mode[0].Value), ModeAt: spanAll(i.Mode),
			Of: i.Of, As: nameOf(i.As)})
	}
	if p.is(p.pos, "{") {
		a.Body = p.block(w.in())
	}
	return a
}

func (p *parser) releaseStmt(w where) Stmt {
	h := head[releaseStmt](p, w)
	if h == nil {
		return nil
	}
	r := &Release{Names: namesOf(h.Names)}
	if len(h.To) > 0 {
		r.To, r.ToAt = modeOf(h.To[0].Value), spanAll(h.To)
	}
	return r
}

func (p *parser) waitStmt(w where) Stmt {
	h := head[waitStmt](p, w)
	if h == nil {
		return nil
	}
	return &Wait{Of: h.Of}
}

func (p *parser) prefetchStmt(w where) Stmt {
	h := head[prefetchStmt](p, w)
	if h == nil {
		return nil
	}
	return &Prefetch{Of: h.Of, To: h.To, With: h.With.lower()}
}

func (p *parser) hintStmt(w where) Stmt {
	h := head[hintStmt](p, w)
	if h == nil {
		return nil
	}
	return &Hint{Of: h.Of, With: h.With.lower()}
}

func (p *parser) verbStmt(w where) Stmt {
	h := head[verbStmt](p, w)
	if h == nil {
		return nil
	}
	return &Verb{Verb: h.Verb[0].Value, Of: h.Of}
}

func (p *parser) ifStmt(w where) Stmt {
	s, ok := p.ifChain(w, 0)
	switch {
	case !ok:
		return nil
	case s == nil: // at a prompt: if c then a else b
		return p.simple(w)
	}
	return s
}

// ifChain reads an if with its else; ok is false when a part of it could not be read.
func (p *parser) ifChain(w where, depth int) (s *If, ok bool) {
	lo := p.toks[p.pos].lo
	if depth == maxElse {
		p.mistakeAt(p.span(p.pos), "E0107", "more than "+itoa(maxElse)+" `else if` in a row").hint("look the case up in a list instead")
	}
	from := p.pos
	p.begin = from
	h := quick(p, w, quickIf)
	if h != nil && p.entry && w.top && depth == 0 && p.is(p.pos, "then") {
		p.pos = from
		return nil, true
	}
	s = &If{}
	if ok = h != nil && p.headed(); ok {
		s.Cond = h.Cond
		s.Then = p.body(w.in())
		ok = s.Then != nil
	} else {
		p.noBlock(w.in())
	}
	if p.is(p.pos, "else") {
		p.pos++
		switch {
		case p.is(p.pos, "if") && depth > maxElse:
			p.pos++
			p.pos, _ = p.headEnd(p.pos)
			ok = false
		case p.is(p.pos, "if"):
			other, fine := p.ifChain(w, depth+1)
			s.Else = other
			ok = ok && fine
		default:
			p.begin = p.pos - 1
			if b := p.body(w.in()); b != nil {
				s.Else = b
			} else {
				ok = false
			}
		}
	}
	s.Span = Span{lo, p.toks[p.pos-1].hi}
	return s, ok
}

func (p *parser) whileStmt(w where) Stmt {
	inside := w.in()
	inside.loop = true
	h := quick(p, w, quickWhile)
	if h == nil || !p.headed() {
		p.noBlock(inside)
		return nil
	}
	b := p.body(inside)
	if b == nil {
		return nil
	}
	return &While{Cond: h.Cond, Body: b}
}

func (p *parser) forStmt(w where) Stmt {
	inside := w.in()
	inside.loop = true
	h := quick(p, w, quickFor)
	if h == nil || !p.headed() {
		p.noBlock(inside)
		return nil
	}
	names := namesOf(h.Names)
	b := p.body(inside)
	if b == nil {
		return nil
	}
	if w.codelet && len(names) > 1 {
		p.mistakeAt(names[1].Span, "E0101", "a `for` in a codelet has one name").hint("write one `for` inside the other")
		return nil
	}
	return &For{Names: names, In: h.In, Body: b}
}

func (p *parser) eachStmt(w where) Stmt {
	lo := p.toks[p.pos].lo
	h := head[eachStmt](p, w)
	if h == nil || !p.headed() {
		p.noBlock(w.in())
		return nil
	}
	e := &Each{Head: Span{lo, p.toks[p.pos-1].hi}, Names: namesOf(h.Names), Domain: h.Domain}
	if e.Body = p.body(w.in()); e.Body == nil {
		return nil
	}
	return e
}

func (p *parser) returnStmt(w where) Stmt {
	h := quick(p, w, quickReturn)
	if h == nil {
		return nil
	}
	return &Return{Value: h.Value}
}

func (p *parser) wordStmt(w where) Stmt {
	h := head[wordStmt](p, w)
	switch {
	case h == nil:
		return nil
	case h.Word[0].Value == "break":
		return &Break{}
	}
	return &Continue{}
}

func (p *parser) assertStmt(w where) Stmt {
	h := head[assertStmt](p, w)
	if h == nil {
		return nil
	}
	return &Assert{Cond: h.Cond, Message: h.Message}
}

// foreignHelp says what stands for statements of other languages.
var foreignHelp = map[string]string{
	"switch": "write `if x == 1 { … } else if x == 2 { … } else { … }`", "match": "write `if x == 1 { … } else if x == 2 { … } else { … }`", "case": "write `if x == 1 { … } else if x == 2 { … } else { … }`",
	"try": "nothing catches an error: it ends the run; what has to hold is tested by `assert`", "except": "nothing catches an error: it ends the run", "catch": "nothing catches an error: it ends the run", "finally": "data is freed at the end of its block, whatever happens",
	"throw": "write `assert false, \"why\"`", "raise": "write `assert false, \"why\"`",
	"class": "there are no classes: data is registered, and functions take what they work on", "struct": "there are no structures: data is registered, and functions take what they work on", "type": "there are no types of one's own", "enum": "write numbers with names: `let red = 0`", "interface": "there are no types of one's own",
	"pass": "a block may be empty: `{ }`", "end": "a block ends with `}`", "endif": "a block ends with `}`", "done": "a block ends with `}`", "fi": "a block ends with `}`", "begin": "a block begins with `{`",
	"del": "data ends with its block; before that `unregister x` ends it", "global": "a function sees all names of its file", "nonlocal": "a function sees all names of its file", "package": "a script has no head: statements stand at the top level", "namespace": "a file is a module by itself", "using": "write `import \"std/blas\" as blas`",
	"do": "a loop is written `while c { … }`", "repeat": "a loop is written `while c { … }`", "unless": "write `if not c { … }`", "yield": "a function returns once", "async": "a task is inserted: `insert f(R x)`; it runs when its data is there", "await": "write `wait t`, or nothing: what is read waits for what writes it", "go": "a task is inserted: `insert f(R x)`", "defer": "data is freed at the end of its block",
	"public": "all names of a file but those that begin with `_` are seen by those who import it", "private": "names that begin with `_` are private to their file", "static": "names of the top level live as long as the script", "void": "a function is declared by `func f(x: int) -> int { … }`", "template": "an element type may be a parameter: `codelet f(x: RW vector[T]) { … }`",
	"parallel": "tasks run side by side by themselves, as far as their data allows: `for i in 0..n { insert f(RW x[i]) }`", "barrier": "write `wait`", "sync": "write `wait`", "synchronize": "write `wait`", "taskwait": "write `wait`",
	"echo": "a call has parentheses: `print(…)`", "println": "a call has parentheses: `print(…)`", "puts": "a call has parentheses: `print(…)`", "otherwise": "write `else { … }`",
}

// foreign are statement words of other languages.
var foreign = map[string]string{
	"def": "func", "fn": "func", "function": "func", "fun": "func", "kernel": "codelet", "var": "let", "const": "let", "auto": "let", "val": "let", "final": "let",
	"elif": "else if", "elseif": "else if", "foreach": "for", "loop": "while", "until": "while", "use": "import", "include": "import",
	"require": "import", "submit": "insert", "launch": "insert", "task": "insert", "spawn": "insert", "split": "partition",
	"free": "unregister", "delete": "unregister", "data": "register", "lock": "acquire", "unlock": "release", "next": "continue",
	"create": "register", "call": "insert", "forall": "each", "from": "import",
}

// declares are the types that begin a declaration in other languages.
var declares = map[string]bool{
	"int": true, "long": true, "unsigned": true, "size_t": true, "float": true, "double": true, "bool": true, "string": true, "str": true,
	"char": true, "i32": true, "i64": true, "f32": true, "f64": true,
}

// pureWords are the words of foreign that mean nothing but that.
var pureWords = wordSet("def", "fn", "function", "fun", "var", "const", "auto", "elif", "elseif", "foreach")

// meant is the statement word that word most likely stands for.
func meant(word string) (string, bool) {
	if near, ok := diag.Nearest(word, append([]string{"else"}, statementWords...)); ok {
		return near, true
	}
	w, ok := foreign[word]
	return w, ok
}

// glued is the name that stands behind the statement word near in the word at token i: one
// that was met before, or the index of a loop. "" if there is none.
func (p *parser) glued(i int, near string) string {
	name, ok := strings.CutPrefix(p.str(i), near)
	if !ok || name == "" || isDigit(name[0]) || name == near[len(near)-1:] || foreign[p.str(i)] != "" { // a letter twice is a slip of the hand
		return ""
	}
	before := p.toks[max(0, i-maxNamed):i]
	if !p.has(i+1, "in") && !slices.ContainsFunc(before, func(t token) bool { return t.kind == tokIdent && t.text(p.text) == name }) {
		return ""
	}
	return name
}

// maxNamed is how many tokens in front of a word are searched for a name.
const maxNamed = 10_000

// notWord reports E0103 for the name at token i, with what was meant.
func (p *parser) notWord(i int) {
	word := p.str(i)
	m := p.mistakeAt(p.span(i), "E0103", "`"+word+"` is not a statement")
	end, _ := p.headEnd(i)
	c := &cursor{parser: p, from: i, at: i, end: end}
	near, close := meant(word)
	switch {
	case declares[word] && p.kindOf(i+1) == tokIdent && p.str(i+1) == "main" && p.has(i+2, "("):
		m.hint("a script runs from its first line to its last: what stands in `main` stands at the top level")
	case declares[word] && p.kindOf(i+1) == tokIdent && p.has(i+2, "("):
		m.hint("statements stand at the top level and run from there; a function is declared by `func %s(…) -> int { … }`", p.str(i+1))
	case declares[word] && p.kindOf(i+1) == tokIdent && p.has(i+2, "["):
		m.hint("data is registered: `register %s = vector[f64](n)`", p.str(i+1))
	case declares[word] && p.kindOf(i+1) == tokIdent && !p.has(i+2, "="):
		m.hint("a name is made with `let` and has a value: `let %s = 0`", p.str(i+1))
	case declares[word] && p.kindOf(i+1) == tokIdent:
		m.hint("a name is made with `let`: `let %s = ...`", p.str(i+1)).edit(p.span(i), "let").certain()
	case word == "loop" && p.has(i+1, "{"):
		c.instead(m, i, i+1, "while true")
	case word == "until" && end > i+1 && p.has(end, "{"):
		c.instead(m, i, end, "while not ("+c.of(i+1, end)+")")
	case foreignHelp[word] != "":
		m.hint("%s", foreignHelp[word])
	case word == "print" && end > i+1:
		args := c.of(i+1, end)
		m.hint("a call has parentheses: `print(%s)`", clipTo(args, 60)).edit(c.over(i, end), "print("+args+")").certain()
	case word == "save" && end > i+1:
		c.saved(m)
	case word == "const" && declares[p.str(i+1)] && p.kindOf(i+2) == tokIdent:
		m.hint("a name is made with `let`: `let %s = ...`", p.str(i+2)).edit(c.over(i, i+2), "let").certain()
	case word == "from" && p.str(i+1) == "std" && p.has(i+2, "import") && p.kindOf(i+3) == tokIdent && end == i+4:
		c.instead(m, i, end, `import "std/`+p.str(i+3)+`"`)
	case p.has(i+1, "in") && p.has(end, "{") && !strings.HasPrefix(word, "for") && !strings.HasPrefix(word, "each"): // i in 0..3 { … }
		if len(p.mistakes) < maxErrors && c.inCodelet() {
			m.hint("a loop begins with `each`, or with `for` where its rounds depend on each other: `each %s in …`", word)
			break
		}
		m.hint("a loop begins with `for`: `for %s in …`", word).edit(Span{p.toks[i].lo, p.toks[i].lo}, "for ").certain()
	case word == "from" && p.kindOf(i+1) == tokIdent:
		m.hint("did you mean `import`, as in `import \"std/blas\" as blas`?")
	case close && p.glued(i, near) != "": // waitx, fori in 0..3
		m.meant(p.span(i), near+" "+p.glued(i, near)).certain()
	case close:
		m.meant(p.span(i), near)
		if _, synonym := foreign[word]; len(word) > 1 && !synonym || pureWords[word] {
			m.certain()
		}
	}
	if last := end - 1; !p.has(end, "{") && p.lineEnds(last) { // its block ends by its indentation
		_, after := c.indented(last)
		p.loose = max(p.loose, after)
		c.endsBlock(after)
	}
}

// simple reads an assignment or an expression statement.
func (p *parser) simple(w where) Stmt {
	from := p.pos
	first := p.toks[from]
	if first.kind == tokIdent && p.notStatement(from) {
		if from >= p.loose || !elseWords[p.str(from)] {
			p.notWord(from)
		}
		p.pos++
		p.pos, _ = p.headEnd(p.pos)
		return nil
	}
	if t := p.tokenAt(from); first.kind != tokBad && !first.open && !startsExpr(t) {
		if p.reportHabit(from, from) {
			return nil
		}
		if end, bad := p.headEnd(from); !bad || end == from {
			m := unexpected(t, "a statement")
			switch t.Value {
			case "//":
				m.hint("comments start with `#`").edit(p.span(from), "#")
			case "/":
				m.hint("comments start with `#`")
			case "{":
				m.hint("a block belongs to `if`, `for`, `while`, `func`, `codelet`, `each` or `acquire`")
			}
			p.report(m)
		}
		p.pos, _ = p.headEnd(from)
		return nil
	}
	h := quick(p, w, quickSimple)
	if h == nil {
		return nil
	}
	if len(h.Op) > 0 {
		return &Assign{Target: h.Target, Op: h.Op[0].Value, OpAt: spanAll(h.Op), Value: h.Value}
	}
	if !p.startsOrEnds() {
		return &ExprStmt{X: h.Target} // finish reports what follows
	}
	if !(p.entry && w.top) && !w.codelet && !hasEffect(h.Target) {
		p.noEffect(h.Target)
		return nil
	}
	return &ExprStmt{X: h.Target}
}

// startsOrEnds reports whether the statement ends at pos, or another begins there.
func (p *parser) startsOrEnds() bool {
	k := p.toks[p.pos].kind
	return k == tokNL || k == tokEOF || p.blockEnd(p.pos) || p.startsStatement(p.pos)
}

// notStatement reports whether the name at token i stands where only a statement
// word can: another name, a literal, a word or a block follows.
func (p *parser) notStatement(i int) bool {
	next := p.toks[i+1]
	switch next.kind {
	case tokIdent, tokInt, tokFloat, tokString, tokFString:
		return true
	case tokOp:
		if _, ok := meant(p.str(i)); ok && p.blockEnd(i+1) {
			return true
		}
		return p.is(i+1, "{")
	case tokKeyword:
		if _, ok := meant(p.str(i)); ok {
			return true
		}
		switch next.text(p.text) {
		case "true", "false", "none", "not", "insert", "if":
			return true
		}
		if foreignHelp[p.str(i)] != "" && isStatementWord[next.text(p.text)] {
			return true
		}
	case tokNL, tokEOF:
		if _, ok := meant(p.str(i)); !p.entry && (ok || foreignHelp[p.str(i)] != "") {
			return true
		}
	}
	if foreignHelp[p.str(i)] != "" && p.blockEnd(i+1) && !p.entry { // { pass }
		return true
	}
	return false
}

// hasEffect reports whether x may stand as a statement.
func hasEffect(x Expr) bool {
	switch x := x.(type) {
	case *Paren:
		return hasEffect(x.X)
	case *Call, *Insert:
		return true
	}
	return false
}

// decrement finds x-- at the end of a line, which reads as x - -y with what stands
// below it.
func (p *parser) decrement(x Expr) (lo, hi int32, name string) {
	b, ok := x.(*Binary)
	for ok && b.Op == "-" {
		if u, neg := b.Y.(*Unary); neg && u.Op == "-" && u.OpAt.Lo == b.OpAt.Hi {
			r := b.X.Range()
			if rest := strings.TrimLeft(p.text[u.OpAt.Hi:], " \t"); strings.HasPrefix(rest, "\n") && r.Hi == b.OpAt.Lo {
				return r.Lo, u.OpAt.Hi, p.text[r.Lo:r.Hi]
			}
		}
		b, ok = b.X.(*Binary)
	}
	return 0, 0, ""
}

// meantComment reports whether the statement x is `f(a) // word` or `insert f(R a) // word`,
// whose result nobody would divide: other languages begin comments so.
func (p *parser) meantComment(x *Binary) bool {
	if _, ok := x.Y.(*Ident); x.Op != "//" || !ok {
		return false
	}
	rest := strings.TrimLeft(p.text[x.Range().Hi:], " \t\r")
	if rest != "" && rest[0] != '\n' {
		return false
	}
	switch x.X.(type) {
	case *Call, *Insert:
		return true
	}
	return false
}

// waits are the names that other systems give to waiting for all tasks.
var waits = wordSet("wait_all", "waitall", "barrier", "sync", "synchronize", "taskwait")

// noEffect reports E0105 for an expression statement.
func (p *parser) noEffect(x Expr) {
	m := p.mistakeAt(x.Range(), "E0105", "this expression has no effect")
	src := func(e Expr) string { r := e.Range(); return clip(p.text[r.Lo:r.Hi]) }
	if lo, hi, name := p.decrement(x); name != "" {
		m.at, m.code, m.msg = Span{lo, hi}, "E0101", "there is no operator `--`"
		m.hint("write `%s -= 1`", name).edit(Span{lo, hi}, name+" -= 1").certain()
		return
	}
	switch x := x.(type) {
	case *Binary:
		if x.Op == "==" {
			m.hint("to assign, write `%s = %s`", src(x.X), src(x.Y)).edit(x.OpAt, "=")
			return
		}
		if p.meantComment(x) {
			m.at, m.code, m.msg = x.OpAt, "E0101", "unexpected `//`: comments start with `#`"
			m.hint("write `#`").edit(x.OpAt, "#")
			return
		}
	case *Ident, *Selector:
		if name := src(x); waits[name] && !p.declaredBy("let", name) {
			m.hint("write `wait`").edit(x.Range(), "wait").certain()
			return
		}
		m.hint("to call it, write `%s()`; to see it, `print(%s)`", src(x), src(x))
		return
	}
	r := x.Range()
	m.edit(r, "print("+p.text[r.Lo:r.Hi]+")")
	if r.Hi-r.Lo < 30 {
		m.hint("to see it, write `print(%s)`; to keep it, `let x = %s`", src(x), src(x))
		return
	}
	m.hint("to see it, `print` it; to keep it, give it a name with `let`")
}
