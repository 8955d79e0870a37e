package syntax

// Heads of statements: what participle reads, and what its errors are told as.

import (
	"slices"
	"sort"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"

	"github.com/starpush/starpush/lang/diag"
)

// atEnd makes an error at the end of the tokens of a head one about token i, which
// really stands there.
func (p *parser) atEnd(m *mistake, i int) *mistake {
	t := p.tokenAt(i)
	if t.Type == tokVirtual {
		t.Type = tokEOF
	}
	if t.Type == tokEOF || t.Type == tokNL || m.got != nil && m.got.Type == tokEOF {
		old := m
		m = unexpected(t, old.expect...)
		m.help = append(m.help, old.help...)
	}
	if t.Type == tokEOF || t.Type == tokNL && t.Value != ";" {
		end := int32(0)
		if i > 0 {
			end = p.toks[i-1].hi
		}
		m.at = Span{end, end}
	}
	return m
}

// head hands the tokens of the statement at pos, up to its block, to participle.
// It returns nil when they cannot be read: then pos is behind them, and the mistake
// is reported.
func head[P any](p *parser, w where) *P {
	end, bad := p.headEnd(p.pos)
	if bad || !p.fits(end, w) {
		p.pos = end
		return nil
	}
	return headTo[P](p, end)
}

// headTo is head when the tokens up to end may be read.
func headTo[P any](p *parser, end int) *P {
	l, err := lexer.Upgrade(&sliceLexer{text: p.text, toks: p.toks[p.pos:end], end: p.toks[end].lo})
	if err != nil {
		p.report(asMistake(err))
		p.pos = end
		return nil
	}
	h, err := production[P](l)
	if err != nil {
		m := asMistake(err)
		at := -1
		if m.got != nil {
			at = end
			if m.got.Type != tokEOF {
				at = p.pos + sort.Search(end-p.pos, func(i int) bool { return p.toks[p.pos+i].lo >= int32(m.got.Pos.Offset) })
				if p.toks[at].lo != int32(m.got.Pos.Offset) {
					at = -1 // inside an f-string
				}
			} else {
				m = p.atEnd(m, end)
			}
		}
		if at < 0 || !p.reportHabit(p.begin, at) {
			p.report(p.advise(m))
			p.pos = end
		}
		return nil
	}
	p.pos += int(l.RawCursor())
	return h
}

// advise adds help that needs the neighbours of an unexpected token.
func (p *parser) advise(m *mistake) *mistake {
	if m.got == nil || m.code != "E0101" {
		return m
	}
	i := sort.Search(len(p.toks), func(i int) bool { return p.toks[i].lo >= int32(m.got.Pos.Offset) })
	if i >= len(p.toks) || i == 0 {
		return m
	}
	prev, this := p.toks[i-1], p.toks[i]
	switch {
	case this.kind == tokIdent && p.meant(m, i):
	case prev.kind == tokIdent && this.kind == tokIdent && p.is(i+1, "in") && p.meantWord(m, i-1, folding):
	case prev.kind == tokKeyword && this.kind == tokIdent && p.str(i-1) == "import":
		m.hint("a module is written in quotes, as in `import \"std/blas\" as blas`")
	case prev.kind == tokKeyword && p.str(i-1) == "for" && p.is(i, "("):
		m.hint("a loop has no parentheses: `for i in 0..n { ... }`")
	case prev.kind == tokIdent && (this.kind == tokIdent || this.kind == tokString):
		if near, ok := diag.Nearest(p.str(i-1), []string{"insert", "not"}); ok {
			m.meant(p.span(i-1), near)
		}
	case prev.kind == tokIdent && slices.Equal(m.expect, []string{"`:`"}):
		p.untyped(m, i)
	case p.is(i, "for") && slices.Contains(m.expect, "`)`"):
		m.hint("a list is written `[a for i in 0..n]`, a sum in a codelet `sum i in x { x[i] }`")
	case p.is(i, ",") && slices.Equal(m.expect, []string{"an operator", "`)`"}):
		m.hint("parentheses hold one value; only a call has several arguments, and a list is written `[a, b]`")
	case p.is(i, "=") && len(m.expect) > 0 && m.expect[0] == "an operator":
		m.hint("equality is written `==`").edit(p.span(i), "==").certain()
	case p.is(i, "@") && slices.Contains(m.expect, "`as`"):
		m.hint("what a script acquires is in main memory; `prefetch … to` brings data to a device")
	case p.is(i, "@") && prev.kind == tokIdent:
		m.hint("an operand begins with its access mode: `RW %s @ …`", p.str(i-1))
	case p.is(i, ".") && p.is(i-1, ".."):
		m.hint("a range is written `a..b`, without its end")
	case p.is(i, ".") && prev.kind == tokInt, p.is(i-1, ".") && i > 1 && p.toks[i-2].kind == tokInt:
		m.hint("a float has a digit on both sides of the point: `1.0`")
	case p.is(i-1, "*") && p.is(i, "*"), p.is(i-1, "+") && p.is(i, "+"):
		m.hint("write `x += 1`")
	case p.is(i, ":") && (slices.Contains(m.expect, "`{`") || len(m.expect) > 0 && m.expect[0] == "the end of the statement" && p.toks[i+1].kind != tokOp):
		m.hint("a block is written in braces: `{ … }`")
	case this.kind == tokNL && p.str(i) == ";" && (slices.Contains(m.expect, "`,`") || slices.Contains(m.expect, "`)`")):
		m.hint("write `,`").edit(p.span(i), ",").certain()
	case p.is(i, "(") && prev.kind == tokIdent && constructors[p.str(i-1)]:
		m.hint("the element type is written in square brackets: `%s[f64]`", p.str(i-1))
	case len(m.help) == 0 && slices.Contains(m.expect, "`,`") && startsExpr(m.got):
		m.hint("add `,` after `%s`", clip(prev.text(p.text))).edit(Span{prev.hi, prev.hi}, ",")
	}
	return m
}

