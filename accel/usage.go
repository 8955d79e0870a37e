package accel

import "sync"

// Usage counts what is allocated of a memory: what is the same for all of them. It
// implements those methods of Memory, and is safe for concurrent use.
type Usage struct {
	name     string
	capacity int64
	mu       struct {
		sync.Mutex
		allocated, peak int64
	}
}

// NewUsage returns a Usage for a memory with this name and capacity in bytes.
func NewUsage(name string, capacity int64) *Usage { return &Usage{name: name, capacity: capacity} }

// Name implements Memory.
func (u *Usage) Name() string { return u.name }

// Capacity implements Memory.
func (u *Usage) Capacity() int64 { return u.capacity }

// Allocated implements Memory.
func (u *Usage) Allocated() int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.mu.allocated
}

// Peak implements Memory.
func (u *Usage) Peak() int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.mu.peak
}

// Reserve counts bytes that are about to be allocated, or returns a *NoMemoryError.
// Keep follows when there was such memory, else Release.
func (u *Usage) Reserve(bytes int64) error {
	if bytes < 0 {
		bytes = 1<<63 - 1 // a size that overflowed
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if bytes > u.capacity-u.mu.allocated {
		return u.fullLocked(bytes)
	}
	u.mu.allocated += bytes
	return nil
}

// Keep says that what was reserved is in use.
func (u *Usage) Keep() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.mu.peak = max(u.mu.peak, u.mu.allocated)
}

// Grow counts bytes more, or less, of memory that is in use, even beyond the capacity: of values that
// change their size while they are there.
func (u *Usage) Grow(bytes int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.mu.allocated += bytes
	u.mu.peak = max(u.mu.peak, u.mu.allocated)
}

// Release takes bytes back that were reserved.
func (u *Usage) Release(bytes int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.mu.allocated -= bytes
}

// Full is the error for bytes that are not there.
func (u *Usage) Full(bytes int64) *NoMemoryError {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.fullLocked(bytes)
}

func (u *Usage) fullLocked(bytes int64) *NoMemoryError {
	return &NoMemoryError{Node: u.name, Want: bytes, Allocated: u.mu.allocated, Capacity: u.capacity}
}
