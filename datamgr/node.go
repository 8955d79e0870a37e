package datamgr

// Nodes: the memories where copies of data can be, and the order in which tasks get room
// there.
//
// On a bounded node a task gets all its memory at once, before it fetches anything, so no
// two tasks ever wait for each other's. All nodes are bounded but main memory without a
// disk, and the disk. Only one task at a time, in the order in which they came, looks for
// room and evicts idle instances: no stream of small tasks can overtake a large one for
// ever. It waits for tasks that have all they need, or for copies; both end by
// themselves.

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/starpush/starpush/accel"
)

// node is one memory. That of number 0 is main memory. Unless there is a disk where
// data goes for which it has no room, it is not bounded by eviction, nor is the
// disk: their lists and counts are not used.
type node struct {
	id      int
	bounded bool // tasks wait for room here, and idle instances are evicted
	mem     accel.Memory
	dev     accel.Device // whose streams copy from and to it; nil for main memory
	links   []*link      // to each node, itself included; fixed before data is registered
	stop    *node        // main memory, where bytes stop on their way if there is no direct one
	streams streams
	lost    atomic.Pointer[accel.LostError] // the device is lost: nothing is there any more
	evicted struct{ times, bytes atomic.Int64 }
	needed  atomic.Int64 // bytes that had to come here
	busy    meter
	*pool   // mu is its
}

func newNode(id int, mem accel.Memory, dev accel.Device) *node {
	n := &node{id: id, bounded: id > 0, mem: mem, dev: dev, links: []*link{{}}, pool: poolOf(mem, dev != nil)}
	n.stop = n
	return n
}

// AddNode makes the memory of a device known and returns its number; before data
// is registered only. Main memory, which NewRegistry was given, has number 0.
func (g *Registry) AddNode(dev accel.Device) int {
	for _, n := range g.nodes {
		if n.mem == dev.Memory() {
			return n.id
		}
	}
	new := newNode(len(g.nodes), dev.Memory(), dev)
	new.stop = g.nodes[0]
	new.links = nil
	for _, n := range g.nodes {
		n.links = append(n.links, &link{way: unmeasured})
		new.links = append(new.links, &link{way: unmeasured})
	}
	new.links = append(new.links, &link{})
	g.nodes = append(g.nodes, new)
	return new.id
}

// NumNodes returns how many memories are known.
func (g *Registry) NumNodes() int { return len(g.nodes) }

// enter waits for the caller's turn to look for room on n.
func (n *node) enter() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.last++
	for t := n.mu.last; n.mu.turn != t; {
		n.mu.wake.Wait()
	}
}

// tryEnter is enter for those who would rather do without.
func (n *node) tryEnter() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mu.turn != n.mu.last+1 {
		return false
	}
	n.mu.last++
	return true
}

// leave ends the caller's turn.
func (n *node) leave() {
	n.mu.Lock()
	n.mu.turn++
	n.mu.hungry = false
	n.mu.wake.Broadcast()
	n.mu.Unlock()
}

// hungry reports whether the task whose turn it is waits for memory to become free.
func (n *node) hungry() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.hungry
}

// seen returns n.mu.changes. A caller takes it before it looks for memory, and passes it to
// waits, which so misses no change.
func (n *node) seen() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.changes
}

// evict makes room by evicting one idle instance, after saving values without another
// copy in main memory. It reports false if there is none, or none that could be saved.
// The caller's turn.
func (n *node) evict() (bytes int64, done bool) { return n.evictOf(nil) }

// evictOf is evict for data of one registry; nil: of all that share the memory.
func (n *node) evictOf(g *Registry) (bytes int64, done bool) {
	n.unsaved = nil
	done = n.going(g, func(in *instance, clean bool) bool {
		if !in.d.evict(in, !clean) {
			return false
		}
		bytes = in.bytes // which nothing changes any more
		return true
	})
	return bytes, done
}

// makeRoom evicts something for a task. The caller's turn.
func (n *node) makeRoom() bool {
	bytes, done := n.evict()
	if done {
		n.evicted.times.Add(1)
		n.evicted.bytes.Add(bytes)
	}
	return done
}

