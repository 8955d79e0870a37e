package datamgr

// Registry: the data of one runtime, and the submission lock.

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr/iface"
)

// Registry holds what the data of one runtime shares: the submission lock,
// numbers, free epochs, and main memory. Accesses are registered in one order,
// which is the order in which callers take the lock.
type Registry struct {
	Owner any // the runtime; fixed before data is registered
	// Plans says that nothing runs and values are not looked at, so data takes no memory; fixed
	// before data is registered.
	Plans bool

	mu    sync.Mutex
	mem   accel.Memory // main memory
	nodes []*node      // all memories, the main one first; fixed before data is registered
	disk  *node        // where data goes for which main memory has no room, or nil: it has no bound
	aside *accel.Heap  // beside main memory, with a disk
	relay relay

	// guarded by mu
	ids       int64
	lockIDs   int64
	mark      uint32
	useBuffer []use // of Merge, to be used again
	batch     batch
	freeEpoch *epoch
	slab      []epoch
	completer Completer // for ends that the submitter causes

	_          [64]byte
	returned   atomic.Pointer[epoch] // epochs that workers gave back
	_          [64]byte
	generation generation // of the data's states: workers read it for every task
	_          [60]byte

	publishers []*Publisher // of all that run tasks; guarded by mu
	held       []*Hold      // data held by the program; guarded by mu
	homes      homes        // data in memory of the program; guarded by mu

	// Rank says how waiters for a lock are ordered: by the priority, the higher first, and
	// among equals by the number, the smaller first, 0: as they came. nil: all as they
	// came. Fixed before data is registered.
	Rank func(w *Waiter) (priority int32, number int64)

	onCopy func(from, to int, bytes int64, data *Handle, begin, end time.Time) // fixed before data is registered
	onLoss func(node int, err *accel.LostError) any                            // fixed before data is registered
}

// Owns reports whether h was registered here.
func (g *Registry) Owns(h *Handle) bool { return h.d.reg == g }

// NewRegistry makes a registry whose data lives in mem.
func NewRegistry(mem accel.Memory) *Registry {
	g := &Registry{mem: mem, nodes: []*node{newNode(0, mem, nil)}}
	g.generation.bump()
	g.completer.reg = g
	return g
}

// Submission proves that the submission lock is held: functions that need the lock are
// its methods, or take it. It is valid until Unlock and must not be kept longer. It is
// one word, and costs nothing. The zero value is of no use.
type Submission struct{ reg *Registry }

// Lock takes the submission lock.
func (g *Registry) Lock() Submission {
	g.mu.Lock()
	return Submission{g}
}

// Unlock gives the submission lock back.
func (sub Submission) Unlock() { sub.reg.mu.Unlock() }

// Completer returns the completer for ends that the holder of the lock causes.
func (sub Submission) Completer() *Completer { return &sub.reg.completer }

// Memory returns main memory.
func (g *Registry) Memory() accel.Memory { return g.mem }

