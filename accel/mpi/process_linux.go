package mpi

import (
	"os"
	"syscall"
	"unsafe"
)

const pidfdOpen = 434 // the same on all architectures

// yield lets other threads run on this processor, if there are any.
func yield() { _, _, _ = syscall.Syscall(syscall.SYS_SCHED_YIELD, 0, 0, 0) }

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
