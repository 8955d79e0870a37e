package interp

// Values of the language that are not numbers: how the machine represents them.

import (
	"fmt"
	"math"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/types"
)

// repr says how values of a type are held: numbers and truth values in the number
// slots of a frame, all else in the reference slots.
type repr uint8

const (
	rRef   repr = iota // string, *List, Range, *Handle, *View, *Array, …; nil is none
	rInt               // int64
	rFloat             // bits of a float64
	rBool              // 0 or 1
)

func reprOf(t *types.Type) repr {
	if t != nil {
		switch t.Kind {
		case types.Int:
			return rInt
		case types.Float:
			return rFloat
		case types.Bool:
			return rBool
		}
	}
	return rRef
}

// Range is a range value: lo, lo+step, … below hi (above, when step < 0).
type Range struct{ Lo, Hi, Step int64 }

// Len returns the number of values, or the largest int when there are more:
// nothing gets so far.
func (r Range) Len() int64 { return int64(min(r.count(), math.MaxInt64)) }

// count is the number of values, which may be more than an int can hold.
func (r Range) count() uint64 {
	switch {
	case r.Step > 0 && r.Lo < r.Hi:
		return (uint64(r.Hi)-uint64(r.Lo)-1)/uint64(r.Step) + 1
	case r.Step < 0 && r.Lo > r.Hi:
		return (uint64(r.Lo)-uint64(r.Hi)-1)/(-uint64(r.Step)) + 1
	}
	return 0
}

// String writes r as in the language.
func (r Range) String() string {
	if r.Step != 1 {
		return fmt.Sprintf("range(%d, %d, %d)", r.Lo, r.Hi, r.Step)
	}
	return fmt.Sprintf("%d..%d", r.Lo, r.Hi)
}

// Task is a task value: what insert gives back.
type Task struct {
	t       *engine.Task // nil in a plan: one of the session before it
	was     *engine.Task // that one
	codelet string
	site    *insertSite
}

// String writes t as in the language.
func (t *Task) String() string {
	k := t.t
	if k == nil {
		k = t.was
	}
	return fmt.Sprintf("task %d %s", k.ID(), t.codelet)
}

// Gate is a gate value.
type Gate struct{ g *engine.Gate }

// Node is a memory node as the language names it: ram, gpu(0).
type Node struct {
	Kind  string // ram, gpu, cuda, opencl, disk
	Index int64  // -1: no index
}

// String writes n as in the language.
func (n Node) String() string {
	if n.Index < 0 {
		return n.Kind
	}
	return fmt.Sprintf("%s(%d)", n.Kind, n.Index)
}

// Worker is a worker by number.
type Worker int

// String writes w as in the language.
func (w Worker) String() string { return fmt.Sprintf("worker %d", int(w)) }

// DeviceKind is cpu, cuda or opencl.
type DeviceKind string

// Reducer is a value of reduce =.
type Reducer struct {
	name          string
	r             *datamgr.Reduction // of sum, prod, min, max
	init, combine *types.Object      // of reducer(…)
}
