package redux

// The locals of a body. Each declaration is a local of its own. Expanded
// expressions name locals by declaration and version, so that equal expressions have equal
// values.

import (
	"fmt"
	"slices"

	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// local is a declaration: a let, or an index of a loop or a fold.
type local struct {
	id         string
	value      syntax.Expr // its value, expanded; nil if it is assigned again, and for an index
	reassigned bool        // it is assigned after its declaration
	mayCarry   bool        // some value that it is assigned depends on the operand
	carries    bool        // its current value may depend on the operand
	version    int         // of its current value
}

// name returns the name of l in expanded expressions, which no other local has, nor an
// earlier version of l.
func (l *local) name() string { return fmt.Sprintf("%s@%d", l.id, l.version) }

// bodyLocals are the locals of a body, and the assignments of its loops and conditions.
type bodyLocals struct {
	param          string
	byIdent        map[*syntax.Ident]*local
	assigned       map[syntax.Stmt][]*local      // assigned in a for, an each or an if
	storedElements map[syntax.Stmt][]syntax.Expr // elements with constant indices that a statement stores
	recorded       map[inStmt]bool               // entries of assigned; enclosing statements have them, too
	names          *types.Scope[*local]
	enclosing      []syntax.Stmt
	flowsTo        map[*local][]*local // the locals computed from each local; those of nil, from the operand
}

type inStmt struct {
	at syntax.Stmt
	l  *local
}

// maxEnclosing bounds the enclosing statements that record a stored element. Bodies that
// people write are less deep.
const maxEnclosing = 50

// localsOf returns the locals of a body.
func localsOf(k *syntax.Block, param string) *bodyLocals {
	s := &bodyLocals{param: param, byIdent: map[*syntax.Ident]*local{}, assigned: map[syntax.Stmt][]*local{},
		storedElements: map[syntax.Stmt][]syntax.Expr{}, recorded: map[inStmt]bool{}, flowsTo: map[*local][]*local{}}
	s.block(k)
	for next := s.flowsTo[nil]; len(next) > 0; {
		l := next[0]
		next = next[1:]
		if !l.mayCarry {
			l.mayCarry = true
			next = append(next, s.flowsTo[l]...)
		}
	}
	return s
}

func (s *bodyLocals) declare(id *syntax.Ident) *local {
	l := &local{id: fmt.Sprintf("%s#%d", id.Name, len(s.byIdent))}
	s.byIdent[id] = l
	s.names.Insert(id.Name, l)
	return l
}

func (s *bodyLocals) block(k *syntax.Block, indices ...*syntax.Ident) {
	if k == nil {
		return
	}
	s.names = s.names.Inner()
	for _, id := range indices {
		s.declare(id)
	}
	for _, x := range k.Stmts {
		s.stmt(x)
	}
	s.names = s.names.Parent
}

func (s *bodyLocals) stmt(x syntax.Stmt) {
	switch x := x.(type) {
	case *syntax.Block:
		s.block(x)
	case *syntax.Let:
		if x.Name != nil {
			made := s.sourcesOf(x.Value)
			s.addFlow(made, s.declare(x.Name))
		}
	case *syntax.Assign:
		s.assign(x)
	case *syntax.For:
		s.enter(x, func() { s.block(x.Body, x.Names...) })
	case *syntax.While:
		s.enter(x, func() { s.block(x.Body) })
	case *syntax.Each:
		s.enter(x, func() { s.block(x.Body, x.Names...) })
	case *syntax.If:
		s.enter(x, func() {
			s.block(x.Then)
			if x.Else != nil {
				s.stmt(x.Else)
			}
		})
	}
}

func (s *bodyLocals) enter(x syntax.Stmt, walk func()) {
	s.enclosing = append(s.enclosing, x)
	walk()
	s.enclosing = s.enclosing[:len(s.enclosing)-1]
}

func (s *bodyLocals) assign(a *syntax.Assign) {
	base := syntax.Unparen(a.Target)
	x, element := base.(*syntax.Index)
	if element {
		base = syntax.Unparen(x.X)
	}
	id, ok := base.(*syntax.Ident)
	if !ok {
		return
	}
	if l := s.names.Lookup(id.Name); l != nil {
		l.reassigned = true
		s.addFlow(s.sourcesOf(a.Value), l)
		if element { // of an array
			for _, i := range x.Args {
				s.addFlow(s.sourcesOf(i), l)
			}
		}
		for k := len(s.enclosing) - 1; k >= 0 && !s.recorded[inStmt{s.enclosing[k], l}]; k-- {
			s.recorded[inStmt{s.enclosing[k], l}] = true
			s.assigned[s.enclosing[k]] = append(s.assigned[s.enclosing[k]], l)
		}
		return
	}
	if id.Name != s.param {
		return
	}
	if element {
		for _, i := range x.Args {
			if !isConstant(i) {
				return
			}
		}
	}
	for _, at := range s.enclosing[max(0, len(s.enclosing)-maxEnclosing):] {
		s.storedElements[at] = append(s.storedElements[at], syntax.Unparen(a.Target))
	}
}

func (s *bodyLocals) addFlow(made []*local, l *local) {
	for _, from := range made {
		s.flowsTo[from] = append(s.flowsTo[from], l)
	}
}

// sourcesOf returns the locals that e is computed from; nil is the operand.
func (s *bodyLocals) sourcesOf(e syntax.Expr) (made []*local) {
	syntax.WalkExpr(e, func(e syntax.Expr) bool {
		switch e := e.(type) {
		case *syntax.Selector:
			return false
		case *syntax.Call:
			if calledName(e) == "len" {
				return false
			}
		case *syntax.Fold:
			s.names = s.names.Inner()
			for _, id := range e.Names {
				s.declare(id)
			}
			made = append(made, s.sourcesOf(e.Body)...)
			s.names = s.names.Parent
			for _, d := range e.Domain {
				if _, size := syntax.Unparen(d).(*syntax.Ident); !size { // an operand as a domain is its size
					made = append(made, s.sourcesOf(d)...)
				}
			}
			return false
		case *syntax.Ident:
			if l := s.names.Lookup(e.Name); l != nil || e.Name == s.param {
				made = append(made, l)
			}
		}
		return true
	})
	return made
}

func (b *bodyUse) nextVersion() int {
	b.clock++
	return b.clock
}

// loop walks over a loop, whose rounds use the values that earlier rounds assigned.
func (b *bodyUse) loop(s syntax.Stmt, walk func()) {
	changed := b.locals.assigned[s]
	before := make([]bool, len(changed))
	for k, l := range changed {
		before[k] = l.carries
	}
	for _, l := range changed {
		l.version, l.carries = b.nextVersion(), l.carries || l.mayCarry
	}
	b.writes = append(b.writes, b.locals.storedElements[s]...)
	walk()
	for k, l := range changed {
		l.version, l.carries = b.nextVersion(), l.carries || before[k]
	}
}

// branches walks over both sides of an if, each with the state before it.
func (b *bodyUse) branches(s *syntax.If, then, otherwise position) {
	changed, written := b.locals.assigned[s], len(b.writes)
	before, after := make([]local, len(changed)), make([]bool, len(changed))
	for k, l := range changed {
		before[k] = *l
	}
	b.block(s.Then, then)
	writes := slices.Clone(b.writes[written:])
	b.writes = b.writes[:written]
	for k, l := range changed {
		after[k] = l.carries
		l.version, l.carries = before[k].version, before[k].carries
	}
	if s.Else != nil {
		b.stmt(s.Else, otherwise)
	}
	b.writes = append(b.writes, writes...)
	for k, l := range changed {
		l.version, l.carries = b.nextVersion(), l.carries || after[k]
	}
}

// maxExpanded bounds the size of an expanded expression.
const maxExpanded = 400

// unsureName is the name, in expanded expressions, of locals that may depend on the operand.
const unsureName = "?"

// expand returns e with locals replaced by their values, without parentheses, so that
// expressions that compute the same are equal.
func (b *bodyUse) expand(e syntax.Expr) syntax.Expr {
	size := 0
	var sub func(e syntax.Expr) syntax.Expr
	list := func(es []syntax.Expr) []syntax.Expr {
		out := slices.Clone(es)
		for k, x := range out {
			out[k] = sub(x)
		}
		return out
	}
	sub = func(e syntax.Expr) syntax.Expr {
		size++
		switch x := e.(type) {
		case *syntax.Paren:
			return sub(x.X)
		case *syntax.Ident:
			l := b.names.Lookup(x.Name)
			if l == nil {
				return b.operand(x)
			}
			if l.value != nil && size < maxExpanded {
				if size += sizeOf(l.value); size < maxExpanded {
					return l.value
				}
			}
			if l.carries {
				return &syntax.Ident{Name: unsureName}
			}
			return &syntax.Ident{Name: l.name()}
		case *syntax.Unary:
			c := *x
			c.X = sub(x.X)
			return &c
		case *syntax.Binary:
			c := *x
			c.X, c.Y = sub(x.X), sub(x.Y)
			return &c
		case *syntax.RangeExpr:
			c := *x
			c.Lo, c.Hi = sub(x.Lo), sub(x.Hi)
			return &c
		case *syntax.Cond:
			return &syntax.Cond{If: sub(x.If), Then: sub(x.Then), Else: sub(x.Else)}
		case *syntax.Call:
			c := *x
			c.Args = nil
			for _, a := range x.Args {
				v := *a
				v.Value = sub(a.Value)
				c.Args = append(c.Args, &v)
			}
			if calledName(x) == "select" && len(c.Args) == 3 {
				return &syntax.Cond{If: c.Args[0].Value, Then: c.Args[1].Value, Else: c.Args[2].Value}
			}
			return &c
		case *syntax.Index:
			c := *x
			c.Args = list(x.Args)
			if id, ok := syntax.Unparen(x.X).(*syntax.Ident); ok {
				l := b.names.Lookup(id.Name)
				switch {
				case l == nil:
					c.X = b.operand(id)
				case l.carries:
					return &syntax.Ident{Name: unsureName}
				default:
					c.X = &syntax.Ident{Name: l.name()}
				}
			}
			return &c
		case *syntax.Fold:
			b.names = b.names.Inner()
			for _, id := range x.Names {
				b.names.Insert(id.Name, b.locals.byIdent[id])
			}
			c := *x
			c.Domain, c.Body = slices.Clone(x.Domain), sub(x.Body)
			b.names = b.names.Parent
			for k, d := range c.Domain {
				if _, size := syntax.Unparen(d).(*syntax.Ident); !size { // of an operand only the size
					c.Domain[k] = sub(d)
				}
			}
			return &c
		}
		return e
	}
	return sub(e)
}

// operand returns the identifier of an operand in an expanded expression. For b.param it
// records how many writes precede the read.
func (b *bodyUse) operand(id *syntax.Ident) syntax.Expr {
	if id.Name != b.param {
		return id
	}
	read := &syntax.Ident{Name: id.Name}
	b.writesBefore[read] = len(b.writes)
	return read
}

// sizeOf returns the number of nodes of e, or a number from maxExpanded on.
func sizeOf(e syntax.Expr) (n int) {
	syntax.WalkExpr(e, func(syntax.Expr) bool { n++; return n < maxExpanded })
	return n
}
