//go:build !((linux || darwin) && !android && !ios && (amd64 || arm64 || riscv64 || loong64))

// Package dynlib loads C libraries at run time, which is not possible on this system: [Open]
// returns an error, and no other function may be called.
package dynlib

import (
	"fmt"
	"runtime"
)

// Supported reports whether libraries can be loaded on this system.
const Supported = false

// Scope says where the symbols of a library are visible.
type Scope int

// Scopes.
const (
	Local  Scope = iota // only through the handle
	Global              // to libraries that are loaded later, too
)

// Open returns an error: libraries cannot be loaded on this system.
func Open(string, Scope) (uintptr, error) {
	return 0, fmt.Errorf("libraries cannot be loaded at run time on %s/%s", runtime.GOOS, runtime.GOARCH)
}

const noLibrary = "dynlib: no library can be loaded on this system"

// Symbol may not be called: there is no library.
func Symbol(uintptr, string) (uintptr, error) { panic(noLibrary) }

// SystemSymbol may not be called: there is no library.
func SystemSymbol(string) (uintptr, error) { panic(noLibrary) }

// Close may not be called: there is no library.
func Close(uintptr) error { panic(noLibrary) }

// Call may not be called: there is no function.
func Call(uintptr, ...uintptr) uintptr { panic(noLibrary) }

func (c *Caller) call(int) { panic(noLibrary) }

// Callback may not be called: nothing could call it back.
func Callback(any) uintptr { panic(noLibrary) }
