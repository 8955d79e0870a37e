package datamgr

// Datum: one registered piece of data.

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr/iface"
)

// State has a flag for everything that a task must check before it runs on a datum. 0:
// nothing, the data lies in its main instance and every fragment is valid there.
type State uint32

// The bits of a State. They are set under the submission lock or the datum's
// lock, before the first task that needs them is submitted or released.
const (
	stateLazy   State = 1 << iota // the main instance is not allocated
	statePacked                   // some handle needs an instance of its own
	stateNodes                    // valid copies may be on other nodes
	stateLocks                    // a fragment has unordered accesses: ordered ones take locks too
	stateFaults                   // a fragment may have lost its value
)

// Datum is one registered piece of data: a shape, perhaps a home, the tree of
// its fragments, and the instances that hold copies.
type Datum struct {
	reg    *Registry
	whole  *Handle
	state  atomic.Uint32
	main   atomic.Pointer[instance] // the whole datum, in main memory or on the disk
	box    Box
	stride strides // of the main instance, in elements
	// the shape, with box: see describe
	kind  iface.Kind
	elem  iface.Elem
	rank  int8
	home  bool   // main is memory that the datum does not own
	block *block // of the runtime that has it, or nil: it is the program's
	// where it lives on a device, or nil; fixed before it is used, see backing.go
	deviceHome *instance
	void       bool
	// memory of its copies is not kept for others
	noCache bool
	layout  *Layout // of several arrays, or nil
	object  *object // how its value is handled, if that is of a Go type; else nil
	formats any     // other layouts of the value, which the engine manages, or nil; guarded by the submission lock until a task uses the data
	// it is one of a reduction, and no data of the program
	contribution bool
	content      atomic.Pointer[content] // sizes in use; nil for data without a capacity, see Spec.Capacity

	root      *fragment    // changes under both locks, read under either
	fragments int          // guarded by the submission lock
	listed    int          // fragments in lists that handles keep, see Handle.keep; guarded by the submission lock
	live      int          // parts that are alive; guarded by the submission lock
	reduced   []*Handle    // handles that have accumulators; guarded by the submission lock
	closing   []*Duplicate // those whose copy may not have been made; guarded by the submission lock
	dups      []*Duplicate // open ones that share elements; guarded by the submission lock
	dup       *Duplicate   // what this is a duplicate by, or nil; fixed before it is used
	unordered atomic.Int64 // unordered accesses that were submitted and have not ended

	mu struct {
		sync.Mutex
		wake   *sync.Cond // a copy ended, or an instance was unpinned
		layers []layer    // from layer 1 on
		strays []int64    // by node: see Strayed; those that are missing are 0
		freed  bool
		// waits for the last unordered access
		drained *Waiter
		making  []*Making
	}
}

// block is main memory of the runtime that several data share. It is freed after the last of them.
type block struct {
	mem   accel.Memory
	ptr   unsafe.Pointer
	bytes int64
	users atomic.Int64
}

func (b *block) release() {
	if b != nil && b.users.Add(-1) == 0 {
		b.mem.Free(b.ptr, b.bytes)
	}
}

// strides are the distances between neighbours along each axis. Those of the axes from near on are kept elsewhere.
type strides struct {
	near [near]int
	far  *[iface.MaxRank - near]int // nil for data of fewer axes; not changed
}

// stridesOf returns the strides of data with rank axes.
func stridesOf(all *[iface.MaxRank]int, rank int8) (s strides) {
	copy(s.near[:], all[:])
	if rank > near {
		s.far = new([iface.MaxRank - near]int)
		copy(s.far[:], all[near:])
	}
	return s
}

// at returns the distance along axis k, one of those that the data has or below near.
func (s *strides) at(k int) int {
	if k < near {
		return s.near[k]
	}
	return s.far[k-near]
}

// all returns the distances along all axes.
func (s *strides) all() (all [iface.MaxRank]int) {
	copy(all[:], s.near[:])
	if s.far != nil {
		copy(all[near:], s.far[:])
	}
	return all
}

// axisList is the axes of a datum that a handle kept, 4 bits for each index.
type axisList uint32

// allAxes are the axes of a whole datum.
const allAxes axisList = 0x7654_3210

// at returns the axis of index k.
func (x axisList) at(k int) int { return int(x >> (4 * k) & 15) }

// with returns x with axis a for index k, which had none.
func (x axisList) with(k, a int) axisList { return x | axisList(a)<<(4*k) }

