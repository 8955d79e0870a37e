package ir

// The text form of the representation, and the words for data in messages.

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
)

// String returns f as text: its operands, then its statements, a line each, indented by
// block. Every operation shows its type.
func (f *Func) String() string {
	w := &irWriter{f: f}
	fmt.Fprintf(&w.b, "func %s\n", f.Name)
	for _, o := range f.Operands {
		fmt.Fprintf(&w.b, "  %v %s: %v of %v\n", o.Mode, o.Name, o.Kind, o.Elem)
	}
	for _, s := range f.Scalars {
		if s >= 0 {
			fmt.Fprintf(&w.b, "  scalar %s: %v\n", w.slot(s), f.Slots[s].Type)
		}
	}
	w.stmts(f.Body, 1)
	return w.b.String()
}

// Hash returns a hash of the text of f. It differs between bodies that compute differently
// or with other element types, and does not depend on layout and comments of the source.
func (f *Func) Hash() string {
	sum := sha256.Sum256([]byte(f.String()))
	return hex.EncodeToString(sum[:6])
}

// ExprText returns the text of e. Expressions with the same text compute the same value
// from the same locals and elements.
func (f *Func) ExprText(e *Expr) string { return (&irWriter{f: f}).expr(e) }

// ExprsText returns the texts of several expressions as one.
func (f *Func) ExprsText(list []*Expr) string { return (&irWriter{f: f}).list(list) }

type irWriter struct {
	f *Func
	b strings.Builder
}

// slot returns the name of a local, with its number: several locals may have one name.
func (w *irWriter) slot(s int) string { return fmt.Sprintf("%s.%d", w.f.Slots[s].Name, s) }

func (w *irWriter) stmts(list []*Stmt, depth int) {
	for _, s := range list {
		w.line(depth, w.stmt(s))
		w.stmts(s.Body, depth+1)
		if len(s.Else) > 0 {
			w.line(depth, "else")
			w.stmts(s.Else, depth+1)
		}
	}
}

func (w *irWriter) line(depth int, text string) {
	w.b.WriteString(strings.Repeat("  ", depth) + text + "\n")
}

func (w *irWriter) stmt(s *Stmt) string {
	switch s.Kind {
	case SetStmt:
		word := "set"
		if s.Declare {
			word = "let"
		}
		if n := w.f.Slots[s.Slot].Len; n > 0 {
			return fmt.Sprintf("%s %s = %d times %s", word, w.slot(s.Slot), n, w.expr(s.Value))
		}
		return fmt.Sprintf("%s %s = %s", word, w.slot(s.Slot), w.expr(s.Value))
	case StoreStmt:
		return fmt.Sprintf("store %s = %s", w.element(s.Operand, s.Index), w.expr(s.Value))
	case ElementStmt:
		return fmt.Sprintf("set %s[%s] = %s", w.slot(s.Slot), w.list(s.Index), w.expr(s.Value))
	case IfStmt:
		return "if " + w.expr(s.Value)
	case ForStmt:
		if s.Value != nil {
			return "for " + w.domain(s.Domain) + " while " + w.expr(s.Value)
		}
		return "for " + w.domain(s.Domain)
	}
	return "each " + w.domain(s.Domain)
}

func (w *irWriter) domain(list []Range) string {
	out := make([]string, len(list))
	for k, r := range list {
		dots := ".."
		if r.Closed {
			dots = "..="
		}
		out[k] = fmt.Sprintf("%s in %s%s%s", w.slot(r.Slot), w.expr(r.Lo), dots, w.expr(r.Hi))
	}
	return strings.Join(out, ", ")
}

func (w *irWriter) element(op int, index []*Expr) string {
	name := w.f.Operands[op].Name
	if len(index) == 0 {
		return name
	}
	return name + "[" + w.list(index) + "]"
}

func (w *irWriter) list(xs []*Expr) string {
	out := make([]string, len(xs))
	for k, x := range xs {
		out[k] = w.expr(x)
	}
	return strings.Join(out, ", ")
}

func (w *irWriter) expr(e *Expr) string {
	switch e.Op {
	case OpConst:
		switch {
		case e.Type == Bool:
			return strconv.FormatBool(e.Int != 0)
		case e.Type == U64:
			return fmt.Sprintf("%v(%d)", e.Type, uint64(e.Int))
		case e.Type.IsFloat():
			return fmt.Sprintf("%v(%v)", e.Type, e.Float)
		case e.Type == I64:
			return strconv.FormatInt(e.Int, 10)
		}
		return fmt.Sprintf("%v(%d)", e.Type, e.Int)
	case OpSlot:
		return w.slot(e.Slot)
	case OpField:
		o := w.f.Operands[e.Operand]
		return o.Name + "." + FieldName(o.Kind, e.Field)
	case OpLoad:
		return w.element(e.Operand, e.X)
	case OpElement:
		return w.slot(e.Slot) + "[" + w.list(e.X) + "]"
	case OpConvert:
		return fmt.Sprintf("%v<-%v(%s)", e.Type, e.X[0].Type, w.expr(e.X[0]))
	case OpFold:
		return fmt.Sprintf("fold.%v.%v(%s: %s)", e.Reduce, e.Type, w.domain(e.Domain), w.expr(e.X[0]))
	}
	t := e.Type
	if e.Type == Bool && len(e.X) == 2 {
		t = e.X[0].Type // of the compared values
	}
	return fmt.Sprintf("%v.%v(%s)", e.Op, t, w.list(e.X))
}