// Spec describes data to register. Kind and, but for void data, Elem are needed; so are
// as many Dims as the kind has indices. The rest may be zero.
type Spec struct {
	Kind iface.Kind
	Elem iface.Elem
	Dims []int // sizes in elements, one for each index, 0 or more: nil, {n}, {rows, cols}, {nx, ny, nz}
	// Capacity is the sizes that there is room for, one for each index, at least as large as Dims;
	// nil: Dims, which are fixed then. With a capacity, Dims are the first sizes of the
	// content, which tasks may change (TaskContext.Resize of package engine). Memory, Home
	// included, is that of the capacity, and so are Handle.Desc and views. There is no reduction.
	Capacity []int
	LD       int // distance between rows (lines along the last index) in main memory, in elements; 0: their length
	// Step is the distance between neighbours along each index in main memory, in elements; nil: as LD says. That along the last
	// index may be left out, and is 1 then. If it is not, such as for a field of an array of structs, the data has a Home in main memory, and no
	// capacity; kernels get a copy whose lines are contiguous, unless the operand is pinned to its home: see PinHome.
	Step []int
	Home unsafe.Pointer // element 0 of memory of that size, which stays the caller's; nil: none
	// Node is the memory node where the data lives, 0 being main memory: Home is memory there, such as
	// Memory.Alloc of its device returns. The value stays there until a task uses it elsewhere, and
	// comes back when the data is unregistered. Without Home the registry allocates
	// memory there, which is never evicted, and which has no value.
	Node     int
	ReadOnly bool // tasks and accesses that write are errors
	// Unordered gives accesses no order with others; see Handle.SetUnordered.
	Unordered bool
	Name      string     // in messages and traces; "" for none
	Reduce    *Reduction // how REDUX contributions are combined; nil: there can be none
	// InParts: what RegisterFilled is given may be called for some elements at a time,
	// in any shape. So it is where main memory is bounded, and data does not fit.
	InParts bool
	// Source returns the bytes of the elements, row by row and in the order of this machine, or nil if there are
	// none. Where main memory is bounded, and the disk is an accel.Lazy, RegisterFilled does not call
	// fill: elements are read from the source when they are first needed. The data then owns the
	// source, and closes it when it is unregistered. A nil Source has no bytes.
	Source func() accel.Source
	// Content is memory of the Go heap that has the elements, row by row, and that the program no longer uses, or nil.
	// RegisterFilled makes it the memory of the data if it can, and calls fill if not.
	Content unsafe.Pointer
	// NoCache gives the memory of copies on devices back to the device as soon as they are evicted; memory of other
	// data is kept for copies of the same size, as a driver takes long to allocate.
	NoCache bool
	// Owner is 1 + the rank that owns the data, modulo the number of ranks, where several run the program together (package engine/cluster); 0: they
	// deal it in turn. Parts of views are owned by the same rank, unless ViewOptions.Grid says otherwise. Alone, a process owns all.
	Owner int
	// Object says how the value is handled; only data of kind Object has it. The runtime owns the value.
	Object *Object
	// Layout says where the arrays lie; only data of kind Arrays has it, with elements of type U8. It must not change.
	Layout *Layout
	Site   *Site // where the program does it, for messages; may be nil

	block   *block // that Home lies in, or nil: Home is the program's
	noValue bool   // Home has no value
}

// RegisterFields declares vectors of one length, 1 or more, that lie as the fields of structs do, in one piece of main memory, which is not bounded:
// element i of field k is offsets[k] + i*size bytes from its beginning, and sizes are multiples of those of the elements. fills
// write the values of fields; a nil one gives none. When one fails nothing stays registered.
func (g *Registry) RegisterFields(specs []Spec, offsets []uintptr, size uintptr, fills []func(*iface.Buffer) error) (hs []*Handle, err error) {
	n := int64(specs[0].Dims[0])
	if n > math.MaxInt64/int64(size) {
		return nil, fmt.Errorf("datamgr: %d structs of %d bytes have more bytes than can be addressed", n, size)
	}
	p, err := g.mem.Alloc(n * int64(size))
	if err != nil {
		return nil, err
	}
	b := &block{mem: g.mem, ptr: p, bytes: n * int64(size)}
	b.users.Add(1)
	done := false
	defer func() {
		if !done {
			for _, h := range hs {
				g.Discard(h)
			}
			hs = nil
		}
		b.release()
	}()
	for k := range specs {
		s := specs[k]
		s.Home, s.Step, s.block, s.noValue = unsafe.Add(p, offsets[k]), []int{int(size / s.Elem.Size())}, b, fills[k] == nil
		h, err := g.Register(&s)
		if err != nil {
			return hs, err
		}
		hs = append(hs, h)
		if fills[k] == nil {
			continue
		}
		if err := h.d.fillAlong(fills[k]); err != nil {
			return hs, err
		}
	}
	done = true
	return hs, nil
}

// fillAlong gives d, which is new, a value: fill gets memory without gaps.
func (d *Datum) fillAlong(fill func(*iface.Buffer) error) error {
	h := managed(d.whole)
	p, err := h.newMemory()
	if err != nil {
		return err
	}
	defer h.freeMemory(p)
	var own, main iface.Buffer
	h.Own(p, &own)
	given := own
	if err := fill(&given); err != nil {
		return err
	}
	h.Fill(&main)
	copyBuffer(&main, &own)
	return nil
}

// Extent returns how many elements of Home the data takes, from the first to the last.
// Errors are those of Register.
func (s *Spec) Extent() (int, error) {
	d, err := s.desc()
	if err != nil || d.Len() == 0 {
		return 0, err
	}
	row := 1 // distance of neighbours along index k, if nothing else is said
	n := 1
	for k := int(d.Rank) - 1; k >= 0; k-- {
		step := row
		switch {
		case k < len(s.Step):
			step = s.Step[k]
		case k == int(d.Rank)-1:
		case k == int(d.Rank)-2 && s.LD != 0:
			step = s.LD
		}
		n += (d.Dim[k] - 1) * step
		row = step * d.Dim[k]
	}
	return n, nil
}

