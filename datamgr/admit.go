package datamgr

// Admission: a task gets all its memory on a node at once.

import (
	"errors"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr/iface"
)

// need is one instance that a task needs.
type need struct {
	d    *Datum
	box  Box
	rows uint8 // axes along which its elements lie side by side
	ops  []int // the operands that it is for
	in   *instance
}

// private is memory on a node that only one task uses: for SCRATCH, and for what
// a task contributes by REDUX.
type private struct {
	p     unsafe.Pointer
	bytes int64
	op    int
	node  *node
	of    *Datum
	from  iface.Buffer // REDUX: the contribution in main memory
	dev   iface.Buffer // and its copy here
}

// plan returns the instances that the operands of a task on the given node need on n.
// Operands share one instance if they share elements and one of them is written, so that
// a kernel sees there the same memory as in unbounded main memory, and if one contains
// the other. It also returns the bytes of private memory, with SCRATCH for the given
// number of ranks.
func plan(ops []Operand, n *node, task int, ranks int64) (needs []need, bytes int64) {
	for i := range ops {
		op := &ops[i]
		if op.node(task) != n.id {
			continue
		}
		switch op.Mode {
		case modeScratch:
			bytes += op.Handle.privateBytes() * ranks
		case modeRedux:
			bytes += op.Handle.privateBytes()
		}
		if !op.placed() || n.id == 0 && op.inMainMemory() {
			continue
		}
		needs = append(needs, need{d: op.Handle.d, box: op.Handle.box, rows: op.Handle.rows(), ops: []int{i}})
	}
	for i := 0; i < len(needs); i++ {
		for k := 0; k < i; k++ {
			if !needs[k].takesIn(&needs[i], ops) {
				continue
			}
			needs = append(needs[:i], needs[i+1:]...)
			i = -1 // it has grown, and may meet others
			break
		}
	}
	return needs, bytes
}

// takesIn makes v a part of w, if they are to share an instance.
func (w *need) takesIn(v *need, ops []Operand) bool {
	if w.d != v.d || !w.box.touches(&v.box) ||
		!w.writes(ops) && !v.writes(ops) && !w.box.has(&v.box) && !v.box.has(&w.box) {
		return false
	}
	hull, rows := w.box.hull(&v.box), w.rows|v.rows
	if !hull.fits(rows) {
		return false
	}
	w.box, w.rows, w.ops = hull, rows, append(w.ops, v.ops...)
	return true
}

func (w *need) writes(ops []Operand) bool {
	for _, i := range w.ops {
		if ops[i].Mode != modeR {
			return true
		}
	}
	return false
}

// Fits reports whether a task with these operands can have all its memory on a
// bounded node when it is alone there.
func (g *Registry) Fits(ops []Operand, on int) bool {
	for i := range ops {
		switch op := &ops[i]; {
		case on > 0 && op.stays() && g.nodes[0].bounded:
			return g.Needs(ops, on) <= g.nodes[on].mem.Capacity() && g.needs(ops, 0, on) <= g.mem.Capacity()
		case op.Mode == modeRedux:
			return g.Needs(ops, on) <= g.nodes[on].mem.Capacity()
		}
	}
	return g.fits(ops, on, true) || g.fits(ops, on, false) || g.Needs(ops, on) <= g.nodes[on].mem.Capacity()
}

// fits is a simple bound for Fits: operands that share nothing have instances of their own elements. With whole all
// have one of all of their datum, which is even simpler.
func (g *Registry) fits(ops []Operand, on int, whole bool) bool {
	left := g.nodes[on].mem.Capacity()
	for i := range ops {
		op := &ops[i]
		if on > 0 && op.stays() || op.placed() && op.Handle.d.livesOn(g.nodes[on], op.Handle.rows()) {
			continue
		}
		box := &op.Handle.d.box
		if !whole && alone(ops, i) {
			box = &op.Handle.box
		}
		if left -= op.Handle.d.bytesOf(box); left < 0 {
			return false
		}
	}
	return true
}

// alone reports whether operand i shares no elements with another: its instance then has its own elements only.
func alone(ops []Operand, i int) bool {
	h := ops[i].Handle
	for k := range ops {
		if o := ops[k].Handle; k != i && o.d == h.d && o.box.touches(&h.box) {
			return false
		}
	}
	return true
}

