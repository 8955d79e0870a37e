//go:build !linux

package accel

// adviseHuge does nothing: other systems choose the size of pages by themselves.
func adviseHuge(_, _ uintptr) {}
