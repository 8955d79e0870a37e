package mpi

import (
	"os"
	"syscall"
	"time"
	"unsafe"
)

const pidfdOpen = 434 // the same on all architectures

// yield lets other threads run on this processor, if there are any.
func yield() { _, _, _ = syscall.Syscall(syscall.SYS_SCHED_YIELD, 0, 0, 0) }

// alarm ends short naps in time. A process without work waits in the system, for whole milliseconds: a timer of Go
// that is set to 50 µs ends after 1.1 ms there. The system ends its own timers within some microseconds. A goroutine that slept
// in the system itself would keep others from its processor.
type alarm struct {
	ring chan struct{} // gets an element when the time is over, perhaps one of an earlier time that was not waited for
	file *os.File
	fd   uintptr
	done chan struct{}
}

// newAlarm returns an alarm, or nil where there is none.
func newAlarm() *alarm {
	const monotonic = 1
	fd, _, e := syscall.Syscall(syscall.SYS_TIMERFD_CREATE, monotonic, syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if e != 0 {
		return nil
	}
	a := &alarm{ring: make(chan struct{}, 1), file: os.NewFile(fd, "timer"), fd: fd, done: make(chan struct{})}
	go a.read()
	return a
}

// read passes the ends of times on.
func (a *alarm) read() {
	defer close(a.done)
	var count [8]byte
	for {
		if _, err := a.file.Read(count[:]); err != nil {
			return
		}
		select {
		case a.ring <- struct{}{}:
		default:
		}
	}
}

// set begins a time, which must not be 0, and returns the channel that gets an element at its end. The channel is nil without an alarm.
func (a *alarm) set(d time.Duration) <-chan struct{} {
	if a == nil {
		return nil
	}
	select {
	case <-a.ring:
	default:
	}
	var spec struct{ interval, value syscall.Timespec }
	spec.value = syscall.NsecToTimespec(d.Nanoseconds())
	_, _, _ = syscall.RawSyscall6(syscall.SYS_TIMERFD_SETTIME, a.fd, 0, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
	return a.ring
}

// close ends the goroutine of a.
func (a *alarm) close() {
	if a != nil {
		_ = a.file.Close()
		<-a.done
	}
}

// watchProcess returns a channel that is closed when a process of this machine ends, even as long
// as its parent has not taken notice. forget has to be called in the end. The channel is nil for the number 0, and on
// systems without a way to watch: Linux has one from 5.10 on.
func watchProcess(pid int) (ended <-chan struct{}, forget func()) {
	nop := func() {}
	if pid == 0 {
		return nil, nop
	}
	fd, _, e := syscall.Syscall(pidfdOpen, uintptr(pid), syscall.O_NONBLOCK, 0)
	if e != 0 {
		if e == syscall.ESRCH {
			c := make(chan struct{})
			close(c)
			return c, nop
		}
		return nil, nop
	}
	f := os.NewFile(fd, "process")
	conn, err := f.SyscallConn()
	if err != nil {
		_ = f.Close()
		return nil, nop
	}
	c, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		if conn.Read(readable) == nil {
			close(c)
		}
	}()
	return c, func() {
		_ = f.Close()
		<-done
	}
}

// readable reports whether a file can be read now, as that of a process can that has ended.
func readable(fd uintptr) bool {
	poll := struct {
		fd              int32
		events, revents int16
	}{fd: int32(fd), events: 1} // POLLIN
	var now syscall.Timespec
	n, _, e := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&poll)), 1, uintptr(unsafe.Pointer(&now)), 0, 0, 0)
	return e == 0 && n == 1
}