// Register declares a datum and returns the handle of all of it. Data with a
// home has a value; other data has neither value nor memory until it is
// written first. Home that shares bytes with that of other data, which has not been
// unregistered, is a *SharedMemoryError, unless both are ReadOnly. On a Node that is a
// device, idle copies of other data are evicted if the memory needs it; an
// *accel.NoMemoryError says that there is not enough, an *accel.LostError that the device is lost.
func (g *Registry) Register(s *Spec) (*Handle, error) {
	desc, err := s.desc()
	if err != nil {
		return nil, err
	}
	if err := g.checkHome(s); err != nil {
		return nil, err
	}
	if s.block != nil {
		s.block.users.Add(1)
	}
	d := &Datum{reg: g, block: s.block, void: s.Kind == iface.Void, noCache: s.NoCache, object: newObject(s.Object), layout: s.Layout}
	d.mu.wake = sync.NewCond(&d.mu.Mutex)
	stride := s.strides(&desc)
	given := stride
	if s.Node > 0 { // given are those of Home, and these are those of main memory
		stride = (&Spec{}).strides(&desc)
	}
	d.shape(&desc, &stride)
	h := d.newWhole(&desc)
	f := d.root
	h.readOnly, h.reduce, h.site, h.owner = s.ReadOnly, s.Reduce, s.Site, s.Owner
	if s.Name != "" {
		h.more().name.Store(&s.Name)
	}
	if s.Unordered {
		h.flags = flagUnordered
	}
	if s.Capacity != nil {
		d.content.Store(&content{dim: slices.Clone(s.Dims)})
		h.flags |= flagResizable
	}
	switch {
	case d.void:
		f.init = true
	case s.Node > 0 && desc.Len() > 0:
		d.state.Store(uint32(stateLazy))
		f.init = s.Home != nil
		if !f.init {
			f.why = NeverWritten
		}
	case s.Home != nil || desc.Len() == 0:
		d.home = s.Home != nil
		d.main.Store(&instance{d: d, node: g.nodes[0], box: d.box, ptr: s.Home, stride: d.stride})
		if f.init = !s.noValue; s.noValue {
			f.why = NeverWritten
		}
	default:
		d.state.Store(uint32(stateLazy))
		f.why = NeverWritten
	}
	if len(g.nodes) > 1 && !d.void && desc.Len() > 0 && (d.object == nil || d.spills()) {
		d.setState(stateNodes)
	}
	h.choose()
	var at *home
	if e := extentOf(s.Home, &desc, &given); e.End > e.First && s.block == nil {
		at = &home{d: d, readOnly: s.ReadOnly, node: s.Node, extent: e, end: e.End}
	}
	if s.Node > 0 && desc.Len() > 0 {
		if err := d.liveOn(g.nodes[s.Node], s.Home, stridesOf(&given, desc.Rank)); err != nil {
			return nil, err
		}
	}
	sub := g.Lock()
	defer sub.Unlock()
	if at != nil {
		if o := g.homes.sharing(at); o != nil {
			d.free()
			return nil, &SharedMemoryError{Name: s.Name, Desc: desc, Other: o.whole, Site: o.whole.site}
		}
	}
	g.ids++
	h.id = g.ids
	if at != nil {
		at.id = h.id
		g.homes.add(at)
	}
	return h, nil
}

// SharedMemoryError says that memory of the program has been registered already. Two data that
// share bytes would each see the other's halves, as tasks are ordered by data.
type SharedMemoryError struct {
	Name  string     // of the data that could not be registered; "" if it has none
	Desc  iface.Desc // what it is
	Other *Handle    // the data that has the memory, or a part of it
	Site  *Site      // where Other was registered; may be nil
}

// Error names both data.
func (e *SharedMemoryError) Error() string {
	name := func(name string, d iface.Desc) string {
		if name == "" {
			return "a " + d.String()
		}
		return fmt.Sprintf("`%s` (%v)", name, &d)
	}
	at := ""
	if e.Site != nil {
		at = ", registered at " + e.Site.String()
	}
	return fmt.Sprintf("datamgr: %s shares memory with %s%s: register the memory once and partition it, unregister the other first, or register both as read-only",
		name(e.Name, e.Desc), name(e.Other.Name(), e.Other.Desc()), at)
}

