package engine

// Data can have a layout of its own on some devices. formats records in which layouts its current value is valid.
//
// The program registers data in the layout of main memory, and SetFormats (multiformat.go) gives it more. Each further
// layout is a datum of its own, which tasks do not name; the order of the first datum covers it. It is moved, evicted and
// lost as other data is. A worker chooses the layout of each operand when it runs a task, and first converts what the task
// reads if the value is not valid in that layout yet (convert.go). One worker converts, and others that need the same
// value wait for it. A task that writes leaves the value valid in its layout only, once it has succeeded.
//
// The value is back in the layout of main memory before the program sees it: a task of the engine
// converts it before an acquire, the end of the data, a gathering or the copy of a duplicate.

import (
	"slices"
	"sync"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

// deviceLayout is a Format of some data, in a runtime that has devices for it.
type deviceLayout struct {
	Format
	h *datamgr.Handle
}

// formats are the layouts of some data.
type formats struct {
	h        *datamgr.Handle
	declared []Format       // by the program
	inUse    []deviceLayout // those that devices here use; layout i is inUse[i-1], and layout 0 that of main memory
	kinds    map[string]int // layouts, by the kinds of workers

	planned uint64 // as valid, after all that was submitted; in plans, guarded by the submission lock

	mu struct {
		sync.Mutex
		valid  uint64   // bit i: the value is in layout i
		busy   bool     // a worker converts it
		failed *failure // of the last conversion to main memory
	}
	wake *sync.Cond // a conversion ended
}

// formatsOf returns the layouts of h if it has more than one here, else nil.
func formatsOf(h *datamgr.Handle) *formats {
	if fs, _ := managed(h).Formats().(*formats); fs != nil && len(fs.inUse) > 0 {
		return fs
	}
	return nil
}

// layout returns the layout in which w has operand i of a task of c.
func (fs *formats) layout(w *worker, c *Codelet, i int, op *Operand) int {
	if c == nil || op.Pin.Main() || w.node == 0 || !slices.Contains(c.Formats, i) {
		return 0
	}
	return fs.kinds[w.kind]
}

// handle is the data that layout i is.
func (fs *formats) handle(i int) *datamgr.Handle {
	if i == 0 {
		return fs.h
	}
	return fs.inUse[i-1].h
}

// index returns the number of the layout that h is.
func (fs *formats) index(h *datamgr.Handle) int {
	return 1 + slices.IndexFunc(fs.inUse, func(f deviceLayout) bool { return f.h == h })
}

// pair is the operands of a conversion.
func (fs *formats) pair(from, to int) []Operand {
	return []Operand{{Handle: fs.handle(from), Mode: iface.R}, {Handle: fs.handle(to), Mode: iface.W}}
}

// conversion returns the codelet that converts, and the name of what it makes.
func (fs *formats) conversion(from, to int) (c *Codelet, name string) {
	if to == 0 {
		return fs.inUse[from-1].From, ""
	}
	return fs.inUse[to-1].To, fs.inUse[to-1].Name
}

// placedOn returns the operands of a task of c as w has them; nil: as they are.
func (rt *Runtime) placedOn(w *worker, c *Codelet, ops []Operand) (placed []Operand) {
	for i := range ops {
		fs := formatsOf(ops[i].Handle)
		if fs == nil {
			continue
		}
		if k := fs.layout(w, c, i, &ops[i]); k > 0 {
			if placed == nil {
				placed = slices.Clone(ops)
			}
			placed[i].Handle = fs.handle(k)
		}
	}
	return placed
}

// convertsThere reports whether w can run the conversion c on its device.
func (rt *Runtime) convertsThere(w *worker, c *Codelet, ops []Operand) bool {
	return w.node > 0 && len(c.impls(w.arch)) > 0 && rt.reg.Fits(ops, w.node)
}

// wroteFormats records that t, whose kernel has succeeded, has written its operands in their layouts.
func (t *task) wroteFormats() {
	ops, placed := t.operands(), t.placedOperands()
	for i := range ops {
		if fs := formatsOf(ops[i].Handle); fs != nil && ops[i].Mode.Writes() {
			fs.wrote(fs.index(placed[i].Handle))
		}
	}
}

// wrote says that a task which has the data for itself has written it in layout i: the others are free.
func (fs *formats) wrote(i int) {
	fs.mu.Lock()
	fs.mu.valid = 1 << i
	fs.mu.failed = nil
	fs.mu.Unlock()
	for k := range len(fs.inUse) + 1 {
		if k != i {
			managed(fs.handle(k)).Drop()
		}
	}
}

// spoilFormats says that a task that failed has spoiled what it should have written.
func spoilFormats(ops []Operand) {
	for i := range ops {
		if fs := formatsOf(ops[i].Handle); fs != nil && ops[i].Mode.Writes() {
			fs.mu.Lock()
			fs.mu.valid = 0
			fs.mu.Unlock()
		}
	}
}

// operandsToRestore prepares the operands of t, which was begun on a device that failed, for Placement.Restore: a
// layout whose value other layouts have need not be restored.
func (t *task) operandsToRestore() []Operand {
	ops := t.operands()
	if t.x.placed == nil {
		return ops
	}
	placed := slices.Clone(t.x.placed)
	for i := range ops {
		fs := formatsOf(ops[i].Handle)
		if fs == nil || !ops[i].Mode.Writes() {
			continue
		}
		bit := uint64(1) << fs.index(placed[i].Handle)
		fs.mu.Lock()
		if fs.mu.valid&^bit != 0 {
			fs.mu.valid &^= bit
			placed[i].Mode = iface.W
		}
		fs.mu.Unlock()
	}
	return placed
}

// lossLocked forgets layouts whose value was lost with a device. If none is left, the data is spoiled.
func (fs *formats) lossLocked() {
	var why any
	had := fs.mu.valid
	for i := range len(fs.inUse) + 1 {
		if had&(1<<i) != 0 {
			if _, v := datamgr.Fault([]Operand{{Handle: fs.handle(i), Mode: iface.R}}); v != nil {
				fs.mu.valid &^= 1 << i
				why = v
			}
		}
	}
	switch {
	case why == nil:
	case fs.mu.valid != 0 && had&1 != 0 && fs.mu.valid&1 == 0:
		datamgr.Mend([]Operand{{Handle: fs.h, Mode: iface.W}}) // it is in another layout
	case fs.mu.valid == 0:
		datamgr.Spoil([]Operand{{Handle: fs.h, Mode: iface.W}}, why)
	}
}

// settleLoss is lossLocked for all operands of t.
func (t *task) settleLoss() {
	for _, op := range t.operands() {
		if fs := formatsOf(op.Handle); fs != nil {
			fs.mu.Lock()
			fs.lossLocked()
			fs.mu.Unlock()
		}
	}
}

// isMain reports whether the value is in the layout of main memory.
func (fs *formats) isMain() bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.lossLocked()
	return fs.mu.valid&1 != 0
}

// conversionFailure returns why the value of h is not in the layout of main memory after the conversion that came before
// an access, or nil if it is.
func conversionFailure(h *datamgr.Handle) *failure {
	fs := formatsOf(h)
	if fs == nil {
		return nil
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.mu.valid == 0 || fs.mu.valid&1 != 0 {
		return nil
	}
	return fs.mu.failed
}

// wroteMain records that only the layout of main memory of h is valid: the caller has h for itself.
func wroteMain(h *datamgr.Handle) {
	if fs := formatsOf(h); fs != nil {
		fs.wrote(0)
	}
}

// freeFormats frees the memory of the other layouts of h, which was unregistered.
func freeFormats(h *datamgr.Handle) {
	if fs := formatsOf(h); fs != nil {
		for i := range fs.inUse {
			managed(fs.inUse[i].h).Free()
		}
	}
}

// allLayouts returns the data that has the value of h on nodes: h itself, and that of its other layouts.
func allLayouts(h *datamgr.Handle) []*datamgr.Handle {
	all := []*datamgr.Handle{h}
	if fs := formatsOf(h); fs != nil {
		for i := range fs.inUse {
			all = append(all, fs.inUse[i].h)
		}
	}
	return all
}
