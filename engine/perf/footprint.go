package perf

// Footprints: which tasks should take the same time.

import (
	"fmt"
	"math"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
)

// Footprint tells calls of one codelet from each other: equal for equal kinds,
// element types and sizes of the operands and equal chosen arguments.
type Footprint uint64

// String writes f as in files.
func (f Footprint) String() string { return fmt.Sprintf("%016x", uint64(f)) }

// hash is FNV-1a on words, with the words mixed so that small numbers spread.
type hash uint64

func (h *hash) word(x uint64) {
	x *= 0x9e3779b97f4a7c15
	x ^= x >> 32
	*h = (*h ^ hash(x)) * 0x100000001b3
	*h ^= *h >> 29
}

func (h *hash) text(s string) {
	h.word(uint64(len(s)))
	for i := range len(s) {
		*h = (*h ^ hash(s[i])) * 0x100000001b3
	}
}

// footprint computes the footprint of a call. It must stay the same from version
// to version, as files hold footprints. size and params are those of the call.
func (m *Model) footprint(c *Call, size float64, params []float64) Footprint {
	h := hash(0xcbf29ce484222325)
	for i := range c.Ops {
		d := &c.Ops[i]
		h.word(uint64(d.Kind)<<16 | uint64(d.Elem)<<8 | uint64(d.Rank))
		for _, n := range d.Dim[:d.Rank] {
			h.word(uint64(n))
		}
		if d.Kind == iface.Object { // what the interface of its type says
			h.word(uint64(d.Base))
		}
	}
	m.eachArg(c, func(i int, s iface.Scalar) {
		h.word(uint64(i)<<8 | uint64(s.Kind()))
		switch s.Kind() {
		case iface.StringScalar:
			h.text(s.Str())
		case iface.FloatScalar:
			h.word(math.Float64bits(s.Float()))
		case iface.ComplexScalar:
			h.word(math.Float64bits(s.Float()))
			h.word(math.Float64bits(imag(s.Complex())))
		default:
			h.word(uint64(s.Int()))
		}
	})
	if m.Size != nil { // it may depend on arguments
		h.word(math.Float64bits(size))
	}
	for _, p := range params {
		h.word(math.Float64bits(p))
	}
	return Footprint(h)
}

// eachArg calls fn for the arguments that belong to the footprint.
func (m *Model) eachArg(c *Call, fn func(i int, s iface.Scalar)) {
	if m.Args != nil {
		for _, i := range m.Args {
			if i < len(c.Args) {
				fn(i, c.Args[i])
			}
		}
		return
	}
	for i, s := range c.Args {
		if k := s.Kind(); k == iface.StringScalar || k == iface.BoolScalar {
			fn(i, s)
		}
	}
}

// maxWhat bounds the text that describes a footprint, in bytes.
const maxWhat = 160

// describe says in words what the footprint of a call stands for.
func (m *Model) describe(c *Call) string {
	var parts []string
	for i := 0; i < len(c.Ops); {
		j := i + 1
		for j < len(c.Ops) && sameShape(&c.Ops[i], &c.Ops[j]) {
			j++
		}
		s := c.Ops[i].String()
		if j-i > 1 {
			s = fmt.Sprintf("%d × %s", j-i, s)
		}
		parts = append(parts, s)
		i = j
	}
	m.eachArg(c, func(_ int, s iface.Scalar) { parts = append(parts, argText(s)) })
	text := strings.Join(parts, ", ")
	if len(text) > maxWhat {
		text = strings.ToValidUTF8(text[:maxWhat-len("…")], "") + "…"
	}
	return text
}

func sameShape(a, b *iface.Desc) bool {
	return a.Kind == b.Kind && a.Elem == b.Elem && a.Rank == b.Rank && a.Dim == b.Dim
}

func argText(s iface.Scalar) string {
	switch s.Kind() {
	case iface.StringScalar:
		return fmt.Sprintf("%.20q", s.Str())
	case iface.FloatScalar:
		return fmt.Sprint(s.Float())
	case iface.ComplexScalar:
		return fmt.Sprint(s.Complex())
	case iface.BoolScalar:
		return fmt.Sprint(s.Int() != 0)
	}
	return fmt.Sprint(s.Int())
}
