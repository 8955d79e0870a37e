//go:build cuda

package all

import (
	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/cuda"
)

// tagged are the drivers that a build tag asks for.
func tagged() []accel.Driver { return []accel.Driver{cuda.Driver{}} }
