package datamgr

// Handle: what a task names. A datum and a box of its index space.

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
)

// AccessMode says what a task does to an operand.
type AccessMode = iface.AccessMode

const (
	modeR       = iface.R
	modeC       = iface.Commute
	modeCW      = iface.CommuteW
	modeW       = iface.W
	modeRW      = iface.RW
	modeRedux   = iface.Redux
	modeScratch = iface.Scratch
)

// Operand is one piece of data that a task uses, and how.
type Operand struct {
	Handle *Handle
	Mode   AccessMode
	// Unordered gives the access no order with others; it still excludes
	// those that conflict with it.
	Unordered bool
	// Pin says on which memory node it stays; 0: on that of the worker.
	Pin Pin
}

// Pin is the memory node where an operand stays while the task runs, wherever that
// is; the zero value is the node of the worker.
type Pin uint8

// PinTo returns the Pin for a memory node, which 0, main memory, is for any worker,
// and others for workers that use it.
func PinTo(node int) Pin {
	if node < 0 || node >= int(PinHome)-1 {
		return ^Pin(0) // no such node
	}
	return Pin(1 + node)
}

// PinHome is the Pin to main memory for kernels that take elements at any distance from each other: where the data lives there,
// they get that memory itself, with its strides, even if neighbours along the last index lie apart.
const PinHome = ^Pin(0) - 1

// On returns op with its data pinned to a memory node, as PinTo says.
func (op Operand) On(node int) Operand {
	op.Pin = PinTo(node)
	return op
}

// Node returns the node; false: none was named.
func (p Pin) Node() (node int, ok bool) {
	if p == PinHome {
		return 0, true
	}
	return int(p) - 1, p != 0
}

// Main reports whether p is main memory.
func (p Pin) Main() bool { return p == Pin(1) || p == PinHome }

// how is how a buffer of the operand relates to the main instance.
func (op *Operand) how() layout {
	if op.Pin == PinHome {
		return inPlace
	}
	return op.Handle.how
}

// Why tells why data has no value.
type Why uint8

// Reasons for data to have no value.
const (
	hasValue     Why = iota
	NeverWritten     // nothing wrote it since it was registered
	Invalidated      // its value was invalidated
)

// Handle names a datum or a part of one. Its identity, shape and place never
// change. Its methods are safe for concurrent use. Programs may call all that are
// exported; those that only the engine may call are methods of Managed.
type Handle struct {
	// all that a plain submission looks at
	f0         *fragment // the only fragment, or nil; submission lock
	d          *Datum
	checkedGen checked // submission lock
	flags      uint8   // submission lock
	readOnly   bool
	how        layout
	kind       iface.Kind
	rank       int8
	empty      uint8 // bit k: axis k of the datum has no elements here, and one in the box
	elem       iface.Elem
	listed     bool        // frags is counted in Datum.listed; submission lock
	axes       axisList    // axes of the datum that the handle kept
	frags      []*fragment // submission lock; nil: to be looked for, see list

	id     int64
	dead   atomic.Pointer[death]
	owner  int // 1 + the rank that the program gave it, or what it is a part of; 0: none
	off    int // bytes from element 0 of the datum, in its main layout
	box    Box
	parent *Handle
	redux  *accumulator
	reduce *Reduction
	site   *Site
	extra  atomic.Pointer[extra] // nil for most parts
}

// extra is what few handles have: a view may have 100 000 parts, and what
// declaring one costs is their memory.
type extra struct {
	views  []*View // live views of the handle; guarded by the submission lock
	twin   *Handle // of an alias: the duplicate it stands for; fixed before it is used
	name   atomic.Pointer[string]
	labels labels

	through     atomic.Uint64 // nodes that get each new value; bit k is node k
	discardable atomic.Bool
	inCore      atomic.Bool // see SetOutOfCore
	ahead       ahead       // where there are other nodes
}

// more returns the extra of h, which it makes.
func (h *Handle) more() *extra {
	for {
		if x := h.extra.Load(); x != nil {
			return x
		}
		h.extra.CompareAndSwap(nil, new(extra))
	}
}

// views are the live views of h.
func (h *Handle) views(_ Submission) []*View {
	if x := h.extra.Load(); x != nil {
		return x.views
	}
	return nil
}

