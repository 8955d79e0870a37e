package accel

// Copies and kernels that the program's own goroutines carry out.

import (
	"time"
	"unsafe"
)

// CopyHost carries out c between two places that the program may follow.
func CopyHost(c *Copy) {
	_ = c.EachRow(func(dst, src unsafe.Pointer) error {
		copy(unsafe.Slice((*byte)(dst), c.Bytes), unsafe.Slice((*byte)(src), c.Bytes))
		return nil
	})
}

// HostStream is a stream on which everything has ended when the call returns.
type HostStream struct{}

// Copy implements Stream.
func (HostStream) Copy(c *Copy) error {
	if err := c.Check(); err != nil {
		return err
	}
	CopyHost(c)
	return nil
}

// Do implements Stream.
func (HostStream) Do(_ Work, fn func() error) error { return fn() }

// Record implements Stream.
func (HostStream) Record() (Event, error) { return hostEvent(time.Now()), nil }

// Wait implements Stream.
func (HostStream) Wait(Event) error { return nil }

// Sync implements Stream.
func (HostStream) Sync() error { return nil }

// Close implements Stream.
func (HostStream) Close() error { return nil }

// hostEvent is a moment that has passed.
type hostEvent time.Time

func (hostEvent) Done() (bool, error) { return true, nil }
func (hostEvent) Sync() error         { return nil }

func (e hostEvent) Since(o Event) (time.Duration, bool) {
	h, ok := o.(hostEvent)
	return time.Time(e).Sub(time.Time(h)), ok
}
