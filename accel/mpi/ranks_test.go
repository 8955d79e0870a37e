//go:build unix

package mpi

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/starpush/starpush/accel"
)

// rankCases are what ranks do, by name.
var rankCases = map[string]func(context.Context, *World) error{
	"pingpong": pingPong, "many": many, "unknown": unknown, "large": large, "cancel": cancelled,
	"together": together, "misuse": misuse, "signals": signals, "impatient": impatient, "idle": idle,
	"callbacks": callbacks, "pollers": pollers, "locked": locked, "rests": rests, "badprobe": badProbe, "blocks": blocks, "stuck": stuck(false), "stucklost": stuck(true),
	"killed": dies(func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} }),
	"exits":  dies(func() { os.Exit(3) }),
	"panics": dies(func() { panic("a rank panics") }),
	"stops":  dies(func() { _ = syscall.Kill(os.Getpid(), syscall.SIGSTOP); select {} }),
}

// fill makes bytes that depend on all arguments.
func fill(n int, seed ...uint64) []byte {
	h := uint64(n)
	for _, s := range seed {
		h = h*0x9e3779b97f4a7c15 + s + 1
	}
	r := rand.New(rand.NewPCG(h, 1))
	b := make([]byte, n)
	for i := 0; i < n; i += 8 {
		var x [8]byte
		binary.LittleEndian.PutUint64(x[:], r.Uint64())
		copy(b[i:], x[:])
	}
	return b
}

func pingPong(ctx context.Context, w *World) error {
	c, peer := w.Comm(), 1-w.Rank()
	heap := accel.NewHeap("ram", 1<<30)
	for round, n := range []int{0, 1, 8, 100, 4096, 1 << 16, 1<<20 + 3} {
		p, err := heap.Alloc(int64(n))
		if err != nil {
			return err
		}
		buf := unsafe.Slice((*byte)(p), n)
		want := fill(n, uint64(round))
		for turn := range 20 {
			if turn%2 == w.Rank() {
				copy(buf, want)
				send := c.Isend
				if turn >= 10 {
					send = c.Issend
				}
				if _, err := send(buf, peer, round).Wait(ctx); err != nil {
					return err
				}
				clear(buf)
				continue
			}
			s, err := c.Irecv(buf, peer, round).Wait(ctx)
			if err != nil {
				return err
			}
			if s != (Status{peer, round, int64(n)}) || !bytes.Equal(buf, want) {
				return fmt.Errorf("%d bytes, turn %d: %+v", n, turn, s)
			}
		}
		heap.Free(p, int64(n))
	}
	return nil
}

// many sends from many goroutines at once. The messages of each arrive in order.
func many(ctx context.Context, w *World) error {
	const tags, messages = 6, 150
	c := w.Comm()
	size := func(from, to, tag, k int) int {
		return int(rand.New(rand.NewPCG(uint64(from*100+to), uint64(tag*1000+k))).ExpFloat64() * 2000)
	}
	errs := make(chan error, 2*tags*w.Size())
	for peer := range w.Size() { // itself, too
		for tag := range tags {
			go func() {
				var last error
				var requests []*Request
				for k := range messages {
					b := fill(size(w.Rank(), peer, tag, k), uint64(w.Rank()), uint64(peer), uint64(tag), uint64(k))
					requests = append(requests, c.Isend(b, peer, tag))
					if k%16 == 0 {
						runtime.GC() // nothing but the request refers to b
					}
				}
				for _, r := range requests {
					if _, err := r.Wait(ctx); err != nil {
						last = err
					}
				}
				errs <- last
			}()
			go func() {
				var last error
				var requests []*Request
				var bufs [][]byte
				for range messages {
					b := make([]byte, 64<<10)
					bufs = append(bufs, b)
					requests = append(requests, c.Irecv(b, peer, tag))
				}
				for k, r := range requests {
					s, err := r.Wait(ctx)
					n := size(peer, w.Rank(), tag, k)
					want := fill(n, uint64(peer), uint64(w.Rank()), uint64(tag), uint64(k))
					if err == nil && (s != (Status{peer, tag, int64(n)}) || !bytes.Equal(bufs[k][:n], want)) {
						err = fmt.Errorf("message %d of rank %d with tag %d: %+v", k, peer, tag, s)
					}
					if err != nil {
						last = err
					}
				}
				errs <- last
			}()
		}
	}
	var all error
	for range 2 * tags * w.Size() {
		all = errors.Join(all, <-errs)
	}
	return all
}

