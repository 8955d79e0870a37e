//go:build !amd64

package datamgr

import "unsafe"

// Prefetch asks for cache lines that will be written soon, where that is known
// how to do.
func Prefetch(unsafe.Pointer, int) {}

func prefetchWaiter(*Access) {}

func prefetchEpochs(*Access, int) {}