// Lookup returns the handle of the data whose home begins at p, or nil. Of read-only data that
// share memory it returns the one that was registered last. It takes a logarithm of
// the number of data with homes.
func (g *Registry) Lookup(p unsafe.Pointer) *Handle {
	if p == nil {
		return nil
	}
	sub := g.Lock()
	defer sub.Unlock()
	if d := g.homes.lookup(uintptr(p)); d != nil {
		return d.whole
	}
	return nil
}

// Discard undoes Register. Nothing has used h.
func (g *Registry) Discard(h *Handle) {
	sub := g.Lock()
	sub.End(h, nil)
	sub.Unlock()
	h.d.free()
}

// RegisterValued declares a datum without a home that counts as having a value, and takes
// no memory: for plans, which use no values.
func (g *Registry) RegisterValued(s *Spec) (*Handle, error) {
	h, err := g.Register(s)
	if err == nil {
		sub := g.Lock()
		h.d.root.init, h.d.root.why = true, hasValue
		sub.Unlock()
	}
	return h, err
}

// RegisterFilled declares a datum without a home, allocates it and has fill
// write its elements. When fill fails nothing stays registered.
func (g *Registry) RegisterFilled(s *Spec, fill func(*iface.Buffer) error) (*Handle, error) {
	if s.Home != nil {
		return nil, errors.New("datamgr: data with host memory is filled by its owner")
	}
	h, err := g.Register(s)
	if err != nil {
		return nil, err
	}
	d := h.d
	if d.void {
		return h, nil
	}
	done := false
	defer func() {
		if !done {
			d.free()
		}
	}()
	lazy, err := d.begin(s)
	adopted := false
	if err == nil && !lazy {
		adopted, err = d.adopt(s.Content)
	}
	if err == nil && !lazy && !adopted {
		err = d.allocate()
	}
	if err != nil {
		return nil, err
	}
	if lazy || adopted {
		// it is filled when it is used, or was before
	} else if d.spills() && d.len() > 0 {
		err = d.fillAside(fill, s.InParts)
	} else {
		var b iface.Buffer
		managed(h).Fill(&b)
		h.trim(&b.Desc)
		err = fill(&b)
	}
	if err != nil {
		return nil, err
	}
	done = true
	sub := g.Lock()
	d.root.init, d.root.why = true, hasValue
	sub.Unlock()
	return h, nil
}

// desc checks a specification.
func (s *Spec) desc() (iface.Desc, error) {
	d := iface.Desc{Kind: s.Kind, Elem: s.Elem, Rank: int8(s.Kind.Rank())}
	fail := func(format string, args ...any) (iface.Desc, error) {
		return d, fmt.Errorf("datamgr: "+format, args...)
	}
	switch s.Kind {
	case iface.Variable, iface.Vector, iface.Matrix, iface.Block, iface.Tensor, iface.Tensor5, iface.Tensor6, iface.Tensor7, iface.Tensor8:
		if s.Elem == iface.NoElem || s.Elem.Size() == 0 {
			return fail("%v without an element type", s.Kind)
		}
	case iface.Arrays:
		switch {
		case s.Elem != iface.U8 || s.Layout == nil:
			return fail("arrays need a Layout, and bytes as elements")
		case s.Capacity != nil:
			return fail("arrays have no capacity: they keep their lengths")
		case s.Home != nil:
			return fail("arrays are in memory of the runtime, and got memory of the program")
		}
	case iface.Object:
		d.Elem = iface.NoElem
		if err := s.Object.check(); err != nil {
			return d, err
		}
		if s.Home != nil {
			return fail("an object is in memory of the runtime, and got memory of the program")
		}
	case iface.Void:
		d.Elem = iface.NoElem
		if s.Home != nil || s.Reduce != nil {
			return fail("void data has neither memory nor a reduction")
		}
	default:
		return fail("data of unknown kind %d", s.Kind)
	}
	if s.Object != nil && s.Kind != iface.Object {
		return fail("%v has elements and no Object, which is for data of a Go type", s.Kind)
	}
	if s.Owner < 0 {
		return fail("the owner is %d; it is 1 + a rank, which counts from 0, or 0 for none", s.Owner)
	}
	if len(s.Dims) != int(d.Rank) {
		return fail("%v has %d sizes, and got %d", s.Kind, d.Rank, len(s.Dims))
	}
	dims := s.Dims
	if s.Capacity != nil {
		if err := s.checkCapacity(); err != nil {
			return d, err
		}
		dims = s.Capacity
	}
	n := 1
	limit := math.MaxInt
	if size := int(d.Elem.Size()); size > 0 {
		limit /= size
	}
	for k, m := range dims {
		if m < 0 {
			return fail("size %d of %v is negative", m, s.Kind)
		}
		if m > wideMax && d.Rank > near {
			return fail("size %d of data with %d indices; with more than %d indices a size can be up to %d: let two indices share it", m, d.Rank, near, wideMax)
		}
		if m > 0 && n > limit/m {
			return fail("%v of sizes %v has more bytes than can be addressed", s.Kind, dims)
		}
		n *= max(1, m)
		d.Dim[k] = m
	}
	if err := s.steps(&d, limit); err != nil {
		return d, err
	}
	if r := s.Reduce; r != nil && r.Init == nil {
		return fail("reduction %q has no function that initialises", r.Name)
	}
	return d, nil
}

