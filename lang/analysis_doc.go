package lang

// Documentation of what stands at a place of a script.

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// Doc documents what stands at offset, as markdown: a name, a word of the language, a
// number in other than plain digits, or the module that an import there loads.
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
			return tablesDoc(t.Text, check.Modes) + "\n" + check.ModesNote + "\n"
		}
		return tablesDoc(t.Text, check.Folds, check.Builtins, check.BodyFuncs, check.TypeNames, check.ElemNames)
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
					return entryDoc(check.Entry{Syntax: fmt.Sprintf("%s: %v", f.Name, f.Type), Doc: f.Doc})
				}
			}
			return ""
		}
	}
	switch o := w.Obj; {
	case o == nil: // constructors, types, kinds of workers, and values in bodies; also what is not declared
		text := tablesDoc(w.Name, check.TypeNames, check.ElemNames, check.Builtins, check.BodyFuncs)
		for _, v := range check.BuiltinValues {
			if v.Name == w.Name && (v.Type == types.TDevice || text == "") {
				return valueDoc(v.Entry, v.Type)
			}
		}
		return text
	case o.Kind == types.BuiltinFunc:
		return tablesDoc(w.Name, check.Builtins, check.BodyFuncs)
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
