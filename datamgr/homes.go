package datamgr

// Memory of the program: what addresses registered data takes, which data lives where, and
// whether two share bytes.

import (
	"math/bits"
	"slices"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
)

// Extent is the memory that data of the program takes: runs of adjacent bytes, at equal
// distances along each index.
type Extent struct {
	First, End uintptr // the address of the first byte, and that behind the last one
	run        uintptr // bytes that lie side by side
	axes       []axis  // of runs, the slowest first; nil if all bytes lie side by side
}

// axis is count runs, step bytes apart.
type axis struct{ count, step uintptr }

// extentOf is the memory of data of the given strides whose first element is at p; it is empty
// if there is none.
func extentOf(p unsafe.Pointer, d *iface.Desc, stride *[iface.MaxRank]int) Extent {
	if p == nil || d.Len() == 0 {
		return Extent{}
	}
	size := d.Elem.Size()
	e := Extent{First: uintptr(p), run: size}
	last := int(d.Rank) - 1
	for ; last >= 0 && uintptr(stride[last])*size == e.run; last-- { // elements, and then lines, without gaps
		e.run *= uintptr(d.Dim[last])
	}
	e.End = e.First + e.run
	for k := range last + 1 {
		if d.Dim[k] == 1 {
			continue
		}
		a := axis{uintptr(d.Dim[k]), uintptr(stride[k]) * size}
		e.axes = append(e.axes, a)
		e.End += (a.count - 1) * a.step
	}
	return e
}

// runs is the number of runs.
func (e *Extent) runs() uintptr {
	n := uintptr(1)
	for _, a := range e.axes {
		n *= a.count
	}
	return n
}

// at is the address of run i.
func (e *Extent) at(i uintptr) uintptr {
	p := e.First
	for _, a := range slices.Backward(e.axes) {
		p += i % a.count * a.step
		i /= a.count
	}
	return p
}

// Shares reports whether two data have bytes in common. Blocks of columns of one matrix lie
// between each other, and have none.
func (e *Extent) Shares(o *Extent) bool {
	switch {
	case e.End <= o.First || o.End <= e.First:
		return false
	case len(e.axes) == 0 && len(o.axes) == 0:
		return true
	case len(e.axes) == 1 && len(o.axes) == 1 && e.axes[0].step == o.axes[0].step:
		return e.sharesRows(o)
	}
	for i, k, n, m := uintptr(0), uintptr(0), e.runs(), o.runs(); i < n && k < m; {
		x, y := e.at(i), o.at(k)
		switch {
		case x+e.run <= y:
			i++
		case y+o.run <= x:
			k++
		default:
			return true
		}
	}
	return false
}

// sharesRows is Shares for rows at the same distance, in constant time.
func (e *Extent) sharesRows(o *Extent) bool {
	if o.First < e.First {
		e, o = o, e
	}
	step, count := e.axes[0].step, e.axes[0].count
	rows, right := (o.First-e.First)/step, (o.First-e.First)%step
	// Row i of o begins right bytes behind the beginning of row rows+i of e.
	return right < e.run && rows < count || right+o.run > step && rows+1 < count
}

// homes is the data that lives in memory of the program: a search tree by the first address, and by
// the number of the data where that is the same, in which each node knows the largest end below
// it. Its shape is that of random insertions (a treap), so that adding, removing and finding take
// time in proportion to the logarithm of its size. It is guarded by the submission lock.
type homes struct{ root *home }

// home is a node of the tree.
type home struct {
	d           *Datum
	id          int64 // of the handle of all of it
	readOnly    bool
	node        int // of the memory
	extent      Extent
	end         uintptr // the largest of this node and those below
	rank        uint64  // not below those of the nodes below
	left, right *home
}

// before is the order of the tree.
func (n *home) before(first uintptr, id int64) bool {
	return n.extent.First < first || n.extent.First == first && n.id < id
}

// shut recomputes what n knows of the nodes below.
func (n *home) shut() *home {
	n.end = n.extent.End
	if n.left != nil {
		n.end = max(n.end, n.left.end)
	}
	if n.right != nil {
		n.end = max(n.end, n.right.end)
	}
	return n
}

// splitHomes parts the nodes before a place from the others.
func splitHomes(n *home, first uintptr, id int64) (left, right *home) {
	if n == nil {
		return nil, nil
	}
	if n.before(first, id) {
		n.right, right = splitHomes(n.right, first, id)
		return n.shut(), right
	}
	left, n.left = splitHomes(n.left, first, id)
	return left, n.shut()
}

// joinHomes puts together what splitHomes parted.
func joinHomes(left, right *home) *home {
	switch {
	case left == nil:
		return right
	case right == nil:
		return left
	case left.rank >= right.rank:
		left.right = joinHomes(left.right, right)
		return left.shut()
	}
	right.left = joinHomes(left, right.left)
	return right.shut()
}

// add puts n into the tree.
func (t *homes) add(n *home) {
	hi, lo := bits.Mul64(uint64(n.id)*0x9E3779B97F4A7C15, 0xD1342543DE82EF95)
	n.rank = hi ^ lo
	left, right := splitHomes(t.root, n.extent.First, n.id)
	t.root = joinHomes(joinHomes(left, n), right)
}

// remove takes data out of the tree, if it is there.
func (t *homes) remove(id int64, first uintptr) {
	left, rest := splitHomes(t.root, first, id)
	_, right := splitHomes(rest, first, id+1)
	t.root = joinHomes(left, right)
}

// sharing returns data that n shares bytes with, unless both are read only; nil: there is none. Its time
// is a logarithm, and a step for each of the data whose rows lie between those of n.
func (t *homes) sharing(n *home) *Datum { return t.root.sharing(n) }

func (n *home) sharing(o *home) *Datum {
	if n == nil || n.end <= o.extent.First {
		return nil
	}
	if d := n.left.sharing(o); d != nil {
		return d
	}
	if n.extent.First >= o.extent.End {
		return nil
	}
	if n.node == o.node && !(n.readOnly && o.readOnly) && n.extent.Shares(&o.extent) {
		return n.d
	}
	return n.right.sharing(o)
}

// lookup returns the data whose first element is at p; of several the one that was registered
// last.
func (t *homes) lookup(p uintptr) (d *Datum) {
	for n := t.root; n != nil; {
		switch {
		case n.extent.First > p:
			n = n.left
		case n.extent.First < p:
			n = n.right
		default:
			if n.node == 0 {
				d = n.d
			}
			n = n.right
		}
	}
	return d
}
