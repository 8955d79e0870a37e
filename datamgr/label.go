package datamgr

// What a program attaches to a handle: it means nothing to the engine.

import (
	"slices"
	"sync/atomic"
)

// labels are immutable values, each replaced as a whole.
type labels struct {
	user   atomic.Pointer[any]
	coords atomic.Pointer[[]int]
}

// SetUserData attaches v to the handle, instead of what was attached before. The
// engine only keeps it; parts declared later do not inherit it.
func (h *Handle) SetUserData(v any) { h.more().labels.user.Store(&v) }

// UserData returns what SetUserData attached last; nil for nothing.
func (h *Handle) UserData() any {
	if x := h.extra.Load(); x != nil {
		if p := x.labels.user.Load(); p != nil {
			return *p
		}
	}
	return nil
}

// SetCoordinates says where the handle lies in a grid of the program's, for
// traces and for policies that look at it.
func (h *Handle) SetCoordinates(at ...int) {
	at = slices.Clone(at)
	h.more().labels.coords.Store(&at)
}

// Coordinates returns what SetCoordinates was given last; nil for nothing. The
// caller owns the slice.
func (h *Handle) Coordinates() []int {
	if x := h.extra.Load(); x != nil {
		if p := x.labels.coords.Load(); p != nil {
			return slices.Clone(*p)
		}
	}
	return nil
}