// unknown receives messages whose number, length and order only their senders know.
func unknown(ctx context.Context, w *World) error {
	listen, err := w.Comm().Dup(ctx)
	if err != nil {
		return err
	}
	ends, err := w.Comm().Dup(ctx)
	if err != nil {
		return err
	}
	const messages = 300
	var mu sync.Mutex
	var wrong error
	next := make([]uint64, w.Size()) // by source: the message that has to come
	all := make(chan struct{})
	left := messages * w.Size()
	stop, err := listen.Listen(AnySource, AnyTag, func(m *Message) {
		mu.Lock()
		k := next[m.Source]
		next[m.Source]++
		mu.Unlock()
		buf := make([]byte, m.Bytes)
		m.Irecv(buf).OnDone(func(s Status, err error) {
			mu.Lock()
			defer mu.Unlock()
			if err == nil && (s != m.Status || !bytes.Equal(buf, fill(int(s.Bytes), uint64(s.Source), k))) {
				err = fmt.Errorf("message %d: %+v", k, s)
			}
			if err == nil && s.Tag != int(k)%7 {
				err = fmt.Errorf("message %d has tag %d", k, s.Tag)
			}
			wrong = errors.Join(wrong, err)
			if left--; left == 0 {
				close(all)
			}
		})
	})
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(uint64(w.Rank()), 7))
	for k := range messages {
		n := 0
		if k%10 != 0 {
			n = int(r.ExpFloat64() * 10000)
		}
		for peer := range w.Size() {
			listen.Isend(fill(n, uint64(w.Rank()), uint64(k)), peer, k%7)
		}
	}
	select {
	case <-all:
	case <-ctx.Done():
		return fmt.Errorf("%d messages did not come: %w", left, ctx.Err())
	}
	stop()
	if _, err := w.Comm().Ibarrier().Wait(ctx); err != nil {
		return err
	}

	// After stop, messages wait for others.
	next2, before := (w.Rank()+1)%w.Size(), (w.Rank()+w.Size()-1)%w.Size()
	listen.Isend([]byte("after"), next2, 3)
	if b, s, err := listen.Recv(ctx, before, AnyTag); err != nil || string(b) != "after" || s.Tag != 3 {
		return fmt.Errorf("%q, %+v, %v", b, s, err)
	}

	// A probe that gives up takes nothing.
	short, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
	defer cancel()
	if m, err := ends.Mprobe(short, AnySource, 1); err == nil || !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%v, %v", m, err)
	}
	if m, err := ends.Improbe(AnySource, 1); m != nil || err != nil {
		return fmt.Errorf("%v, %v", m, err)
	}
	if _, err := w.Comm().Ibarrier().Wait(ctx); err != nil {
		return err
	}
	ends.Isend([]byte("end"), next2, 1)
	for {
		s, ok, err := ends.Iprobe(before, 1)
		if err != nil {
			return err
		}
		if ok {
			if s != (Status{before, 1, 3}) {
				return fmt.Errorf("%+v", s)
			}
			break
		}
		time.Sleep(time.Millisecond)
	}
	m, err := ends.Improbe(AnySource, AnyTag)
	if err != nil || m == nil {
		return fmt.Errorf("%v, %v", m, err)
	}
	if _, err := m.Irecv(make([]byte, 2)).Wait(ctx); !errors.Is(err, ErrTruncated) {
		return fmt.Errorf("memory that is too small: %v", err)
	}
	b := make([]byte, 3)
	if s, err := m.Irecv(b).Wait(ctx); err != nil || string(b) != "end" || s.Source != before {
		return fmt.Errorf("%q, %+v, %v", b, s, err)
	}
	if _, err := m.Irecv(b).Wait(ctx); err == nil || !strings.Contains(err.Error(), "was received before") {
		return fmt.Errorf("a second Irecv: %v", err)
	}
	return errors.Join(wrong, w.Err())
}

// large sends more bytes than a count has, which are few here.
func large(ctx context.Context, w *World) error {
	c, peer := w.Comm(), 1-w.Rank()
	for range 2 {
		for tag, n := range []int{999, 1000, 1001, 1024, 1279, 1280, 5000, 1 << 20} {
			data := fill(n, uint64(w.Rank()), uint64(tag))
			want := fill(n, uint64(peer), uint64(tag))
			in := make([]byte, n+n/2)
			r := c.Irecv(in, peer, tag)
			sent := c.Issend(data, peer, tag)
			s, err := r.Wait(ctx)
			if err != nil || s.Bytes != int64(n) || !bytes.Equal(in[:n], want) || !bytes.Equal(in[n:], make([]byte, n/2)) {
				return fmt.Errorf("%d bytes: %+v, %v", n, s, err)
			}
			if _, err := sent.Wait(ctx); err != nil {
				return err
			}
			c.Isend(data, peer, tag)
			b, s, err := c.Recv(ctx, AnySource, AnyTag)
			if err != nil || s != (Status{peer, tag, int64(n)}) || !bytes.Equal(b, want) {
				return fmt.Errorf("%d bytes of unknown length: %+v, %v", n, s, err)
			}
			b = fill(n, 0, uint64(tag))
			if w.Rank() != 0 {
				clear(b)
			}
			if _, err := c.Ibcast(b, 0).Wait(ctx); err != nil || !bytes.Equal(b, fill(n, 0, uint64(tag))) {
				return fmt.Errorf("broadcast of %d bytes: %v", n, err)
			}
		}
		if _, err := c.Ibarrier().Wait(ctx); err != nil {
			return err
		}
		w.noLarge = true // then with types, as with a library before MPI 4
	}
	return nil
}

