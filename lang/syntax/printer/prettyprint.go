package printer

// Documents: text with places where a line may break, and the algorithm that
// chooses them (Wadler's, with Prettier's comments at the end of lines).

import (
	"strings"
	"unicode/utf8"
)

// fmtWidth is the column that lines should not pass.
const fmtWidth = 100

// doc is a piece of a document.
type doc interface{}

type (
	text     string   // without newlines
	seq      []doc    // one after the other
	line     struct{} // a space, or a newline in a broken group
	softline struct{} // nothing, or a newline in a broken group
	hardline struct{} // a newline; breaks the groups around it
	blank    struct{} // an empty line, then a newline
	choice   struct{ flat, broken doc }
	indented struct {
		by   int
		body doc
	}
	// grouped is printed on one line if it fits, else all its lines break.
	grouped struct {
		body  doc
		force bool // break in any case
	}
	// filled breaks a line only where the next item does not fit.
	filled struct{ items []doc }
	// remark is a comment at the end of a line: the line ends behind it. In the
	// source it stood gap columns behind width columns of code.
	remark struct {
		text       string
		width, gap int
	}
	// note is a comment on a line of its own.
	note struct {
		text  string
		outer bool // in front of what ends something
	}
	// comma is a comma that goes in front of a remark.
	comma struct{}
	// wrapped is a documentation comment.
	wrapped struct{ text string }
)

// propagate marks the groups that hold something that breaks. It returns the
// document, whether it breaks, and whether it ends with a remark: then what holds it
// breaks if more follows.
func propagate(d doc) (out doc, breaks, tail bool) {
	switch d := d.(type) {
	case remark:
		return d, false, true
	case hardline, blank, note, wrapped:
		return d, true, false
	case seq:
		breaks, tail = propagateAll(d)
		return d, breaks, tail
	case indented:
		d.body, breaks, tail = propagate(d.body)
		return d, breaks, tail
	case grouped:
		d.body, breaks, tail = propagate(d.body)
		d.force = d.force || breaks
		return d, d.force, tail
	case filled:
		breaks, tail = propagateAll(d.items)
		return d, breaks, tail
	}
	return d, false, false
}

// propagateAll is propagate for documents one after the other.
func propagateAll(ds []doc) (breaks, tail bool) {
	for i, x := range ds {
		if x == nil || x == text("") {
			continue
		}
		y, b, t := propagate(x)
		ds[i] = y
		breaks = breaks || b || tail
		tail = t
	}
	return breaks, tail
}

// frame is a document to print at an indentation.
type frame struct {
	indent int
	flat   bool
	d      doc
}

// docPrinter lays out a document.
type docPrinter struct {
	out     strings.Builder
	line    strings.Builder // the current line, without its remark
	margin  int             // indentation of the current line
	remarks []remark        // to be written at the end of the line
	broken  bool            // the line must end before more text
	noted   bool            // because it is a comment
	col     int
	base    int // indentation of the statement
}

// write appends text to the line; indent is where the next one starts.
func (p *docPrinter) write(s string, indent int) {
	if s == "" || p.broken && s == " " {
		return
	}
	if p.broken {
		p.endLine(indent, s == "else" || s[0] == '}' || s[0] == ')' || s[0] == ']')
	}
	if p.line.Len() == 0 {
		if s = strings.TrimLeft(s, " "); s == "" {
			return
		}
		p.line.WriteString(strings.Repeat(" ", p.margin))
	}
	p.line.WriteString(s)
	p.col += utf8.RuneCountInString(s)
}

// endLine ends a line in the middle of a statement, because of a comment. Text
// behind a comment on a line of its own is indented like it, unless outer is set: then
// the text ends something.
func (p *docPrinter) endLine(indent int, outer bool) {
	switch {
	case p.noted && !outer:
		indent = p.margin
	case indent == p.base && !outer:
		indent += 4
	}
	p.newline(indent)
}

