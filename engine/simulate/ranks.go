package simulate

// Several computers: which of them runs a task, and which messages there are, by the directory of package engine/cluster.

import (
	"context"
	"fmt"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/cluster"
	"github.com/starpush/starpush/engine/graph"
)

// Distribute returns p as its script would run on several computers: each has its own copy of the data, a task is on the one that
// engine/cluster gives it to, and messages are tasks between them. The graph of the result is another one, in which the names of
// data tell the computer. With one computer it is p.
func (p *Program) Distribute(ctx context.Context, computers int) (*Program, error) {
	if computers <= 1 {
		return p, nil
	}
	if p.computers == computers {
		return p.distributed, nil
	}
	d := newDistribution(p, computers)
	g := *p.Graph
	room := len(g.Tasks) + len(g.Tasks)/2 // for messages
	g.Tasks, g.Handles = make([]graph.Task, 0, room), nil
	d.rank, d.sender = make([]int32, 0, room), make([]int32, 0, room)
	d.to = &g
	for i := range p.Graph.Tasks {
		if i&0xfff == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		d.add(&p.Graph.Tasks[i])
	}
	if err := g.Resolve(graph.Bounds{Context: ctx}); err != nil {
		return nil, err
	}
	out, err := NewProgram(ctx, &g)
	if err != nil {
		return nil, err
	}
	out.rank, out.from = d.rank, d.sender
	p.distributed, p.computers = out, computers
	return out, nil
}

// handleOn is a handle, or a part that is sent, on a computer.
type handleOn struct {
	handle, rank int32
	box          cluster.Box // of a part that no handle is; else none
	temporary    int32       // of contributions that were sent here: their computer, counted from 1
}

// distribution makes the graph.
type distribution struct {
	from, to *graph.Graph
	size     int
	weights  []int // see cluster.Runs
	handles  map[handleOn]int32
	datums   map[[2]int32]int32 // by datum and computer: the datum there
	data     []distributed      // by datum
	place    []*cluster.Place   // by handle
	used     int                // data so far
	rank     []int32
	sender   []int32
}

// distributed is data of the program.
type distributed struct {
	whole  cluster.Box   // of its handles
	home   bool          // it has a value from the start
	dir    *cluster.Data // nil: not used yet
	number int           // in the order of its first use
}

func newDistribution(p *Program, size int) *distribution {
	g := p.Graph
	d := &distribution{from: g, size: size, weights: make([]int, size), handles: map[handleOn]int32{}, datums: map[[2]int32]int32{}, place: make([]*cluster.Place, len(g.Handles))}
	for i := range g.Handles {
		h := &g.Handles[i]
		for int(h.Datum) >= len(d.data) {
			d.data = append(d.data, distributed{})
		}
		x, b := &d.data[h.Datum], boxOf(h)
		if x.whole == (cluster.Box{}) {
			x.whole = b
		}
		for a := range b.Lo {
			x.whole.Lo[a], x.whole.Hi[a] = min(x.whole.Lo[a], b.Lo[a]), max(x.whole.Hi[a], b.Hi[a])
		}
	}
	// Data has a value from the start if a task reads some of it that none wrote before: otherwise there would be no plan.
	written := make([]bool, len(p.cells))
	for i := range g.Tasks {
		for _, o := range g.Tasks[i].Operands {
			if !stays(o.Mode) {
				continue
			}
			for _, c := range g.CellsOf(o.Handle) {
				if o.Mode.Reads() && !written[c] {
					d.data[g.Handles[o.Handle].Datum].home = true
				}
				written[c] = written[c] || o.Mode.Writes()
			}
		}
	}
	return d
}

// boxOf is the box of a handle.
func boxOf(h *graph.Handle) (b cluster.Box) {
	for k := range b.Hi {
		b.Hi[k] = 1
	}
	copy(b.Lo[:], h.Lo)
	copy(b.Hi[:], h.Hi)
	return b
}

// placeOf returns the place of a handle in the directory.
func (d *distribution) placeOf(i int32) *cluster.Place {
	if d.place[i] != nil {
		return d.place[i]
	}
	h := &d.from.Handles[i]
	x := &d.data[h.Datum]
	if x.dir == nil {
		var holders []int
		if x.home {
			holders = cluster.Everywhere(d.size)
		}
		x.dir, x.number = cluster.NewData(x.whole, holders), d.used
		d.used++
	}
	d.place[i] = x.dir.Place(boxOf(h), cluster.Owner(h.Owner-1, x.number, int(h.Part), h.Dims, d.size))
	return d.place[i]
}

// on returns the handle of data on a computer.
func (d *distribution) on(i, rank int32) int32 { return d.handle(handleOn{handle: i, rank: rank}) }

