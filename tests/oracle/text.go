package oracle

// Programs as text.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Text writes p as a script, and notes in each statement the line where it begins.
func (p *Program) Text() string {
	w := &writer{}
	for _, s := range p.Structs {
		w.line("struct %s { %s }", s.Name, strings.Join(each(s.Fields, func(f Field) string { return f.Name + ": " + f.Elem.String() }), "; "))
	}
	for _, c := range p.Codelets {
		with := ""
		if c.Retry > 0 {
			with = fmt.Sprintf(" with retry = %d", c.Retry)
		}
		w.line("codelet %s(%s)%s {", c.Name, list(firsts(c.Ops, func(o Operand) int { return o.Field }), Operand.text), with)
		w.block(c.Body)
		w.line("}")
	}
	for _, f := range p.Funcs {
		result := ""
		if f.Result != "" {
			result = " -> " + f.Result
		}
		w.line("func %s(%s)%s {", f.Name, list(f.Params, func(p Param) string { return p.Name + ": " + p.Type }), result)
		w.block(f.Body)
		w.line("}")
	}
	w.stmts(p.Body)
	return w.String()
}

// writer writes lines and counts them.
type writer struct {
	strings.Builder
	lines, depth int
}

func (w *writer) line(format string, args ...any) {
	w.WriteString(strings.Repeat("    ", w.depth))
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
	w.lines++
}

func (w *writer) block(body []*Stmt) {
	w.depth++
	w.stmts(body)
	w.depth--
}

func (w *writer) stmts(body []*Stmt) {
	for _, s := range body {
		w.stmt(s)
	}
}

func (w *writer) stmt(s *Stmt) {
	s.Line = w.lines + 1
	switch s.Kind {
	case Register:
		w.line("register %s = %s", strings.Join(append([]string{strings.TrimSuffix(s.Name, sparseValues)}, s.Names...), ", "), s.Data.text())
	case Partition:
		name := ""
		if s.Name != "" {
			name = s.Name + " = "
		}
		slice := ""
		if s.Slice != nil {
			slice = "[" + list(s.Slice, func(r [2]int) string { return fmt.Sprintf("%d..%d", r[0], r[1]) }) + "]"
		}
		of := func(r *Ref) string {
			if s.Sparse {
				return strings.TrimSuffix(r.text(), sparseValues)
			}
			return r.text() + slice
		}
		w.line("partition %s%s by %s%s", name, list(s.Refs, of), strings.Join(each(s.Filter, Filter.text), " then "), s.gridText())
	case Unpartition, Invalidate, Unregister, Evict, Wait, Prefetch, Hint:
		verb := [...]string{Unpartition: "unpartition", Invalidate: "invalidate", Unregister: "unregister", Evict: "evict", Wait: "wait", Prefetch: "prefetch", Hint: "hint"}[s.Kind]
		w.line("%s", strings.TrimRight(fmt.Sprintf("%s %s %s", verb, list(s.Refs, (*Ref).text), s.Text), " "))
	case Checkpoint:
		w.line("checkpoint %q", checkpointFolder)
	case Insert:
		w.line("%s", insertText(s))
	case Call:
		name := ""
		if s.Target != nil {
			name = "let " + s.Target.Name + " = "
		}
		w.line("%s%s(%s)", name, s.Name, list(firsts(s.Args, argField), Arg.text))
	case Let:
		w.line("let %s = %s", s.Name, s.Expr.text())
	case Assign:
		w.line("%s %s %s", s.Target.text(), s.Op, s.Expr.text())
	case Return:
		w.line("%s", strings.TrimRight("return "+s.Expr.text(), " "))
	case Break:
		w.line("break")
	case Continue:
		w.line("continue")
	case Assert:
		w.line("assert %s", s.Expr.text())
	case Print:
		w.line("print(%s)", list(s.Exprs, (*Expr).text))
	case Open:
		w.line("open(%s)", s.Name)
	case Release:
		to := ""
		if s.Modes != nil {
			to = " to " + s.Modes[0].String()
		}
		w.line("release %s%s", s.Names[0], to)
	default:
		w.compound(s)
	}
}

// compound writes a statement that has a block.
func (w *writer) compound(s *Stmt) {
	switch s.Kind {
	case If:
		w.line("if %s {", s.Expr.text())
	case While:
		w.line("while %s {", s.Expr.text())
	case For:
		w.line("for %s in %s {", strings.Join(s.Names, ", "), s.Over.text())
	case Each:
		w.line("each %s in %s {", strings.Join(s.Names, ", "), s.Over.text())
	case Acquire:
		var items []string
		for k, r := range s.Refs {
			items = append(items, fmt.Sprintf("%v %s as %s", s.Modes[k], r.text(), s.Names[k]))
		}
		if s.Body == nil {
			w.line("acquire %s", strings.Join(items, ", "))
			return
		}
		w.line("acquire %s {", strings.Join(items, ", "))
	}
	w.block(s.Body)
	if s.Else != nil {
		w.line("} else {")
		w.block(s.Else)
	}
	w.line("}")
}

