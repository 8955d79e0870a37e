package datamgr

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr/iface"
)

func bytesRegistry() *Registry { return NewRegistry(accel.NewHeap("ram", 1<<30)) }

// bytesOfSpec are the bytes of memory, from base, that data takes.
func bytesOfSpec(s *Spec, base unsafe.Pointer) map[uintptr]bool {
	d, _ := s.desc()
	stride := s.strides(&d)
	size := d.Elem.Size()
	all := map[uintptr]bool{}
	at := [iface.MaxRank]int{}
	for range d.Len() {
		off := 0
		for k := range int(d.Rank) {
			off += at[k] * stride[k]
		}
		for b := range size {
			all[uintptr(s.Home)-uintptr(base)+uintptr(off)*size+b] = true
		}
		for k := int(d.Rank) - 1; k >= 0; k-- {
			if at[k]++; at[k] < d.Dim[k] {
				break
			}
			at[k] = 0
		}
	}
	return all
}

// TestHomes registers and ends random data in one piece of memory: sharing bytes with other
// data is an error exactly when it does, and Lookup finds what is registered.
func TestHomes(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	mem := make([]int16, 400)
	base := unsafe.Pointer(&mem[0])
	g := bytesRegistry()
	type live struct {
		h    *Handle
		s    *Spec
		took map[uintptr]bool
	}
	var all []live
	refused, taken := 0, 0
	for range 6000 {
		if len(all) > 0 && r.IntN(3) == 0 {
			i := r.IntN(len(all))
			sub := g.Lock()
			sub.End(all[i].h, nil)
			sub.Unlock()
			all = append(all[:i], all[i+1:]...)
			continue
		}
		s := &Spec{Elem: []iface.Elem{iface.I8, iface.I16, iface.I32}[r.IntN(3)], ReadOnly: r.IntN(4) == 0, Home: unsafe.Add(base, 4*r.IntN(100))}
		switch r.IntN(4) {
		case 0:
			s.Kind = iface.Variable
		case 1:
			s.Kind, s.Dims = iface.Vector, []int{r.IntN(12)}
			if r.IntN(2) == 0 {
				s.Step = []int{1 + r.IntN(6)}
			}
		case 2:
			s.Kind, s.Dims = iface.Matrix, []int{1 + r.IntN(4), 1 + r.IntN(4)}
			s.LD = []int{0, 4, 8, 11}[r.IntN(4)]
		default:
			s.Kind, s.Dims = iface.Block, []int{1 + r.IntN(3), 1 + r.IntN(3), 1 + r.IntN(3)}
			if r.IntN(2) == 0 {
				s.Step = []int{[]int{9, 12, 24}[r.IntN(3)], []int{3, 4}[r.IntN(2)]}
			}
		}
		if s.Kind == iface.Block && s.Step != nil && s.Step[1]*s.Dims[1] > s.Step[0] {
			continue
		}
		took := bytesOfSpec(s, base)
		shares := false
		for _, l := range all {
			for b := range l.took {
				shares = shares || took[b] && !(s.ReadOnly && l.s.ReadOnly)
			}
		}
		h, err := g.Register(s)
		var e *SharedMemoryError
		switch {
		case shares != errors.As(err, &e):
			t.Fatalf("%+v: shares %v, error %v", s, shares, err)
		case err == nil:
			all = append(all, live{h, s, took})
			taken++
		default:
			refused++
		}
		for _, l := range all {
			found := g.Lookup(l.s.Home)
			if len(l.took) == 0 {
				continue
			}
			if found == nil || found != l.h && !(found.ReadOnly() && l.s.ReadOnly) {
				t.Fatalf("%v is at %p, and %v is found there", l.h.Desc(), l.s.Home, found)
			}
		}
	}
	if refused < 500 || taken < 500 {
		t.Errorf("%d were refused and %d registered", refused, taken)
	}
	if h := g.Lookup(unsafe.Add(base, 1)); h != nil {
		t.Errorf("in the middle of nothing there is %v", h.Desc())
	}
	if h := g.Lookup(nil); h != nil {
		t.Error("nil is data")
	}
}

// TestSharedMemoryError: both data are named.
func TestSharedMemoryError(t *testing.T) {
	x := make([]float64, 10)
	g := bytesRegistry()
	a, err := g.Register(&Spec{Kind: iface.Vector, Elem: iface.F64, Dims: []int{6}, Home: unsafe.Pointer(&x[0]), Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = g.Register(&Spec{Kind: iface.Vector, Elem: iface.F64, Dims: []int{5}, Home: unsafe.Pointer(&x[5]), Name: "b"})
	var e *SharedMemoryError
	if !errors.As(err, &e) || e.Other != a || e.Name != "b" || !strings.Contains(err.Error(), "`b` (vector[f64] of 5) shares memory with `a` (vector[f64] of 6): ") {
		t.Errorf("%v", err)
	}
	if _, err := g.Register(&Spec{Kind: iface.Vector, Elem: iface.F64, Dims: []int{4}, Home: unsafe.Pointer(&x[6])}); err != nil {
		t.Errorf("beside it: %v", err)
	}
}

// BenchmarkRegisterHomes registers and ends data in memory of the program: vectors side by side,
// and the tiles of a matrix, whose rows lie between each other.
func BenchmarkRegisterHomes(b *testing.B) {
	const n = 1 << 14
	mem := make([]float32, 16*n)
	for name, spec := range map[string]func(i int) Spec{
		"none": func(i int) Spec { return Spec{Kind: iface.Vector, Elem: iface.F32, Dims: []int{16}} },
		"vectors": func(i int) Spec {
			return Spec{Kind: iface.Vector, Elem: iface.F32, Dims: []int{16}, Home: unsafe.Pointer(&mem[16*i])}
		},
		"tiles": func(i int) Spec { // 128 x 128 of 4 x 4
			return Spec{Kind: iface.Matrix, Elem: iface.F32, Dims: []int{4, 4}, LD: 512, Home: unsafe.Pointer(&mem[i/128*4*512+i%128*4])}
		},
	} {
		b.Run(name, func(b *testing.B) {
			g := bytesRegistry()
			hs := make([]*Handle, 0, n)
			for i := 0; b.Loop(); i++ {
				if len(hs) == n {
					b.StopTimer()
					sub := g.Lock()
					for _, h := range hs {
						sub.End(h, nil)
					}
					sub.Unlock()
					hs = hs[:0]
					b.StartTimer()
				}
				s := spec(len(hs) * 7919 % n) // in no order
				h, err := g.Register(&s)
				if err != nil {
					b.Fatal(err)
				}
				hs = append(hs, h)
			}
		})
	}
}
