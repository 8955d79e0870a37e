package datamgr

// Nodes: the memories where copies of data can be, and who gets room there.
//
// On a bounded node a task gets all its memory at once, before it fetches anything, so
// no two tasks ever wait for each other's. All nodes are bounded but main memory
// without a disk, and the disk. Only one task at a time, in the order in which they
// came, looks for room and evicts what nobody uses: no stream of small tasks can
// overtake a large one for ever. Whoever waits for room waits for tasks that have all
// they need, or for copies; both end by themselves.

import (
	"sync/atomic"

	"github.com/starpush/starpush/accel"
)

// node is one memory. That of number 0 is main memory. Unless there is a disk where
// data goes for which it has no room, it is not bounded by eviction, nor is the
// disk: their lists and counts are not used.
type node struct {
	id      int
	bounded bool // tasks wait for room here, and what nobody uses is evicted
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

// hungry reports whether the one whose turn it is waits for something to change.
func (n *node) hungry() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.hungry
}

// seen returns how often something has changed: taken before the caller looks at what
// may change.
func (n *node) seen() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.changes
}

// evict makes room by taking away one instance that nobody uses. What it alone holds
// goes to main memory first. False: there is none, or none whose content could be
// saved. The caller's turn.
func (n *node) evict() (bytes int64, done bool) { return n.evictOf(nil) }

// evictOf is evict for data of one registry; nil: of all that share the memory.
func (n *node) evictOf(g *Registry) (bytes int64, done bool) {
	n.unsaved = nil
	done = n.going(g, func(in *instance, clean bool) bool {
		bytes = in.bytes
		return in.d.evict(in, !clean)
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

// Evicted returns how often something was taken away from a node so that a task
// had room there, and how many bytes that were.
func (g *Registry) Evicted(node int) (times, bytes int64) {
	n := g.nodes[node]
	return n.evicted.times.Load(), n.evicted.bytes.Load()
}

// evict takes in away, if nobody uses it and, unless dirty is set, nothing has
// to be saved. It reports whether it did.
func (d *Datum) evict(in *instance, dirty bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if in.gone || in.pins > 0 || in.leaving {
		return false
	}
	if !dirty && d.onlyInLocked(in) != nil {
		return false
	}
	in.leaving = true // nobody finds it any more
	for {
		f := d.onlyInLocked(in)
		switch {
		case f == nil && in.pins == 0:
			d.removeLocked(in)
			d.mu.wake.Broadcast()
			return true
		case f == nil || f.arriving != 0: // somebody copies from it: that ends by itself
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
func (d *Datum) onlyInLocked(in *instance) (only *Fragment) {
	bit := uint64(1) << in.layer
	d.root.leaves(&in.box, func(f *Fragment) {
		if f.valid == bit && in.box.has(&f.box) && (only == nil || only.arriving != 0) {
			only = f
		}
	})
	return only
}

// CloseNodes brings what only other nodes hold of the program's memory there, and
// gives the memory and the streams of nodes back. Nobody uses data any more. It
// returns how many bytes could not be saved, and why.
func (g *Registry) CloseNodes() (bytes int64, err error) {
	for _, n := range g.nodes {
		if n.bounded {
			g.forget(n)
		}
	}
	for _, n := range g.nodes {
		if n.bounded {
			n.enter()
			for _, more := n.evictOf(g); more; _, more = n.evictOf(g) {
			}
			b, e := g.abandon(n) // others who share the memory do not try meanwhile
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
