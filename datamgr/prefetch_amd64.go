package datamgr

import "unsafe"

// Prefetch asks for cache lines that will be written soon, from the one at p on;
// lines is 1 or more. It reads nothing, so any p will do.
//
//go:noescape
func Prefetch(p unsafe.Pointer, lines int)

// prefetchWaiter asks for a, and for the head of the record that it most likely
// is part of.
//
//go:noescape
func prefetchWaiter(a *Access)

// prefetchEpochs asks for the epochs of n accesses; n is 1 or more.
//
//go:noescape
func prefetchEpochs(as *Access, n int)
