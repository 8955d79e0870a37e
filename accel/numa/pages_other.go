//go:build !linux

package numa

import (
	"errors"
	"unsafe"
)

var errNoPages = errors.New("memory of NUMA nodes is for Linux only")

func mapPages(int64) (unsafe.Pointer, error) { return nil, errNoPages }

func bindPages(unsafe.Pointer, int64, int) error { return errNoPages }

func unmapPages(unsafe.Pointer, int64) {}
