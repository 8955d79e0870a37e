package interp

// The text of values, as print and str write it.

import (
	"math"
	"strconv"
	"strings"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
)

// formatFloat writes the fewest digits that read back the same in bits bits, with
// a point or an exponent.
func formatFloat(x float64, bits int) string {
	switch {
	case math.IsInf(x, 1):
		return "inf"
	case math.IsInf(x, -1):
		return "-inf"
	case x != x:
		return "nan"
	}
	if a := math.Abs(x); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(x, 'e', -1, bits)
	}
	s := strconv.FormatFloat(x, 'f', -1, bits)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// formatDigits is formatFloat of x rounded to the given number of significant digits;
// digits before the point are never dropped.
func formatDigits(x float64, bits, digits int) string {
	if x == 0 || math.IsInf(x, 0) || x != x {
		return formatFloat(x, bits)
	}
	rounded := strconv.FormatFloat(x, 'e', digits-1, bits)
	_, power, _ := strings.Cut(rounded, "e")
	exp, err := strconv.Atoi(power)
	if err == nil && exp >= digits && math.Abs(x) < 1e16 {
		rounded = strconv.FormatFloat(x, 'f', 0, bits)
	}
	y, err := strconv.ParseFloat(rounded, bits)
	if err != nil {
		return formatFloat(x, bits)
	}
	return formatFloat(y, bits)
}

// float returns the printed form of a float of the given size in bits.
func (m *Machine) float(x float64, bits int) string {
	if m.showing && m.digits > 0 {
		return formatDigits(x, bits, m.digits)
	}
	return formatFloat(x, bits)
}

// show returns the text of a value for print, an assertion or the session: long lists by
// their ends, and floats with the digits of Config.Digits. Text that a script computes
// with is never shortened.
func (m *Machine) show(v any, quoted bool, at position) string {
	m.showing = true
	defer func() { m.showing = false }()
	return m.text(v, quoted, at)
}

// text returns the printed form of v; strings inside lists are quoted.
func (m *Machine) text(v any, quoted bool, at position) string {
	if m.unknown { // in a plan
		return m.unknownText(v, at)
	}
	switch v := v.(type) {
	case nil:
		return "none"
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return m.float(v, 64)
	case complex128:
		return m.complexText(v, 64)
	case bool:
		return strconv.FormatBool(v)
	case string:
		if quoted {
			return strconv.Quote(v)
		}
		return v
	case *List:
		b := m.listText(nil, v, at, 0)
		m.allocString(len(b), at)
		return string(b)
	case *Handle:
		return m.handleText(v, at)
	case *View:
		m.needOpen(v, at)
		return v.String()
	case *Array:
		v.needHeld(m, at)
		if v.cell != nil { // of a plan
			return plannedText(v.h.Type().String(), &v.buf.Desc)
		}
		return m.bufferText(v.h.Type().String(), &v.buf, nil)
	case *Gate:
		return "gate"
	case *Reducer:
		return "reducer " + v.name
	case DeviceKind:
		return string(v)
	case interface{ String() string }:
		return v.String()
	}
	return "?"
}

// listText adds l to b, whose memory it counts.
func (m *Machine) listText(b []byte, l *List, at position, depth int) []byte {
	const short = 32 // a number, and what is around it
	b = m.extend(b, short, at)
	if depth > 1000 { // a list may hold itself
		return append(b, "[…]"...)
	}
	b = append(b, '[')
	part := shown{l.Len(), 0, 0}
	if m.showing {
		part = m.shownOfList(depth)
	}
	each(l.Len(), part, func(k int) {
		b = m.extend(b, short, at)
		if k > 0 {
			b = append(b, ", "...)
		}
		switch l.kind {
		case rInt:
			b = strconv.AppendInt(b, l.i[k], 10)
		case rBool:
			b = strconv.AppendBool(b, l.i[k] != 0)
		default:
			if in, ok := l.at(k).(*List); ok {
				b = m.listText(b, in, at, depth+1)
				break
			}
			s := m.text(l.at(k), true, at)
			b = append(m.extend(b, len(s), at), s...)
		}
		m.spend(at)
	}, func() {
		b = m.extend(b, 2*short, at)
		b = append(append(b, ", "+elision+" "...), strconv.Itoa(l.Len()-part.head-part.tail)+" more"...)
	})
	return append(m.extend(b, 1, at), ']')
}