// shape sets the kind, the sizes and what follows from them.
func (d *Datum) shape(desc *iface.Desc, stride *[iface.MaxRank]int) {
	d.kind, d.elem, d.rank, d.box = desc.Kind, desc.Elem, desc.Rank, boxOf(desc)
	d.stride = stridesOf(stride, desc.Rank)
}

// newWhole makes the handle of all of d, of the given shape, with one fragment.
func (d *Datum) newWhole(desc *iface.Desc) *Handle {
	d.root = newFragment(d, d.box)
	h := &Handle{f0: d.root, frags: []*fragment{d.root}, d: d, kind: d.kind, elem: d.elem, rank: d.rank, box: d.box, axes: allAxes}
	for k := range int(d.rank) {
		if desc.Dim[k] == 0 {
			h.empty |= 1 << k
		}
	}
	d.whole = h
	return h
}

// dim is the size along axis k.
func (d *Datum) dim(k int) int { return d.whole.dim(k) }

// len is the number of elements.
func (d *Datum) len() int {
	if d.void || d.whole.empty != 0 {
		return 0
	}
	return d.box.size()
}

// size is the size of the elements in bytes.
func (d *Datum) size() int64 { return int64(d.len()) * int64(d.elem.Size()) }

// content is the sizes of the content of data with a capacity. It is replaced as a whole.
type content struct {
	dim    []int // sizes, one for each index; not changed
	by     any   // the job of the task that set it, or nil
	order  int64 // the number of that task
	before *content
}

// State returns what a task that uses h must look at before it runs.
func (h Managed) State() State { return State(h.d.state.Load()) }

// setState adds the bits of s. Tasks that were submitted before, and need not
// look at their data by what was known then, look now.
func (d *Datum) setState(s State) {
	for {
		o := d.state.Load()
		if o&uint32(s) == uint32(s) {
			return
		}
		if d.state.CompareAndSwap(o, o|uint32(s)) {
			d.reg.generation.bump()
			return
		}
	}
}

func (d *Datum) clearState(s State) {
	for {
		o := d.state.Load()
		if d.state.CompareAndSwap(o, o&^uint32(s)) {
			return
		}
	}
}

// generation is a number that changes whenever data of a registry gets a State, so that
// one load of a line that hardly ever changes tells a worker that nothing its task uses
// has one.
//
// A submission reads the generation first and the states of its data second. If all
// states are 0, the task gets that number (checked), and so does each handle, for the
// submissions that follow. setState sets the state first and calls bump second. So if a
// state was set after the submission read it, bump comes after the submission read the
// generation, and as no number comes twice, sameAs reports false from then on. While
// setState has not returned sameAs may still report true: a caller of setState that tasks
// must hear of waits for its return before it goes on to release them, or to look for
// those that run (see Publisher). A state that is cleared needs no bump: a task that looks
// in vain loses nothing.
//
// Numbers come from one counter of the process, so that a handle of one registry does not
// pass as checked by another. Two bumps may store theirs in either order: each number is
// stored once. After 2^32 bumps numbers come again. That does harm only if the generation
// is the number of a task, or of a handle, by which no task was submitted since, at the
// moment when it is next looked at.
type generation struct{ v atomic.Uint32 }

// checked is the generation at which a task, or a handle, was found to use nothing with a
// State, or 0, which is no generation.
type checked uint32

// generations is the last number that a generation got.
var generations atomic.Uint32

// bump gives g a number that none has had.
func (g *generation) bump() {
	n := generations.Add(1)
	if n == 0 {
		n = generations.Add(1)
	}
	g.v.Store(n)
}

// now returns the number of g.
func (g *generation) now() checked { return checked(g.v.Load()) }

// sameAs reports whether g has been c since c was read.
func (g *generation) sameAs(c checked) bool { return g.now() == c }

// span is the size of the main instance: from the first element to the last,
// with what lies between rows that are further apart than they are long.
func (d *Datum) span() int64 {
	if d.len() == 0 {
		return 0
	}
	n := 1
	for k := range int(d.rank) {
		n += (d.dim(k) - 1) * d.stride.at(k)
	}
	return int64(n) * int64(d.elem.Size())
}

// allocate makes sure that the main instance exists.
func (d *Datum) allocate() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.allocateLocked()
}

