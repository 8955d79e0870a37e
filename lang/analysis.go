package lang

// Analysis for editors: questions about a script, right or wrong, without running it.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/interp"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/syntax/token"
	"github.com/starpush/starpush/lang/types"
	"github.com/starpush/starpush/lang/vocab"
)

// An Analysis is what the compiler understood of a script and of what it imports.
// It exists for any text. Offsets are in bytes. It is for one goroutine at a time.
type Analysis struct {
	comp  *Compiler
	src   *diag.Source
	diags Diagnostics
	units []*check.Unit // the script itself is the last
	words [][]word      // of each unit, once they were asked for
}

// A word is a name in the text with the nodes around it.
type word struct {
	*syntax.Ident
	up *link
}

// A link is a node around a word, and the next one around that. Words share them: a
// sum of n names is n nodes deep.
type link struct {
	syntax.Node
	up *link
}

// NameAt is a name in a script. Decl is where it is declared; zero if the
// language or the host does that.
type NameAt struct {
	Name     string
	At, Decl Span
}

// Analyze parses and checks src and all it imports, as Compile does, and keeps
// what it found out.
func (c *Compiler) Analyze(ctx context.Context, name string, src []byte) (a *Analysis) {
	ctx = interp.Context(ctx)
	if c == nil {
		c = &Compiler{}
	}
	a = &Analysis{comp: c, src: diag.NewSource(name, string(src))}
	defer func() {
		if r := recover(); r != nil {
			a.diags, a.units = Diagnostics{internal(a.src, r)}, nil
		}
	}()
	units, ds := check.Units(c.envFor(ctx), a.src)
	a.units, a.diags = units, c.cfg.Warnings.apply(ds)
	a.words = make([][]word, len(units))
	return a
}

// Diagnostics returns the diagnostics that Compile reports for the script.
func (a *Analysis) Diagnostics() Diagnostics { return a.diags }

// Sources names the files that the script consists of, itself last.
func (a *Analysis) Sources() []string {
	var out []string
	for _, u := range a.units {
		out = append(out, u.File.Source.Name)
	}
	return out
}

func (a *Analysis) main() *check.Unit {
	if len(a.units) == 0 {
		return nil // the checker failed
	}
	return a.units[len(a.units)-1]
}

// wordsOf lists the names in unit k, in the order of the text.
func (a *Analysis) wordsOf(k int) []word {
	if a.words[k] == nil {
		out := []word{}
		links := []*link{nil} // around the node that is visited, by depth
		syntax.Walk(a.units[k].File, func(n syntax.Node, around []syntax.Node) {
			links = links[:len(around)+1]
			up := links[len(around)]
			if id, ok := n.(*syntax.Ident); ok && id.Hi > id.Lo { // the parser makes up what is missing
				out = append(out, word{id, up})
			}
			links = append(links, &link{n, up})
		})
		slices.SortStableFunc(out, func(a, b word) int { return int(a.Lo - b.Lo) })
		a.words[k] = out
	}
	return a.words[k]
}

// at finds the name that offset lies in or behind.
func (a *Analysis) at(offset int) (w word, ok bool) {
	if a.main() == nil {
		return w, false
	}
	for _, x := range a.wordsOf(len(a.units) - 1) {
		if int(x.Lo) <= offset && offset <= int(x.Hi) {
			w, ok = x, true // the later one of two that touch
		}
	}
	return w, ok
}

// parent is the k-th node around w, counted from the innermost; nil: there is none.
func (w word) parent(k int) syntax.Node {
	l := w.up
	for ; l != nil && k > 0; k-- {
		l = l.up
	}
	if l == nil {
		return nil
	}
	return l.Node
}

// outermost returns the statement of the top level that contains w.
func (w word) outermost() syntax.Node {
	l := w.up
	for l.up != nil {
		l = l.up
	}
	return l.Node
}

