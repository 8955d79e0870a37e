package lang

// Tokens for editors: what each word of a script is, so that it can be coloured.

import (
	"slices"

	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// A SyntaxToken is a piece of a script. Kind is a type of semantic token of the Language
// Server Protocol: "comment", "string", "number", "operator", "keyword", "modifier" (an
// access mode), "type", "namespace" (a module), "method" (a codelet), "function",
// "parameter", "variable", "property" (a field, or an option). Declares, Fixed and Given
// say that it is declared there, that it cannot be assigned, and that the language or the
// host declares it.
type SyntaxToken struct {
	Offset, Len            int // in bytes
	Kind                   string
	Declares, Fixed, Given bool
}

// SyntaxTokens lists the tokens of the script, in the order of the text. Brackets, commas
// and names of unknown meaning are left out.
func (a *Analysis) SyntaxTokens() []SyntaxToken {
	u := a.main()
	words := map[int32]word{}
	if u != nil {
		for _, w := range a.wordsOf(len(a.units) - 1) {
			words[w.Lo] = w
		}
	}
	var out []SyntaxToken
	var before syntax.Token
	for _, t := range syntax.Tokens(a.src.Text) {
		s := SyntaxToken{Offset: int(t.Lo), Len: int(t.Hi - t.Lo)}
		switch t.Kind {
		case syntax.CommentToken:
			s.Kind = "comment"
		case syntax.TextToken:
			s.Kind = "string"
		case syntax.NumberToken:
			s.Kind = "number"
		case syntax.KeywordToken:
			s.Kind = "keyword"
		case syntax.SignToken:
			if !slices.Contains([]string{"(", ")", "[", "]", "{", "}", ",", ":", "."}, t.Text) {
				s.Kind = "operator"
			}
		case syntax.NameToken:
			if w, ok := words[t.Lo]; ok {
				a.describe(&s, w)
			}
			if s.Kind == "" {
				a.guess(&s, t, before)
			}
		}
		if s.Kind != "" {
			out = append(out, s)
		}
		before = t
	}
	return out
}

// kindTokens are the kinds of tokens of objects.
var kindTokens = map[types.ObjectKind]string{
	types.LetObject: "variable", types.FuncParam: "parameter", types.LoopVar: "variable", types.ParamObject: "variable",
	types.HandleObject: "variable", types.ViewObject: "variable", types.ArrayObject: "variable", types.FuncObject: "function",
	types.CodeletObject: "method", types.ModuleObject: "namespace", types.BuiltinFunc: "function", types.BuiltinValue: "variable",
	types.FilterObject: "function", types.OperandObject: "parameter", types.ScalarObject: "parameter", types.KernelLet: "variable",
	types.EachVar: "variable", types.KernelFor: "variable",
}

// fixedObjects cannot be assigned.
var fixedObjects = map[types.ObjectKind]bool{types.LoopVar: true, types.ParamObject: true, types.BuiltinValue: true, types.ScalarObject: true,
	types.EachVar: true, types.KernelFor: true}

// describe fills in what the tree knows of w.
func (a *Analysis) describe(s *SyntaxToken, w word) {
	if p, callee := w.param(); p != nil {
		s.Kind, s.Given = "parameter", callee.Host != nil
		return
	}
	switch p := w.parent(0).(type) {
	case *syntax.Option:
		if p.Name == w.Ident {
			s.Kind = "property"
			return
		}
	case *syntax.Arg:
		if p.Name == w.Ident {
			s.Kind, s.Given = "parameter", true
			return
		}
	case *syntax.TypeExpr:
		s.Kind, s.Given = "type", len(w.Name) > 1
		return
	case *syntax.FilterCall:
		if w.Obj == nil {
			s.Kind, s.Given = "function", true
			return
		}
	case *syntax.Selector:
		if p.Name == w.Ident && w.Obj == nil {
			s.Kind, s.Given = "property", true
			return
		}
	}
	if o := w.Obj; o != nil {
		a.object(s, o)
		s.Declares = sameSpan(o.Decl, a.main().File.At(w))
	}
}

// object fills in what o says.
func (a *Analysis) object(s *SyntaxToken, o *types.Object) {
	s.Kind, s.Fixed = kindTokens[o.Kind], fixedObjects[o.Kind]
	s.Given = o.Host != nil || o.Kind == types.BuiltinFunc || o.Kind == types.BuiltinValue
}

// guess fills in what a name means whose statement is incomplete, or that the tree has no
// node for.
func (a *Analysis) guess(s *SyntaxToken, t, before syntax.Token) {
	if before.Text == "." {
		s.Kind = "property"
		return
	}
	if modeWord[t.Text] {
		s.Kind = "modifier"
		return
	}
	if u := a.main(); u != nil && u.Objects[t.Text] != nil {
		a.object(s, u.Objects[t.Text])
		return
	}
	for _, table := range []struct {
		kind    string
		entries []check.Entry
	}{{"type", check.TypeNames}, {"type", check.ElemNames}, {"function", check.Builtins}, {"function", check.BodyFuncs}, {"keyword", check.Folds}} {
		if slices.ContainsFunc(table.entries, func(e check.Entry) bool { return e.Name == t.Text }) {
			s.Kind, s.Given = table.kind, true
			return
		}
	}
	for _, v := range check.BuiltinValues {
		if v.Name == t.Text {
			s.Kind, s.Fixed, s.Given = "variable", true, true
			return
		}
	}
	if slices.ContainsFunc(check.FilterTable, func(f check.FilterEntry) bool { return f.Name == t.Text }) {
		s.Kind, s.Given = "function", true
	}
}
