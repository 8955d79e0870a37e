package accel

// Streams: how work gets to a device.

import (
	"errors"
	"fmt"
	"math"
	"time"
	"unsafe"
)

// Place is an address in a memory. Only streams of a device may follow it, unless
// Mem.Host() holds.
type Place struct {
	Mem Memory
	Ptr unsafe.Pointer
}

// MaxCounts is the number of counts of a Copy.
const MaxCounts = 8

// Copy describes a copy of Count[0] x Count[1] x … rows. The rows of either side
// do not overlap, and the sides share no memory.
type Copy struct {
	Dst, Src Place
	Bytes    int64            // of a row: they lie side by side on both sides
	Count    [MaxCounts]int64 // 1 for axes that are not used; 0 anywhere copies nothing
	// From a row to the next of an axis, in bytes; unused where Count is 1.
	DstStep, SrcStep [MaxCounts]int64
}

// Counts returns the counts n, followed by 1 for the axes that are not used.
func Counts(n ...int64) (all [MaxCounts]int64) {
	for k := range all {
		all[k] = 1
	}
	copy(all[:], n)
	return all
}

// EachRow calls fn with the addresses of each row of c, in order, until fn fails.
func (c *Copy) EachRow(fn func(dst, src unsafe.Pointer) error) error {
	if c.Total() == 0 {
		return nil
	}
	var axes, at [MaxCounts]int64 // those with more than one count, and where they are
	used := axes[:0]
	for k, n := range c.Count {
		if n > 1 {
			used = append(used, int64(k))
		}
	}
	dst, src := c.Dst.Ptr, c.Src.Ptr
	for {
		if err := fn(dst, src); err != nil {
			return err
		}
		i := len(used) - 1
		for ; i >= 0; i-- {
			k := used[i]
			if at[i]++; at[i] < c.Count[k] {
				dst, src = unsafe.Add(dst, c.DstStep[k]), unsafe.Add(src, c.SrcStep[k])
				break
			}
			back := c.Count[k] - 1
			dst, src, at[i] = unsafe.Add(dst, -back*c.DstStep[k]), unsafe.Add(src, -back*c.SrcStep[k]), 0
		}
		if i < 0 {
			return nil
		}
	}
}

// Total is the number of bytes that c copies.
func (c *Copy) Total() int64 {
	n := c.Bytes
	for _, k := range c.Count {
		n *= k
	}
	return n
}

// Check returns an error when c makes no sense whatever the device: a memory is
// missing, a size is negative, or the total overflows.
func (c *Copy) Check() error {
	if c.Dst.Mem == nil || c.Src.Mem == nil {
		return errors.New("accel: a copy without a memory on each side")
	}
	n := c.Bytes
	for _, k := range c.Count {
		if n < 0 || k < 0 || k > 0 && n > math.MaxInt64/k {
			return fmt.Errorf("accel: a copy of %v rows of %d bytes", c.Count, c.Bytes)
		}
		n *= k
	}
	return nil
}

// Work describes a kernel to a stream that calls functions of this process.
type Work struct {
	Name  string  // of the codelet
	Bytes int64   // of its operands
	Flops float64 // 0: unknown
}

// Stream is a queue of a device: what is begun on it happens in that order, and
// in no order with what is begun on others, but for Wait. One goroutine at a time
// uses a stream. Only Sync, Event.Sync and, on devices with Arch "cpu", Do wait.
//
// The first error of an operation that had begun is what Sync and later events
// of the stream return, until Sync has returned it once. A *LostError stays.
type Stream interface {
	// Copy begins a copy between the device's memory and either main memory or a
	// memory that the device reaches. The caller keeps both blocks until the copy
	// has ended.
	Copy(c *Copy) error
	// Do calls fn, a kernel that is a function of this process, once everything
	// begun on the stream has ended, and returns its error once it has ended, on the
	// caller's goroutine. Devices whose Arch is not "cpu" return ErrNotHere: a
	// kernel for those begins its work by methods of their own type of stream.
	Do(w Work, fn func() error) error
	// Record returns an event that happens when everything begun on the stream so
	// far has ended.
	Record() (Event, error)
	// Wait makes what is begun from now on wait for e, which a stream of the same
	// driver recorded.
	Wait(e Event) error
	// Sync returns when everything begun has ended.
	Sync() error
	// Close waits like Sync and gives up the stream. A second call does nothing.
	Close() error
}

// Event is a moment in a stream. It may be used by many goroutines.
type Event interface {
	// Done reports whether it has happened. The error is that of an operation
	// before it.
	Done() (bool, error)
	// Sync returns when it has happened, like Done.
	Sync() error
	// Since is the time on the device's clock between an event of the same device
	// and this one, when both have happened; false: the device does not tell.
	Since(e Event) (time.Duration, bool)
}