// twin is the duplicate that h, an alias, stands for, or nil.
func (h *Handle) twin() *Handle {
	if x := h.extra.Load(); x != nil {
		return x.twin
	}
	return nil
}

const (
	flagUnordered = 1 << iota // accesses through this handle have no order
	flagDead                  // dead is set
	flagResizable             // its data has a capacity
	flagFormats               // its data has other layouts, see SetFormats
)

// layout says how a buffer of a handle relates to the datum's main instance.
type layout uint8

const (
	inPlace layout = iota // strides of the main instance express it
	packed                // it needs an instance of its own
)

// choose finds out whether the main instance can express h: the last index of a buffer has neighbours side by side.
func (h *Handle) choose() {
	d := h.d
	if r := int(h.rank); r > 0 && h.dim(r-1) > 1 && d.stride.at(h.axes.at(r-1)) != 1 {
		h.how = packed
		d.setState(statePacked)
	}
}

// death says how a handle ended.
type death struct {
	at    *Site
	ended bool // its view ended; false: the datum was unregistered
}

// Desc returns the shape of the data, and its place in the root datum. That of an object has its
// footprint as Base.
func (h *Handle) Desc() iface.Desc {
	var d iface.Desc
	h.describe(&d)
	if o := h.d.object; o != nil {
		d.Base = int(o.footprint.Load())
	}
	return d
}

// describe is Desc. The description follows from the box, so handles do not keep it.
func (h *Handle) describe(out *iface.Desc) {
	d := h.d
	clearDesc(out, h.rank)
	out.Kind, out.Elem, out.Rank, out.Base = h.kind, h.elem, h.rank, 0
	if h == d.whole {
		for k := range int(h.rank) {
			out.Dim[k] = h.dim(k)
		}
		return
	}
	if t := h.twin(); t != nil {
		t.describe(out)
		return
	}
	var step [iface.MaxRank]int
	n := 1
	for a := int(d.rank) - 1; a >= 0; a-- {
		step[a] = n
		out.Base += h.first(a) * n
		n *= d.dim(a)
	}
	for k := range int(h.rank) {
		a := h.axes.at(k)
		out.Dim[k], out.Off[k], out.Step[k] = h.dim(k), h.first(a), step[a]
	}
}

// clearDesc makes all numbers of out zero, for data with rank indices. Those of the axes from near on are zero
// unless out is of data that has them, and stay so.
func clearDesc(out *iface.Desc, rank int8) {
	if out.Rank > near || rank > near {
		*out = iface.Desc{}
		return
	}
	*(*[near]int)(out.Dim[:]) = [near]int{}
	*(*[near]int)(out.Off[:]) = [near]int{}
	*(*[near]int)(out.Step[:]) = [near]int{}
}

// emptyPart reports whether h is a part without elements, such as rows of a sparse matrix that have no entries.
func (h *Handle) emptyPart() bool { return h.empty != 0 && h.parent != nil }

// Boxes have an element at least. That of an empty part must be none of its datum, else a task on the part would
// wait for tasks on the part that has the element. So along its empty axes it lies beyond the datum, by the
// datum's size: see Handle.first. Wide boxes have no room for such numbers and stay where they are.

// beyond returns where the box of a part of d that is empty along axis a begins there; at is where the part is.
func (d *Datum) beyond(a, at int) int {
	if d.box.wide() || d.whole.empty>>a&1 != 0 {
		return at
	}
	return d.box.to(a) + at
}

// first returns where h begins along axis a, empty parts, too.
func (h *Handle) first(a int) int {
	at := h.box.from(a)
	if h.empty>>a&1 != 0 {
		at -= h.d.beyond(a, 0)
	}
	return at
}

// space returns the box of h, moved to where h begins if h is an empty part.
func (h *Handle) space() Box {
	b := h.box
	for a := range int(h.d.rank) {
		if h.empty>>a&1 != 0 {
			b.set(a, h.first(a), h.first(a)+1)
		}
	}
	return b
}

// dim is the size along the k-th index of h.
func (h *Handle) dim(k int) int {
	a := h.axes.at(k)
	if h.empty>>a&1 != 0 {
		return 0
	}
	return h.box.length(a)
}

