package lang

// Calls for editors: the signature of what is called, while its arguments are typed.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/interp"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
	"github.com/starpush/starpush/lang/vocab"
)

// CallInfo describes the arguments that are possible at a place in a call.
type CallInfo struct {
	Forms []CallForm // the ways to call it: "blocks(p)", "blocks(sizes = [...])"
	Form  int        // which of Forms fits the arguments so far
	Param int        // which parameter of that form the place is for; len(Params): none
}

// A CallForm is one way to call something.
type CallForm struct {
	Text   string // "dot(x: R vector[f64], acc: RW variable[f64])"
	Doc    string // markdown
	Params []CallParam
}

// A CallParam is one parameter of a form.
type CallParam struct {
	Name   string
	Lo, Hi int    // where it is in the Text of the form, in bytes
	Doc    string // markdown
}

// Call says what the call around offset takes: an insert of a codelet, a function, a
// builtin, a constructor or a filter. The statement may be unfinished.
func (a *Analysis) Call(offset int) (c CallInfo, ok bool) {
	if a.main() == nil || offset < 0 || offset > len(a.src.Text) {
		return c, false
	}
	at, ok := syntax.EnclosingCall(a.src.Text, offset)
	if !ok {
		return c, false
	}
	if c.Forms = a.forms(at, offset); c.Forms == nil {
		return c, false
	}
	c.Form, c.Param = choose(c.Forms, at)
	return c, true
}

// forms lists the ways to call what at calls, nil for none.
func (a *Analysis) forms(at syntax.CallAt, offset int) []CallForm {
	switch at.Before {
	case "codelet", "func": // a declaration
		return nil
	case "by", "then":
		for _, o := range a.comp.env.Filters {
			if o.Name == at.Callee {
				return []CallForm{objectForm(o, 1)} // the first parameter is what is split
			}
		}
		return filterForms(at.Callee)
	}
	if at.Data {
		return constructorForm(at.Callee)
	}
	o := a.finder(a.visible(offset))(at.Callee)
	if o == nil {
		module, name, _ := strings.Cut(at.Callee, ".")
		if _, m := a.comp.env.ModuleNamed(module); m != nil { // not imported yet
			o = m.Members[name]
		}
	}
	switch {
	case o != nil && o.Sig != nil && (o.Kind == types.CodeletObject) == (at.Before == "insert"):
		return []CallForm{objectForm(o, 0)}
	case o != nil || at.Before == "insert":
		return nil
	}
	return builtinForm(at.Callee)
}

// choose finds the form that has the named arguments of a call, and as many as were given
// if there is one, and the parameter of the argument at hand.
func choose(forms []CallForm, at syntax.CallAt) (form, param int) {
	fits := func(f *CallForm) bool {
		for _, name := range at.Args {
			if name != "" && f.param(name) < 0 {
				return false
			}
		}
		return at.Arg < len(f.Params) || f.more()
	}
	form = max(0, slices.IndexFunc(forms, func(f CallForm) bool { return fits(&f) }))
	f := &forms[form]
	name := ""
	if at.Arg < len(at.Args) {
		name = at.Args[at.Arg]
	}
	switch {
	case name != "":
		if param = f.param(name); param < 0 {
			param = len(f.Params)
		}
	case at.Arg >= len(f.Params) && f.more():
		param = len(f.Params) - 1
	default:
		param = min(at.Arg, len(f.Params))
	}
	return form, param
}

// param is the place of a parameter, -1 for none of that name.
func (f *CallForm) param(name string) int {
	return slices.IndexFunc(f.Params, func(p CallParam) bool { return p.Name == name })
}

// more reports whether f takes any number of arguments.
func (f *CallForm) more() bool { return len(f.Params) > 0 && f.Params[len(f.Params)-1].Name == "…" }

// add appends a parameter to an unfinished form, which ends with "(" or a parameter.
func (f *CallForm) add(name, text, doc string) {
	if !strings.HasSuffix(f.Text, "(") {
		f.Text += ", "
	}
	lo := len(f.Text)
	f.Text += text
	f.Params = append(f.Params, CallParam{name, lo, len(f.Text), doc})
}

