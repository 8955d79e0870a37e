package opencl

import (
	"sync"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/dynlib"
)

// memory is the memory of a device; it implements accel.Memory.
type memory struct {
	*accel.Usage
	dev *Device
	// commit: have the driver find the memory when it is allocated. Most do so when
	// a buffer is first used, and a task would find out too late.
	commit bool

	mu struct {
		sync.Mutex
		*space
		closed bool
	}
	queue struct { // of commit
		sync.Mutex
		q clQueue
	}
}

func newMemory(d *Device, capacity int64) (*memory, error) {
	s, err := newSpace(capacity)
	if err != nil {
		return nil, err
	}
	m := &memory{Usage: accel.NewUsage(d.info.Name, capacity), dev: d, commit: !d.info.Unified}
	m.mu.space = s
	return m, nil
}

// Host implements accel.Memory.
func (m *memory) Host() bool { return false }

// Alloc implements accel.Memory. No lock is held while the driver works.
func (m *memory) Alloc(bytes int64) (unsafe.Pointer, error) {
	if err := m.dev.usable(); err != nil {
		return nil, err
	}
	if err := m.Reserve(bytes); err != nil {
		return nil, err
	}
	buf, err := m.create(bytes)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil {
		if addr, ok := m.mu.alloc(uintptr(max(bytes, 1)), buf); ok {
			m.Keep()
			return m.at(addr), nil
		}
		dynlib.Call(m.dev.api.releaseMemObject, uintptr(buf))
	}
	m.Release(bytes)
	if err != nil {
		if _, ok := err.(*Error); !ok {
			return nil, err
		}
	}
	full := m.Full(bytes)
	full.Err = err
	if e, ok := err.(*Error); ok && code(e.Code) == invalidBufferSize {
		full.Largest = m.dev.info.Largest
	}
	return nil, full
}

// at makes an address a pointer: one into a range that is not Go's, which the
// collector lets alone.
func (m *memory) at(addr uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&addr)) }

// create makes a buffer. The error is an *Error when there is no room.
func (m *memory) create(bytes int64) (clMem, error) {
	a := m.dev.api
	size := (max(bytes, 1) + 3) &^ 3
	var c int32
	buf := clMem(dynlib.Call(a.createBuffer, uintptr(m.dev.ctx), memReadWrite, uintptr(size), 0, uintptr(ptr(&c))))
	if err := m.dev.failed(code(c), "clCreateBuffer", false); err != nil {
		return 0, err
	}
	if !m.commit {
		return buf, nil
	}
	if err := m.place(buf); err != nil {
		dynlib.Call(a.releaseMemObject, uintptr(buf))
		return 0, err
	}
	return buf, nil
}

// place has the driver find memory for a buffer, without moving anything.
func (m *memory) place(buf clMem) error {
	a, d := m.dev.api, m.dev
	m.queue.Lock()
	defer m.queue.Unlock()
	if m.queue.q == 0 {
		q, err := d.newQueue()
		if err != nil {
			return err
		}
		m.queue.q = q
	}
	c := code(int32(dynlib.Call(a.migrate, uintptr(m.queue.q), 1, uintptr(ptr(&buf)), migrateContentUndefined, 0, 0, 0)))
	if err := d.failed(c, "clEnqueueMigrateMemObjects", false); err != nil {
		return err
	}
	c = code(int32(dynlib.Call(a.finish, uintptr(m.queue.q))))
	return d.failed(c, "clFinish", false)
}

// Free implements accel.Memory.
func (m *memory) Free(p unsafe.Pointer, bytes int64) {
	m.mu.Lock()
	b, ok := m.mu.free(uintptr(p))
	if ok {
		m.Release(bytes)
	}
	m.mu.Unlock()
	if ok {
		dynlib.Call(m.dev.api.releaseMemObject, uintptr(b.mem))
	}
}

// find returns the buffer that holds the bytes from p on, and the offset of p in it.
func (m *memory) find(p unsafe.Pointer, bytes int64) (clMem, uintptr, error) {
	m.mu.Lock()
	mem, offset, ok := m.mu.find(uintptr(p), uintptr(max(bytes, 0)))
	m.mu.Unlock()
	if !ok {
		return 0, 0, &AddressError{m.Name(), uintptr(p), bytes}
	}
	return mem, offset, nil
}

// close releases buffers that were not freed.
func (m *memory) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.closed {
		return
	}
	m.mu.closed = true
	for _, b := range m.mu.blocks {
		dynlib.Call(m.dev.api.releaseMemObject, uintptr(b.mem))
	}
	m.mu.space.giveBack()
	m.mu.space = &space{}
	m.queue.Lock()
	defer m.queue.Unlock()
	if m.queue.q != 0 {
		dynlib.Call(m.dev.api.releaseCommandQueue, uintptr(m.queue.q))
	}
}