// bytes is the size of the elements of h.
func (h *Handle) bytes() int64 {
	if h.d.void {
		return 0
	}
	if h.kind == iface.Object {
		return h.d.weight()
	}
	n := int64(h.elem.Size())
	for k := range int(h.rank) {
		n *= int64(h.dim(k))
	}
	return n
}

// privateBytes is the size of private memory for all of h.
func (h *Handle) privateBytes() int64 {
	if o := h.d.object; o != nil {
		return o.size.Load()
	}
	return h.bytes()
}

// newMemory allocates private memory for all of h in main memory; freeMemory gives it back.
func (h *Handle) newMemory() (unsafe.Pointer, error) {
	if o := h.d.object; o != nil {
		return o.New(), nil
	}
	return h.d.reg.mem.Alloc(h.bytes())
}

func (h *Handle) freeMemory(p unsafe.Pointer) {
	if h.d.object == nil {
		h.d.reg.mem.Free(p, h.bytes())
	}
}

// Untyped returns h: typed handles of package engine, which have it embedded, give it
// that way.
func (h *Handle) Untyped() *Handle { return h }

// Owner returns the Owner of the registry that h is of.
func (h Managed) Owner() any { return h.d.reg.Owner }

// Type returns the kind and the element type of the data, NoElem for void data. It costs
// less than Desc.
func (h *Handle) Type() (iface.Kind, iface.Elem) { return h.kind, h.elem }

// ID returns a number that no other handle of the runtime has, from 1.
func (h *Handle) ID() int64 { return h.id }

// Name returns the name given last, "" for none.
func (h *Handle) Name() string {
	if x := h.extra.Load(); x != nil {
		if p := x.name.Load(); p != nil {
			return *p
		}
	}
	return ""
}

// SetName names the handle for messages and traces.
func (h *Handle) SetName(name string) { h.more().name.Store(&name) }

// Site returns where the handle was registered or its view declared; nil when unknown.
func (h *Handle) Site() *Site { return h.site }

// Place returns where in its datum h lies: the elements lo to hi, hi left out, on
// each axis of the datum. Axes that it does not have are 0 to 1, and so are those
// without elements.
func (h *Handle) Place() (lo, hi [iface.MaxRank]int) {
	b := h.space()
	n := b.axes()
	for k := range n {
		lo[k], hi[k] = b.at(k)
	}
	for k := n; k < len(hi); k++ {
		hi[k] = 1
	}
	return lo, hi
}

// Root returns the handle of the whole datum.
func (h *Handle) Root() *Handle { return h.d.whole }

// Parent returns the handle that was partitioned to make this one; nil for a
// whole datum.
func (h *Handle) Parent() *Handle { return h.parent }

// OwnerRank returns the rank, of several that run the program together, to which the program gave h: by Spec.Owner, or for a part by the
// ViewOptions.Grid of its view, or else the rank of what it is a part of. It may be above the number of ranks, as it is meant modulo that.
// ok is false, and rank -1, if the program gave it to none: the ranks deal it themselves.
func (h *Handle) OwnerRank() (rank int, ok bool) { return h.owner - 1, h.owner > 0 }

// ReadOnly reports whether the owner of the data forbids writing it.
func (h *Handle) ReadOnly() bool { return h.readOnly }

// Strides returns the distance between neighbours along each index in main memory, in
// elements. The last is 1 for lines that are contiguous there, and for those of at most
// one element.
func (h *Handle) Strides() (step [iface.MaxRank]int) {
	for k := range int(h.rank) {
		step[k] = h.d.stride.at(h.axes.at(k))
	}
	if r := h.rank; r > 0 && h.dim(int(r)-1) <= 1 {
		step[r-1] = 1
	}
	return step
}

// Home reports whether the data lives in memory that the program supplied, in main memory or on a device.
func (h *Handle) Home() bool {
	return h.d.home && h.d.block == nil || h.d.deviceHome != nil && h.d.deviceHome.given
}

// Reduction returns the reduction of the data, or nil.
func (h *Handle) Reduction() *Reduction {
	sub := h.d.reg.Lock()
	defer sub.Unlock()
	return h.reduce
}

