//go:build unix

package cli

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The standard streams of a run that starts its ranks itself. mpirun would put pipes in their place: then rank 0 cannot know a terminal, nor
// that a disk is full. So the command passes its own to rank 0, through a socket, which brings back the exit status, as launchers do not
// tell those of ranks apart.

// streamsVariable names the socket.
const streamsVariable = "STARPUSH_STREAMS"

// streams is the side of the command that starts ranks.
type streams struct {
	dir      string
	listener *net.UnixListener
	done     chan struct{}
	rankZero atomic.Int64 // its process; 0: not known
	status   atomic.Int64 // that it has sent; below 0: none
}

// offerStreams waits in the background for rank 0, to give it the standard streams of this process, with in in the place of standard input. It
// returns nil if that is impossible.
func offerStreams(in io.Reader) *streams {
	stdin, ok := in.(*os.File)
	if !ok {
		return nil
	}
	dir, err := os.MkdirTemp("", "starpush")
	if err != nil {
		return nil
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unix"})
	if err != nil {
		os.RemoveAll(dir)
		return nil
	}
	s := &streams{dir: dir, listener: listener, done: make(chan struct{})}
	s.status.Store(-1)
	go s.serve(stdin)
	return s
}

// serve gives the streams to the first process that asks, and waits for its exit status.
func (s *streams) serve(stdin *os.File) {
	defer close(s.done)
	c, err := s.listener.AcceptUnix()
	if err != nil {
		return
	}
	defer c.Close()
	s.listener.Close() // programs that rank 0 starts have the variable, too
	if _, _, err := c.WriteMsgUnix([]byte{0}, unix.UnixRights(int(stdin.Fd()), 1, 2), nil); err != nil {
		return
	}
	b := make([]byte, 8)
	if _, err := io.ReadFull(c, b); err != nil {
		return
	}
	s.rankZero.Store(int64(binary.LittleEndian.Uint64(b)))
	if _, err := io.ReadFull(c, b[:1]); err == nil {
		s.status.Store(int64(b[0]))
	}
	s.rankZero.Store(0)
}

// prepare has cmd, a launcher, start ranks with these streams. It gets a session of its own: the keys of a terminal are for rank 0.
func (s *streams) prepare(cmd *exec.Cmd) {
	cmd.Env = append(cmd.Env, streamsVariable+"="+s.listener.Addr().String())
	cmd.Stdin, cmd.Stdout = nil, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}

// forward passes signals of the terminal on to rank 0, until stop is called. A terminal that is gone ends the run.
func (s *streams) forward(interactive bool, end func(os.Signal)) (stop func()) {
	ch := make(chan os.Signal, 8)
	signal.Notify(ch, heard(os.Interrupt, syscall.SIGWINCH, syscall.SIGHUP)...)
	if interactive {
		signal.Ignore(syscall.SIGTSTP) // a key of the prompt
	}
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for {
			select {
			case <-done:
				return
			case sig := <-ch:
				pid := int(s.rankZero.Load())
				switch {
				case sig == syscall.SIGHUP:
					end(syscall.SIGTERM)
				case pid > 0:
					_ = syscall.Kill(pid, sig.(syscall.Signal))
				case sig == os.Interrupt: // before rank 0 has begun
					end(sig)
				}
			}
		}
	}()
	return func() {
		signal.Stop(ch)
		signal.Reset(syscall.SIGTSTP)
		close(done)
		<-over
	}
}

// close returns the exit status of rank 0, once the launcher has ended; false if rank 0 has not sent it.
func (s *streams) close() (code int, ok bool) {
	s.listener.Close()
	select {
	case <-s.done: // the end of rank 0 has closed its side
	case <-time.After(time.Second):
	}
	os.RemoveAll(s.dir)
	n := s.status.Load()
	return int(n), n >= 0
}

// takeStreams makes the streams that the command which has started this rank 0 passes those of this process. It returns what sends the exit status
// back, nil if there is no such command.
func takeStreams(path string) (end func(code int)) {
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil
	}
	b, oob := make([]byte, 1), make([]byte, unix.CmsgSpace(3*4))
	_, n, _, _, err := c.ReadMsgUnix(b, oob)
	if err != nil {
		c.Close()
		return nil
	}
	messages, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil || len(messages) != 1 {
		c.Close()
		return nil
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 3 {
		c.Close()
		return nil
	}
	for i, fd := range fds {
		_ = unix.Dup2(fd, i)
		_ = unix.Close(fd)
		_ = unix.SetNonblock(i, false) // as another program may have left it; the files of this process do not expect it
	}
	_ = os.Unsetenv(streamsVariable)
	_, _ = c.Write(binary.LittleEndian.AppendUint64(nil, uint64(os.Getpid())))
	var ended atomic.Bool
	over := make(chan struct{})
	go func() {
		defer close(over)
		if _, err := c.Read(b); err != nil && !ended.Load() { // the command was killed: no process waits for this run
			_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
		}
	}()
	return func(code int) {
		ended.Store(true)
		_, _ = c.Write([]byte{byte(code)})
		_ = c.Close()
		<-over
	}
}
