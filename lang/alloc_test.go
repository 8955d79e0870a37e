package lang_test

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/sim"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
)

// pinner is a device that has page-locked memory.
type pinner struct {
	accel.Device
	blocks map[unsafe.Pointer][]uint64
	freed  int
	full   error
}

func (p *pinner) AllocPinned(bytes int64) (unsafe.Pointer, error) {
	if p.full != nil {
		return nil, p.full
	}
	block := make([]uint64, bytes/8+1)
	for i := range block {
		block[i] = 42
	}
	at := unsafe.Pointer(&block[0])
	p.blocks[at] = block
	return at, nil
}

func (p *pinner) FreePinned(at unsafe.Pointer) error {
	delete(p.blocks, at)
	p.freed++
	return nil
}

func TestAlloc(t *testing.T) {
	d, err := sim.New(sim.Options{Capacity: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	pins := &pinner{Device: d, blocks: map[unsafe.Pointer][]uint64{}}
	for name, o := range map[string]engine.Options{"heap": {Workers: 1}, "pinned": {Workers: 1, Devices: []accel.Device{pins}}} {
		t.Run(name, func(t *testing.T) {
			rt := newRuntime(t, o)
			s, free, err := lang.Alloc[float32](rt, 1000)
			if err != nil {
				t.Fatal(err)
			}
			if len(s) != 1000 || s[0] != 0 || s[999] != 0 {
				t.Errorf("%d elements, %v to %v", len(s), s[0], s[999])
			}
			if name == "heap" && uintptr(unsafe.Pointer(&s[0]))%64 != 0 {
				t.Error("it is not aligned")
			}
			if _, ok := pins.blocks[unsafe.Pointer(&s[0])]; ok != (name == "pinned") {
				t.Errorf("from the device: %v", ok)
			}
			p := compile(t, lang.Config{}, "extern x: vector[f32]\ncodelet inc(v: RW vector[f32]) { each i in v { v[i] += 1 } }\ninsert inc(RW x)\n")
			inst, err := p.Run(t.Context(), rt, lang.Bind("x", lang.VectorOf(s)))
			if err != nil {
				t.Fatal(err)
			}
			if err := inst.Close(); err != nil {
				t.Fatal(err)
			}
			if s[0] != 1 || s[999] != 1 {
				t.Errorf("%v to %v", s[0], s[999])
			}
			free()
			free()
			if name == "pinned" && pins.freed != 1 {
				t.Errorf("freed %d times", pins.freed)
			}

			empty, free, err := lang.Alloc[int8](rt, 0)
			if err != nil || len(empty) != 0 {
				t.Errorf("%v, %v", empty, err)
			}
			free()
			_, _, err = lang.Alloc[int64](rt, -1)
			wantErr(t, err, "-1 elements")
			_, _, err = lang.Alloc[int64](rt, 1<<62)
			wantErr(t, err, "elements")
			if name == "pinned" {
				pins.full = errors.New("no more of it")
				_, _, err = lang.Alloc[int64](rt, 1)
				wantErr(t, err, "no more of it")
			}
		})
	}
	_, _, err = lang.Alloc[int8](nil, 1)
	wantErr(t, err, "runtime is nil")
	rt := lang.Must(engine.New(engine.Options{Workers: 1}))
	rt.Close()
	if _, _, err = lang.Alloc[int8](rt, 1); !errors.Is(err, engine.ErrClosed) {
		t.Error(err)
	}
}

// CUDA and OpenCL are for devices of their kind.
func TestDeviceOptions(t *testing.T) {
	fn := func(*lang.Task, accel.Stream) error { return nil }
	for arch, o := range map[string]lang.CodeletOption{"cuda": lang.CUDA(fn), "opencl": lang.OpenCL(fn)} {
		c := lang.Must(lang.NewCodelet("c(x: RW vector[f64])", o))
		if on := c.Engine().On; len(on) != 1 || len(on[arch]) != 1 {
			t.Errorf("%s: %v", arch, on)
		}
	}
	_, err := lang.NewCodelet("c(x: RW vector[f64])", lang.CUDA(nil))
	wantErr(t, err, `On("cuda")`, "the function is nil")
}
