package opencl

import (
	"fmt"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/dynlib"
)

// place is one side of a copy: a buffer of the device, or an address.
type place struct {
	mem    clMem // 0: main memory
	offset int64 // in the buffer, of the copy's address
	host   unsafe.Pointer
}

// copyFailure words the errors of a copy.
type copyFailure struct {
	from, to string
	bytes    int64
}

func (f *copyFailure) failed(err error) error {
	return &accel.CopyError{From: f.from, To: f.to, Bytes: f.bytes, Err: err}
}

// Copy implements accel.Stream.
func (s *Stream) Copy(c *accel.Copy) error {
	if err := s.usable(); err != nil {
		return err
	}
	if err := c.Check(); err != nil {
		return err
	}
	f := &copyFailure{c.Src.Mem.Name(), c.Dst.Mem.Name(), c.Total()}
	if c.Total() == 0 {
		return nil
	}
	dst, err := s.dev.locate(&c.Dst, c, &c.DstStep)
	if err != nil {
		return f.failed(err)
	}
	src, err := s.dev.locate(&c.Src, c, &c.SrcStep)
	if err != nil {
		return f.failed(err)
	}
	if dst.mem == 0 && src.mem == 0 {
		return f.failed(fmt.Errorf("neither is memory of %s", s.dev.Name()))
	}
	// Inside one buffer a rectangle would need the same steps on both sides.
	return plan(c, dst.mem == src.mem, func(r *rect) error { return s.copyRect(*r, dst, src, f) })
}

// locate finds one side of c.
func (d *Device) locate(p *accel.Place, c *accel.Copy, step *[accel.MaxCounts]int64) (place, error) {
	if p.Mem != accel.Memory(d.mem) {
		if !d.Reaches(p.Mem) {
			return place{}, fmt.Errorf("%s does not reach %s", d.Name(), p.Mem.Name())
		}
		return place{host: p.Ptr}, nil
	}
	first, bytes := extent(c, step)
	mem, offset, err := d.mem.find(unsafe.Add(p.Ptr, first), bytes)
	return place{mem: mem, offset: int64(offset) - first}, err
}

// copyRect begins one command.
func (s *Stream) copyRect(r rect, dst, src place, f *copyFailure) error {
	a := s.dev.api
	o := &op{what: f}
	switch {
	case src.mem == 0:
		host := unsafe.Add(src.host, r.src.offset)
		o.keep = host
		o.begin = func() (clEvent, error) {
			return s.transfer(a.write, a.writeRect, "clEnqueueWriteBuffer", dst.mem, dst.offset, &r.dst, host, &r.src, &r.size)
		}
	case dst.mem == 0:
		host := unsafe.Add(dst.host, r.dst.offset)
		o.keep = host
		o.begin = func() (clEvent, error) {
			return s.transfer(a.read, a.readRect, "clEnqueueReadBuffer", src.mem, src.offset, &r.src, host, &r.dst, &r.size)
		}
	default:
		o.begin = func() (clEvent, error) { return s.inside(&r, dst, src) }
	}
	return s.submit(o)
}

// transfer begins a copy between a buffer and main memory. It does not block.
func (s *Stream) transfer(flat, rect uintptr, name string, mem clMem, base int64, dev *side, host unsafe.Pointer, at *side, size *[3]int64) (clEvent, error) {
	var ev clEvent
	var c uintptr
	offset := base + dev.offset
	if size[1] == 1 && size[2] == 1 {
		c = dynlib.Call(flat, uintptr(s.queue), uintptr(mem), 0, uintptr(offset), uintptr(size[0]), uintptr(host), 0, 0, uintptr(ptr(&ev)))
	} else {
		name += "Rect"
		origin, zero := [3]int64{offset, 0, 0}, [3]int64{}
		c = dynlib.Call(rect, uintptr(s.queue), uintptr(mem), 0, uintptr(ptr(&origin)), uintptr(ptr(&zero)), uintptr(ptr(size)),
			uintptr(dev.row), uintptr(dev.slice), uintptr(at.row), uintptr(at.slice), uintptr(host), 0, 0, uintptr(ptr(&ev)))
	}
	return ev, s.dev.handedOver(code(int32(c)), name)
}

// inside begins a copy between two places of the device.
func (s *Stream) inside(r *rect, dst, src place) (clEvent, error) {
	var ev clEvent
	var c uintptr
	name := "clEnqueueCopyBuffer"
	to, from := dst.offset+r.dst.offset, src.offset+r.src.offset
	if r.flat() {
		c = dynlib.Call(s.dev.api.copy, uintptr(s.queue), uintptr(src.mem), uintptr(dst.mem), uintptr(from), uintptr(to), uintptr(r.size[0]),
			0, 0, uintptr(ptr(&ev)))
	} else {
		name += "Rect"
		d, o := [3]int64{to, 0, 0}, [3]int64{from, 0, 0}
		c = dynlib.Call(s.dev.api.copyRect, uintptr(s.queue), uintptr(src.mem), uintptr(dst.mem), uintptr(ptr(&o)), uintptr(ptr(&d)), uintptr(ptr(&r.size)),
			uintptr(r.src.row), uintptr(r.src.slice), uintptr(r.dst.row), uintptr(r.dst.slice), 0, 0, uintptr(ptr(&ev)))
	}
	return ev, s.dev.handedOver(code(int32(c)), name)
}

// handedOver makes an error of what handing over a command returned. A driver that
// finds memory when a buffer is first used says here that there is none.
func (d *Device) handedOver(c code, name string) error {
	err := d.failed(c, name, false)
	if c == allocationFailure {
		full := d.mem.Full(0)
		full.Err = err
		return full
	}
	return err
}