// newline ends the line, with its remarks.
func (p *docPrinter) newline(indent int) {
	s := strings.TrimRight(p.line.String(), " ")
	for _, r := range p.remarks {
		// the comment keeps its column, so that those below each other stay aligned,
		// unless the code in front of it is another now
		width := utf8.RuneCountInString(s)
		code := width - p.margin
		gap := r.width + r.gap - code
		if gap < 1 || code < r.width-8 || code > r.width+8 {
			gap = 2
		}
		switch {
		case width == 0:
			s = strings.Repeat(" ", p.margin) + r.text
		default:
			s += strings.Repeat(" ", gap) + r.text
		}
	}
	p.out.WriteString(s)
	p.out.WriteByte('\n')
	p.line.Reset()
	p.remarks, p.broken, p.noted = nil, false, false
	p.margin, p.col = indent, indent
}

// render prints d.
func (p *docPrinter) render(d doc) string {
	d, _, _ = propagate(d)
	stack := []frame{{0, false, d}}
	for len(stack) > 0 {
		f := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		switch d := f.d.(type) {
		case nil:
		case text:
			p.write(string(d), f.indent)
		case seq:
			for i := len(d) - 1; i >= 0; i-- {
				stack = append(stack, frame{f.indent, f.flat, d[i]})
			}
		case line:
			if f.flat {
				p.write(" ", f.indent)
			} else {
				p.newline(f.indent)
			}
		case softline:
			if !f.flat {
				p.newline(f.indent)
			}
		case hardline:
			p.newline(f.indent)
			p.base = f.indent
		case blank:
			p.newline(f.indent)
			p.newline(f.indent)
			p.base = f.indent
		case choice:
			if f.flat {
				stack = append(stack, frame{f.indent, true, d.flat})
			} else {
				stack = append(stack, frame{f.indent, false, d.broken})
			}
		case indented:
			stack = append(stack, frame{f.indent + d.by, f.flat, d.body})
		case grouped:
			flat := f.flat || !d.force && p.fits(frame{f.indent, true, d.body}, stack)
			stack = append(stack, frame{f.indent, flat, d.body})
		case filled:
			for i := len(d.items) - 1; i >= 0; i-- {
				stack = append(stack, frame{f.indent, f.flat, d.items[i]})
				if i > 0 {
					stack = append(stack, frame{f.indent, f.flat, grouped{body: line{}}})
				}
			}
		case wrapped:
			for i, l := range wrap(d.text, fmtWidth-f.indent) {
				if i > 0 {
					p.newline(f.indent)
				}
				p.write(l, f.indent)
			}
		case remark:
			p.remarks = append(p.remarks, d)
			p.broken = true
		case comma:
			if broken := p.broken && !p.noted; broken { // the remark stays behind it
				p.broken = false
				p.write(",", f.indent)
				p.broken = true
			} else {
				p.write(",", f.indent)
			}
		case note:
			if p.line.Len() > 0 || p.broken {
				p.endLine(f.indent, d.outer)
			}
			p.write(d.text, f.indent)
			p.broken, p.noted = true, true
		}
	}
	if p.line.Len() > 0 || p.broken {
		p.newline(0)
	}
	return p.out.String()
}

// fits reports whether f, and what follows on its line, fits the rest of the line.
func (p *docPrinter) fits(f frame, rest []frame) bool {
	room := fmtWidth - p.col
	todo := []frame{f}
	for k := len(rest); room >= 0; {
		if len(todo) == 0 {
			if k == 0 {
				return true
			}
			k--
			todo = append(todo, rest[k])
		}
		f := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		switch d := f.d.(type) {
		case comma:
			room--
		case text:
			room -= utf8.RuneCountInString(string(d))
		case seq:
			for i := len(d) - 1; i >= 0; i-- {
				todo = append(todo, frame{f.indent, f.flat, d[i]})
			}
		case line:
			if !f.flat {
				return true
			}
			room--
		case softline:
			if !f.flat {
				return true
			}
		case hardline, blank, note, wrapped:
			return true
		case choice:
			if f.flat {
				todo = append(todo, frame{f.indent, true, d.flat})
			} else {
				todo = append(todo, frame{f.indent, false, d.broken})
			}
		case indented:
			todo = append(todo, frame{f.indent, f.flat, d.body})
		case grouped:
			todo = append(todo, frame{f.indent, f.flat && !d.force, d.body})
		case filled:
			for i := len(d.items) - 1; i >= 0; i-- {
				todo = append(todo, frame{f.indent, f.flat, d.items[i]})
				if i > 0 {
					todo = append(todo, frame{f.indent, f.flat, line{}})
				}
			}
		}
	}
	return false
}
