package oracle

// Programs that show a difference are made smaller as long as they show it.

import "slices"

// Shrink makes p smaller, step by step, while fails holds, which must not change p. It
// stops when more is true no longer.
func Shrink(p *Program, fails func(*Program) bool, more func() bool) {
	s := &shrinker{fails: func() bool { return fails(p) }, more: more}
	for s.changed = true; s.changed && more(); {
		s.changed = false
		s.program(p)
	}
}

type shrinker struct {
	fails   func() bool
	more    func() bool
	changed bool
}

// try makes a change and undoes it when the program then fails no longer.
func (s *shrinker) try(do, undo func()) bool {
	if !s.more() {
		return false
	}
	do()
	if s.fails() {
		s.changed = true
		return true
	}
	undo()
	return false
}

// set tries to give *at another value.
func set[T any](s *shrinker, at *T, to T) bool {
	old := *at
	return s.try(func() { *at = to }, func() { *at = old })
}

// drop tries to take items out of *at, many at once and then fewer; the first keep stay.
func drop[T any](s *shrinker, at *[]T, keep int) {
	for size := len(*at) - keep; size > 0; size /= 2 {
		for k := len(*at) - size; k >= keep; k -= size {
			set(s, at, slices.Concat((*at)[:k], (*at)[k+size:]))
			k = min(k, len(*at))
		}
	}
}

func (s *shrinker) program(p *Program) {
	s.block(&p.Body)
	drop(s, &p.Codelets, 0)
	drop(s, &p.Funcs, 0)
	drop(s, &p.Structs, 0)
	for _, x := range p.Structs {
		for k := len(x.Fields) - 1; k >= 0 && len(x.Fields) > 1; k-- {
			s.field(p, x, k)
		}
	}
	for _, c := range p.Codelets {
		s.block(&c.Body)
		for k := len(c.Ops) - 1; k >= 0; k-- {
			s.operand(p, c, k)
		}
	}
	for _, f := range p.Funcs {
		s.block(&f.Body)
	}
}

// operand tries to take operand k of c out, here and in the inserts.
func (s *shrinker) operand(p *Program, c *Codelet, k int) {
	if c.Ops[k].Field > 0 {
		return // all fields of structs go together
	}
	n := k + 1
	for n < len(c.Ops) && c.Ops[n].Field > 0 {
		n++
	}
	ops := c.Ops
	var inserts []*Stmt
	p.statements(func(x *Stmt) {
		if x.Kind == Insert && x.Name == c.Name {
			inserts = append(inserts, x)
		}
	})
	args := make([][]Arg, len(inserts))
	s.try(func() {
		c.Ops = slices.Concat(ops[:k], ops[n:])
		for j, x := range inserts {
			args[j] = x.Args
			x.Args = slices.Concat(x.Args[:k], x.Args[n:])
		}
	}, func() {
		c.Ops = ops
		for j, x := range inserts {
			x.Args = args[j]
		}
	})
}

// field tries to take field k of x out, here, in operands, inserts and data.
func (s *shrinker) field(p *Program, x *Struct, k int) {
	var undo []func()
	change := func(do, back func()) {
		do()
		undo = append(undo, back)
	}
	s.try(func() {
		fields := x.Fields
		change(func() { x.Fields = slices.Concat(fields[:k], fields[k+1:]) }, func() { x.Fields = fields })
		for _, c := range p.Codelets {
			ops := c.Ops
			change(func() {
				c.Ops = nil
				for _, o := range ops {
					if o.Struct == x && o.Field == k {
						continue
					}
					if o.Struct == x && o.Field > k {
						o.Field--
					}
					c.Ops = append(c.Ops, o)
				}
			}, func() { c.Ops = ops })
		}
		p.statements(func(t *Stmt) {
			args := t.Args
			change(func() {
				t.Args = nil
				for _, a := range args {
					if a.Struct == x && a.Field == k {
						continue
					}
					if a.Struct == x && a.Field > k {
						a.Field--
					}
					t.Args = append(t.Args, a)
				}
			}, func() { t.Args = args })
			if d := t.Data; d != nil && d.Struct == x {
				parts := d.Parts
				change(func() { d.Parts = slices.Concat(parts[:k], parts[k+1:]) }, func() { d.Parts = parts })
			}
		})
	}, func() {
		for _, f := range undo {
			f()
		}
	})
}

// statements calls fn for all statements of the script.
func (p *Program) statements(fn func(*Stmt)) {
	var walk func(body []*Stmt)
	walk = func(body []*Stmt) {
		for _, x := range body {
			fn(x)
			walk(x.Body)
			walk(x.Else)
		}
	}
	walk(p.Body)
	for _, f := range p.Funcs {
		walk(f.Body)
	}
}

func (s *shrinker) block(body *[]*Stmt) {
	drop(s, body, 0)
	for k := 0; k < len(*body); k++ {
		x := (*body)[k]
		if x.Body != nil {
			for _, inner := range [][]*Stmt{x.Body, x.Else} {
				if inner != nil && set(s, body, slices.Concat((*body)[:k], inner, (*body)[k+1:])) {
					break
				}
			}
		}
		if k < len(*body) && (*body)[k] == x {
			s.stmt(x)
		}
	}
}

