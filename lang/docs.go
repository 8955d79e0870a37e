package lang

// Documentation of what scripts name and write, as markdown.

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

// fieldDoc lists the fields of a kind of data, "" for what has none.
func fieldDoc(kind string) string {
	t := map[string]*types.Type{
		"vector": {Kind: types.Vector}, "matrix": {Kind: types.Matrix}, "block": {Kind: types.Block}, "tensor": {Kind: types.Tensor}, "csr": {Kind: types.CSR}, "csc": {Kind: types.CSC}, "coo": {Kind: types.COO}, "bcsr": {Kind: types.BCSR},
		"view": types.ViewOf(types.TInvalid),
	}[kind]
	if t == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n```\n")
	for _, f := range check.Fields(t) {
		fmt.Fprintf(&b, "x.%-8s %s\n", f.Name, f.Doc)
	}
	return b.String() + "```\n"
}

// entryDoc shows how e is written, and what it is.
func entryDoc(e vocab.Entry) string { return fmt.Sprintf("```\n%s\n```\n\n%s\n", e.Syntax, e.Doc) }

// tablesDoc documents name as the tables have it: a word with several meanings has
// them all, one after the other.
func tablesDoc(name string, tables ...[]vocab.Entry) string {
	var found []string
	for _, table := range tables {
		for _, e := range table {
			if text := entryDoc(e); e.Name == name && !slices.Contains(found, text) {
				found = append(found, text)
			}
		}
	}
	if found == nil {
		return ""
	}
	return strings.Join(found, "\n") + fieldDoc(name)
}

// builtinDoc documents what the language predeclares, its words and its notations, in
// all their meanings.
func builtinDoc(name string) (markdown string, ok bool) {
	var found []string
	add := func(text string) {
		if text != "" {
			found = append(found, text)
		}
	}
	add(tablesDoc(name, vocab.Words, vocab.Modes, vocab.Builtins, vocab.BodyFuncs, vocab.TypeNames, vocab.ElemNames))
	for _, v := range check.BuiltinValues {
		if v.Name == name {
			add(valueDoc(v.Entry, v.Type))
		}
	}
	add(tablesDoc(name, vocab.Folds, vocab.Clauses))
	add(filterDoc(name))
	for _, set := range vocab.Options {
		add(optionDoc(set.On, name))
	}
	for _, set := range vocab.Args {
		add(argDoc(set.On, name))
	}
	add(tablesDoc(name, check.FieldEntries()))
	add(tablesDoc(name, vocab.Notations))
	if found == nil {
		add(numberDoc(name))
	}
	return strings.Join(found, "\n"), found != nil
}

// valueDoc documents a predeclared value: how it is written where that says more than
// its type.
func valueDoc(e vocab.Entry, t *types.Type) string {
	if e.Syntax == e.Name {
		e.Syntax = fmt.Sprintf("%s: %v", e.Name, t)
	}
	return entryDoc(e)
}

func filterDoc(name string) string {
	for _, f := range check.FilterTable {
		if f.Name == name {
			return entryDoc(vocab.Entry{Syntax: "partition x by " + strings.ReplaceAll(f.Syntax, "  ", "\npartition x by "), Doc: f.Doc})
		}
	}
	return ""
}

// optionDoc documents an option of the construct on, "" if it has none of that name.
func optionDoc(on, name string) string {
	for _, set := range vocab.Options {
		for _, o := range set.Options {
			if set.On == on && o.Name == name {
				return fmt.Sprintf("option of `%s`, %v: %s\n", on, o.Type, o.Doc)
			}
		}
	}
	return ""
}

// argDoc documents a named argument of the construct on, "" if it has none of that name.
func argDoc(on, name string) string {
	e := vocab.ArgNamed(on, name)
	if e == nil {
		return ""
	}
	return fmt.Sprintf("```\n%s\n```\n\nargument of `%s`: %s\n", e.Syntax, on, e.Doc)
}

