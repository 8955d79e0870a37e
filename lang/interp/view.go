package interp

// Views: partition, with its filters, and unpartition.

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// View is a set of parts.
type View struct {
	v        *datamgr.View
	of       *Handle
	parts    []Handle
	partType *types.Type
	name     string          // of a named view
	at       position        // of the filters
	arrays   []*datamgr.View // of the other arrays of a sparse matrix, whose values v splits
	stmt     position
}

// Count returns the number of parts.
func (v *View) Count() int {
	if v == nil {
		return 0
	}
	return len(v.parts)
}

// Part returns part k, counted row by row; nil: there is none.
func (v *View) Part(k int) *Handle {
	if k < 0 || k >= v.Count() {
		return nil
	}
	return &v.parts[k]
}

// Name returns the name of the view in the script; that of its data for a default
// view.
func (v *View) Name() string { return v.text() }

func (v *View) text() string {
	if v == nil {
		return ""
	}
	if v.name != "" {
		return v.name
	}
	return v.of.Name()
}

// String writes v as in the language.
func (v *View) String() string {
	if v == nil || v.of == nil {
		return "no view"
	}
	return fmt.Sprintf("view[%v] %s", v.partType, plural(int64(len(v.parts)), "part"))
}

// filterCode makes a filter from its arguments.
type filterCode struct {
	at   position
	name string
	args map[string]position
	make func(f *frame) filter.Filter

	sizes func(f *frame) []int // of an explicit split
}

func (c *compiler) filters(list []*syntax.FilterCall) []*filterCode {
	var out []*filterCode
	for _, f := range list {
		out = append(out, c.filter(f))
	}
	return out
}

// filterArg returns an argument of a filter by name or place.
func filterArg(f *syntax.FilterCall, name string, i int) syntax.Expr {
	for k, a := range f.Args {
		if a.Name == nil && k == i || a.Name != nil && a.Name.Name == name {
			return a.Value
		}
	}
	return nil
}

func (c *compiler) filter(s *syntax.FilterCall) *filterCode {
	fc := &filterCode{at: c.positionOf(s), name: s.Name.Name, args: map[string]position{}}
	num := func(name string, i int, def int) func(f *frame) int {
		e := filterArg(s, name, i)
		if e == nil {
			return func(*frame) int { return def }
		}
		fc.args[name] = c.positionOf(e)
		v := c.int(e)
		return func(f *frame) int { return int(v(f)) }
	}
	if s.Obj != nil {
		c.hostFilter(fc, s)
		return fc
	}
	halo := num("halo", -1, 0)
	border := func(make func(f *frame) filter.Filter) func(f *frame) filter.Filter { return make }
	if filterArg(s, "inside", -1) != nil {
		inside := num("inside", -1, 0)
		border = func(make func(f *frame) filter.Filter) func(f *frame) filter.Filter {
			return func(f *frame) filter.Filter {
				in := make(f)
				return filter.Inside(inside(f), in)
			}
		}
	}
	var sizes refFn
	if e := filterArg(s, "sizes", -1); e != nil {
		fc.args["sizes"] = c.positionOf(e)
		sizes = c.refAs(e, types.ListOf(types.TInt))
	}
	ints := func(f *frame) []int {
		l, _ := sizes(f).(*List)
		out := make([]int, l.orEmpty().Len())
		for k := range out {
			out[k] = int(l.i[k])
		}
		return out
	}
	if sizes != nil {
		fc.sizes = ints
	}
	split := func(equal func(p, h int) filter.Filter, explicit func(s []int, h int) filter.Filter) {
		p := num("p", 0, 0)
		fc.make = border(func(f *frame) filter.Filter {
			if sizes != nil {
				return explicit(ints(f), halo(f))
			}
			return equal(p(f), halo(f))
		})
	}
	switch s.Name.Name {
	case "blocks":
		split(filter.BlocksHalo, filter.BlockSizesHalo)
	case "entries":
		split(func(p, _ int) filter.Filter { return filter.Blocks(p) }, func(s []int, _ int) filter.Filter { return filter.BlockSizes(s) })
	case "nonzeros":
		p := num("p", 0, 0)
		fc.make = func(f *frame) filter.Filter { return nonzeros(p(f)) }
	case "rows":
		split(filter.Rows, filter.RowSizes)
	case "cols":
		split(filter.Cols, filter.ColSizes)
	case "axis":
		k, p := num("k", 0, 0), num("p", 1, 0)
		fc.make = border(func(f *frame) filter.Filter {
			a := k(f)
			if sizes != nil {
				return filter.AxisSizes(a, ints(f), halo(f))
			}
			return filter.Axis(a, p(f), halo(f))
		})
	case "halves":
		fc.make = func(*frame) filter.Filter { return filter.Halves() }
	case "tiles":
		var counts []func(f *frame) int
		for k, name := range []string{"p", "q", "r", "s", "t", "u", "v", "w"} {
			if filterArg(s, name, k) != nil {
				counts = append(counts, num(name, k, 0))
			}
		}
		fc.make = border(func(f *frame) filter.Filter {
			n := make([]int, len(counts))
			for k, count := range counts {
				n[k] = count(f)
			}
			return filter.TilesN(n, halo(f))
		})
	case "pick":
		k := num("k", 0, 0)
		if e := filterArg(s, "range", 1); e != nil {
			r := c.rangeOf(e)
			fc.args["range"] = c.positionOf(e)
			at := fc.args["range"]
			fc.make = func(f *frame) filter.Filter {
				a := k(f)
				x := r(f)
				if x.Step != 1 {
					f.m.fail("E0505", at, "pick takes a range without a step")
				}
				return filter.PickRange(a, int(x.Lo), int(x.Hi))
			}
			break
		}
		fc.make = func(f *frame) filter.Filter { return filter.Pick(k(f)) }
	default:
		c.bug(s, "filter %s", s.Name.Name)
	}
	return fc
}