// elem is one element of a buffer: an integer, a float or a complex number.
type elem struct {
	i  int64
	f  float64 // of a complex number: the real part
	im float64
}

// readElem reads the element at p.
func readElem(e iface.Elem, p unsafe.Pointer) elem {
	switch e {
	case iface.I8:
		return elem{i: int64(*(*int8)(p))}
	case iface.I16:
		return elem{i: int64(*(*int16)(p))}
	case iface.I32:
		return elem{i: int64(*(*int32)(p))}
	case iface.I64:
		return elem{i: *(*int64)(p)}
	case iface.U8:
		return elem{i: int64(*(*uint8)(p))}
	case iface.U16:
		return elem{i: int64(*(*uint16)(p))}
	case iface.U32:
		return elem{i: int64(*(*uint32)(p))}
	case iface.U64:
		return elem{i: int64(*(*uint64)(p))}
	case iface.F32:
		return elem{f: float64(*(*float32)(p))}
	case iface.F64:
		return elem{f: *(*float64)(p)}
	case iface.F16:
		return elem{f: float64((*iface.Float16)(p).Float32())}
	case iface.BF16:
		return elem{f: float64((*iface.BFloat16)(p).Float32())}
	case iface.B8:
		if *(*uint8)(p) != 0 {
			return elem{i: 1}
		}
		return elem{}
	case iface.C64:
		z := *(*complex64)(p)
		return elem{f: float64(real(z)), im: float64(imag(z))}
	case iface.C128:
		z := *(*complex128)(p)
		return elem{f: real(z), im: imag(z)}
	}
	return elem{}
}

// elemValue is e, an element of type t, as a value of the language.
func (m *Machine) elemValue(t iface.Elem, e elem, at position) any {
	if t.IsFloat() {
		return e.f
	}
	if t.IsComplex() {
		return complex(e.f, e.im)
	}
	if t == iface.B8 {
		return e.i != 0
	}
	if t == iface.U64 && e.i < 0 {
		m.fail("R0103", at, "the element %d does not fit an int (64 bit)", uint64(e.i))
	}
	return e.i
}

// real is v, of type e, as a float.
func (v elem) real(e iface.Elem) float64 {
	switch {
	case e == iface.U64:
		return float64(uint64(v.i))
	case e.IsInt(), e == iface.B8:
		return float64(v.i)
	}
	return v.f
}

// elemLess reports whether a is less than b, both of type e.
func elemLess(e iface.Elem, a, b elem) bool {
	switch {
	case e == iface.U64:
		return uint64(a.i) < uint64(b.i)
	case e.IsInt(), e == iface.B8:
		return a.i < b.i
	}
	return a.f < b.f
}

// elemText writes v, of type e.
func (m *Machine) elemText(e iface.Elem, v elem) string {
	switch e {
	case iface.F32, iface.F16, iface.BF16:
		return m.float(v.f, 32)
	case iface.F64:
		return m.float(v.f, 64)
	case iface.C64, iface.C128:
		return m.complexText(complex(v.f, v.im), 8*int(e.Part().Size()))
	case iface.U64:
		return strconv.FormatUint(uint64(v.i), 10)
	case iface.B8:
		return strconv.FormatBool(v.i != 0)
	}
	return strconv.FormatInt(v.i, 10)
}

// complexText writes z, with parts of 32 or 64 bits: 1.5-2.0i.
func (m *Machine) complexText(z complex128, bits int) string {
	im := m.float(imag(z), bits)
	if !strings.HasPrefix(im, "-") {
		im = "+" + im
	}
	return m.float(real(z), bits) + im + "i"
}

const (
	elision          = "…"
	unwrittenElement = "?"
)

// shown is what is shown of long data: all of it up to whole elements, rows or
// columns, else the first head and the last tail.
type shown struct{ whole, head, tail int }

// Limits of the shown elements, unless a session sets others.
var (
	shownVector = shown{12, 6, 3}
	shownMatrix = shown{8, 5, 2}
	shownList   = shown{100, 20, 5}
	shownInner  = shown{20, 10, 3} // lists in lists
)

