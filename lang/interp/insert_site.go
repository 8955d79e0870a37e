package interp

// What is found out once about an insert of a script: operands, arguments, options.

import (
	"slices"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// insertSite is the code of one insert.
type insertSite struct {
	id      int
	at      place // of the word insert
	whole   place
	callee  *types.Object
	codelet *engine.Codelet
	name    string // as the script writes it: "blas.gemm"
	ops     []operandCode
	scalars []scalarCode
	pairs   [][2]int // of operands that must not share elements: one of them is written
	fresh   bool     // arguments may run this site again: the description is not reused
	site    *engine.Site
	vars    []int // slots of the loop variables in site.VarNames
	opts    insertOptions
	folds   bool                // some operand has a fold
	elems   map[byte]iface.Elem // where some operand has REDUX: what type parameters stand for
	kinds   []DeviceKind        // of the codelet's own where; nil: all
	placed  bool                // some operand has a node
	copies  []int               // operands that are REDUX or SCRATCH: each worker has memory of its own for them
}

// operandCode is one handle argument.
type operandCode struct {
	value handleFn
	mode  iface.AccessMode
	at    place // the whole argument
	name  string
	node  refFn                // after @
	fold  string               // REDUX: what the codelet does to it, "" if that is not known
	body  *check.Contributions // REDUX: of a body that does not only contribute; nil: it does
	mixed []string             // REDUX: reductions that the body serves in another type than that of the elements
}

// scalarCode stores one scalar argument.
type scalarCode struct {
	set   func(f *frame, s *iface.Scalar)
	fixed *iface.Scalar // of a constant: it is stored once
	at    place
	nam   string
}

// insertOptions are the options of a site; nil ones are not given.
type insertOptions struct {
	any                               bool
	priority, color, order            intFn
	flops                             floatFn
	name, where, worker, after, loose refFn
	sync, sequential                  boolFn
	at                                map[string]place
}

// insertSite compiles an insert.
func (c *compiler) insertSite(e *syntax.Insert) *insertSite {
	o := e.Callee
	if o == nil || o.Sig == nil {
		c.bug(e, "insert without codelet")
	}
	s := &insertSite{id: c.prog.nsites, at: place{c.file, e.Word}, whole: c.place(e), callee: o}
	c.prog.nsites++
	for k, id := range e.Path {
		if k > 0 {
			s.name += "."
		}
		s.name += id.Name
	}
	s.codelet = c.codelet(e, o)
	loops := c.loops[max(0, len(c.loops)-2):]
	sp := s.at.span()
	s.site = &engine.Site{File: sp.File, Line: sp.Start.Line, Col: sp.Start.Col, Data: s}
	for _, v := range loops {
		s.site.VarNames = append(s.site.VarNames, v.Name)
		s.vars = append(s.vars, v.Slot)
	}
	for i := range o.Sig.Params {
		p := &o.Sig.Params[i]
		var a *syntax.TaskArg
		if i < len(e.Bound) {
			a = e.Bound[i]
		}
		if p.Mode == iface.NoMode {
			s.scalars = append(s.scalars, c.scalar(e, o, p, a))
			if a != nil && hasCall(a.Value) {
				s.fresh = true
			}
			continue
		}
		if a == nil {
			c.bug(e, "no argument for %s", p.Name)
		}
		op := operandCode{value: c.handle(a.Value), mode: a.Mode, at: c.place(a), name: p.Name}
		if a.At != nil {
			op.node, s.placed = c.ref(a.At), true
		}
		if a.Mode == iface.Redux {
			op.fold = check.FoldOf(o, p.Name)
			if body := check.ContributionsOf(o, p.Name); !body.Sound() {
				op.body = body
			}
			op.mixed = check.MixedReductions(o, e.TypeArgs, p.Name)
			s.elems = e.TypeArgs
			s.folds = s.folds || op.fold != "" || op.body != nil || op.mixed != nil
		}
		if hasCall(a.Value) {
			s.fresh = true
		}
		if a.Mode == iface.Redux || a.Mode == iface.Scratch {
			s.copies = append(s.copies, len(s.ops))
		}
		s.ops = append(s.ops, op)
	}
	for i := range s.ops {
		for j := range i {
			x, y := s.ops[i].mode, s.ops[j].mode
			if (x != iface.R || y != iface.R) && x != iface.Scratch && y != iface.Scratch {
				s.pairs = append(s.pairs, [2]int{j, i})
			}
		}
	}
	c.insertOptions(s, e.With)
	return s
}

func (c *compiler) insertOptions(s *insertSite, w *syntax.With) {
	if k, ok := s.callee.Node.(*syntax.Codelet); ok && k.With != nil {
		for _, o := range k.With.Options {
			if o.Name.Name == "where" {
				s.kinds = kindsIn(o.Value)
			}
		}
	}
	s.opts.at = map[string]place{}
	if w == nil {
		return
	}
	s.opts.any = true
	for _, o := range w.Options {
		s.opts.at[o.Name.Name] = c.place(o.Value)
		if hasCall(o.Value) {
			s.fresh = true
		}
		switch o.Name.Name {
		case "priority":
			s.opts.priority = c.int(o.Value)
		case "color":
			s.opts.color = c.int(o.Value)
		case "order":
			s.opts.order = c.int(o.Value)
		case "flops":
			s.opts.flops = c.float(o.Value)
		case "name":
			s.opts.name = c.ref(o.Value)
		case "where":
			s.opts.where = c.ref(o.Value)
		case "worker":
			s.opts.worker = c.ref(o.Value)
		case "after":
			s.opts.after = c.ref(o.Value)
		case "unordered":
			s.opts.loose = c.ref(o.Value)
		case "sync":
			s.opts.sync = c.bool(o.Value)
		case "sequential":
			s.opts.sequential = c.bool(o.Value)
		}
	}
}

// kindsIn returns the kinds that an expression names, or nil when they are not
// written out.
func kindsIn(e syntax.Expr) []DeviceKind {
	switch e := unparen(e).(type) {
	case *syntax.Ident:
		return []DeviceKind{DeviceKind(e.Name)}
	case *syntax.ListLit:
		all := []DeviceKind{} // not nil: an empty list names none
		for _, x := range e.Items {
			k := kindsIn(x)
			if k == nil {
				return nil
			}
			all = append(all, k...)
		}
		return all
	}
	return nil
}

// noCPU reports whether the codelet's own where leaves out CPU workers.
func (s *insertSite) noCPU() bool { return s.kinds != nil && !slices.Contains(s.kinds, "cpu") }

// scalar compiles one scalar argument with its conversion and range check.
func (c *compiler) scalar(e *syntax.Insert, o *types.Object, p *types.Param, a *syntax.TaskArg) scalarCode {
	t := p.Type
	if t.Kind == types.Elem && t.Param != 0 {
		t = &types.Type{Kind: types.Elem, Elem: e.TypeArgs[t.Param]}
	}
	if a != nil {
		s := c.scalarFrom(a.Value, t, c.place(a.Value))
		s.nam = p.Name
		return s
	}
	s := scalarCode{at: c.place(e), nam: p.Name}
	if d, ok := p.Default.(syntax.Expr); ok && d.Type() != nil && d.Type().Kind != types.Invalid && o.Node != nil {
		in := c.inside(o)
		v := in.scalarFrom(d, t, in.place(d))
		s.set, s.fixed = v.set, v.fixed
		return s
	}
	v, err := constant(p)
	if err != nil {
		c.bug(e, "default of %s: %v", p.Name, err)
	}
	x := scalarOf(v, t)
	s.fixed = &x
	return s
}

// inside returns a compiler for expressions in the declaration of o.
func (c *compiler) inside(o *types.Object) *compiler {
	in := &compiler{prog: c.prog, unit: c.unitOf(o), file: c.file, session: c.session, plan: c.plan,
		fn: &funcCode{}, depths: map[*types.Object]int{}, ranges: map[*types.Object]*loopRange{}}
	if u, ok := o.Unit.(*check.Unit); ok {
		in.file = u.File
	}
	return in
}

// scalarOf converts a constant.
func scalarOf(v any, t *types.Type) iface.Scalar {
	switch x := v.(type) {
	case int64:
		if t.Kind == types.Float || t.Kind == types.Elem && t.Elem.IsFloat() {
			return iface.Float(float64(x))
		}
		return iface.Int(x)
	case float64:
		return iface.Float(x)
	case bool:
		return iface.Bool(x)
	case string:
		return iface.Str(x)
	}
	return iface.Scalar{}
}

func (c *compiler) scalarFrom(e syntax.Expr, t *types.Type, at place) scalarCode {
	s := scalarCode{at: at}
	switch t.Kind {
	case types.Bool:
		v := c.bool(e)
		s.set = func(f *frame, s *iface.Scalar) { *s = iface.Bool(v(f)) }
	case types.String:
		if x, ok := unparen(e).(*syntax.StringLit); ok {
			v := iface.Str(x.Value)
			s.fixed = &v
			break
		}
		v := c.ref(e)
		s.set = func(f *frame, s *iface.Scalar) { x, _ := v(f).(string); *s = iface.Str(x) }
	case types.Int:
		if x, ok := unparen(e).(*syntax.IntLit); ok {
			v := iface.Int(x.Value)
			s.fixed = &v
			break
		}
		v := c.int(e)
		s.set = func(f *frame, s *iface.Scalar) { *s = iface.Int(v(f)) }
	case types.Float:
		if x, ok := floatConstant(e); ok {
			v := iface.Float(x)
			s.fixed = &v
			break
		}
		v := c.float(e)
		s.set = func(f *frame, s *iface.Scalar) { *s = iface.Float(v(f)) }
	case types.Elem:
		el := t.Elem
		if el.IsInt() {
			v := c.int(e)
			s.set = func(f *frame, s *iface.Scalar) {
				x := v(f)
				if !intFits(el, x) {
					f.m.outOfRange(el, x, at)
				}
				*s = iface.Int(x)
			}
			break
		}
		if x, ok := floatConstant(e); ok && floatFits(el, x) {
			if el == iface.F32 {
				x = float64(float32(x))
			}
			v := iface.Float(x)
			s.fixed = &v
			break
		}
		v := c.float(e)
		if el == iface.F32 {
			s.set = func(f *frame, s *iface.Scalar) {
				x := v(f)
				if !floatFits(el, x) {
					f.m.outOfRange(el, x, at)
				}
				*s = iface.Float(float64(float32(x)))
			}
			break
		}
		s.set = func(f *frame, s *iface.Scalar) { *s = iface.Float(v(f)) }
	default:
		c.bug(e, "scalar operand of type %v", t)
	}
	return s
}

// floatConstant returns the value of a number that is written out.
func floatConstant(e syntax.Expr) (float64, bool) {
	switch e := unparen(e).(type) {
	case *syntax.FloatLit:
		return e.Value, true
	case *syntax.IntLit:
		return float64(e.Value), true
	case *syntax.Unary:
		if x, ok := unparen(e.X).(*syntax.IntLit); ok {
			return float64(-x.Value), true // -0 is an int, and has no sign
		}
		x, ok := floatConstant(e.X)
		return -x, ok
	}
	return 0, false
}

func (c *compiler) insertStmt(e *syntax.Insert) stmt {
	s := c.insertSite(e)
	return func(f *frame) ctl {
		f.m.insert(f, s, false)
		return next
	}
}

func (c *compiler) insertValue(e *syntax.Insert) refFn {
	s := c.insertSite(e)
	return func(f *frame) any { return f.m.insert(f, s, true) }
}