// MakeRoom evicts idle instances from a bounded node until bytes of its memory are free, or none is left
// that can go. It returns how many are free then.
func (g *Registry) MakeRoom(node int, bytes int64) int64 {
	n := g.nodes[node]
	n.enter()
	defer n.leave()
	for n.room() < bytes && n.makeRoom() {
	}
	return n.room()
}

// trim evicts idle instances from main memory while objects that have grown take more than there is.
// If it is not the caller's turn, the goroutine that looks for room does that.
func (n *node) trim() {
	if n.bounded && n.room() < 0 && n.tryEnter() {
		for n.room() < 0 && n.makeRoom() {
		}
		n.leave()
	}
}

// Evicted returns how often something was taken away from a node so that a task
// had room there, and how many bytes that were.
func (g *Registry) Evicted(node int) (times, bytes int64) {
	n := g.nodes[node]
	return n.evicted.times.Load(), n.evicted.bytes.Load()
}

// evict removes in if it is idle and, unless dirty is set, nothing has to be saved. It
// reports whether it did.
func (d *Datum) evict(in *instance, dirty bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if in.gone || in.pins > 0 || in.leaving {
		return false
	}
	if !dirty && d.onlyInLocked(in) != nil {
		return false
	}
	in.leaving = true // searches skip it from now on
	for {
		f := d.onlyInLocked(in)
		switch {
		case f == nil && in.pins == 0:
			d.removeLocked(in)
			d.mu.wake.Broadcast()
			return true
		case f == nil || f.arriving != 0: // a copy from it is under way, which ends by itself
			d.mu.wake.Wait()
		default:
			err := d.saveLocked(f, in)
			if err == nil {
				continue
			}
			in.node.unsaved = err
			in.leaving = false // what it holds is nowhere else
			d.uselessLocked(in)
			d.mu.wake.Broadcast()
			return in.gone
		}
	}
}

// onlyInLocked returns a fragment that is valid in in only, or nil: one that is
// not being copied elsewhere, if there is one.
func (d *Datum) onlyInLocked(in *instance) (only *fragment) {
	bit := uint64(1) << in.layer
	d.root.leaves(&in.box, func(f *fragment) {
		if f.valid == bit && in.box.has(&f.box) && (only == nil || only.arriving != 0) {
			only = f
		}
	})
	return only
}

// CloseNodes copies the program's data back to its memory, and frees the memory and the
// streams of nodes. Data must not be in use any more. It returns how many bytes could not
// be saved, and why.
func (g *Registry) CloseNodes() (bytes int64, err error) {
	for _, n := range g.nodes {
		if n.bounded {
			g.forget(n)
		}
	}
	for _, n := range g.nodes {
		if n.bounded {
			b, e := g.closeHomes(n)
			if bytes += b; err == nil {
				err = e
			}
		}
	}
	for _, n := range g.nodes {
		if n.bounded {
			n.enter()
			for _, more := n.evictOf(g); more; _, more = n.evictOf(g) {
			}
			b, e := g.abandon(n) // other registries that share the memory do not try meanwhile
			n.leave()
			if bytes += b; err == nil {
				err = e
			}
		}
	}
	for _, n := range g.nodes[1:] {
		n.closeStreams()
		n.pool.close()
	}
	return bytes, err
}

// Pools: the state that all registries with one memory share.
//
// Two runtimes may use one device, and then share its memory: they look for room in one
// order, wait for each other's tasks, and evict what neither uses.
//
// Freed blocks are kept for later requests of the same size: a driver takes long to
// allocate and to free, and may wait for everything that runs there. They count as free,
// and go back when there is not enough of the right size.

// keepPart bounds the freed blocks that are kept: 1/keepPart of the memory.
const keepPart = 4