// Owners of data on several ranks: owner = r of register, and over grid(p, q) of partition.

// needRank raises E0705 if r, the value of what, is no number of a rank.
func (m *Machine) needRank(what string, r int64, at position) {
	if r < 0 {
		m.fail("E0705", at, "%s is %d; ranks have numbers from 0, and one that this run does not have is taken modulo their number", what, r)
	}
}

// ownerOf compiles the rank that owns the data of a constructor: the result is 1 + that, 0 for none, as in engine.DataSpec.
func (c *compiler) ownerOf(e *syntax.Call) func(f *frame) int {
	x, _ := argument(e, "owner", -1)
	if x == nil {
		return func(*frame) int { return 0 }
	}
	rank, at := c.int(x), c.positionOf(x)
	return func(f *frame) int {
		r := rank(f)
		f.m.needRank("owner", r, at)
		if r >= math.MaxInt {
			f.m.failHelp("E0705", at, "", "write a number that a run may have; a larger one is taken modulo the number of ranks", "owner is %d, and no run has as many ranks", r)
		}
		return 1 + int(r)
	}
}

// gridCode makes the grid of ranks of a view.
type gridCode struct {
	at      position
	numbers []intFn
	ats     []position
}

// over compiles the grid of a partition; nil: it has none.
func (c *compiler) over(g *syntax.FilterCall) *gridCode {
	if g == nil {
		return nil
	}
	code := &gridCode{at: c.positionOf(g)}
	for _, a := range g.Args {
		code.numbers, code.ats = append(code.numbers, c.int(a.Value)), append(code.ats, c.positionOf(a.Value))
	}
	return code
}

// grid returns the numbers of ranks, nil for none.
func (g *gridCode) grid(f *frame) []int {
	if g == nil {
		return nil
	}
	out := make([]int, len(g.numbers))
	for k, number := range g.numbers {
		n := min(number(f), datamgr.MaxGrid+1) // which is an error of the view
		if n < 1 {
			f.m.failHelp("E0505", g.ats[k], "", "write 1 or more; without `over` the ranks deal the parts", "`grid` needs at least one rank along each index, and this is %d", n)
		}
		out[k] = int(n)
	}
	return out
}