func (s *shrinker) stmt(x *Stmt) {
	s.block(&x.Body)
	if x.Else != nil && !set(s, &x.Else, nil) {
		s.block(&x.Else)
	}
	if x.Grid != nil {
		set(s, &x.Grid, nil)
	}
	if x.Text != "" && x.Kind == Insert {
		set(s, &x.Text, "")
	}
	if x.Target != nil && (x.Kind == Insert || x.Kind == Call) {
		set(s, &x.Target, nil)
	}
	if x.Op != "" && x.Op != "=" {
		set(s, &x.Op, "=")
	}
	drop(s, &x.With.After, 0)
	if x.With.Sync {
		set(s, &x.With.Sync, false)
	}
	if x.Kind == Print {
		drop(s, &x.Exprs, 1)
		s.exprs(x.Exprs)
	}
	if x.Kind == Partition {
		if x.Slice != nil {
			set(s, &x.Slice, nil)
		}
		drop(s, &x.Filter, 1)
		for k := range x.Filter {
			if f := &x.Filter[k]; f.Halo > 0 {
				set(s, &f.Halo, 0)
			}
			if f := &x.Filter[k]; f.Inside > 0 {
				set(s, &f.Inside, 0)
			}
		}
	}
	for k := 0; x.Kind == Acquire && len(x.Refs) > 1 && k < len(x.Refs); {
		old := *x
		if !s.try(func() {
			x.Refs, x.Modes, x.Names = slices.Concat(x.Refs[:k], x.Refs[k+1:]), slices.Concat(x.Modes[:k], x.Modes[k+1:]), slices.Concat(x.Names[:k], x.Names[k+1:])
		}, func() { *x = old }) {
			k++
		}
	}
	if x.Data != nil {
		s.data(x.Data)
	}
	if x.Expr != nil {
		s.expr(&x.Expr)
	}
	if x.Target != nil && x.Target.Op == "elem" {
		s.exprs(x.Target.Args)
	}
	s.domain(x.Over)
	for k := range x.Args {
		a := &x.Args[k]
		if a.Mode == Commute || a.Mode == Redux {
			set(s, &a.Mode, RW)
		}
		if a.Mode == CommuteW {
			set(s, &a.Mode, W)
		}
		if a.Expr != nil {
			s.expr(&a.Expr)
		}
		if a.Ref != nil {
			s.exprs(a.Ref.Index)
		}
	}
}

func (s *shrinker) data(d *Data) {
	if d.Reduce != "" {
		set(s, &d.Reduce, "")
	}
	if d.LD > 0 {
		set(s, &d.LD, 0)
	}
	if d.Owner > 0 {
		set(s, &d.Owner, 0)
	}
	sized := d.List != nil
	for k := range d.Parts {
		s.data(&d.Parts[k])
		if p := &d.Parts[k]; p.Fill != nil {
			set(s, &p.Fill, nil)
		}
		sized = sized || d.Parts[k].List != nil
	}
	if d.Beside {
		set(s, &d.Beside, false)
	}
	if d.Zero {
		set(s, &d.Zero, false)
	}
	if d.List != nil {
		list := d.List
		if !s.try(func() { d.List, d.Fill = nil, list[0] }, func() { d.List, d.Fill = list, nil }) {
			s.exprs(d.List)
		}
	}
	if d.Fill != nil {
		s.expr(&d.Fill)
	}
	for k, n := range d.Dims {
		if !sized && n > 1 {
			for _, m := range []int{1, 2, n / 2, n - 1} {
				if m < n && set(s, &d.Dims[k], m) {
					break
				}
			}
		}
	}
}

func (s *shrinker) domain(d *Domain) {
	if d == nil {
		return
	}
	for k := range d.Ranges {
		s.expr(&d.Ranges[k].Lo)
		s.expr(&d.Ranges[k].Hi)
	}
	s.exprs(d.List)
	s.exprs(d.Grid)
}

func (s *shrinker) exprs(list []*Expr) {
	for k := range list {
		s.expr(&list[k])
	}
}

// expr tries one of its operands, or a number, in the place of an expression.
func (s *shrinker) expr(at **Expr) {
	e := *at
	switch e.Op {
	case "int":
		if e.Int != 0 && e.Int != 1 {
			for _, n := range []int64{0, 1, 2, e.Int / 2} {
				if set(s, at, &Expr{Op: "int", Int: n}) {
					return
				}
			}
		}
		return
	case "float":
		if e.Float != 1 && e.Float != 2 {
			_ = set(s, at, &Expr{Op: "float", Float: 1}) || set(s, at, &Expr{Op: "float", Float: 2})
		}
		return
	case "bool", "text", "value", "data", "gate", "task":
		return
	}
	for _, n := range []int64{0, 1} {
		if set(s, at, &Expr{Op: "int", Int: n}) {
			return
		}
	}
	if len(e.Args) == 0 {
		return
	}
	for _, a := range e.Args {
		if set(s, at, a) {
			s.expr(at)
			return
		}
	}
	for _, v := range []int64{0, 1} {
		if set(s, at, &Expr{Op: "bool", Int: v}) {
			return
		}
	}
	s.domain(e.Over)
	s.exprs(e.Args)
}
