package cluster

import (
	"fmt"
	"slices"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// Which rank owns data and runs a task, and what has to be sent for that.

// route returns the rank that runs t, to which it brings what the task reads.
func (j *Job) route(t *Task) (rank int, err error) {
	if l := j.lost.Load(); l != nil {
		return 0, l.error
	}
	if rank, ok := j.settled(t); ok {
		return rank, nil
	}
	if rank, err = j.check(t); err != nil {
		return 0, err
	}
	if t.Ssend {
		j.ssend = true
		defer func() { j.ssend = false }()
	}
	if len(t.AfterTickets) > 0 {
		if j.deps, err = j.after(t, rank); err != nil {
			return 0, j.fail(err)
		}
	}
	var written *Place
	several := false
	operands := t.Operands[:len(j.places)]
	for i, p := range j.places {
		if p == nil {
			continue
		}
		mode := operands[i].Mode
		if p.sized {
			if err := j.bringSizes(p, rank); err != nil {
				return 0, j.fail(err)
			}
		}
		if len(p.data.sums) > 0 {
			if err := j.combine(p, mode == iface.Redux); err != nil {
				return 0, j.fail(err)
			}
		}
		switch {
		case mode == iface.Redux:
			if err := j.contribute(p, rank); err != nil {
				return 0, j.fail(err)
			}
			continue
		case mode.Reads() && !p.on(rank):
			if err := j.bring(p, rank); err != nil {
				return 0, j.fail(err)
			}
		}
		if p.unread && rank == j.rank {
			if p.unread = false; mode.Reads() { // what is written need not be read
				if err := j.readFile(p); err != nil {
					return 0, j.fail(err)
				}
			}
		}
		if mode != iface.R {
			written, several = p, written != nil
		}
	}
	switch {
	case several: // all reads come before writes
		for i, p := range j.places {
			if mode := t.Operands[i].Mode; p != nil && mode != iface.R && mode != iface.Redux {
				j.wroteSizes(p, rank)
				p.Write(rank)
			}
		}
	case written != nil:
		j.wroteSizes(written, rank)
		written.Write(rank)
	}
	j.tasks++
	return rank, nil
}

// settled is route for a task that needs no message, because its data is on the rank that runs it. It returns false, and has
// changed nothing, for tasks that are not plain. Most tasks of a large run are of this kind on most ranks, which neither run them
// nor have their data: one of three operands costs 35 to 50 ns here, and 60 to 80 with check and the rest of route.
func (j *Job) settled(t *Task) (rank int, ok bool) {
	var near [8]*Place
	ops, c, slots := t.Operands, t.Codelet, j.table.slots
	if len(slots) == 0 || c == nil || len(ops) > len(near) || c.Modes != nil && len(c.Modes) != len(ops) || t.On != 0 || t.After != nil || len(t.AfterTickets) > 0 || t.Unordered {
		return 0, false
	}
	hash := j.sequence.add(0).add(j.name.hash(c.Name))
	owner, unread := int32(-1), false
	for i := range ops {
		op := &ops[i]
		h := op.Handle
		if h == nil || op.Unordered || !h.Alive() {
			return 0, false
		}
		p := slots[int(h.ID())&(len(slots)-1)]
		if p == nil || p.Handle != h || p.bytes == 0 || p.sized || len(p.data.sums) > 0 {
			return 0, false
		}
		q := p.cover
		if q == nil || q.gone {
			return 0, false
		}
		switch mode := op.Mode; {
		case mode == iface.R:
		case mode != iface.RW && mode != iface.W || !p.exact || owner >= 0 && owner != p.owner:
			return 0, false
		default:
			owner = p.owner
		}
		near[i&7] = p
		unread = unread || p.unread
		hash = hash.add(p.hash + uint64(op.Mode))
	}
	if owner < 0 {
		return 0, false
	}
	for i := range ops {
		p := near[i&7]
		if ops[i].Mode != iface.W && p.cover.alone != owner+1 && !p.cover.has(int(owner)) {
			return 0, false
		}
	}
	if unread && int(owner) == j.rank {
		return 0, false
	}
	for i := range ops {
		if p := near[i&7]; ops[i].Mode != iface.R {
			p.Write(int(owner))
		}
	}
	j.sequence = hash
	j.tasks++
	return int(owner), true
}

// bring gives a rank the value of p.
func (j *Job) bring(p *Place, rank int) error {
	if err := j.initialise(p, rank); err != nil {
		return err
	}
	j.moves = p.read(rank, j.moves[:0])
	return j.move(p.Handle, j.moves)
}

// check finds the places of the operands and the rank that runs the task, or returns what is wrong with it.
func (j *Job) check(t *Task) (rank int, err error) {
	c := t.Codelet
	switch {
	case c == nil:
		return 0, &engine.NoImplementationError{}
	case t.On < 0 || t.On > j.size:
		return 0, &RankError{t.On - 1, j.size}
	case t.After != nil && slices.ContainsFunc(t.After, func(d engine.Dependency) bool { _, gate := d.(*engine.Gate); return !gate }):
		return 0, &UnsupportedError{fmt.Sprintf("a task of %s waits by After for what may be on another rank; use AfterTickets, with what SubmitTask returns", c.Name)}
	case t.Unordered:
		return 0, &UnsupportedError{fmt.Sprintf("a task of %s has no order with others; on several ranks each task has one: leave Unordered out", c.Name)}
	case c.Modes != nil && len(c.Modes) != len(t.Operands):
		return 0, &engine.ModeError{Operand: min(len(c.Modes), max(len(t.Operands)-1, 0)), Other: -1,
			Message: fmt.Sprintf("codelet %s has %d operands, and got %d", c.Name, len(c.Modes), len(t.Operands))}
	}
	if err := j.checkAfter(t); err != nil {
		return 0, err
	}
	if cap(j.places) < len(t.Operands) {
		j.places = make([]*Place, len(t.Operands))
	}
	j.places = j.places[:len(t.Operands)]
	hash := j.sequence.add(uint64(t.On)).add(j.name.hash(c.Name))
	for _, d := range t.AfterTickets {
		hash = hash.add(uint64(d.id))
	}
	contributes := false // an operand is REDUX
	places := j.places
	for i := range t.Operands[:len(places)] {
		op := &t.Operands[i]
		h, mode := op.Handle, op.Mode
		p := j.table.find(h)
		if p == nil || p.empty || mode == iface.Scratch || op.Unordered || !h.Alive() {
			if p, err = j.newPlace(t, i); err != nil {
				return 0, err
			}
		}
		if places[i] = p; p == nil {
			continue
		}
		hash = hash.add(p.hash + uint64(mode))
		switch {
		case mode == iface.R:
			if !p.HasValue() && !lazy(h) {
				return 0, j.uninitialised(i, p)
			}
			continue
		case mode == iface.Redux:
			if r := h.Reduction(); r == nil || r.Combine == nil {
				return 0, &engine.NoReductionError{Operand: i, Handle: h}
			}
			contributes = true
			continue
		case mode.Reads() && !p.HasValue() && !lazy(h):
			return 0, j.uninitialised(i, p)
		}
	}
	if contributes {
		if err := j.checkShared(t); err != nil {
			return 0, err
		}
	}
	j.sequence = hash
	return j.runs(t), nil
}

// newPlace returns the place of an operand that is used for the first time, nil if it has none, or what is wrong with it.
func (j *Job) newPlace(t *Task, i int) (*Place, error) {
	op := &t.Operands[i]
	switch h := op.Handle; {
	case h == nil:
		return nil, &engine.ModeError{Operand: i, Mode: op.Mode, Other: -1, Message: fmt.Sprintf("operand %d of %s is nil", i, t.Codelet.Name)}
	case !h.Alive():
		return nil, &engine.DeadHandleError{Operand: i, Handle: h}
	case op.Mode == iface.Scratch:
		return nil, nil
	case op.Unordered:
		return nil, &UnsupportedError{fmt.Sprintf("operand %d of %s has no order with others; on several ranks each has one: leave Unordered out", i, t.Codelet.Name)}
	}
	p, err := j.place(op.Handle)
	if err != nil || p.empty {
		return nil, err
	}
	return p, nil
}

// checkShared returns an error if operands share elements, and one contributes to them.
func (j *Job) checkShared(t *Task) error {
	for i, p := range j.places {
		for k, q := range j.places[:i] {
			if p != nil && q != nil && p.data == q.data && p.box.touches(&q.box) && (t.Operands[i].Mode == iface.Redux) != (t.Operands[k].Mode == iface.Redux) {
				return &engine.ModeError{Operand: i, Handle: t.Operands[i].Handle, Mode: t.Operands[i].Mode, Other: k, Message: "operands share elements, and one is REDUX"}
			}
		}
	}
	return nil
}

// emptyPart reports whether h is a part without elements, whose box is that of an element that it does not have.
func emptyPart(h *datamgr.Handle) bool {
	d := h.Desc()
	return h.Parent() != nil && d.Len() == 0
}

// lazy reports whether elements of h without a value get one when they are first read.
func lazy(h *datamgr.Handle) bool {
	r := h.Reduction()
	return r != nil && r.Combine == nil
}

// use is what a task does to an operand: the first that it does to any decides where it runs.
type use uint8

const (
	writes use = iota
	reads
	contributes
	uses
)

func useOf(m iface.AccessMode) use {
	switch {
	case m == iface.Redux:
		return contributes
	case m.Writes():
		return writes
	}
	return reads
}

// runs returns the rank that runs t, whose places were found.
func (j *Job) runs(t *Task) int {
	if t.On > 0 {
		return t.On - 1
	}
	return Runs(j.weights, len(j.places), func(i int) (int, int, iface.AccessMode) {
		p := j.places[i]
		if p == nil {
			return 0, 0, iface.Scratch
		}
		return int(p.owner), p.bytes, t.Operands[i].Mode
	})
}

// Runs returns the rank that runs a task by default: the one that owns most of what it writes, then most of what it reads, then most of what it
// contributes to, and otherwise rank 0. operand returns the owner, bytes and mode of operand i of n. weights has a zero for each
// rank, and has them again afterwards.
func Runs(weights []int, n int, operand func(i int) (owner, bytes int, mode iface.AccessMode)) int {
	for u := range uses {
		best, most := 0, 0
		for i := range n {
			owner, bytes, mode := operand(i)
			if mode == iface.Scratch || useOf(mode) != u {
				continue
			}
			weights[owner] += bytes
			if n := weights[owner]; n > most {
				best, most = owner, n
			}
		}
		if most > 0 {
			for i := range n {
				if owner, _, mode := operand(i); mode != iface.Scratch {
					weights[owner] = 0
				}
			}
			return best
		}
	}
	return 0
}

// owner returns the rank that owns a handle.
func (d *distributed) owner(h *datamgr.Handle, size int) int {
	given, _ := h.OwnerRank()
	parent := h.Parent()
	if given >= 0 || parent == nil {
		return Owner(given, d.number, -1, nil, size)
	}
	if at, ok := d.owners[h]; ok {
		return at
	}
	for _, v := range parent.Views() {
		for k, part := range v.Parts {
			d.owners[part] = Owner(given, d.number, k, v.Dims, size)
		}
	}
	return d.owners[h]
}

// Owner returns which of size ranks owns data, or a part of it. given is the rank to which the program gave it, which any number of ranks has by
// its remainder, or below 0: then whole data goes to the ranks in turn, by the number of the data in the order of first use, and parts as deal says: k is the number
// of the part in its view, below 0 for whole data, and dims are the numbers of parts along the axes of the view.
func Owner(given, number, k int, dims []int, size int) int {
	switch {
	case given >= 0:
		return given % size
	case k < 0:
		return number % size
	}
	return deal(k, dims, size)
}

// deal returns the rank that owns part k of a view with the given numbers of parts along its axes.
func deal(k int, dims []int, size int) int {
	if len(dims) < 2 {
		return k % size
	}
	for _, n := range dims[2:] {
		k /= n
	}
	rows := gridRows(size)
	i, l := k/dims[1], k%dims[1]
	return i%rows*(size/rows) + l%(size/rows)
}

// gridRows returns the rows of the grid of ranks that is closest to a square.
func gridRows(size int) int {
	rows := 1
	for r := 2; r*r <= size; r++ {
		if size%r == 0 {
			rows = r
		}
	}
	return rows
}
