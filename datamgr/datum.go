package datamgr

// Datum: one registered piece of data.

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

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
	desc   iface.Desc
	box    Box
	stride [iface.MaxRank]int // of the main instance, in elements
	home   bool               // main is the program's memory
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

// content is the sizes of the content of data with a capacity. It is replaced as a whole.
type content struct {
	dim    [iface.MaxRank]int
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
	if d.desc.Len() == 0 {
		return 0
	}
	n := 1
	for k, m := range d.desc.Dim[:d.desc.Rank] {
		n += (m - 1) * d.stride[k]
	}
	return int64(n) * int64(d.desc.Elem.Size())
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
	stride  [iface.MaxRank]int
	bytes   int64
	layer   int       // 0: the main instance
	used    int64     // when it was last used, by the node's clock; guarded by the node's lock
	handles []*Handle // for which it was used; guarded by the node's lock

	// guarded by the datum's lock
	pins    int  // tasks, copies and the program, which use it
	holds   int  // of those, the program's
	outside bool // its memory is not that of its node: see aside.go
	given   bool // its memory is the program's
	leaving bool // it is being evicted
	gone    bool // it was freed
}

// at returns the address of element lo of the datum in in.
func (in *instance) at(lo *[iface.MaxRank]int, size uintptr) unsafe.Pointer {
	off := 0
	for k := range lo {
		off += (lo[k] - in.box.lo[k]) * in.stride[k]
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
	var b transfer
	b.n = [iface.MaxRank]int{1, 1, 1, 1}
	for k := range int(dst.Rank) {
		b.n[k], b.ds[k], b.ss[k] = dst.Dim[k], dst.Stride[k], src.Stride[k]
	}
	b.run(dst.Ptr, src.Ptr, dst.Elem.Size())
}

// copyBox copies the elements of box between two instances that hold them.
func copyBox(dst, src *instance, box *Box, size uintptr) {
	var b transfer
	for k := range box.lo {
		b.n[k], b.ds[k], b.ss[k] = box.hi[k]-box.lo[k], dst.stride[k], src.stride[k]
	}
	b.run(dst.at(&box.lo, size), src.at(&box.lo, size), size)
}

// transfer is a copy of n[0] x n[1] x … elements.
type transfer struct{ n, ds, ss [iface.MaxRank]int }

func (b *transfer) run(dst, src unsafe.Pointer, size uintptr) {
	in := -1 // the innermost axis: one whose elements lie side by side on both sides, else the longest
	for k := range b.n {
		if b.n[k] == 0 {
			return
		}
		if b.n[k] > 1 && b.ds[k] == 1 && b.ss[k] == 1 {
			in = k
		}
	}
	row := in >= 0
	if !row {
		in = 0
		for k := range b.n {
			if b.n[k] > b.n[in] {
				in = k
			}
		}
	}
	n, ds, ss := b.n[in], b.ds[in], b.ss[in]
	b.n[in] = 1
	for i0 := range b.n[0] {
		for i1 := range b.n[1] {
			for i2 := range b.n[2] {
				for i3 := range b.n[3] {
					d := unsafe.Add(dst, uintptr(i0*b.ds[0]+i1*b.ds[1]+i2*b.ds[2]+i3*b.ds[3])*size)
					s := unsafe.Add(src, uintptr(i0*b.ss[0]+i1*b.ss[1]+i2*b.ss[2]+i3*b.ss[3])*size)
					if row {
						copy(unsafe.Slice((*byte)(d), uintptr(n)*size), unsafe.Slice((*byte)(s), uintptr(n)*size))
						continue
					}
					switch size {
					case 1:
						copyEvery[uint8](d, s, n, ds, ss)
					case 2:
						copyEvery[uint16](d, s, n, ds, ss)
					case 4:
						copyEvery[uint32](d, s, n, ds, ss)
					case 8:
						copyEvery[uint64](d, s, n, ds, ss)
					case 16:
						copyEvery[complex128](d, s, n, ds, ss)
					}
				}
			}
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
