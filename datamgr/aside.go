package datamgr

// Memory beside bounded main memory: what the program holds of data that the runtime
// owns.
//
// Who waits for room waits for what ends by itself. What the program holds does not,
// so if it counted, a program that holds much would stop its own tasks. It is the
// program's for that time, like memory that it registers: it has instances of its
// own, which no task uses and which are not counted. When the program lets go, they
// become part of main memory if there is room, or what they alone hold goes to the
// disk.

import (
	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr/iface"
)

// memoryAside is where the program's copies are.
func (g *Registry) memoryAside() accel.Memory {
	if g.aside != nil {
		return g.aside
	}
	return g.mem
}

// PrepareAside is Prepare in main memory for the program, or whoever takes all of
// some data at once: where main memory is bounded, beside it.
func (p *Placement) PrepareAside(ops []Operand) error {
	p.aside = true
	return p.Prepare(0, ops)
}

// admitAside is admit for the program: nobody is waited for.
func (p *Placement) admitAside(n *node, ops []Operand) error {
	needs, _ := plan(ops, n, n.id, 1)
	for i := range needs {
		w := &needs[i]
		in, err := w.make(n, n.aside(w.d.reg))
		if err != nil {
			return err
		}
		p.pins = append(p.pins, in)
		for _, k := range w.ops {
			p.at[k] = in
		}
	}
	return nil
}

func (n *node) aside(g *Registry) accel.Memory {
	if n.id == 0 {
		return g.aside
	}
	return n.mem
}

// settle is the end of in, which the program held: it becomes part of main memory, or
// what is only there is saved on the disk. If that fails the data stays where it is.
func (d *Datum) settle(in *instance) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if in.gone || in.leaving || d.mu.freed {
		return
	}
	for f := d.onlyInLocked(in); f != nil || in.pins > 0; f = d.onlyInLocked(in) {
		switch {
		case f == nil || f.arriving != 0 || in.pins > 0: // copies from it: they end by themselves
			d.mu.wake.Wait()
			if in.gone || d.mu.freed {
				return
			}
		case d.adoptLocked(in):
			return
		case d.saveLocked(f, in) != nil:
			return
		}
	}
	d.removeLocked(in)
}

// adoptLocked makes in part of main memory, if there is room.
func (d *Datum) adoptLocked(in *instance) bool {
	n := in.node
	mem, ok := n.mem.(interface {
		Reserve(bytes int64) error
		Keep()
	})
	if !ok || !n.tryEnter() {
		return false
	}
	defer n.leave()
	if mem.Reserve(in.bytes) != nil {
		return false
	}
	mem.Keep()
	d.reg.aside.Release(in.bytes)
	in.outside = false
	n.list(in)
	n.touch(in, d.whole)
	return true
}

// fillAside gives d its first value.
func (d *Datum) fillAside(fill func(*iface.Buffer) error, inParts bool) error {
	if inParts && d.desc.Rank > 0 && d.desc.Bytes() > d.reg.nodes[0].room() {
		return d.fillParts(fill)
	}
	var p Placement
	if err := p.PrepareAside([]Operand{{Handle: d.whole, Mode: modeW}}); err != nil {
		return err
	}
	defer p.Release() // also when fill panics
	var b iface.Buffer
	p.Buffer(0, d.whole, &b)
	return fill(&b)
}

// fillBytes is how much is filled at a time, about.
const fillBytes = 1 << 20

// fillParts gives d its first value on the disk, some rows at a time.
func (d *Datum) fillParts(fill func(*iface.Buffer) error) error {
	var whole iface.Buffer
	d.whole.Own(nil, &whole)
	rows, row := whole.Dim[0], d.desc.Bytes()/int64(whole.Dim[0])
	some := int(max(1, min(fillBytes/row, int64(rows))))
	block, err := d.reg.aside.Alloc(int64(some) * row)
	if err != nil {
		return err
	}
	defer d.reg.aside.Free(block, int64(some)*row)
	main := d.main.Load()
	for at := 0; at < rows; at += some {
		b, to := whole, whole
		b.Ptr, b.Dim[0], b.Off[0] = block, min(some, rows-at), at
		own := b // which fill may change
		if err := fill(&own); err != nil {
			return err
		}
		to.Dim[0], to.Stride = min(some, rows-at), main.stride
		lo := d.box.lo
		lo[0] += at
		to.Ptr = main.at(&lo, d.desc.Elem.Size())
		if err := d.reg.moveBuffer(main.node, d.reg.nodes[0], &to, &b); err != nil {
			return err
		}
	}
	return nil
}
