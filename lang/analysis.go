package lang

// What editors ask about a script, right or wrong, without running it.

import (
	"context"
	"slices"
	"strings"

	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/interp"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
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

// Diagnostics is what Compile says about the script.
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

// outermost is the statement of the top level that w stands in.
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

// Hint is what an editor can show before offset although the script does not say
// it: the parameter that an argument is for, and the mode that the codelet
// declares where the argument has another one.
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
	case *syntax.IntLit, *syntax.FloatLit, *syntax.BoolLit, *syntax.StringLit, *syntax.NoneLit, *syntax.ListLit:
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
