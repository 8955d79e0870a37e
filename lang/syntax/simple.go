package syntax

// Statements that begin with no word of the language: assignments, calls, and what was
// meant to be one.

import (
	"strings"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax/token"
)

// foreignHelp says what stands for statements of other languages.
var foreignHelp = map[string]string{
	"switch": "write `if x == 1 { … } else if x == 2 { … } else { … }`", "match": "write `if x == 1 { … } else if x == 2 { … } else { … }`", "case": "write `if x == 1 { … } else if x == 2 { … } else { … }`",
	"try": "nothing catches an error: it ends the run; what has to hold is tested by `assert`", "except": "nothing catches an error: it ends the run", "catch": "nothing catches an error: it ends the run", "finally": "data is freed at the end of its block, whatever happens",
	"throw": "write `assert false, \"why\"`", "raise": "write `assert false, \"why\"`",
	"class": "there are no classes: data is registered, and functions take what they work on", "struct": "there are no structures: data is registered, and functions take what they work on", "type": "there are no types of one's own", "enum": "write numbers with names: `let red = 0`", "interface": "there are no types of one's own",
	"pass": "a block may be empty: `{ }`", "end": "a block ends with `}`", "endif": "a block ends with `}`", "done": "a block ends with `}`", "fi": "a block ends with `}`", "begin": "a block begins with `{`",
	"del": "data ends with its block; before that `unregister x` ends it", "global": "a function sees all names of its file", "nonlocal": "a function sees all names of its file", "package": "a script has no head: statements are written at the top level", "namespace": "a file is a module by itself", "using": "write `import \"std/blas\" as blas`",
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
var pureWords = token.WordSet("def", "fn", "function", "fun", "var", "const", "auto", "elif", "elseif", "foreach")

// statementWord returns the word of a statement that word is most likely a misspelling
// of, or its name in another language.
func (p *parser) statementWord(word string) (string, bool) {
	near, known := p.statement[word]
	if !known {
		var ok bool
		if near, ok = diag.Nearest(word, append([]string{"else"}, token.StatementWords...)); !ok {
			near = foreign[word]
		}
		if p.statement == nil {
			p.statement = map[string]string{}
		}
		p.statement[word] = near
	}
	return near, near != ""
}

// notWord reports E0103 for the name at token i, with what was meant.
func (p *parser) notWord(i int) {
	word := p.Str(i)
	m := p.mistakeAt(p.Span(i), "E0103", "`"+word+"` is not a statement")
	end, _ := p.HeadEnd(i)
	c := &cursor{parser: p, from: i, at: i, end: end}
	near, close := p.statementWord(word)
	switch {
	case declares[word] && p.Kind(i+1) == token.Ident && p.Str(i+1) == "main" && p.Has(i+2, "("):
		m.Hint("a script runs from its first line to its last: the body of `main` goes at the top level")
	case declares[word] && p.Kind(i+1) == token.Ident && p.Has(i+2, "("):
		m.Hint("statements are written at the top level and run from there; a function is declared by `func %s(…) -> int { … }`", p.Str(i+1))
	case declares[word] && p.Kind(i+1) == token.Ident && p.Has(i+2, "["):
		m.Hint("data is registered: `register %s = vector[f64](n)`", p.Str(i+1))
	case declares[word] && p.Kind(i+1) == token.Ident && !p.Has(i+2, "="):
		m.Hint("a name is made with `let` and has a value: `let %s = 0`", p.Str(i+1))
	case declares[word] && p.Kind(i+1) == token.Ident:
		m.Hint("a name is made with `let`: `let %s = ...`", p.Str(i+1)).Edit(p.Span(i), "let").Certain()
	case word == "loop" && p.Has(i+1, "{"):
		c.replace(m, i, i+1, "while true")
	case word == "until" && end > i+1 && p.Has(end, "{"):
		c.replace(m, i, end, "while not ("+c.text(i+1, end)+")")
	case foreignHelp[word] != "":
		m.Hint("%s", foreignHelp[word])
	case word == "print" && end > i+1:
		args := c.text(i+1, end)
		m.Hint("a call has parentheses: `print(%s)`", token.ClipTo(args, 60)).Edit(c.span(i, end), "print("+args+")").Certain()
	case word == "save" && end > i+1:
		c.saved(m)
	case word == "const" && declares[p.Str(i+1)] && p.Kind(i+2) == token.Ident:
		m.Hint("a name is made with `let`: `let %s = ...`", p.Str(i+2)).Edit(c.span(i, i+2), "let").Certain()
	case word == "from" && p.Str(i+1) == "std" && p.Has(i+2, "import") && p.Kind(i+3) == token.Ident && end == i+4:
		c.replace(m, i, end, `import "std/`+p.Str(i+3)+`"`)
	case p.Has(i+1, "in") && p.Has(end, "{") && !strings.HasPrefix(word, "for") && !strings.HasPrefix(word, "each"): // i in 0..3 { … }
		if len(p.mistakes) < token.MaxErrors && c.inCodelet() {
			m.Hint("a loop begins with `each`, or with `for` where its rounds depend on each other: `each %s in …`", word)
			break
		}
		m.Hint("a loop begins with `for`: `for %s in …`", word).Edit(Span{Lo: p.Tokens[i].Lo, Hi: p.Tokens[i].Lo}, "for ").Certain()
	case word == "from" && p.Kind(i+1) == token.Ident:
		m.Hint("did you mean `import`, as in `import \"std/blas\" as blas`?")
	case close && p.glued(i, near) != "": // waitx, fori in 0..3
		m.Meant(p.Span(i), near+" "+p.glued(i, near)).Certain()
	case close:
		m.Meant(p.Span(i), near)
		if _, synonym := foreign[word]; len(word) > 1 && !synonym || pureWords[word] {
			m.Certain()
		}
	}
	if last := end - 1; !p.Has(end, "{") && p.LineEnds(last) { // its block ends by its indentation
		_, after := c.indented(last)
		p.loose = max(p.loose, after)
		c.endsBlock(after)
	}
}

// simple reads an assignment or an expression statement.
func (p *parser) simple(w where) Stmt {
	from := p.pos
	first := p.Tokens[from]
	if first.Kind == token.Ident && p.notStatement(from) {
		if from >= p.loose || !elseWords[p.Str(from)] {
			p.notWord(from)
		}
		p.pos++
		p.pos, _ = p.HeadEnd(p.pos)
		return nil
	}
	if t := p.TokenAt(from); first.Kind != token.Bad && !first.Open && !token.StartsExpr(t) {
		if p.reportHabit(from, from) {
			return nil
		}
		if end, bad := p.HeadEnd(from); !bad || end == from {
			m := token.Unexpected(t, "a statement")
			switch t.Value {
			case "//":
				m.Hint("comments start with `#`").Edit(p.Span(from), "#")
			case "/":
				m.Hint("comments start with `#`")
			case ":":
				if next := p.TokenAt(from + 1); next.Type == token.Ident || next.Type == token.Keyword {
					m.Hint("commands that begin with `:` are those of the prompt: `starpush` in a terminal, or `starpush repl`")
				}
			case "{":
				m.Hint("a block belongs to `if`, `for`, `while`, `func`, `codelet`, `each` or `acquire`")
			}
			p.report(m)
		}
		p.pos, _ = p.HeadEnd(from)
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
	k := p.Tokens[p.pos].Kind
	return k == token.NL || k == token.EOF || p.BlockEnd(p.pos) || p.StartsStatement(p.pos)
}

// notStatement reports whether the name at token i stands where only a statement
// word can: another name, a literal, a word or a block follows.
func (p *parser) notStatement(i int) bool {
	next := p.Tokens[i+1]
	switch next.Kind {
	case token.Ident, token.Int, token.Float, token.String, token.FString:
		return true
	case token.Op:
		if _, ok := p.statementWord(p.Str(i)); ok && p.BlockEnd(i+1) {
			return true
		}
		return p.Is(i+1, "{")
	case token.Keyword:
		if _, ok := p.statementWord(p.Str(i)); ok {
			return true
		}
		switch next.Text(p.Text) {
		case "true", "false", "none", "not", "insert", "if":
			return true
		}
		if foreignHelp[p.Str(i)] != "" && token.IsStatementWord[next.Text(p.Text)] {
			return true
		}
	case token.NL, token.EOF:
		if _, ok := p.statementWord(p.Str(i)); !p.entry && (ok || foreignHelp[p.Str(i)] != "") && !p.DeclaredBy("func", p.Str(i)) {
			return true
		}
	}
	if foreignHelp[p.Str(i)] != "" && p.BlockEnd(i+1) && !p.entry { // { pass }
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
			if rest := strings.TrimLeft(p.Text[u.OpAt.Hi:], " \t"); strings.HasPrefix(rest, "\n") && r.Hi == b.OpAt.Lo {
				return r.Lo, u.OpAt.Hi, p.Text[r.Lo:r.Hi]
			}
		}
		b, ok = b.X.(*Binary)
	}
	return 0, 0, ""
}

// callable reports whether x may name a function: not where the text makes it another
// name, nor a field of one that no import gives.
func (p *parser) callable(x Expr) bool {
	switch x := x.(type) {
	case *Ident:
		return !p.DeclaredBy("let", x.Name) && !p.DeclaredBy("register", x.Name) && !p.DeclaredBy("param", x.Name)
	case *Selector:
		id, ok := x.X.(*Ident)
		return ok && p.imported(id.Name)
	}
	return true
}

// imported reports whether an import gives the name.
func (p *parser) imported(name string) bool {
	for i := range p.Tokens {
		if p.Kind(i) != token.Keyword || !p.Has(i, "import") {
			continue
		}
		if p.Has(i+2, "as") && p.Has(i+3, name) || strings.HasSuffix(strings.Trim(p.Str(i+1), `"`), name) {
			return true
		}
	}
	return false
}

// noEffect reports E0105 for an expression statement.
func (p *parser) noEffect(x Expr) {
	m := p.mistakeAt(x.Range(), "E0105", "this expression has no effect")
	src := func(e Expr) string { r := e.Range(); return token.Clip(p.Text[r.Lo:r.Hi]) }
	if lo, hi, name := p.decrement(x); name != "" {
		m.At, m.Code, m.Msg = Span{Lo: lo, Hi: hi}, "E0101", "there is no operator `--`"
		m.Hint("write `%s -= 1`", name).Edit(Span{Lo: lo, Hi: hi}, name+" -= 1").Certain()
		return
	}
	switch x := x.(type) {
	case *Unary: // { -- word
		if y, twice := x.X.(*Unary); twice && x.Op == "-" && y.Op == "-" && x.OpAt.Hi == y.OpAt.Lo && p.Text[y.OpAt.Hi] == ' ' {
			m.At, m.Code, m.Msg = Span{Lo: x.OpAt.Lo, Hi: y.OpAt.Hi}, "E0101", "unexpected `--`: comments start with `#`"
			m.Hint("write `#`").Edit(m.At, "#")
			return
		}
	case *Binary:
		if x.Op == "==" {
			m.Hint("to assign, write `%s = %s`", src(x.X), src(x.Y)).Edit(x.OpAt, "=")
			return
		}
		if at := p.meantComment(x); at.Hi > at.Lo {
			m.At, m.Code, m.Msg = at, "E0101", "unexpected `"+p.Text[at.Lo:at.Hi]+"`: comments start with `#`"
			m.Hint("write `#`").Edit(at, "#")
			return
		}
	case *Ident, *Selector:
		if name := src(x); waits[name] && !p.DeclaredBy("let", name) {
			m.Hint("write `wait`").Edit(x.Range(), "wait").Certain()
			return
		}
		if id, ok := x.(*Ident); ok && p.DeclaredBy("func", id.Name) {
			m.Hint("to call it, write `%s()`", id.Name).Edit(Span{Lo: id.Hi, Hi: id.Hi}, "()")
			return
		}
		if !p.callable(x) {
			break
		}
		m.Hint("to call it, write `%s()`; to see it, `print(%s)`", src(x), src(x))
		return
	}
	r := x.Range()
	m.Edit(r, "print("+p.Text[r.Lo:r.Hi]+")")
	if r.Hi-r.Lo < 30 {
		m.Hint("to see it, write `print(%s)`; to keep it, `let x = %s`", src(x), src(x))
		return
	}
	m.Hint("to see it, `print` it; to keep it, give it a name with `let`")
}

// Comments of other languages that read as operators: f(a) // word, f(a) -- word.

// meantComment returns the sign of the comment that the statement x ends with, as in
// `f(a) // word` and `insert f(R a) -- word`, whose result nobody would divide.
func (p *parser) meantComment(x *Binary) (sign Span) {
	switch x.X.(type) {
	case *Call, *Insert:
		sign, _ = x.AsComment(p.Text)
	}
	return sign
}

// AsComment returns what begins a comment in other languages where b ends with its line,
// as in `x // word` and `x -- none`, and what follows it.
func (b *Binary) AsComment(text string) (sign Span, rest Expr) {
	sign, rest = b.OpAt, b.Y
	if y, ok := rest.(*Unary); ok && y.Op == "-" && y.OpAt.Lo == sign.Hi {
		sign.Hi, rest = y.OpAt.Hi, y.X
	}
	if op := text[sign.Lo:sign.Hi]; op != "//" && op != "--" {
		return Span{}, nil
	}
	behind, _, _ := strings.Cut(text[b.Range().Hi:], "\n")
	if strings.TrimSpace(behind) != "" {
		return Span{}, nil
	}
	return sign, rest
}

// IsWord reports whether e is a name or a literal, which may be all of a comment.
func IsWord(e Expr) bool {
	switch e.(type) {
	case *Ident, *NoneLit, *BoolLit, *IntLit, *FloatLit, *StringLit, *ListLit:
		return true
	}
	return false
}
