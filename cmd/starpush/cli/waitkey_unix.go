//go:build unix

package cli

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// waitKey waits until a key is pressed and takes it; false: none was for so long.
func waitKey(ctx context.Context, in *os.File, d time.Duration) (bool, error) {
	if ok, err := readable(ctx, in, d); !ok {
		return false, err
	}
	var key [64]byte // keys such as arrows are several bytes
	_, err := in.Read(key[:])
	return true, err
}

// readable waits until a read of in returns at once, at most for d. The error is the cause of
// ctx if that has ended.
func readable(ctx context.Context, in *os.File, d time.Duration) (bool, error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	fds := []unix.PollFd{{Fd: int32(in.Fd()), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, int(d.Milliseconds()))
	if n <= 0 || err != nil {
		if errors.Is(err, unix.EINTR) { // the terminal has another size, say
			err = nil
		}
		return false, err
	}
	return true, nil
}

// waiting returns a function that reports whether a read of in returns at once, now or within a time.
func waiting(in *os.File) func(d time.Duration) bool {
	return func(d time.Duration) bool {
		ok, err := readable(context.Background(), in, d)
		return ok && err == nil
	}
}