func (d *Datum) allocateLocked() error {
	if d.main.Load() != nil {
		return nil
	}
	bytes, n := d.span(), d.reg.nodes[0]
	if d.spills() {
		n = d.reg.disk
	}
	var p unsafe.Pointer
	switch {
	case d.object == nil:
		var err error
		if p, err = n.mem.Alloc(bytes); err != nil {
			return err
		}
	case n.id == 0:
		p = d.object.New()
	} // on the disk it gets its place when it is first packed
	d.mainAt(n, p, bytes)
	return nil
}

// adopter is main memory that takes memory of the program: accel.Heap.
type adopter interface {
	Adopt(p unsafe.Pointer, bytes int64) (bool, error)
}

// adopt makes p the main instance and reports true, unless p is nil or must not be main memory.
func (d *Datum) adopt(p unsafe.Pointer) (bool, error) {
	mem, ok := d.reg.nodes[0].mem.(adopter)
	if !ok || p == nil || d.spills() || d.object != nil || d.content.Load() != nil || d.span() != d.size() {
		return false, nil
	}
	ok, err := mem.Adopt(p, d.span())
	if ok {
		d.mainAt(d.reg.nodes[0], p, d.span())
	}
	return ok, err
}

// mainAt makes memory of n the main instance.
func (d *Datum) mainAt(n *node, p unsafe.Pointer, bytes int64) {
	d.main.Store(&instance{d: d, node: n, box: d.box, ptr: p, stride: d.stride, bytes: bytes})
	d.clearState(stateLazy)
}

// homeInstance returns the instance where data lives that has a home, or nil for images in plans.
func (d *Datum) homeInstance() *instance {
	if in := d.deviceHome; in != nil {
		return in
	}
	return d.main.Load()
}

// weight is the size of an object for placement: 0 where it stays in main memory.
func (d *Datum) weight() int64 {
	if d.spills() {
		return d.object.size.Load()
	}
	return 0
}

// free gives all memory back. No task uses the datum any more; hints and evictions
// that do end by themselves.
func (d *Datum) free() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.freed = true
	d.leaveHomeLocked()
	for d.inUseLocked() {
		d.mu.wake.Wait()
	}
	for k := range d.mu.layers {
		for _, in := range slices.Clone(d.mu.layers[k].insts) {
			d.removeLocked(in)
		}
	}
	d.mu.layers = nil
	if m := d.main.Load(); m != nil && !d.home && (d.object == nil || m.ptr != nil && m.node.id != 0) {
		m.node.mem.Free(m.ptr, m.bytes)
	}
	d.main.Store(nil)
	d.block.release()
}

// inUseLocked reports whether an instance of d is in use.
func (d *Datum) inUseLocked() bool {
	if m := d.main.Load(); m != nil && m.pins > 0 {
		return true
	}
	for _, l := range d.mu.layers {
		if slices.ContainsFunc(l.insts, func(in *instance) bool { return in.pins > 0 || in.leaving }) {
			return true
		}
	}
	return false
}

// instance is memory that holds a box of a datum.
type instance struct {
	d       *Datum
	node    *node
	box     Box
	ptr     unsafe.Pointer // of the box's first element
	stride  strides
	bytes   int64
	used    int64     // when it was last used, by the node's clock; guarded by the node's lock
	handles []*Handle // for which it was used; guarded by the node's lock

	// guarded by the datum's lock
	pins    int32 // tasks, copies and the program, which use it
	holds   int32 // of those, the program's
	layer   int32 // 0: the main instance; fixed before it is used
	outside bool  // its memory is not that of its node: see aside.go
	given   bool  // its memory is the program's
	leaving bool  // it is being evicted
	gone    bool  // it was freed
}

// at returns the address in in of the first element of box.
func (in *instance) at(box *Box, size uintptr) unsafe.Pointer {
	off := 0
	for k := range box.axes() {
		off += (box.from(k) - in.box.from(k)) * in.stride.at(k)
	}
	return unsafe.Add(in.ptr, uintptr(off)*size)
}

// OnlyLazy reports whether all there is to do is to allocate main instances.
func (s State) OnlyLazy() bool { return s == stateLazy }

// Locks reports whether ordered accesses take locks.
func (s State) Locks() bool { return s&stateLocks != 0 }

// Copies between buffers of the same shape and different strides.

// CopyBuffer copies the elements of src to dst, which has the same sizes and
// element type and shares no memory with it.
func CopyBuffer(dst, src *iface.Buffer) { copyBuffer(dst, src) }

