package datamgr

// What copies cost: the bytes that had to travel at least, and how long copies went
// on while no kernel ran.

import (
	"sync"
	"time"
)

// hadMain is the mark of main memory.
const hadMain = 1

// mark is the bit of n in Fragment.had. There is room for the marks of sixteen
// memories: those from the sixteenth on share one, and what was on one of them counts as
// needed once for all of these.
func (n *node) mark() uint16 { return 1 << min(n.id, 15) }

// needLocked notes that a task reads f on n. A value must reach each memory where
// tasks read it once, unless it was made there: what is copied beyond that had been
// evicted, or stopped in main memory on its way.
func (d *Datum) needLocked(f *Fragment, n *node) {
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

// OnCopy sets what is told of each copy: bytes are 0 for one that failed, and data is
// the whole datum, nil for private memory. Before data is registered.
func (g *Registry) OnCopy(fn func(from, to int, bytes int64, data *Handle, begin, end time.Time)) {
	g.onCopy = fn
}

// watch is called when a copy begins. What it returns is called when it has ended,
// with the bytes that were copied.
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

// Flow is what copies to and from a node were good for.
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