func cancelled(ctx context.Context, w *World) error {
	c, peer := w.Comm(), 1-w.Rank()
	a, b := make([]byte, 8), make([]byte, 8)
	first := c.Irecv(a, peer, 5)
	if err := first.Cancel(); err != nil {
		return err
	}
	if _, err := first.Wait(ctx); !errors.Is(err, ErrCancelled) {
		return fmt.Errorf("a cancelled receive: %v", err)
	}
	if err := first.Cancel(); err != nil { // again
		return err
	}
	if _, err := c.Ibarrier().Wait(ctx); err != nil { // none has sent yet
		return err
	}
	sent := c.Isend([]byte("12345678"), peer, 5)
	if err := sent.Cancel(); err == nil || !strings.Contains(err.Error(), "only receives") {
		return fmt.Errorf("cancelling a send: %v", err)
	}
	second := c.Irecv(b, peer, 5)
	if _, err := second.Wait(ctx); err != nil || string(b) != "12345678" || !bytes.Equal(a, make([]byte, 8)) {
		return fmt.Errorf("%q, %q, %v", a, b, err)
	}

	// Waiting that ends does not end the receive.
	short, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
	defer cancel()
	third := c.Irecv(b, peer, 6)
	if _, err := third.Wait(short); !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("a wait that ends: %v", err)
	}
	if _, err := c.Ibarrier().Wait(ctx); err != nil {
		return err
	}
	c.Isend([]byte("abcdefgh"), peer, 6)
	if _, err := third.Wait(ctx); err != nil || string(b) != "abcdefgh" {
		return fmt.Errorf("%q, %v", b, err)
	}

	// A message that is too long is an error of the request alone.
	c.Isend(make([]byte, 100), peer, 7)
	if _, err := c.Irecv(b, peer, 7).Wait(ctx); !errors.Is(err, ErrTruncated) {
		return fmt.Errorf("a message that is too long: %v", err)
	} else if e := (*Error)(nil); !errors.As(err, &e) || e.Call != "MPI_Irecv" || e.Peer != peer || e.Text == "" {
		return fmt.Errorf("%#v", err)
	}
	// Many are cancelled while messages for some of them come.
	const n = 100
	var requests []*Request
	got := 0
	bufs := make([]byte, 8*n)
	for i := range n {
		requests = append(requests, c.Irecv(bufs[8*i:8*i+8], peer, 8))
	}
	if _, err := c.Ibarrier().Wait(ctx); err != nil {
		return err
	}
	for range n / 2 {
		c.Isend([]byte("12345678"), peer, 8)
	}
	for i := n - 1; i >= 0; i-- {
		if err := requests[i].Cancel(); err != nil {
			return err
		}
	}
	for i, r := range requests {
		if _, err := r.Wait(ctx); err == nil {
			if got++; string(bufs[8*i:8*i+8]) != "12345678" {
				return fmt.Errorf("request %d: %q", i, bufs[8*i:8*i+8])
			}
		} else if !errors.Is(err, ErrCancelled) {
			return err
		}
	}
	for ; got < n/2; got++ { // no message is lost
		if _, err := c.Irecv(b, peer, 8).Wait(ctx); err != nil || string(b) != "12345678" {
			return err
		}
	}
	c.Irecv(a, peer, 9) // Close withdraws it
	return w.Err()
}