func insertText(s *Stmt) string {
	text := fmt.Sprintf("insert %s(%s)", s.Name, list(firsts(s.Args, argField), Arg.text))
	if s.Target != nil {
		text = "let " + s.Target.Name + " = " + text
	}
	var with []string
	if len(s.With.After) > 0 {
		with = append(with, "after = ["+strings.Join(s.With.After, ", ")+"]")
	}
	if s.With.Sync {
		with = append(with, "sync = true")
	}
	if s.With.Loose {
		with = append(with, "sequential = false")
	}
	if len(s.With.Unordered) > 0 {
		with = append(with, "unordered = ["+list(s.With.Unordered, (*Ref).text)+"]")
	}
	if s.Text != "" {
		with = append(with, s.Text)
	}
	if with != nil {
		text += " with " + strings.Join(with, ", ")
	}
	return text
}

// firsts are the items without those of further fields of structs.
func firsts[T any](items []T, field func(T) int) []T {
	return slices.DeleteFunc(slices.Clone(items), func(x T) bool { return field(x) > 0 })
}

func argField(a Arg) int { return a.Field }

// each is the texts of items.
func each[T any](items []T, text func(T) string) []string {
	var out []string
	for _, x := range items {
		out = append(out, text(x))
	}
	return out
}

func list[T any](items []T, text func(T) string) string { return strings.Join(each(items, text), ", ") }

func (o Operand) text() string {
	elem := o.Elem.String()
	switch {
	case o.Generic:
		elem = "T"
	case o.Mode == None && o.Elem == I64 && !o.Exact:
		elem = "int"
	case o.Mode == None && o.Elem == F64 && !o.Exact:
		elem = "float"
	case o.Mode == None && o.Elem == C128 && !o.Exact:
		elem = "complex"
	}
	switch {
	case o.Mode == None:
		return o.Name + ": " + elem
	case o.Shape == Void:
		return fmt.Sprintf("%s: %v void", o.Name, o.Mode)
	}
	if o.Struct != nil {
		return fmt.Sprintf("%s: %v vector[%s]", structOf(o.Name), o.Mode, o.Struct.Name)
	}
	if o.Sparse != "" {
		return fmt.Sprintf("%s: %v %s[%s]", strings.TrimSuffix(o.Name, sparseValues), o.Mode, o.Sparse, elem)
	}
	return fmt.Sprintf("%s: %v %s", o.Name, o.Mode, o.Shape.typeOf(elem))
}

// rankInType reports whether the constructor says in its type how many indices a tensor has, which its sizes say, too.
func (d *Data) rankInType() bool { return len(d.Dims) > 0 && d.Dims[0]%2 == 1 }

func (d *Data) text() string {
	if d.Shape == Void {
		return "void()"
	}
	if d.Struct != nil {
		return d.structText()
	}
	var args []string
	for _, n := range d.Dims {
		args = append(args, strconv.Itoa(n))
	}
	kind, values := d.Shape.String(), "list"
	if m := d.Sparse; m != nil {
		kind, values, args = m.Format, "val", nil
		if d.From == nil {
			args = []string{strconv.Itoa(m.Rows), strconv.Itoa(m.Cols)}
		}
		if m.Format == "bcsr" {
			args = append(args, fmt.Sprintf("r = %d, c = %d", m.R, m.C))
		}
		if d.From == nil {
			for _, a := range m.arrays() {
				args = append(args, a.name+" = ["+list(a.items, strconv.Itoa)+"]")
			}
		}
	}
	switch {
	case d.From == nil:
	case strings.HasSuffix(d.From.Name, sparseValues):
		args = append(args, "from = "+strings.TrimSuffix(d.From.text(), sparseValues))
	default:
		args = append(args, "dense = "+d.From.text())
	}
	if d.LD > 0 {
		args = append(args, fmt.Sprintf("ld = %d", d.LD))
	}
	if d.Fill != nil {
		args = append(args, "fill = "+d.Fill.text())
	}
	if d.List != nil {
		args = append(args, values+" = ["+list(d.List, (*Expr).text)+"]")
	}
	if d.Owner > 0 {
		args = append(args, fmt.Sprintf("owner = %d", d.Owner-1))
	}
	switch names := strings.Fields(d.Reduce); {
	case len(names) == 2:
		args = append(args, fmt.Sprintf("reduce = reducer(init = %s, combine = %s)", names[0], names[1]))
	case len(names) == 1 && neutralOps[d.Reduce]:
		args = append(args, "reduce = "+d.Reduce)
	case len(names) == 1:
		args = append(args, fmt.Sprintf("reduce = reducer(init = %s)", d.Reduce))
	}
	typ := kind + "[" + d.Elem.String() + "]"
	if d.Sparse == nil && d.rankInType() {
		typ = d.Shape.typeOf(d.Elem.String())
	}
	return typ + "(" + strings.Join(args, ", ") + ")"
}