// Needs returns the bytes that a task with these operands needs on a bounded node
// when it is alone there. For contributions that is what combining them needs, where
// that is more.
func (g *Registry) Needs(ops []Operand, on int) int64 { return g.needs(ops, on, on) }

// needs returns the bytes that a task needs on node on when it runs on node task, which may
// be another one.
func (g *Registry) needs(ops []Operand, on, task int) int64 {
	needs, bytes := plan(ops, g.nodes[on], task, 1)
	for i := range needs {
		if !needs[i].d.livesOn(g.nodes[on], needs[i].rows) {
			bytes += needs[i].d.bytesOf(&needs[i].box)
		}
	}
	if g.disk == nil || on > 0 {
		return bytes
	}
	for i := range ops {
		if op := &ops[i]; op.Mode == modeRedux {
			combined := op.Handle.bytes()
			if !op.inMainMemory() {
				combined *= 2
			}
			bytes = max(bytes, combined)
		}
	}
	return bytes
}

// admit gets the instances and the private memory that a task needs on n. Tasks take turns
// (node.enter). The task whose turn it is evicts idle instances, and waits (node.waits) while
// the memory that it lacks is in use by others. Instances larger than needed are used as they
// are, unless the task then needs more than n has: in that case it gets exact ones, once no
// other task has memory on n.
func (p *Placement) admit(n *node, task int, ops []Operand) error {
	if p.aside {
		return p.admitAside(n, ops)
	}
	needs, bytes := plan(ops, n, task, int64(max(1, p.ranks)))
	if len(needs) == 0 && bytes == 0 {
		return nil
	}
	if bytes == 0 && p.present(n, needs, ops) {
		return nil
	}
	n.enter()
	defer n.leave()
	unsaved := 0 // rounds in which an instance could not be evicted because saving it failed
	for exact := false; ; {
		seen := n.seen()
		if e := n.lost.Load(); e != nil {
			return e
		}
		missing := bytes
		for i := range needs {
			w := &needs[i]
			if w.in = w.find(n, exact); w.in == nil {
				missing += w.d.bytesOf(&w.box)
			}
		}
		for n.room() < missing && n.makeRoom() {
		}
		err := p.take(n, task, needs, ops, missing)
		if err == nil {
			return nil
		}
		var full *accel.NoMemoryError
		again := errors.As(err, &full)
		for i := range needs {
			needs[i].unpin(again)
		}
		if !again {
			return err
		}
		if n.room() >= missing && n.makeRoom() {
			continue // other programs use the device: it has less than the count says
		}
		if n.unsaved != nil {
			if unsaved++; unsaved == 3 {
				return errors.Join(err, n.unsaved)
			}
		}
		switch {
		case n.waits(seen):
			exact = false
		case exact:
			return err
		default:
			exact = true
		}
	}
}

// present is the short way of admit for a task whose instances are all on n: it takes no
// memory from others, so it does not wait for its turn. It reports false while a task waits
// for instances to become idle (hungry), because later tasks could keep them in use for ever.
func (p *Placement) present(n *node, needs []need, ops []Operand) bool {
	if n.lost.Load() != nil || n.hungry() {
		return false
	}
	for i := range needs {
		if needs[i].in = needs[i].find(n, false); needs[i].in != nil {
			continue
		}
		for k := range needs[:i] {
			needs[k].unpinAloud()
		}
		return false
	}
	p.keep(n, needs, ops)
	return true
}

// find returns an instance on n that contains the box of w, pinned, or nil. With exact it
// has no more than that box.
func (w *need) find(n *node, exact bool) *instance {
	w.d.mu.Lock()
	defer w.d.mu.Unlock()
	in := w.d.findLocked(n, &w.box, w.rows)
	if in == nil || exact && in.box != w.box {
		return nil
	}
	in.pinLocked()
	return in
}

// unpin undoes find. It frees an instance without valid data, unless again is set: then the
// caller will look for it again. It wakes no task that waits for memory, because it is the
// caller's turn.
func (w *need) unpin(again bool) { w.unpinWith(false, again) }

// unpinAloud is unpin when it is not the caller's turn.
func (w *need) unpinAloud() { w.unpinWith(true, true) }