func together(ctx context.Context, w *World) error {
	c := w.Comm()
	n := w.Size()
	for round := range 20 {
		ints, floats := []int64{int64(w.Rank()), -int64(w.Rank()), 1}, []float64{float64(w.Rank()) + 0.5}
		for _, x := range []struct {
			op    Op
			want  []int64
			float float64
		}{
			{Sum, []int64{int64(n * (n - 1) / 2), -int64(n * (n - 1) / 2), int64(n)}, float64(n*n) / 2},
			{Min, []int64{0, -int64(n - 1), 1}, 0.5},
			{Max, []int64{int64(n - 1), 0, 1}, float64(n) - 0.5},
		} {
			i, f := append([]int64(nil), ints...), append([]float64(nil), floats...)
			r := c.IallreduceInt64(i, x.op)
			if _, err := c.IallreduceFloat64(f, x.op).Wait(ctx); err != nil {
				return err
			}
			if _, err := r.Wait(ctx); err != nil {
				return err
			}
			for k := range i {
				if i[k] != x.want[k] || f[0] != x.float {
					return fmt.Errorf("operation %d: %v and %v instead of %v and %v", x.op, i, f, x.want, x.float)
				}
			}
		}
		root := round % n
		b := fill(1000*round, uint64(root))
		if w.Rank() != root {
			clear(b)
		}
		if _, err := c.Ibcast(b, root).Wait(ctx); err != nil || !bytes.Equal(b, fill(1000*round, uint64(root))) {
			return fmt.Errorf("broadcast %d: %v", round, err)
		}
	}
	// Communicators keep messages apart.
	d, err := c.Dup(ctx)
	if err != nil {
		return err
	}
	next, before := (w.Rank()+1)%n, (w.Rank()+n-1)%n
	c.Isend([]byte("c"), next, 1)
	d.Isend([]byte("d"), next, 1)
	for _, x := range []struct {
		c    *Comm
		want string
	}{{d, "d"}, {c, "c"}} {
		if b, _, err := x.c.Recv(ctx, before, 1); err != nil || string(b) != x.want {
			return fmt.Errorf("%q, %v", b, err)
		}
	}
	return w.Err()
}

func misuse(ctx context.Context, w *World) error {
	c := w.Comm()
	b := make([]byte, 1)
	for _, x := range []struct {
		r    *Request
		want string
	}{
		{c.Isend(b, w.Size(), 0), fmt.Sprintf("mpi: MPI_Isend: there is no rank %d, ranks are 0 to %d", w.Size(), w.Size()-1)},
		{c.Isend(b, AnySource, 0), "there is no rank -1"},
		{c.Issend(b, 0, AnyTag), "the tag is -1, tags are 0 to "},
		{c.Irecv(b, -3, 0), "there is no rank -3"},
		{c.Irecv(b, 0, w.TagUB()+1), fmt.Sprintf("tags are 0 to %d in %s", w.TagUB(), w.Library().Version())},
		{c.Ibcast(b, 99), "there is no rank 99"},
		{c.IallreduceInt64(nil, 7), "there is no operation 7: use Sum, Min or Max"},
	} {
		if _, err, done := x.r.Result(); !done || err == nil || !strings.Contains(err.Error(), x.want) {
			return fmt.Errorf("%v instead of %s", err, x.want)
		}
	}
	if w.TagUB() < 32767 {
		return fmt.Errorf("tags up to %d", w.TagUB())
	}
	if _, err := c.Listen(7, 0, nil); err == nil {
		return errors.New("listening to a rank that there is not")
	}
	if _, err := Init(ctx, Options{}); !errors.Is(err, ErrTwice) {
		return fmt.Errorf("a second Init: %v", err)
	}
	// The largest tag works.
	c.Isend([]byte{7}, w.Rank(), w.TagUB())
	if _, err := c.Irecv(b, w.Rank(), w.TagUB()).Wait(ctx); err != nil {
		return err
	}
	pending := c.Irecv(b, AnySource, AnyTag)
	probe := make(chan error, 1)
	go func() { _, err := c.Mprobe(ctx, AnySource, 3); probe <- err }()
	time.Sleep(10 * time.Millisecond)
	if err := w.Close(ctx); err != nil {
		return err
	}
	if _, err, done := pending.Result(); !done || !errors.Is(err, ErrCancelled) {
		return fmt.Errorf("a receive after Close: %v, %t", err, done)
	}
	if err := <-probe; !errors.Is(err, ErrClosed) {
		return fmt.Errorf("a probe after Close: %v", err)
	}
	if _, err := c.Isend(b, 0, 0).Wait(ctx); !errors.Is(err, ErrClosed) {
		return fmt.Errorf("Isend after Close: %v", err)
	}
	if _, _, err := c.Iprobe(0, 0); !errors.Is(err, ErrClosed) {
		return fmt.Errorf("Iprobe after Close: %v", err)
	}
	if _, err := c.Dup(ctx); !errors.Is(err, ErrClosed) {
		return fmt.Errorf("Dup after Close: %v", err)
	}
	return w.Close(ctx)
}

// signals shows that the library has not taken signals from the Go runtime.
func signals(ctx context.Context, w *World) error {
	fault := func() (err error) {
		defer func() { err, _ = recover().(error) }()
		var p *int
		*p = 1
		return nil
	}
	if err := fault(); err == nil || !strings.Contains(err.Error(), "nil pointer") {
		return fmt.Errorf("%v", err)
	}
	return nil
}

