//go:build !cuda

package all

import "github.com/starpush/starpush/accel"

// tagged are the drivers that a build tag asks for.
func tagged() []accel.Driver { return nil }
