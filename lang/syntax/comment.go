package syntax

// Documentation: which ## comments belong to the file and to a declaration.

import (
	"sort"
	"strings"
)

// docBefore is the text of the ## lines directly above offset lo, comments that allow
// warnings between them aside.
func (p *parser) docBefore(lo int32) string {
	n := sort.Search(len(p.comments), func(i int) bool { return p.comments[i].Lo >= lo })
	from := n
	for next := lo; from > 0; from-- {
		c := p.comments[from-1]
		if !strings.HasPrefix(c.Text, "##") && !allowComment.MatchString(c.Text) || !p.ownLine(c) || !oneNewline(p.text[c.Hi:next]) {
			break
		}
		next = c.Lo
	}
	return docText(p.comments[from:n])
}

// fileDoc is the text of the first ## lines, in front of all statements.
func (p *parser) fileDoc() string {
	first := p.toks[len(p.toks)-1].lo
	for _, t := range p.toks {
		if t.kind != tokNL {
			first = t.lo
			break
		}
	}
	from := 0
	for from < len(p.comments) && p.comments[from].Lo < first && !strings.HasPrefix(p.comments[from].Text, "##") {
		from++
	}
	to := from
	for to < len(p.comments) && p.comments[to].Lo < first && strings.HasPrefix(p.comments[to].Text, "##") &&
		(to == from || oneNewline(p.text[p.comments[to-1].Hi:p.comments[to].Lo])) {
		to++
	}
	return docText(p.comments[from:to])
}

// ownLine reports whether nothing but white space comes before c on its line.
func (p *parser) ownLine(c Comment) bool {
	for i := c.Lo - 1; i >= 0 && p.text[i] != '\n'; i-- {
		if p.text[i] != ' ' && p.text[i] != '\t' {
			return p.text[:i+1] == "\ufeff"
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