// impatient closes on one rank alone, for a while.
func impatient(ctx context.Context, w *World) error {
	if w.Rank() == 1 {
		_, _, err := w.Comm().Recv(ctx, 0, 1) // which never comes
		return err
	}
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	err := w.Close(short)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "not all ranks have called it") {
		return fmt.Errorf("Close: %w", err)
	}
	fmt.Println("gave up as it should")
	w.Abort(17)
	return nil
}

// idle is silent for longer than is allowed, on all ranks, and so is its end on rank 0.
func idle(ctx context.Context, w *World) error {
	if w.Rank() > 0 {
		time.Sleep(3 * time.Second)
	}
	return w.Err()
}

// rests has another goroutine poll until there is no need to. Then a rank without messages polls some 100 times a second, not 100 000.
func rests(ctx context.Context, w *World) error {
	for p := w.NewPoller(); p.Poll(); {
	}
	time.Sleep(300 * time.Millisecond)
	before := w.polls.Load()
	time.Sleep(time.Second)
	if n := w.polls.Load() - before; n > 10_000 {
		return fmt.Errorf("%d polls in a second without a message", n)
	}
	return w.Err()
}

// callbacks does everything that is allowed in functions that the driving goroutine calls, and what is refused there.
func callbacks(ctx context.Context, w *World) error {
	c := w.Comm()
	d, err := c.Dup(ctx)
	if err != nil {
		return err
	}
	unmatched := c.Irecv(make([]byte, 1), w.Rank(), 1)
	done := make(chan error, 1)
	heard := make(chan struct{})
	inside := func() error {
		if err := unmatched.Cancel(); err != nil {
			return fmt.Errorf("Cancel: %w", err)
		}
		if _, ok, err := c.Iprobe(w.Rank(), 2); ok || err != nil {
			return fmt.Errorf("Iprobe: %t, %w", ok, err)
		}
		if m, err := c.Improbe(w.Rank(), 2); m != nil || err != nil {
			return fmt.Errorf("Improbe: %v, %w", m, err)
		}
		stopUnused, err := d.Listen(w.Rank(), 3, func(*Message) {})
		if err != nil {
			return fmt.Errorf("Listen: %w", err)
		}
		stopUnused()
		var stop func()
		stop, err = d.Listen(w.Rank(), 4, func(m *Message) {
			m.Irecv(nil)
			stop() // in the function that it stops
			close(heard)
		})
		if err != nil {
			return fmt.Errorf("Listen: %w", err)
		}
		d.Isend(nil, w.Rank(), 4)
		for what, err := range map[string]error{
			"Wait":   func() error { _, err := c.Irecv(nil, w.Rank(), 5).Wait(ctx); return err }(),
			"Mprobe": func() error { _, err := c.Mprobe(ctx, w.Rank(), 2); return err }(),
			"Close":  w.Close(ctx),
		} {
			if err == nil || !strings.Contains(err.Error(), "mpi: "+what+": a function passed to OnDone or Listen") {
				return fmt.Errorf("%s: %w", what, err)
			}
		}
		return nil
	}
	first := c.Irecv(make([]byte, 1), w.Rank(), 0)
	first.OnDone(func(Status, error) { done <- inside() })
	c.Isend([]byte{1}, w.Rank(), 0)
	select {
	case err := <-done:
		if err != nil {
			return err
		}
	case <-time.After(limit / 4):
		return errors.New("the function hangs")
	}
	select {
	case <-heard:
	case <-time.After(limit / 4):
		return errors.New("the listener is not called")
	}
	if _, err := unmatched.Wait(ctx); !errors.Is(err, ErrCancelled) {
		return fmt.Errorf("the receive that was cancelled: %w", err)
	}
	return w.Err()
}

