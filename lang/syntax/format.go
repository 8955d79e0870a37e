package syntax

// Format: the canonical layout of a script.

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/lang/diag"
)

// Format returns src in the canonical layout: 4 spaces, 100 columns, one blank line
// at most, spaces around operators and none inside brackets, a trailing comma in
// broken lists, `##` comments wrapped. Comments stay where they are. Format is
// idempotent. The error is a diag.Diagnostics when src has syntax errors; when the
// result would be another program, which would be a mistake of the printer, it says
// so and there is no result.
func Format(src *diag.Source) ([]byte, error) {
	f, ds := Parse(src)
	if err := ds.Err(); err != nil {
		return nil, err
	}
	out, err := print(f)
	if err != nil {
		return nil, err
	}
	g, ds := Parse(diag.NewSource(src.Name, out))
	if ds.Err() != nil || !Equal(f, g) || commentWords(f) != commentWords(g) {
		return nil, fmt.Errorf("%s: formatting would change the program, so it is left as it is: please report this script", src.Name)
	}
	return []byte(out), nil
}

// commentWords are the words of all comments.
func commentWords(f *File) string {
	var b strings.Builder
	for _, c := range f.Comments {
		b.WriteString(words(strings.TrimLeft(c.Text, "#")))
		b.WriteByte(' ')
	}
	return words(b.String())
}

// print lays f out.
func print(f *File) (out string, err error) {
	s := scan(f.Source.Text)
	s.layout()
	b := &builder{text: f.Source.Text, toks: s.toks, comments: s.comments}
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
	toks     []token
	next     int // index of the next token
	comments []Comment
	remarked int // index of the next comment
	err      error
}