func (w *need) unpinWith(news, again bool) {
	if w.in == nil {
		return
	}
	w.d.mu.Lock()
	w.in.unpinLocked(news)
	if !again {
		w.d.uselessLocked(w.in)
	}
	w.d.mu.wake.Broadcast()
	w.d.mu.Unlock()
	w.in = nil
}

// waits waits until memory of n may have become free since the caller called n.seen, and
// reports true. It reports false if nothing has changed and no memory of n is in use that
// could become free. unpinLocked, removeLocked and freePrivate wake it.
func (n *node) waits(seen uint64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.hungry = true
	for n.mu.changes == seen {
		if n.mu.pinned == 0 && n.mu.private == 0 {
			return false
		}
		n.mu.wake.Wait()
	}
	return true
}

// take makes the instances that are missing, and the private memory. After an error it has
// made none of them.
func (p *Placement) take(n *node, task int, needs []need, ops []Operand, missing int64) error {
	if room := n.room(); room < missing {
		return &accel.NoMemoryError{Node: n.mem.Name(), Want: missing, Allocated: n.mem.Capacity() - room, Capacity: n.mem.Capacity()}
	}
	made := make([]bool, len(needs))
	var err error
	for i := range needs {
		w := &needs[i]
		if w.in != nil {
			continue
		}
		if w.in, err = w.make(n, n.mem); err != nil {
			break
		}
		made[i] = true
	}
	if err == nil {
		err = p.takePrivate(n, task, ops)
	}
	if err != nil {
		for i := range needs {
			if made[i] {
				needs[i].unpin(false)
			}
		}
		return err
	}
	p.keep(n, needs, ops)
	return nil
}

// keep records the instances, which are pinned, as those of the task.
func (p *Placement) keep(n *node, needs []need, ops []Operand) {
	for i := range needs {
		w := &needs[i]
		p.pins = append(p.pins, w.in)
		for _, k := range w.ops {
			n.touch(w.in, ops[k].Handle)
			p.at[k] = w.in
		}
	}
}

// make makes the instance, pinned, in memory of mem.
func (w *need) make(n *node, mem accel.Memory) (*instance, error) {
	w.d.mu.Lock()
	defer w.d.mu.Unlock()
	for {
		in, err := w.d.makeInLocked(n, mem, w.box)
		if err != nil {
			return nil, err
		}
		if in != nil {
			in.pinLocked()
			return in, nil
		}
		w.d.mu.wake.Wait() // tasks that use other instances of it end
	}
}

// takePrivate allocates private memory for the operands.
func (p *Placement) takePrivate(n *node, task int, ops []Operand) error {
	had := len(p.private)
	for i := range ops {
		m := ops[i].Mode
		if m != modeScratch && m != modeRedux || ops[i].node(task) != n.id {
			continue
		}
		bytes := ops[i].Handle.privateBytes()
		ranks := 1
		if m == modeScratch {
			ranks = max(1, p.ranks)
		}
		for range ranks {
			at, err := n.allocPrivate(ops[i].Handle.d, bytes)
			if err != nil {
				for _, v := range p.private[had:] {
					v.free()
				}
				p.private = p.private[:had]
				return err
			}
			p.private = append(p.private, private{p: at, bytes: bytes, op: i, node: n, of: ops[i].Handle.d})
		}
	}
	if len(p.private) > had {
		n.mu.Lock()
		n.mu.private++
		n.mu.Unlock()
	}
	return nil
}

// allocPrivate allocates private memory for data of d.
func (n *node) allocPrivate(d *Datum, bytes int64) (unsafe.Pointer, error) {
	if d.object != nil {
		return d.allocObject(n, n.mem, bytes)
	}
	return n.alloc(bytes)
}

// free undoes allocPrivate.
func (v *private) free() {
	if v.of.object != nil {
		v.of.freeObject(v.node.mem, v.bytes)
		return
	}
	v.node.free(v.p, v.bytes)
}

// Ranks sets the number of ranks of the next task to be prepared, each with SCRATCH
// memory of its own.
func (p *Placement) Ranks(n int) { p.ranks = n }

// Private describes the private memory of operand i, whose handle is h, in b; that of
// a rank, from 0. Data without elements has no memory.
func (p *Placement) Private(i, rank int, h *Handle, b *iface.Buffer) {
	managed(h).Own(nil, b)
	for k := range p.private {
		if v := &p.private[k]; v.op == i {
			if rank == 0 {
				managed(h).Own(v.p, b)
				return
			}
			rank--
		}
	}
}

