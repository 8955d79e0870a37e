package interp

// Two names for the same memory: the order of accesses is kept for each piece of
// data, and what is bound twice would be two.

import (
	"fmt"
	"sync"
)

// checkAlias reports bindings that share elements, unless nobody may write any.
func checkAlias(bs []NamedBinding) error {
	for i := range bs {
		for k := range i {
			a, b := bs[k].Data, bs[i].Data
			if !(a.ReadOnly && b.ReadOnly) && a.shares(b) {
				return fmt.Errorf("lang: Bind(%q): it shares memory with %q; bind it once and partition it in the script, or bind both lang.ReadOnly()", bs[i].Name, bs[k].Name)
			}
		}
	}
	return nil
}

// claims are what the live runs of the process have bound. The order of accesses is kept
// within a run: two that write the same memory would each see the other's halves.
var claims struct {
	sync.Mutex
	of map[*Machine][]claim
}

// A claim is a binding and the addresses it lies between.
type claim struct {
	NamedBinding
	lo, hi uintptr
}

// claim notes bindings of m, beside those it has claimed, until disclaim. The error says which one a run that is
// not closed has, too, unless neither may write it.
func (m *Machine) claim(bs []NamedBinding) error {
	if len(bs) == 0 {
		return nil
	}
	mine := make([]claim, 0, len(bs))
	for _, b := range bs {
		n, bytes, at := b.Data.runs()
		if n*bytes > 0 {
			lo := uintptr(b.Data.Home)
			mine = append(mine, claim{b, lo, lo + at(n-1) + bytes})
		}
	}
	claims.Lock()
	defer claims.Unlock()
	for o, theirs := range claims.of {
		if o == m {
			continue
		}
		if o.rt.Closed() { // nothing of it runs any more
			delete(claims.of, o)
			continue
		}
		for _, a := range theirs {
			for _, b := range mine {
				if a.lo < b.hi && b.lo < a.hi && !(a.Data.ReadOnly && b.Data.ReadOnly) && a.Data.shares(b.Data) {
					return fmt.Errorf("lang: Bind(%q): it shares memory with %q of another instance or session, which is not closed; close that first, or bind both lang.ReadOnly()", b.Name, a.Name)
				}
			}
		}
	}
	if claims.of == nil {
		claims.of = map[*Machine][]claim{}
	}
	claims.of[m] = append(claims.of[m], mine...)
	return nil
}

// disclaim gives up what m has claimed.
func (m *Machine) disclaim() {
	claims.Lock()
	delete(claims.of, m)
	claims.Unlock()
}

// runs returns how many runs of adjacent elements b has, how many bytes each has,
// and where run i begins, in bytes from the first.
func (b *Binding) runs() (count, bytes uintptr, at func(i uintptr) uintptr) {
	size := uintptr(b.Elem.Size())
	count, bytes = 1, size
	if n := len(b.Dims); n > 0 {
		bytes *= uintptr(b.Dims[n-1])
		for _, d := range b.Dims[:n-1] {
			count *= uintptr(d)
		}
	}
	stride := bytes
	if len(b.Dims) == 2 && b.LD > 0 {
		stride = uintptr(b.LD) * size
	}
	if b.Step == nil {
		return count, bytes, func(i uintptr) uintptr { return i * stride }
	}
	return count, bytes, func(i uintptr) uintptr {
		off := uintptr(0)
		for k := len(b.Step) - 1; k >= 0; k-- {
			n := uintptr(b.Dims[k])
			off += i % n * uintptr(b.Step[k]) * size
			i /= n
		}
		return off
	}
}

// shares reports whether a and b have bytes in common: blocks of columns of one
// matrix lie between each other, and have none.
func (a *Binding) shares(b *Binding) bool {
	na, la, sa := a.runs()
	nb, lb, sb := b.runs()
	if na*la == 0 || nb*lb == 0 {
		return false
	}
	for i, k := uintptr(0), uintptr(0); i < na && k < nb; {
		x, y := uintptr(a.Home)+sa(i), uintptr(b.Home)+sb(k)
		switch {
		case x+la <= y:
			i++
		case y+lb <= x:
			k++
		default:
			return true
		}
	}
	return false
}
