package sim

// Faults: what fails, and when.

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/starpush/starpush/accel"
)

// Kind is a kind of operation.
type Kind uint8

// The kinds.
const (
	Alloc Kind = iota
	Copy
	Kernel
	numKinds
)

func (k Kind) String() string {
	return [...]string{"allocation", "copy", "kernel", "operation"}[min(k, numKinds)]
}

// Op is an operation of a device, in the order in which they are begun.
type Op struct {
	Kind  Kind
	N     int64 // it is the Nth of its kind, from 1 on
	Total int64 // of all kinds, from 1 on
	Bytes int64
	From  string // memory; of copies
	To    string // memory; of copies and allocations
	Name  string // of the codelet; of kernels
}

func (op Op) String() string {
	switch op.Kind {
	case Alloc:
		return fmt.Sprintf("allocation %d, of %s", op.N, accel.Bytes(op.Bytes))
	case Copy:
		return fmt.Sprintf("copy %d, of %s from %s to %s", op.N, accel.Bytes(op.Bytes), op.From, op.To)
	}
	return fmt.Sprintf("kernel %d, of %s", op.N, op.Name)
}

// When decides whether an operation fails. A device asks about one at a time. It
// must not use the device.
type When func(Op) bool

// Faults say which operations fail. A field that is nil makes none fail.
type Faults struct {
	Alloc  When // for want of memory
	Copy   When // a *accel.CopyError when it has begun; its destination is poisoned
	Kernel When // a *accel.KernelError from Do, which does not call the function
	Lose   When // asked about all operations: the device is lost before this one
}

// Nth is the nth operation of its kind.
func Nth(n int64) When { return func(op Op) bool { return op.N == n } }

// After is all operations but the first n of all kinds.
func After(n int64) When { return func(op Op) bool { return op.Total > n } }

// Next is the first operation that is asked about.
func Next() When {
	over := false
	return func(Op) bool {
		was := over
		over = true
		return !was
	}
}

// Chance is each operation with probability p.
func Chance(p float64, seed uint64) When {
	rng := rand.New(rand.NewPCG(seed, 0))
	return func(Op) bool { return rng.Float64() < p }
}

// FailAlloc makes allocations fail from now on; nil: none.
func (d *Device) FailAlloc(w When) { d.setFault(func(f *Faults) { f.Alloc = w }) }

// FailCopy makes copies fail from now on; nil: none.
func (d *Device) FailCopy(w When) { d.setFault(func(f *Faults) { f.Copy = w }) }

// FailKernel makes kernels fail from now on; nil: none.
func (d *Device) FailKernel(w When) { d.setFault(func(f *Faults) { f.Kernel = w }) }

// LoseWhen loses the device when w says so; nil: never.
func (d *Device) LoseWhen(w When) { d.setFault(func(f *Faults) { f.Lose = w }) }

func (d *Device) setFault(change func(*Faults)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(&d.mu.faults)
}

// Lose loses the device: what is under way fails, and all that is asked of it from
// now on. Its memory holds poison once the kernels that run there have returned.
func (d *Device) Lose() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.loseLocked(errors.New("it was switched off"))
}

func (d *Device) loseLocked(why error) {
	if d.lost.Load() != nil {
		return
	}
	d.lost.Store(&accel.LostError{Device: d.o.Name, Err: why})
	close(d.gone)
	d.poisonLocked()
}

// FaultError is the cause of errors that were asked for.
type FaultError struct {
	Device string
	Op     Op
}

func (e *FaultError) Error() string {
	return fmt.Sprintf("a fault on demand: %v, on %s", e.Op, e.Device)
}

// ask counts an operation and returns why it is to fail, or nil. The error says why
// the device does nothing at all.
func (d *Device) ask(op Op) (*FaultError, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.usableLocked(); err != nil {
		return nil, err
	}
	d.mu.count[op.Kind]++
	f := &d.mu.faults
	if f.Alloc == nil && f.Copy == nil && f.Kernel == nil && f.Lose == nil {
		return nil, nil
	}
	op.N = d.mu.count[op.Kind]
	for _, n := range d.mu.count {
		op.Total += n
	}
	if f.Lose != nil && f.Lose(op) {
		d.loseLocked(&FaultError{d.o.Name, op})
		return nil, d.lost.Load()
	}
	when := [numKinds]When{Alloc: f.Alloc, Copy: f.Copy, Kernel: f.Kernel}[op.Kind]
	if when != nil && when(op) {
		return &FaultError{d.o.Name, op}, nil
	}
	return nil, nil
}