// param is the parameter that w names in "f(w = 1)", with what is called.
func (w word) param() (*types.Param, *types.Object) {
	var callee *types.Object
	switch p := w.parent(0).(type) {
	case *syntax.Arg:
		switch c := w.parent(1).(type) {
		case *syntax.Call:
			callee = c.Callee
		case *syntax.FilterCall:
			callee = c.Obj
		}
		if p.Name != w.Ident {
			return nil, nil
		}
	case *syntax.TaskArg:
		if in, ok := w.parent(1).(*syntax.Insert); ok && p.Name == w.Ident {
			callee = in.Callee
		}
	}
	if callee == nil || callee.Sig == nil {
		return nil, nil
	}
	for i := range callee.Sig.Params {
		if p := &callee.Sig.Params[i]; p.Name == w.Name {
			return p, callee
		}
	}
	return nil, nil
}

// decl is where the name w is declared, zero when no script does that.
func (w word) decl() Span {
	if p, _ := w.param(); p != nil {
		if src := p.Span.Source(); src != nil {
			lo := p.Span.Start.Offset
			return src.Span(lo, lo+len(p.Name)) // the span of a parameter begins with its name
		}
		return Span{}
	}
	if w.Obj != nil {
		return w.Obj.Decl
	}
	return Span{}
}

func sameSpan(a, b Span) bool {
	return !a.IsZero() && a.File == b.File && a.Start.Offset == b.Start.Offset
}

// Name returns the name that offset lies in.
func (a *Analysis) Name(offset int) (NameAt, bool) {
	w, ok := a.at(offset)
	if !ok {
		return NameAt{}, false
	}
	return NameAt{w.Name, a.main().File.At(w), w.decl()}, true
}

// Definition returns where the name at offset is declared, or the file that an
// import there loads.
func (a *Analysis) Definition(offset int) (Span, bool) {
	if w, ok := a.at(offset); ok {
		d := w.decl()
		return d, !d.IsZero()
	}
	u := a.main()
	if u == nil {
		return Span{}, false
	}
	if o := a.importAt(offset); o != nil {
		for _, in := range a.units {
			if in.Module == o.Module {
				return in.File.Source.Span(0, 0), true
			}
		}
	}
	return Span{}, false
}

// References lists where the script and what it imports name what is declared at
// decl, the declaration included.
func (a *Analysis) References(decl Span) []Span {
	var out []Span
	for k, u := range a.units {
		for _, w := range a.wordsOf(k) {
			if sameSpan(w.decl(), decl) {
				out = append(out, u.File.At(w))
			}
		}
	}
	return out
}