// constructors are the types that have an element type.
var constructors = wordSet("variable", "vector", "matrix", "block", "tensor")

// untyped says how the parameter before token i is declared.
func (p *parser) untyped(m *mistake, i int) {
	name := p.str(i - 1)
	switch {
	case p.is(p.pos, "param"):
		typ := ""
		if p.is(i, "=") {
			typ = typeOf(p, i+1)
		}
		if typ == "" {
			m.hint("a param has a type, as in `param %s: int = ...`", name)
			return
		}
		m.hint("a param has a type: `param %s: %s = ...`", name, typ).edit(Span{p.toks[i-1].hi, p.toks[i-1].hi}, ": "+typ)
	case p.is(p.pos, "func"):
		m.hint("a parameter has a type, as in `%s: int`", name)
	case p.is(p.pos, "extern") && i == p.pos+2:
		m.hint("an extern has a type, as in `extern %s: vector[f64]`", name)
	case p.is(p.pos, "codelet"), p.is(p.pos, "extern"):
		m.hint("data has a mode and a type, as in `%[1]s: RW vector[f64]`; a value has a type, as in `%[1]s: float`", name)
	}
}

// typeOf is the type of the literal at token i, "" for anything else.
func typeOf(p *parser, i int) string {
	switch k := p.toks[i].kind; {
	case k == tokInt:
		return "int"
	case k == tokFloat:
		return "float"
	case k == tokString:
		return "string"
	case p.is(i, "true"), p.is(i, "false"):
		return "bool"
	}
	return ""
}

// linking are the words within statements, which nothing else can be mistaken for.
var linking = []string{"with", "by", "as", "to", "in", "then", "else", "and", "or"}

// folding are the words of folds.
var folding = []string{"sum", "prod", "min", "max"}

// meant adds what the name at token i was meant to be, if one of the words that are
// expected there looks like it.
func (p *parser) meant(m *mistake, i int) bool {
	var words []string
	for _, e := range m.expect {
		if w := strings.Trim(e, "`"); len(w) < len(e) && reserved[w] {
			words = append(words, w)
		}
	}
	return p.meantWord(m, i, words)
}

// meantWord adds which of the words the name at token i was meant to be.
func (p *parser) meantWord(m *mistake, i int, words []string) bool {
	near, ok := diag.Nearest(p.str(i), words)
	if ok {
		m.meant(p.span(i), near)
	}
	return ok
}

// fits reports folds that may not stand where the tokens from pos to end are.
func (p *parser) fits(end int, w where) bool {
	for i := p.pos; i < end; i++ {
		if !w.codelet && isFold(p.text, p.toks, i) {
			p.report(misplacedFold(p.toks[i], p.text))
			return false
		}
	}
	return true
}