// pollers has goroutines poll beside the one that drives MPI, while messages go to and fro without requests: each is reported once, in
// order, and never two at a time.
func pollers(ctx context.Context, w *World) error {
	const messages, goroutines = 3000, 3
	c, peer := w.Comm(), 1-w.Rank()
	size := func(from, k int) int { return int(fill(8, uint64(from), uint64(k))[0]) * 40 }
	done := make(chan error, 1)
	fail := func(err error) {
		select {
		case done <- err:
		default:
		}
	}
	var inside, left atomic.Int64
	left.Store(2 * messages)
	report := func(err error, fn func() error) {
		if inside.Add(1) > 1 {
			fail(errors.New("two functions are called at once"))
		}
		if err == nil {
			err = fn()
		}
		if err != nil {
			fail(err)
		}
		inside.Add(-1)
		if left.Add(-1) == 0 {
			fail(nil)
		}
	}
	unmatched := c.Irecv(make([]byte, 1), peer, 7)
	buf := make([]byte, 256*40)
	received := 0
	var receive func()
	receive = func() {
		c.IrecvFunc(buf, peer, 1, func(n int, err error) {
			report(err, func() error {
				if want := fill(size(peer, received), uint64(peer), uint64(received)); !bytes.Equal(buf[:n], want) {
					return fmt.Errorf("message %d has %d bytes, and is not what was sent", received, n)
				}
				if received%500 == 0 { // a function must not wait, on whichever goroutine it is called
					if _, err := unmatched.Wait(ctx); err == nil || !strings.Contains(err.Error(), "mpi: Wait: a function passed") {
						return fmt.Errorf("Wait inside: %w", err)
					}
				}
				if received++; received < messages {
					receive()
				}
				return nil
			})
		})
	}
	var send func(k int)
	send = func(k int) {
		begin := c.IsendFunc
		if k%3 == 0 {
			begin = c.IssendFunc
		}
		begin(fill(size(w.Rank(), k), uint64(w.Rank()), uint64(k)), peer, 1, func(err error) {
			report(err, func() error {
				if k+1 < messages {
					send(k + 1)
				}
				return nil
			})
		})
	}
	var over atomic.Bool
	var group sync.WaitGroup
	polled := make([]int, goroutines)
	for i := range goroutines {
		p := w.NewPoller()
		group.Go(func() {
			for !over.Load() {
				if p.Poll() {
					polled[i]++
				} else {
					runtime.Gosched()
				}
			}
		})
	}
	receive()
	send(0)
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	over.Store(true)
	group.Wait()
	if err != nil {
		return err
	}
	if sum := polled[0] + polled[1] + polled[2]; (sum > 0) != (w.Threads() >= Serialized) {
		return fmt.Errorf("pollers were called with success %d times at %v", sum, w.Threads())
	}
	p := w.NewPoller() // nothing happens any more
	for began := time.Now(); p.Poll(); {
		if time.Since(began) > limit/4 {
			return errors.New("Poll does not return false")
		}
	}
	if err := unmatched.Cancel(); err != nil {
		return err
	}
	if err := w.Close(ctx); err != nil {
		return err
	}
	if p.Poll() {
		return errors.New("Poll returns true after Close")
	}
	return nil
}