// Alive reports whether tasks may be submitted with h: its datum was not
// unregistered and its view has not ended.
func (h *Handle) Alive() bool { return h.dead.Load() == nil }

// die makes h dead.
func (h *Handle) die(sub Submission, why *death) {
	h.dead.CompareAndSwap(nil, why)
	h.flags |= flagDead
	h.unlist(sub)
}

// Death returns where h ended, and whether because its view ended; ok is false
// while h is alive.
func (h *Handle) Death() (at *Site, viewEnded, ok bool) {
	d := h.dead.Load()
	if d == nil {
		return nil, false, false
	}
	return d.at, d.ended, true
}

// Overlaps reports whether h and o share elements. Void data overlaps itself.
func (h *Handle) Overlaps(o *Handle) bool {
	return h.d == o.d && (h == o || h.box.touches(&o.box))
}

// Within reports whether all elements of h are elements of o.
func (h *Handle) Within(o *Handle) bool {
	return h.d == o.d && (h == o || o.box.has(&h.box))
}

// Same reports whether h and o name the same elements in the same order.
func (h *Handle) Same(o *Handle) bool {
	return h.d == o.d && h.box == o.box && h.axes == o.axes && h.rank == o.rank
}

// Initialised reports whether every element has a value, as of what was
// submitted. Void data always has.
func (h *Handle) Initialised() bool {
	sub := h.d.reg.Lock()
	defer sub.Unlock()
	return sub.Initialised(h)
}

// Initialised is Handle.Initialised for a caller that holds the lock.
func (sub Submission) Initialised(h *Handle) bool {
	if managed(h).Shared(sub) != nil {
		return true
	}
	for _, f := range h.list(sub) {
		if !f.valued(sub) {
			return false
		}
	}
	return true
}

// InitialisedPart is Initialised for the elements lo ≤ i < hi. Only the indices of h's
// dimensions are used. A range that is empty or outside counts as initialised.
func (h *Handle) InitialisedPart(lo, hi [iface.MaxRank]int) bool {
	b := h.box
	for k := range int(h.rank) {
		a := h.axes.at(k)
		first, end := h.box.at(a)
		from, to := first+max(0, lo[k]), min(end, first+hi[k])
		if from >= to {
			return true
		}
		b.set(a, from, to)
	}
	sub := h.d.reg.Lock()
	defer sub.Unlock()
	ok := true
	if managed(h).Shared(sub) != nil {
		return true
	}
	h.d.root.leaves(&b, func(f *fragment) { ok = ok && f.valued(sub) })
	return ok
}

// Views returns the views of h that were declared and have not ended.
func (h *Handle) Views() []*View {
	sub := h.d.reg.Lock()
	defer sub.Unlock()
	return append([]*View(nil), h.views(sub)...)
}

// Fragments returns the number of pieces that all views cut h into: the number
// of accesses that a task with this operand registers.
func (h *Handle) Fragments() int {
	sub := h.d.reg.Lock()
	defer sub.Unlock()
	return len(h.list(sub))
}

// SetUnordered says whether accesses through h, by tasks submitted from now on,
// have no order with other tasks. They still exclude those that conflict. Parts
// declared later inherit it.
func (h *Handle) SetUnordered(on bool) {
	sub := h.d.reg.Lock()
	defer sub.Unlock()
	h.flags &^= flagUnordered
	if on {
		h.flags |= flagUnordered
	}
}

// Unordered reports whether accesses through h have no order by default.
func (h *Handle) Unordered() bool {
	sub := h.d.reg.Lock()
	defer sub.Unlock()
	return sub.Unordered(h)
}

// Unordered is Handle.Unordered for a caller that holds the lock.
func (Submission) Unordered(h *Handle) bool { return h.flags&flagUnordered != 0 }

// Content: how much of data with a capacity is in use. Memory, order and copies are those of
// the capacity, so views and fragments know nothing of the content. Kernels and the program see
// the elements of the content only: their buffers are cut to it.

// Resizable reports whether h was registered with a capacity, or is a part of such data:
// tasks may change the sizes of its content. Desc describes the capacity then.
func (h *Handle) Resizable() bool { return h.d.content.Load() != nil }

