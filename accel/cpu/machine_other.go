//go:build !linux

package cpu

import "errors"

// physical returns the bytes of memory that the process may use, where the
// system is not asked: a bound that keeps absurd sizes out.
func physical() int64 { return 1 << 40 }

var errNoBinding = errors.New("threads can be bound to processors on Linux only")

// Processors returns an error: it is for Linux.
func Processors() ([]int, error) { return nil, errNoBinding }

// BindThread returns an error: it is for Linux.
func BindThread(processor int) error { return errNoBinding }
