package check

// Sessions: entries that are checked one by one and share their names.

import (
	"sort"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// Session checks the entries of a prompt. All entries form one block and one
// top-level frame: slots keep growing, and a name may be declared again. A
// session is used by one goroutine at a time.
type Session struct {
	loader *loader
	scope  *scope
	infos  map[*types.Object]*objInfo
	frame  *slotFrame
	units  []*Unit
}

// NewSession starts a session. The predeclared objects, such as modules that a
// prompt imports by itself, are names of the session like those of entries.
func NewSession(env *Env, predeclared ...*types.Object) *Session {
	s := &Session{loader: newLoader(env), scope: &scope{}, infos: map[*types.Object]*objInfo{}, frame: &slotFrame{}}
	for _, o := range predeclared {
		s.scope.Insert(o.Name, o)
	}
	return s
}

// Entry parses and checks one entry. Its unit has the size of the shared frame
// so far in Slots. After an error the unit is nil and the names are unchanged.
func (s *Session) Entry(src *diag.Source) (*Unit, diag.Diagnostics) { return s.check(src, true) }

// Try checks an entry as Entry does, and leaves the names of the session as they are:
// those of the entry are in its unit alone.
func (s *Session) Try(src *diag.Source) (*Unit, diag.Diagnostics) { return s.check(src, false) }

func (s *Session) check(src *diag.Source, keep bool) (*Unit, diag.Diagnostics) {
	s.loader.read = 0
	s.loader.stack = append(s.loader.stack[:0], src.Name)
	f, ds := s.loader.parse(src, syntax.ParseEntry)
	unit := &Unit{File: f}
	c := newChecker(s.loader, f, unit)
	c.session = s
	c.broken = ds.Err() != nil
	c.top.Parent = s.scope
	c.infos = s.infos
	if !keep {
		c.infos = make(map[*types.Object]*objInfo, len(s.infos))
		for o, in := range s.infos {
			copied := *in
			c.infos[o] = &copied
		}
	}
	c.frame = s.frame
	slots := s.frame.slots
	s.loader.diags = nil
	order := len(s.loader.order)
	c.run()
	s.loader.stack = s.loader.stack[:0]
	all := append(s.loader.diags, applyAllowances(f, merge(ds, c.diags))...)
	wrong := all.Err() != nil
	if !wrong {
		unit.Last = s.lastValue(c)
		unit.Slots = s.frame.slots
	}
	if wrong || !keep {
		s.frame.slots = slots
		for _, u := range s.loader.order[order:] {
			delete(s.loader.units, u.File.Source.Name) // so that a file that changes is read again
		}
		s.loader.order = s.loader.order[:order]
		if wrong {
			unit = nil
		}
		return unit, all
	}
	for _, o := range c.top.List {
		s.scope.Insert(o.Name, o)
	}
	if unit.Last != nil {
		s.scope.Insert(unit.Last.Name, unit.Last)
	}
	s.units = append(s.units, s.loader.order[order:]...)
	return unit, all
}

// lastValue declares the name _ for the value of the entry's last statement.
func (s *Session) lastValue(c *checker) *types.Object {
	if len(c.f.Stmts) == 0 {
		return nil
	}
	x, ok := c.f.Stmts[len(c.f.Stmts)-1].(*syntax.ExprStmt)
	if !ok {
		return nil
	}
	if _, task := unparen(x.X).(*syntax.Insert); task {
		return nil
	}
	t := x.X.Type()
	if t == nil || t.Kind == types.None || t.Kind == types.Invalid {
		return nil
	}
	o := &types.Object{Name: "_", Kind: types.LetObject, Type: t, Doc: "the value of the last expression", Unit: c.unit, Global: true, Slot: s.frame.slots}
	s.frame.slots++
	return o
}

// Modules returns the units that entries have imported, each after those it
// imports itself.
func (s *Session) Modules() []*Unit { return s.units }

// Lookup finds a name of the session, or a predeclared one; nil: there is none.
func (s *Session) Lookup(name string) *types.Object {
	if o := s.scope.Lookup(name); o != nil {
		return o
	}
	if o := s.loader.host[name]; o != nil {
		return o
	}
	if o := builtinFuncs[name]; o != nil {
		return o
	}
	return builtinValues[name]
}

// Names lists the names of the session, sorted, those that were declared again
// once.
func (s *Session) Names() []*types.Object {
	var out []*types.Object
	for _, o := range s.scope.Names {
		out = append(out, o)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// Forget drops a name of the session, as when what it held has ended.
func (s *Session) Forget(name string) {
	if o := s.scope.Names[name]; o != nil {
		delete(s.scope.Names, name)
		for i, p := range s.scope.List {
			if p == o {
				s.scope.List = append(s.scope.List[:i], s.scope.List[i+1:]...)
				break
			}
		}
	}
}
