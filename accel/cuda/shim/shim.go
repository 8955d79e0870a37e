//go:build cuda

// Package shim makes the functions of the CUDA driver available without linking
// against it: each is a jump through a table that Open fills from libcuda.so.1.
// A program that is built with it starts on every machine.
//
// The package gorgonia.org/cu calls cuInit when the program starts, and ends the
// program when that fails. The cuInit here always succeeds and does nothing; the
// driver's own runs in Open. Before Open, and for functions that the driver does
// not have, calls return errors.
package shim

//go:generate go run ../gen

/*
#cgo CFLAGS: -I${SRCDIR}/../include
#cgo LDFLAGS: -ldl
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"fmt"
	"path/filepath"
	"sync"
	"unsafe"
)

// LoadError says that there is no driver to use.
type LoadError struct {
	Missing bool   // the library was not found
	Code    int    // what its cuInit returned, when it was found
	Text    string // what the loader or the driver said
}

func (e *LoadError) Error() string {
	if e.Missing {
		return "libcuda.so.1 was not found: " + e.Text
	}
	return fmt.Sprintf("the CUDA driver does not start: %s (%d)", e.Text, e.Code)
}

var state struct {
	sync.Mutex
	open bool
	err  error
}

// Open loads the driver, from folder dir when that is not "" and from where
// the system looks for libraries otherwise, and starts it. Once it succeeded,
// later calls do nothing.
func Open(dir string) error {
	state.Lock()
	defer state.Unlock()
	if state.open {
		return nil
	}
	path := "libcuda.so.1"
	if dir != "" {
		path = filepath.Join(dir, path)
	}
	state.err = load(path)
	state.open = state.err == nil
	return state.err
}

func load(path string) error {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var text [512]C.char
	switch code := C.starpush_cu_load(name, &text[0], C.int(len(text))); code {
	case 0:
		return nil
	case -1:
		return &LoadError{Missing: true, Text: C.GoString(&text[0])}
	default:
		return &LoadError{Code: int(code), Text: C.GoString(&text[0])}
	}
}

// Status returns nil when the driver runs, and otherwise why not: what Open
// returned last.
func Status() error {
	state.Lock()
	defer state.Unlock()
	if !state.open && state.err == nil {
		return &LoadError{Missing: true, Text: "nothing asked for it yet"}
	}
	return state.err
}
