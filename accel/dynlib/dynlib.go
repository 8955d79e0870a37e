//go:build (linux || darwin) && !android && !ios && (amd64 || arm64 || riscv64 || loong64)

// Package dynlib loads C libraries at run time and calls their functions, without cgo.
//
// On systems where that is not possible, [Open] returns an error and no other function may
// be called.
package dynlib

import (
	"runtime"

	"github.com/ebitengine/purego"
)

// Supported reports whether libraries can be loaded on this system.
const Supported = true

// Scope says where the symbols of a library are visible.
type Scope int

// Scopes.
const (
	Local  = Scope(purego.RTLD_NOW | purego.RTLD_LOCAL)  // only through the handle
	Global = Scope(purego.RTLD_NOW | purego.RTLD_GLOBAL) // to libraries that are loaded later, too
)

// Open loads a library by its file name or path, all of its symbols at once, and returns a
// handle for [Symbol]. A library that is loaded already is counted once more. The error says
// why the library cannot be loaded, in the words of the system's loader.
func Open(name string, scope Scope) (uintptr, error) {
	defer sameThread()()
	return purego.Dlopen(name, int(scope))
}

// Symbol returns the address of a function or variable of a library.
func Symbol(handle uintptr, name string) (uintptr, error) {
	defer sameThread()()
	return purego.Dlsym(handle, name)
}

// SystemSymbol returns the address of a function of the C library, or of any library whose
// scope is Global.
func SystemSymbol(name string) (uintptr, error) {
	defer sameThread()()
	return purego.Dlsym(purego.RTLD_DEFAULT, name)
}

// Close gives a library up. It is unloaded when each Open of it has had its Close.
func Close(handle uintptr) error {
	defer sameThread()()
	return purego.Dlclose(handle)
}

// sameThread keeps the goroutine on its thread until the function that it returns is called.
// The loader keeps the reason of a failure for the thread that failed: asked for on another
// one, it is empty.
func sameThread() (release func()) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}

// Call calls a C function whose arguments and result are integers and addresses. An object
// passed as uintptr(unsafe.Pointer(p)) in the argument list does not move, and is not freed,
// until Call returns.
//
//go:uintptrescapes
func Call(fn uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(fn, args...)
	return r
}

// Callback returns the address of a C function that calls f. The arguments of f, and its
// result if it has one, are integers and pointers. The memory is never given back: at most
// 2000 callbacks can be made.
func Callback(f any) uintptr { return purego.NewCallback(f) }