// declarations are the statements that say more about o than its type: sizes,
// values, and into which parts data is cut.
func (a *Analysis) declarations(o *types.Object) []string {
	var out []string
	add := func(u *check.Unit, n syntax.Node) {
		lo, hi := n.Range().Lo, n.Range().Hi
		text, more, cut := strings.Cut(u.File.Source.Text[lo:hi], "\n")
		if cut && more != "" {
			text += " …"
		}
		if len(out) < 8 && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	for k, u := range a.units {
		for _, w := range a.wordsOf(k) {
			if !sameSpan(w.decl(), o.Decl) {
				continue
			}
			own := u.File.Source.Name == o.Decl.File && int(w.Lo) == o.Decl.Start.Offset
			switch p := w.parent(0).(type) {
			case *syntax.Register, *syntax.Let, *syntax.Param, *syntax.AcquireItem, *syntax.For:
				if own {
					add(u, p)
				}
			case *syntax.Partition:
				if own || p.Name == nil {
					add(u, p)
				}
			}
		}
	}
	return out
}

// Symbol is something that the script declares at its top level.
type Symbol struct {
	Name   string
	Kind   string // as in NameInfo
	Detail string // type or signature
	Whole  Span   // the statement
	At     Span   // the name
}

// Symbols lists what the script declares, in the order of the text.
func (a *Analysis) Symbols() []Symbol {
	u := a.main()
	if u == nil {
		return nil
	}
	var out []Symbol
	for _, w := range a.wordsOf(len(a.units) - 1) {
		o := w.Obj
		if o == nil || w.up == nil || !sameSpan(o.Decl, u.File.At(w)) || u.Objects[w.Name] != o || kindWords[o.Kind] == "" {
			continue
		}
		s := Symbol{Name: w.Name, Kind: kindWords[o.Kind], At: u.File.At(w), Whole: u.File.At(w.outermost())}
		switch {
		case o.Sig != nil:
			s.Detail = interp.SignatureText(o)
		case o.Module != nil:
			s.Detail = o.Module.Name
		default:
			s.Detail = o.Type.String()
		}
		out = append(out, s)
	}
	return out
}

// Hint is a text that an editor can show before offset: the parameter of an argument, and
// the mode that the codelet declares if the argument has another one.
type Hint struct {
	Offset int
	Text   string // "x:", "acc: RW"
	Doc    string // the declaration: "acc: RW variable[f64]"
}

// Hints lists the hints of the script, in the order of the text.
func (a *Analysis) Hints() []Hint {
	u := a.main()
	if u == nil {
		return nil
	}
	var out []Hint
	add := func(at syntax.Node, value syntax.Expr, mode string, p *types.Param) {
		span, text, doc := value.Range(), "", p.Name+": "
		if p.Mode != 0 {
			doc += p.Mode.String() + " "
		}
		if u.File.Source.Text[span.Lo:span.Hi] != p.Name {
			text = p.Name + ":"
		}
		if declared := p.Mode.String(); p.Mode != 0 && mode != declared {
			text = p.Name + ": " + declared
		}
		if text != "" {
			out = append(out, Hint{int(at.Range().Lo), text, doc + p.Type.String()})
		}
	}
	syntax.Walk(u.File, func(n syntax.Node, _ []syntax.Node) {
		switch n := n.(type) {
		case *syntax.Insert:
			for i, b := range n.Bound {
				if b != nil && b.Name == nil && b.Value != nil && (b.Mode != 0 || n.Callee.Sig.Params[i].Mode == 0) {
					add(b, b.Value, b.Mode.String(), &n.Callee.Sig.Params[i])
				}
			}
		case *syntax.Call:
			for i, b := range n.Bound {
				if b != nil && literal(b) && !slices.ContainsFunc(n.Args, func(g *syntax.Arg) bool { return g.Value == b && g.Name != nil }) {
					add(b, b, "", &n.Callee.Sig.Params[i])
				}
			}
		}
	})
	slices.SortStableFunc(out, func(a, b Hint) int { return a.Offset - b.Offset })
	return out
}

// literal reports whether e says nothing about what it is for.
func literal(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.IntLit, *syntax.FloatLit, *syntax.ImagLit, *syntax.BoolLit, *syntax.StringLit, *syntax.NoneLit, *syntax.ListLit:
		return true
	case *syntax.Unary:
		return literal(e.X)
	}
	return false
}

// Imports says where the script imports a file, by the name of the file; files
// that imported ones import are found where the script imports those.
func (a *Analysis) Imports() map[string]Span {
	out := map[string]Span{}
	u := a.main()
	if u == nil {
		return out
	}
	var enter func(in *check.Unit, at Span)
	enter = func(in *check.Unit, at Span) {
		name := in.File.Source.Name
		if _, seen := out[name]; seen {
			return
		}
		out[name] = at
		for _, further := range in.Imports {
			enter(further, at)
		}
	}
	for _, s := range u.File.Stmts {
		im, ok := s.(*syntax.Import)
		if !ok || im.Path == nil {
			continue
		}
		for _, o := range u.Objects {
			for _, in := range u.Imports {
				if o.Node == s && o.Module == in.Module {
					enter(in, u.File.At(im.Path))
				}
			}
		}
	}
	return out
}

// Names of a script for editors: which are visible where, and renaming.

// localKinds says how completion shows what blocks, functions and codelet bodies
// declare.
var localKinds = map[types.ObjectKind]string{
	types.FuncParam: "let", types.LoopVar: "let", types.OperandObject: "handle", types.ScalarObject: "let",
	types.KernelLet: "let", types.EachVar: "let", types.KernelFor: "let",
}