// numberDoc is the value of an integer that is not written in plain digits.
func numberDoc(text string) string {
	v, ok := syntax.IntValue(text)
	plain := fmt.Sprint(v)
	if !ok || plain == text {
		return ""
	}
	out := fmt.Sprintf("```\n%s = %s\n```\n", text, plain)
	for _, n := range vocab.Notations {
		if strings.HasSuffix(text, n.Name) || strings.HasPrefix(strings.ToLower(text), n.Name) {
			out += "\n" + n.Name + ": " + n.Doc + "\n"
		}
	}
	return out
}

// objectDoc shows what o is, as it is declared, with its documentation.
func objectDoc(name string, o *types.Object) string {
	var b strings.Builder
	b.WriteString("```\n")
	switch {
	case o.Kind == types.CodeletObject:
		b.WriteString("codelet " + interp.SignatureText(o))
	case o.Kind == types.FuncObject:
		b.WriteString("func " + interp.SignatureText(o))
	case o.Kind == types.FilterObject:
		b.WriteString("filter " + interp.SignatureText(o))
	case o.Kind == types.ModuleObject && o.Module != nil:
		fmt.Fprintf(&b, "import %q as %s", o.Module.Name, o.Name)
	default:
		fmt.Fprintf(&b, "%s: %v", name, o.Type)
	}
	b.WriteString("\n```\n")
	if o.Doc != "" {
		b.WriteString("\n" + o.Doc + "\n")
	}
	if o.Kind == types.ModuleObject && o.Module != nil {
		var names []string
		for n := range o.Module.Members {
			names = append(names, "`"+n+"`")
		}
		slices.Sort(names)
		b.WriteString("\n" + strings.Join(names, ", ") + "\n")
	}
	return b.String()
}

// Documentation of the word at a place of a script.

// Doc returns the documentation of the word at offset, as markdown: a name, a word of the
// language, a number in other than plain digits, or the module that an import there
// loads.
func (a *Analysis) Doc(offset int) (markdown string, at Span, ok bool) {
	if a.main() == nil {
		return "", Span{}, false
	}
	var node syntax.Node
	if w, named := a.at(offset); named {
		node, markdown = w, a.docOf(w)
	} else if t, ok := syntax.TokenAt(a.src.Text, offset); ok {
		node, markdown = t, a.tokenDoc(t)
	}
	if markdown == "" {
		return "", Span{}, false
	}
	return markdown, a.main().File.At(node), true
}

// tokenDoc documents what is no name of the tree. Names are here, too, when their
// statement is not complete.
func (a *Analysis) tokenDoc(t syntax.Token) string {
	switch t.Kind {
	case syntax.KeywordToken:
		text, _ := builtinDoc(t.Text)
		return text
	case syntax.NumberToken:
		return numberDoc(t.Text)
	case syntax.TextToken:
		if o := a.importAt(int(t.Lo)); o != nil {
			return objectDoc(o.Name, o)
		}
		if t.Text[0] == 'f' {
			text, _ := builtinDoc("f-string")
			return text
		}
	case syntax.NameToken:
		names := a.visible(int(t.Lo))
		before, member := strings.CutSuffix(strings.TrimRight(a.src.Text[:t.Lo], " \t"), ".")
		if member {
			if o := names[lastWord(before)]; o != nil && o.Module != nil && o.Module.Members[t.Text] != nil {
				return objectDoc(t.Text, o.Module.Members[t.Text])
			}
			return ""
		}
		if o := names[t.Text]; o != nil {
			return a.declared(t.Text, o)
		}
		if modeWord[t.Text] {
			return tablesDoc(t.Text, vocab.Modes) + "\n" + vocab.ModesNote + "\n"
		}
		return tablesDoc(t.Text, vocab.Folds, vocab.Clauses, vocab.Builtins, vocab.BodyFuncs, vocab.TypeNames, vocab.ElemNames)
	}
	return ""
}