// Box is one part that a host filter gives; see lang.Box.
type Box struct{ Lo, Hi []int }

// HostFilter is a filter of the host; see lang.NewFilter.
type HostFilter struct {
	Name string
	Doc  string
	Sig  *types.Signature
	Fn   func(shape []int, args []any) ([]Box, error)
}

// hostSplit is a HostFilter with its arguments.
type hostSplit struct {
	f    *HostFilter
	args []any
}

// Name returns the name in the language.
func (h *hostSplit) Name() string { return h.f.Name }

// Split asks the host.
func (h *hostSplit) Split(d iface.Desc) (s filter.Split, err error) {
	var boxes []Box
	err = protect(func() error {
		boxes, err = h.f.Fn(d.Shape(), h.args)
		return err
	})
	if err != nil {
		return s, err
	}
	s.Dims = []int{len(boxes)}
	for i, b := range boxes {
		p := filter.Part{Drop: -1}
		if len(b.Lo) != int(d.Rank) || len(b.Hi) != int(d.Rank) {
			return s, fmt.Errorf("box %d has %d and %d bounds, the data has %d axes", i, len(b.Lo), len(b.Hi), d.Rank)
		}
		copy(p.Lo[:], b.Lo)
		copy(p.Hi[:], b.Hi)
		s.Parts = append(s.Parts, p)
	}
	return s, nil
}

func (c *compiler) hostFilter(fc *filterCode, s *syntax.FilterCall) {
	hf, ok := s.Obj.Host.(*HostFilter)
	if !ok {
		c.bug(s, "filter %s", s.Name.Name)
	}
	var args []refFn
	for i := range hf.Sig.Params[1:] {
		p := &hf.Sig.Params[i+1]
		e := filterArg(s, p.Name, i)
		if e == nil {
			v, err := constant(p)
			if err != nil {
				c.bug(s, "filter %s needs `%s`", hf.Name, p.Name)
			}
			args = append(args, func(*frame) any { return v })
			continue
		}
		fc.args[p.Name] = c.positionOf(e)
		args = append(args, c.anyAs(e, p.Type))
	}
	fc.make = func(f *frame) filter.Filter {
		h := &hostSplit{f: hf}
		for _, a := range args {
			h.args = append(h.args, f.m.toHost(a(f), fc.at))
		}
		return h
	}
}

// partition compiles both forms of partition.
func (c *compiler) partition(s *syntax.Partition) stmt {
	at := c.positionOf(s)
	var of []refFn
	var ofAt []position
	var slices []sliceFn
	for _, e := range s.Of {
		slices = append(slices, c.slice(e))
		if x := syntax.Slice(e); x != nil {
			e = x.X
		}
		of = append(of, c.ref(e))
		ofAt = append(ofAt, c.positionOf(e))
	}
	fs, over := c.filters(s.Filters), c.over(s.Over)
	if s.Name == nil {
		return func(f *frame) ctl {
			for k, x := range of {
				for _, h := range f.m.handlesIn(x(f), ofAt[k]) {
					v := f.m.split(f, h, ofAt[k], slices[k], fs, over, at)
					if h.deflt != nil && !h.deflt.v.Ended() {
						f.m.replacesView(h.deflt, v)
						h.deflt.end(f.m, siteOf(at))
					}
					h.deflt = v
				}
			}
			return next
		}
	}
	o, name := s.Name.Obj, s.Name.Name
	slot := o.Slot
	return c.declared(o, func(f *frame) ctl {
		h, _ := of[0](f).(*Handle)
		v := f.m.split(f, h, ofAt[0], slices[0], fs, over, at)
		v.name = name
		f.m.owned = append(f.m.owned, owned{v: v})
		f.r[slot] = v
		return next
	})
}