// Complete lists what the word that ends at offset can become, as Session.Complete
// does, with the names that are visible there, and behind the last part of a module
// of the host what is in it, imported or not.
func (a *Analysis) Complete(offset int) []Completion {
	names := a.visible(offset)
	c := &completer{env: &a.comp.env}
	for n, o := range names {
		kind := kindWords[o.Kind]
		if kind == "" {
			kind = localKinds[o.Kind]
		}
		if kind == "" {
			continue
		}
		info := NameInfo{Name: n, Kind: kind, Doc: o.Doc}
		switch {
		case o.Sig != nil:
			info.Type = interp.SignatureText(o)
		case o.Kind == types.ModuleObject:
			if o.Module != nil {
				info.Type = o.Module.Name
			}
		default:
			info.Type = o.Type.String()
		}
		c.names = append(c.names, info)
	}
	slices.SortFunc(c.names, func(a, b NameInfo) int { return strings.Compare(a.Name, b.Name) })
	c.object = a.finder(names)
	c.lacks = func(module string) *Fix {
		if a.main() == nil {
			return nil
		}
		fix := check.ImportEdit(a.main().File, module)
		return &fix
	}
	return c.complete(a.src.Text, offset)
}

// finder returns what finds the object of a name where names are visible, those of the
// host and members of modules included: "blas.gemm".
func (a *Analysis) finder(names map[string]*types.Object) func(name string) *types.Object {
	return func(name string) *types.Object {
		first, rest, dotted := strings.Cut(name, ".")
		o := names[first]
		if o == nil {
			for _, list := range [][]*types.Object{a.comp.env.Codelets, a.comp.env.Funcs} {
				if k := slices.IndexFunc(list, func(o *types.Object) bool { return o.Name == first }); k >= 0 {
					o = list[k]
				}
			}
		}
		switch {
		case !dotted || o == nil:
			return o
		case o.Module == nil:
			return nil
		}
		return o.Module.Members[rest]
	}
}

// visible lists the names in scope at offset. Those that the top level declares
// further down count, as functions can use them.
func (a *Analysis) visible(offset int) map[string]*types.Object {
	names := map[string]*types.Object{}
	u := a.main()
	if u == nil {
		return names
	}
	for n, o := range u.Objects {
		names[n] = o
	}
	syntax.Walk(u.File, func(n syntax.Node, _ []syntax.Node) {
		if k, ok := n.(*syntax.Codelet); ok && k.Body != nil && inside(k.Body, offset) {
			clear(names) // bodies see their operands only
		}
	})
	for _, w := range a.wordsOf(len(a.units) - 1) { // inner ones come later in the text
		if w.Obj == nil || int(w.Lo) >= offset || !sameSpan(w.Obj.Decl, u.File.At(w)) {
			continue
		}
		if s := scopeOf(w); s != nil && inside(s, offset) {
			names[w.Name] = w.Obj
		}
	}
	return names
}

// scopeOf is the node that the declaration w is visible in, nil for the top level.
func scopeOf(w word) syntax.Node {
	for l := w.up; l != nil; l = l.up {
		switch n := l.Node.(type) {
		case *syntax.Func:
			if w.Ident != n.Name {
				return n
			}
		case *syntax.Codelet:
			if w.Ident != n.Name {
				return n
			}
		case *syntax.Block, *syntax.For, *syntax.Each, *syntax.ListComp, *syntax.Fold:
			return n
		case *syntax.Acquire:
			if n.Body != nil {
				return n
			}
		}
	}
	return nil
}

func inside(n syntax.Node, offset int) bool {
	r := n.Range()
	return int(r.Lo) < offset && offset <= int(r.Hi)
}