// fieldNames holds the fields of data of each kind.
var fieldNames = map[iface.Kind]map[string]Field{
	iface.Vector: {"n": FieldDim0, "offset": FieldOff0},
	iface.Matrix: {"rows": FieldDim0, "cols": FieldDim1, "ld": FieldLD, "row0": FieldOff0, "col0": FieldOff1},
	iface.Block:  {"nx": FieldDim0, "ny": FieldDim1, "nz": FieldDim2, "x0": FieldOff0, "y0": FieldOff1, "z0": FieldOff2},
}

// tensorField returns the field of a tensor with a name: "n2", "offset2".
func tensorField(k iface.Kind, name string) (Field, bool) {
	first, number := FieldDim0, ""
	switch {
	case strings.HasPrefix(name, "n"):
		number = name[1:]
	case strings.HasPrefix(name, "offset"):
		first, number = FieldOff0, name[len("offset"):]
	}
	if len(number) != 1 || number[0] < '0' || int(number[0]-'0') >= k.Rank() {
		return 0, false
	}
	return first + Field(number[0]-'0'), true
}

// FieldByName returns the field of data of kind k with a name.
func FieldByName(k iface.Kind, name string) (f Field, ok bool) {
	if k.IsTensor() {
		return tensorField(k, name)
	}
	f, ok = fieldNames[k][name]
	return f, ok
}

// FieldName returns the name of field f of data of kind k.
func FieldName(k iface.Kind, f Field) string {
	if rank := Field(k.Rank()); k.IsTensor() {
		switch {
		case f < FieldDim0+rank:
			return fmt.Sprintf("n%d", f-FieldDim0)
		case f >= FieldOff0 && f < FieldOff0+rank:
			return fmt.Sprintf("offset%d", f-FieldOff0)
		}
		return "?"
	}
	for n, g := range fieldNames[k] {
		if f == g {
			return n
		}
	}
	return "?"
}

// IndexNames returns the indices that messages suggest for data of kind k.
func IndexNames(k iface.Kind) string {
	switch k {
	case iface.Matrix:
		return "i, j"
	case iface.Block:
		return "x, y, z"
	case iface.Tensor:
		return "i, j, k, l"
	}
	if k.IsTensor() {
		return Numbered("i", k.Rank())
	}
	return "i"
}

// Numbered returns n names: "i0, i1, i2".
func Numbered(name string, n int) string {
	var all []string
	for k := range n {
		all = append(all, name+strconv.Itoa(k))
	}
	return strings.Join(all, ", ")
}

// Noun is a noun of messages, singular and plural.
type Noun struct{ One, Many string }

// For returns the form that follows the number n.
func (w Noun) For(n int64) string {
	if n == 1 {
		return w.One
	}
	return w.Many
}

// Counted returns n, in words if it is small, and the form of the noun that follows it:
// "two indices".
func Counted(n int, one, many string) string {
	number := strconv.Itoa(n)
	if n > 0 && n < 9 {
		number = [...]string{"", "one", "two", "three", "four", "five", "six", "seven", "eight"}[n]
	}
	return number + " " + Noun{one, many}.For(int64(n))
}

// AxisNouns returns the nouns for the parts of each axis of data of kind k: "row" and
// "column" of a matrix.
func AxisNouns(k iface.Kind) []Noun {
	switch k {
	case iface.Vector:
		return []Noun{{"element", "elements"}}
	case iface.Matrix:
		return []Noun{{"row", "rows"}, {"column", "columns"}}
	case iface.Block:
		return []Noun{{"x plane", "x planes"}, {"y plane", "y planes"}, {"z plane", "z planes"}}
	}
	if !k.IsTensor() {
		return nil
	}
	var out []Noun
	for k := range k.Rank() {
		out = append(out, Noun{fmt.Sprintf("slab along index %d", k), fmt.Sprintf("slabs along index %d", k)})
	}
	return out
}

// SourceText returns the source text at s, on one line.
func SourceText(src *diag.Source, s syntax.Span) string {
	if src == nil || s.Lo < 0 || int(s.Hi) > len(src.Text) || s.Lo > s.Hi {
		return ""
	}
	return strings.Join(strings.Fields(src.Text[s.Lo:s.Hi]), " ")
}