// Content is Desc with the sizes of the content, for data with a capacity: those that a task set
// last, which may still run. A program that wants the sizes after the tasks submitted so far
// waits for those, or acquires the data. For other data it is Desc.
func (h *Handle) Content() iface.Desc {
	d := h.Desc()
	h.trim(&d)
	return d
}

// trim cuts d, which describes h, to the content.
func (h *Handle) trim(d *iface.Desc) {
	c := h.d.content.Load()
	if c == nil {
		return
	}
	d.Base, d.Step = d.Number() // elements keep their numbers
	out := false                // h is picked from beyond the content
	for a := range c.dim {
		out = out || h.first(a) >= c.dim[a]
	}
	for k := range int(h.rank) {
		a := h.axes.at(k)
		d.Dim[k] = min(d.Dim[k], max(0, c.dim[a]-h.first(a)))
	}
	if out && h.rank > 0 {
		d.Dim[0] = 0
	}
}

// Beyond returns an operand that is one element, picked from beyond the content of its
// data, or -1.
func Beyond(ops []Operand) int {
	for i := range ops {
		h := ops[i].Handle
		c := h.d.content.Load()
		if c == nil || h.rank > 0 || ops[i].Mode == modeScratch {
			continue
		}
		for a := range c.dim {
			if h.box.from(a) >= c.dim[a] {
				return i
			}
		}
	}
	return -1
}

// Resize sets the sizes of the content, for task order of a job, or for the program if by is nil.
// The caller has the right to write all of h. Errors say what is wrong, and what to do.
func (h Managed) Resize(dims []int, by any, order int64) error {
	d := h.d
	old := d.content.Load()
	room := d.whole.Desc()
	switch {
	case old == nil:
		return fmt.Errorf("the size of %v is fixed; register the data with a capacity", &room)
	case h.Handle != d.whole:
		return fmt.Errorf("a part cannot change the size of its data; pass the whole")
	case len(dims) != int(d.rank):
		return fmt.Errorf("a %v has %d sizes, and %d were given", d.kind, d.rank, len(dims))
	}
	for k, n := range dims {
		if n < 0 || n > room.Dim[k] {
			return fmt.Errorf("%s is not within the capacity, which is %s", sizes(dims), sizes(room.Shape()))
		}
	}
	c := &content{dim: slices.Clone(dims), by: by, order: order}
	if by != nil {
		c.before = old
		if old.by == by && old.order == order { // the task has set it before
			c.before = old.before
		} else if old.before != nil {
			c.before = &content{dim: old.dim}
		}
	}
	d.content.Store(c)
	return nil
}

func sizes(dims []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(dims), "[]"), " ", " x ")
}

// Restore undoes what task order of a job has done by Resize to its operands.
func Restore(ops []Operand, by any, order int64) {
	for i := range ops {
		h := ops[i].Handle
		if h == nil {
			continue
		}
		if c := h.d.content.Load(); c != nil && c.by == by && c.order == order && c.before != nil {
			h.d.content.Store(c.before)
		}
	}
}

// Values that a program attaches to a handle; the engine does not use them.

// labels are immutable values, each replaced as a whole.
type labels struct {
	user   atomic.Pointer[any]
	coords atomic.Pointer[[]int]
}

// SetUserData attaches v to the handle, instead of what was attached before. The
// engine only keeps it; parts declared later do not inherit it.
func (h *Handle) SetUserData(v any) { h.more().labels.user.Store(&v) }

// UserData returns what SetUserData attached last; nil for nothing.
func (h *Handle) UserData() any {
	if x := h.extra.Load(); x != nil {
		if p := x.labels.user.Load(); p != nil {
			return *p
		}
	}
	return nil
}

// SetCoordinates says where the handle lies in a grid of the program's, for
// traces and for policies that look at it.
func (h *Handle) SetCoordinates(at ...int) {
	at = slices.Clone(at)
	h.more().labels.coords.Store(&at)
}

// Coordinates returns what SetCoordinates was given last; nil for nothing. The
// caller owns the slice.
func (h *Handle) Coordinates() []int {
	if x := h.extra.Load(); x != nil {
		if p := x.labels.coords.Load(); p != nil {
			return slices.Clone(*p)
		}
	}
	return nil
}

// Where a program did something.