// Contribute brings a contribution of h, in main memory, to the private memory of
// operand i, and describes that in b. Collect brings it back.
func (p *Placement) Contribute(i int, h *Handle, from, b *iface.Buffer) error {
	p.Private(i, 0, h, b)
	for k := range p.private {
		if v := &p.private[k]; v.op == i {
			g := h.d.reg
			if err := g.moveBuffer(v.node, g.nodes[0], b, from); err != nil {
				return err
			}
			v.from, v.dev = *from, *b
		}
	}
	return nil
}

// Collect brings contributions back to main memory, all or, after an error, none
// that others would take for one.
func (p *Placement) Collect(g *Registry) error {
	for k := range p.private {
		if v := &p.private[k]; v.from.Ptr != nil {
			if err := g.moveBuffer(g.nodes[0], v.node, &v.from, &v.dev); err != nil {
				return err
			}
			v.from.Ptr = nil
		}
	}
	return nil
}

// freePrivate gives the private memory back.
func (p *Placement) freePrivate() {
	for k, v := range p.private {
		n := v.node
		v.free()
		if k+1 < len(p.private) && p.private[k+1].node == n {
			continue
		}
		n.mu.Lock() // the last on its node
		n.mu.private--
		n.mu.changes++
		n.mu.wake.Broadcast()
		n.mu.Unlock()
	}
	clear(p.private)
	p.private = p.private[:0]
}

// Memory beside bounded main memory: copies that the program holds of data that the
// runtime owns.
//
// A task that waits for room relies on memory being freed without the program. The
// program's holds end only when it releases them, so if they counted, a program that
// holds much would stop its own tasks. Its copies are instances of their own, which no
// task uses and which are not counted. When the program releases them, they become part
// of main memory if there is room; otherwise values without another copy go to the disk.

// memoryAside is where the program's copies are.
func (g *Registry) memoryAside() accel.Memory {
	if g.aside != nil {
		return g.aside
	}
	return g.mem
}

// PrepareAside is Prepare in main memory for the program, and for other users of all of
// some data at once: where main memory is bounded, the memory lies beside it.
func (p *Placement) PrepareAside(ops []Operand) error {
	p.aside = true
	return p.Prepare(0, ops)
}

// admitAside is admit for the program; it does not wait.
func (p *Placement) admitAside(n *node, ops []Operand) error {
	needs, _ := plan(ops, n, n.id, 1)
	for i := range needs {
		w := &needs[i]
		in, err := w.make(n, n.aside(w.d.reg))
		if err != nil {
			return err
		}
		p.pins = append(p.pins, in)
		for _, k := range w.ops {
			p.at[k] = in
		}
	}
	return nil
}

func (n *node) aside(g *Registry) accel.Memory {
	if n.id == 0 {
		return g.aside
	}
	return n.mem
}

// settle is the end of in, which the program held: it becomes part of main memory, or
// what is only there is saved on the disk. If that fails the data stays where it is.
func (d *Datum) settle(in *instance) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if in.gone || in.leaving || d.mu.freed {
		return
	}
	for f := d.onlyInLocked(in); f != nil || in.pins > 0; f = d.onlyInLocked(in) {
		switch {
		case f == nil || f.arriving != 0 || in.pins > 0: // copies from it: they end by themselves
			d.mu.wake.Wait()
			if in.gone || d.mu.freed {
				return
			}
		case d.adoptLocked(in):
			return
		case d.saveLocked(f, in) != nil:
			return
		}
	}
	d.removeLocked(in)
}

// adoptLocked makes in part of main memory, if there is room.
func (d *Datum) adoptLocked(in *instance) bool {
	n := in.node
	mem, ok := n.mem.(interface {
		Reserve(bytes int64) error
		Keep()
	})
	if !ok || !n.tryEnter() {
		return false
	}
	defer n.leave()
	if mem.Reserve(in.bytes) != nil {
		return false
	}
	mem.Keep()
	d.reg.aside.Release(in.bytes)
	in.outside = false
	n.list(in)
	n.touch(in, d.whole)
	return true
}