// copyBuffer copies the elements of src to dst; sizes are those of dst.
func copyBuffer(dst, src *iface.Buffer) {
	t := betweenBuffers(dst, src)
	t.run(dst.Ptr, src.Ptr, dst.Elem.Size())
}

// copyBox copies the elements of box between two instances that hold them.
func copyBox(dst, src *instance, box *Box, size uintptr) {
	t := betweenInstances(dst, src, box)
	t.run(dst.at(box, size), src.at(box, size), size)
}

// transfer is a copy of n[0] x n[1] x … elements, along rank axes: those that have more than one.
type transfer struct {
	n, ds, ss [iface.MaxRank]int
	rank      int
	empty     bool // there are none
}

// betweenBuffers is a copy of all of dst.
func betweenBuffers(dst, src *iface.Buffer) (t transfer) {
	for k := range int(dst.Rank) {
		t.add(dst.Dim[k], dst.Stride[k], src.Stride[k])
	}
	return t
}

// betweenInstances is a copy of the elements of box.
func betweenInstances(dst, src *instance, box *Box) (t transfer) {
	for k := range box.axes() {
		if n := box.length(k); n > 1 {
			t.add(n, dst.stride.at(k), src.stride.at(k))
		}
	}
	return t
}

// add gives t an axis of n elements, ds and ss apart, inside the others.
func (t *transfer) add(n, ds, ss int) {
	if n != 1 {
		t.empty = t.empty || n == 0
		t.n[t.rank], t.ds[t.rank], t.ss[t.rank] = n, ds, ss
		t.rank++
	}
}

// inner takes an axis out of t: one whose elements lie side by side on both sides (row), or else the longest.
func (t *transfer) inner() (n, ds, ss int, row bool) {
	if t.rank == 0 {
		return 1, 1, 1, true
	}
	in := 0
	for k := range t.rank {
		if t.ds[k] == 1 && t.ss[k] == 1 {
			in, row = k, true
			break
		}
		if t.n[k] > t.n[in] {
			in = k
		}
	}
	n, ds, ss = t.n[in], t.ds[in], t.ss[in]
	t.rank--
	for k := in; k < t.rank; k++ {
		t.n[k], t.ds[k], t.ss[k] = t.n[k+1], t.ds[k+1], t.ss[k+1]
	}
	return n, ds, ss, row
}

func (t *transfer) run(dst, src unsafe.Pointer, size uintptr) {
	if t.empty {
		return
	}
	n, ds, ss, row := t.inner()
	var at [iface.MaxRank]int
	d, s := 0, 0 // the offsets at these indices
	for {
		to, from := unsafe.Add(dst, uintptr(d)*size), unsafe.Add(src, uintptr(s)*size)
		switch {
		case row:
			copy(unsafe.Slice((*byte)(to), uintptr(n)*size), unsafe.Slice((*byte)(from), uintptr(n)*size))
		case size == 1:
			copyEvery[uint8](to, from, n, ds, ss)
		case size == 2:
			copyEvery[uint16](to, from, n, ds, ss)
		case size == 4:
			copyEvery[uint32](to, from, n, ds, ss)
		case size == 8:
			copyEvery[uint64](to, from, n, ds, ss)
		case size == 16:
			copyEvery[complex128](to, from, n, ds, ss)
		}
		k := t.rank - 1
		for ; k >= 0; k-- {
			if at[k]++; at[k] < t.n[k] {
				d, s = d+t.ds[k], s+t.ss[k]
				break
			}
			d, s = d-(t.n[k]-1)*t.ds[k], s-(t.n[k]-1)*t.ss[k]
			at[k] = 0
		}
		if k < 0 {
			return
		}
	}
}

func copyEvery[T any](d, s unsafe.Pointer, n, ds, ss int) {
	size := unsafe.Sizeof(*new(T))
	for i := range n {
		*(*T)(unsafe.Add(d, uintptr(i*ds)*size)) = *(*T)(unsafe.Add(s, uintptr(i*ss)*size))
	}
}

// findSlow sets f.slow again after one of its reasons has ended.
func (d *Datum) findSlow(_ Submission, f *fragment) {
	f.slow = f.unordered || f.open != nil ||
		slices.ContainsFunc(d.dups, func(u *Duplicate) bool { return u.alias.box.touches(&f.box) })
}