// importAt is the module that the import whose path is at offset makes available.
func (a *Analysis) importAt(offset int) *types.Object {
	u := a.main()
	for _, s := range u.File.Stmts {
		im, ok := s.(*syntax.Import)
		if !ok || im.Path == nil || offset < int(im.Path.Lo) || offset > int(im.Path.Hi) {
			continue
		}
		for _, o := range u.Objects {
			if o.Node == s && o.Module != nil {
				return o
			}
		}
	}
	return nil
}

func (a *Analysis) docOf(w word) string {
	if p, callee := w.param(); p != nil {
		text := p.Name + ": "
		if p.Mode != 0 {
			text += p.Mode.String() + " "
		}
		return fmt.Sprintf("```\n%s%v\n```\n\nparameter of `%s`\n", text, p.Type, callee.Name)
	}
	switch p := w.parent(0).(type) {
	case *syntax.Option:
		if p.Name == w.Ident {
			return optionDoc(w.optionOf(), w.Name)
		}
	case *syntax.Arg:
		if p.Name == w.Ident {
			return argDoc(w.argOf(), w.Name)
		}
	case *syntax.TypeExpr:
		if len(w.Name) == 1 {
			text, _ := builtinDoc("T")
			return text
		}
	case *syntax.FilterCall:
		if s, ok := w.parent(1).(*syntax.Partition); ok && s.Over == p {
			return tablesDoc("over", vocab.Clauses)
		}
		if w.Obj == nil {
			return filterDoc(w.Name)
		}
	case *syntax.Selector:
		if p.Name == w.Ident && w.Obj == nil {
			if p.X == nil || p.X.Type() == nil {
				return ""
			}
			for _, f := range check.Fields(p.X.Type()) {
				if f.Name == w.Name {
					return entryDoc(vocab.Entry{Syntax: fmt.Sprintf("%s: %v", f.Name, f.Type), Doc: f.Doc})
				}
			}
			return ""
		}
	}
	switch o := w.Obj; {
	case o == nil: // constructors, types, kinds of workers, and values in bodies; also what is not declared
		text := tablesDoc(w.Name, vocab.TypeNames, vocab.ElemNames, vocab.Builtins, vocab.BodyFuncs)
		for _, v := range check.BuiltinValues {
			if v.Name == w.Name && (v.Type == types.TDevice || text == "") {
				return valueDoc(v.Entry, v.Type)
			}
		}
		return text
	case o.Kind == types.BuiltinFunc:
		return tablesDoc(w.Name, vocab.Builtins, vocab.BodyFuncs)
	case o.Kind == types.BuiltinValue:
		for _, v := range check.BuiltinValues {
			if v.Name == w.Name {
				return valueDoc(v.Entry, v.Type)
			}
		}
	default:
		return a.declared(w.Name, o)
	}
	return ""
}

// declared documents what a script or the host declares.
func (a *Analysis) declared(name string, o *types.Object) string {
	text := objectDoc(name, o)
	for _, s := range a.declarations(o) {
		text += "\n```\n" + s + "\n```\n"
	}
	if !o.Decl.IsZero() && o.Decl.File != a.src.Name {
		text += fmt.Sprintf("\ndefined at %s:%d\n", o.Decl.File, o.Decl.Start.Line)
	}
	return text
}

// optionOf is the construct that w is an option of.
func (w word) optionOf() string {
	switch w.parent(2).(type) {
	case *syntax.Insert:
		return "insert"
	case *syntax.Codelet:
		return "codelet"
	case *syntax.Hint:
		return "hint"
	case *syntax.Prefetch:
		return "prefetch"
	}
	return ""
}

// argOf is the construct that w names an argument of, when no signature has it.
func (w word) argOf() string {
	switch call := w.parent(1).(type) {
	case *syntax.FilterCall:
		return "partition"
	case *syntax.Call:
		if call.Callee == nil {
			return "register" // a constructor
		}
		return call.Callee.Name
	}
	return ""
}
