package interp

// The printed form of values, LANGUAGE §2.4c.

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

// text returns the printed form of v; strings inside lists are quoted.
func (m *Machine) text(v any, quoted bool, at place) string {
	if m.unknown { // in a plan
		return m.unknownText(v, at)
	}
	switch v := v.(type) {
	case nil:
		return "none"
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return formatFloat(v, 64)
	case bool:
		return strconv.FormatBool(v)
	case string:
		if quoted {
			return strconv.Quote(v)
		}
		return v
	case *List:
		var b strings.Builder
		counted := 0
		m.listText(&b, v, at, 0, &counted)
		return b.String()
	case *Handle:
		return m.handleText(v, at)
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

// listText writes l; of what b holds, counted bytes have been counted as memory.
func (m *Machine) listText(b *strings.Builder, l *List, at place, depth int, counted *int) {
	if depth > 1000 { // a list may hold itself
		b.WriteString("[…]")
		return
	}
	b.WriteByte('[')
	for k := 0; k < l.Len(); k++ {
		if k > 0 {
			b.WriteString(", ")
		}
		if in, ok := l.at(k).(*List); ok {
			m.listText(b, in, at, depth+1, counted)
		} else {
			b.WriteString(m.text(l.at(k), true, at))
		}
		m.spend(at)
		if n := b.Len() - *counted; n >= 1<<12 {
			m.alloc(0, int64(n), at)
			*counted = b.Len()
		}
	}
	b.WriteByte(']')
}

// elem is one element of a buffer: an integer or a float.
type elem struct {
	i int64
	f float64
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
	}
	return elem{}
}

// real is v, of type e, as a float.
func (v elem) real(e iface.Elem) float64 {
	switch {
	case e == iface.U64:
		return float64(uint64(v.i))
	case e.IsInt():
		return float64(v.i)
	}
	return v.f
}

// elemLess reports whether a is less than b, both of type e.
func elemLess(e iface.Elem, a, b elem) bool {
	switch {
	case e == iface.U64:
		return uint64(a.i) < uint64(b.i)
	case e.IsInt():
		return a.i < b.i
	}
	return a.f < b.f
}

// text writes v, of type e.
func (v elem) text(e iface.Elem) string {
	switch e {
	case iface.F32:
		return formatFloat(v.f, 32)
	case iface.F64:
		return formatFloat(v.f, 64)
	case iface.U64:
		return strconv.FormatUint(uint64(v.i), 10)
	}
	return strconv.FormatInt(v.i, 10)
}

// elemText writes the element at p of type e.
func elemText(e iface.Elem, p unsafe.Pointer) string { return readElem(e, p).text(e) }

const (
	elision          = "…"
	unwrittenElement = "?"
)

// shown is what is shown of long data: all of it up to whole elements, rows or
// columns, else the first head and the last tail.
type shown struct{ whole, head, tail int }

// What is shown unless a session wants something else.
var (
	shownVector = shown{12, 6, 3}
	shownMatrix = shown{8, 5, 2}
)

// shown says what is shown of long vectors and matrices now.
func (m *Machine) shown() (vector, matrix shown) {
	if n := m.elide; m.echoing && n > 0 {
		return shown{n, max(1, n/2), max(1, n/4)}, shown{max(2, n*2/3), max(1, n*5/12), max(1, n/6)}
	}
	return shownVector, shownMatrix
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
			m.poll(place{})
			m.alloc(0, int64(out.Len()-counted), place{})
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
		return elemText(b.Elem, unsafe.Add(b.Ptr, off*int(b.Elem.Size())))
	}
	var out strings.Builder
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
			writeStats(&out, b, known)
		}
	case iface.Matrix:
		out.WriteString(" " + strconv.Itoa(b.Dim[0]) + " x " + strconv.Itoa(b.Dim[1]) + ":")
		each(b.Dim[0], matrix, func(i int) {
			out.WriteString("\n ")
			each(b.Dim[1], matrix, func(j int) {
				out.WriteString(" " + item(i, j))
				grows(&out)
			}, func() { out.WriteString(" " + elision) })
		}, func() { out.WriteString("\n  " + elision) })
	case iface.Block:
		out.WriteString(" " + shapeText(&b.Desc) + ":")
		each(b.Dim[0], matrix, func(x int) {
			out.WriteString("\n  x = " + strconv.Itoa(x) + ":")
			each(b.Dim[1], matrix, func(y int) {
				out.WriteString("\n   ")
				each(b.Dim[2], matrix, func(z int) {
					out.WriteString(" " + item(x, y, z))
					grows(&out)
				}, func() { out.WriteString(" " + elision) })
			}, func() { out.WriteString("\n    " + elision) })
		}, func() { out.WriteString("\n  " + elision) })
	}
	return out.String()
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
func writeStats(out *strings.Builder, b *iface.Buffer, known func(at index) bool) {
	if b.Ptr == nil {
		return // nothing was ever written, however much was registered
	}
	var lo, hi elem // least and largest, once any is set: integers compare as such, a float has too few digits
	any, sum, n := false, 0.0, 0
	size := int(b.Elem.Size())
	for i := 0; i < b.Dim[0]; i++ {
		if known != nil && !known(index{i}) {
			continue
		}
		v := readElem(b.Elem, unsafe.Add(b.Ptr, i*size))
		x := v.real(b.Elem)
		n++
		sum += x
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
	if b.Elem == iface.F32 {
		bits = 32
	}
	least, largest := "nan", "nan"
	if any {
		least, largest = lo.text(b.Elem), hi.text(b.Elem)
	}
	out.WriteString("   min " + least + "  max " + largest + "  mean " + formatFloat(sum/float64(n), bits))
}

// elemAt returns the address of element k of b, counted row by row.
func elemAt(b *iface.Buffer, k int) unsafe.Pointer {
	off := k
	if b.Rank > 1 {
		off = 0
		for a := int(b.Rank) - 1; a >= 0 && b.Dim[a] > 0; a-- {
			off += k % b.Dim[a] * b.Stride[a]
			k /= b.Dim[a]
		}
	}
	return unsafe.Add(b.Ptr, off*int(b.Elem.Size()))
}