// pool is the memory of a node, as all registries see it that have it.
type pool struct {
	of      accel.Memory
	shared  bool
	users   int   // registries; guarded by the lock of pools
	unsaved error // of the last eviction; belongs to whose turn it is
	mu      struct {
		sync.Mutex
		wake    *sync.Cond  // the turn, or changes
		insts   []*instance // of all data
		pinned  int         // how many of them are in use, but for those that only the program holds
		private int         // tasks that have private memory
		changes uint64      // events that may make room: idle instances, freed memory
		uses    int64       // a clock: counts the tasks that got instances
		last    uint64      // ticket given out last
		turn    uint64      // ticket whose owner looks for room
		hungry  bool        // the task whose turn it is waits for memory to become free

		kept      map[int64][]unsafe.Pointer // freed blocks, by size
		keptBytes int64
	}
}

// pools are those of memories that may be shared.
var pools struct {
	sync.Mutex
	of map[accel.Memory]*pool
}

// poolOf returns the pool of a memory, which is shared if others may use it, too.
func poolOf(mem accel.Memory, shared bool) *pool {
	pools.Lock()
	defer pools.Unlock()
	p := pools.of[mem]
	if !shared || p == nil {
		p = &pool{of: mem, shared: shared}
		p.mu.wake = sync.NewCond(&p.mu.Mutex)
		p.mu.turn = 1
		p.mu.kept = map[int64][]unsafe.Pointer{}
		if shared {
			if pools.of == nil {
				pools.of = map[accel.Memory]*pool{}
			}
			pools.of[mem] = p
		}
	}
	p.users++
	return p
}

// close says that a registry does not use p any more.
func (p *pool) close() {
	pools.Lock()
	p.users--
	last := p.users == 0
	if last && pools.of[p.of] == p {
		delete(pools.of, p.of)
	}
	pools.Unlock()
	if last {
		p.giveBack(1<<63 - 1)
	}
}

// room is how many bytes are free, those that are kept included.
func (p *pool) room() int64 { return p.of.Capacity() - p.of.Allocated() + p.keptBytes() }

func (p *pool) keptBytes() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.keptBytes
}

// alloc allocates memory: a block that was kept, if there is one of that size.
func (p *pool) alloc(bytes int64) (unsafe.Pointer, error) {
	if at := p.reuse(bytes); at != nil {
		return at, nil
	}
	p.giveBack(bytes - (p.of.Capacity() - p.of.Allocated()))
	at, err := p.of.Alloc(bytes)
	var full *accel.NoMemoryError
	if errors.As(err, &full) && p.giveBack(1<<63-1) {
		at, err = p.of.Alloc(bytes)
	}
	return at, err
}

// reuse returns a block of that size that was kept, or nil.
func (p *pool) reuse(bytes int64) unsafe.Pointer {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.mu.kept[bytes]
	if len(list) == 0 {
		return nil
	}
	at := list[len(list)-1]
	if list = list[:len(list)-1]; len(list) == 0 {
		delete(p.mu.kept, bytes)
	} else {
		p.mu.kept[bytes] = list
	}
	p.mu.keptBytes -= bytes
	return at
}

// free gives memory back, or keeps it.
func (p *pool) free(at unsafe.Pointer, bytes int64) {
	if p.shared && bytes > 0 {
		p.mu.Lock()
		if p.mu.keptBytes+bytes <= p.of.Capacity()/keepPart {
			p.mu.kept[bytes] = append(p.mu.kept[bytes], at)
			p.mu.keptBytes += bytes
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
	}
	p.of.Free(at, bytes)
}

// free is pool.free, except that the blocks of a lost device are not kept.
func (n *node) free(at unsafe.Pointer, bytes int64) {
	if n.lost.Load() != nil {
		n.mem.Free(at, bytes)
		return
	}
	n.pool.free(at, bytes)
}

// giveBack frees kept blocks until the given bytes are free, the largest first. It
// reports whether there were any.
func (p *pool) giveBack(bytes int64) (some bool) {
	for bytes > 0 {
		p.mu.Lock()
		largest := int64(0)
		for size := range p.mu.kept {
			largest = max(largest, size)
		}
		p.mu.Unlock()
		if largest == 0 {
			break
		}
		if at := p.reuse(largest); at != nil {
			p.of.Free(at, largest)
			bytes -= largest
			some = true
		}
	}
	return some
}

// instancesOf returns what g has on n.
func (n *node) instancesOf(g *Registry) []*instance {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(n.mu.insts), func(in *instance) bool { return in.d.reg != g })
}

