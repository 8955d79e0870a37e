package bus

// Measuring: copies, and how long they take.

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/starpush/starpush/accel"
)

// Sizes of the copies. The first copy of each size is not counted, because it touches
// pages and drivers allocate in it.
const (
	small  = 64
	large  = 8 << 20
	rounds = 7 // of each size; the median counts
)

// Measure measures all links of devices, to and from main memory and between those
// that reach each other. Nothing else should use them meanwhile. Links that
// cannot be measured are left out of the table and named in the error.
func Measure(machine string, main accel.Memory, devices []accel.Device) (*Table, error) {
	t := &Table{Machine: machine, Main: main.Name(), Devices: describe(devices), When: time.Now().Truncate(time.Second)}
	var failed []error
	measure := func(d accel.Device, from, to accel.Memory) {
		if _, ok := t.Link(from.Name(), to.Name()); ok {
			return // by the other device
		}
		l, err := measureLink(d, from, to)
		if err != nil {
			failed = append(failed, fmt.Errorf("measuring the way from %s to %s: %w", from.Name(), to.Name(), err))
			return
		}
		i, _ := slices.BinarySearchFunc(t.Links, l, compare)
		t.Links = slices.Insert(t.Links, i, l)
	}
	for _, d := range devices {
		m := d.Memory()
		if m == main {
			continue
		}
		measure(d, main, m)
		measure(d, m, main)
		for _, o := range devices {
			if p := o.Memory(); p != m && p != main && d.Reaches(p) {
				measure(d, m, p)
				measure(d, p, m)
			}
		}
	}
	return t, errors.Join(failed...)
}

// measureLink measures one way by a stream of d.
func measureLink(d accel.Device, from, to accel.Memory) (l Link, err error) {
	s, err := d.NewStream()
	if err != nil {
		return l, err
	}
	defer func() {
		if e := s.Close(); err == nil {
			err = e
		}
	}()
	n := int64(large)
	for _, m := range []accel.Memory{from, to} { // less than what is free, or others would be in trouble
		for n > 1 && n > (m.Capacity()-m.Allocated())/4 {
			n /= 2
		}
	}
	var places [2]accel.Place
	for i, m := range []accel.Memory{from, to} {
		p, err := m.Alloc(n)
		if err != nil {
			return l, err
		}
		defer m.Free(p, n)
		places[i] = accel.Place{Mem: m, Ptr: p}
	}
	defer s.Sync() // before they are freed
	short, err := median(s, places, min(small, n))
	if err != nil {
		return l, err
	}
	l = Link{From: from.Name(), To: to.Name(), Latency: short}
	if n <= small {
		return l, nil
	}
	long, err := median(s, places, n)
	if err != nil {
		return l, err
	}
	if long > short {
		l.Bandwidth = float64(n-small) * 1e9 / float64(long-short)
		l.Latency = max(0, short-time.Duration(small/l.Bandwidth*1e9+0.5))
	}
	return l, nil
}

// median is how long a copy of n bytes takes.
func median(s accel.Stream, places [2]accel.Place, n int64) (time.Duration, error) {
	var times []time.Duration
	for i := range rounds + 1 {
		took, err := once(s, places, n)
		if err != nil {
			return 0, err
		}
		if i > 0 {
			times = append(times, took)
		}
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}

// once copies n bytes. The device's clock tells how long that takes, where it has
// one, else ours.
func once(s accel.Stream, places [2]accel.Place, n int64) (time.Duration, error) {
	before, err := s.Record()
	if err != nil {
		return 0, err
	}
	if err := before.Sync(); err != nil { // or the copy would wait
		return 0, err
	}
	start := time.Now()
	if err := s.Copy(&accel.Copy{Dst: places[1], Src: places[0], Bytes: n, Count: accel.Counts()}); err != nil {
		return 0, err
	}
	after, err := s.Record()
	if err != nil {
		return 0, err
	}
	if err := after.Sync(); err != nil {
		return 0, err
	}
	took := time.Since(start)
	if t, ok := after.Since(before); ok && t > 0 {
		took = t
	}
	return took, s.Sync()
}
