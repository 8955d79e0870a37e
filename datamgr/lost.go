package datamgr

// Loss of a node: its device does not answer any more.

import (
	"errors"

	"github.com/starpush/starpush/accel"
)

// ErrSpoiled is what errors of Prepare are when data that the task reads has lost its
// value; Fault says why, and SpoiledError.
var ErrSpoiled = errors.New("datamgr: data has lost its value")

// SpoiledError is an ErrSpoiled with what was given to Spoil for the data, or by OnLoss.
type SpoiledError struct{ Why any }

func (e *SpoiledError) Error() string { return ErrSpoiled.Error() }

// Is says that e is an ErrSpoiled.
func (e *SpoiledError) Is(target error) bool { return target == ErrSpoiled }

// OnLoss sets what is called once when a node is lost, by whoever noticed, without
// locks: it returns what Fault is to give for the data that was nowhere else.
// Before data is registered.
func (g *Registry) OnLoss(fn func(node int, err *accel.LostError) any) { g.onLoss = fn }

// Lost returns why a node is lost; nil when it is not.
func (g *Registry) Lost(node int) *accel.LostError { return g.nodes[node].lost.Load() }

// Lose says that the device of a node is lost. Data keeps the values that are valid
// elsewhere; what was only there has none any more, until it is written again. A
// task that runs there fails, and may be able to run again: see Placement.Restore.
func (g *Registry) Lose(node int, err *accel.LostError) { g.lose(g.nodes[node], err) }

func (g *Registry) lose(n *node, err *accel.LostError) {
	if !n.lost.CompareAndSwap(nil, err) {
		return
	}
	var why any = err
	if g.onLoss != nil {
		why = g.onLoss(n.id, err)
	}
	ins := n.instancesOf(g) // who makes one now sees that n is lost before it becomes valid
	for _, in := range ins {
		in.d.lose(in, why)
	}
	n.giveBack(1<<63 - 1)
	n.mu.Lock()
	n.mu.changes++
	n.mu.wake.Broadcast()
	n.mu.Unlock()
}

// lose forgets what in holds.
func (d *Datum) lose(in *instance, why any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if in.gone {
		return
	}
	if d.spoilLocked(in, why) > 0 {
		d.setState(stateFaults)
	}
	if in.pins == 0 && !in.leaving {
		d.removeLocked(in)
	}
	d.mu.wake.Broadcast()
}

// spoilLocked makes nothing valid in in. It returns how many bytes are valid
// nowhere now. What had no value before has none for the reason that it had.
func (d *Datum) spoilLocked(in *instance, why any) (bytes int64) {
	bit := uint64(1) << in.layer
	d.root.leaves(&in.box, func(f *Fragment) {
		if f.valid&bit == 0 || !in.box.has(&f.box) {
			return
		}
		if f.valid &^= bit; f.valid != 0 {
			return
		}
		f.valid, f.had = mainBit, hadMain
		if f.fault == nil {
			f.fault = &loss{why}
			bytes += d.bytesOf(&f.box)
		}
	})
	return bytes
}

// Strayed returns how often a copy of what h is a part of was taken away from a node, for
// want of room or on demand, when other nodes had copies and the main instance had none.
// A value that was once on a node is there until it is written again, unless it strayed
// since; then it is on some other node, and may be lost with that.
func (h *Handle) Strayed(from int) int64 {
	d := h.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if from >= len(d.mu.strays) {
		return 0
	}
	return d.mu.strays[from]
}

func (d *Datum) strayLocked(n *node) {
	if d.mu.strays == nil {
		d.mu.strays = make([]int64, len(d.reg.nodes))
	}
	d.mu.strays[n.id]++
}

// abandon takes away what is left on n. It returns how many bytes were nowhere
// else, and why they could not be saved.
func (g *Registry) abandon(n *node) (bytes int64, err error) {
	ins := n.instancesOf(g)
	for _, in := range ins {
		d := in.d
		d.mu.Lock()
		if f := d.onlyInLocked(in); f != nil { // evict has tried, and says why only now
			if e := d.copyLocked(f, in, d.main.Load()); e != nil && err == nil {
				err = e
			}
		}
		bytes += d.spoilLocked(in, ErrSpoiled)
		if in.pins == 0 && !in.gone {
			d.removeLocked(in)
		}
		d.mu.Unlock()
	}
	return bytes, err
}
