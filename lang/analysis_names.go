package lang

// Names of a script for editors: which are visible where, and renaming.

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/interp"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

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
	if slices.Contains(syntax.Keywords(), text) {
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