// handlesIn lists the handles in v: itself, the parts of a view, the items of a list.
func (m *Machine) handlesIn(v any, at position) []*Handle { return m.addHandles(nil, v, at) }

func (m *Machine) addHandles(out []*Handle, v any, at position) []*Handle {
	switch v := v.(type) {
	case *Handle:
		return append(out, v)
	case *View:
		m.spendMany(int64(len(v.parts)), at)
		out = slices.Grow(out, len(v.parts))
		for k := range v.parts {
			out = append(out, &v.parts[k])
		}
	case *List:
		for _, x := range v.a {
			m.spend(at)
			out = m.addHandles(out, x, at)
			m.fits(8*int64(len(out)), at)
		}
	}
	return out
}

// sliceFn evaluates the ranges of x[a..b, c..d].
type sliceFn func(f *frame) slicePlace

// slicePlace is the box of data that a partition splits.
type slicePlace struct {
	lo, hi []int
	at     position
}

// slice compiles the ranges of x[a..b, c..d]; nil for other expressions.
func (c *compiler) slice(e syntax.Expr) sliceFn {
	x := syntax.Slice(e)
	if x == nil {
		return nil
	}
	var ranges []func(f *frame) Range
	var ats []position
	for _, a := range x.Args {
		ranges = append(ranges, c.rangeOf(a))
		ats = append(ats, c.positionOf(a))
	}
	at := c.positionOf(e)
	return func(f *frame) slicePlace {
		box := slicePlace{lo: make([]int, len(ranges)), hi: make([]int, len(ranges)), at: at}
		for k, r := range ranges {
			x := r(f)
			if x.Step != 1 {
				f.m.fail("E0505", ats[k], "a slice takes ranges without a step")
			}
			box.lo[k], box.hi[k] = int(x.Lo), int(x.Hi)
		}
		return box
	}
}

// split declares a view of h, or of a slice of it.
func (m *Machine) split(f *frame, h *Handle, ofAt position, slice sliceFn, fs []*filterCode, over *gridCode, at position) *View {
	m.poll(at)
	m.alive(h, ofAt)
	var box slicePlace
	if slice != nil {
		box = slice(f)
	}
	var list []filter.Filter
	for _, fc := range fs {
		list = append(list, fc.make(f))
	}
	grid := over.grid(f)
	if h.isSparse() {
		return m.splitSparse(f, h, list, fs, over, grid, at)
	}
	if slice != nil {
		list[0] = filter.Within(box.lo, box.hi, list[0])
	}
	v, err := m.rt.PartitionWith(engine.ViewOptions{Context: m.ctx, Room: m.viewRoom(at), Grid: grid}, h.h, list...)
	if err != nil {
		if r, ok := err.(*raised); ok {
			panic(r)
		}
		m.poll(at)
		m.badView(f, err, h, box, fs, over)
	}
	d := v.Parts[0].Desc()
	w := m.newView(v, h, types.HandleOf(d.Kind, d.Elem), fs, at)
	if m.cfg.OnView != nil {
		m.cfg.OnView(v.Parts, w.partName)
	}
	return w
}

// partName returns the name of part k as the script writes it.
func (v *View) partName(k int) string { return v.text() + "[" + partIndex(v.v.Dims, k) + "]" }

// arrayName returns what follows the name of a part of a sparse matrix for array i, and "" for other
// views.
func (v *View) arrayName(i int) string {
	f := v.partType.Sparse()
	if f == nil {
		return ""
	}
	return "." + f.Arrays[i].Name
}

// newView returns the view of h that the filters made, with parts of type t.
func (m *Machine) newView(v *datamgr.View, h *Handle, t *types.Type, fs []*filterCode, at position) *View {
	w := &View{v: v, of: h, stmt: at, at: position{at.file, fs[0].at.at}, partType: t}
	w.at.at.Hi = fs[len(fs)-1].at.at.Hi
	w.parts = make([]Handle, len(v.Parts))
	for k, p := range v.Parts {
		w.parts[k] = Handle{h: p, m: m, typ: t, root: h.root, view: w, at: h.at, owner: -1}
	}
	return w
}