// objectForm is the signature of a codelet, function or filter without its first
// parameters.
func objectForm(o *types.Object, skip int) CallForm {
	f := CallForm{Text: o.Name + "(", Doc: o.Doc}
	texts := paramTexts(interp.SignatureText(o))
	for i := range o.Sig.Params {
		p := &o.Sig.Params[i]
		text := p.Name + ": " + p.Type.String()
		if i < len(texts) {
			text = texts[i]
		}
		if src := p.Span.Source(); src != nil { // with its default
			text = strings.Join(strings.Fields(src.Text[p.Span.Start.Offset:p.Span.End.Offset]), " ")
		}
		if i >= skip {
			f.add(p.Name, text, paramDoc(p))
		}
	}
	f.Text += ")"
	if r := o.Sig.Result; o.Kind == types.FuncObject && r != nil && r.Kind != types.None {
		f.Text += " -> " + r.String()
	}
	return f
}

// paramDoc says how an operand is passed.
func paramDoc(p *types.Param) string {
	mode := p.Mode.String()
	for _, e := range vocab.Modes {
		if p.Mode == 0 || e.Name != mode {
			continue
		}
		insert := "`" + mode + " " + p.Name + "`"
		if mode == "RW" {
			insert += ", `COMMUTE` or `REDUX`"
		}
		if mode == "W" {
			insert += " or `COMMUTE`"
		}
		return fmt.Sprintf("%s: %s; inserted as %s", mode, e.Doc, insert)
	}
	return ""
}

// paramTexts cuts the parameters out of a signature.
func paramTexts(signature string) (out []string) {
	_, rest, _ := strings.Cut(signature, "(")
	depth, quoted, from := 0, false, 0
	for i, r := range rest {
		switch {
		case r == '"':
			quoted = !quoted
		case quoted:
		case r == '(' || r == '[' || r == '{':
			depth++
		case r == ')' || r == ']' || r == '}':
			depth--
		}
		if depth < 0 || r == ',' && depth == 0 && !quoted {
			if text := strings.TrimSpace(rest[from:i]); text != "" {
				out = append(out, text)
			}
			from = i + 1
		}
		if depth < 0 {
			break
		}
	}
	return out
}

// writtenForm is a form as the tables write it: "close(a, b, tol = 1e-9) -> bool".
func writtenForm(on, text, doc string) CallForm {
	name, _, _ := strings.Cut(text, "(")
	f := CallForm{Text: name + "(", Doc: doc}
	for _, p := range paramTexts(text) {
		param, _, _ := strings.Cut(p, " = ")
		about := ""
		if e := vocab.ArgNamed(on, param); e != nil {
			about = e.Doc
		}
		f.add(param, p, about)
	}
	f.Text += ")"
	if _, result, ok := strings.Cut(text, " -> "); ok {
		f.Text += " -> " + result
	}
	return f
}

func builtinForm(name string) []CallForm {
	for _, table := range [][]vocab.Entry{vocab.Builtins, vocab.BodyFuncs} {
		for _, e := range table {
			if e.Name == name {
				return []CallForm{writtenForm(name, e.Syntax, e.Doc)}
			}
		}
	}
	if name == "void" {
		return []CallForm{{Text: "void()"}}
	}
	return nil
}

func filterForms(name string) (out []CallForm) {
	for _, e := range check.FilterTable {
		if e.Name != name {
			continue
		}
		for _, text := range strings.Split(e.Syntax, "  ") {
			if slices.ContainsFunc(e.Args, func(a check.FilterArg) bool { return a.Name == "halo" }) {
				text = strings.TrimSuffix(text, ")") + ", halo = 0, inside = halo)"
			}
			f := writtenForm("partition", text, e.Doc)
			for i := range min(len(f.Params), len(e.Args)) { // "a..b" has a name
				if p := &f.Params[i]; vocab.ArgNamed("partition", p.Name) == nil {
					p.Name = e.Args[i].Name
					p.Doc = vocab.ArgNamed("partition", p.Name).Doc
				}
			}
			out = append(out, f)
		}
	}
	return out
}

func constructorForm(kind string) []CallForm {
	if !holdsElements[kind] || kind == "dense" || kind == "array" {
		return nil
	}
	f := CallForm{Text: kind + "[T]("}
	if e := slices.IndexFunc(vocab.TypeNames, func(e vocab.Entry) bool { return e.Name == kind }); e >= 0 {
		f.Doc = vocab.TypeNames[e].Doc
	}
	named := false
	for _, name := range check.ConstructorArgs(kind) {
		text, doc := name, ""
		if named = named || name == "fill"; named {
			text += " = …"
		}
		if e := vocab.ArgNamed("register", name); e != nil {
			doc = e.Doc
		}
		f.add(name, text, doc)
	}
	f.Text += ")"
	return []CallForm{f}
}