func (d *distribution) handle(k handleOn) int32 {
	if n, ok := d.handles[k]; ok {
		return n
	}
	h := d.from.Handles[k.handle]
	h.Name = fmt.Sprintf("%s on %d", h.Name, k.rank)
	on := [2]int32{h.Datum, k.rank}
	if k.box != (cluster.Box{}) {
		n := len(h.Lo)
		h.Lo, h.Hi = append([]int(nil), k.box.Lo[:n]...), append([]int(nil), k.box.Hi[:n]...)
		h.Bytes = int64(k.box.Elements()) * h.Elem
		h.Name += " in part"
	}
	if k.temporary > 0 {
		on = [2]int32{-1 - int32(len(d.to.Handles)), k.rank} // data of its own
		h.Home = false
		h.Name = fmt.Sprintf("%s from %d", h.Name, k.temporary-1)
	}
	datum, ok := d.datums[on]
	if !ok {
		datum = int32(len(d.datums))
		d.datums[on] = datum
	}
	h.Datum = datum
	n := int32(len(d.to.Handles))
	d.to.Handles = append(d.to.Handles, h)
	d.handles[k] = n
	return n
}

// task appends a task that a computer runs.
func (d *distribution) task(t graph.Task, rank int32) {
	t.Deps = nil
	d.to.Tasks = append(d.to.Tasks, t)
	d.rank, d.sender = append(d.rank, rank), append(d.sender, -1)
}

// message appends a message.
func (d *distribution) message(from, to, read, write int32) {
	d.task(graph.Task{Codelet: "(send)", Internal: sendTask, Site: -1, Operands: []graph.Operand{{Handle: read, Mode: iface.R}, {Handle: write, Mode: iface.W}}}, to)
	d.sender[len(d.sender)-1] = from
}

// moves appends the messages that bring elements of a handle to a computer.
func (d *distribution) moves(i int32, all []cluster.Move) {
	for _, m := range all {
		k := handleOn{handle: i}
		if m.Box != boxOf(&d.from.Handles[i]) {
			k.box = m.Box
		}
		from, to := k, k
		from.rank, to.rank = int32(m.From), int32(m.To)
		d.message(from.rank, to.rank, d.handle(from), d.handle(to))
	}
}

// add appends a task of the program, with the messages before it.
func (d *distribution) add(t *graph.Task) {
	var places []*cluster.Place
	for _, o := range t.Operands {
		if o.Mode == iface.Scratch {
			places = append(places, nil)
		} else {
			places = append(places, d.placeOf(o.Handle))
		}
	}
	switch {
	case t.Internal == "reduce":
		d.reduce(t)
		return
	case t.Internal == "acquire":
		for r := range int32(d.size) { // every computer has what the script reads
			d.run(t, places, r)
		}
		return
	case t.Internal == "invalidate" || t.Internal == "unregister":
		for r := range int32(d.size) {
			x := *t
			x.Operands = nil
			for _, o := range t.Operands {
				if n, ok := d.handles[handleOn{handle: o.Handle, rank: r}]; ok {
					x.Operands = append(x.Operands, graph.Operand{Handle: n, Mode: o.Mode})
				}
			}
			if len(x.Operands) > 0 {
				d.task(x, r)
			}
		}
		for _, p := range places {
			if p != nil {
				p.Write()
			}
		}
		return
	}
	if t.Rank > 0 {
		d.run(t, places, int32((t.Rank-1)%uint64(d.size)))
		return
	}
	rank := cluster.Runs(d.weights, len(places), func(i int) (int, int, iface.AccessMode) {
		if places[i] == nil {
			return 0, 0, iface.Scratch
		}
		return places[i].Owner(), int(d.from.Handles[t.Operands[i].Handle].Bytes), t.Operands[i].Mode
	})
	d.run(t, places, int32(rank))
}

// run appends a task that a computer runs, and the messages that it needs.
func (d *distribution) run(t *graph.Task, places []*cluster.Place, rank int32) {
	x := *t
	x.Operands = append([]graph.Operand(nil), t.Operands...)
	for i, p := range places {
		o := &x.Operands[i]
		switch {
		case p == nil:
		case o.Mode == iface.Redux:
			_, moves, _ := p.Contribute(int(rank))
			d.moves(o.Handle, moves)
		case o.Mode.Reads():
			moves, _ := p.Claim(int(rank))
			d.moves(o.Handle, moves)
		}
		o.Handle = d.on(t.Operands[i].Handle, rank)
	}
	d.task(x, rank)
	for i, p := range places {
		if p != nil && t.Internal != "acquire" && t.Operands[i].Mode.Writes() && t.Operands[i].Mode != iface.Redux {
			p.Write(int(rank))
		}
	}
}

// reduce combines contributions: on each computer first, then between them.
func (d *distribution) reduce(t *graph.Task) {
	o := t.Operands[0]
	p := d.placeOf(o.Handle)
	home, sums := p.Combine()
	own := func(rank int) { // what the computer itself has
		x := *t
		x.Operands = []graph.Operand{{Handle: d.on(o.Handle, int32(rank)), Mode: iface.RW}}
		d.task(x, int32(rank))
	}
	own(home)
	for _, s := range sums {
		own(s.From)
	}
	for _, s := range sums {
		at := d.handle(handleOn{handle: o.Handle, rank: int32(s.To), temporary: int32(s.From) + 1})
		d.message(int32(s.From), int32(s.To), d.on(o.Handle, int32(s.From)), at)
		x := *t
		x.Operands = []graph.Operand{{Handle: d.on(o.Handle, int32(s.To)), Mode: iface.RW}, {Handle: at, Mode: iface.R}}
		d.task(x, int32(s.To))
	}
}