// shown says what is shown of long vectors and matrices now.
func (m *Machine) shown() (vector, matrix shown) {
	if n := m.elide; m.echoing && n > 0 {
		return shown{n, max(1, n/2), max(1, n/4)}, shown{max(2, n*2/3), max(1, n*5/12), max(1, n/6)}
	}
	return shownVector, shownMatrix
}

// shownOfList says what is shown of long lists now, at a depth of lists within lists.
func (m *Machine) shownOfList(depth int) shown {
	switch n := m.elide; {
	case m.echoing && n > 0:
		return shown{n, max(1, n/2), max(1, n/4)}
	case depth > 0:
		return shownInner
	}
	return shownList
}

// index is the place of an element, one number for each axis.
type index [iface.MaxRank]int

// bufferText writes data of the type named typ. known says whether an element has
// been written; nil means all.
func (m *Machine) bufferText(typ string, b *iface.Buffer, known func(at index) bool) string {
	vector, matrix := m.shown()
	written, counted := 0, 0
	grows := func(out *strings.Builder) { // long texts end with their run, and count as memory
		if written++; written&0xfff == 0 {
			m.poll(position{})
			m.alloc(int64(out.Len()-counted), position{})
			counted = out.Len()
		}
	}
	item := func(at ...int) string {
		var i index
		off := 0
		for k, x := range at {
			i[k] = x
			off += x * b.Stride[k]
		}
		if known != nil && !known(i) {
			return unwrittenElement
		}
		return m.elemText(b.Elem, readElem(b.Elem, unsafe.Add(b.Ptr, off*int(b.Elem.Size()))))
	}
	var out strings.Builder
	t := &table{shown: matrix}
	if b.Rank > 0 {
		t.columns = b.Dim[b.Rank-1]
	}
	out.WriteString(typ)
	switch b.Kind {
	case iface.Variable:
		out.WriteString(": " + item())
	case iface.Vector:
		n := b.Dim[0]
		out.WriteString(" " + strconv.Itoa(n) + ":")
		each(n, vector, func(i int) {
			out.WriteString(" " + item(i))
			grows(&out)
		}, func() { out.WriteString(" " + elision) })
		if n > vector.whole {
			m.writeStats(&out, b, known)
		}
	case iface.Matrix:
		out.WriteString(" " + strconv.Itoa(b.Dim[0]) + " x " + strconv.Itoa(b.Dim[1]) + ":")
		for _, t.measuring = range []bool{true, false} {
			each(b.Dim[0], matrix, func(i int) {
				t.row(&out, "\n  ", func(j int) string { grows(&out); return item(i, j) })
			}, func() { t.text(&out, "\n  "+elision) })
		}
	default: // blocks and tensors
		out.WriteString(" " + shapeText(&b.Desc) + ":")
		at := make([]int, b.Rank)
		row := int(b.Rank) - 2
		var planes func(axis int) // those at the indices at[:axis]
		planes = func(axis int) {
			if axis < row {
				each(b.Dim[axis], matrix, func(i int) { at[axis] = i; planes(axis + 1) }, func() { t.text(&out, "\n  "+elision) })
				return
			}
			t.text(&out, "\n  "+m.planeName(b.Kind, at[:row])+":")
			each(b.Dim[row], matrix, func(i int) {
				at[row] = i
				t.row(&out, "\n    ", func(j int) string { grows(&out); at[row+1] = j; return item(at...) })
			}, func() { t.text(&out, "\n    "+elision) })
		}
		for _, t.measuring = range []bool{true, false} {
			planes(0)
		}
	}
	return out.String()
}

// planeName names the plane of data of kind k at all indices but the last two: "x = 1" of a
// block, "[1, 0]" of a tensor.
func (m *Machine) planeName(k iface.Kind, at []int) string {
	var text []string
	for axis, i := range at {
		text = append(text, strconv.Itoa(m.shownFrom[axis]+i))
	}
	if k == iface.Block {
		return "x = " + text[0]
	}
	return "[" + strings.Join(text, ", ") + "]"
}

