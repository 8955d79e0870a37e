package datamgr

// Pools: what all who use a memory have in common.
//
// Two runtimes may use one device, and then share its memory: they look for room in
// one order, wait for each other's tasks, and evict what neither uses.
//
// Freed blocks are kept for those who need just as much: a driver takes long to
// allocate and to free, and may wait for everything that runs there. They count as
// free, and go back when there is not enough of the right size.

import (
	"errors"
	"slices"
	"sync"
	"unsafe"

	"github.com/starpush/starpush/accel"
)

// keepPart bounds what is kept: a part of the memory, so many of which are the whole.
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
		changes uint64      // what may make room: instances that nobody uses any more, memory given back
		uses    int64       // a clock: counts the tasks that got instances
		last    uint64      // ticket given out last
		turn    uint64      // ticket whose owner looks for room
		hungry  bool        // who waits for something to change

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

// free is that of the pool, but a lost device's memory is nobody's any more.
func (n *node) free(at unsafe.Pointer, bytes int64) {
	if n.lost.Load() != nil {
		n.mem.Free(at, bytes)
		return
	}
	n.pool.free(at, bytes)
}

// giveBack frees so many bytes of what was kept, or all there is, the largest blocks
// first. It reports whether there were any.
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
