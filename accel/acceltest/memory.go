package acceltest

// Devices and their memory.

import (
	"errors"
	"math"
	"sync"
	"unsafe"

	"github.com/starpush/starpush/accel"
)

// alignment is what every element type needs.
const alignment = 16

func (k *kit) devices() {
	names := map[string]bool{}
	k.each(func(d accel.Device) {
		switch {
		case d.Name() == "":
			k.Error("a device has no name")
		case names[d.Name()]:
			k.Errorf("two devices have the name %s", d.Name())
		}
		names[d.Name()] = true
		m := d.Memory()
		if d.Arch() == "" || (d.Units() > 0) == k.o.Memory {
			k.Errorf("%s: %d units for %q", d.Name(), d.Units(), d.Arch())
		}
		if !d.Reaches(k.main) {
			k.Errorf("%s does not reach main memory", d.Name())
		}
		if m == nil || m != d.Memory() {
			k.Fatalf("%s: its memory is %v, and then %v", d.Name(), m, d.Memory())
		}
		if m.Name() == "" || m.Capacity() <= 0 || m.Allocated() != 0 || m.Peak() < 0 {
			k.Errorf("%s: memory %q of %d bytes, %d in use, %d at most", d.Name(), m.Name(), m.Capacity(), m.Allocated(), m.Peak())
		}
	})
}

func (k *kit) memory() {
	k.each(func(d accel.Device) {
		m := d.Memory()
		type block struct {
			p unsafe.Pointer
			n int64
		}
		var blocks []block
		sum := int64(0)
		for _, n := range []int64{1, 8, 63, 64, 65, 4096, 0, 10007, 1} {
			before := m.Allocated()
			p, err := m.Alloc(n)
			if err != nil {
				k.Fatalf("%s: %d bytes: %v", m.Name(), n, err)
			}
			sum += n
			if uintptr(p)%alignment != 0 {
				k.Errorf("%s: %d bytes at %p", m.Name(), n, p)
			}
			if a := m.Allocated(); a < before+n || a < sum {
				k.Errorf("%s: %d bytes are in use, and then, with %d more, %d", m.Name(), before, n, a)
			}
			if n > 0 {
				for _, b := range blocks {
					if uintptr(p) < uintptr(b.p)+uintptr(b.n) && uintptr(b.p) < uintptr(p)+uintptr(n) {
						k.Errorf("%s: %d bytes at %p and %d bytes at %p overlap", m.Name(), n, p, b.n, b.p)
					}
				}
			}
			blocks = append(blocks, block{p, n})
		}
		if m.Peak() < sum || m.Peak() > m.Capacity() {
			k.Errorf("%s: %d bytes at most, with %d in use and a capacity of %d", m.Name(), m.Peak(), sum, m.Capacity())
		}
		for i, b := range blocks {
			before := m.Allocated()
			m.Free(b.p, b.n)
			if a := m.Allocated(); a > before-b.n {
				k.Errorf("%s: %d bytes in use, and %d once %d are freed", m.Name(), before, a, b.n)
			}
			if i == len(blocks)-1 && m.Allocated() != 0 {
				k.Errorf("%s: %d bytes are in use when all are freed", m.Name(), m.Allocated())
			}
		}
		if m.Peak() < sum {
			k.Errorf("%s: freeing makes the peak %d, it was %d", m.Name(), m.Peak(), sum)
		}
	})
}

// full checks an error for want bytes of a memory.
func (k *kit) full(m accel.Memory, want int64, p unsafe.Pointer, err error) {
	k.Helper()
	var none *accel.NoMemoryError
	if !errors.As(err, &none) {
		k.Errorf("%s: %d bytes: %p, %v", m.Name(), want, p, err)
		return
	}
	if p != nil || none.Node != m.Name() || none.Capacity != m.Capacity() || none.Want < want || none.Want <= 0 || none.Allocated < 0 || none.Allocated > none.Capacity {
		k.Errorf("%s: %d bytes: %p, %+v", m.Name(), want, p, *none)
	}
}

// exhaustion fills memories that are small enough, and asks the others for more
// than they have.
func (k *kit) exhaustion() {
	const fillable = 64 << 20
	k.each(func(d accel.Device) {
		m := d.Memory()
		// a negative size is one that overflowed
		for _, n := range []int64{m.Capacity() + 1, math.MaxInt64, -1, math.MinInt64} {
			p, err := m.Alloc(n)
			k.full(m, n, p, err)
		}
		if m.Allocated() != 0 {
			k.Errorf("%s: %d bytes are in use after allocations that failed", m.Name(), m.Allocated())
		}
		if m.Capacity() > fillable {
			return
		}
		piece := max(1, m.Capacity()/7)
		var blocks []unsafe.Pointer
		for {
			p, err := m.Alloc(piece)
			if err != nil {
				k.full(m, piece, p, err)
				break
			}
			blocks = append(blocks, p)
			if int64(len(blocks))*piece > m.Capacity() {
				k.Fatalf("%s: %d times %d bytes of %d", m.Name(), len(blocks), piece, m.Capacity())
			}
		}
		if len(blocks) == 0 {
			return
		}
		m.Free(blocks[0], piece)
		p, err := m.Alloc(piece)
		if err != nil {
			k.Errorf("%s: what was freed cannot be used: %v", m.Name(), err)
		} else {
			blocks[0] = p
		}
		for i, p := range blocks {
			if i > 0 || err == nil {
				m.Free(p, piece)
			}
		}
	})
}

func (k *kit) memoryConcurrently() {
	k.each(func(d accel.Device) {
		m := d.Memory()
		size := max(1, min(100, m.Capacity()/64))
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for i := range int64(100) {
					n := i%size + 1
					p, err := m.Alloc(n)
					if err != nil {
						k.Error(err)
						return
					}
					if a := m.Allocated(); a < n || a > m.Capacity() {
						k.Errorf("%s: %d bytes in use of %d", m.Name(), a, m.Capacity())
					}
					m.Free(p, n)
				}
			})
		}
		all.Wait()
		if m.Allocated() != 0 || m.Peak() < size {
			k.Errorf("%s: %d bytes in use at the end, %d at most", m.Name(), m.Allocated(), m.Peak())
		}
	})
}