// Parts of sparse matrices: a view of each of the arrays.

// nonzeros is filter.Nonzeros with that many parts, of a matrix that is not known yet.
type nonzeros int

// Name returns the name in the language.
func (n nonzeros) Name() string { return "nonzeros" }

// Split splits a matrix without entries.
func (n nonzeros) Split(d iface.Desc) (filter.Split, error) {
	return filter.Nonzeros(0, int(n), make([]int64, d.Dim[0]+1)).Split(d)
}

// boxes is a filter with the parts given.
type boxes struct {
	dims  []int
	parts []filter.Part
}

// Name returns what the parts are: no filter of the language makes them of a vector.
func (b *boxes) Name() string { return "slabs" }

// Split returns the parts.
func (b *boxes) Split(iface.Desc) (filter.Split, error) {
	return filter.Split{Dims: b.dims, Parts: b.parts}, nil
}

// splitDesc is what filters split of a sparse matrix: its lines, with what crosses them, or its entries.
func (k *sparse) splitDesc(elem iface.Elem) iface.Desc {
	d := iface.Desc{Kind: iface.Matrix, Elem: elem, Rank: 2}
	switch k.Format.Axis {
	case 0:
		d.Dim[0], d.Dim[1] = k.Lines(), k.Cols
	case 1:
		d.Dim[0], d.Dim[1] = k.Rows, k.Lines()
	default:
		d.Kind, d.Rank, d.Dim[0] = iface.Vector, 1, k.values().h.Desc().Dim[0]
	}
	return d
}

// splitSparse declares a view of the sparse matrix h: slabs of rows, strips of columns, or pieces with entries.
func (m *Machine) splitSparse(f *frame, h *Handle, list []filter.Filter, fs []*filterCode, over *gridCode, grid []int, at position) *View {
	k := h.sparse
	axis := max(0, k.Format.Axis)
	dims, slabs := []int(nil), []iface.Desc{k.splitDesc(h.typ.Elem)}
	for _, l := range list {
		if n, ok := l.(nonzeros); ok {
			l = filter.Nonzeros(axis, int(n), k.Ptr)
		}
		var next []iface.Desc
		for i, d := range slabs {
			s, err := l.Split(d)
			if err == nil {
				err = k.wholeLines(&s, d)
			}
			if err == nil && len(slabs)*len(s.Parts) > filter.MaxParts {
				err = fmt.Errorf("a view of %d parts; it can have %d", len(slabs)*len(s.Parts), filter.MaxParts)
			}
			if err != nil {
				m.badFilter(f, err, h, slicePlace{}, fs)
			}
			if i == 0 {
				dims = append(dims, s.Dims...)
			}
			for _, p := range s.Parts {
				next = append(next, p.Desc(d))
			}
			m.spendMany(int64(len(s.Parts)), at)
		}
		slabs = next
	}
	split := func(i int) *datamgr.View {
		of := k.arrays[i].h
		b := &boxes{dims: dims, parts: make([]filter.Part, len(slabs))}
		for p := range slabs {
			b.parts[p] = filter.Whole(of.Desc())
			lo, hi := slabs[p].Off[axis], slabs[p].Off[axis]+slabs[p].Dim[axis]
			switch {
			case k.Format.Fields:
			case k.Format.Arrays[i].Name == "ptr":
				hi++
			case k.Ptr != nil:
				lo, hi = int(k.Ptr[lo]-k.Ptr[0]), int(k.Ptr[hi]-k.Ptr[0])
			}
			b.parts[p].Lo[0], b.parts[p].Hi[0] = lo, hi
		}
		v, err := m.rt.PartitionWith(engine.ViewOptions{Context: m.ctx, Room: m.viewRoom(at), Grid: grid}, of, b)
		if err != nil {
			if r, ok := err.(*raised); ok {
				panic(r)
			}
			m.poll(at)
			m.badView(f, err, h, slicePlace{}, fs, over)
		}
		return v
	}
	var views []*datamgr.View
	for i := range k.arrays {
		views = append(views, split(i))
	}
	w := m.newView(views[k.Format.Values()], h, h.typ, fs, at)
	w.arrays = views[:k.Format.Values()]
	for p := range w.parts {
		part := &sparse{SparseStructure: k.SparseStructure, origin: k.origin, guessed: k.guessed}
		first, n := slabs[p].Off[axis], slabs[p].Dim[axis]
		switch {
		case k.Format.Fields:
			part.Rows, part.origin = n, k.origin+first
		case k.Format.Axis == 0:
			part.Rows, part.origin, part.Ptr = n*k.R, k.origin+first*k.R, k.Ptr[first:first+n+1]
		case k.Format.Axis == 1:
			part.Cols, part.origin, part.Ptr = n, k.origin+first, k.Ptr[first:first+n+1]
		}
		w.sparsePart(p, part)
	}
	if m.cfg.OnView != nil {
		for i, v := range views {
			m.cfg.OnView(v.Parts, func(p int) string { return w.partName(p) + w.arrayName(i) })
		}
	}
	return w
}