// Site is a place in a program, such as one insert statement. It is plain data
// that the data manager and the engine carry around and hand back in errors.
// A site is made once, shared by everything done there, and never changed.
type Site struct {
	File      string
	Line, Col int      // from 1; 0 when unknown
	VarNames  []string // names of the values in Origin.Vars
	Data      any      // whatever the owner of the program wants back
}

// String writes the site as "file:line:col"; "" for nil.
func (s *Site) String() string {
	switch {
	case s == nil:
		return ""
	case s.Line == 0:
		return s.File
	case s.Col == 0:
		return fmt.Sprintf("%s:%d", s.File, s.Line)
	}
	return fmt.Sprintf("%s:%d:%d", s.File, s.Line, s.Col)
}

// Managed: handles as package engine uses them.

// Managed is a handle with the methods that only package engine calls: they manage memory,
// contributions and the order of accesses. Most need the submission lock or a running task
// that uses the data, and none of them checks that. Programs hold a [Handle], and no
// method of it returns a Managed. It is one word; making one costs nothing.
type Managed struct{ *Handle }

// managed returns h with the methods of the engine.
func managed(h *Handle) Managed { return Managed{h} }

// Datum returns what h names a part of.
func (h Managed) Datum() *Datum { return h.d }

// Own describes memory p that holds all of h and nothing else.
func (h Managed) Own(p unsafe.Pointer, b *iface.Buffer) {
	b.Ptr = p
	h.describe(&b.Desc)
	b.Stride = [iface.MaxRank]int{}
	s := 1
	for k := int(h.rank) - 1; k >= 0; k-- {
		b.Stride[k] = s
		s *= b.Dim[k]
	}
}

// Object returns how h is handled, if it is an object; else nil.
func (h Managed) Object() *Object {
	if o := h.d.object; o != nil {
		return o.Object
	}
	return nil
}

// Layout returns the layout of h, if it is of kind Arrays; else nil.
func (h Managed) Layout() *Layout { return h.d.layout }

// CopyObject copies the value of an object, both buffers being of objects of its type, by Copy or
// by Pack and Unpack. The destination keeps its value after an error.
func (h Managed) CopyObject(dst, src *iface.Buffer) error {
	o := h.d.object
	fresh := o.New()
	if err := o.duplicate(fresh, src.Ptr); err != nil {
		return err
	}
	o.Assign(dst.Ptr, fresh)
	return nil
}

// PackObject returns the value in b, which is all of h, as bytes.
func (h Managed) PackObject(b *iface.Buffer) ([]byte, error) { return h.d.object.bytes(b.Ptr) }

// UnpackObject returns a variable with the value that data is.
func (h Managed) UnpackObject(data []byte) (unsafe.Pointer, error) {
	o := h.d.object
	p := o.New()
	return p, o.call("unpack", func() error { return o.Unpack(p, data) })
}

// Scratch returns memory for a SCRATCH operand, which is an object.
func (h Managed) Scratch() unsafe.Pointer { return h.d.object.New() }

// Clear gives the object in b its zero value.
func (h Managed) Clear(b *iface.Buffer) { h.d.object.Assign(b.Ptr, h.d.object.New()) }

// Measure notes the footprint of the object in b, which nothing writes.
func (h Managed) Measure(b *iface.Buffer) {
	o := h.d.object
	if o.Footprint == nil || b.Ptr == nil {
		return
	}
	_ = o.call("measure", func() error { // without a footprint it keeps the one it had
		o.footprint.Store(o.Footprint(b.Ptr))
		return nil
	})
}

// Valued returns the boxes of h, a whole datum, that have a value, as of what was submitted: for each axis the
// first index and the index behind the last. all says that they are all of it.
func (h Managed) Valued() (boxes [][2][iface.MaxRank]int, all bool) {
	sub := h.d.reg.Lock()
	defer sub.Unlock()
	if h.Shared(sub) != nil || h.d.void {
		return nil, true
	}
	all = true
	h.d.root.leaves(&h.box, func(f *fragment) {
		if !f.valued(sub) {
			all = false
			return
		}
		var b [2][iface.MaxRank]int
		for k := range int(h.rank) {
			b[0][k], b[1][k] = f.box.at(h.axes.at(k))
		}
		boxes = append(boxes, b)
	})
	return boxes, all
}