// checkCapacity checks the capacity of a specification against its sizes.
func (s *Spec) checkCapacity() error {
	if len(s.Capacity) != len(s.Dims) || len(s.Dims) == 0 {
		return fmt.Errorf("datamgr: %v with %d sizes and a capacity of %d; give a capacity for each size", s.Kind, len(s.Dims), len(s.Capacity))
	}
	if s.Reduce != nil {
		return fmt.Errorf("datamgr: data with a capacity has no reduction: what tasks contribute would have no fixed size")
	}
	for k, n := range s.Dims {
		if n < 0 || n > s.Capacity[k] {
			return fmt.Errorf("datamgr: size %d of %v is not within its capacity, from 0 to %d", n, s.Kind, s.Capacity[k])
		}
	}
	return nil
}

// strides are the distances between neighbours along each index of data with a home.
func (s *Spec) strides(d *iface.Desc) (stride [iface.MaxRank]int) {
	at := 1
	for k := int(d.Rank) - 1; k >= 0; k-- {
		stride[k] = at
		if k == int(d.Rank)-1 && s.LD != 0 {
			at = s.LD
		} else {
			at *= d.Dim[k]
		}
	}
	copy(stride[:], s.Step)
	return stride
}

// Memory returns the memory that data takes whose first element is at Home. It is empty where
// there is none. Errors are those of Register.
func (s *Spec) Memory() (Extent, error) {
	d, err := s.desc()
	if err != nil {
		return Extent{}, err
	}
	stride := s.strides(&d)
	return extentOf(s.Home, &d, &stride), nil
}

// steps checks the distances between elements in main memory: lines do not overlap,
// and limit elements reach from the first to the last.
func (s *Spec) steps(d *iface.Desc, limit int) error {
	fail := func(format string, args ...any) error { return fmt.Errorf("datamgr: "+format, args...) }
	rank := int(d.Rank)
	step := s.Step
	switch {
	case s.LD == 0 && step == nil:
		return nil
	case rank < 2 && (rank == 0 || len(step) != rank):
		return fail("a %v has no distance between rows", s.Kind)
	case step == nil:
		step = make([]int, rank-1)
		at := s.LD
		for k := rank - 2; k >= 0; k-- {
			step[k] = at
			if k > 0 {
				if m := max(1, d.Dim[k]); at > limit/m {
					return fail("%v of sizes %v with rows %d elements apart has more bytes than can be addressed", s.Kind, s.Dims, s.LD)
				}
				at *= max(1, d.Dim[k])
			}
		}
	case len(step) != rank-1 && len(step) != rank:
		return fail("%v has %d distances between neighbours, and got %d", s.Kind, rank-1, len(step))
	}
	least, what := d.Dim[rank-1], "rows"
	if len(step) == rank && step[rank-1] != 1 {
		switch n := step[rank-1]; {
		case n < 1:
			return fail("neighbours of a %v cannot lie %d elements apart", s.Kind, n)
		case least > 0 && n > limit/least:
			return fail("%d elements %d apart have more bytes than can be addressed", least, n)
		}
		least = max(0, least-1)*step[rank-1] + 1
	}
	for k := rank - 2; k >= 0; k-- {
		if k < rank-2 {
			what = "planes"
		}
		switch {
		case step[k] < least:
			return fail("%s of %d elements cannot lie %d elements apart", what, least, step[k])
		case d.Dim[k] > 0 && step[k] > limit/d.Dim[k]:
			return fail("%d %s %d elements apart have more bytes than can be addressed", d.Dim[k], what, step[k])
		}
		least = step[k] * d.Dim[k]
	}
	return nil
}