// viewRoom counts the bytes of a view that is about to be made. In a check they count as
// steps, too. The engine calls it with its lock held.
func (m *Machine) viewRoom(at position) func(bytes int64) error {
	return func(bytes int64) error {
		r := m.catch(func() {
			m.countBytes(bytes, at)
			if m.plan == nil || !m.plan.check {
				return
			}
			if m.fuel -= bytes / viewBytes; m.used.steps+m.granted-m.fuel > m.may.steps {
				m.exceeded("steps", at)
			}
		})
		if r != nil {
			return r
		}
		return nil
	}
}

// badView raises why a view was not declared.
func (m *Machine) badView(f *frame, err error, h *Handle, box slicePlace, fs []*filterCode, over *gridCode) {
	var grid *datamgr.GridError
	if !errors.As(err, &grid) {
		m.badFilter(f, err, h, box, fs)
	}
	message := strings.TrimPrefix(err.Error(), "datamgr: ")
	if len(grid.Grid) != len(grid.Dims) {
		message = fmt.Sprintf("the view has %s, and `grid` has %s", check.Indices(len(grid.Dims)), plural(int64(len(grid.Grid)), "number"))
	}
	m.failHelp("E0505", over.at, "", "give `grid` the number of ranks that share the parts along each index", "%s", message)
}

