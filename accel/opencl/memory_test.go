package opencl

import (
	"errors"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/accel"
)

// TestSpace allocates and frees at random, and looks everything up.
func TestSpace(t *testing.T) {
	const size = 1 << 16
	s := &space{base: 1 << 20, size: size, next: 1 << 20}
	r := rand.New(rand.NewPCG(5, 6))
	live := map[uintptr]block{}
	refused, reused := 0, false
	high := uintptr(0)
	for i := range 20000 {
		if r.IntN(2) == 0 {
			n := 1 + uintptr(r.IntN(2000))
			mem := clMem(i + 1)
			addr, ok := s.alloc(n, mem)
			if !ok {
				refused++
				continue
			}
			if addr%grain != 0 || addr < s.base || addr+n > s.base+size {
				t.Fatalf("%d bytes at %#x", n, addr)
			}
			for a, b := range live {
				if addr <= a+b.size && a <= addr+n {
					t.Fatalf("%d bytes at %#x, and %d at %#x", n, addr, b.size, a)
				}
			}
			reused = reused || addr < high
			high = max(high, addr)
			live[addr] = block{addr, n, mem}
		} else {
			for a, b := range live {
				if got, ok := s.free(a); !ok || got != b {
					t.Fatalf("freeing %#x: %+v, %v", a, got, ok)
				}
				if _, ok := s.free(a); ok {
					t.Fatalf("%#x is freed twice", a)
				}
				delete(live, a)
				break
			}
		}
		for a, b := range live {
			at := uintptr(r.IntN(int(b.size) + 1))
			if mem, off, ok := s.find(a+at, b.size-at); !ok || mem != b.mem || off != at {
				t.Fatalf("%d in %+v: %d, %d, %v", at, b, mem, off, ok)
			}
			if _, _, ok := s.find(a+at, b.size-at+1); ok {
				t.Fatalf("%d bytes at %d in %+v", b.size-at+1, at, b)
			}
			if _, _, ok := s.find(a+b.size+1, 0); ok {
				t.Fatalf("the gap behind %+v", b)
			}
			break
		}
	}
	if refused == 0 || !reused || len(s.blocks) != len(live) {
		t.Errorf("%d refused, some reused: %v, %d of %d", refused, reused, len(s.blocks), len(live))
	}
	if _, ok := s.alloc(size+1, 1); ok {
		t.Error("more than the range has")
	}
	if _, ok := s.alloc(^uintptr(0), 1); ok {
		t.Error("more than there can be")
	}
}

// TestRanges: addresses of two devices never meet, and those of a closed one are
// used for devices only.
func TestRanges(t *testing.T) {
	reserved.Lock()
	others := reserved.free // of devices that were closed
	reserved.free = nil
	reserved.Unlock()
	defer func() {
		reserved.Lock()
		defer reserved.Unlock()
		reserved.free = append(reserved.free, others...)
	}()
	a, err := newSpace(1 << 30)
	must(t, err)
	b, err := newSpace(1 << 30)
	must(t, err)
	if a.base < b.base+b.size && b.base < a.base+a.size {
		t.Errorf("%#x and %#x", a.base, b.base)
	}
	was := a.base
	a.giveBack()
	c, err := newSpace(1 << 30)
	must(t, err)
	if c.base != was {
		t.Errorf("%#x was given back, and %#x comes", was, c.base)
	}
	b.giveBack()
	c.giveBack()
	if _, err := newSpace(1 << 62); err == nil {
		t.Error("more than there can be")
	}
}

func TestMemory(t *testing.T) {
	d := open(t, Driver{Capacity: 1 << 20})[0]
	if d.mem.Capacity() != 1<<20 || d.mem.Host() || d.mem.Name() != d.Name() {
		t.Errorf("%d bytes, main memory: %v, %s", d.mem.Capacity(), d.mem.Host(), d.mem.Name())
	}
	p, err := d.mem.Alloc(1 << 19)
	must(t, err)
	_, err = d.mem.Alloc(1<<19 + 1)
	var full *accel.NoMemoryError
	if !errors.As(err, &full) || *full != (accel.NoMemoryError{Node: d.Name(), Want: 1<<19 + 1, Allocated: 1 << 19, Capacity: 1 << 20}) {
		t.Errorf("full: %v", err)
	}
	q, err := d.mem.Alloc(1 << 19)
	must(t, err)
	d.mem.Free(q, 1<<19)
	d.mem.Free(p, 1<<19)
	if d.mem.Allocated() != 0 || d.mem.Peak() != 1<<20 {
		t.Errorf("%d bytes in use, %d at most", d.mem.Allocated(), d.mem.Peak())
	}
	s := stream(t, d)
	for what, p := range map[string]unsafe.Pointer{"freed": p, "nowhere": nil, "of main memory": unsafe.Pointer(new([8]byte))} {
		var bad *AddressError
		if err := s.Copy(flat(accel.Place{Mem: d.mem, Ptr: p}, host(make([]byte, 8)), 8)); !errors.As(err, &bad) || bad.Node != d.Name() {
			t.Errorf("an address %s: %v", what, err)
		}
	}
}

// TestLargest: a driver that refuses a size does not say that it is full.
func TestLargest(t *testing.T) {
	d := first(t)
	if d.info.Largest >= d.info.Global {
		t.Skipf("%s gives out all it has at once", d.Name())
	}
	d.mem.Usage = accel.NewUsage(d.Name(), d.info.Global)
	_, err := d.mem.Alloc(d.info.Largest + 1<<20)
	var full *accel.NoMemoryError
	if !errors.As(err, &full) || full.Largest != d.info.Largest || full.Err == nil || d.mem.Allocated() != 0 {
		t.Errorf("%v, %d in use", err, d.mem.Allocated())
	}
}

// TestCommit has the driver find memory at once, as on graphics cards.
func TestCommit(t *testing.T) {
	d := first(t)
	d.mem.commit = true
	s := stream(t, d)
	for range 3 {
		m := alloc(t, d, 1000)
		b := raw([]int64{1, 2, 3})
		put(t, s, m, b)
		if got := get(t, s, m, 24); string(got) != string(b) {
			t.Errorf("%v", got)
		}
	}
	f := breakable(d, false)
	f.set(&f.lost)()
	if _, err := d.mem.Alloc(8); !errors.As(err, new(*accel.LostError)) {
		t.Errorf("lost: %v", err)
	}
}
