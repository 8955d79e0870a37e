package interp

// acquire and release: registered data in the hands of the script.

import (
	"encoding/binary"
	"fmt"
	"slices"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// Array is acquired data.
type Array struct {
	h        *Handle
	acc      *engine.Access
	buf      iface.Buffer
	size     uintptr // of an element
	mode     iface.AccessMode
	at       position // of the acquire
	gone     position // of the release
	released bool
	cell     *[16]byte // in plans, instead of memory that is not known
	done     func()    // in plans, gives back what the elements are read from; may be nil
}

// elem returns the address of the element at an offset.
func (a *Array) elem(m *Machine, off int) unsafe.Pointer {
	if a.cell != nil {
		m.unknown = true
		return unsafe.Pointer(a.cell)
	}
	return unsafe.Add(a.buf.Ptr, uintptr(off)*a.size)
}

// drop gives the data back, if it is still held.
func (a *Array) drop() error {
	if a.released {
		return nil
	}
	a.released = true
	if a.done != nil {
		a.done()
	}
	if a.acc == nil { // of a plan: the data has ended
		return nil
	}
	m := a.h.m
	if k := slices.Index(m.held, a); k >= 0 {
		m.held = slices.Delete(m.held, k, k+1)
	}
	return a.acc.Release()
}

// needHeld raises E0406 when the array was released.
func (a *Array) needHeld(m *Machine, at position) {
	if a == nil {
		m.fail("E0205", at, "this array has no value yet")
	}
	if !a.released {
		return
	}
	name := firstName(at)
	d := m.diagnostic("E0406", at, fmt.Sprintf("`%s` is used after its release", name))
	if a.gone.file != nil {
		label(d, a.gone, "given back here")
	} else {
		label(d, a.at, "held by this block only")
	}
	d.Help = []string{fmt.Sprintf("use it before the release, or acquire `%s` again", a.h.Name())}
	m.raise(d)
}

// boxed reads the element at p.
func (a *Array) boxed(m *Machine, p unsafe.Pointer, at position) any {
	return m.elemValue(a.buf.Elem, readElem(a.buf.Elem, p), at)
}

// storeElem writes a boxed number.
func (m *Machine) storeElem(a *Array, p unsafe.Pointer, v any, at position) {
	if x, ok := v.(bool); ok {
		*(*bool)(p) = x
		return
	}
	if n, ok := v.(int64); ok {
		if !intFits(a.buf.Elem, n) {
			m.outOfRange(a.buf.Elem, n, at)
		}
		writeInt(a.buf.Elem, p, n)
		return
	}
	if a.buf.Elem.IsComplex() {
		z := complexOf(v)
		m.complexFits(a.buf.Elem, z, at)
		writeComplex(a.buf.Elem, p, z)
		return
	}
	x := number(v)
	if !floatFits(a.buf.Elem, x) {
		m.outOfRange(a.buf.Elem, x, at)
	}
	writeFloat(a.buf.Elem, p, x)
}

// elemStore compiles the store of e into an element of an array of type t.
func (c *compiler) elemStore(e syntax.Expr, t *types.Type, at position) func(f *frame, a *Array, p unsafe.Pointer) {
	el := t.Elem
	if t.Of != nil {
		el = t.Of.Elem
	}
	if el == iface.B8 {
		v := c.bool(e)
		return func(f *frame, a *Array, p unsafe.Pointer) {
			x := v(f)
			a.needHeld(f.m, at)
			*(*bool)(p) = x
		}
	}
	if el.IsInt() {
		v := c.int(e)
		return func(f *frame, a *Array, p unsafe.Pointer) {
			n := v(f)
			if !intFits(el, n) {
				f.m.outOfRange(el, n, at)
			}
			a.needHeld(f.m, at)
			writeInt(el, p, n)
		}
	}
	if el.IsComplex() {
		v := c.complex(e)
		return func(f *frame, a *Array, p unsafe.Pointer) {
			z := v(f)
			f.m.complexFits(el, z, at)
			a.needHeld(f.m, at)
			writeComplex(el, p, z)
		}
	}
	v := c.float(e)
	return func(f *frame, a *Array, p unsafe.Pointer) {
		x := v(f)
		if !floatFits(el, x) {
			f.m.outOfRange(el, x, at)
		}
		a.needHeld(f.m, at)
		writeFloat(el, p, x)
	}
}

func (m *Machine) readOnlyArray(a *Array, at position) {
	name := firstName(at)
	d := m.diagnostic("E0301", at, fmt.Sprintf("`%s` may only be read: it was acquired R, or released to R", name))
	label(d, a.at, "acquired here")
	d.Help = []string{fmt.Sprintf("write `RW %s` where it is acquired", a.h.Name())}
	m.raise(d)
}

// acquire compiles both forms of acquire.
func (c *compiler) acquire(s *syntax.Acquire) stmt {
	type item struct {
		of   refFn
		mode iface.AccessMode
		at   position // of the handle
		slot int
		mark bool
	}
	var list []item
	for _, a := range s.Items {
		list = append(list, item{of: c.ref(a.Of), mode: a.Mode, at: c.positionOf(a.Of), slot: a.As.Obj.Slot, mark: a.As.Obj.Global})
		if s.Body == nil {
			c.use(a.As.Obj)
		}
	}
	take := func(f *frame) []*Array {
		m := f.m
		var got []*Array
		ok := false
		defer func() {
			if !ok {
				for _, a := range got {
					a.drop()
				}
			}
		}()
		hs := make([]*Handle, len(list))
		for k, it := range list {
			hs[k], _ = it.of(f).(*Handle)
			m.alive(hs[k], it.at)
			for j := 0; j < k; j++ {
				if hs[j].root == hs[k].root && (it.mode != iface.R || list[j].mode != iface.R) && hs[j].h.Overlaps(hs[k].h) {
					m.shareElements(list[j].at, it.at, hs[j], hs[k], list[j].mode, it.mode)
				}
			}
		}
		for k, it := range list {
			got = append(got, m.take(hs[k], it.mode, it.at))
		}
		for k, it := range list {
			f.r[it.slot] = got[k]
			if it.mark {
				f.def[it.slot] = true
			}
		}
		ok = true
		return got
	}
	if s.Body == nil {
		return func(f *frame) ctl {
			for _, a := range take(f) {
				f.m.owned = append(f.m.owned, owned{a: a})
			}
			return next
		}
	}
	for _, a := range s.Items {
		c.use(a.As.Obj)
	}
	body := c.block(s.Body)
	return func(f *frame) ctl {
		got := take(f)
		done := false
		defer func() {
			if !done {
				for k := len(got) - 1; k >= 0; k-- {
					got[k].drop()
				}
			}
		}()
		k := body(f)
		done = true
		for j := len(got) - 1; j >= 0; j-- {
			if err := got[j].drop(); err != nil {
				f.m.raiseEngine(err, got[j].at, got[j].h)
			}
		}
		return k
	}
}

// take acquires h.
func (m *Machine) take(h *Handle, mode iface.AccessMode, at position) *Array {
	a := &Array{h: h, mode: mode, at: at}
	if m.plan != nil { // without memory: all elements are one, of unknown value
		m.alive(h, at)
		a.cell = new([16]byte)
		a.look(m)
	}
	acc, err := m.tryHold(h, mode, at)
	if err != nil {
		if a.done != nil {
			a.done()
		}
		m.raiseEngine(err, at, h)
	}
	m.held = append(m.held, a)
	if a.acc = acc; a.size == 0 {
		a.buf = *acc.Buffer()
		a.size = a.buf.Elem.Size()
	}
	return a
}

// hold acquires h and raises what goes wrong.
func (m *Machine) hold(h *Handle, mode iface.AccessMode, at position) *engine.Access {
	acc, err := m.tryHold(h, mode, at)
	if err != nil {
		m.raiseEngine(err, at, h)
	}
	return acc
}

func (m *Machine) tryHold(h *Handle, mode iface.AccessMode, at position) (*engine.Access, error) {
	m.alive(h, at)
	m.record.uses(h)
	if m.checkpoints != nil {
		if err := m.checkpoints.beforeHold(m, h, mode, at); err != nil {
			return nil, err
		}
	}
	acc, err := m.acquireData(h, mode, engine.AcquireOptions{Site: m.siteFor(at)})
	if err == nil && m.checkpoints != nil {
		m.checkpoints.afterHold(m, h, mode, acc, at)
	}
	return acc, err
}

// holdOrder acquires h in mode R without its elements, which Rows gives.
func (m *Machine) holdOrder(h *Handle, at position) *engine.Access {
	m.alive(h, at)
	m.record.uses(h)
	acc, err := m.acquireData(h, iface.R, engine.AcquireOptions{Site: m.siteFor(at), OrderOnly: true})
	if err != nil {
		m.raiseEngine(err, at, h)
	}
	return acc
}

// siteFor returns the engine's form of a place; it carries the place itself.
func (m *Machine) siteFor(at position) *engine.Site {
	if at.file == nil {
		return nil
	}
	if m.places == nil {
		m.places = map[position]*engine.Site{}
	}
	s := m.places[at]
	if s == nil {
		s = siteOf(at)
		m.places[at] = s
	}
	return s
}

func (c *compiler) release(s *syntax.Release) stmt {
	var arrays []refFn
	var ats []position
	for _, id := range s.Names {
		arrays = append(arrays, c.ref(id))
		ats = append(ats, c.positionOf(id))
	}
	to := s.To
	return func(f *frame) ctl {
		m := f.m
		for k, x := range arrays {
			a, _ := x(f).(*Array)
			a.needHeld(m, ats[k])
			if to == iface.NoMode {
				a.gone = ats[k]
				if err := a.drop(); err != nil {
					m.raiseEngine(err, ats[k], a.h)
				}
				continue
			}
			if to == a.mode {
				continue
			}
			if a.mode != iface.RW && !(a.mode == iface.W && to == iface.R) {
				d := m.diagnostic("E0308", ats[k], fmt.Sprintf("`%s` is held %v and cannot be released to %v", ats[k].source(), a.mode, to))
				label(d, a.at, "acquired here")
				d.Help = []string{"release goes to weaker modes only: RW to W or R, W to R"}
				m.raise(d)
			}
			if a.acc == nil {
				a.mode = to
				continue
			}
			if err := a.acc.ReleaseTo(to); err != nil {
				m.raiseEngine(err, ats[k], a.h)
			}
			if to == iface.R {
				a.mode = iface.R
			}
		}
		return next
	}
}

// Content of data that the script acquires: on the way to a checkpoint it is put into the data first.

// keepsContent reports whether the content of h, acquired in a mode, is in the log. Data that never changes is not.
func (c *checkpoints) keepsContent(h *Handle, mode iface.AccessMode) bool {
	structure := h.memberName() != "" && !h.sparse.Format.Fields && h != h.sparse.values()
	return c.unlogged == 0 && !structure && !h.h.ReadOnly() && h.h.Desc().Kind != iface.Void && (mode.Reads() || h.h.Resizable())
}

// contentOf is the record of a buffer: the sizes of the whole data, if tasks decide them, its own, and, if it is read, elements.
func contentOf(h *Handle, mode iface.AccessMode, b *iface.Buffer) (out []byte) {
	if h.h.Resizable() {
		whole := h.root.h.Content()
		out = appendDims(out, &whole)
	}
	out = appendDims(out, &b.Desc)
	if mode.Reads() {
		eachElem(b, func(_ int, p unsafe.Pointer) {
			out = append(out, unsafe.Slice((*byte)(p), b.Elem.Size())...)
		})
	}
	return out
}

func appendDims(out []byte, d *iface.Desc) []byte {
	for k := range int(d.Rank) {
		out = binary.AppendUvarint(out, uint64(d.Dim[k]))
	}
	return out
}

// takeDims reads sizes that appendDims wrote.
func takeDims(b []byte, rank int) (dims []int, rest []byte, ok bool) {
	for range rank {
		n, k := binary.Uvarint(b)
		if k <= 0 || n > 1<<48 {
			return nil, nil, false
		}
		dims, b = append(dims, int(n)), b[k:]
	}
	return dims, b, true
}

// afterHold keeps the content of h, which the script has acquired.
func (c *checkpoints) afterHold(m *Machine, h *Handle, mode iface.AccessMode, a *engine.Access, at position) {
	if c.from != nil || !c.keepsContent(h, mode) {
		return
	}
	if raised := m.catch(func() { m.keepRecord(at, recordContent, contentOf(h, mode, a.Buffer())) }); raised != nil {
		_ = a.Release() // the limit of memory is what is reported
		panic(raised)
	}
}

// beforeHold gives h, which the script is about to acquire, the content that it had.
func (c *checkpoints) beforeHold(m *Machine, h *Handle, mode iface.AccessMode, at position) error {
	if c.from == nil || !c.keepsContent(h, mode) {
		return nil
	}
	b := m.recorded(at, recordContent)
	ok := true
	site := engine.AcquireOptions{Site: m.siteFor(at)}
	if h.h.Resizable() {
		var dims []int
		whole := h.root.h.Desc()
		if dims, b, ok = takeDims(b, int(whole.Rank)); !ok {
			m.misfit(at, "its log is damaged")
		}
		a, err := m.acquireData(h.root, iface.W, site)
		if err != nil {
			return err
		}
		err = a.Resize(dims...)
		if e := a.Release(); err == nil {
			err = e
		}
		if err != nil {
			return err
		}
	}
	desc := h.h.Desc()
	dims, b, ok := takeDims(b, int(desc.Rank))
	if !ok {
		m.misfit(at, "its log is damaged")
	}
	if !mode.Reads() {
		return nil
	}
	held, err := m.lendHeld(h)
	if err != nil {
		return err
	}
	a, err := m.acquireData(h, iface.W, site)
	if err != nil {
		return err
	}
	to := a.Buffer()
	size := int(to.Elem.Size())
	if !slices.Equal(dims, to.Shape()) || len(b) != to.Len()*size {
		_ = a.Release() // the run ends
		m.misfit(at, "`%s` has the sizes %v, and had %v", h.Name(), to.Shape(), dims)
	}
	eachElem(to, func(k int, p unsafe.Pointer) { copy(unsafe.Slice((*byte)(p), size), b[k*size:]) })
	if err := a.Release(); err != nil {
		return err
	}
	return m.takeBack(held)
}

// lendHeld gives back the arrays that share elements with h, so that those can be written. All are R, as the script
// can acquire h. They keep their values.
func (m *Machine) lendHeld(h *Handle) (lent []*Array, err error) {
	for _, a := range m.held {
		if a.h.root != h.root || !a.h.h.Overlaps(h.h) {
			continue
		}
		if err := a.acc.Release(); err != nil {
			return lent, err
		}
		lent = append(lent, a)
	}
	return lent, nil
}

// takeBack acquires what lendHeld has given back.
func (m *Machine) takeBack(lent []*Array) error {
	for _, a := range lent {
		acc, err := m.acquireData(a.h, iface.R, engine.AcquireOptions{Site: m.siteFor(a.at)})
		if err != nil {
			return err
		}
		a.acc, a.buf = acc, *acc.Buffer()
	}
	return nil
}