// badFilter raises what a filter found: E0502, E0504, E0505.
func (m *Machine) badFilter(f *frame, err error, h *Handle, box slicePlace, fs []*filterCode) {
	var fe *filter.Error
	if !errors.As(err, &fe) {
		d := m.diagnostic("E0505", fs[len(fs)-1].at, fmt.Sprintf("`%s` cannot be split: %s", h.Name(), strings.TrimPrefix(firstLine(err.Error()), "datamgr: ")))
		d.Cause = err
		m.raise(d)
	}
	where, name, bad := fs[0].at, fs[0].name, fs[0]
	for _, fc := range fs {
		if fc.name == fe.Filter || (fe.Filter == "blocks" && (fc.name == "halves" || fc.name == "entries")) {
			where, name, bad = fc.at, fc.name, fc
			if p, ok := fc.args[fe.Arg]; ok {
				where = p
			}
			break
		}
	}
	if fe.Arg == "slice" {
		where = box.at
	}
	code := "E0505"
	switch fe.Kind {
	case filter.SumMismatch:
		code = "E0502"
	case filter.WrongKind:
		code = "E0504"
	}
	d := m.diagnostic(code, where, fe.Error())
	d.Cause = err
	desc := h.h.Desc()
	switch fe.Kind {
	case filter.SumMismatch:
		d.Message = fmt.Sprintf("the parts cover %d of %d %s", fe.Got, fe.Want, fe.Unit)
		d.Label = fmt.Sprintf("adds up to %d", fe.Got)
		of := h.Name()
		if box.lo != nil && bad == fs[0] {
			of = box.at.source()
		}
		note := fmt.Sprintf("`%s` has %d %s", of, fe.Want, fe.Unit)
		if p, ok := bad.args["inside"]; ok {
			note += fmt.Sprintf(" inside a border of %s", p.source())
		}
		if src := where.source(); bad.sizes != nil && isName(src) {
			note += fmt.Sprintf("; `%s` is %s", src, sizeRuns(bad.sizes(f)))
		}
		d.Notes = []string{note}
		d.Help = []string{fmt.Sprintf("sizes must add up to the number of %s exactly", fe.Unit)}
	case filter.TooManyParts, filter.NoParts, filter.BadHalo, filter.BadAxis, filter.BadRange, filter.BadSize:
		what := desc.String()
		if h.isSparse() {
			what = h.typ.String() + " of " + h.sparse.sizesText()
		}
		d.Notes = []string{fmt.Sprintf("`%s` is %s, split by `%s`", h.Name(), article(what), name)}
		if fe.Kind == filter.TooManyParts && fe.Arg != "sizes" && fe.Arg != "range" && fe.Want > 0 {
			d.Help = []string{fmt.Sprintf("%d at most: write `%d` for `%s`", fe.Want, fe.Want, where.source())}
		}
		if fe.Kind == filter.TooManyParts && fe.Want == 0 {
			d.Help = []string{"data without elements has no parts; register it with sizes above 0, or leave the `partition` out with `if`"}
		}
		if _, ok := bad.args["inside"]; ok && fe.Kind == filter.BadHalo && fe.Arg == "halo" && fe.Got > 0 {
			d.Help = []string{fmt.Sprintf("the border needs room for the halo: write `inside = %d` or more, or leave it out", fe.Got)}
		}
	}
	if fe.Kind != filter.SumMismatch {
		label(d, h.root.at, "registered here")
	}
	m.raise(d)
}

func isName(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) < 0
}

