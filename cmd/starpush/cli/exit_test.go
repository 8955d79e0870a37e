package cli

import (
	"context"
	"errors"
	"testing"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
)

// TestCodeOfLostDevice: a script that ends because a device went away tells the
// shell so, unlike one whose task failed.
func TestCodeOfLostDevice(t *testing.T) {
	failed := func(cause error) error {
		return lang.Diagnostics{{Code: "R0101", Severity: lang.Error, Cause: &engine.TaskError{Cause: cause}}}
	}
	for _, c := range []struct {
		cause error
		want  int
	}{
		{&accel.LostError{Device: "sim 0", Err: errors.New("gone")}, exitDevice},
		{errors.New("a pivot is 0"), exitFailed},
	} {
		if got := codeOf(context.Background(), failed(c.cause), true); got != c.want {
			t.Errorf("%v: status %d, want %d", c.cause, got, c.want)
		}
	}
}