// peek is the next token that means something.
func (b *builder) peek() token {
	for b.toks[b.next].kind == tokNL || b.toks[b.next].kind == tokVirtual {
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
	if t.text(b.text) != s {
		if b.err == nil {
			b.err = fmt.Errorf("formatting failed: found %q at offset %d, and the tree has %q", t.text(b.text), t.lo, s)
		}
		return text(s), nil
	}
	if t.kind != tokEOF {
		b.next++
	}
	switch b.toks[b.next].kind {
	case tokNL, tokEOF, tokVirtual: // the end of a statement: stmts takes it
	default:
		trail = b.trailing(t.hi)
	}
	if lead == nil {
		return text(s), trail
	}
	return seq{lead, text(s)}, trail
}

// leading are the comments between the token before and the next one, that stand on
// lines of their own.
func (b *builder) leading() doc {
	at := b.peek().lo
	var out seq
	outer := false
	switch b.peek().text(b.text) {
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
func (b *builder) sameLine(s Span) bool { return strings.IndexByte(b.text[s.Lo:s.Hi], '\n') < 0 }

// blankBefore reports whether an empty line stands above offset at, which is the
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
func (b *builder) stmts(list []Stmt, end int32, top bool) seq {
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
func (b *builder) commentLines(cs []Comment) doc {
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
func (b *builder) block(x *Block, oneLine bool) doc {
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
	for b.toks[b.next].lo < at && (b.toks[b.next].kind == tokNL || b.toks[b.next].kind == tokVirtual) {
		b.next++
	}
}

// list is what stands between two brackets, item by item. Lists that were broken
// behind their opening bracket stay broken. comma says that a trailing comma may
// stand when it is.
func (b *builder) list(open, close string, n int, withComma bool, item func(i int) doc) doc {
	at := b.peek().hi
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
	if t := b.peek(); t.kind != tokOp || t.text(b.text) != "," {
		return choice{text(""), comma{}}
	}
	lead := b.leading()
	hi := b.peek().hi
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
func (b *builder) name(x *Ident) doc { return b.tok(x.Name) }

// names is a list of names.
func (b *builder) names(xs []*Ident) doc {
	return b.commas(len(xs), func(i int) doc { return b.name(xs[i]) })
}

// exprs is a list of expressions.
func (b *builder) exprs(xs []Expr) doc {
	return b.commas(len(xs), func(i int) doc { return b.expr(xs[i]) })
}

// word is a word of the language and a space.
func (b *builder) word(s string) doc { return seq{b.tok(s), text(" ")} }

// spaced is a sign or word between spaces.
func (b *builder) spaced(s string) doc { return seq{text(" "), b.tok(s), text(" ")} }

// more indents what continues a statement on further lines.
func more(d ...doc) doc { return indented{4, seq(d)} }

// stmt is one statement.
func (b *builder) stmt(s Stmt) doc {
	switch s := s.(type) {
	case *Block:
		return b.block(s, false)
	case *Import:
		out := seq{b.word("import"), b.tok(s.Path.Text)}
		if s.As != nil {
			out = append(out, b.spaced("as"), b.name(s.As))
		}
		return out
	case *Param:
		out := seq{b.word("param"), b.name(s.Name), b.typed(s.Type)}
		return b.value(out, s.Value)
	case *ExternData:
		return seq{b.word("extern"), b.name(s.Name), b.typed(s.Type)}
	case *Codelet:
		return b.codelet(s)
	case *Func:
		return b.function(s)
	case *Let:
		out := seq{b.word("let"), b.name(s.Name)}
		if s.Type != nil {
			out = append(out, b.typed(s.Type))
		}
		return b.value(out, s.Value)
	case *Register:
		return b.value(seq{b.word("register"), grouped{body: more(b.names(s.Names))}}, s.Value)
	case *Partition:
		return b.partition(s)
	case *Unpartition:
		out := seq{b.word("unpartition"), b.exprs(s.Of)}
		if s.To != nil {
			out = append(out, b.spaced("to"), b.expr(s.To))
		}
		return grouped{body: more(out)}
	case *Acquire:
		return b.acquire(s)
	case *Release:
		out := seq{b.word("release"), b.names(s.Names)}
		if s.To != 0 {
			out = append(out, b.spaced("to"), b.tok(s.To.String()))
		}
		return grouped{body: more(out)}
	case *Wait:
		if len(s.Of) == 0 {
			return b.tok("wait")
		}
		return grouped{body: more(b.word("wait"), b.exprs(s.Of))}
	case *Prefetch:
		return grouped{body: more(b.word("prefetch"), b.exprs(s.Of), b.spaced("to"), b.expr(s.To), b.with(s.With))}
	case *Hint:
		return grouped{body: more(b.word("hint"), b.exprs(s.Of), b.with(s.With))}
	case *Verb:
		return grouped{body: more(b.word(s.Verb), b.exprs(s.Of))}
	case *If:
		return b.ifs(s)
	case *For:
		return b.loop(seq{b.word("for"), b.names(s.Names), b.spaced("in"), b.expr(s.In)}, s.Body)
	case *While:
		return b.loop(seq{b.word("while"), b.expr(s.Cond)}, s.Body)
	case *Each:
		return b.loop(seq{b.word("each"), b.names(s.Names), b.spaced("in"), b.exprs(s.Domain)}, s.Body)
	case *Return:
		if s.Value == nil {
			return b.tok("return")
		}
		return seq{b.word("return"), b.expr(s.Value)}
	case *Break:
		return b.tok("break")
	case *Continue:
		return b.tok("continue")
	case *Assert:
		out := seq{b.word("assert"), b.expr(s.Cond)}
		if s.Message != nil {
			out = append(out, b.tok(","), line{}, b.expr(s.Message))
		}
		return grouped{body: more(out)}
	case *Assign:
		return seq{b.expr(s.Target), b.spaced(s.Op), b.expr(s.Value)}
	case *ExprStmt:
		return b.expr(s.X)
	}
	return nil
}

// value is a declaration with its value, if it has one.
func (b *builder) value(head seq, x Expr) doc {
	if x == nil {
		return head
	}
	return append(head, b.spaced("="), b.expr(x))
}

// typed is ": type".
func (b *builder) typed(t *TypeExpr) doc { return seq{b.tok(":"), text(" "), b.typ(t)} }

// typ is a type.
func (b *builder) typ(t *TypeExpr) doc {
	if t.Elem == nil {
		return b.name(t.Name)
	}
	return seq{b.name(t.Name), b.tok("["), b.typ(t.Elem), b.tok("]")}
}

// with are options, on a line of their own when they do not fit.
func (b *builder) with(w *With) doc {
	if w == nil {
		return nil
	}
	return grouped{body: seq{line{}, more(b.word("with"), b.commas(len(w.Options), func(i int) doc {
		o := w.Options[i]
		return seq{b.name(o.Name), b.spaced("="), b.expr(o.Value)}
	}))}}
}

func (b *builder) codelet(c *Codelet) doc {
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

func (b *builder) function(f *Func) doc {
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
func (b *builder) loop(head seq, body *Block) doc {
	oneLine := b.sameLine(body.Span)
	out := seq{grouped{body: head}, text(" "), b.block(body, oneLine)}
	if oneLine {
		return grouped{body: out}
	}
	return out
}

func (b *builder) partition(s *Partition) doc {
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
	return grouped{body: more(out)}
}

func (b *builder) acquire(s *Acquire) doc {
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
func (b *builder) ifs(s *If) doc {
	oneLine := true
	for x := s; x != nil; {
		oneLine = oneLine && b.sameLine(x.Then.Span)
		switch e := x.Else.(type) {
		case *If:
			x = e
		case *Block:
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
		case *If:
			out = append(out, b.spaced("else"))
			x = e
		case *Block:
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
func (b *builder) expr(x Expr) doc {
	switch x := x.(type) {
	case *Ident:
		return b.name(x)
	case *IntLit:
		if x.Text[0] == '-' { // the smallest int
			return seq{b.tok("-"), b.tok(x.Text[1:])}
		}
		return b.tok(x.Text)
	case *FloatLit:
		return b.tok(x.Text)
	case *StringLit:
		return b.tok(x.Text)
	case *FString:
		return b.tok(x.Text)
	case *BoolLit:
		if x.Value {
			return b.tok("true")
		}
		return b.tok("false")
	case *NoneLit:
		return b.tok("none")
	case *Paren:
		return b.list("(", ")", 1, false, func(int) doc { return b.expr(x.X) })
	case *ListLit:
		return b.listLit(x)
	case *ListComp:
		first := b.tok("[")
		body := seq{b.expr(x.Item), line{}, b.word("for"), b.name(x.Var), b.spaced("in"), b.expr(x.In), b.leading()}
		last, trail := b.tokAnd("]")
		return seq{grouped{body: seq{first, indented{4, seq{softline{}, body}}, softline{}, last}}, trail}
	case *Unary:
		if x.Op == "not" {
			return seq{b.word("not"), b.expr(x.X)}
		}
		return seq{b.tok("-"), b.expr(x.X)}
	case *Binary:
		return grouped{body: more(b.binary(x))}
	case *RangeExpr:
		op := ".."
		if x.Closed {
			op = "..="
		}
		return seq{b.expr(x.Lo), b.tok(op), b.expr(x.Hi)}
	case *Cond:
		return grouped{body: seq{b.word("if"), b.expr(x.If), more(line{}, b.word("then"), b.expr(x.Then), line{}, b.word("else"), b.expr(x.Else))}}
	case *Call:
		return seq{b.expr(x.Fn), b.args(x.Args)}
	case *Index:
		return seq{b.expr(x.X), b.list("[", "]", len(x.Args), false, func(i int) doc { return b.expr(x.Args[i]) })}
	case *Selector:
		return seq{b.expr(x.X), b.tok("."), b.name(x.Name)}
	case *Insert:
		return b.insert(x)
	case *Fold:
		out := seq{b.word(x.Op), b.names(x.Names), b.spaced("in"), b.exprs(x.Domain), text(" "), b.tok("{")}
		body := seq{b.expr(x.Body), b.leading()}
		last, trail := b.tokAnd("}")
		return seq{grouped{body: append(out, indented{4, seq{line{}, body}}, line{}, last)}, trail}
	}
	return nil
}

// args are arguments in parentheses.
func (b *builder) args(args []*Arg) doc {
	return b.list("(", ")", len(args), true, func(i int) doc {
		a := args[i]
		if a.Name != nil {
			return seq{b.name(a.Name), b.spaced("="), b.expr(a.Value)}
		}
		return b.expr(a.Value)
	})
}

// binary is a chain of operators of one level, that breaks behind each of them.
func (b *builder) binary(x *Binary) seq {
	// the chain is collected without recursion: it may be very long
	var chain []*Binary
	var first Expr = x
	for {
		y, ok := first.(*Binary)
		if !ok || len(chain) > 0 && binaryLevel(y.Op) != binaryLevel(x.Op) {
			break
		}
		chain = append(chain, y)
		first = y.X
	}
	out := seq{b.expr(first)}
	for i := len(chain) - 1; i >= 0; i-- {
		out = append(out, text(" "), b.tok(chain[i].Op), line{}, b.expr(chain[i].Y))
	}
	return out
}

// binaryLevel is the level of precedence of an operator.
func binaryLevel(op string) int {
	switch op {
	case "or":
		return levelOr
	case "and":
		return levelAnd
	case "+", "-":
		return levelAdd
	case "*", "/", "//", "%":
		return levelMul
	case "**":
		return levelUnary
	}
	return levelCmp
}

// listLit is a list. Literals fill lines; rows that the source has are kept.
func (b *builder) listLit(x *ListLit) doc {
	plain := len(x.Items) > 0
	for _, e := range x.Items {
		plain = plain && isLiteral(e)
	}
	if !plain {
		return b.list("[", "]", len(x.Items), true, func(i int) doc { return b.expr(x.Items[i]) })
	}
	at := b.peek().hi
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
			if force && !b.sameLine(Span{e.Range().Hi, x.Items[i+1].Range().Lo}) {
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
func isLiteral(x Expr) bool {
	switch x := x.(type) {
	case *IntLit, *FloatLit, *StringLit, *BoolLit, *NoneLit:
		return true
	case *Unary:
		return x.Op == "-" && isLiteral(x.X)
	}
	return false
}

func (b *builder) insert(x *Insert) doc {
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
