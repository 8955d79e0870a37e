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
