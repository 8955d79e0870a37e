package accel

// Copies and kernels that the program's own goroutines carry out.

import (
	"time"
	"unsafe"
)

// CopyHost carries out c between two places that the program may follow.
func CopyHost(c *Copy) {
	n := &c.Count
	for a := range n[0] {
		for b := range n[1] {
			for e := range n[2] {
				for f := range n[3] {
					d := unsafe.Add(c.Dst.Ptr, a*c.DstStep[0]+b*c.DstStep[1]+e*c.DstStep[2]+f*c.DstStep[3])
					s := unsafe.Add(c.Src.Ptr, a*c.SrcStep[0]+b*c.SrcStep[1]+e*c.SrcStep[2]+f*c.SrcStep[3])
					copy(unsafe.Slice((*byte)(d), c.Bytes), unsafe.Slice((*byte)(s), c.Bytes))
				}
			}
		}
	}
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
