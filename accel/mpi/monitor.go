package mpi

// Ranks that do not answer any more.

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"os"
	"time"
	"unsafe"

	"github.com/starpush/starpush/accel/dynlib"
)

// monitor notices that a rank is lost, where the launcher does not end the others by itself: its
// process has ended, its machine does not answer, or the connection is lost. Ranks form a ring: each sends
// a beat to the next, and listens to the one before. Both are also watched as processes where
// they run on the same machine. A goroutine of its own does so, which kernels do not delay. Beats pass through the
// goroutine that drives MPI, which a callback stops: meanwhile this rank hears nothing, and cannot
// know whether another is silent.
type monitor struct {
	w      *World
	period time.Duration
	limit  int           // periods of silence that are too many; 0 for any number
	leave  chan struct{} // closed by farewell
	parted chan struct{} // closed once both neighbours have said farewell
	stop   chan struct{}
	done   chan struct{}
}

// The contents of beats.
const (
	alive byte = iota
	bye        // the last one: the rank is about to finalise
)

const (
	defaultSilence = 30 * time.Second
	longestPeriod  = time.Second
	shortestPeriod = 5 * idleNap // in which a driving goroutine that is well polls
)

// newMonitor starts a monitor. A world of one rank has none, which all methods accept.
func newMonitor(w *World, silence time.Duration) *monitor {
	if w.size == 1 {
		return nil
	}
	m := &monitor{w: w, period: longestPeriod, leave: make(chan struct{}), parted: make(chan struct{}),
		stop: make(chan struct{}), done: make(chan struct{})}
	if silence == 0 {
		silence = defaultSilence
	}
	if silence > 0 {
		m.period = max(min(silence/10, longestPeriod), shortestPeriod)
		m.limit = max(int((silence+m.period-1)/m.period), 10)
	}
	go m.watch()
	return m
}

func (m *monitor) watch() {
	defer close(m.done)
	w := m.w
	before, next := (w.rank+w.size-1)%w.size, (w.rank+1)%w.size
	beforeEnds, forgetBefore := watchProcess(w.localPID(before))
	defer forgetBefore()
	nextEnds, forgetNext := watchProcess(w.localPID(next))
	defer forgetNext()
	ended := func(rank int) {
		w.fail(&LostError{Rank: rank, Size: w.size, Reason: fmt.Sprintf("its process %d has ended", w.localPID(rank))})
	}
	beat := time.NewTicker(m.period)
	defer beat.Stop()

	in := make([]byte, 1)
	receive := func() *Request { return w.innerReceive(in, before) }
	request := receive()
	heard, leave, last := request.Done(), m.leave, (<-chan struct{})(nil)
	var sent *Request
	silent, stuck := 0, 0 // periods in which the rank before was silent, and this one did not poll
	polls := w.polls.Load()
	for heard != nil || leave != nil || last != nil {
		select {
		case <-m.stop:
			return
		case <-w.failed:
			return
		case <-leave:
			leave, nextEnds = nil, nil
			last = w.innerSend([]byte{bye}, next).Done()
		case <-last:
			last = nil
		case <-beat.C: // a process that was stopped and goes on gets one of these only, and counts one period
			if leave != nil {
				busy := false
				if sent != nil {
					_, _, done := sent.Result()
					busy = !done
				}
				if !busy {
					sent = w.innerSend([]byte{alive}, next)
				}
			}
			lost, what := before, "it has been silent for %v"
			periods := &silent
			if now := w.polls.Load(); now != polls {
				polls, stuck = now, 0
			} else {
				lost, what = w.rank, "it has not polled for %v: a function passed to OnDone or Listen, or the MPI library, has not returned"
				periods = &stuck
			}
			if *periods++; m.limit > 0 && *periods > m.limit && (lost == w.rank || heard != nil) {
				w.fail(&LostError{Rank: lost, Size: w.size, Reason: fmt.Sprintf(what, time.Duration(*periods)*m.period)})
				return
			}
		case <-beforeEnds:
			ended(before)
			return
		case <-nextEnds:
			ended(next)
			return
		case <-heard:
			silent = 0
			if _, err, _ := request.Result(); err != nil {
				select {
				case <-m.stop: // and the driving goroutine, which ends all requests
					return
				default:
				}
				w.fail(&LostError{Rank: before, Size: w.size, Reason: err.Error()})
				return
			}
			if in[0] == bye {
				heard, beforeEnds = nil, nil
				break
			}
			request = receive()
			heard = request.Done()
		}
	}
	close(m.parted)
}

// farewell tells the neighbours that silence is meant from now on, and waits for them to do so.
func (m *monitor) farewell(ctx context.Context) error {
	if m == nil {
		return nil
	}
	close(m.leave)
	select {
	case <-m.parted:
		return nil
	case <-m.w.failed:
		return m.w.Err()
	case <-ctx.Done():
		return fmt.Errorf("mpi: Close: %w: not all ranks have come to the end of it", ctx.Err())
	}
}

// end stops the goroutine, and waits until it has ended, or ctx has, or shortly if the world has failed.
func (m *monitor) end(ctx context.Context) error {
	if m == nil {
		return nil
	}
	close(m.stop)
	return m.w.await(ctx, m.done)
}

func (w *World) innerSend(buf []byte, to int) *Request {
	r := w.inner.request("MPI_Isend", sending, to)
	r.inner = true
	return w.inner.send(r, buf, 0, w.lib.isend, 0)
}

func (w *World) innerReceive(buf []byte, from int) *Request {
	r := w.inner.request("MPI_Irecv", receiving, from)
	r.inner = true
	return w.inner.receive(r, buf, 0)
}

// process is what ranks know of each other's processes.
type process struct {
	machine uint64 // where its number is valid; 0 if that is not known
	pid     int64
}

// introduce exchanges the processes of all ranks, as part of Init.
func (w *World) introduce() error {
	const bytes = uintptr(unsafe.Sizeof(process{}))
	mine := process{machine: machine(), pid: int64(os.Getpid())}
	w.processes = make([]process, w.size)
	return w.lib.error("MPI_Allgather", -1, int32(dynlib.Call(w.lib.allgather, uintptr(unsafe.Pointer(&mine)), bytes, w.lib.bytes,
		uintptr(unsafe.Pointer(&w.processes[0])), bytes, w.lib.bytes, w.inner.h)))
}

// localPID returns the number of the process of a rank, 0 if it runs elsewhere.
func (w *World) localPID(rank int) int {
	p, mine := w.processes[rank], w.processes[w.rank]
	if mine.machine == 0 || p.machine != mine.machine {
		return 0
	}
	return int(p.pid)
}

// machine identifies where processes have the same numbers: a start of Linux, and a name space there.
func machine() uint64 {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return 0
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return 0
	}
	h := fnv.New64a()
	h.Write(id)
	h.Write([]byte(space))
	return binary.LittleEndian.Uint64(h.Sum(nil)) | 1
}
