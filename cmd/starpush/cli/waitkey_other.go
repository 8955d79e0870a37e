//go:build !unix

package cli

import (
	"context"
	"os"
	"time"
)

// waitKey cannot wait for a while here: one picture is shown until a key is pressed.
func waitKey(_ context.Context, in *os.File, _ time.Duration) (bool, error) {
	var key [64]byte
	_, err := in.Read(key[:])
	return true, err
}

// readable cannot wait here: a read blocks.
func readable(ctx context.Context, _ *os.File, _ time.Duration) (bool, error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	return true, nil
}

// waiting returns nil: that is not known here.
func waiting(*os.File) func(d time.Duration) bool { return nil }
