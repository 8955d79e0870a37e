package engine

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/sim"
)

var errWire = errors.New("the wire is cut")

// frail is a simulated device that fails when it is told to. It reaches main
// memory only.
type frail struct {
	accel.Device
	lost     atomic.Bool
	copies   atomic.Int64                           // that are to fail
	kernels  atomic.Int64                           // before the device is lost, if it is not 0
	unstable func(s *frailStream, bytes int64) bool // does this copy fail? nil: no
}

type frailStream struct {
	accel.Stream
	d      *frail
	failed bool // the copy before
}

// newFrail makes one; it panics when there is none.
func newFrail(name string, bytes int64, units int) *frail {
	d, err := sim.New(sim.Options{Name: name, Capacity: bytes, Units: units})
	if err != nil {
		panic(err)
	}
	return &frail{Device: d}
}

// flaky makes copies of d fail now and then, never twice in a row.
func (d *frail) flaky(seed uint64) *frail {
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(seed, 1))
	d.unstable = func(s *frailStream, _ int64) bool {
		mu.Lock()
		defer mu.Unlock()
		s.failed = !s.failed && r.IntN(8) == 0
		return s.failed
	}
	return d
}

func (d *frail) Reaches(m accel.Memory) bool { return m.Name() == "ram" }

func (d *frail) NewStream() (accel.Stream, error) {
	s, err := d.Device.NewStream()
	return &frailStream{Stream: s, d: d}, err
}

func (d *frail) err() error {
	if d.lost.Load() {
		return &accel.LostError{Device: d.Name(), Err: errWire}
	}
	return nil
}

func (s *frailStream) Copy(c *accel.Copy) error {
	if err := s.d.err(); err != nil {
		return err
	}
	if s.d.copies.Load() > 0 && s.d.copies.Add(-1) >= 0 || s.d.unstable != nil && s.d.unstable(s, c.Total()) {
		return errWire
	}
	return s.Stream.Copy(c)
}

func (s *frailStream) Do(w accel.Work, fn func() error) error {
	if err := s.d.err(); err != nil {
		return err
	}
	if s.d.kernels.Load() > 0 && s.d.kernels.Add(-1) == 0 {
		s.d.lost.Store(true)
		_ = fn() // it had begun
		return s.d.err()
	}
	return s.Stream.Do(w, fn)
}

// onDevices makes a runtime with a CPU worker and these devices, one worker each.
func onDevices(t *testing.T, ds ...*frail) (*Runtime, *Job) {
	var o Options
	for _, d := range ds {
		o.Devices = append(o.Devices, d)
	}
	o.Workers = 1
	return start(t, o)
}
