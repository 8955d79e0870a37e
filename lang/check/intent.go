package check

// Scripts that do something else than was meant, without an error: one that runs
// nothing, and texts that are printed as they stand.

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// runsNothing warns about a script that only declares and has a function called main,
// which nothing calls. What else only declares may be a module, or be called from a Go
// program.
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
		if i == 0 && len(e.Args) > 1 && syntax.IsFormat(lit.Value) {
			d := c.warn("W0701", lit, "`print` has no formats: this text is printed as it stands")
			d.Help = append(d.Help, "formats are written in f-strings: `f\"n = {n:d}\"`")
			var args []string
			for _, v := range e.Args[1:] {
				args = append(args, c.text(v.Value))
			}
			if right := syntax.Interpolated(syntax.WithoutNewline(c.text(lit)), args); right != "" {
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
		case types.FuncObject, types.CodeletObject, types.ModuleObject:
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
