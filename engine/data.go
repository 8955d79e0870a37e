package engine

// Data: registering it, and declaring views.

import (
	"fmt"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// DataSpec describes data to register.
type DataSpec = datamgr.Spec

// Register declares data and returns the handle of all of it. Data with Home
// lives in that memory, has its value, and must be left alone by the caller
// until it is unregistered and that has ended, except through Acquire; other
// data has no value and takes no memory before it is first written. Registering
// the same memory twice gives unrelated data: the caller orders uses of the one
// after those of the other, and on devices unregisters the one before registering
// the other.
func (rt *Runtime) Register(s DataSpec) (*datamgr.Handle, error) {
	if err := rt.open(); err != nil {
		return nil, err
	}
	s.Unordered = s.Unordered || rt.opt.Unordered
	return rt.reg.Register(&s)
}

// RegisterLike is Register for data of the kind, element type and sizes of h,
// which may be a part; s says the rest.
func (rt *Runtime) RegisterLike(h *datamgr.Handle, s DataSpec) (*datamgr.Handle, error) {
	if h == nil {
		return nil, &ModeError{Other: -1, Message: "no data to register alike: the handle is nil"}
	}
	d := h.Desc()
	s.Kind, s.Elem, s.Dims = d.Kind, d.Elem, d.Shape()
	return rt.Register(s)
}

// RegisterFilled declares data without Home, allocates it and lets fill write
// its elements. When fill fails or panics, nothing stays registered.
func (rt *Runtime) RegisterFilled(s DataSpec, fill func(b *iface.Buffer) error) (h *datamgr.Handle, err error) {
	if err := rt.open(); err != nil {
		return nil, err
	}
	defer func() {
		if v := recover(); v != nil {
			h, err = nil, fmt.Errorf("engine: filling new data: %w", newPanic(v))
		}
	}()
	s.Unordered = s.Unordered || rt.opt.Unordered
	if rt.opt.Plan != nil { // the value is never seen
		return rt.reg.RegisterValued(&s)
	}
	return rt.reg.RegisterFilled(&s, fill)
}

// Partition declares the view of h that applying the filters in turn gives:
// each to every part of the one before. It moves nothing, waits for nothing, and
// may be called while tasks use h. Errors are a *DeadHandleError or the
// filter's, usually a *filter.Error.
func (rt *Runtime) Partition(h *datamgr.Handle, fs ...filter.Filter) (*datamgr.View, error) {
	return rt.PartitionWith(ViewOptions{}, h, fs...)
}

// ViewOptions are uncommon properties of a view: see datamgr.ViewOptions.
type ViewOptions = datamgr.ViewOptions

// PartitionWith is Partition with options. Errors may also be those of the options.
func (rt *Runtime) PartitionWith(o ViewOptions, h *datamgr.Handle, fs ...filter.Filter) (*datamgr.View, error) {
	if err := rt.open(); err != nil {
		return nil, err
	}
	if h == nil {
		return nil, &ModeError{Other: -1, Message: "no data to partition: the handle is nil"}
	}
	if !rt.reg.Owns(h) {
		return nil, rt.alive(-1, h)
	}
	v, err := rt.reg.Partition(h, o, fs...)
	if err == datamgr.ErrDead {
		return nil, rt.alive(-1, h)
	}
	return v, err
}

// EndView ends a view: its parts, and the views of its parts, are dead for later
// tasks. Tasks submitted before are not touched, nor is the data. at says
// where, and may be left out. Without a view, nil, there is nothing to end.
func (rt *Runtime) EndView(v *datamgr.View, at ...*Site) {
	if v == nil {
		return
	}
	rt.reg.EndView(v, first(at))
}

// SetReduction changes how REDUX contributions to h are combined, for tasks
// submitted from now on; nil: h takes none. No task may be using h, and
// contributions must have been combined (any other use does that). Parts
// declared later inherit it.
func (rt *Runtime) SetReduction(h *datamgr.Handle, r *datamgr.Reduction) error {
	if h == nil {
		return &ModeError{Other: -1, Message: "no data to reduce: the handle is nil"}
	}
	if !rt.reg.Owns(h) {
		return rt.alive(-1, h)
	}
	if !managed(h).SetReduction(r) {
		return fmt.Errorf("engine: the reduction of %s cannot change: it is void, a task uses it, contributions are open, or the reduction has no function that initialises", describe(h))
	}
	return nil
}

// managed returns h with the methods that only the engine calls; it costs nothing.
func managed(h *datamgr.Handle) datamgr.Managed { return datamgr.Managed{Handle: h} }

// open reports ErrClosed after Close.
func (rt *Runtime) open() error {
	sub := rt.reg.Lock()
	defer sub.Unlock()
	if rt.closed {
		return ErrClosed
	}
	return nil
}
