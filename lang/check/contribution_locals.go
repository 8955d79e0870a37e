package check

// Contributions: the locals of a body. Each declaration is one, whatever else has its
// name; where it changes, so does what expressions call it, so that only those that
// compute the same are the same.

import (
	"fmt"
	"slices"

	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// local is what one let declares, or one index of a loop or a fold.
type local struct {
	id      string
	value   syntax.Expr // what it stands for, expanded; nil where it changes, and of an index
	changes bool        // it is assigned again
	ever    bool        // some value that it is given has something of the operand
	now     bool        // so may the one that it has here
	version int         // of its value here
}

// name is what expanded expressions call l: no other local, nor l before it changed.
func (l *local) name() string { return fmt.Sprintf("%s@%d", l.id, l.version) }

// bodyLocals are the locals of a body, and what its loops and conditions assign.
type bodyLocals struct {
	param    string
	of       map[*syntax.Ident]*local
	assigned map[syntax.Stmt][]*local      // by a for, an each or an if
	targets  map[syntax.Stmt][]syntax.Expr // elements of the operand whose indices are numbers, by a for or an each
	known    map[inStmt]bool               // of assigned; what is known of a statement is of those around it
	names    *types.Scope[*local]
	around   []syntax.Stmt
	into     map[*local][]*local // the locals that are made of each; of nil, of the operand
}

type inStmt struct {
	at syntax.Stmt
	l  *local
}

// maxAround is how many of the loops around an assignment know its target: nests are
// deep only where somebody tries what happens.
const maxAround = 50

// localsOf reads a body.
func localsOf(k *syntax.Block, param string) *bodyLocals {
	s := &bodyLocals{param: param, of: map[*syntax.Ident]*local{}, assigned: map[syntax.Stmt][]*local{},
		targets: map[syntax.Stmt][]syntax.Expr{}, known: map[inStmt]bool{}, into: map[*local][]*local{}}
	s.block(k)
	for next := s.into[nil]; len(next) > 0; {
		l := next[0]
		next = next[1:]
		if !l.ever {
			l.ever = true
			next = append(next, s.into[l]...)
		}
	}
	return s
}

func (s *bodyLocals) declare(id *syntax.Ident) *local {
	l := &local{id: fmt.Sprintf("%s#%d", id.Name, len(s.of))}
	s.of[id] = l
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
			made := s.madeOf(x.Value)
			s.makes(made, s.declare(x.Name))
		}
	case *syntax.Assign:
		s.assign(x)
	case *syntax.For:
		s.inside(x, func() { s.block(x.Body, x.Names...) })
	case *syntax.Each:
		s.inside(x, func() { s.block(x.Body, x.Names...) })
	case *syntax.If:
		s.inside(x, func() {
			s.block(x.Then)
			if x.Else != nil {
				s.stmt(x.Else)
			}
		})
	}
}

func (s *bodyLocals) inside(x syntax.Stmt, walk func()) {
	s.around = append(s.around, x)
	walk()
	s.around = s.around[:len(s.around)-1]
}

func (s *bodyLocals) assign(a *syntax.Assign) {
	base := unparen(a.Target)
	x, element := base.(*syntax.Index)
	if element {
		base = unparen(x.X)
	}
	id, ok := base.(*syntax.Ident)
	if !ok {
		return
	}
	if l := s.names.Lookup(id.Name); l != nil {
		l.changes = true
		s.makes(s.madeOf(a.Value), l)
		for k := len(s.around) - 1; k >= 0 && !s.known[inStmt{s.around[k], l}]; k-- {
			s.known[inStmt{s.around[k], l}] = true
			s.assigned[s.around[k]] = append(s.assigned[s.around[k]], l)
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
	for _, at := range s.around[max(0, len(s.around)-maxAround):] {
		s.targets[at] = append(s.targets[at], unparen(a.Target))
	}
}

func (s *bodyLocals) makes(made []*local, l *local) {
	for _, from := range made {
		s.into[from] = append(s.into[from], l)
	}
}

// madeOf are the locals that e is computed from; nil among them stands for the operand.
func (s *bodyLocals) madeOf(e syntax.Expr) (made []*local) {
	walkExpr(e, func(e syntax.Expr) bool {
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
			made = append(made, s.madeOf(e.Body)...)
			s.names = s.names.Parent
			for _, d := range e.Domain {
				if _, size := unparen(d).(*syntax.Ident); !size { // of an operand only the size
					made = append(made, s.madeOf(d)...)
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

// ---- where the walk over the body is -----------------------------------------------

func (b *bodyUse) tick() int {
	b.clock++
	return b.clock
}

// loop walks over a loop, whose rounds see what the rounds before them assigned.
func (b *bodyUse) loop(s syntax.Stmt, walk func()) {
	changed := b.locals.assigned[s]
	before := make([]bool, len(changed))
	for k, l := range changed {
		before[k] = l.now
	}
	for _, l := range changed {
		l.version, l.now = b.tick(), l.now || l.ever
	}
	b.writes = append(b.writes, b.locals.targets[s]...)
	walk()
	for k, l := range changed {
		l.version, l.now = b.tick(), l.now || before[k]
	}
}

// branches walks over both sides of an if, each from what was before it.
func (b *bodyUse) branches(s *syntax.If, then, otherwise within) {
	changed, written := b.locals.assigned[s], len(b.writes)
	before, after := make([]local, len(changed)), make([]bool, len(changed))
	for k, l := range changed {
		before[k] = *l
	}
	b.block(s.Then, then)
	writes := slices.Clone(b.writes[written:])
	b.writes = b.writes[:written]
	for k, l := range changed {
		after[k] = l.now
		l.version, l.now = before[k].version, before[k].now
	}
	if s.Else != nil {
		b.stmt(s.Else, otherwise)
	}
	b.writes = append(b.writes, writes...)
	for k, l := range changed {
		l.version, l.now = b.tick(), l.now || after[k]
	}
}

// Contributions: what the names of a body stand for.

// maxExpanded is how large an expression becomes when names of let are replaced.
const maxExpanded = 400

// unsureName is what stands for a local that may hold something of the operand.
const unsureName = "?"

// expand replaces the names of let in e by their values, so that expressions that compute
// the same are the same, and takes the parentheses away.
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
			if l.now {
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
			if id, ok := unparen(x.X).(*syntax.Ident); ok {
				c.X = b.operand(id)
			}
			return &c
		case *syntax.Fold:
			b.names = b.names.Inner()
			for _, id := range x.Names {
				b.names.Insert(id.Name, b.locals.of[id])
			}
			c := *x
			c.Domain, c.Body = slices.Clone(x.Domain), sub(x.Body)
			b.names = b.names.Parent
			for k, d := range c.Domain {
				if _, size := unparen(d).(*syntax.Ident); !size { // of an operand only the size
					c.Domain[k] = sub(d)
				}
			}
			return &c
		}
		return e
	}
	return sub(e)
}

// operand is the name id of an operand in an expanded expression; of the one that is
// looked at, where it was read is kept.
func (b *bodyUse) operand(id *syntax.Ident) syntax.Expr {
	if id.Name != b.param {
		return id
	}
	read := &syntax.Ident{Name: id.Name}
	b.read[read] = len(b.writes)
	return read
}

// sizeOf is the number of parts of e, or some number from maxExpanded on.
func sizeOf(e syntax.Expr) (n int) {
	walkExpr(e, func(syntax.Expr) bool { n++; return n < maxExpanded })
	return n
}