// Kept returns how many bytes of a node are allocated and not in use.
func (g *Registry) Kept(node int) int64 { return g.nodes[node].keptBytes() }

// Statistics of copies: the least bytes that had to travel, and how long copies went on
// while no kernel ran.

// hadMain is the mark of main memory.
const hadMain = 1

// mark is the bit of n in fragment.had. There is room for the marks of sixteen
// memories: those from the sixteenth on share one, and what was on one of them counts as
// needed once for all of these.
func (n *node) mark() uint16 { return 1 << min(n.id, 15) }

// needLocked notes that a task reads f on n. A value must reach each memory where
// tasks read it once, unless it was made there: what is copied beyond that had been
// evicted, or stopped in main memory on its way.
func (d *Datum) needLocked(f *fragment, n *node) {
	if m := n.mark(); f.had&m == 0 {
		f.had |= m
		n.needed.Add(d.bytesOf(&f.box))
	}
}

// meter measures how long copies from or to a node were under way, and for how much
// of that kernels ran there.
type meter struct {
	mu struct {
		sync.Mutex
		copies, kernels int // under way
		since           time.Time
		copying, hidden time.Duration // up to since
	}
}

// change notes that copies and kernels begin, or end.
func (m *meter) change(now time.Time, copies, kernels int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.countLocked(now)
	m.mu.copies += copies
	m.mu.kernels += kernels
}

func (m *meter) countLocked(now time.Time) {
	if d := now.Sub(m.mu.since); m.mu.copies > 0 && d > 0 {
		m.mu.copying += d
		if m.mu.kernels > 0 {
			m.mu.hidden += d
		}
	}
	m.mu.since = now
}

// OnCopy sets a function that is called for each copy: bytes are 0 for one that failed,
// and data is the whole datum, nil for private memory. Call OnCopy before data is
// registered.
func (g *Registry) OnCopy(fn func(from, to int, bytes int64, data *Handle, begin, end time.Time)) {
	g.onCopy = fn
}

// watch is called when a copy begins. Call the function that it returns when the copy has
// ended, with the bytes that were copied.
func (g *Registry) watch(to, from *node, d *Datum) func(bytes int64) {
	begin := time.Now()
	change := func(now time.Time, by int) {
		if to == from {
			return // within one memory
		}
		for _, n := range []*node{to, from} {
			if n.bounded {
				n.busy.change(now, by, 0)
			}
		}
	}
	change(begin, 1)
	return func(bytes int64) {
		now := time.Now()
		change(now, -1)
		if g.onCopy != nil {
			var whole *Handle
			if d != nil {
				whole = d.whole
			}
			g.onCopy(from.id, to.id, bytes, whole, begin, now)
		}
		if bytes > 0 {
			from.links[to.id].add(bytes, now.Sub(begin))
		}
	}
}

// KernelBegins says that a kernel begins to run on a node; KernelEnds that it has
// ended.
func (g *Registry) KernelBegins(node int) { g.nodes[node].busy.change(time.Now(), 0, 1) }

// KernelEnds is the end of what KernelBegins began.
func (g *Registry) KernelEnds(node int) { g.nodes[node].busy.change(time.Now(), 0, -1) }

// Flow counts the copies to and from a node.
type Flow struct {
	Needed int64 // bytes that had to come, each value once; Traffic tells what did come
	// Copying is how long at least one copy from or to the node was under way, and
	// Hidden for how much of that a kernel ran there; of nodes that are not bounded neither is known.
	Copying, Hidden time.Duration
}

// Flow returns what copies to and from a node were good for, up to now.
func (g *Registry) Flow(on int) Flow {
	n := g.nodes[on]
	n.busy.mu.Lock()
	defer n.busy.mu.Unlock()
	n.busy.countLocked(time.Now())
	return Flow{Needed: n.needed.Load(), Copying: n.busy.mu.copying, Hidden: n.busy.mu.hidden}
}
