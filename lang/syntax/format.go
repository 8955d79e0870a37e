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
