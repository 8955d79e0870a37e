package syntax

// Documentation: which ## comments belong to the file and to a declaration.

import (
	"regexp"
	"sort"
	"strings"

	"github.com/starpush/starpush/lang/syntax/token"
)

// docBefore is the text of the ## lines directly above offset lo, comments that allow
// warnings between them aside.
func (p *parser) docBefore(lo int32) string {
	n := sort.Search(len(p.comments), func(i int) bool { return p.comments[i].Lo >= lo })
	from := n
	for next := lo; from > 0; from-- {
		c := p.comments[from-1]
		if !strings.HasPrefix(c.Text, "##") && !allowComment.MatchString(c.Text) || !p.ownLine(c) || !oneNewline(p.Text[c.Hi:next]) {
			break
		}
		next = c.Lo
	}
	return docText(p.comments[from:n])
}

// fileDoc is the text of the first ## lines, in front of all statements.
func (p *parser) fileDoc() string {
	first := p.Tokens[len(p.Tokens)-1].Lo
	for _, t := range p.Tokens {
		if t.Kind != token.NL {
			first = t.Lo
			break
		}
	}
	from := 0
	for from < len(p.comments) && p.comments[from].Lo < first && !strings.HasPrefix(p.comments[from].Text, "##") {
		from++
	}
	to := from
	for to < len(p.comments) && p.comments[to].Lo < first && strings.HasPrefix(p.comments[to].Text, "##") &&
		(to == from || oneNewline(p.Text[p.comments[to-1].Hi:p.comments[to].Lo])) {
		to++
	}
	return docText(p.comments[from:to])
}

// ownLine reports whether nothing but white space comes before c on its line.
func (p *parser) ownLine(c Comment) bool {
	for i := c.Lo - 1; i >= 0 && p.Text[i] != '\n'; i-- {
		if p.Text[i] != ' ' && p.Text[i] != '\t' {
			return p.Text[:i+1] == "\ufeff"
		}
	}
	return true
}

// oneNewline reports whether s is white space with one newline.
func oneNewline(s string) bool {
	return strings.TrimSpace(s) == "" && strings.Count(s, "\n") == 1
}

// docText joins the texts of ## comments.
func docText(cs []Comment) string {
	var lines []string
	for _, c := range cs {
		if !strings.HasPrefix(c.Text, "##") {
			continue
		}
		lines = append(lines, strings.TrimRight(strings.TrimPrefix(strings.TrimLeft(c.Text, "#"), " "), " \t"))
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// Comments that allow warnings: "# allow W1004: the loop needs the value".

// An Allowance is a code in a comment that allows a warning.
type Allowance struct {
	Code    string // "W1004"; what looks like a code, whether there is one or not
	At      Span   // the code
	Comment Span   // the comment
	Alone   bool   // the comment has no other code
	Covers  Span   // the text that the comment is for
}

// allowComment is a comment with codes behind "allow"; what follows them is a reason.
var allowComment = regexp.MustCompile(`^#[ \t]*allow[ \t]+((?:[A-Za-z]\d{4}\b)(?:[ \t]*,[ \t]*[A-Za-z]\d{4}\b)*)`)

var allowedCode = regexp.MustCompile(`[A-Za-z]\d{4}`)

// allowedLine is a line that comments are for.
type allowedLine struct {
	Span
	behind bool // the comment is at the end of the line
	covers Span // the line, and statements that begin there, or, with behind, end there
}

// Allowances lists what comments of f allow, in the order of the text. A comment at the end
// of a line is for that line and for the statements that begin or end there, with
// all that is in them; one on a line of its own is for the next line that is no comment,
// and the statements that begin there. So it stays with its statement where the printer
// breaks lines.
func Allowances(f *File) []Allowance {
	var lines []*allowedLine // from the last one to the first
	var out []Allowance
	of := map[int32]*allowedLine{} // of comments, by where they begin
	text := f.Source.Text
	var next *allowedLine // of a comment that is alone on the line below
	below := int32(-1)    // where that comment begins
	for i := len(f.Comments) - 1; i >= 0; i-- {
		c := f.Comments[i]
		lo, hi := lineAround(text, c.Lo)
		l := &allowedLine{Span: Span{Lo: lo, Hi: hi}, behind: true}
		if strings.Trim(text[lo:c.Lo], " \t\ufeff") == "" {
			if next == nil || below < 0 || !oneNewline(text[c.Hi:below]) {
				l.behind = false
				l.Lo, l.Hi = lineAround(text, min(hi+1, int32(len(text))))
				next = l
			}
			l, below = next, c.Lo
		}
		if allowComment.MatchString(c.Text) {
			of[c.Lo] = l
			if len(lines) == 0 || lines[len(lines)-1] != l {
				l.covers = l.Span
				lines = append(lines, l)
			}
		}
	}
	if len(lines) == 0 {
		return nil
	}
	touching := func(offset int32, behind bool, s Span) {
		k := sort.Search(len(lines), func(i int) bool { return lines[i].Lo <= offset })
		for ; k < len(lines) && lines[k].Lo <= offset && offset <= lines[k].Hi; k++ {
			if l := lines[k]; l.behind || !behind {
				l.covers = Span{Lo: min(l.covers.Lo, s.Lo), Hi: max(l.covers.Hi, s.Hi)}
			}
		}
	}
	Walk(f, func(n Node, _ []Node) {
		if s, ok := n.(Stmt); ok {
			touching(s.Range().Lo, false, s.Range())
			touching(s.Range().Hi, true, s.Range())
		}
	})
	for _, c := range f.Comments {
		l := of[c.Lo]
		if l == nil {
			continue
		}
		m := allowComment.FindStringSubmatchIndex(c.Text)
		codes := allowedCode.FindAllStringIndex(c.Text[m[2]:m[3]], -1)
		for _, k := range codes {
			lo, hi := m[2]+k[0], m[2]+k[1]
			out = append(out, Allowance{Code: strings.ToUpper(c.Text[lo:hi]), At: Span{Lo: c.Lo + int32(lo), Hi: c.Lo + int32(hi)},
				Comment: c.Span, Alone: len(codes) == 1, Covers: l.covers})
		}
	}
	return out
}

// lineAround is the line that offset lies in, without the newline.
func lineAround(text string, offset int32) (lo, hi int32) {
	lo = int32(strings.LastIndexByte(text[:offset], '\n') + 1)
	if n := strings.IndexByte(text[offset:], '\n'); n >= 0 {
		return lo, offset + int32(n)
	}
	return lo, int32(len(text))
}
