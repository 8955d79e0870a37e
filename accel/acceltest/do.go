package acceltest

// Kernels that are functions of this process.

import (
	"bytes"
	"errors"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"github.com/starpush/starpush/accel"
)

// place is a slice of the program as main memory.
func (k *kit) place(b []byte) accel.Place {
	return accel.Place{Mem: k.main, Ptr: unsafe.Pointer(unsafe.SliceData(b))}
}

// bytesAt are the bytes of a device whose kernels are functions of this process,
// as one of them sees them.
func bytesAt(p accel.Place, n int) []byte { return unsafe.Slice((*byte)(p.Ptr), n) }

// goroutine names the caller's goroutine.
func goroutine() string {
	b := make([]byte, 64)
	b = b[:runtime.Stack(b, false)] // "goroutine 18 [running]:"
	return string(bytes.Fields(b)[1])
}

func (k *kit) do() {
	k.each(func(d accel.Device) {
		s := k.stream(d)
		if d.Arch() != "cpu" {
			called := false
			err := s.Do(accel.Work{Name: "nothing"}, func() error { called = true; return nil })
			if !errors.Is(err, accel.ErrNotHere) || called {
				k.Errorf("%s, which runs kernels for %s: Do returns %v and calls its function: %v", d.Name(), d.Arch(), err, called)
			}
			k.roundTrip(d, s, 100)
			return
		}
		other := k.stream(d)
		in, out := k.filled(rounds*piece), k.alloc(k.main, rounds*piece)
		x := k.alloc(d.Memory(), piece)
		here, calls := goroutine(), 0
		for i := range int64(rounds) {
			k.begin(other, row(x.Place, in.at(i*piece), piece))
			k.await(s, k.record(other))
			err := s.Do(accel.Work{Name: "complement", Bytes: piece, Flops: piece}, func() error {
				calls++
				if g := goroutine(); g != here {
					k.Errorf("%s: a kernel runs on goroutine %s, and its caller is %s", d.Name(), g, here)
				}
				b := bytesAt(x.Place, piece)
				if !slices.Equal(b, in.host()[i*piece:(i+1)*piece]) {
					k.Errorf("%s: kernel %d runs before the copy that it waits for has ended", d.Name(), i)
				}
				for j := range b {
					b[j] = ^b[j]
				}
				return nil
			})
			if err != nil {
				k.Fatalf("%s: Do: %v", d.Name(), err)
			}
			if calls != int(i)+1 {
				k.Fatalf("%s: Do has returned %d times, and its kernels ran %d times", d.Name(), i+1, calls)
			}
			k.begin(s, row(out.at(i*piece), x.Place, piece))
			k.await(other, k.record(s))
		}
		k.sync(s)
		want := slices.Clone(in.host())
		for i := range want {
			want[i] = ^want[i]
		}
		k.same(out.host(), want, "%s: kernels between copies", d.Name())

		oops := errors.New("oops")
		if err := s.Do(accel.Work{}, func() error { return oops }); err != oops {
			k.Errorf("%s: Do returns %v, and its function returned %v", d.Name(), err, oops)
		}
		if err := s.Sync(); err != nil {
			k.Errorf("%s: the error of a kernel, which Do returned, is returned again: %v", d.Name(), err)
		}
		k.roundTrip(d, s, 100)
	})
}

// doEnds runs kernels that panic, or end their goroutine.
func (k *kit) doEnds() {
	k.each(func(d accel.Device) {
		if d.Arch() != "cpu" {
			return
		}
		s := k.stream(d)
		for _, end := range []func() error{func() error { panic("oops") }, func() error { runtime.Goexit(); return nil }} {
			var all sync.WaitGroup
			all.Add(1)
			go func() {
				defer all.Done()
				defer func() { recover() }()
				s.Do(accel.Work{}, end)
				k.Errorf("%s: Do returns from a kernel that did not", d.Name())
			}()
			all.Wait()
			k.roundTrip(d, s, 100)
		}
	})
}