// neutralOps are the reductions that the language has.
var neutralOps = map[string]bool{"sum": true, "prod": true, "min": true, "max": true}

// gridText is the grid of a partition, with a number for each index of the view.
func (s *Stmt) gridText() string {
	if s.Grid == nil {
		return ""
	}
	var numbers []int
	for _, f := range s.Filter {
		n := 1
		if f.Name == "tiles" {
			n = len(f.Args)
		}
		for range n {
			numbers = append(numbers, s.Grid[len(numbers)%len(s.Grid)])
		}
	}
	return " over grid(" + list(numbers, strconv.Itoa) + ")"
}

func (f Filter) text() string {
	var args []string
	for _, a := range f.Args {
		args = append(args, strconv.Itoa(a))
	}
	if f.Range != nil {
		args = append(args, fmt.Sprintf("%d..%d", f.Range[0], f.Range[1]))
	}
	if f.Sizes != nil {
		args = append(args, "sizes = ["+list(f.Sizes, strconv.Itoa)+"]")
	}
	if f.Halo > 0 {
		args = append(args, fmt.Sprintf("halo = %d", f.Halo))
	}
	if f.Inside > 0 {
		args = append(args, fmt.Sprintf("inside = %d", f.Inside))
	}
	return f.Name + "(" + strings.Join(args, ", ") + ")"
}

func (r *Ref) text() string {
	name, field := fieldText(r.Name)
	if len(r.Index) == 0 {
		return name + field
	}
	return name + "[" + list(r.Index, (*Expr).text) + "]" + field
}

func (a Arg) text() string {
	switch {
	case a.Expr != nil:
		return a.Expr.text()
	case a.Mode == None:
		return a.Ref.text()
	}
	if a.Sparse {
		return a.Mode.String() + " " + strings.TrimSuffix(a.Ref.text(), sparseValues)
	}
	if a.Struct != nil {
		return a.Mode.String() + " " + (&Ref{structOf(a.Ref.Name), a.Ref.Index}).text()
	}
	return a.Mode.String() + " " + a.Ref.text()
}

func (d *Domain) text() string {
	switch {
	case d.Line != nil:
		return strings.TrimSuffix(d.Of, sparseValues) + "." + d.Along + "(" + d.Line.text() + ")"
	case d.Of != "":
		return structOf(d.Of)
	case d.Parts != "":
		return d.Parts + ".parts"
	case d.List != nil:
		return "[" + list(d.List, (*Expr).text) + "]"
	case d.Grid != nil:
		return "grid(" + list(d.Grid, (*Expr).text) + ")"
	}
	return list(d.Ranges, func(r Range) string {
		if r.Closed {
			return r.Lo.text() + "..=" + r.Hi.text()
		}
		return r.Lo.text() + ".." + r.Hi.text()
	})
}

// text writes e with all brackets.
func (e *Expr) text() string {
	switch {
	case e == nil:
		return ""
	case e.Op == "int":
		if e.Int < 0 {
			return "(" + strconv.FormatInt(e.Int, 10) + ")"
		}
		return strconv.FormatInt(e.Int, 10)
	case e.Op == "float":
		if e.Float < 0 {
			return "(" + literalText(e.Float) + ")"
		}
		return literalText(e.Float)
	case e.Op == "imaginary":
		return literalText(e.Float) + "i"
	case e.Op == "bool":
		return strconv.FormatBool(e.Int == 1)
	case e.Op == "text":
		return strconv.Quote(e.Name)
	case e.Op == "name":
		return e.Name
	case e.Op == "data":
		return e.Ref.text()
	case e.Op == "value":
		return "value(" + e.Ref.text() + ")"
	case e.Op == "elem":
		name, field := fieldText(e.Name)
		return name + "[" + list(e.Args, (*Expr).text) + "]" + field
	case e.Op == "field" && e.Ref != nil:
		return e.Ref.text() + "." + e.Field
	case e.Op == "field":
		return structOf(e.Name) + "." + e.Field
	case e.Op == "neg":
		return "(-" + e.Args[0].text() + ")"
	case e.Op == "~":
		return "(~" + e.Args[0].text() + ")"
	case e.Op == "not":
		return "(not " + e.Args[0].text() + ")"
	case e.Op == "if":
		return fmt.Sprintf("(if %s then %s else %s)", e.Args[0].text(), e.Args[1].text(), e.Args[2].text())
	case e.Op == "call":
		return e.Name + "(" + list(e.Args, (*Expr).text) + ")"
	case e.Op == "gate":
		return "gate()"
	case e.Op == "fold":
		return fmt.Sprintf("(%s %s in %s { %s })", e.Name, strings.Join(e.Index, ", "), e.Over.text(), e.Args[0].text())
	}
	return "(" + e.Args[0].text() + " " + e.Op + " " + e.Args[1].text() + ")"
}

// literalText writes a float with a digit on both sides of the point.
func literalText(f float64) string {
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}
