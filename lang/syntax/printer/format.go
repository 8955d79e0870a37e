// Package printer writes a script in its canonical layout.
//
// Format makes a document of the tree and the tokens (format.go), which decides where
// lines break when it is printed (prettyprint.go).
package printer

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/syntax/token"
)

// Format returns src in the canonical layout: 4 spaces, 100 columns, one blank line
// at most, spaces around operators and none inside brackets, a trailing comma in
// broken lists, `##` comments wrapped. Comments stay where they are. Format is
// idempotent. The error is a diag.Diagnostics when src has syntax errors; when the
// result would be another program, which would be a mistake of the printer, it says
// so and there is no result.
func Format(src *diag.Source) ([]byte, error) {
	f, ds := syntax.Parse(src)
	if err := ds.Err(); err != nil {
		return nil, err
	}
	out, err := print(f)
	if err != nil {
		return nil, err
	}
	g, ds := syntax.Parse(diag.NewSource(src.Name, out))
	if ds.Err() != nil || !syntax.Equal(f, g) || commentWords(f) != commentWords(g) {
		return nil, fmt.Errorf("%s: formatting would change the program, so it is left as it is: please report this script", src.Name)
	}
	return []byte(out), nil
}

// commentWords are the words of all comments.
func commentWords(f *syntax.File) string {
	var b strings.Builder
	for _, c := range f.Comments {
		b.WriteString(strings.TrimLeft(c.Text, "#"))
		b.WriteByte(' ')
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// print lays f out.
func print(f *syntax.File) (out string, err error) {
	s := token.Scan(f.Source.Text)
	s.Layout()
	b := &builder{text: f.Source.Text, toks: s.Tokens, comments: s.Comments}
	d := b.stmts(f.Stmts, int32(len(b.text)), true)
	if b.err != nil {
		return "", b.err
	}
	if len(d) == 0 {
		return "", nil
	}
	p := &docPrinter{}
	return p.render(d), nil
}

// builder makes the document of a file. It takes the tokens in the order of the
// source, so that every comment is printed between the tokens it stood between.
type builder struct {
	text     string
	toks     []token.Token
	next     int // index of the next token
	comments []token.Comment
	remarked int // index of the next comment
	err      error
}

// peek is the next token that means something.
func (b *builder) peek() token.Token {
	for b.toks[b.next].Kind == token.NL || b.toks[b.next].Kind == token.Virtual {
		b.next++
	}
	return b.toks[b.next]
}

// tok is the sign or word s, which comes next in the source, with its comments.
func (b *builder) tok(s string) doc {
	d, trail := b.tokAnd(s)
	if trail == nil {
		return d
	}
	return seq{d, trail}
}

// tokAnd is tok that gives the comment at the end of its line on its own, so that
// the group that s ends does not break because of it.
func (b *builder) tokAnd(s string) (d, trail doc) {
	lead := b.leading()
	t := b.peek()
	if t.Text(b.text) != s {
		if b.err == nil {
			b.err = fmt.Errorf("formatting failed: found %q at offset %d, and the tree has %q", t.Text(b.text), t.Lo, s)
		}
		return text(s), nil
	}
	if t.Kind != token.EOF {
		b.next++
	}
	switch b.toks[b.next].Kind {
	case token.NL, token.EOF, token.Virtual: // the end of a statement: stmts takes it
	default:
		trail = b.trailing(t.Hi)
	}
	if lead == nil {
		return text(s), trail
	}
	return seq{lead, text(s)}, trail
}

// leading are the comments on lines of their own between the last token and the next.
func (b *builder) leading() doc {
	at := b.peek().Lo
	var out seq
	outer := false
	switch b.peek().Text(b.text) {
	case "else", "}", ")", "]":
		outer = true
	}
	for b.remarked < len(b.comments) && b.comments[b.remarked].Lo < at {
		out = append(out, note{strings.TrimRight(b.comments[b.remarked].Text, " \t"), outer})
		b.remarked++
	}
	if out == nil {
		return nil
	}
	return out
}

// trailing is the comment at the end of the line on which a token ends at hi.
func (b *builder) trailing(hi int32) doc {
	if b.remarked == len(b.comments) {
		return nil
	}
	c := b.comments[b.remarked]
	if c.Lo < hi || strings.Trim(b.text[hi:c.Lo], " \t;") != "" {
		return nil
	}
	b.remarked++
	width, gap := b.column(hi, c.Lo)
	return remark{strings.TrimRight(c.Text, " \t"), width, gap}
}

// column measures the line of a comment that begins at offset at, behind code that
// ends at hi: the width of the code without indentation, and of the space behind it.
func (b *builder) column(hi, at int32) (width, gap int) {
	lo := strings.LastIndexByte(b.text[:hi], '\n') + 1
	code := strings.TrimLeft(b.text[lo:hi], " \t")
	for _, r := range b.text[hi:at] {
		if r == '\t' {
			gap += 3
		}
		gap++
	}
	return runeLen(code), gap
}

// newlineAfter reports whether the line ends behind offset at, comments aside.
func (b *builder) newlineAfter(at int32) bool {
	for _, c := range []byte(b.text[at:]) {
		switch c {
		case ' ', '\t', '\r':
		case '\n', '#':
			return true
		default:
			return false
		}
	}
	return false
}

// sameLine reports whether the range is on one line and has no comment.
func (b *builder) sameLine(s token.Span) bool { return strings.IndexByte(b.text[s.Lo:s.Hi], '\n') < 0 }

// blankBefore reports whether an empty line is above offset at, which is the
// start of a comment or a statement.
func (b *builder) blankBefore(at int32) bool {
	n := 0
	for i := at - 1; i >= 0; i-- {
		switch b.text[i] {
		case '\n':
			if n++; n == 2 {
				return true
			}
		case ' ', '\t', '\r', ';':
		default:
			return false
		}
	}
	return false
}

// stmts are statements on lines of their own, with the comments up to offset end.
func (b *builder) stmts(list []syntax.Stmt, end int32, top bool) seq {
	var out seq
	item := func(at int32, d doc) {
		switch {
		case len(out) == 0:
		case b.blankBefore(at):
			out = append(out, blank{})
		default:
			out = append(out, hardline{})
		}
		out = append(out, d)
	}
	comments := func(upTo int32) {
		for b.remarked < len(b.comments) && b.comments[b.remarked].Lo < upTo {
			first := b.remarked
			last := first + 1
			for last < len(b.comments) && b.comments[last].Lo < upTo && !b.blankBefore(b.comments[last].Lo) {
				last++
			}
			b.remarked = last
			item(b.comments[first].Lo, b.commentLines(b.comments[first:last]))
		}
	}
	for _, s := range list {
		lo := s.Range().Lo
		comments(lo)
		d := b.stmt(s)
		item(lo, seq{d, b.trailing(s.Range().Hi)})
	}
	comments(end)
	if top {
		b.peek()
	}
	return out
}

// commentLines are comments on lines of their own; the long ones that document
// something are wrapped where they are printed.
func (b *builder) commentLines(cs []token.Comment) doc {
	var out seq
	for i, c := range cs {
		if i > 0 {
			out = append(out, hardline{})
		}
		s := strings.TrimRight(c.Text, " \t")
		if strings.HasPrefix(s, "## ") {
			out = append(out, wrapped{s})
		} else {
			out = append(out, text(s))
		}
	}
	return out
}

// wrap breaks the documentation comment s into lines of at most width columns. Lines
// that are indented code or tables stay as they are; what follows a list mark is
// indented behind it.
func wrap(s string, width int) []string {
	body := strings.TrimPrefix(s, "## ")
	trimmed := strings.TrimLeft(body, " ")
	lead := len(body) - len(trimmed)
	if runeLen(s) <= width || lead >= 4 || strings.HasPrefix(trimmed, "|") {
		return []string{s}
	}
	first := "## " + strings.Repeat(" ", lead)
	rest := first
	for _, mark := range []string{"- ", "* "} {
		if strings.HasPrefix(trimmed, mark) {
			rest += "  "
		}
	}
	var out []string
	cur, prefix := "", first
	for _, w := range strings.Fields(trimmed) {
		switch {
		case cur == "":
			cur = prefix + w
		case runeLen(cur)+1+runeLen(w) > width:
			out = append(out, cur)
			prefix = rest
			cur = prefix + w
		default:
			cur += " " + w
		}
	}
	return append(out, cur)
}

// block is a block of statements, on one line when it was and still fits.
func (b *builder) block(x *syntax.Block, oneLine bool) doc {
	open := b.tok("{")
	end := x.Hi - 1
	if len(x.Stmts) == 0 && (b.remarked == len(b.comments) || b.comments[b.remarked].Lo > end) {
		b.skipTo(end)
		return seq{open, text(" "), b.tok("}")}
	}
	if !oneLine {
		body := b.stmts(x.Stmts, end, false)
		b.skipTo(end)
		return seq{open, indented{4, seq{hardline{}, body}}, hardline{}, b.tok("}")}
	}
	var body seq
	for i, s := range x.Stmts {
		if i > 0 {
			body = append(body, choice{text("; "), hardline{}})
		}
		body = append(body, b.stmt(s))
	}
	b.skipTo(end)
	return seq{open, indented{4, seq{line{}, body}}, line{}, b.tok("}")}
}

// skipTo passes over separators in front of the token at offset at.
func (b *builder) skipTo(at int32) {
	for b.toks[b.next].Lo < at && (b.toks[b.next].Kind == token.NL || b.toks[b.next].Kind == token.Virtual) {
		b.next++
	}
}

// list is two brackets with items between them. Lists that were broken behind their
// opening bracket stay broken, with a trailing comma if withComma is set.
func (b *builder) list(open, close string, n int, withComma bool, item func(i int) doc) doc {
	at := b.peek().Hi
	first := b.tok(open)
	if n == 0 {
		return seq{first, b.tok(close)}
	}
	force := b.newlineAfter(at)
	var body seq
	for i := range n {
		d := item(i)
		last := i == n-1
		switch {
		case !last:
			body = append(body, d, b.comma(), line{})
		default:
			body = append(body, d)
			if withComma {
				body = append(body, b.lastComma())
			}
			body = append(body, b.leading())
		}
	}
	end, trail := b.tokAnd(close)
	return seq{grouped{seq{first, indented{4, seq{softline{}, body}}, softline{}, end}, force}, trail}
}

// comma is the comma between two items.
func (b *builder) comma() doc {
	d, trail := b.tokAnd(",")
	if t, ok := d.(text); ok && t == "," && trail == nil {
		return comma{}
	}
	return seq{d, trail}
}

// lastComma is the comma behind the last item, which only a broken list has.
func (b *builder) lastComma() doc {
	if t := b.peek(); t.Kind != token.Op || t.Text(b.text) != "," {
		return choice{text(""), comma{}}
	}
	lead := b.leading()
	hi := b.peek().Hi
	b.next++
	trail := b.trailing(hi)
	if lead == nil && trail == nil {
		return choice{text(""), comma{}}
	}
	return seq{lead, text(","), trail}
}

// commas is a list without brackets; it may break behind its commas.
func (b *builder) commas(n int, item func(i int) doc) doc {
	var out seq
	for i := range n {
		if i > 0 {
			out = append(out, b.comma(), line{})
		}
		out = append(out, item(i))
	}
	return out
}

func runeLen(s string) int { return len([]rune(s)) }

// Format: statements.

// name is a name of the source.
func (b *builder) name(x *syntax.Ident) doc { return b.tok(x.Name) }

// names is a list of names.
func (b *builder) names(xs []*syntax.Ident) doc {
	return b.commas(len(xs), func(i int) doc { return b.name(xs[i]) })
}

// exprs is a list of expressions.
func (b *builder) exprs(xs []syntax.Expr) doc {
	return b.commas(len(xs), func(i int) doc { return b.expr(xs[i]) })
}

// word is a word of the language and a space.
func (b *builder) word(s string) doc { return seq{b.tok(s), text(" ")} }

// spaced is a sign or word between spaces.
func (b *builder) spaced(s string) doc { return seq{text(" "), b.tok(s), text(" ")} }

// more indents what continues a statement on further lines.
func more(d ...doc) doc { return indented{4, seq(d)} }

// stmt is one statement.
func (b *builder) stmt(s syntax.Stmt) doc {
	switch s := s.(type) {
	case *syntax.Block:
		return b.block(s, false)
	case *syntax.Import:
		out := seq{b.word("import"), b.tok(s.Path.Text)}
		if s.As != nil {
			out = append(out, b.spaced("as"), b.name(s.As))
		}
		return out
	case *syntax.Param:
		out := seq{b.word("param"), b.name(s.Name), b.typed(s.Type)}
		return b.value(out, s.Value)
	case *syntax.ExternData:
		return seq{b.word("extern"), b.name(s.Name), b.typed(s.Type)}
	case *syntax.Struct:
		return b.loop(seq{b.word("struct"), b.name(s.Name)}, s.Body)
	case *syntax.Field:
		return seq{b.name(s.Name), b.typed(s.Type)}
	case *syntax.Codelet:
		return b.codelet(s)
	case *syntax.Func:
		return b.function(s)
	case *syntax.Let:
		out := seq{b.word("let"), b.name(s.Name)}
		if s.Type != nil {
			out = append(out, b.typed(s.Type))
		}
		return b.value(out, s.Value)
	case *syntax.Register:
		return b.value(seq{b.word("register"), grouped{body: more(b.names(s.Names))}}, s.Value)
	case *syntax.Partition:
		return b.partition(s)
	case *syntax.Unpartition:
		out := seq{b.word("unpartition"), b.exprs(s.Of)}
		if s.To != nil {
			out = append(out, b.spaced("to"), b.expr(s.To))
		}
		return grouped{body: more(out)}
	case *syntax.Acquire:
		return b.acquire(s)
	case *syntax.Release:
		out := seq{b.word("release"), b.names(s.Names)}
		if s.To != 0 {
			out = append(out, b.spaced("to"), b.tok(s.To.String()))
		}
		return grouped{body: more(out)}
	case *syntax.Wait:
		if len(s.Of) == 0 {
			return b.tok("wait")
		}
		return grouped{body: more(b.word("wait"), b.exprs(s.Of))}
	case *syntax.Checkpoint:
		return grouped{body: more(b.word("checkpoint"), b.expr(s.Dir))}
	case *syntax.Prefetch:
		return grouped{body: more(b.word("prefetch"), b.exprs(s.Of), b.spaced("to"), b.expr(s.To), b.with(s.With))}
	case *syntax.Hint:
		return grouped{body: more(b.word("hint"), b.exprs(s.Of), b.with(s.With))}
	case *syntax.Verb:
		return grouped{body: more(b.word(s.Verb), b.exprs(s.Of))}
	case *syntax.If:
		return b.ifs(s)
	case *syntax.For:
		return b.loop(seq{b.word("for"), b.names(s.Names), b.spaced("in"), b.expr(s.In)}, s.Body)
	case *syntax.While:
		return b.loop(seq{b.word("while"), b.expr(s.Cond)}, s.Body)
	case *syntax.Each:
		return b.loop(seq{b.word("each"), b.names(s.Names), b.spaced("in"), b.exprs(s.Domain)}, s.Body)
	case *syntax.Return:
		if s.Value == nil {
			return b.tok("return")
		}
		return seq{b.word("return"), b.expr(s.Value)}
	case *syntax.Break:
		return b.tok("break")
	case *syntax.Continue:
		return b.tok("continue")
	case *syntax.Assert:
		out := seq{b.word("assert"), b.expr(s.Cond)}
		if s.Message != nil {
			out = append(out, b.tok(","), line{}, b.expr(s.Message))
		}
		return grouped{body: more(out)}
	case *syntax.Assign:
		return seq{b.expr(s.Target), b.spaced(s.Op), b.expr(s.Value)}
	case *syntax.ExprStmt:
		return b.expr(s.X)
	}
	return nil
}

// value is a declaration with its value, if it has one.
func (b *builder) value(head seq, x syntax.Expr) doc {
	if x == nil {
		return head
	}
	return append(head, b.spaced("="), b.expr(x))
}

// typed is ": type".
func (b *builder) typed(t *syntax.TypeExpr) doc { return seq{b.tok(":"), text(" "), b.typ(t)} }

// typ is a type.
func (b *builder) typ(t *syntax.TypeExpr) doc {
	if t.Elem == nil {
		return b.name(t.Name)
	}
	if t.Rank != nil {
		return seq{b.name(t.Name), b.tok("["), b.typ(t.Elem), b.tok(","), text(" "), b.expr(t.Rank), b.tok("]")}
	}
	return seq{b.name(t.Name), b.tok("["), b.typ(t.Elem), b.tok("]")}
}

// with are options, on a line of their own when they do not fit.
func (b *builder) with(w *syntax.With) doc {
	if w == nil {
		return nil
	}
	return grouped{body: seq{line{}, more(b.word("with"), b.commas(len(w.Options), func(i int) doc {
		o := w.Options[i]
		return seq{b.name(o.Name), b.spaced("="), b.expr(o.Value)}
	}))}}
}

func (b *builder) codelet(c *syntax.Codelet) doc {
	var head seq
	if c.Body == nil {
		head = append(head, b.word("extern"))
	}
	head = append(head, b.word("codelet"), b.name(c.Name))
	head = append(head, b.list("(", ")", len(c.Params), true, func(i int) doc {
		o := c.Params[i]
		out := seq{b.name(o.Name), b.tok(":"), text(" ")}
		if o.Mode != 0 {
			out = append(out, b.word(o.Mode.String()))
		}
		return b.value(append(out, b.typ(o.Type)), o.Default)
	}))
	if c.With != nil {
		head = append(head, indented{8, b.with(c.With)})
	}
	if c.Body == nil {
		return grouped{body: head}
	}
	return b.loop(head, c.Body)
}

func (b *builder) function(f *syntax.Func) doc {
	head := seq{b.word("func"), b.name(f.Name)}
	head = append(head, b.list("(", ")", len(f.Params), true, func(i int) doc {
		o := f.Params[i]
		return b.value(seq{b.name(o.Name), b.typed(o.Type)}, o.Default)
	}))
	if f.Result != nil {
		head = append(head, b.spaced("->"), b.typ(f.Result))
	}
	return b.loop(head, f.Body)
}

// loop is a head with its block.
func (b *builder) loop(head seq, body *syntax.Block) doc {
	oneLine := b.sameLine(body.Span)
	out := seq{grouped{body: head}, text(" "), b.block(body, oneLine)}
	if oneLine {
		return grouped{body: out}
	}
	return out
}

func (b *builder) partition(s *syntax.Partition) doc {
	out := seq{b.word("partition")}
	if s.Name != nil {
		out = append(out, b.name(s.Name), b.spaced("="))
	}
	out = append(out, b.exprs(s.Of))
	for i, f := range s.Filters {
		word := "by"
		if i > 0 {
			word = "then"
		}
		out = append(out, line{}, b.word(word), b.name(f.Name), b.args(f.Args))
	}
	if g := s.Over; g != nil {
		out = append(out, line{}, b.word("over"), b.name(g.Name), b.args(g.Args))
	}
	return grouped{body: more(out)}
}

func (b *builder) acquire(s *syntax.Acquire) doc {
	head := seq{b.word("acquire"), more(b.commas(len(s.Items), func(i int) doc {
		a := s.Items[i]
		return seq{b.word(a.Mode.String()), b.expr(a.Of), b.spaced("as"), b.name(a.As)}
	}))}
	if s.Body == nil {
		return grouped{body: head}
	}
	return b.loop(head, s.Body)
}

// ifs is an if with its else. All its blocks are on one line, or none.
func (b *builder) ifs(s *syntax.If) doc {
	oneLine := true
	for x := s; x != nil; {
		oneLine = oneLine && b.sameLine(x.Then.Span)
		switch e := x.Else.(type) {
		case *syntax.If:
			x = e
		case *syntax.Block:
			oneLine = oneLine && b.sameLine(e.Span)
			x = nil
		default:
			x = nil
		}
	}
	var out seq
	for x := s; x != nil; {
		out = append(out, b.word("if"), grouped{body: b.expr(x.Cond)}, text(" "), b.block(x.Then, oneLine))
		switch e := x.Else.(type) {
		case *syntax.If:
			out = append(out, b.spaced("else"))
			x = e
		case *syntax.Block:
			out = append(out, b.spaced("else"), b.block(e, oneLine))
			x = nil
		default:
			x = nil
		}
	}
	if oneLine {
		return grouped{body: out}
	}
	return out
}

// Format: expressions.

// expr is an expression.
func (b *builder) expr(x syntax.Expr) doc {
	switch x := x.(type) {
	case *syntax.Ident:
		return b.name(x)
	case *syntax.IntLit:
		if x.Text[0] == '-' { // the smallest int
			return seq{b.tok("-"), b.tok(x.Text[1:])}
		}
		return b.tok(x.Text)
	case *syntax.FloatLit:
		return b.tok(x.Text)
	case *syntax.ImagLit:
		return b.tok(x.Text)
	case *syntax.StringLit:
		return b.tok(x.Text)
	case *syntax.FString:
		return b.tok(x.Text)
	case *syntax.BoolLit:
		if x.Value {
			return b.tok("true")
		}
		return b.tok("false")
	case *syntax.NoneLit:
		return b.tok("none")
	case *syntax.Paren:
		return b.list("(", ")", 1, false, func(int) doc { return b.expr(x.X) })
	case *syntax.ListLit:
		return b.listLit(x)
	case *syntax.ListComp:
		first := b.tok("[")
		body := seq{b.expr(x.Item), line{}, b.word("for"), b.name(x.Var), b.spaced("in"), b.expr(x.In), b.leading()}
		last, trail := b.tokAnd("]")
		return seq{grouped{body: seq{first, indented{4, seq{softline{}, body}}, softline{}, last}}, trail}
	case *syntax.Unary:
		if x.Op == "not" {
			return seq{b.word("not"), b.expr(x.X)}
		}
		return seq{b.tok(x.Op), b.expr(x.X)}
	case *syntax.Binary:
		return grouped{body: more(b.binary(x))}
	case *syntax.RangeExpr:
		op := ".."
		if x.Closed {
			op = "..="
		}
		return seq{b.expr(x.Lo), b.tok(op), b.expr(x.Hi)}
	case *syntax.Cond:
		return grouped{body: seq{b.word("if"), b.expr(x.If), more(line{}, b.word("then"), b.expr(x.Then), line{}, b.word("else"), b.expr(x.Else))}}
	case *syntax.Call:
		return seq{b.expr(x.Fn), b.args(x.Args)}
	case *syntax.Index:
		return seq{b.expr(x.X), b.list("[", "]", len(x.Args), false, func(i int) doc { return b.expr(x.Args[i]) })}
	case *syntax.Selector:
		return seq{b.expr(x.X), b.tok("."), b.name(x.Name)}
	case *syntax.Insert:
		return b.insert(x)
	case *syntax.Fold:
		head := grouped{body: more(b.word(x.Op), b.names(x.Names), b.spaced("in"), b.exprs(x.Domain))}
		out := seq{head, text(" "), b.tok("{")}
		body := seq{b.expr(x.Body), b.leading()}
		last, trail := b.tokAnd("}")
		return seq{grouped{body: append(out, indented{4, seq{line{}, body}}, line{}, last)}, trail}
	}
	return nil
}

// args are arguments in parentheses.
func (b *builder) args(args []*syntax.Arg) doc {
	return b.list("(", ")", len(args), true, func(i int) doc {
		a := args[i]
		if a.Name != nil {
			return seq{b.name(a.Name), b.spaced("="), b.expr(a.Value)}
		}
		return b.expr(a.Value)
	})
}

// binary is a chain of operators of one level, that breaks behind each of them.
func (b *builder) binary(x *syntax.Binary) seq {
	chain := x.Chain(func(y *syntax.Binary) bool { return binaryLevel(y.Op) == binaryLevel(x.Op) })
	out := seq{b.expr(chain[0].X)}
	for _, y := range chain {
		out = append(out, text(" "), b.tok(y.Op), line{}, b.expr(y.Y))
	}
	return out
}

// binaryLevel is the level of precedence of an operator.
func binaryLevel(op string) int {
	switch op {
	case "or":
		return token.LevelOr
	case "and":
		return token.LevelAnd
	case "+", "-", "|", "^":
		return token.LevelAdd
	case "*", "/", "//", "%", "<<", ">>", "&":
		return token.LevelMul
	case "**":
		return token.LevelUnary
	}
	return token.LevelCmp
}

// listLit is a list. Literals fill lines; rows that the source has are kept.
func (b *builder) listLit(x *syntax.ListLit) doc {
	plain := len(x.Items) > 0
	for _, e := range x.Items {
		plain = plain && isLiteral(e)
	}
	if !plain {
		return b.list("[", "]", len(x.Items), true, func(i int) doc { return b.expr(x.Items[i]) })
	}
	at := b.peek().Hi
	force := b.newlineAfter(at) || b.remarked < len(b.comments) && b.comments[b.remarked].Lo < x.Hi
	first := b.tok("[")
	var rows seq
	var row []doc
	end := func() {
		if len(row) > 0 {
			rows = append(rows, filled{row})
			row = nil
		}
	}
	for i, e := range x.Items {
		item := seq{b.expr(e)}
		if i < len(x.Items)-1 {
			item = append(item, b.comma())
			row = append(row, item)
			if force && !b.sameLine(token.Span{Lo: e.Range().Hi, Hi: x.Items[i+1].Range().Lo}) {
				end()
				rows = append(rows, line{})
			}
			continue
		}
		item = append(item, b.lastComma())
		row = append(row, append(item, b.leading()))
	}
	end()
	last, trail := b.tokAnd("]")
	return seq{grouped{seq{first, indented{4, seq{softline{}, rows}}, softline{}, last}, force}, trail}
}

// isLiteral reports whether x is a literal, with or without a sign.
func isLiteral(x syntax.Expr) bool {
	switch x := x.(type) {
	case *syntax.IntLit, *syntax.FloatLit, *syntax.ImagLit, *syntax.StringLit, *syntax.BoolLit, *syntax.NoneLit:
		return true
	case *syntax.Unary:
		return x.Op == "-" && isLiteral(x.X)
	}
	return false
}

func (b *builder) insert(x *syntax.Insert) doc {
	out := seq{b.word("insert")}
	for i, n := range x.Path {
		if i > 0 {
			out = append(out, b.tok("."))
		}
		out = append(out, b.name(n))
	}
	out = append(out, b.list("(", ")", len(x.Args), true, func(i int) doc {
		a := x.Args[i]
		var arg seq
		if a.Name != nil {
			arg = append(arg, b.name(a.Name), b.spaced("="))
		}
		if a.Mode != 0 {
			arg = append(arg, b.word(a.Mode.String()))
		}
		arg = append(arg, b.expr(a.Value))
		if a.At != nil {
			arg = append(arg, b.spaced("@"), b.expr(a.At))
		}
		return arg
	}))
	if x.With == nil {
		return out
	}
	return grouped{body: append(out, indented{4, b.with(x.With)})}
}
