package oracle

// Vectors of structs: a vector for each field, which have a name together.

import (
	"fmt"
	"slices"
	"strings"
)

// fieldSep divides the name of structs from that of a field.
const fieldSep = ":"

// fieldName is the name of a field of structs.
func fieldName(structs, field string) string { return structs + fieldSep + field }

// structOf is the name of the structs that name is a field of; name itself if it is none.
func structOf(name string) string {
	of, _, _ := strings.Cut(name, fieldSep)
	return of
}

// fieldText is what the text of a field has before and behind an index.
func fieldText(name string) (structs, field string) {
	structs, field, ok := strings.Cut(name, fieldSep)
	if ok {
		field = "." + field
	}
	return structs, field
}

// structText is the constructor of structs.
func (d *Data) structText() string {
	var args []string
	sized := false
	for k, p := range d.Parts {
		switch f := d.Struct.Fields[k]; {
		case p.List != nil:
			args, sized = append(args, f.Name+" = ["+list(p.List, (*Expr).text)+"]"), true
		case p.Fill != nil:
			args = append(args, f.Name+" = "+p.Fill.text())
		}
	}
	if d.Owner > 0 {
		args = append(args, fmt.Sprintf("owner = %d", d.Owner-1))
	}
	if d.Beside {
		args = append(args, "layout = aos")
	}
	if d.Zero {
		args = append(args, "fill = 0")
	}
	if !sized || d.Dims[0]%2 == 0 { // a list says how many there are
		args = slices.Insert(args, 0, fmt.Sprint(d.Dims[0]))
	}
	return "vector[" + d.Struct.Name + "](" + strings.Join(args, ", ") + ")"
}

// structs is what the name of structs, or of a view of some, stands for. The fields have names beside it.
type structs struct {
	typ  *Struct
	view bool
}

// structs is what r names, if that is structs or a view of some.
func (m *Machine) structs(r *Ref) (*structs, bool) {
	x, _ := m.names.find(r.Name)
	s, ok := x.(*structs)
	return s, ok
}

// fields are the fields of the structs, or of the view, that r names.
func (m *Machine) fields(r *Ref) (all []*Ref) {
	x, _ := m.structs(r)
	for _, f := range x.typ.Fields {
		all = append(all, &Ref{fieldName(r.Name, f.Name), r.Index})
	}
	return all
}

// registerStructs declares structs.
func (m *Machine) registerStructs(name string, s *Stmt) {
	d := s.Data
	m.Used["struct"]++
	if d.Beside {
		m.Used["layout = aos"]++
	}
	m.names.names[name] = &structs{typ: d.Struct}
	for k, f := range d.Struct.Fields {
		p := &Data{Shape: Vector, Elem: f.Elem, Dims: d.Dims, Fill: d.Parts[k].Fill, List: d.Parts[k].List}
		if p.Fill == nil && p.List == nil && d.Zero {
			if p.Fill = num(0); f.Elem == Bool {
				p.Fill = &Expr{Op: "bool"}
			}
		}
		of := fieldName(name, f.Name)
		m.own(of, m.datum(of, p, s.Line))
	}
}

// partitionStructs declares a view of structs.
func (m *Machine) partitionStructs(r *Ref, s *Stmt) {
	var views []*view
	fields := m.fields(r)
	for _, f := range fields {
		v, code := m.handle(f, s.Line).declare(nil, s.Filter)
		if code != "" {
			m.fail(s.Line, code)
		}
		views = append(views, v)
	}
	m.noteView(views[0].of, s)
	m.Used["struct view"]++
	x, _ := m.structs(r)
	if s.Name != "" {
		m.names.names[s.Name] = &structs{typ: x.typ, view: true}
	}
	for k, v := range views {
		if s.Name != "" {
			m.names.names[fieldName(s.Name, x.typ.Fields[k].Name)] = v
			m.names.views = append(m.names.views, v)
			continue
		}
		if h := v.of; h.among != nil {
			h.among.ended = true
		}
		v.of.among = v
	}
}

// roundsOfStructs are the names of each round of a for over the parts of v.
func (m *Machine) roundsOfStructs(v *structs, s *Stmt) (rounds []map[string]any) {
	for _, f := range v.typ.Fields {
		x, _ := m.names.find(fieldName(s.Over.Parts, f.Name))
		if x.(*view).ended {
			m.fail(s.Line, "E0506")
		}
		for k, p := range x.(*view).parts {
			if k == len(rounds) {
				rounds = append(rounds, map[string]any{s.Names[0]: &structs{typ: v.typ}})
			}
			rounds[k][fieldName(s.Names[0], f.Name)] = p
		}
	}
	return rounds
}

// passStructs gives a function structs, or a view of some, under a name.
func (m *Machine) passStructs(names map[string]any, name string, v *structs, r *Ref, line int) {
	whole := v.view && len(r.Index) == 0
	names[name] = &structs{typ: v.typ, view: whole}
	for k, f := range m.fields(r) {
		to := fieldName(name, v.typ.Fields[k].Name)
		if x, _ := m.names.find(f.Name); whole {
			names[to] = x
		} else {
			names[to] = m.handle(f, line)
		}
	}
}

// copyStruct is an assignment of an element with all fields in a body.
func (f *frame) copyStruct(s *Stmt) {
	f.used["struct copy"]++
	to, from := f.indices(s.Target.Args), f.indices(s.Expr.Args)
	for _, x := range s.Struct.Fields {
		o, p := f.ops[fieldName(s.Target.Name, x.Name)], f.ops[fieldName(s.Expr.Name, x.Name)]
		v := p.get(p.at(from))
		o.set(o.at(to), v)
	}
}

// isField reports whether an operand is a field of structs.
func (c *Codelet) isField(name string) bool {
	return slices.ContainsFunc(c.Ops, func(o Operand) bool { return o.Name == name && o.Struct != nil })
}

// shownStructs are structs, or a view of some, that are printed.
type shownStructs struct {
	*structs
	fields []*handle
	parts  int // of a view
}

func (m *Machine) shownStructs(x *structs, r *Ref, line int) *shownStructs {
	s := &shownStructs{structs: x}
	if x.view && len(r.Index) == 0 {
		s.parts = len(m.handles(m.fields(r)[0], line))
		return s
	}
	for _, f := range m.fields(r) {
		s.fields = append(s.fields, m.handle(f, line))
	}
	return s
}

// text is how print shows s.
func (s *shownStructs) text(m *Machine, line int) string {
	if s.parts > 0 {
		return strings.TrimSuffix(fmt.Sprintf("view[vector[%s]] %d parts", s.typ.Name, s.parts), map[bool]string{true: "s"}[s.parts == 1])
	}
	for _, h := range s.fields {
		m.read(h, line, true)
	}
	m.Used["struct print"]++
	var b strings.Builder
	n := s.fields[0].dims[0]
	fmt.Fprintf(&b, "vector[%s] %d:", s.typ.Name, n)
	shown(n, 8, 5, 2, func(i int) {
		var items []string
		for k, h := range s.fields {
			items = append(items, s.typ.Fields[k].Name+": "+h.item(i))
		}
		fmt.Fprintf(&b, "\n  %d: {%s}", s.fields[0].offset[0]+i, strings.Join(items, ", "))
	}, func() { b.WriteString("\n  …") })
	return b.String()
}