// sizeRuns writes sizes with equal neighbours together: [1, 511 x 8, 5].
func sizeRuns(sizes []int) string {
	var out []string
	for i := 0; i < len(sizes); {
		j := i
		for j < len(sizes) && sizes[j] == sizes[i] {
			j++
		}
		if len(out) == 8 {
			out = append(out, "…")
			break
		}
		if s := fmt.Sprint(sizes[i]); j-i > 1 {
			out = append(out, fmt.Sprintf("%s x %d", s, j-i))
		} else {
			out = append(out, s)
		}
		i = j
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// unpartition ends views and gathers their data.
func (c *compiler) unpartition(s *syntax.Unpartition) stmt {
	var of []refFn
	var ats []position
	for _, e := range s.Of {
		of = append(of, c.any(e))
		ats = append(ats, c.positionOf(e))
	}
	var to refFn
	if s.To != nil {
		to = c.ref(s.To)
	}
	at := c.positionOf(s)
	return func(f *frame) ctl {
		m := f.m
		node := 0
		if to != nil {
			if n, ok := to(f).(Node); ok {
				node, _ = m.node(n) // one that this machine lacks is main memory
			}
		}
		for k, x := range of {
			switch v := x(f).(type) {
			case *View:
				m.endView(v, node, ats[k], at)
			case *Handle:
				m.alive(v, ats[k])
				if v.deflt == nil {
					m.noDefaultView(v, ats[k])
				}
				m.endView(v.deflt, node, ats[k], at)
				v.deflt = nil
			}
		}
		return next
	}
}

// wholeLines returns an error unless the parts of s are proper parts of d, with whole lines.
func (k *sparse) wholeLines(s *filter.Split, d iface.Desc) error {
	if err := s.Check(d); err != nil || k.Format.Axis < 0 {
		return err
	}
	line, across := [2]string{"rows", "columns"}, 1
	if k.Format.Axis == 1 {
		line[0], line[1], across = line[1], line[0], 0
	}
	for i := range s.Parts {
		if p := &s.Parts[i]; p.Drop >= 0 || p.Lo[across] != 0 || p.Hi[across] != d.Dim[across] {
			return fmt.Errorf("part %d has %s %d to %d; parts of a %s are whole %s, of %d %s", i, line[1], p.Lo[across], p.Hi[across], k.Format.Name, line[0], d.Dim[across], line[1])
		}
	}
	return nil
}

// sparsePart makes part k of v, a view of a sparse matrix, the one that part describes.
func (v *View) sparsePart(k int, part *sparse) {
	h := &v.parts[k]
	h.sparse, part.whole = part, h
	part.arrays = make([]Handle, len(part.Format.Arrays))
	for i, a := range part.Format.Arrays {
		array := v.v
		if i < len(v.arrays) {
			array = v.arrays[i]
		}
		part.arrays[i] = Handle{h: array.Parts[k], m: h.m, typ: v.partType.Member(a.Name), root: h.root, view: v, at: h.at, owner: -1, sparse: part}
	}
}

// end ends v, of all arrays of a sparse matrix.
func (v *View) end(m *Machine, site ...*engine.Site) {
	m.rt.EndView(v.v, site...)
	for _, w := range v.arrays {
		m.rt.EndView(w, site...)
	}
}

// endView ends v and gathers its data on a node; ending it twice is an error.
func (m *Machine) endView(v *View, node int, at, stmt position) {
	m.alive(v.of, at)
	if v.v.Ended() {
		m.fail("E0506", at, "the view `%s` has ended already", v.text())
	}
	v.end(m, siteOf(stmt))
	if m.ranks != nil { // each has what its tasks need
		return
	}
	for _, d := range v.of.data() {
		m.submit(d, at, func() error { return m.job.GatherTo(d.h, node) })
	}
}

// needOpen raises E0506 if v was ended. A view whose data was unregistered, or is part of a view that was ended, still is what it was.
func (m *Machine) needOpen(v *View, at position) {
	if !v.v.Ended() || len(v.parts) == 0 {
		return
	}
	site, _, _ := v.parts[0].h.Death()
	if by, _, dead := v.of.h.Death(); dead && by == site {
		return
	}
	d := m.diagnostic("E0506", at, fmt.Sprintf("`%s` is used after its view ended", v.text()))
	d.Label, d.Help = "used here", []string{"declare the view again: `partition`"}
	if site != nil {
		if p, ok := site.Data.(position); ok {
			label(d, p, "the view ended here")
		}
	}
	m.raise(d)
}

// alive raises unless h can be used: E0403 after its datum was unregistered, E0506
// after its view ended.
func (m *Machine) alive(h *Handle, at position) {
	if h == nil {
		m.fail("E0205", at, "this has no value yet")
	}
	if h.h.Alive() {
		return
	}
	m.raiseDead(h, at)
}

// raiseDead raises E0403 or E0506.
func (m *Machine) raiseDead(h *Handle, at position) {
	site, ended, _ := h.h.Death()
	name := handleText(at, h)
	if strings.ContainsAny(name, "\n(") {
		name = h.Name()
	}
	var d = m.diagnostic("E0403", at, fmt.Sprintf("`%s` is used after it was unregistered", name))
	text := "unregistered here"
	if ended {
		d = m.diagnostic("E0506", at, fmt.Sprintf("`%s` is part of a view that has ended", name))
		text = "the view ended here"
		d.Help = []string{"declare the view again: `partition`"}
	} else {
		d.Help = []string{"the block unregisters its own handles: return the handle, or register it in a block that lives longer"}
		label(d, h.root.at, "registered here")
	}
	d.Label = "used here"
	if site != nil {
		if p, ok := site.Data.(position); ok {
			label(d, p, text)
		}
	}
	m.raise(d)
}