// fillAside gives d its first value.
func (d *Datum) fillAside(fill func(*iface.Buffer) error, inParts bool) error {
	if inParts && d.content.Load() == nil && d.rank > 0 && d.size() > d.reg.nodes[0].room() {
		return d.fillParts(fill)
	}
	var p Placement
	if err := p.PrepareAside([]Operand{{Handle: d.whole, Mode: modeW}}); err != nil {
		return err
	}
	defer p.Release() // also when fill panics
	var b iface.Buffer
	p.Buffer(0, d.whole, &b)
	return fill(&b)
}

// blockBytes is about how much is filled or read at a time.
const blockBytes = 1 << 20

// blockAside allocates memory beside main memory for some rows of d, which has elements. free gives it back.
func (d *Datum) blockAside() (block unsafe.Pointer, some int, free func(), err error) {
	rows := int64(d.dim(0))
	row := d.size() / rows
	some = int(max(1, min(blockBytes/row, rows)))
	bytes := int64(some) * row
	block, err = d.reg.aside.Alloc(bytes)
	return block, some, func() { d.reg.aside.Free(block, bytes) }, err
}

// fillParts gives d its first value on the disk, some rows at a time.
func (d *Datum) fillParts(fill func(*iface.Buffer) error) error {
	var whole iface.Buffer
	managed(d.whole).Own(nil, &whole)
	block, some, free, err := d.blockAside()
	if err != nil {
		return err
	}
	defer free()
	rows, main := whole.Dim[0], d.main.Load()
	for at := 0; at < rows; at += some {
		b, to := whole, whole
		b.Ptr, b.Dim[0], b.Off[0] = block, min(some, rows-at), at
		own := b // which fill may change
		if err := fill(&own); err != nil {
			return err
		}
		to.Dim[0], to.Stride = min(some, rows-at), main.stride.all()
		box := d.box
		box.set(0, at, at+1)
		to.Ptr = main.at(&box, d.elem.Size())
		if err := d.reg.moveBuffer(main.node, d.reg.nodes[0], &to, &b); err != nil {
			return err
		}
	}
	return nil
}

// InParts reports whether h is better read by Rows than as a whole: main memory is bounded, and has no room for it.
func (h Managed) InParts() bool {
	d := h.d
	return h.Handle == d.whole && d.spills() && d.object == nil && d.layout == nil && d.content.Load() == nil && d.rank > 0 &&
		d.size() > d.reg.nodes[0].room()
}

// Rows calls fn with some rows of h, a whole datum, after the other, in memory beside main memory
// that is fn's until it returns. The caller is a task that reads h.
func (h Managed) Rows(fn func(*iface.Buffer) error) error {
	d := h.d
	var whole iface.Buffer
	h.Own(nil, &whole)
	block, some, free, err := d.blockAside()
	if err != nil {
		return err
	}
	defer free()
	rows := whole.Dim[0]
	for at := 0; at < rows; at += some {
		to := &instance{d: d, node: d.reg.nodes[0], box: d.box, ptr: block, stride: stridesOf(&whole.Stride, d.rank)}
		to.box.set(0, at, at+min(some, rows-at))
		if err := d.collect(to); err != nil {
			return err
		}
		b := whole
		b.Ptr, b.Dim[0], b.Off[0] = block, min(some, rows-at), at
		if err := fn(&b); err != nil {
			return err
		}
	}
	return nil
}

// collect copies what a task that reads it needs to an instance that is none of d's, fragment by fragment.
func (d *Datum) collect(to *instance) error {
	type piece struct {
		from *instance
		box  Box
	}
	var pieces []piece
	d.mu.Lock()
	d.root.leaves(&to.box, func(f *fragment) {
		p := piece{d.sourceLocked(f, to.node, nil), f.box.meet(&to.box)}
		p.from.pinLocked()
		pieces = append(pieces, p)
	})
	d.mu.Unlock()
	var err error
	for _, p := range pieces {
		if err == nil {
			err = d.reg.move(to, p.from, &p.box, d.elem.Size())
		}
	}
	d.mu.Lock()
	for _, p := range pieces {
		p.from.unpinLocked(true)
		d.uselessLocked(p.from)
	}
	d.mu.wake.Broadcast()
	d.mu.Unlock()
	return err
}