// A table writes rows of numbers whose points are below each other. It goes over them
// twice: first to measure the columns, then to write.
type table struct {
	columns   int // all columns of the data, shown or not
	shown     shown
	widths    [][2]int // of the columns that are shown: characters in front of the point, and from it on
	measuring bool
}

// row measures or writes the row whose column j has the text item(j).
func (t *table) row(out *strings.Builder, indent string, item func(j int) string) {
	t.text(out, indent)
	k, blanks := 0, 0
	pad := func(n int) {
		for range n {
			t.text(out, " ")
		}
	}
	each(t.columns, t.shown, func(j int) {
		s := item(j)
		before := pointOf(s)
		behind := len(s) - before
		if t.measuring {
			if k == len(t.widths) {
				t.widths = append(t.widths, [2]int{})
			}
			t.widths[k] = [2]int{max(t.widths[k][0], before), max(t.widths[k][1], behind)}
		} else {
			if k > 0 {
				blanks++
			}
			pad(blanks + t.widths[k][0] - before)
			t.text(out, s)
			blanks = t.widths[k][1] - behind // in front of the next one, if there is one
		}
		k++
	}, func() {
		pad(blanks + 1)
		t.text(out, elision)
		blanks = 0
	})
}

// text writes what is no number.
func (t *table) text(out *strings.Builder, s string) {
	if !t.measuring {
		out.WriteString(s)
	}
}

// pointOf is where the point of a number is, or its end.
func pointOf(s string) int {
	if i := strings.IndexAny(s, ".e"); i >= 0 {
		return i
	}
	return len(s)
}

// plannedText writes data of the type named typ in a plan, where no element is known:
// its sizes, and a word instead of a table of question marks.
func plannedText(typ string, d *iface.Desc) string {
	switch d.Kind {
	case iface.Variable:
		return typ + ": " + unwrittenElement
	case iface.Vector:
		typ += " " + strconv.Itoa(d.Dim[0])
	default:
		typ += " " + shapeText(d)
	}
	return typ + ": not known in a plan"
}

// each calls item for the places of n that are shown, with gap between the first and
// the last ones where some are not.
func each(n int, s shown, item func(int), gap func()) {
	for i := 0; i < n; i++ {
		if n > s.whole && i == s.head {
			gap()
			i = n - s.tail
		}
		item(i)
	}
}

// writeStats adds least, largest and mean of the elements that have a value. A
// NaN is neither least nor largest, wherever it stands; the mean shows it.
func (m *Machine) writeStats(out *strings.Builder, b *iface.Buffer, known func(at index) bool) {
	if b.Ptr == nil {
		return // nothing was ever written, however much was registered
	}
	var lo, hi elem // least and largest, once any is set: integers compare as such, a float has too few digits
	any, sum, n := false, 0.0, 0
	imaginary := 0.0 // the sum of imaginary parts
	size := int(b.Elem.Size())
	for i := 0; i < b.Dim[0]; i++ {
		if i&0xfff == 0xfff {
			m.poll(position{})
		}
		if known != nil && !known(index{i}) {
			continue
		}
		v := readElem(b.Elem, unsafe.Add(b.Ptr, i*size))
		x := v.real(b.Elem)
		n++
		sum += x
		imaginary += v.im
		if x != x {
			continue
		}
		if !any || elemLess(b.Elem, v, lo) {
			lo = v
		}
		if !any || elemLess(b.Elem, hi, v) {
			hi = v
		}
		any = true
	}
	if n == 0 {
		return
	}
	bits := 64
	if b.Elem.Part() == iface.F32 || b.Elem.Is16() {
		bits = 32
	}
	if b.Elem == iface.B8 {
		out.WriteString("   true " + strconv.Itoa(int(sum)) + "  false " + strconv.Itoa(n-int(sum)))
		return
	}
	if b.Elem.IsComplex() { // no order
		out.WriteString("   mean " + m.complexText(complex(sum/float64(n), imaginary/float64(n)), bits))
		return
	}
	least, largest := "nan", "nan"
	if any {
		least, largest = m.elemText(b.Elem, lo), m.elemText(b.Elem, hi)
	}
	out.WriteString("   min " + least + "  max " + largest + "  mean " + m.float(sum/float64(n), bits))
}