// locked has functions of users wait for a lock, which another goroutine holds while it probes.
func locked(ctx context.Context, w *World) error {
	const messages = 1000
	c := w.Comm()
	var mu sync.Mutex
	done := make(chan error, 2*messages)
	lock := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		done <- err
	}
	over := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
			}
			mu.Lock()
			_, _, err := c.Iprobe(w.Rank(), 2)
			mu.Unlock()
			if err != nil {
				done <- err
			}
			runtime.Gosched() // a rank may have one processor
		}
	})
	group.Go(func() {
		p := w.NewPoller()
		for {
			select {
			case <-over:
				return
			default:
				p.Poll()
				runtime.Gosched()
			}
		}
	})
	defer group.Wait()
	defer close(over)
	buf := make([]byte, 1)
	for range messages {
		c.IrecvFunc(buf, w.Rank(), 1, func(_ int, err error) { lock(err) })
		c.IsendFunc(nil, w.Rank(), 1, lock)
		for range 2 {
			select {
			case err := <-done:
				if err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

// badProbe lets a probe fail in the round in which another listener has stopped.
func badProbe(ctx context.Context, w *World) error {
	var all []*listener
	if err := w.run(ctx, func() error {
		for _, l := range []listener{{tag: 1}, {tag: 2, dead: true}, {tag: 3, dead: true}, {source: w.Size() + 7}, {tag: 4}} {
			l.c, l.handle, l.stopped = w.Comm(), func(*Message) {}, make(chan struct{})
			all = append(all, &l)
		}
		w.listeners = append(w.listeners, all...)
		return nil
	}); err != nil {
		return err
	}
	for _, l := range all {
		<-l.stopped
	}
	if e := (*Error)(nil); !errors.As(w.Err(), &e) || e.Call != "MPI_Improbe" {
		return fmt.Errorf("the world: %w", w.Err())
	}
	if err := w.Close(ctx); err == nil || err != w.Err() {
		return fmt.Errorf("Close: %w", err)
	}
	fmt.Println("failed as it should")
	w.Abort(17)
	return nil
}

// blocks lets a function on rank 1 not return. That is the fault of this rank, which must not blame the other.
func blocks(ctx context.Context, w *World) error {
	if w.Rank() == 1 { // waits end with the world, while the function does not return
		waited := make(chan struct{})
		defer close(waited)
		w.Comm().Isend(nil, 1, 0).OnDone(func(Status, error) { <-waited })
		short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
		defer cancel()
		ended := make(chan error, 2)
		go func() {
			stop, err := w.Comm().Listen(AnySource, 1, func(*Message) {})
			if err == nil {
				stop()
			}
			ended <- nil
		}()
		go func() {
			_, err := w.Comm().Mprobe(short, AnySource, 2)
			if err == nil {
				ended <- errors.New("Mprobe found a message that was not sent")
			}
			ended <- nil
		}()
		<-w.Failed()
		for range 2 {
			select {
			case err := <-ended:
				if err != nil {
					return err
				}
			case <-time.After(10 * time.Second):
				return errors.New("a wait did not end with the world")
			}
		}
	}
	<-w.Failed()
	if w.Rank() == 0 {
		time.Sleep(3 * time.Second) // or the end of this process is what rank 1 notices
	}
	return w.Err()
}

// stuck closes while the driving goroutine does not return from the library, and the world has failed or not.
func stuck(lost bool) func(context.Context, *World) error {
	return func(ctx context.Context, w *World) error {
		started := make(chan struct{})
		go func() { _ = w.run(ctx, func() error { close(started); select {} }) }()
		<-started
		var want error = context.DeadlineExceeded
		if lost {
			want = &LostError{Rank: 0, Size: 1, Reason: "it is a test"}
			time.AfterFunc(50*time.Millisecond, func() { w.fail(want) })
		} else {
			short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
			defer cancel()
			ctx = short
		}
		err := w.Close(ctx)
		if !errors.Is(err, want) || !lost && !strings.Contains(err.Error(), "has not returned") {
			return fmt.Errorf("Close: %w", err)
		}
		fmt.Println("gave up as it should")
		w.Abort(17)
		return nil
	}
}

// dies lets rank 1 die while all others wait for it.
func dies(how func()) func(context.Context, *World) error {
	return func(ctx context.Context, w *World) error {
		if _, err := w.Comm().Ibarrier().Wait(ctx); err != nil {
			return err
		}
		if w.Rank() == 1 {
			how()
		}
		buf := make([]byte, 1)
		r := w.Comm().Irecv(buf, 1, 0)
		select {
		case <-r.Done():
			_, err, _ := r.Result()
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// eachLevel runs a case on n ranks of each implementation, with each level of threads that Init takes.
func eachLevel(t *testing.T, n int, name string) {
	for level := Funneled; level <= Multiple; level++ {
		t.Run(level.String(), func(t *testing.T) {
			eachMPI(t, func(t *testing.T, i implementation) { i.pass(t, n, name, fmt.Sprintf("%s=%d", threadsVariable, level)) })
		})
	}
}

func TestPingPong(t *testing.T) { eachLevel(t, 2, "pingpong") }

func TestMany(t *testing.T) {
	eachMPI(t, func(t *testing.T, i implementation) { i.pass(t, 3, "many") })
}

func TestManyFunneled(t *testing.T) {
	eachMPI(t, func(t *testing.T, i implementation) { i.pass(t, 2, "many", threadsVariable+"=1") })
}

func TestUnknown(t *testing.T) {
	eachMPI(t, func(t *testing.T, i implementation) { i.pass(t, 3, "unknown") })
}

func TestUnknownFunneled(t *testing.T) {
	eachMPI(t, func(t *testing.T, i implementation) { i.pass(t, 2, "unknown", threadsVariable+"=1") })
}

func TestLargeCounts(t *testing.T) {
	eachMPI(t, func(t *testing.T, i implementation) { i.pass(t, 2, "large") })
}

func TestCancel(t *testing.T) {
	eachMPI(t, func(t *testing.T, i implementation) { i.pass(t, 2, "cancel") })
}

func TestTogether(t *testing.T) {
	eachMPI(t, func(t *testing.T, i implementation) { i.pass(t, 3, "together") })
}

func TestMisuse(t *testing.T) {
	eachMPI(t, func(t *testing.T, i implementation) { i.pass(t, 2, "misuse") })
}

func TestSignals(t *testing.T) {
	eachMPI(t, func(t *testing.T, i implementation) { i.pass(t, 1, "signals") })
}

// slow skips a test with -short: it waits for seconds until something is given up.
func slow(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes seconds")
	}
}

func TestIdle(t *testing.T) {
	slow(t)
	eachMPI(t, func(t *testing.T, i implementation) { i.pass(t, 3, "idle", silenceVariable+"=1s") })
}

func TestRests(t *testing.T) {
	slow(t)
	eachMPI(t, func(t *testing.T, i implementation) { i.pass(t, 1, "rests") })
}

func TestCloseGivesUp(t *testing.T) {
	eachMPI(t, func(t *testing.T, i implementation) {
		r := i.launch(t, 2, "impatient", nil)
		if r.code != 17 || !strings.Contains(r.output, "gave up as it should") {
			t.Errorf("exit code %d:\n%s", r.code, r.output)
		}
		r.noOrphans(t)
	})
}

func TestPollers(t *testing.T) { eachLevel(t, 2, "pollers") }

func TestLocked(t *testing.T) {
	eachMPI(t, func(t *testing.T, i implementation) { i.pass(t, 1, "locked") })
}

func TestCallbacks(t *testing.T) { eachLevel(t, 1, "callbacks") }

func TestProbeFails(t *testing.T) {
	eachMPI(t, func(t *testing.T, i implementation) {
		r := i.launch(t, 1, "badprobe", nil)
		if r.code != 17 || !strings.Contains(r.output, "failed as it should") {
			t.Errorf("exit code %d:\n%s", r.code, r.output)
		}
	})
}

// TestCallbackBlocks shows that a rank blames itself for a function that does not return.
func TestCallbackBlocks(t *testing.T) {
	slow(t)
	eachMPI(t, func(t *testing.T, i implementation) {
		for _, level := range []ThreadLevel{Funneled, Multiple} {
			r := i.launch(t, 2, "blocks", nil, silenceVariable+"=500ms", fmt.Sprintf("%s=%d", threadsVariable, level))
			if r.code == 0 || !strings.Contains(r.output, "rank 1 of 2 is lost: it has not polled for 550ms: a function passed to OnDone") {
				t.Errorf("%v, exit code %d:\n%s", level, r.code, r.output)
			}
		}
	})
}

// TestCloseStuck closes a world whose driving goroutine hangs in the library.
func TestCloseStuck(t *testing.T) {
	slow(t)
	eachMPI(t, func(t *testing.T, i implementation) {
		for _, name := range []string{"stuck", "stucklost"} {
			r := i.launch(t, 1, name, nil, threadsVariable+"=1")
			if r.code != 17 || !strings.Contains(r.output, "gave up as it should") {
				t.Errorf("%s, exit code %d:\n%s", name, r.code, r.output)
			}
		}
	})
}

// TestDeath kills a rank. The launcher ends the others; that of Open MPI says which rank it was, and Hydra
// names processes, most often.
func TestDeath(t *testing.T) {
	eachMPI(t, func(t *testing.T, i implementation) {
		for _, how := range []string{"killed", "exits", "panics"} {
			r := i.launch(t, 3, how, nil)
			if r.code == 0 || len(r.pids) != 3 {
				t.Errorf("%s: exit code %d:\n%s", how, r.code, r.output)
			}
			if i.family == openMPI && how == "killed" &&
				!strings.Contains(r.output, "process rank 1 with PID") && !strings.Contains(r.output, "rank 1 of 3 is lost") {
				t.Errorf("no message names the rank:\n%s", r.output)
			}
			r.noOrphans(t)
		}
	})
}

// TestDeathUnnoticed kills a rank under a launcher that does not end the others. They notice. Hydra still ends them
// in half of the runs, before they have reported it.
func TestDeathUnnoticed(t *testing.T) {
	eachMPI(t, func(t *testing.T, i implementation) {
		r := i.launch(t, 3, "killed", i.keepOn) // and Open MPI's exits with 0
		reported := strings.Contains(r.output, "rank 1 of 3 is lost: its process ")
		if !reported && (i.family == openMPI || r.code == 0) {
			t.Errorf("exit code %d:\n%s", r.code, r.output)
		}
		r.noOrphans(t)
	})
}

// TestSilence stops a rank, as a lost connection would.
func TestSilence(t *testing.T) {
	slow(t)
	eachMPI(t, func(t *testing.T, i implementation) {
		r := i.launch(t, 3, "stops", nil, silenceVariable+"=1s")
		if r.code == 0 || !strings.Contains(r.output, "rank 1 of 3 is lost: it has been silent for 1.1s") {
			t.Errorf("exit code %d:\n%s", r.code, r.output)
		}
		r.noOrphans(t)
	})
}

// TestAlone runs without a launcher, which makes a world of one rank.
func TestAlone(t *testing.T) {
	eachMPI(t, func(t *testing.T, i implementation) {
		i.launcher(t)
		file := fileNames()[i.family][0]
		for _, name := range []string{"together", "misuse"} {
			r := start(t, os.Args[0], []string{"-test.run", "^$"}, caseVariable+"="+name, LibraryVariable+"="+file,
				"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
			if r.code != 0 || len(r.pids) != 1 {
				t.Errorf("%s: exit code %d:\n%s", name, r.code, r.output)
			}
		}
	})
}

// TestWrongLibrary uses the library of one implementation under the launcher of the other.
func TestWrongLibrary(t *testing.T) {
	for k, i := range implementations {
		implementations[1-k].launcher(t)
		r := i.launch(t, 2, "together", nil, LibraryVariable+"="+fileNames()[implementations[1-k].family][0])
		if r.code == 0 || !strings.Contains(r.output, "started 2 processes, but") || !strings.Contains(r.output, "makes a world of 1: install the library of "+string(i.family)) {
			t.Errorf("exit code %d:\n%s", r.code, r.output)
		}
		r.noOrphans(t)
	}
}