// Renamable returns the name at offset if another one could be given to it where it
// is declared. The error says why not.
func (a *Analysis) Renamable(offset int) (NameAt, error) {
	w, ok := a.at(offset)
	if !ok {
		return NameAt{}, errors.New("there is no name here; keywords, numbers and texts cannot be renamed")
	}
	n := NameAt{w.Name, a.main().File.At(w), w.decl()}
	switch {
	case n.Decl.IsZero() && w.Obj != nil:
		return n, fmt.Errorf("`%s` is declared by the language or the host, not by a script", w.Name)
	case n.Decl.IsZero():
		return n, fmt.Errorf("`%s` is no name that this script declares", w.Name)
	case n.Decl.File != a.src.Name:
		return n, fmt.Errorf("`%s` belongs to %s: rename it there", w.Name, n.Decl.File)
	case a.src.Text[n.Decl.Start.Offset:n.Decl.End.Offset] != w.Name:
		return n, fmt.Errorf("`%s` is named after its file: write `as` and a name behind the import", w.Name)
	}
	return n, nil
}

// CheckName says why text cannot be a name; nil: it can.
func CheckName(text string) error {
	if slices.Contains(token.Keywords(), text) {
		return fmt.Errorf("`%s` is a keyword", text)
	}
	if !check.IsName(text) {
		return fmt.Errorf("`%s` is no name: a letter or _, then letters, digits and _", text)
	}
	return nil
}

// SameMeaning reports whether a and b differ in the spelling of names only: the
// same names mean the same declarations, and b has no error that a has not. An
// editor asks that before it renames: the new name could be taken, hide another
// one, or be hidden.
func (a *Analysis) SameMeaning(b *Analysis) error {
	if b == nil || len(a.units) != len(b.units) || len(a.units) == 0 {
		return errors.New("the imports would change")
	}
	where := func(x *Analysis) map[string]map[int]int { // file, offset: number of the name
		m := map[string]map[int]int{}
		for k, u := range x.units {
			of := map[int]int{}
			for i, w := range x.wordsOf(k) {
				of[int(w.Lo)] = i
			}
			m[u.File.Source.Name] = of
		}
		return m
	}
	wa, wb := where(a), where(b)
	for k := range a.units {
		as, bs := a.wordsOf(k), b.wordsOf(k)
		if len(as) != len(bs) {
			return errors.New("the text would read differently")
		}
		for i := range as {
			da, db := as[i].decl(), bs[i].decl()
			na, oka := wa[da.File][da.Start.Offset]
			nb, okb := wb[db.File][db.Start.Offset]
			if da.File != db.File || oka != okb || na != nb || (as[i].Obj == nil) != (bs[i].Obj == nil) {
				return fmt.Errorf("`%s` at line %d would mean something else", bs[i].Name, b.units[k].File.At(bs[i]).Start.Line)
			}
		}
	}
	if d := newError(a.diags, b.diags); d != nil {
		return errors.New(d.Message)
	}
	return nil
}

// newError returns an error of b when it has more of that code than a.
func newError(a, b Diagnostics) *Diagnostic {
	count := map[string]int{}
	for _, d := range a {
		if d.Severity == Error {
			count[d.Code]++
		}
	}
	for i := range b {
		if d := &b[i]; d.Severity == Error {
			if count[d.Code]--; count[d.Code] < 0 {
				return d
			}
		}
	}
	return nil
}

// Tokens for editors: what each word of a script is, so that it can be coloured.

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
	types.EachVar: "variable", types.KernelFor: "variable", types.StructObject: "type",
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
	case *syntax.Field:
		if p.Name == w.Ident {
			s.Kind = "property"
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
	if vocab.EntryNamed(vocab.Clauses, t.Text) != nil { // a name of the tree is not guessed
		s.Kind, s.Given = "keyword", true
		return
	}
	if u := a.main(); u != nil && u.Objects[t.Text] != nil {
		a.object(s, u.Objects[t.Text])
		return
	}
	for _, table := range []struct {
		kind    string
		entries []vocab.Entry
	}{{"type", vocab.TypeNames}, {"type", vocab.ElemNames}, {"function", vocab.Builtins}, {"function", vocab.BodyFuncs}, {"keyword", vocab.Folds}} {
		if slices.ContainsFunc(table.entries, func(e vocab.Entry) bool { return e.Name == t.Text }) {
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
